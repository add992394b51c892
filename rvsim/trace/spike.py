"""Spike's commit log (``spike --log-commits``), one line for each instruction that retires.

    core   0: 0 0x0000000000010094 (0x02b30533) x10 0x0000000000000006
    core   0: 0 0x0000000000010098 (0x00a5b023) mem 0x0000000000011000 0x0000000000000006

As in Spike, registers are in the order of their numbers.  A vector register has all its bytes, the
highest first.  A load has its addresses, a store its addresses and values.  An instruction that
traps has no line; an ecall is one of these.  The privilege level is 0 (user) or 3 (machine).

Spike lists vector registers in which it wrote an element.  This log lists those that hold body
elements, whatever the mask, and all of a group if agnostic elements are overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rvsim.config import MACHINE
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.base.machine_csrs import M_MODE
from rvsim.insn.decode import Decoded
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.trace.events import Event, EventKind, Recorder
from rvsim.trace.files import TraceFile
from rvsim.trace.selection import Selection
from rvsim.vec.groups import VReg, resolve
from rvsim.vec.vset import Avl, avl_of
from rvsim.vec.vtype import VILL, VType, lmul_text

_VSTART: Final = 0x008
_VL, _VTYPE = 0xC20, 0xC21
# Spike sorts written registers by number, and registers of one number by these values.
_X_ORDER, _F_ORDER, _V_ORDER, _CSR_ORDER = 0, 1, 2, 4


class SpikeLog:
    """Writes the log of one machine to a file.

    >>> log = SpikeLog()
    >>> machine = Machine(observers=[log.recorder])
    >>> log.open(machine, "/no/such/folder/log")
    Traceback (most recent call last):
    rvsim.errors.RvsimError: cannot write /no/such/folder/log: No such file or directory
    """

    def __init__(self) -> None:
        self.recorder = Recorder([self.instruction])
        """The observer to make the machine with."""
        self._file: TraceFile | None = None
        self._selection = Selection()
        self._vl = 0
        self._vtype = VILL
        self._privilege = 0

    def open(self, machine: Machine, path: str, selection: Selection | None = None) -> None:
        """Begin the file with the selected instructions; `RvsimError` if it cannot be written."""
        self._file = TraceFile(path)
        self._selection = selection or Selection()
        self._machine = machine
        self._vl, self._vtype = machine.state["vl"], machine.state["vtype"]
        self._privilege = machine.state["privilege"]

    def close(self) -> None:
        """Write out the buffer; `RvsimError` if a part of the log could not be written."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def instruction(self, d: Decoded | None, events: Sequence[Event]) -> None:
        """Log one instruction."""
        if self._file is None:
            return
        privilege, self._privilege = self._privilege, self._machine.state["privilege"]
        if events[-1].kind == EventKind.TRAP and self._machine.config.has((MACHINE,)):
            self._privilege = M_MODE
        if d is None or events[-1].kind == EventKind.TRAP:
            return
        assert d.insn is not None, "only instructions retire"
        line = f"core   0: {privilege} " + "".join(self._parts(d, d.insn, events)) + "\n"
        if self._selection.takes(events[-1].value - 1, d.pc):
            self._file.write(line.encode("ascii"))

    # -- the parts of a line

    def _parts(self, d: Decoded, insn: Insn, events: Sequence[Event]) -> Iterator[str]:
        yield f"{_hex(d.pc, 8)} ({_hex(d.word, d.length)})"
        written = {(e.number, _X_ORDER): e for e in events if e.kind == EventKind.X}
        written |= {(e.number, _F_ORDER): e for e in events if e.kind == EventKind.F}
        written |= {(e.number, _CSR_ORDER): e for e in events if e.kind == EventKind.CSR}
        body = self._body_registers(d, insn)
        written |= {
            (e.number, _V_ORDER): e for e in events if e.kind == EventKind.V and e.number in body
        }
        changed = self._vtype_changes(d, events)
        written |= {(e.number, _CSR_ORDER): e for e in changed}
        if insn.unit.is_vector:
            # Spike ends each vector instruction by writing vstart.
            written[_VSTART, _CSR_ORDER] = Event(EventKind.CSR, _VSTART)
            if insn.unit is not Unit.VSET:
                yield self._vector_state()
        for key in sorted(written):
            yield self._register(written[key])
        for e in events:
            if e.kind == EventKind.READ:
                yield f" mem {_hex(e.addr, 8)}"
            elif e.kind == EventKind.WRITE:
                yield f" mem {_hex(e.addr, 8)} {_hex(e.value, e.size)}"

    def _register(self, e: Event) -> str:
        match e.kind:
            case EventKind.X:
                return f" x{e.number:<2} {_hex(e.value, 8)}"
            case EventKind.F:
                return f" f{e.number:<2} {_hex(e.value, 8)}"
            case EventKind.V:
                contents = self._machine.state.v[e.number].tobytes()
                return f" v{e.number:<2} 0x{contents[::-1].hex()}"
            case _:
                return f" c{e.number}_{CSRS[e.number].name} {_hex(e.value, 8)}"

    def _vector_state(self) -> str:
        """``e8 m1 l32``; for a load that trims vl, the new vl."""
        vtype = VType.decode(self._vtype)
        if vtype is None:
            return " e8 m1 l0"
        return f" e{vtype.sew} {lmul_text(vtype.lmul_log2)} l{self._vl}"

    def _vtype_changes(self, d: Decoded, events: Sequence[Event]) -> list[Event]:
        """The writes to vl and vtype: Spike writes vtype only if it changes."""
        changes = [e for e in events if e.kind == EventKind.VTYPE]
        keeps_vl = d.insn is not None and d.insn.unit is Unit.VSET and avl_of(d.fields) is Avl.KEEP
        logged = []
        for e in changes:
            if e.number == _VTYPE:
                if e.value != self._vtype:
                    logged.append(e)
                self._vtype = e.value
            else:
                if not keeps_vl or e.value != self._vl:
                    logged.append(e)
                self._vl = e.value
        return logged

    def _body_registers(self, d: Decoded, insn: Insn) -> frozenset[int]:
        """The registers that hold body elements of a destination, before this instruction."""
        config = self._machine.config
        found: set[int] = set()
        for operand in insn.vregs:
            if operand.dest:
                found.update(
                    self._all_of(d, operand)
                    if config.agnostic != "undisturbed"
                    else self._with_body(d, operand)
                )
        return frozenset(found)

    def _all_of(self, d: Decoded, operand: VReg) -> Iterator[int]:
        vtype = VType.decode(self._vtype) or VType(3, 0)
        yield from resolve(operand, d.fields, vtype).registers

    def _with_body(self, d: Decoded, operand: VReg) -> Iterator[int]:
        vtype = VType.decode(self._vtype) or VType(3, 0)
        group = resolve(operand, d.fields, vtype)
        if operand.eew.kind == "whole":
            yield from group.registers
        elif self._vl and operand.eew.kind in ("mask", "scalar"):
            yield group.reg
        elif self._vl:
            per_field = max(1, group.nregs // operand.nf)
            used = -((-self._vl << group.eew_log2) // self._machine.config.vlen)
            for field in range(operand.nf):
                start = group.reg + field * per_field
                yield from range(start, start + min(used, per_field))


def _hex(value: int, nbytes: int) -> str:
    return f"{value:#0{2 + 2 * nbytes}x}"
