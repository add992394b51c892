"""Rounding, overflow and underflow, in one place (F 11.2; IEEE 754 4.3 and 7.4 to 7.6).

Tininess is detected after rounding, as RISC-V has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim import ir
from rvsim.fp.formats import Format
from rvsim.ir import Value
from rvsim.ir.float_operation import RoundingMode

RNE: Final = RoundingMode.RNE
RTZ: Final = RoundingMode.RTZ
RDN: Final = RoundingMode.RDN
RUP: Final = RoundingMode.RUP
RMM: Final = RoundingMode.RMM
ODD: Final = RoundingMode.ODD

Rounding = Value | RoundingMode
"""How to round: bits[3] that hold one of the five modes of frm, or a mode that tracing knows."""


def known_mode(rm: Rounding) -> RoundingMode | None:
    """The mode if tracing knows it."""
    if isinstance(rm, RoundingMode):
        return rm
    return None if rm.const is None else RoundingMode(rm.const)


def sign_of_zero(fmt: Format, rm: Rounding) -> Value | int:
    """The sign bit of an exact zero that is a sum of numbers of opposite sign (IEEE 754 6.3)."""
    known = known_mode(rm)
    if known is not None:
        return fmt.sign if known == RDN else 0
    assert isinstance(rm, Value)
    return ir.where(rm == RDN, ir.const(fmt.sign, fmt.work), 0)


class Rounder:
    """Increments that make cutting off low bits round as `rm` has it.

    `sign_bit` is not 0 for negative numbers, and in the lanes that the work is in; `away` is 1
    where a magnitude may grow, else 0.
    """

    def __init__(self, rm: Rounding, sign_bit: Value) -> None:
        self.mode = known_mode(rm)
        self.type = sign_bit.type
        width = self.type.width
        if self.mode is None:
            assert isinstance(rm, Value)
            nearest = (rm == RNE) | (rm == RMM)
            self._even = ir.zext(rm == RNE, width)
            self._half_up = ir.zext(rm == RMM, width)
            self._nearest = ir.zext(nearest, width)
            up, down = (ir.zext(nearest | (rm == mode), width) for mode in (RUP, RDN))
            self.away = ir.where(sign_bit != 0, down, up)
        elif self.mode in (RUP, RDN):
            self.away = ir.zext(sign_bit != 0 if self.mode == RDN else sign_bit == 0, width)
        else:
            self.away = ir.const(int(self.mode in (RNE, RMM)), self.type)

    @property
    def truncates(self) -> bool:
        """Whether nothing is ever added."""
        return self.mode in (RTZ, ODD)

    def increment(self, low: Value | int, kept: Value) -> Value:
        """For numbers whose bits under the mask `low` go, `kept` being what is above them.

        `low` is 2**n - 1 for an n of at least 1.
        """
        if self.mode == RNE:
            return (kept & 1) + self._half(low)
        if self.mode is None:
            return self._part(low) + ((kept & self._even) | self._half_up)
        return self.increment_if_odd(low)

    def increment_if_odd(self, low: Value | int) -> Value:
        """As `increment` where the last bit kept is known to be 1."""
        if self.mode in (RNE, RMM):
            half = self._half(low)
            return half + 1 if isinstance(half, Value) else ir.const(half + 1, self.type)
        if self.mode is None:
            return self._part(low) + self._nearest
        return (0 - self.away) & low

    def _half(self, low: Value | int) -> Value | int:
        """Just under half a unit."""
        return ir.shr_u(low, 1) if isinstance(low, Value) else low >> 1

    def _part(self, low: Value | int) -> Value:
        """Just under half a unit, just under a whole one, or 0."""
        value = low if isinstance(low, Value) else ir.const(low, self.type)
        return ir.shr_u(value, self._nearest) & (0 - self.away)

    def cut(self, sig: Value, bits: Value | int, low: Value | int) -> tuple[Value, Value]:
        """(`sig` without its lowest `bits`, rounded; whether that changed it); ``low`` masks them.

        >>> from rvsim.ir import Trace
        >>> with Trace():
        ...     rounder = Rounder(RTZ, ir.const(0, 32))
        ...     rounder.cut(ir.param("sig", 32), 4, 15)
        (<shr_u bits[32]>, <ne bits[1]>)
        """
        kept = ir.shr_u(sig, bits)
        inexact = (sig & low) != 0
        if self.mode == ODD:
            return kept | ir.zext(inexact, self.type.width), inexact
        if self.truncates:
            return kept, inexact
        return ir.shr_u(sig + self.increment(low, kept), bits), inexact

    def greatest(self, fmt: Format) -> Value:
        """What an overflow gives: infinity or the greatest finite magnitude."""
        if self.away.const is None:
            return self.away + fmt.largest
        return ir.const(fmt.largest + self.away.const, self.type)


@dataclass(frozen=True, slots=True)
class Rounded:
    """A magnitude of the format, in work lanes, and the flags that rounding raised."""

    magnitude: Value
    of: Value
    uf: Value
    nx: Value


def round_pack(
    fmt: Format,
    rm: Rounding,
    sign_bit: Value,
    exponent: Value,
    sig: Value,
    *,
    finite: Value | None = None,
    zero: Value | None = None,
    subnormal: bool = True,
    overflow: bool = True,
) -> Rounded:
    """The magnitude nearest to ``sig * 2**(exponent + 1 - bias - top)``, in the sense of `rm`.

    The leading bit of `sig` is at `top`, two below the highest; the lowest bit may stand for
    all that was lost below it.  Flags are raised only where the operands are `finite`.  The result
    is 0 where `zero` is set; a `sig` of 0 needs that unless its exponent is below 1.

    With ``subnormal=False`` the exponent is never below 0, and the leading bit may be lower where
    it is 0 and nothing is lost; with ``overflow=False`` the result is known to be finite.
    """
    top = sig.type.width - 3
    drop = top - fmt.fraction_bits
    rounder = Rounder(rm, sign_bit)
    of = uf = ir.const(0, sig.type.with_width(1))
    bits: Value | int = drop
    low: Value | int = (1 << drop) - 1
    positive = exponent
    if subnormal:
        positive = ir.max_s(exponent, 0)
        # Where `top + 2` bits or more would go, all that there is is less than half a unit.
        bits = ir.min_u(positive - exponent, top + 2 - drop) + drop
        low = (ir.const(1, sig.type) << bits) - 1
    rounded, nx = rounder.cut(sig, bits, low)
    if finite is not None:
        nx = nx & finite
    # The implicit bit adds the 1 that `exponent` lacks; a carry out of the fraction adds another.
    magnitude = (positive << fmt.fraction_bits) + rounded
    if zero is not None:
        magnitude = ir.where(zero, 0, magnitude)
    if subnormal:
        # Tiny is what stays below the least normal if it is rounded with an unbounded exponent.
        above = exponent
        if not rounder.truncates:
            carry = ir.shr_u(sig + rounder.increment_if_odd((1 << drop) - 1), top + 1)
            above = exponent + carry
        uf = ir.lt_s(above, 0) & nx
    if overflow:
        of = ir.lt_u(ir.const(fmt.largest, sig.type), magnitude)
        of = of if finite is None else of & finite
        nx = nx | of
        magnitude = ir.min_u(magnitude, rounder.greatest(fmt))
    return Rounded(magnitude, of, uf, nx)
