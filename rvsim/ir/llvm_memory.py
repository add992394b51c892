"""Guest memory in compiled code: the same checks as `rvsim.mem`, and no access outside it.

An access is allowed when the permission bytes of its first and last page have the bit that is
needed.  The table has one page more than the memory, without permissions, for what lies outside.
Lanes are visited in element order up to the first fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rvsim.ir.llvm_build import (
    I8,
    I64,
    Frame,
    at,
    element_type,
    filled,
    intrinsic,
    join,
    lane_count,
    vector,
)
from rvsim.mem import PAGE, R, W

PAGE_BITS = PAGE.bit_length() - 1
Element = Callable[[Any, Any], None]
"""What a loop does to one lane: its index, and the host address of its bytes."""


class GuestMemory:
    """Accesses to the guest space at `data`, of `size` bytes, with its permission bytes."""

    def __init__(self, data: Any, perm: Any, size: Any, frame: Frame) -> None:
        self.data = data
        self.perm = perm
        self.size = size
        self.frame = frame

    def allowed(self, b: Any, addr: Any, nbytes: int, need: int) -> Any:
        """One bit: every page of the span has the permission."""
        have = self.permission(b, addr)
        if 1 < nbytes <= PAGE:
            have = self._with_next_page(b, addr, nbytes, have)
        elif nbytes > PAGE:
            for offset in [*range(PAGE, nbytes - 1, PAGE), nbytes - 1]:
                have = b.and_(have, self.permission(b, b.add(addr, I64(offset))))
        return self.includes(b, have, need)

    @staticmethod
    def includes(b: Any, have: Any, need: int) -> Any:
        """Whether a permission byte has a bit."""
        return b.icmp_unsigned("!=", b.and_(have, I8(need)), I8(0))

    def permission(self, b: Any, addr: Any) -> Any:
        """The permission byte of an address; outside the guest's memory, of the page behind it."""
        pages = [b.lshr(where, I64(PAGE_BITS)) for where in (addr, self.size)]
        return b.load(at(b, self.perm, intrinsic(b, "umin", pages)), typ=I8)

    def _with_next_page(self, b: Any, addr: Any, nbytes: int, have: Any) -> Any:
        """Permissions of a span that may cross a page's end, which few do."""
        before = b.block
        cross, after = b.append_basic_block("cross"), b.append_basic_block("pages")
        if nbytes in (2, 4, 8):  # that it is aligned takes one instruction less
            apart = b.icmp_unsigned("!=", b.and_(addr, I64(nbytes - 1)), I64(0))
        else:
            apart = b.icmp_unsigned(">", b.and_(addr, I64(PAGE - 1)), I64(PAGE - nbytes))
        b.cbranch(apart, cross, after).set_weights([1, 1 << 10])
        b.position_at_end(cross)
        both = b.and_(have, self.permission(b, b.add(addr, I64(nbytes - 1))))
        b.branch(after)
        b.position_at_end(after)
        return join(b, (have, before), (both, cross))

    def may_load(self, b: Any, addr: Any, nbytes: int) -> Any:
        return self.allowed(b, addr, nbytes, R)

    def may_store(self, b: Any, addr: Any, nbytes: int) -> Any:
        return self.allowed(b, addr, nbytes, W)

    def load(self, b: Any, addr: Any, type_: Any) -> Any:
        """A value at an address that `may_load` has allowed."""
        return b.load(at(b, self.data, addr), typ=type_, align=1)

    def store(self, b: Any, addr: Any, value: Any) -> None:
        """Store at an address that `may_store` has allowed."""
        b.store(value, at(b, self.data, addr), align=1)

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

        stop = self._each(b, addr, active, element.width // 8, R, one)
        return b.load(slot, typ=type_, align=1), stop

    def _store_each(self, b: Any, addr: Any, values: Any, active: Any) -> Any:
        element = element_type(values)
        slot = self.frame.spill(b, values)

        def one(index: Any, host: Any) -> None:
            b.store(b.load(at(b, slot, index, element), typ=element, align=1), host, align=1)

        return self._each(b, addr, active, element.width // 8, W, one)

    def _each(self, b: Any, addr: Any, active: Any, nbytes: int, need: int, visit: Element) -> Any:
        """Visit the active lanes until one may not be accessed; its index, or their number."""
        n = lane_count(active)
        flags = self.frame.spill(b, active)
        addrs = None if addr.type == I64 else self.frame.spill(b, addr)
        before = b.block
        top, check, access, step, done = (
            b.append_basic_block(s) for s in ("lane", "check", "access", "step", "done")
        )
        b.branch(top)
        b.position_at_end(top)
        index = b.phi(I64)
        index.add_incoming(I64(0), before)
        flag = b.load(at(b, flags, index), typ=I8)
        b.cbranch(b.icmp_unsigned("!=", flag, I8(0)), check, step)
        b.position_at_end(check)
        if addrs is None:
            where = b.add(addr, b.mul(index, I64(nbytes)))
        else:
            where = b.load(at(b, addrs, index, I64), typ=I64, align=1)
        allowed = self.allowed(b, where, nbytes, need)
        refused = b.block
        b.cbranch(allowed, access, done)
        b.position_at_end(access)
        visit(index, at(b, self.data, where))
        b.branch(step)
        b.position_at_end(step)
        following = b.add(index, I64(1))
        index.add_incoming(following, step)
        b.cbranch(b.icmp_unsigned("==", following, I64(n)), done, top)
        b.position_at_end(done)
        return join(b, (index, refused), (following, step))
