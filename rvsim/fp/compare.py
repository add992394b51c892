"""Comparisons, minimum and maximum, classes, sign injection (F 11.6 to 11.9, V 13.11 to 13.14).

These work on patterns in lanes of the format's own width.
"""

from __future__ import annotations

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.fp.operation import Result
from rvsim.fp.unpack import any_signaling, is_nan
from rvsim.ir import Value


def _magnitudes(fmt: Format, *patterns: Value) -> list[Value]:
    return [p & (fmt.sign - 1) for p in patterns]


def _ordered(fmt: Format, pattern: Value) -> Value:
    """A signed number in the order of the values; both zeros are 0."""
    negative = ir.shr_s(pattern, fmt.width - 1)
    return ((pattern & (fmt.sign - 1)) ^ negative) - negative


def _totally_ordered(fmt: Format, pattern: Value) -> Value:
    """A signed number in the order of the values, with -0 below +0."""
    return pattern ^ ir.shr_u(ir.shr_s(pattern, fmt.width - 1), 1)


def _comparison(
    fmt: Format, a: Value, b: Value, relation: Value, *, signaling: bool
) -> tuple[Value, Flags]:
    """`relation`, but 0 beside a NaN, which raises NV if `signaling`, or if it signals itself."""
    mag_a, mag_b = _magnitudes(fmt, a, b)
    nan = is_nan(fmt, ir.max_u(mag_a, mag_b))
    invalid = nan if signaling else any_signaling(fmt, mag_a, mag_b)
    return relation & ~nan, Flags.of_operation(a, nv=invalid)


def eq(fmt: Format, a: Value, b: Value) -> Result:
    """a == b, quiet, as one bit (feq, vmfeq)."""
    return _comparison(fmt, a, b, _ordered(fmt, a) == _ordered(fmt, b), signaling=False)


def ne(fmt: Format, a: Value, b: Value) -> Result:
    """a != b, quiet, and 1 beside a NaN (vmfne)."""
    equal, flags = eq(fmt, a, b)
    return ~equal, flags


def lt(fmt: Format, a: Value, b: Value, *, quiet: bool = False) -> Result:
    """a < b as one bit: signaling (flt, vmflt), or quiet (fltq of Zfa)."""
    relation = ir.lt_s(_ordered(fmt, a), _ordered(fmt, b))
    return _comparison(fmt, a, b, relation, signaling=not quiet)


def le(fmt: Format, a: Value, b: Value, *, quiet: bool = False) -> Result:
    """a <= b as one bit: signaling (fle, vmfle), or quiet (fleq of Zfa)."""
    relation = ~ir.lt_s(_ordered(fmt, b), _ordered(fmt, a))
    return _comparison(fmt, a, b, relation, signaling=not quiet)


def minimum(fmt: Format, a: Value, b: Value) -> Result:
    """IEEE 754-2019 minimumNumber: -0 is below +0, a NaN gives the other operand (F 11.6)."""
    return _number(fmt, a, b, ir.lt_s(_totally_ordered(fmt, a), _totally_ordered(fmt, b)))


def maximum(fmt: Format, a: Value, b: Value) -> Result:
    """IEEE 754-2019 maximumNumber."""
    return _number(fmt, a, b, ir.lt_s(_totally_ordered(fmt, b), _totally_ordered(fmt, a)))


def _number(fmt: Format, a: Value, b: Value, take_a: Value) -> Result:
    mag_a, mag_b = _magnitudes(fmt, a, b)
    nan_a, nan_b = is_nan(fmt, mag_a), is_nan(fmt, mag_b)
    chosen = ir.where((take_a & ~nan_a) | nan_b, a, b)
    value = ir.where(nan_a & nan_b, fmt.nan, chosen)
    return value, Flags.of_operation(a, nv=any_signaling(fmt, mag_a, mag_b))


def minimum_nan(fmt: Format, a: Value, b: Value) -> Result:
    """IEEE 754-2019 minimum: as `minimum`, but a NaN gives the canonical NaN (Zfa fminm)."""
    return _or_nan(fmt, a, b, ir.lt_s(_totally_ordered(fmt, a), _totally_ordered(fmt, b)))


def maximum_nan(fmt: Format, a: Value, b: Value) -> Result:
    """IEEE 754-2019 maximum (Zfa fmaxm)."""
    return _or_nan(fmt, a, b, ir.lt_s(_totally_ordered(fmt, b), _totally_ordered(fmt, a)))


def _or_nan(fmt: Format, a: Value, b: Value, take_a: Value) -> Result:
    mag_a, mag_b = _magnitudes(fmt, a, b)
    nan = is_nan(fmt, ir.max_u(mag_a, mag_b))
    value = ir.where(nan, fmt.nan, ir.where(take_a, a, b))
    return value, Flags.of_operation(a, nv=any_signaling(fmt, mag_a, mag_b))


def classify(fmt: Format, a: Value) -> Value:
    """One of ten bits set, in the format's width (F 11.9); raises nothing.

    -inf, -normal, -subnormal, -0, +0, +subnormal, +normal, +inf, signaling NaN, quiet NaN.
    """
    (mag,) = _magnitudes(fmt, a)
    width = fmt.width
    limits = (0, fmt.implicit - 1, fmt.largest)
    size, one, two = (ir.zext(ir.lt_u(ir.const(x, mag.type), mag), width) for x in limits)
    size = size + one + two  # zero, subnormal, normal, infinite
    negative = ir.shr_s(a, width - 1)
    number = ((size ^ negative) & 7) + 4 & 7
    kind = ir.where(is_nan(fmt, mag), 9 - ir.zext(any_signaling(fmt, mag), width), number)
    return ir.const(1, a.type) << kind


def inject_sign(fmt: Format, a: Value, b: Value) -> Value:
    """a with the sign of b (fsgnj); raises nothing, and keeps NaNs as they are."""
    return (a & (fmt.sign - 1)) | (b & fmt.sign)


def inject_negated_sign(fmt: Format, a: Value, b: Value) -> Value:
    """a with the opposite of the sign of b (fsgnjn)."""
    return (a & (fmt.sign - 1)) | (~b & fmt.sign)


def inject_xored_sign(fmt: Format, a: Value, b: Value) -> Value:
    """a with its sign inverted if b is negative (fsgnjx)."""
    return a ^ (b & fmt.sign)
