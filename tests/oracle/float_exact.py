"""Floating point by exact rational arithmetic, one operation at a time, from the specification.

Patterns are plain ints, numbers are `Fraction`s; nothing of rvsim is imported.  Results come with
the flags as fflags has them.  What RISC-V adds to IEEE 754 is here as well: canonical NaNs
(F 11.3), tininess after rounding (F 11.2), minimumNumber (F 11.6), saturating conversions
(F 11.7), classes (F 11.9), estimates (V 13.9, 13.10).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

NX, UF, OF, DZ, NV = 1, 2, 4, 8, 16
RNE, RTZ, RDN, RUP, RMM, ODD = 0, 1, 2, 3, 4, 6
Outcome = tuple[int, int]


@dataclass(frozen=True)
class Binary:
    """An interchange format."""

    exponent_bits: int
    fraction_bits: int

    def __post_init__(self) -> None:
        set_ = object.__setattr__  # derived constants
        set_(self, "width", 1 + self.exponent_bits + self.fraction_bits)
        set_(self, "bias", (1 << self.exponent_bits - 1) - 1)
        set_(self, "sign", 1 << self.width - 1)
        set_(self, "inf", ((1 << self.exponent_bits) - 1) << self.fraction_bits)
        set_(self, "nan", self.inf | 1 << self.fraction_bits - 1)
        set_(self, "least", Fraction(2) ** (1 - self.bias - self.fraction_bits))


FORMATS = {"f16": Binary(5, 10), "bf16": Binary(8, 7), "f32": Binary(8, 23), "f64": Binary(11, 52)}


def is_negative(fmt, bits):
    return bool(bits & fmt.sign)


def magnitude(fmt, bits):
    return bits & fmt.sign - 1


def is_nan(fmt, bits):
    return magnitude(fmt, bits) > fmt.inf


def is_signaling(fmt, bits):
    return is_nan(fmt, bits) and not bits & 1 << fmt.fraction_bits - 1


def is_infinite(fmt, bits):
    return magnitude(fmt, bits) == fmt.inf


def number(fmt, bits):
    """The value of a finite pattern."""
    exponent, fraction = divmod(magnitude(fmt, bits), 1 << fmt.fraction_bits)
    if exponent:
        fraction |= 1 << fmt.fraction_bits
    value = fraction * (fmt.least * (1 << max(exponent - 1, 0)))
    return -value if is_negative(fmt, bits) else value


def rounded_integer(value, rm):
    """`value` rounded to an int."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if not rest:
        return floor
    half = Fraction(1, 2)
    negative = value < 0
    up = {
        RNE: rest > half or (rest == half and floor % 2 == 1),
        RTZ: negative,
        RDN: False,
        RUP: True,
        RMM: rest > half or (rest == half and not negative),
        ODD: floor % 2 == 0,
    }[rm]
    return floor + up


def exponent_of(value):
    """The n with 2**n <= value < 2**(n + 1)."""
    n = value.numerator.bit_length() - value.denominator.bit_length()
    return n if Fraction(2) ** n <= value else n - 1


def rounded(fmt, value, rm, zero_sign=False) -> Outcome:
    """The pattern for an exact `value`, and OF, UF, NX."""
    if not value:
        return (fmt.sign if zero_sign else 0), 0
    sign = fmt.sign if value < 0 else 0
    n = exponent_of(abs(value))
    unit = max(Fraction(2) ** (n - fmt.fraction_bits), fmt.least)
    steps = abs(rounded_integer(value / unit, rm))
    flags = NX if steps * unit != abs(value) else 0
    greatest = number(fmt, fmt.inf - 1)
    if steps * unit > greatest:
        toward_zero = rm in (RTZ, ODD) or rm == (RUP if sign else RDN)
        return sign | (fmt.inf - toward_zero), OF | NX
    # Tiny after rounding: at full precision and without a least exponent, still below 2**emin.
    free = Fraction(2) ** (n - fmt.fraction_bits)
    normal = fmt.least * (1 << fmt.fraction_bits)
    if flags and abs(rounded_integer(value / free, rm)) * free < normal:
        flags |= UF
    bits = round_trip_pattern(fmt, steps * unit)
    return sign | bits, flags


