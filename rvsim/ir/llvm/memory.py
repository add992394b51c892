"""Guest memory in compiled code: values and lanes; a lane that may not be accessed ends the visit.

Addresses and their checks are made in `rvsim.ir.llvm.bounds`.
"""

from __future__ import annotations

from typing import Any

from rvsim.hart.memory import R, W
from rvsim.ir.llvm.bounds import GuestSpace
from rvsim.ir.llvm.build import (
    I64,
    at,
    element_type,
    filled,
    join,
    lane_count,
    vector,
)


class GuestMemory(GuestSpace):
    """Accesses of one lane after the other, in element order up to the first fault."""

    def load_lanes(self, b: Any, addr: Any, active: Any, width: int, *, all_active: bool) -> Any:
        """(lanes, index of the first lane that faults); a lane not loaded is 0."""
        n = lane_count(active)
        type_ = vector(n, width)
        if not (all_active and addr.type == I64):
            return self._load_each(b, addr, active, type_)
        whole, each, after = (b.append_basic_block(s) for s in ("whole", "each", "join"))
        b.cbranch(self.may_load(b, addr, n * width // 8), whole, each)
        b.position_at_end(whole)
        fast = self.load(b, addr, type_)
        b.branch(after)
        b.position_at_end(each)
        slow, stop = self._load_each(b, addr, active, type_)
        last = b.block
        b.branch(after)
        b.position_at_end(after)
        return (
            join(b, (fast, whole), (slow, last)),
            join(b, (I64(n), whole), (stop, last)),
        )

    def store_lanes(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> Any:
        """Store lane after lane; the index of the first that faults."""
        n, width = lane_count(values), element_type(values).width
        if not (all_active and addr.type == I64):
            return self._store_each(b, addr, values, active)
        whole, each, after = (b.append_basic_block(s) for s in ("whole", "each", "join"))
        b.cbranch(self.may_store(b, addr, n * width // 8), whole, each)
        b.position_at_end(whole)
        self.store(b, addr, values)
        b.branch(after)
        b.position_at_end(each)
        stop = self._store_each(b, addr, values, active)
        last = b.block
        b.branch(after)
        b.position_at_end(after)
        return join(b, (I64(n), whole), (stop, last))

    def _load_each(self, b: Any, addr: Any, active: Any, type_: Any) -> Any:
        element = type_.element
        slot = self.frame.spill(b, filled(type_, 0))

        def one(index: Any, host: Any) -> None:
            b.store(b.load(host, typ=element, align=1), at(b, slot, index, element), align=1)

        stop = self.each(b, addr, active, element.width // 8, R, one)
        return b.load(slot, typ=type_, align=1), stop

    def _store_each(self, b: Any, addr: Any, values: Any, active: Any) -> Any:
        element = element_type(values)
        slot = self.frame.spill(b, values)

        def one(index: Any, host: Any) -> None:
            b.store(b.load(at(b, slot, index, element), typ=element, align=1), host, align=1)

        return self.each(b, addr, active, element.width // 8, W, one)
