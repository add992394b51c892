"""Unsigned integers of one or two limbs, with what sums of products need.

Lanes have 64 bits at most, and a product of two F64 significands has 106.  `One` and `Two` have the
same operations, so that fused multiply-add is written once.
"""

from __future__ import annotations

from dataclasses import dataclass

from rvsim import ir
from rvsim.ir import Value


def shift_right_jam(value: Value, amount: Value) -> Value:
    """Shift right; the lowest bit is set as well if a bit was lost.

    An amount above the width counts as the width less 1, so the leading bit of `value` is to be 0.
    """
    amount = ir.min_u(amount, value.type.width - 1)
    shifted = ir.shr_u(value, amount)
    return shifted | ir.min_u(value - (shifted << amount), 1)


@dataclass(frozen=True, slots=True)
class One:
    """A single limb."""

    value: Value

    def __add__(self, other: One) -> One:
        return One(self.value + other.value)

    def __sub__(self, other: One) -> One:
        return One(self.value - other.value)

    def choose(self, cond: Value, other: One) -> One:
        """This where `cond` is set, else the other."""
        return One(ir.where(cond, self.value, other.value))

    def sign(self) -> Value:
        """All ones where the highest bit is set, else 0."""
        return ir.shr_s(self.value, self.value.type.width - 1)

    def absolute(self, sign: Value) -> One:
        """The magnitude of a two's complement number of that `sign`."""
        return One((self.value ^ sign) - sign)

    def shift_right_jam(self, amount: Value) -> One:
        return One(shift_right_jam(self.value, amount))

    def normalized(self) -> tuple[Value, Value]:
        """(leading zeros, top limb with the leading bit third from the top and lost bits jammed).

        There are at least two leading zeros.
        """
        zeros = ir.clz(self.value)
        return zeros, self.value << (zeros - 2)


@dataclass(frozen=True, slots=True)
class Two:
    """Two limbs."""

    hi: Value
    lo: Value

    @staticmethod
    def high(value: Value) -> Two:
        """`value` in the upper limb."""
        return Two(value, ir.const(0, value.type))

    def __add__(self, other: Two) -> Two:
        lo = self.lo + other.lo
        carry = ir.zext(ir.lt_u(lo, self.lo), lo.type.width)
        return Two(self.hi + other.hi + carry, lo)

    def __sub__(self, other: Two) -> Two:
        borrow = ir.zext(ir.lt_u(self.lo, other.lo), self.lo.type.width)
        return Two(self.hi - other.hi - borrow, self.lo - other.lo)

    def choose(self, cond: Value, other: Two) -> Two:
        return Two(ir.where(cond, self.hi, other.hi), ir.where(cond, self.lo, other.lo))

    def sign(self) -> Value:
        return ir.shr_s(self.hi, self.hi.type.width - 1)

    def absolute(self, sign: Value) -> Two:
        return Two(self.hi ^ sign, self.lo ^ sign) - Two(sign, sign)

    def shift_right_jam(self, amount: Value) -> Two:
        width = self.hi.type.width
        amount = ir.min_u(amount, 2 * width - 1)
        within = amount & (width - 1)
        far = ir.lt_u(width - 1, amount)
        hi = ir.shr_u(self.hi, within)
        from_hi = (self.hi << 1) << (width - 1 - within)
        lo = ir.shr_u(self.lo, within)
        lost = self.lo - (lo << within)
        lo = lo | from_hi
        lost = lost | ir.where(far, lo, 0)
        return Two(ir.where(far, 0, hi), ir.where(far, hi, lo) | ir.min_u(lost, 1))

    def normalized(self) -> tuple[Value, Value]:
        width = self.hi.type.width
        empty = self.hi == 0
        hi, lo = ir.where(empty, self.lo, self.hi), ir.where(empty, 0, self.lo)
        zeros = ir.clz(hi)
        # The leading bit goes to the top and comes back by two, to take bits of `lo` with it.
        moved = (hi << zeros) | ir.shr_u(ir.shr_u(lo, 1), width - 1 - zeros)
        lost = (moved & 3) | (lo << zeros)
        top = ir.shr_u(moved, 2) | ir.min_u(lost, 1)
        return zeros + (ir.zext(empty, width) << 6), top
