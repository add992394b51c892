"""Conversions between formats, from and to integers, to integral values (F 11.7, V 13.17)."""

from __future__ import annotations

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.fp.operand import is_negative, magnitude, result, sign
from rvsim.fp.operation import Result, operation
from rvsim.fp.round import RTZ, Rounder, Rounding, round_pack
from rvsim.fp.unpack import any_signaling, exponent, is_nan, is_special, normalized, significand
from rvsim.ir import Value


@operation
def convert(source: Format, target: Format, a: Value, rm: Rounding) -> Result:
    """The number `a` of one format in another."""
    width = max(source.work, target.work)
    top = width - 3
    mag = magnitude(source, a, width)
    sign_bit = _moved_sign(source, target, a, width)
    rebias = target.bias - source.bias
    nan, special = is_nan(source, mag), is_special(source, mag)
    raised = any_signaling(source, mag)
    if rebias >= 0 and target.fraction_bits >= source.fraction_bits:
        value = ir.where(special, target.infinity, _widened(source, target, mag)) | sign_bit
        return result(target, value, nan), Flags.of_operation(a, nv=raised)
    if rebias < 0:  # subnormal numbers are far below what the target holds
        sig = significand(source, mag) << (top - source.fraction_bits)
        exp = exponent(source, mag)
    else:
        exp, sig = normalized(source, mag, top)
    narrower = rebias < 0 or source.exponent_bits == target.exponent_bits
    rounded = round_pack(
        target, rm, sign_bit, exp + rebias, sig, finite=~special,
        zero=mag == 0 if rebias > 0 else None, subnormal=narrower, overflow=narrower,
    )  # fmt: skip
    value = ir.where(special, target.infinity, rounded.magnitude) | sign_bit
    flags = Flags.of_operation(a, nv=raised, of=rounded.of, uf=rounded.uf, nx=rounded.nx)
    return result(target, value, nan), flags


def _moved_sign(source: Format, target: Format, a: Value, width: int) -> Value:
    """The sign bit of `a` at its place in the target."""
    by = target.width - source.width
    bit = sign(source, a, width)
    return bit << by if by >= 0 else ir.shr_u(bit, -by)


def _widened(source: Format, target: Format, mag: Value) -> Value:
    """A finite magnitude in a format that holds every value of the source."""
    up = target.fraction_bits - source.fraction_bits
    if source.exponent_bits == target.exponent_bits:
        return mag << up
    exp, sig = normalized(source, mag, target.fraction_bits)
    wide = ((exp + (target.bias - source.bias)) << target.fraction_bits) + sig
    return ir.where(mag == 0, 0, wide)


@operation
def to_int(fmt: Format, a: Value, width: int, rm: Rounding, *, signed: bool) -> Result:
    """`a` as an integer of `width` bits; what does not fit, infinities and NaN saturate (F 11.7).

    NV replaces NX there.  A NaN gives the greatest integer.
    """
    negative = is_negative(fmt, a)
    integer, inexact, huge = _rounded_integer(fmt, a, rm, width)
    greatest = (1 << (width - signed)) - 1
    least = greatest + 1 if signed else 0  # its magnitude
    limit = ir.where(negative, ir.const(least, integer.type), greatest)
    invalid = huge | ir.lt_u(limit, integer)
    nan = is_nan(fmt, a & (fmt.sign - 1))
    value = ir.where(invalid, limit, integer)
    if signed:
        value = ir.where(negative, 0 - value, value)
    value = ir.where(nan, greatest, value)
    flags = Flags.of_operation(a, nv=invalid, nx=inexact & ~invalid)
    return ir.resize_u(value, width), flags


