"""Seven-bit estimates of the reciprocal and of its square root (V 13.9, 13.10).

The tables of the specification are those of the values at the middle of each interval, rounded to
eight bits of which the first is implicit, so they are computed here.
"""

from __future__ import annotations

from math import isqrt
from typing import Final

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.fp.operand import is_negative, magnitude, result, sign
from rvsim.fp.operation import Result
from rvsim.fp.round import Rounder, Rounding
from rvsim.fp.unpack import any_signaling, is_nan, is_special, normalized
from rvsim.ir import Value

_BITS: Final = 7


def _reciprocal(index: int) -> int:
    """By the first seven fraction bits of a number in [1, 2).

    >>> [_reciprocal(i) for i in (0, 1, 2, 64, 127)]
    [127, 125, 123, 42, 0]
    """
    middle = 2 * index + 257  # in units of 1/256
    return (2 * 256 * 256 // middle + 1) // 2 - 128


def _reciprocal_root(index: int) -> int:
    """By the lowest bit of the biased exponent and the first six fraction bits.

    >>> [_reciprocal_root(i) for i in (0, 1, 2, 63, 64, 127)]
    [52, 51, 50, 0, 127, 53]
    """
    odd, fraction = divmod(index, 64)
    middle = (2 * fraction + 129) * (1 if odd else 2)  # in units of 1/128; the bias is odd
    return (isqrt(4 * 256 * 256 * 128 // middle) + 1) // 2 - 128


_RECIPROCAL: Final = bytes(map(_reciprocal, range(128)))
_RECIPROCAL_ROOT: Final = bytes(map(_reciprocal_root, range(128)))


def _look_up(table: bytes, index: Value) -> Value:
    entries = ir.bitcast(ir.const(int.from_bytes(table, "little"), 8 * len(table)),
                         ir.lanes(len(table), 8))  # fmt: skip
    if index.type.lanes is not None:
        return ir.zext(ir.take(entries, index), index.type.width)
    return ir.zext(ir.extract(ir.take(entries, ir.splat(index, 1)), 0), index.type.width)


def reciprocal(fmt: Format, a: Value, rm: Rounding) -> Result:
    """An estimate of 1 / a (vfrec7); `rm` matters only where the reciprocal overflows."""
    mag = magnitude(fmt, a)
    fraction_bits, implicit = fmt.fraction_bits, fmt.implicit
    exp, sig = normalized(fmt, mag, fraction_bits)
    index = ir.shr_u(sig & (implicit - 1), fraction_bits - _BITS)
    estimate = (_look_up(_RECIPROCAL, index) << (fraction_bits - _BITS)) | implicit
    out = (2 * fmt.bias - 3) - exp
    positive = ir.max_s(out, 0)
    value = (positive << fraction_bits) + ir.shr_u(estimate, positive - out)
    zero, special = mag == 0, is_special(fmt, mag)
    # A quarter of the least normal or less: 1 / a is infinite, or the greatest number.
    over = ir.lt_u(mag - 1, implicit // 4 - 1)
    value = ir.where(over, Rounder(rm, sign(fmt, a)).greatest(fmt), value)
    value = ir.where(zero, fmt.infinity, ir.where(special, 0, value)) | sign(fmt, a)
    flags = Flags.of_operation(a, nv=any_signaling(fmt, mag), dz=zero, of=over, nx=over)
    return result(fmt, value, is_nan(fmt, mag)), flags


def reciprocal_root(fmt: Format, a: Value) -> Result:
    """An estimate of 1 / sqrt(a) (vfrsqrt7); never subnormal, and never rounded."""
    mag = magnitude(fmt, a)
    fraction_bits = fmt.fraction_bits
    exp, sig = normalized(fmt, mag, fraction_bits)
    first = ir.shr_u(sig & (fmt.implicit - 1), fraction_bits - (_BITS - 1))
    index = ((~exp & 1) << (_BITS - 1)) | first  # the biased exponent is exp + 1
    estimate = _look_up(_RECIPROCAL_ROOT, index) << (fraction_bits - _BITS)
    value = (ir.shr_u((3 * fmt.bias - 2) - exp, 1) << fraction_bits) | estimate
    zero, special = mag == 0, is_special(fmt, mag)
    negative = is_negative(fmt, a)
    invalid = negative & ~zero & ~is_nan(fmt, mag)
    value = ir.where(zero, sign(fmt, a) | fmt.infinity, ir.where(special, 0, value))
    flags = Flags.of_operation(a, nv=invalid | any_signaling(fmt, mag), dz=zero)
    return result(fmt, value, is_nan(fmt, mag) | invalid), flags
