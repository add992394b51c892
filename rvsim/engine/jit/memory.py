"""Guest memory in a region: whole spans at once, and out of the region when one is refused.

An instruction that can't be completed has changed nothing yet: the interpreter executes it again
from its start and traps precisely.  So every access here is checked in full before the first byte
moves, and the index of the faulting lane is always "none".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rvsim.hart.memory import PAGE, R, W
from rvsim.ir.llvm.bounds import LIKELY
from rvsim.ir.llvm.build import (
    I1,
    I32,
    I64,
    element_type,
    filled,
    intrinsic,
    lane_count,
    mask_word,
    resized,
    total_bits,
    vector,
)
from rvsim.ir.llvm.memory import GuestMemory


class RegionMemory(GuestMemory):
    """`require` continues where its bit is set and leaves the region elsewhere."""

    require: Callable[[Any], None]

    def load_lanes(self, b: Any, addr: Any, active: Any, width: int, *, all_active: bool) -> Any:
        n = lane_count(active)
        type_ = vector(n, width)
        if addr.type == I64:
            return self._load_run(b, addr, active, type_, all_active=all_active), I64(n)
        values = self._gather(b, addr, active, type_, all_active=all_active)
        return values, I64(n)

    def store_lanes(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> Any:
        if addr.type == I64:
            self._store_run(b, addr, values, active, all_active=all_active)
        else:
            self._scatter(b, addr, values, active, all_active=all_active)
        return I64(lane_count(values))

    # -- consecutive lanes

    def _load_run(self, b: Any, addr: Any, active: Any, type_: Any, *, all_active: bool) -> Any:
        self._require_run(b, addr, active, type_, R, all_active=all_active)
        values = self.load(b, addr, type_)
        return values if all_active else b.select(active, values, filled(type_, 0))

    def _store_run(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> None:
        self._require_run(b, addr, active, values.type, W, all_active=all_active)
        if not all_active:
            # One hart: that the bytes of inactive lanes are written again is invisible.
            values = b.select(active, values, self.load(b, addr, values.type))
        self.store(b, addr, values)

    def _require_run(
        self, b: Any, addr: Any, active: Any, type_: Any, need: int, *, all_active: bool
    ) -> None:
        """Leave unless the active lanes from `addr` on may be accessed, and the host has all."""
        nbytes = total_bits(type_) // 8
        whole = self.allowed(b, addr, nbytes, need)
        if all_active or nbytes > PAGE:
            self.require(whole)
            return
        slow, after = b.append_basic_block("part"), b.append_basic_block("after")
        b.cbranch(whole, after, slow).set_weights(LIKELY)
        b.position_at_end(slow)
        unused = intrinsic(b, "ctlz", [mask_word(b, active), I1(0)])
        used = b.sub(I64(lane_count(active)), resized(b, unused, 64))
        used_bytes = b.mul(used, I64(type_.element.width // 8))
        self.require(self.run_allowed(b, addr, nbytes, used_bytes, need))
        b.branch(after)
        b.position_at_end(after)

    # -- lanes at addresses of their own

    def _gather(self, b: Any, addr: Any, active: Any, type_: Any, *, all_active: bool) -> Any:
        self.require(self.lanes_allowed(b, addr, active, type_.element.width // 8, R))
        values = filled(type_, 0)
        for i, where in enumerate(self.places(b, addr, active, all_active=all_active)):
            element = b.load(where, typ=type_.element, align=1)
            values = b.insert_element(values, element, I32(i))
        return values if all_active else b.select(active, values, filled(type_, 0))

    def _scatter(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> None:
        self.require(self.lanes_allowed(b, addr, active, element_type(values).width // 8, W))
        for i, where in enumerate(self.places(b, addr, active, all_active=all_active)):
            b.store(b.extract_element(values, I32(i)), where, align=1)
