"""What people read after a guest trap: what and where, which rule, the state, and a way on.

illegal instruction at 0x10a2c in gemm_tile_s8+0x1c (gemm.c:41): vrgather.vv v4, v4, v8
  destination vd = v4 (EEW 8, EMUL m1) overlaps source vs2 = v4 (EEW 8, EMUL m1) (V 16.4)
  vtype e8,m1,ta,ma  vl 32  vstart 0
  try: rvsim explain 0x32440257 --vtype e8,m1,ta,ma
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from rvsim.config import Config
from rvsim.hart.memory import PAGE, GuestFault, R, W, X
from rvsim.hart.traps import LACKED_RIGHT, MISALIGNED_DATA, Cause, Trap
from rvsim.insn.base.csrs import hidden_by_linux
from rvsim.insn.decode import Decoded, problems
from rvsim.insn.disasm import X_NAMES, disassemble
from rvsim.insn.notes import NOTES
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.printable import printable
from rvsim.profiles import DEFAULT_CPU, make_config
from rvsim.vec.groups import Group, resolve
from rvsim.vec.vtype import VType, vtype_text

_CAUSES: Final = {
    Cause.INSTRUCTION_ADDRESS_MISALIGNED: "misaligned jump target",
    Cause.ILLEGAL_INSTRUCTION: "illegal instruction",
    Cause.BREAKPOINT: "breakpoint",
    Cause.ENVIRONMENT_CALL_FROM_U_MODE: "system call that never returns",
    Cause.LOAD_ADDRESS_MISALIGNED: "misaligned load",
    Cause.STORE_ADDRESS_MISALIGNED: "misaligned store",
    Cause.ENVIRONMENT_CALL_FROM_M_MODE: "environment call",
    Cause.INSTRUCTION_ACCESS_FAULT: "instruction fetch fault",
    Cause.LOAD_ACCESS_FAULT: "load fault",
    Cause.STORE_ACCESS_FAULT: "store fault",
    Cause.INSTRUCTION_PAGE_FAULT: "instruction fetch fault",
    Cause.LOAD_PAGE_FAULT: "load fault",
    Cause.STORE_PAGE_FAULT: "store fault",
}
_DONE: Final = {X: "executed", R: "read", W: "written"}
_EVERYTHING: Final = "generic-rv64gcv"
_NULL_LIMIT: Final = PAGE
_SHOWN_BYTES: Final = 16
_SHOWN_REGISTERS: Final = 4


def trap_report(machine: Machine, trap: Trap) -> str:
    """The four parts of a guest trap's message, on several lines without a newline at the end."""
    d = instruction_at(machine, trap.pc)
    cause = _CAUSES.get(trap.cause, f"trap {trap.cause}")
    text = f": {disassemble(d)}" if d is not None and d.insn is not None else ""
    lines = [f"{cause} at {machine.place(trap.pc)}{text}"]
    lines += [f"  {line}" for line in (*_rule(machine, trap), *_state(machine, d))]
    lines += [f"  try: {line}" for line in _ways_on(machine, trap, d)]
    return "\n".join(lines)


def recent_report(machine: Machine, count: int = 8) -> str:
    """The last instructions executed, the latest last, with their places; empty if none was."""
    executed = machine.interp.recent(count)
    if not executed:
        return ""
    rows = [(machine.place(d.pc), disassemble(d)) for d in executed]
    width = max(len(place) for place, _ in rows)
    return "\n".join(
        [
            "  last instructions executed:",
            *(f"    {place:<{width}}  {text}" for place, text in rows),
        ]
    )


def instruction_at(machine: Machine, pc: int) -> Decoded | None:
    """The instruction at `pc`, or None where none can be fetched."""
    try:
        return machine.interp.decode_at(pc)
    except GuestFault:
        return None


# -- which rule


def _rule(machine: Machine, trap: Trap) -> Iterator[str]:
    if trap.cause not in LACKED_RIGHT:
        if trap.why != _CAUSES.get(trap.cause):
            yield trap.why
    else:
        need = LACKED_RIGHT[trap.cause]
        if "vector" in trap.why:
            yield trap.why
        yield f"address {trap.tval:#x} cannot be {_DONE[need]}: {_reason(machine, trap.tval, need)}"
    if trap.cause in MISALIGNED_DATA:
        yield f"address {trap.tval:#x}"
    call = _took_vtype_away(machine, trap)
    if call is not None:
        yield (
            "Linux discards vector state at each system call (since 6.5): the call at"
            f" {machine.place(call)} has left vtype vill and all ones in the registers"
        )
    why = machine.environment.explain(machine.hart, trap)
    if why is not None:
        yield why


