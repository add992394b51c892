"""Where compiled code forms addresses: all of its checks of guest memory, and all its accesses.

A guest may ask for any of the 2^64 addresses, and nothing else stands between it and the host.  So
only the functions of this file that are marked `forms_address` see where guest memory and its
permission bytes lie.  They hold to three rules:

- an address is compared with ``size - nbytes`` (no sum that could wrap around), or its page is
  looked up in the table of permissions, which has one page more than the memory, without
  permissions, for all that lies outside;
- what was compared and looked up is the first and the last byte, and each page between them;
- the last byte's address is a sum only where the first byte is known to lie inside.

tests/engine/test_address_proofs.py proves each of them for all addresses, by translating the LLVM
IR that it emits into bit-vectors.  To add one: write it here, mark it, and give it a proof there; a
marked function without a proof fails that test, and so does code elsewhere that names the places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from llvmlite import ir

from rvsim.hart.memory import PAGE, R, W
from rvsim.ir.llvm.build import (
    I8,
    I32,
    I64,
    PTR,
    Frame,
    at,
    filled,
    intrinsic,
    join,
    lane_count,
    splat,
)

PAGE_BITS: Final = PAGE.bit_length() - 1
LIKELY: Final = (1 << 10, 1)

Element = Callable[[Any, Any], None]
"""What a loop does to one lane: its index, and the host address of its bytes."""

_Method = TypeVar("_Method", bound=Callable[..., Any])
FORMS_ADDRESS: Final[dict[str, Callable[..., Any]]] = {}
"""The functions that emit checks and addresses, by name; each has a proof."""


def forms_address(method: _Method) -> _Method:
    """Mark a method as one that may name the places of guest memory."""
    FORMS_ADDRESS[method.__name__] = method
    return method


class GuestSpace:
    """The guest's `size` bytes at `data`, and its permission bytes at `perm`.

    `size` is a positive multiple of `PAGE`.
    """

    def __init__(self, data: Any, perm: Any, size: Any, frame: Frame) -> None:
        self._data = data
        self._perm = perm
        self._size = size
        self.frame = frame

    # -- what is allowed

    @forms_address
    def permission(self, b: Any, addr: Any) -> Any:
        """The permission byte of any address; outside the guest's memory, of the page after it."""
        pages = [b.lshr(where, I64(PAGE_BITS)) for where in (addr, self._size)]
        return b.load(at(b, self._perm, intrinsic(b, "umin", pages)), typ=I8)

    @forms_address
    def _permission_inside(self, b: Any, addr: Any) -> Any:
        """The permission byte of an address that is known to lie in guest memory."""
        return b.load(at(b, self._perm, b.lshr(addr, I64(PAGE_BITS))), typ=I8)

    @forms_address
    def inside(self, b: Any, addr: Any, nbytes: int) -> Any:
        """One bit: so many bytes from `addr` on lie in guest memory."""
        fits = b.icmp_unsigned("<=", addr, b.sub(self._size, I64(nbytes)))
        if nbytes <= PAGE:  # which every memory has
            return fits
        return b.and_(b.icmp_unsigned("<=", I64(nbytes), self._size), fits)

    @staticmethod
    def includes(b: Any, have: Any, need: int) -> Any:
        """Whether a permission byte has a bit."""
        return b.icmp_unsigned("!=", b.and_(have, I8(need)), I8(0))

    @forms_address
    def allowed(self, b: Any, addr: Any, nbytes: int, need: int) -> Any:
        """One bit: every page of the span has the permission."""
        have = self.permission(b, addr)
        if 1 < nbytes <= PAGE:
            have = self._with_next_page(b, addr, nbytes, have)
        elif nbytes > PAGE:
            for offset in [*range(PAGE, nbytes - 1, PAGE), nbytes - 1]:
                have = b.and_(have, self.permission(b, b.add(addr, I64(offset))))
        return self.includes(b, have, need)

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

    @forms_address
    def run_allowed(self, b: Any, addr: Any, nbytes: int, used: Any, need: int) -> Any:
        """One bit: `nbytes` lie in guest memory, and the first `used` (an i64) may be accessed.

        `used` is no more than `nbytes`.
        """
        inside = self.inside(b, addr, nbytes)
        last = b.sub(intrinsic(b, "umax", [used, I64(1)]), I64(1))
        first, last = (b.select(inside, value, I64(0)) for value in (addr, last))
        have = I8(need)
        for offset in [*range(0, nbytes - 1, PAGE), nbytes - 1]:
            probe = b.add(first, intrinsic(b, "umin", [I64(offset), last]))
            have = b.and_(have, self._permission_inside(b, probe))
        allowed = b.icmp_unsigned("==", have, I8(need))
        return b.and_(inside, b.or_(allowed, b.icmp_unsigned("==", used, I64(0))))

    @forms_address
    def lanes_allowed(self, b: Any, addr: Any, active: Any, nbytes: int, need: int) -> Any:
        """One bit: each active lane may access so many bytes, at most `PAGE`, at its address.

        If all lie in one page or two, these are looked up, else every lane's.
        """
        low = _reduced(b, "umin", b.select(active, addr, filled(addr.type, -1)))
        high = _reduced(b, "umax", b.select(active, addr, filled(addr.type, 0)))
        end = b.add(high, I64(nbytes - 1))
        pages = b.sub(b.lshr(end, I64(PAGE_BITS)), b.lshr(low, I64(PAGE_BITS)))
        inside = self.inside(b, high, nbytes)
        near = b.and_(inside, b.icmp_unsigned("<=", pages, I64(1)))
        fast, slow, after = (b.append_basic_block(s) for s in ("near", "far", "after"))
        b.cbranch(near, fast, slow).set_weights(LIKELY)
        b.position_at_end(fast)
        both = b.and_(self._permission_inside(b, low), self._permission_inside(b, end))
        together = self.includes(b, both, need)
        b.branch(after)
        b.position_at_end(slow)
        stop = self.each(b, addr, active, nbytes, need, lambda index, host: None)
        apart = b.and_(inside, b.icmp_unsigned("==", stop, I64(lane_count(active))))
        last = b.block
        b.branch(after)
        b.position_at_end(after)
        return join(b, (together, fast), (apart, last))

    # -- addresses on the host

    @forms_address
    def place(self, b: Any, addr: Any) -> Any:
        """Where the bytes of a guest address lie, which has been allowed."""
        return at(b, self._data, addr)

    @forms_address
    def place_again(self, b: Any, addr: Any, nbytes: int) -> Any:
        """`place` of so many bytes, at most `PAGE`, that code elsewhere has allowed.

        Whatever that code did, they lie in guest memory.
        """
        last = b.sub(self._size, I64(nbytes))
        return self.place(b, intrinsic(b, "umin", [addr, last]))

    def load(self, b: Any, addr: Any, type_: Any) -> Any:
        """A value at an address that `may_load` has allowed."""
        return b.load(self.place(b, addr), typ=type_, align=1)

    def store(self, b: Any, addr: Any, value: Any) -> None:
        """Store at an address that `may_store` has allowed."""
        b.store(value, self.place(b, addr), align=1)

    @forms_address
    def places(self, b: Any, addr: Any, active: Any, *, all_active: bool) -> list[Any]:
        """`place` of each lane; inactive ones meet in a place of their own."""
        n = lane_count(addr)
        places = at(b, self._data, addr)
        places.type = ir.VectorType(PTR, n)
        if not all_active:
            places = b.select(active, places, splat(b, self.frame.array(1, 64), n))
        return [b.extract_element(places, I32(i)) for i in range(n)]

    @forms_address
    def each(self, b: Any, addr: Any, active: Any, nbytes: int, need: int, visit: Element) -> Any:
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
        visit(index, self.place(b, where))
        b.branch(step)
        b.position_at_end(step)
        following = b.add(index, I64(1))
        index.add_incoming(following, step)
        b.cbranch(b.icmp_unsigned("==", following, I64(n)), done, top)
        b.position_at_end(done)
        return join(b, (index, refused), (following, step))


def _reduced(b: Any, kind: str, lanes: Any) -> Any:
    return intrinsic(b, f"vector.reduce.{kind}", [lanes], I64)