def round_trip_pattern(fmt, value):
    """The pattern of a positive number of the format, or of 0."""
    if not value:
        return 0
    n = exponent_of(value)
    biased = max(n + fmt.bias, 0)
    fraction = value / fmt.least / (1 << max(biased - 1, 0))
    assert fraction.denominator == 1
    return int(fraction) + (max(biased - 1, 0) << fmt.fraction_bits)


def _signaling(fmt, *operands):
    return NV if any(is_signaling(fmt, x) for x in operands) else 0


def add(fmt, a, b, rm) -> Outcome:
    if is_nan(fmt, a) or is_nan(fmt, b):
        return fmt.nan, _signaling(fmt, a, b)
    if is_infinite(fmt, a) and is_infinite(fmt, b) and a != b:
        return fmt.nan, NV
    if is_infinite(fmt, a) or is_infinite(fmt, b):
        return (a if is_infinite(fmt, a) else b), 0
    return rounded(fmt, number(fmt, a) + number(fmt, b), rm, _zero_sign(fmt, a, b, rm))


def _zero_sign(fmt, a, b, rm):
    """Whether a sum of zero is -0: both terms negative, or one of them when rounding down."""
    if is_negative(fmt, a) == is_negative(fmt, b):
        return is_negative(fmt, a)
    return rm == RDN


def sub(fmt, a, b, rm) -> Outcome:
    return add(fmt, a, b ^ fmt.sign, rm)


def mul(fmt, a, b, rm) -> Outcome:
    sign = (a ^ b) & fmt.sign
    if is_nan(fmt, a) or is_nan(fmt, b):
        return fmt.nan, _signaling(fmt, a, b)
    if is_infinite(fmt, a) or is_infinite(fmt, b):
        nothing = not magnitude(fmt, a) or not magnitude(fmt, b)
        return (fmt.nan, NV) if nothing else (sign | fmt.inf, 0)
    return rounded(fmt, number(fmt, a) * number(fmt, b), rm, bool(sign))


def fma(fmt, a, b, c, rm) -> Outcome:
    infinite = is_infinite(fmt, a) or is_infinite(fmt, b)
    sign = (a ^ b) & fmt.sign
    if infinite and (not magnitude(fmt, a) or not magnitude(fmt, b)):
        return fmt.nan, NV  # also beside a quiet NaN (F 11.6)
    if any(is_nan(fmt, x) for x in (a, b, c)):
        return fmt.nan, _signaling(fmt, a, b, c)
    if infinite:
        return (fmt.nan, NV) if c == (sign ^ fmt.sign | fmt.inf) else (sign | fmt.inf, 0)
    if is_infinite(fmt, c):
        return c, 0
    total = number(fmt, a) * number(fmt, b) + number(fmt, c)
    return rounded(fmt, total, rm, _zero_sign(fmt, sign, c, rm))


def div(fmt, a, b, rm) -> Outcome:
    sign = (a ^ b) & fmt.sign
    if is_nan(fmt, a) or is_nan(fmt, b):
        return fmt.nan, _signaling(fmt, a, b)
    if is_infinite(fmt, a):
        return (fmt.nan, NV) if is_infinite(fmt, b) else (sign | fmt.inf, 0)
    if is_infinite(fmt, b):
        return sign, 0
    if not magnitude(fmt, b):
        return (sign | fmt.inf, DZ) if magnitude(fmt, a) else (fmt.nan, NV)
    return rounded(fmt, number(fmt, a) / number(fmt, b), rm, bool(sign))