def _took_vtype_away(machine: Machine, trap: Trap) -> int | None:
    """The pc of the system call that discarded the vtype which an instruction needs, if one did."""
    needs = instruction_at(machine, trap.pc)
    if machine.process is None or needs is None or needs.insn is None or not needs.insn.vector:
        return None
    call = machine.process.vector.missing_vtype(machine.state)
    if call is None or trap.cause != Cause.ILLEGAL_INSTRUCTION:
        return None
    last = _last(machine, lambda d: d.pc == call or _sets_vtype(d))
    return call if last is None or last.pc == call else None


def _sets_vtype(d: Decoded) -> bool:
    return d.insn is not None and d.insn.unit is Unit.VSET


def _last(machine: Machine, wanted: Callable[[Decoded], bool]) -> Decoded | None:
    """The last instruction of a kind among those executed lately."""
    return next((d for d in reversed(machine.interp.recent(64)) if wanted(d)), None)


def _reason(machine: Machine, addr: int, need: int) -> str:
    """Why an access that begins at `addr` is refused, and what is there or near."""
    memory = machine.memory
    next_page = addr // PAGE * PAGE + PAGE
    if next_page < memory.size and int(memory.perm[addr // PAGE]) & need:
        return f"it runs into {next_page:#x}, {_what_is_wrong(machine, next_page)}"
    return _what_is_wrong(machine, addr)


def _what_is_wrong(machine: Machine, addr: int) -> str:
    memory = machine.memory
    if addr < _NULL_LIMIT:
        return "a null pointer, or an offset from one"
    if addr >= memory.size:
        return f"outside the guest's address space of {memory.size:#x} bytes"
    perm = int(memory.perm[addr // PAGE])
    if memory.mapped(addr, 1):
        return f"{_what_is_at(machine, addr)} is {_permission_text(perm)}"
    return f"nothing is mapped there{_neighbour(machine, addr)}"


def _permission_text(perm: int) -> str:
    if not perm & (R | W | X):
        return "mapped without any permission"
    letters = "".join(c if perm & bit else "-" for c, bit in (("r", R), ("w", W), ("x", X)))
    return f"mapped {letters}"


def _what_is_at(machine: Machine, addr: int) -> str:
    """A mapped address in words: symbol, segment, heap, stack or its guard page."""
    image, process = machine.image, machine.process
    if image is not None:
        symbol = image.symbols.lookup(addr)
        if symbol is not None:
            return f"{symbol[0]}+{symbol[1]:#x}"
        if any(s.addr <= addr < s.end for s in image.segments):
            return "the program's image"
    if process is not None:
        stack = process.mmap_top + PAGE
        if stack - PAGE <= addr < stack:
            return "the stack's guard page (a stack overflow?)"
        if stack <= addr < stack + process.stack.size:
            return "the stack"
        if process.brk_start <= addr < process.brk:
            return "the heap"
    return "it"


def _neighbour(machine: Machine, addr: int) -> str:
    """``, 0x40 bytes past the end of table``: the nearest thing below, if it is near."""
    image = machine.image
    ends = [s.end for s in image.segments] if image is not None else []
    process = machine.process
    if process is not None and process.brk > process.brk_start:
        ends.append(process.brk)
    below = max((end for end in ends if end <= addr), default=None)
    if below is None or addr - below >= 1 << 20:
        return ""
    what = _what_is_at(machine, below - 1).partition("+")[0]
    return f", {addr - below:#x} bytes past the end of {what}"


# -- the state that matters


def _state(machine: Machine, d: Decoded | None) -> Iterator[str]:
    state = machine.state
    if d is None or d.insn is None:
        yield f"ra {state.x[1]:#x}  sp {state.x[2]:#x}"
        return
    if d.insn.unit.is_vector:
        vtype = vtype_text(state["vtype"])
        yield f"vtype {vtype}  vl {state['vl']}  vstart {state['vstart']}"
    scalars = _scalar_registers(d)
    if scalars:
        yield "  ".join(f"{X_NAMES[n]} {state.x[n]:#x}" for n in scalars)
    for group in _groups(machine, d):
        yield from _vector_registers(machine, group)


def _scalar_registers(d: Decoded) -> list[int]:
    """Integer registers that the instruction reads, and x0 not among them."""
    assert d.insn is not None
    found: list[int] = []
    for operand in ("rs1", "rs2"):
        source = d.insn.source(operand)
        number = source if isinstance(source, int) else d.fields.get(source, 0)
        if number and number not in found:
            found.append(number)
    return found


def _groups(machine: Machine, d: Decoded) -> list[Group]:
    """Register groups of the sources, each once; none where vtype doesn't tell them."""
    assert d.insn is not None
    vtype = VType.decode(machine.state["vtype"])
    sources = [v for v in d.insn.vregs if v.source and v.field in d.fields]
    if vtype is None or problems(d.insn, d.fields, vtype, machine.config):
        return []  # the rule names the registers, their contents don't matter
    return [resolve(v, d.fields, vtype) for v in sources]


def _vector_registers(machine: Machine, group: Group) -> Iterator[str]:
    """The first bytes of the first registers, element by element in hex."""
    size = max(1, (1 << group.eew_log2) // 8)
    for number in group.registers[:_SHOWN_REGISTERS]:
        row = machine.state.v[number].tobytes()
        shown = [row[i : i + size][::-1].hex() for i in range(0, min(len(row), _SHOWN_BYTES), size)]
        more = " ..." if len(row) > _SHOWN_BYTES else ""
        yield f"v{number} {' '.join(shown)}{more}"
    if group.nregs > _SHOWN_REGISTERS:
        yield f"... to v{group.registers[-1]}"


# -- what to try


def _ways_on(machine: Machine, trap: Trap, d: Decoded | None) -> Iterator[str]:
    name = printable(shlex.quote(machine.image.name)) if machine.image else "FILE"
    if trap.cause == Cause.ILLEGAL_INSTRUCTION and d is not None:
        if d.insn is None:
            yield f"rvsim dis {name}, to see whether this is code at all"
            return
        yield from _ways_to_legality(machine, trap, d)
        yield f"rvsim explain {d.word:#0{2 + 2 * d.length}x}{_explain_options(machine, d)}"
    elif trap.cause == Cause.BREAKPOINT:
        yield "the program asked for a debugger: abort() and failed assertions end like this"
    elif trap.cause in MISALIGNED_DATA and d is not None and d.insn is not None:
        if d.insn.unit.is_vector and not machine.config.misaligned_vector:
            yield "align the data to its element size, as this CPU needs"
            yield f"rvsim run --cpu {_EVERYTHING} {name}, which has no such need"
    else:
        yield f"rvsim run --trace spike:trace.log {name}; the end of the log leads to the address"


def _ways_to_legality(machine: Machine, trap: Trap, d: Decoded) -> Iterator[str]:
    assert d.insn is not None
    config = machine.config
    if "csr" in d.fields:
        yield from _ways_to_counters(config, d.fields["csr"])
        return
    if not d.insn.is_in(config) and d.insn.unsupported is None:
        fitting = [cpu for cpu in (DEFAULT_CPU, _EVERYTHING) if d.insn.is_in(make_config(cpu))]
        if fitting:
            yield f"rvsim run --cpu {fitting[0]}, which has it"
        return
    vtype = VType.decode(machine.state["vtype"])
    if d.insn.vector and vtype is None:
        if _took_vtype_away(machine, trap) is not None:
            yield "set vtype again after the call, and load what registers held"
            yield "rvsim run --syscall-vector keep, as Linux did before 6.5"
            return
        last = _last(machine, _sets_vtype)
        if last is not None:
            yield f"look at {disassemble(last)} at {machine.place(last.pc)}, which set vtype"
        return
    found = problems(d.insn, d.fields, vtype, config)
    if trap.why in NOTES:
        yield "rvsim run --reserved allow, which notes it and goes on"
    if found and all(violation.allowable for violation in found):
        yield "rvsim run --reserved allow, which executes it; QEMU 10 refuses most such uses"


def _ways_to_counters(config: Config, csr: int) -> Iterator[str]:
    if hidden_by_linux(config, csr) is None:
        return
    yield "rdtime, which user mode may always read, or perf_event_open"
    if hidden_by_linux(replace(config, user_counters="allow"), csr) is None:
        yield "rvsim run --user-counters allow"


def _explain_options(machine: Machine, d: Decoded) -> str:
    assert d.insn is not None
    options = ""
    vtype = VType.decode(machine.state["vtype"])
    if d.insn.vector and vtype is not None:
        options += f" --vtype {vtype}"
    if d.insn.unit.is_vector and machine.config.vlen != make_config().vlen:
        options += f" --vlen {machine.config.vlen}"
    return options