def to_int_modular(fmt: Format, a: Value) -> Result:
    """The low 32 bits of `a` truncated to an integer; 0 for infinities and NaN (Zfa fcvtmod.w.d).

    Flags are those of the saturating conversion to a signed word.
    """
    _, flags = to_int(fmt, a, 32, RTZ, signed=True)
    mag = magnitude(fmt, a)
    sig = significand(fmt, mag)
    places = exponent(fmt, mag) - (fmt.bias + fmt.fraction_bits - 1)
    width = fmt.work
    # Clamped amounts of either direction leave nothing in the low 32 bits.
    left = sig << ir.min_u(places, width - 1)
    right = ir.shr_u(sig, ir.min_u(0 - places, width - 1))
    integer = ir.where(ir.lt_s(places, 0), right, left)
    integer = ir.where(is_negative(fmt, a), 0 - integer, integer)
    return ir.trunc(ir.where(is_special(fmt, mag), 0, integer), 32), flags


def _rounded_integer(fmt: Format, a: Value, rm: Rounding, bits: int) -> tuple[Value, Value, Value]:
    """(magnitude of `a` rounded to an integer, whether that changed it, whether it has too many
    bits in any case, so that the magnitude is wrong)."""
    width = max(bits, fmt.work)
    mag = magnitude(fmt, a, width)
    sig, exp = significand(fmt, mag), exponent(fmt, mag)
    places = exp - (fmt.bias + fmt.fraction_bits - 1)  # that the point is right of the lowest bit
    too_big = min((fmt.bias + bits) << fmt.fraction_bits, fmt.infinity)
    huge = ir.lt_u(ir.const(too_big - 1, mag.type), mag)
    left = ir.max_s(places, 0)
    # One free bit below, for half a unit; `precision + 1` places away, less than half is left.
    away = ir.min_u(left - places, fmt.precision + 1) + 1
    low = (ir.const(1, mag.type) << away) - 1
    integer, inexact = Rounder(rm, sign(fmt, a, width)).cut(sig << 1, away, low)
    return integer << ir.min_u(left, width - 1), inexact, huge


@operation
def from_int(fmt: Format, a: Value, rm: Rounding, *, signed: bool) -> Result:
    """The integer `a` as a number of the format."""
    bits = a.type.width
    width = max(fmt.work, 64 if bits == 64 else 32)
    wide = (ir.sext if signed else ir.zext)(a, width)
    minus = ir.shr_s(wide, width - 1)
    if not signed:
        minus = ir.const(0, wide.type)
    mag = (wide ^ minus) - minus
    zeros = ir.clz(mag)
    if bits < width - 2:
        sig = mag << (zeros - 2)
    else:
        leading = mag << zeros
        sig = ir.shr_u(leading, 2) | ir.min_u(leading & 3, 1)
    exp = (fmt.bias - 1 + width - 1) - zeros
    rounded = round_pack(
        fmt, rm, minus, exp, sig, zero=mag == 0, subnormal=False, overflow=fmt.bias < bits
    )
    value = rounded.magnitude | (minus & fmt.sign)
    return result(fmt, value), Flags.of_operation(a, of=rounded.of, nx=rounded.nx)


def round_to_integral(fmt: Format, a: Value, rm: Rounding, *, exact: bool) -> Result:
    """`a` rounded to an integral value; NX is raised only if `exact` (Zfa froundnx, not fround)."""
    mag = magnitude(fmt, a)
    places = ir.max_s((fmt.bias + fmt.fraction_bits - 1) - exponent(fmt, mag), 0)
    away = ir.min_u(places, fmt.precision + 1)
    low = (ir.const(2, mag.type) << away) - 1
    integer, inexact = Rounder(rm, sign(fmt, a)).cut(significand(fmt, mag) << 1, away + 1, low)
    value = (exponent(fmt, mag) << fmt.fraction_bits) + (integer << away)
    below_one = ir.lt_u(mag, fmt.one)
    value = ir.where(below_one, ir.where(integer == 0, 0, ir.const(fmt.one, mag.type)), value)
    special = is_special(fmt, mag)
    value = ir.where(special, mag, value) | sign(fmt, a)
    flags = Flags.of_operation(a, nv=any_signaling(fmt, mag))
    if exact:
        flags = Flags.of_operation(a, nv=flags.nv, nx=inexact & ~special)
    return result(fmt, value, is_nan(fmt, mag)), flags
