"""Addition, multiplication and fused multiply-add (F 11.6, V 13.2 to 13.7).

All compute with the exact sum or product, or with one whose lowest bit stands for what is far
below; `round_pack` rounds it.  Special operands replace the result at the end.
"""

from __future__ import annotations

from typing import TypeVar

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.fp.operand import magnitude, result, widened
from rvsim.fp.operation import Result, operation
from rvsim.fp.round import Rounded, Rounding, round_pack, sign_of_zero
from rvsim.fp.unpack import any_signaling, exponent, is_nan, is_special, normalized, significand
from rvsim.fp.wide import One, Two, shift_right_jam
from rvsim.ir import Value

Limbs = TypeVar("Limbs", One, Two)


@operation
def add(fmt: Format, a: Value, b: Value, rm: Rounding) -> Result:
    """a + b."""
    mag_a, mag_b = magnitude(fmt, a), magnitude(fmt, b)
    big, small = ir.max_u(mag_a, mag_b), ir.min_u(mag_a, mag_b)
    wide_a, wide_b = widened(fmt, a), widened(fmt, b)
    bigger = ir.where(ir.lt_u(mag_a, mag_b), wide_b, wide_a)
    sign_bit = bigger & fmt.sign
    differ = ((wide_a ^ wide_b) & fmt.sign) != 0
    special = is_special(fmt, big)
    finite = ~special
    rounded = _sum(fmt, rm, sign_bit, big, small, differ, finite)

    cancels = differ & (big == small)
    invalid = cancels & (big == fmt.infinity)
    value = ir.where(special, bigger, rounded.magnitude | sign_bit)
    value = ir.where(cancels, sign_of_zero(fmt, rm), value)
    signaling = any_signaling(fmt, mag_a, mag_b)
    flags = Flags.of_operation(a, nv=invalid | signaling, of=rounded.of, nx=rounded.nx)
    return result(fmt, value, is_nan(fmt, big) | invalid), flags


def sub(fmt: Format, a: Value, b: Value, rm: Rounding) -> Result:
    """a - b."""
    return add(fmt, a, b ^ fmt.sign, rm)


def _sum(
    fmt: Format,
    rm: Rounding,
    sign_bit: Value,
    big: Value,
    small: Value,
    differ: Value,
    finite: Value,
) -> Rounded:
    """The sum or difference of two magnitudes, `big` not being the smaller one."""
    top = fmt.top - 1  # the sum may carry one bit further
    up = top - fmt.fraction_bits
    exp = exponent(fmt, big)
    distance = exp - exponent(fmt, small)
    sig_big, sig_small = (significand(fmt, m) << up for m in (big, small))
    if 2 * fmt.precision < top:
        # Not exact beyond, but still more than nothing and less than half a unit of the result.
        sig_small = ir.shr_u(sig_small, ir.min_u(distance, up))
    else:
        sig_small = shift_right_jam(sig_small, distance)
    total = sig_big + ir.where(differ, 0 - sig_small, sig_small)
    # Not below the least exponent: there the sum is exact, and stays where it is.
    following = exp + 1
    shift = ir.min_u(ir.clz(total) - 2, following)
    return round_pack(
        fmt, rm, sign_bit, following - shift, total << shift, finite=finite, subnormal=False
    )


@operation
def mul(fmt: Format, a: Value, b: Value, rm: Rounding) -> Result:
    """a * b."""
    mag_a, mag_b = magnitude(fmt, a), magnitude(fmt, b)
    big, small = ir.max_u(mag_a, mag_b), ir.min_u(mag_a, mag_b)
    sign_bit = (widened(fmt, a) ^ widened(fmt, b)) & fmt.sign
    special, zero = is_special(fmt, big), small == 0
    exp, sig = _product_normalized(fmt, mag_a, mag_b)
    rounded = round_pack(fmt, rm, sign_bit, exp, sig, finite=~special, zero=zero)

    invalid = (big == fmt.infinity) & zero
    value = ir.where(special, fmt.infinity, rounded.magnitude) | sign_bit
    signaling = any_signaling(fmt, mag_a, mag_b)
    flags = Flags.of_operation(
        a, nv=invalid | signaling, of=rounded.of, uf=rounded.uf, nx=rounded.nx
    )
    return result(fmt, value, is_nan(fmt, big) | invalid), flags


def _product_normalized(fmt: Format, mag_a: Value, mag_b: Value) -> tuple[Value, Value]:
    """(exponent, significand) of a product, as `round_pack` takes them."""
    width, top = fmt.work, fmt.top
    if 2 * fmt.precision < width:
        product = significand(fmt, mag_a) * significand(fmt, mag_b)
        up = ir.clz(product) - 2
        exp = exponent(fmt, mag_a) + exponent(fmt, mag_b) - up
        return exp + (1 - fmt.bias - 2 * fmt.fraction_bits + top), product << up
    exp, wide = _product_two(fmt, mag_a, mag_b, top)
    up = ir.shr_u(wide.hi, top) ^ 1  # the product of two normalised numbers is one bit short
    return exp - up, (wide.hi << up) | ir.min_u(wide.lo, 1)