def sqrt(fmt, a, rm) -> Outcome:
    if is_nan(fmt, a):
        return fmt.nan, _signaling(fmt, a)
    if not magnitude(fmt, a):
        return a, 0
    if is_negative(fmt, a):
        return fmt.nan, NV
    if is_infinite(fmt, a):
        return a, 0
    value = number(fmt, a)
    # A root of many more bits than the format has, with one more set if it is not exact.
    scale = 4 ** (2 * fmt.bias + 2 * fmt.fraction_bits)
    scaled = value * scale
    assert scaled.denominator == 1
    whole = int(scaled) << 2 * fmt.fraction_bits
    root = isqrt(whole)
    exact = Fraction(root, 1) if root * root == whole else Fraction(2 * root + 1, 2)
    return rounded(fmt, exact / (isqrt(scale) << fmt.fraction_bits), rm)


def convert(source, target, a, rm) -> Outcome:
    sign = target.sign if is_negative(source, a) else 0
    if is_nan(source, a):
        return target.nan, _signaling(source, a)
    if is_infinite(source, a):
        return sign | target.inf, 0
    return rounded(target, number(source, a), rm, bool(sign))


def to_int(fmt, a, width, signed, rm) -> Outcome:
    greatest = (1 << width - signed) - 1
    least = -greatest - 1 if signed else 0
    if is_nan(fmt, a):
        return greatest, NV
    if is_infinite(fmt, a):
        return (least if is_negative(fmt, a) else greatest) & (1 << width) - 1, NV
    value = number(fmt, a)
    integer = rounded_integer(value, rm)
    if not least <= integer <= greatest:
        return (least if integer < 0 else greatest) & (1 << width) - 1, NV
    return integer & (1 << width) - 1, NX if integer != value else 0


def to_int_modular(fmt, a) -> Outcome:
    """fcvtmod.w.d of Zfa."""
    _, flags = to_int(fmt, a, 32, True, RTZ)
    if is_nan(fmt, a) or is_infinite(fmt, a):
        return 0, flags
    return rounded_integer(number(fmt, a), RTZ) & (1 << 32) - 1, flags


def from_int(fmt, a, width, signed, rm) -> Outcome:
    value = a - (1 << width) if signed and a >> width - 1 else a
    return rounded(fmt, Fraction(value), rm)


def round_to_integral(fmt, a, rm, exact) -> Outcome:
    """fround, or froundnx if `exact`, of Zfa."""
    if is_nan(fmt, a):
        return fmt.nan, _signaling(fmt, a)
    if is_infinite(fmt, a):
        return a, 0
    value = number(fmt, a)
    integer = rounded_integer(value, rm)
    bits, _ = rounded(fmt, Fraction(integer), RTZ, is_negative(fmt, a))
    return bits, NX if exact and integer != value else 0


def compare(fmt, a, b, relation, signaling) -> Outcome:
    """`relation` is a function of two numbers; infinities stand outside all of them."""
    if is_nan(fmt, a) or is_nan(fmt, b):
        return 0, NV if signaling else _signaling(fmt, a, b)
    return int(relation(_extended(fmt, a), _extended(fmt, b))), 0


def _extended(fmt, a):
    if not is_infinite(fmt, a):
        return number(fmt, a)
    limit = Fraction(2) ** (fmt.bias + 1)
    return -limit if is_negative(fmt, a) else limit


def minimum(fmt, a, b, greatest=False, propagate=False) -> Outcome:
    """fmin, fmax; with `propagate` fminm, fmaxm."""
    flags = _signaling(fmt, a, b)
    nans = is_nan(fmt, a), is_nan(fmt, b)
    if all(nans) or (propagate and any(nans)):
        return fmt.nan, flags
    if any(nans):
        return (b if nans[0] else a), flags

    def key(x):
        return _extended(fmt, x), not is_negative(fmt, x)

    return (max if greatest else min)(a, b, key=key), flags


def classify(fmt, a) -> Outcome:
    size = magnitude(fmt, a)
    if is_nan(fmt, a):
        return 1 << (8 if is_signaling(fmt, a) else 9), 0
    kind = (size > 0) + (size >> fmt.fraction_bits > 0) + (size == fmt.inf)
    return 1 << (3 - kind if is_negative(fmt, a) else 4 + kind), 0


