"""Guest memory in a region: whole spans at once, and out of the region when one is refused.

An instruction that can't be completed has changed nothing yet: the interpreter executes it again
from its start and traps precisely.  So every access here is checked in full before the first byte
moves, and the index of the faulting lane is always "none".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rvsim.ir.llvm_build import I64, element_type, filled, lane_count, vector
from rvsim.ir.llvm_memory import GuestMemory
from rvsim.mem import W


class RegionMemory(GuestMemory):
    """`require` continues where its bit is set and leaves the region elsewhere."""

    require: Callable[[Any], None]

    def load_lanes(self, b: Any, addr: Any, active: Any, width: int, *, all_active: bool) -> Any:
        n = lane_count(active)
        type_ = vector(n, width)
        if addr.type == I64:
            self.require(self.may_load(b, addr, n * width // 8))
            values = self.load(b, addr, type_)
        else:
            values, stop = self._load_each(b, addr, active, type_)
            self.require(b.icmp_unsigned("==", stop, I64(n)))
            return values, I64(n)
        if not all_active:
            values = b.select(active, values, filled(type_, 0))
        return values, I64(n)

    def store_lanes(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> Any:
        n, width = lane_count(values), element_type(values).width
        if addr.type == I64:
            self.require(self.may_store(b, addr, n * width // 8))
            if not all_active:
                # One hart: rewriting the bytes of inactive lanes is invisible.
                values = b.select(active, values, self.load(b, addr, values.type))
            self.store(b, addr, values)
            return I64(n)
        allowed = self._each(b, addr, active, width // 8, W, lambda index, host: None)
        self.require(b.icmp_unsigned("==", allowed, I64(n)))
        self._store_each(b, addr, values, active)
        return I64(n)
