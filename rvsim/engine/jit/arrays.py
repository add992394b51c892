"""Array elements in a region: the cost model's ready times and counters as SSA values.

An element whose index the operand fields tell has a stack slot, as registers have, unless its array
is also reached by a running index.  A subprogram finds its elements in the state buffer, so their
slots are written there before it runs and read again after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from rvsim.ir.known import known
from rvsim.ir.llvm.backend import subprogram_function
from rvsim.ir.llvm.build import I64, PTR, Frame
from rvsim.ir.llvm.state import BufferState
from rvsim.ir.program import Program, Subprogram
from rvsim.ir.statements import WriteArray

Element = tuple[str, int]


@dataclass(slots=True)
class Touched:
    """Elements that programs read or write, those written, and arrays with a running index."""

    elements: set[Element] = field(default_factory=set)
    written: set[Element] = field(default_factory=set)
    running: set[str] = field(default_factory=set)

    def add(self, program: Program, fields: Mapping[str, int]) -> None:
        """What a program touches itself; its subprograms are apart."""
        for value in program.values():
            if value.prim == "read_array":
                self._add(value.attrs[0], known(value.args[0], fields), written=False)
        for stmt in program.statements():
            if isinstance(stmt, WriteArray):
                self._add(stmt.name, known(stmt.index, fields), written=True)

    def _add(self, name: str, index: int | None, *, written: bool) -> None:
        if index is None:
            self.running.add(name)
            return
        self.elements.add((name, index))
        if written:
            self.written.add((name, index))

    def add_subprogram(self, sub: Subprogram) -> None:
        """What a subprogram touches, and those that it invokes."""
        for program in (sub.program, *(s.program for s in sub.program.subprograms())):
            self.add(program, {})


class ArraySlots:
    """The arrays of one region, in a state buffer with `offsets` (bytes) of each array."""

    def __init__(
        self, frame: Frame, base: Any, offsets: Mapping[str, int], vlen: int, timings: Iterable[Any]
    ) -> None:
        self.buffer = BufferState(base, vlen, [], offsets, self._function)
        self._vlen = vlen
        self._offsets = offsets
        touched, self._inside = Touched(), dict[str, set[Element]]()
        for program, fields in timings:
            touched.add(program, fields)
            for sub in program.subprograms():
                if sub.name not in self._inside:
                    its = Touched()
                    its.add_subprogram(sub)
                    touched.running |= its.running
                    self._inside[sub.name] = its.elements
        inside = {e for e in touched.elements if e[0] in offsets and e[0] not in touched.running}
        self._written = touched.written & inside
        self._slots = {element: _slot(frame) for element in sorted(inside)}

    def _function(self, module: Any, sub: Subprogram) -> Any:
        return subprogram_function(
            module,
            sub,
            lambda base: BufferState(base, self._vlen, [], self._offsets, self._function),
        )

    def load_all(self, b: Any) -> None:
        """Bring the elements in, on entry."""
        self._load(b, self._slots)

    def store_all(self, b: Any) -> None:
        """Write back what the region may have changed, where it is left."""
        self._store(b, self._slots)

    def read(self, b: Any, name: str, index: Any) -> Any:
        slot = self._slot(name, index)
        return self.buffer.read_array(b, name, index) if slot is None else b.load(slot, typ=I64)

    def write(self, b: Any, name: str, index: Any, value: Any) -> None:
        slot = self._slot(name, index)
        if slot is None:
            self.buffer.write_array(b, name, index, value)
        else:
            b.store(value, slot)

    def invoke(self, b: Any, sub: Subprogram, args: Sequence[Any]) -> Any:
        shared = [e for e in self._slots if e in self._inside[sub.name]]
        self._store(b, shared)
        result = self.buffer.invoke(b, sub, args)
        self._load(b, shared)
        return result

    def _slot(self, name: str, index: Any) -> Any:
        if not isinstance(index, ir.Constant):
            return None
        return self._slots.get((name, index.constant))

    def _load(self, b: Any, elements: Iterable[Element]) -> None:
        for name, index in elements:
            b.store(self.buffer.read_array(b, name, I64(index)), self._slots[name, index])

    def _store(self, b: Any, elements: Iterable[Element]) -> None:
        for name, index in elements:
            if (name, index) in self._written:
                value = b.load(self._slots[name, index], typ=I64)
                self.buffer.write_array(b, name, I64(index), value)


def _slot(frame: Frame) -> Any:
    slot = frame.entry.alloca(I64)
    slot.type = PTR
    return slot
