"""Guest registers as SSA values: loaded when a region is entered, written back where it is left.

Each register has a stack slot, which LLVM turns into values.  Vector registers that are ever used
as one group share a slot of the group's size, so that a group costs no shuffles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from rvsim.engine.jit.arrays import ArraySlots
from rvsim.engine.jit.discover import RegionPlan, Step
from rvsim.engine.jit.float_env import environment
from rvsim.engine.jit.strips.analysis import is_wide
from rvsim.hart.state import F_BASE, SLOT, V_OFFSET, X_BASE
from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I8, I64, PTR, Frame, at
from rvsim.ir.llvm.state import StateAccess
from rvsim.ir.program import Program, Subprogram
from rvsim.ir.statements import Statement, Write, WriteF, WriteMask, WriteV, WriteX
from rvsim.ir.types import Type
from rvsim.ir.value import Value


@dataclass(slots=True)
class Usage:
    """What a region reads and writes: x and f registers, named words, and vector groups."""

    x: set[int] = field(default_factory=set)
    x_written: set[int] = field(default_factory=set)
    f: set[int] = field(default_factory=set)
    f_written: set[int] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    words_written: set[str] = field(default_factory=set)
    v_groups: set[tuple[int, int]] = field(default_factory=set)
    v_written: set[int] = field(default_factory=set)
    v_in_memory: set[int] = field(default_factory=set)


def usage(plan: RegionPlan, vlenb: int) -> Usage:
    """Everything that the programs of a region touch."""
    used = Usage()
    for block in plan.blocks.values():
        for step in block.steps:
            _add(used, step, vlenb)
            if step.settles_flags:
                used.words_written.add("fflags")
    used.words |= used.words_written
    used.x |= used.x_written
    used.f |= used.f_written
    used.x -= {0}
    used.x_written -= {0}
    return used


def _add(used: Usage, step: Step, vlenb: int) -> None:
    programs: list[Program] = [step.program, *([] if step.timing is None else [step.timing])]
    for value in itertools.chain.from_iterable(p.values() for p in programs):
        _add_read(used, step, vlenb, value)
    for stmt in itertools.chain.from_iterable(p.statements() for p in programs):
        _add_write(used, step, vlenb, stmt)


def _add_read(used: Usage, step: Step, vlenb: int, value: Value) -> None:
    match value.prim, value.attrs:
        case "read_x", (field, _):
            used.x.add(step.register(field))
        case "read_f", (field, _):
            used.f.add(step.register(field))
        case "read", (name, _):
            used.words.add(name)
        case "read_v", (field, offset, type_):
            first = step.register(field) + offset
            _add_group(used, step, first, type_.total_bits // 8, vlenb)
        case "read_mask", (field, _):
            _add_group(used, step, step.register(field), vlenb, vlenb)


def _add_write(used: Usage, step: Step, vlenb: int, stmt: Statement) -> None:
    match stmt:
        case WriteX(field, _):
            used.x_written.add(step.register(field))
        case WriteF(field, _):
            used.f_written.add(step.register(field))
        case Write(name, _):
            used.words_written.add(name)
        case WriteV() | WriteMask():
            offset, first_byte, type_ = _written(stmt)
            first, nbytes = step.register(stmt.field) + offset, -(-type_.total_bits // 8)
            used.v_written |= _add_group(used, step, first, first_byte + nbytes, vlenb)


def _add_group(used: Usage, step: Step, first: int, nbytes: int, vlenb: int) -> set[int]:
    """The registers from `first` on that hold so many bytes, as a group that is used."""
    count = max(1, -(-nbytes // vlenb))
    used.v_groups.add((first, count))
    registers = set(range(first, first + count))
    if is_wide(step.program):
        used.v_in_memory |= registers
    return registers


def _written(stmt: WriteV | WriteMask) -> tuple[int, int, Type]:
    if isinstance(stmt, WriteMask):
        return 0, 0, stmt.value.type
    return stmt.reg_offset, stmt.byte_offset, stmt.value.type


@dataclass(frozen=True, slots=True)
class Slot:
    """Vector registers [first, first + count) that live in one stack slot, or in the state.

    Registers that wide programs use are left in the state: they are more than a host can hold.
    """

    first: int
    count: int
    pointer: Any
    in_state: bool


def _clusters(groups: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Register ranges that contain each group whole."""
    merged: list[list[int]] = []
    for first, count in sorted(groups):
        if merged and first < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], first + count)
        else:
            merged.append([first, first + count])
    return [(first, stop - first) for first, stop in merged]