def _product_two(fmt: Format, mag_a: Value, mag_b: Value, top: int) -> tuple[Value, Two]:
    """(exponent, limbs) of a product whose leading bit is at `top` or one below in the upper one.

    The value is ``hi.lo * 2**(exponent + 1 - bias - top)``.
    """
    exp_a, sig_a = normalized(fmt, mag_a, fmt.work - 1)
    exp_b, sig_b = normalized(fmt, mag_b, top)
    exp = exp_a + exp_b + (2 - fmt.bias)
    return exp, Two(ir.mulh_u(sig_a, sig_b), sig_a * sig_b)


@operation
def fma(fmt: Format, a: Value, b: Value, c: Value, rm: Rounding) -> Result:
    """a * b + c, rounded once.  Callers flip signs of `a` and `c` for the other three forms."""
    mag_a, mag_b, mag_c = (magnitude(fmt, v) for v in (a, b, c))
    big, small = ir.max_u(mag_a, mag_b), ir.min_u(mag_a, mag_b)
    product_sign = widened(fmt, a) ^ widened(fmt, b)
    addend = widened(fmt, c)
    differ = ((product_sign ^ addend) & fmt.sign) != 0
    no_product = small == 0
    # A zero product counts as far below any addend.
    exp_p, product = _product_limbs(fmt, mag_a, mag_b)
    exp_p = ir.where(no_product, 0, exp_p)
    exp_c, sig_c = exponent(fmt, mag_c), significand(fmt, mag_c)
    below = ir.lt_s(exp_p, exp_c)
    greater_sign = ir.where(below, addend, product_sign)
    exp = ir.max_s(exp_p, exp_c)
    distance = exp - ir.min_s(exp_p, exp_c)
    sig_c = sig_c << (fmt.top - 1 - fmt.fraction_bits)
    if isinstance(product, Two):
        negated, zeros, sig = _aligned_sum(product, Two.high(sig_c), below, distance, differ)
    else:
        negated, zeros, sig = _aligned_sum(product, One(sig_c), below, distance, differ)
    any_big = ir.max_u(big, mag_c)
    special, zero = is_special(fmt, any_big), sig == 0
    sign_bit = (greater_sign ^ negated) & fmt.sign
    rounded = round_pack(fmt, rm, sign_bit, exp + 3 - zeros, sig, finite=~special, zero=zero)

    infinite = big == fmt.infinity
    # Infinity times zero raises NV also beside a quiet NaN as the addend (F 11.6).
    invalid = infinite & (no_product | (differ & (mag_c == fmt.infinity)))
    value = rounded.magnitude | ir.where(differ & zero, sign_of_zero(fmt, rm), sign_bit)
    infinity = (ir.where(infinite, product_sign, addend) & fmt.sign) | fmt.infinity
    value = ir.where(special, infinity, value)
    signaling = any_signaling(fmt, mag_a, mag_b, mag_c)
    flags = Flags.of_operation(
        a, nv=invalid | signaling, of=rounded.of, uf=rounded.uf, nx=rounded.nx
    )
    return result(fmt, value, is_nan(fmt, any_big) | invalid), flags


def _product_limbs(fmt: Format, mag_a: Value, mag_b: Value) -> tuple[Value, One | Two]:
    """(exponent, limbs) of an exact product below 2**top.

    The value is ``limbs * 2**(exponent + 2 - bias - top)``: the exponent is that of a number whose
    leading bit is one below `top`, as that of the addend is.
    """
    top, precision = fmt.top, fmt.precision
    if 2 * precision >= fmt.work:
        return _product_two(fmt, mag_a, mag_b, top - 1)
    product = significand(fmt, mag_a) * significand(fmt, mag_b)
    exp = exponent(fmt, mag_a) + exponent(fmt, mag_b) + (2 - fmt.bias)
    return exp, One(product << (top - 2 * precision))


def _aligned_sum(
    product: Limbs, addend: Limbs, below: Value, distance: Value, differ: Value
) -> tuple[Value, Value, Value]:
    """The sum of two terms, the one with the smaller exponent (the product if `below`) moved right.

    Returns (all ones if the smaller exponent had the greater magnitude, `Limbs.normalized`).
    """
    near, far = addend.choose(below, product), product.choose(below, addend)
    far = far.shift_right_jam(distance)
    total: Limbs = (near - far).choose(differ, near + far)
    negated: Value = total.sign()
    return negated, *total.absolute(negated).normalized()
