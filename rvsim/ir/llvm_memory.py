"""Guest memory in compiled code: the same checks as `rvsim.mem`, and no access outside it.

An access of n bytes is allowed when ``addr <= size - n`` and the permission bytes of its first and
last page have the bit that is needed.  Lanes are visited in element order up to the first fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rvsim.ir.llvm_build import I8, I64, Frame, at, element_type, filled, lane_count, vector
from rvsim.mem import PAGE, R, W

_PAGE_BITS = PAGE.bit_length() - 1
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
        """One bit: every page of the span has the permission.  Spans of pages are probed in each.

        Without a branch: the permission of address 0 is read when the span is outside.
        """
        inside = b.icmp_unsigned("<=", addr, b.sub(self.size, I64(nbytes)))
        safe = b.select(inside, addr, I64(0))
        have = I8(need)
        for offset in [*range(0, nbytes - 1, PAGE), nbytes - 1]:
            page = b.lshr(b.add(safe, I64(offset)), I64(_PAGE_BITS))
            have = b.and_(have, b.load(at(b, self.perm, page), typ=I8))
        return b.and_(inside, b.icmp_unsigned("==", have, I8(need)))

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
        whole, each, join = (b.append_basic_block(s) for s in ("whole", "each", "join"))
        b.cbranch(self.may_load(b, addr, n * width // 8), whole, each)
        b.position_at_end(whole)
        fast = self.load(b, addr, type_)
        b.branch(join)
        b.position_at_end(each)
        slow, stop = self._load_each(b, addr, active, type_)
        last = b.block
        b.branch(join)
        b.position_at_end(join)
        return (
            _join(b, (fast, whole), (slow, last)),
            _join(b, (I64(n), whole), (stop, last)),
        )

    def store_lanes(self, b: Any, addr: Any, values: Any, active: Any, *, all_active: bool) -> Any:
        """Store lane after lane; the index of the first that faults."""
        n, width = lane_count(values), element_type(values).width
        if not (all_active and addr.type == I64):
            return self._store_each(b, addr, values, active)
        whole, each, join = (b.append_basic_block(s) for s in ("whole", "each", "join"))
        b.cbranch(self.may_store(b, addr, n * width // 8), whole, each)
        b.position_at_end(whole)
        self.store(b, addr, values)
        b.branch(join)
        b.position_at_end(each)
        stop = self._store_each(b, addr, values, active)
        last = b.block
        b.branch(join)
        b.position_at_end(join)
        return _join(b, (I64(n), whole), (stop, last))

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
        b.cbranch(self.allowed(b, where, nbytes, need), access, done)
        b.position_at_end(access)
        visit(index, at(b, self.data, where))
        b.branch(step)
        b.position_at_end(step)
        following = b.add(index, I64(1))
        index.add_incoming(following, step)
        b.cbranch(b.icmp_unsigned("==", following, I64(n)), done, top)
        b.position_at_end(done)
        return _join(b, (index, check), (following, step))


def _join(b: Any, *incoming: tuple[Any, Any]) -> Any:
    phi = b.phi(incoming[0][0].type)
    for value, block in incoming:
        phi.add_incoming(value, block)
    return phi
