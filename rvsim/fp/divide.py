"""Division and square root (F 11.6, V 13.4 and 13.8)."""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.fp.operand import is_negative, magnitude, result, widened
from rvsim.fp.operation import Result, operation
from rvsim.fp.round import Rounding, round_pack
from rvsim.fp.unpack import any_signaling, exponent, is_nan, is_special, normalized, significand
from rvsim.ir import Value

_DIGIT: Final = 11
"""Bits of quotient that one division gives where the remainder leaves as many bits free."""

_MORE: Final = 24
"""Bits that `_extend_root` adds to a root of 32 bits: 53, and two or more to round by."""


@operation
def div(fmt: Format, a: Value, b: Value, rm: Rounding) -> Result:
    """a / b."""
    mag_a, mag_b = magnitude(fmt, a), magnitude(fmt, b)
    sign_bit = (widened(fmt, a) ^ widened(fmt, b)) & fmt.sign
    by_zero, special_a = mag_b == 0, is_special(fmt, mag_a)
    infinite = by_zero | special_a
    zero = (mag_a == 0) | ir.lt_u(ir.const(fmt.largest, mag_b.type), mag_b)
    invalid = infinite & zero  # 0/0 and infinity/infinity; or a NaN is there
    exp, sig = _quotient(fmt, mag_a, mag_b)
    rounded = round_pack(fmt, rm, sign_bit, exp, sig, finite=~(infinite | zero), zero=zero)

    nan = is_nan(fmt, ir.max_u(mag_a, mag_b))
    value = ir.where(infinite, fmt.infinity, rounded.magnitude) | sign_bit
    flags = Flags.of_operation(
        a,
        nv=(invalid & ~nan) | any_signaling(fmt, mag_a, mag_b),
        dz=by_zero & ~(special_a | zero),
        of=rounded.of,
        uf=rounded.uf,
        nx=rounded.nx,
    )
    return result(fmt, value, nan | invalid), flags


def _quotient(fmt: Format, mag_a: Value, mag_b: Value) -> tuple[Value, Value]:
    """(exponent, significand) of a quotient, as `round_pack` takes them."""
    if 2 * fmt.precision >= fmt.work:
        return _long_quotient(fmt, mag_a, mag_b)
    top = fmt.top
    exp_a, sig_a = normalized(fmt, mag_a, top)
    sig_b = ir.max_u(significand(fmt, mag_b), 1)
    quotient = ir.quot_u(sig_a, sig_b)
    rest = sig_a - quotient * sig_b
    up = ir.clz(quotient) - 2
    exp = exp_a - exponent(fmt, mag_b) - up + (fmt.fraction_bits + fmt.bias - 1)
    return exp, (quotient << up) | ir.min_u(rest, 1)


def _long_quotient(fmt: Format, mag_a: Value, mag_b: Value) -> tuple[Value, Value]:
    """As `_quotient`, `_DIGIT` bits of quotient at a time."""
    top = fmt.top
    exp_a, rest = normalized(fmt, mag_a, fmt.fraction_bits)
    exp_b, sig_b = normalized(fmt, mag_b, fmt.fraction_bits)
    sig_b = ir.max_u(sig_b, 1)
    quotient = ir.const(0, rest.type)
    steps = -(-(fmt.precision + 2) // _DIGIT)
    for _ in range(steps):
        rest = rest << _DIGIT
        digit = ir.quot_u(rest, sig_b)
        rest = rest - digit * sig_b
        quotient = (quotient << _DIGIT) + digit
    leading = steps * _DIGIT
    up = (ir.shr_u(quotient, leading) ^ 1) + (top - leading)
    exp = exp_a - exp_b - up + (top - leading + fmt.bias - 1)
    return exp, (quotient << up) | ir.min_u(rest, 1)


@operation
def sqrt(fmt: Format, a: Value, rm: Rounding) -> Result:
    """The square root of a; of -0 it is -0."""
    mag = magnitude(fmt, a)
    width, top = fmt.work, fmt.top
    exp, sig = normalized(fmt, mag, width - 1)
    # The root of sig * 2**power needs an even power.
    power = exp + (2 - fmt.bias - width)
    odd = power & 1
    root, rest = _integer_root(ir.shr_u(sig, odd))
    up = width // 2 - 2
    exp = ir.shr_s(power + odd, 1) + (fmt.bias - 1 + top - up)
    if fmt.precision > width // 2:
        root, rest = _extend_root(root, rest)
        up -= _MORE
    positive = ir.const(0, mag.type)
    sig = (root << up) | ir.min_u(rest, 1)
    rounded = round_pack(fmt, rm, positive, exp, sig, subnormal=False, overflow=False)

    nan = is_nan(fmt, mag)
    # Zeros and positive infinity are their own roots.
    itself = (mag == 0) | is_special(fmt, mag)
    invalid = is_negative(fmt, a) & ir.lt_u(mag - 1, fmt.infinity)
    value = ir.where(itself, widened(fmt, a), rounded.magnitude)
    flags = Flags.of_operation(
        a, nv=invalid | any_signaling(fmt, mag), nx=rounded.nx & ~(itself | invalid)
    )
    return result(fmt, value, nan | invalid), flags


def _integer_root(n: Value) -> tuple[Value, Value]:
    """(floor(sqrt(n)), n minus its square) for an n whose two highest bits are not both 0.

    Newton's iteration from above; the first guess is 3.2 % off at most, each step squares that.
    """
    half = n.type.width // 2
    root = (ir.shr_u(n, half + 4) + (1 << (half - 5))) * 11  # never 0, not even for n = 0
    for _ in range(3 if half > 16 else 2):
        root = ir.shr_u(root + ir.quot_u(n, root), 1)
    root = ir.min_u(root, (1 << half) - 1)
    root = root - ir.zext(ir.lt_u(n, root * root), n.type.width)
    return root, n - root * root


def _extend_root(root: Value, rest: Value) -> tuple[Value, Value]:
    """`_MORE` further bits of a root whose radicand goes on with zeros; 0 if it is exact.

    One step of Zimmermann's "Karatsuba Square Root" (INRIA RR-3805).
    """
    double = root << 1
    wide = rest << _MORE
    digit = ir.quot_u(wide, double)
    left = ((wide - digit * double) << _MORE) - digit * digit
    too_much = ir.shr_u(left, root.type.width - 1)
    return (root << _MORE) + digit - too_much, left