# V 13.10: the published table, by the first seven fraction bits.
RECIPROCAL = [
    127, 125, 123, 121, 119, 117, 116, 114, 112, 110, 109, 107, 105, 104, 102, 100,
    99, 97, 96, 94, 93, 91, 90, 88, 87, 85, 84, 83, 81, 80, 79, 77,
    76, 75, 74, 72, 71, 70, 69, 68, 66, 65, 64, 63, 62, 61, 60, 59,
    58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
    42, 41, 40, 40, 39, 38, 37, 36, 35, 35, 34, 33, 32, 31, 31, 30,
    29, 28, 28, 27, 26, 25, 25, 24, 23, 23, 22, 21, 21, 20, 19, 19,
    18, 17, 17, 16, 15, 15, 14, 14, 13, 12, 12, 11, 11, 10, 9, 9,
    8, 8, 7, 7, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0,
]  # fmt: skip
# V 13.9: the published table, by the last bit of the exponent and the first six of the fraction.
RECIPROCAL_ROOT = [
    52, 51, 50, 48, 47, 46, 44, 43, 42, 41, 40, 39, 38, 36, 35, 34,
    33, 32, 31, 30, 30, 29, 28, 27, 26, 25, 24, 23, 23, 22, 21, 20,
    19, 19, 18, 17, 16, 16, 15, 14, 14, 13, 12, 12, 11, 10, 10, 9,
    9, 8, 7, 7, 6, 6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0,
    127, 125, 123, 121, 119, 118, 116, 114, 113, 111, 109, 108, 106, 105, 103, 102,
    100, 99, 97, 96, 95, 93, 92, 91, 90, 88, 87, 86, 85, 84, 83, 82,
    80, 79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 70, 69, 68, 67, 66,
    65, 64, 63, 63, 62, 61, 60, 59, 59, 58, 57, 56, 56, 55, 54, 53,
]  # fmt: skip


def _normalised(fmt, a):
    """(biased exponent, fraction) with subnormal numbers normalised below exponent 1."""
    exponent, fraction = divmod(magnitude(fmt, a), 1 << fmt.fraction_bits)
    if exponent == 0:
        while not fraction >> fmt.fraction_bits:
            exponent, fraction = exponent - 1, fraction << 1
        exponent, fraction = exponent + 1, fraction - (1 << fmt.fraction_bits)
    return exponent, fraction


def reciprocal(fmt, a, rm) -> Outcome:
    """vfrec7."""
    sign = a & fmt.sign
    if is_nan(fmt, a):
        return fmt.nan, _signaling(fmt, a)
    if is_infinite(fmt, a):
        return sign, 0
    if not magnitude(fmt, a):
        return sign | fmt.inf, DZ
    exponent, fraction = _normalised(fmt, a)
    if exponent < -1:
        toward_zero = rm == RTZ or rm == (RUP if sign else RDN)
        return sign | (fmt.inf - toward_zero), NX | OF
    entry = RECIPROCAL[fraction >> fmt.fraction_bits - 7] << fmt.fraction_bits - 7
    out = 2 * fmt.bias - 1 - exponent
    if out < 1:
        entry = (entry | 1 << fmt.fraction_bits) >> 1 - out
        out = 0
    return sign | out << fmt.fraction_bits | entry, 0


def reciprocal_root(fmt, a) -> Outcome:
    """vfrsqrt7."""
    if is_nan(fmt, a):
        return fmt.nan, _signaling(fmt, a)
    if not magnitude(fmt, a):
        return a | fmt.inf, DZ
    if is_negative(fmt, a):
        return fmt.nan, NV
    if is_infinite(fmt, a):
        return 0, 0
    exponent, fraction = _normalised(fmt, a)
    index = (exponent & 1) << 6 | fraction >> fmt.fraction_bits - 6
    out = (3 * fmt.bias - 1 - exponent) // 2
    return out << fmt.fraction_bits | RECIPROCAL_ROOT[index] << fmt.fraction_bits - 7, 0
