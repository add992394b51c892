"""Lowers the records of instructions (`rvsim.cost.ring`): each step of a region stores its own.

Where a record goes follows from the fuel, which tells how many instructions have executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rvsim.cost.record import TOLD
from rvsim.cost.ring import FIELDS
from rvsim.cost.state import word_index
from rvsim.engine.jit.discover import BasicBlock, Step
from rvsim.engine.jit.registers import RegionState
from rvsim.hart.state import RECORD, RING
from rvsim.ir.accesses import ADDR, BYTES
from rvsim.ir.llvm.build import I64, at

_RECORD_BYTES: Final = 8 * len(FIELDS)
_TIMES: Final = ("issued", "begun", "finished")


class RecordsLowerer:
    """Stores records while a region is built, whose arrays have these offsets in the state."""

    def __init__(self, state: RegionState, offsets: Mapping[str, int]) -> None:
        self._state = state
        self._ring = offsets[RING]
        self._first: Any = None

    def enter(self, b: Any, fuel: Any) -> None:
        """A block begins with this fuel: find the place of its first record."""
        before_end = b.sub(self._state.peek(b, "records_end"), fuel)
        ring = at(b, self._state.base, self._ring)
        self._first = at(b, ring, b.mul(before_end, I64(_RECORD_BYTES)))

    def step(self, b: Any, block: BasicBlock, index: int) -> None:
        """Step number `index` has executed, and has been accounted for."""
        step = block.steps[index]
        for i, value in enumerate(self._values(b, step).values()):
            b.store(value, at(b, self._first, index * _RECORD_BYTES + 8 * i))

    def _values(self, b: Any, step: Step) -> dict[str, Any]:
        state = self._state
        accesses = BYTES in step.program.writes()
        own = {
            "site": I64(step.fields["site"]),
            "word": I64(step.decoded.word),
            "vl": state.peek(b, "vl"),
            "vtype": state.peek(b, "vtype"),
            "addr": state.read(b, ADDR) if accesses else I64(0),
            "size": state.read(b, BYTES) if accesses else I64(0),
        }
        if step.timing is None:
            now = state.read_array(b, "core", I64(word_index("now")))
            told = {name: now if name in _TIMES else I64(0) for name in TOLD}
        else:
            told = {n: state.read_array(b, RECORD, I64(i)) for i, n in enumerate(TOLD)}
        values = own | told
        return {name: values[name] for name in FIELDS}
