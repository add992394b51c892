"""Magnitudes taken apart: exponent and significand without a case for subnormal numbers.

A magnitude is a floating-point pattern without its sign bit, in lanes of `Format.work` bits.  Its
value is ``significand * 2**(exponent + 1 - bias - fraction_bits)``, where `exponent` is the biased
exponent minus one, and 0 for subnormal numbers, whose significand has no implicit bit.
"""

from __future__ import annotations

from functools import reduce

from rvsim import ir
from rvsim.fp.formats import Format
from rvsim.ir import Value


def exponent(fmt: Format, magnitude: Value) -> Value:
    """The biased exponent minus one, but not below 0."""
    biased = ir.shr_u(magnitude, fmt.fraction_bits)
    return biased - ir.min_u(biased, 1)


def significand(fmt: Format, magnitude: Value) -> Value:
    """The fraction, with the implicit bit if the number is normal."""
    return magnitude - (exponent(fmt, magnitude) << fmt.fraction_bits)


def normalized(fmt: Format, magnitude: Value, top: int) -> tuple[Value, Value]:
    """(exponent, significand) with its leading bit moved up to bit `top`; zero stays zero.

    The exponent keeps its meaning for a significand at its usual place, so the value is
    ``significand * 2**(exponent + 1 - bias - top)``.
    """
    sig = significand(fmt, magnitude)
    width = sig.type.width
    up = ir.clz(sig) - (width - 1 - top)
    usual = top - fmt.fraction_bits
    return exponent(fmt, magnitude) + usual - up, sig << up


def is_nan(fmt: Format, magnitude: Value) -> Value:
    return ir.lt_u(ir.const(fmt.infinity, magnitude.type), magnitude)


def is_special(fmt: Format, magnitude: Value) -> Value:
    """Infinite or NaN."""
    return ir.lt_u(ir.const(fmt.largest, magnitude.type), magnitude)


def any_signaling(fmt: Format, *magnitudes: Value) -> Value:
    """Whether one of the magnitudes is a signaling NaN: above infinity, below the quiet bit."""
    above = [m - (fmt.infinity + 1) for m in magnitudes]
    return ir.lt_u(reduce(ir.min_u, above), fmt.quiet - 1)
