"""Floating-point formats that Python's `struct` does not have: bfloat16 and binary128."""

from __future__ import annotations

import math
from typing import Final

_QUIET_NAN: Final = {"bf16": 0x7FC0, "f128": 0x7FFF8 << 108}
_BF16_FRACTION: Final = 7
_BF16_LEAST: Final = -126
_BF16_BIAS: Final = 127
_F128_FRACTION: Final = 112
_F128_BIAS: Final = 16383
_F64_FRACTION: Final = 52


def to_bf16(value: float) -> int:
    """The bits of the nearest bfloat16, ties to even.

    >>> hex(to_bf16(1.0)), hex(to_bf16(-1e-45)), hex(to_bf16(1e39))
    ('0x3f80', '0x8000', '0x7f80')
    """
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    if math.isnan(value):
        return sign | _QUIET_NAN["bf16"]
    if math.isinf(value):
        return sign | 0x7F80
    if value == 0:
        return sign
    _, exponent = math.frexp(value)
    exponent = max(exponent - 1, _BF16_LEAST)
    steps = round(math.ldexp(abs(value), _BF16_FRACTION - exponent))
    # A carry out of the fraction counts the exponent up, to that of infinity at last.
    bits = (exponent + _BF16_BIAS - 1 << _BF16_FRACTION) + steps
    return sign | min(bits, 0x7F80)


def from_bf16(bits: int) -> float:
    """The number that bits of bfloat16 are.

    >>> from_bf16(0x3F80), from_bf16(0x8001)
    (1.0, -9.183549615799121e-41)
    """
    sign = -1.0 if bits >> 15 else 1.0
    exponent, fraction = bits >> _BF16_FRACTION & 0xFF, bits & 0x7F
    if exponent == 0xFF:
        return math.nan if fraction else sign * math.inf
    implied = 1 << _BF16_FRACTION if exponent else 0
    return sign * math.ldexp(fraction | implied, max(exponent, 1) - _BF16_BIAS - _BF16_FRACTION)


def to_f128(value: float) -> int:
    """The bits of the same number as binary128.

    >>> hex(to_f128(-2.0))
    '0xc0000000000000000000000000000000'
    """
    sign = 1 << 127 if math.copysign(1, value) < 0 else 0
    if math.isnan(value):
        return sign | _QUIET_NAN["f128"]
    if math.isinf(value):
        return sign | 0x7FFF << _F128_FRACTION
    if value == 0:
        return sign
    mantissa, exponent = math.frexp(abs(value))
    steps = int(math.ldexp(mantissa, _F64_FRACTION + 1)) << _F128_FRACTION - _F64_FRACTION
    return sign | (exponent - 2 + _F128_BIAS << _F128_FRACTION) + steps


def from_f128(bits: int) -> float:
    """The nearest double of a binary128: infinity if it is too large for one.

    >>> from_f128(to_f128(0.1))
    0.1
    """
    sign = -1.0 if bits >> 127 else 1.0
    exponent = bits >> _F128_FRACTION & 0x7FFF
    fraction = bits & (1 << _F128_FRACTION) - 1
    if exponent == 0x7FFF:
        return math.nan if fraction else sign * math.inf
    implied = 1 << _F128_FRACTION if exponent else 0
    scale = max(exponent, 1) - _F128_BIAS - _F128_FRACTION
    try:
        # True division of integers rounds once, to nearest even.
        if scale < 0:
            return sign * ((fraction | implied) / (1 << -scale))
        return sign * float((fraction | implied) << scale)
    except OverflowError:
        return sign * math.inf