class RegionState(StateAccess):
    """The state of a region under construction; `leave` is where a trap goes instead."""

    def __init__(self, frame: Frame, base: Any, used: Usage, vlen: int, arrays: ArraySlots) -> None:
        self.arrays = arrays
        self.frame = frame
        entry = frame.entry
        self.base = base
        self.vlenb = vlen // 8
        self.used = used
        self.leave: Any = None
        self.env = environment(build.host_of(entry.module).arch)
        self._words = {name: self._alloca(entry, I64) for name in sorted(used.words | {"pc"})}
        self._x = {n: self._alloca(entry, I64) for n in sorted(used.x)}
        self._f = {n: self._alloca(entry, I64) for n in sorted(used.f)}
        self._v: dict[int, Slot] = {}
        for first, count in _clusters(used.v_groups):
            registers = range(first, first + count)
            in_state = not used.v_in_memory.isdisjoint(registers)
            if in_state:
                pointer = self._vector(entry, first)
            else:
                pointer = self._alloca(entry, ir.VectorType(I8, count * self.vlenb))
            self._v.update(dict.fromkeys(registers, Slot(first, count, pointer, in_state)))

    @staticmethod
    def _alloca(entry: Any, type_: Any) -> Any:
        slot = entry.alloca(type_)
        slot.type = PTR
        return slot

    # -- the region's borders

    def load_all(self, b: Any) -> None:
        """Bring the registers in, on entry."""
        for name, slot in self._words.items():
            b.store(b.load(self._word(b, SLOT[name]), typ=I64), slot)
        for n, slot in self._x.items():
            b.store(b.load(self._word(b, X_BASE + n), typ=I64), slot)
        for n, slot in self._f.items():
            b.store(b.load(self._word(b, F_BASE + n), typ=I64), slot)
        for slot in self._slots():
            type_ = ir.VectorType(I8, slot.count * self.vlenb)
            b.store(b.load(self._vector(b, slot.first), typ=type_, align=1), slot.pointer)
        self.arrays.load_all(b)

    def store_all(self, b: Any) -> None:
        """Write back what the region may have changed, where it is left."""
        self.arrays.store_all(b)
        for name in sorted(self.used.words_written | {"pc"}):
            b.store(b.load(self._words[name], typ=I64), self._word(b, SLOT[name]))
        for n in sorted(self.used.x_written):
            b.store(b.load(self._x[n], typ=I64), self._word(b, X_BASE + n))
        for n in sorted(self.used.f_written):
            b.store(b.load(self._f[n], typ=I64), self._word(b, F_BASE + n))
        for slot in self._slots():
            written = [r for r in range(slot.first, slot.first + slot.count)
                       if r in self.used.v_written]  # fmt: skip
            if len(written) == slot.count:
                type_ = ir.VectorType(I8, slot.count * self.vlenb)
                b.store(b.load(slot.pointer, typ=type_), self._vector(b, slot.first), align=1)
            else:
                for r in written:
                    octets = self.read_v(b, r, 0, ir.VectorType(I8, self.vlenb))
                    b.store(octets, self._vector(b, r), align=1)

    def _slots(self) -> list[Slot]:
        """Those that hold registers outside the state."""
        return list({s.first: s for s in self._v.values() if not s.in_state}.values())

    def _word(self, b: Any, index: int) -> Any:
        return at(b, self.base, 8 * index)

    def _vector(self, b: Any, register: int) -> Any:
        return at(b, self.base, V_OFFSET + register * self.vlenb)

    def settle_flags(self, b: Any) -> None:
        """Bring the host's flags into fflags, for an instruction that names it."""
        if self.env is not None and "fflags" in self.used.words:
            raised = self.env.take_flags(b, self.frame)
            b.store(b.or_(self.read(b, "fflags"), raised), self._words["fflags"])

    def peek(self, b: Any, name: str) -> Any:
        """A word of the state, also one that no program of the region uses."""
        if name in self._words:
            return self.read(b, name)
        return b.load(self._word(b, SLOT[name]), typ=I64)

    # -- StateAccess

    def read(self, b: Any, name: str) -> Any:
        return b.load(self._words[name], typ=I64)

    def write(self, b: Any, name: str, value: Any) -> None:
        b.store(value, self._words[name])
        if name == "frm" and self.env is not None:
            self.env.set_mode(b, self.frame, value)

    def read_x(self, b: Any, register: int) -> Any:
        return b.load(self._x[register], typ=I64)

    def write_x(self, b: Any, register: int, value: Any) -> None:
        b.store(value, self._x[register])

    def read_f(self, b: Any, register: int) -> Any:
        return b.load(self._f[register], typ=I64)

    def write_f(self, b: Any, register: int, value: Any) -> None:
        b.store(value, self._f[register])

    def pointer(self, b: Any, register: int, byte_offset: int = 0) -> Any:
        """Where a register that a wide program uses lies in memory."""
        slot = self._v[register]
        if not slot.in_state:
            raise AssertionError(f"v{register} is not in the state")
        return at(b, slot.pointer, (register - slot.first) * self.vlenb + byte_offset)

    def read_v(self, b: Any, register: int, byte_offset: int, type_: Any) -> Any:
        slot = self._v[register]
        if slot.in_state:
            return b.load(self.pointer(b, register, byte_offset), typ=type_, align=1)
        total = slot.count * self.vlenb
        start = (register - slot.first) * self.vlenb + byte_offset
        nbytes = _bytes_of(type_)
        octets = b.load(slot.pointer, typ=ir.VectorType(I8, total))
        if nbytes != total:
            octets = build.pick(b, octets, range(start, start + nbytes))
        return b.bitcast(octets, type_)

    def write_v(self, b: Any, register: int, byte_offset: int, value: Any) -> None:
        slot = self._v[register]
        if slot.in_state:
            b.store(value, self.pointer(b, register, byte_offset), align=1)
            return
        total = slot.count * self.vlenb
        start = (register - slot.first) * self.vlenb + byte_offset
        nbytes = _bytes_of(value.type)
        octets = b.bitcast(value, ir.VectorType(I8, nbytes))
        whole = ir.VectorType(I8, total)
        if nbytes != total:
            old = b.load(slot.pointer, typ=whole)
            widened = build.pick(b, octets, [i % nbytes for i in range(total)])
            table = [total + (i - start) % nbytes if start <= i < start + nbytes else i
                     for i in range(total)]  # fmt: skip
            # `widened` repeats the new bytes, so that one shuffle of two equal types merges them.
            octets = b.shuffle_vector(
                old, widened, ir.Constant(ir.VectorType(build.I32, total), table)
            )
        b.store(octets, slot.pointer)

    def read_array(self, b: Any, name: str, index: Any) -> Any:
        return self.arrays.read(b, name, index)

    def write_array(self, b: Any, name: str, index: Any, value: Any) -> None:
        self.arrays.write(b, name, index, value)

    def invoke(self, b: Any, subprogram: Subprogram, args: Sequence[Any]) -> Any:
        return self.arrays.invoke(b, subprogram, args)

    def trap(self, b: Any, cause: int, tval: Any, why: str) -> None:
        """The interpreter executes the instruction again and finds the same trap, precisely."""
        b.branch(self.leave)


def _bytes_of(type_: Any) -> int:
    if isinstance(type_, ir.VectorType):
        return int(type_.count * type_.element.width // 8)
    return int(type_.width // 8)
