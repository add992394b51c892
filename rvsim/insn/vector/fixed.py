"""Vector fixed-point arithmetic: saturation sets vxsat, rounding follows vxrm (V 12)."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import NARROWING, Flag, decorated
from rvsim.ir import Value


def round_shift_u(value: Value, amount: Value, vxrm: Value) -> Value:
    """(value + r) >> amount, logical, with the rounding increment of V 3.8."""
    return ir.shr_u(value, amount) + increment(value, amount, vxrm)


def round_shift_s(value: Value, amount: Value, vxrm: Value) -> Value:
    """(value + r) >> amount, arithmetic, with the rounding increment of V 3.8."""
    return ir.shr_s(value, amount) + increment(value, amount, vxrm)


def increment(value: Value, amount: Value, vxrm: Value) -> Value:
    """The rounding increment (V 3.8); with d = amount and v = value:

    rnu v[d-1]; rne v[d-1] & (v[d-2:0] != 0 | v[d]); rdn 0; rod !v[d] & v[d-1:0] != 0; 0 for d = 0.
    """
    width = value.type.width
    below = (ir.const(1, value.type) << amount) - 1  # bits d-1 … 0
    lost = value & below
    half = ir.shr_u(below, 1) + (ir.min_u(below, 1))  # 2^(d-1), or 0 for d = 0
    kept_odd = (ir.shr_u(value, amount) & 1) != 0
    half_set = (lost & half) != 0
    nearest_even = half_set & (((lost & ~half) != 0) | kept_odd)
    to_odd = ~kept_odd & (lost != 0)
    up = ir.where(vxrm == 0, half_set, ir.where(vxrm == 1, nearest_even, to_odd & (vxrm == 3)))
    return ir.zext(up, width)


# V 12.1  Saturating add and subtract
@decorated("I", "vsaddu", 0b100000, "vv vx vi", unit=Unit.VALU, spec="V 12.1")
def vsaddu(vs2: Value, op1: Value, vxsat: Flag) -> Value:
    """Unsigned add that stops at the greatest value."""
    total = vs2 + op1
    over = ir.lt_u(total, vs2)
    vxsat.set(over)
    return ir.where(over, -1, total)


def _limit(sign_of: Value) -> Value:
    """The least or greatest signed value, by the sign of a value."""
    width = sign_of.type.width
    return ir.shr_s(sign_of, width - 1) ^ ((1 << (width - 1)) - 1)


@decorated("I", "vsadd", 0b100001, "vv vx vi", unit=Unit.VALU, spec="V 12.1")
def vsadd(vs2: Value, op1: Value, vxsat: Flag) -> Value:
    """Signed add that stops at the least or greatest value."""
    total = vs2 + op1
    over = ir.lt_s((vs2 ^ total) & (op1 ^ total), 0)
    vxsat.set(over)
    return ir.where(over, _limit(vs2), total)


@decorated("I", "vssubu", 0b100010, "vv vx", unit=Unit.VALU, spec="V 12.1")
def vssubu(vs2: Value, op1: Value, vxsat: Flag) -> Value:
    """Unsigned subtract that stops at zero."""
    under = ir.lt_u(vs2, op1)
    vxsat.set(under)
    return ir.where(under, 0, vs2 - op1)


@decorated("I", "vssub", 0b100011, "vv vx", unit=Unit.VALU, spec="V 12.1")
def vssub(vs2: Value, op1: Value, vxsat: Flag) -> Value:
    """Signed subtract that stops at the least or greatest value."""
    difference = vs2 - op1
    over = ir.lt_s((vs2 ^ op1) & (vs2 ^ difference), 0)
    vxsat.set(over)
    return ir.where(over, _limit(vs2), difference)


# V 12.2  Averaging add and subtract: the sum has SEW + 1 bits, of which the lowest is rounded away
def _round_away_bit(floor: Value, low: Value, vxrm: Value) -> Value:
    """`floor` plus the increment for one lost bit."""
    odd = floor & 1
    up = ir.where(
        vxrm == 0, low, ir.where(vxrm == 1, low & odd, ir.where(vxrm == 3, low & (odd ^ 1), 0))
    )
    return floor + up


@decorated("M", "vaaddu", 0b001000, "vv vx", unit=Unit.VALU, spec="V 12.2")
def vaaddu(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Unsigned average, rounded by vxrm."""
    low = (vs2 ^ op1) & 1
    return _round_away_bit((vs2 & op1) + ir.shr_u(vs2 ^ op1, 1), low, vxrm)


@decorated("M", "vaadd", 0b001001, "vv vx", unit=Unit.VALU, spec="V 12.2")
def vaadd(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Signed average, rounded by vxrm."""
    low = (vs2 ^ op1) & 1
    return _round_away_bit((vs2 & op1) + ir.shr_s(vs2 ^ op1, 1), low, vxrm)


@decorated("M", "vasubu", 0b001010, "vv vx", unit=Unit.VALU, spec="V 12.2")
def vasubu(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Half of the unsigned difference, as a signed value, rounded by vxrm."""
    low = (vs2 ^ op1) & 1
    return _round_away_bit(ir.shr_u(vs2 ^ op1, 1) - (~vs2 & op1), low, vxrm)


@decorated("M", "vasub", 0b001011, "vv vx", unit=Unit.VALU, spec="V 12.2")
def vasub(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Half of the signed difference, rounded by vxrm."""
    low = (vs2 ^ op1) & 1
    return _round_away_bit(ir.shr_s(vs2 ^ op1, 1) - (~vs2 & op1), low, vxrm)


# V 12.3  Fractional multiply
@decorated("I", "vsmul", 0b100111, "vv vx", unit=Unit.VMUL, spec="V 12.3")
def vsmul(vs2: Value, op1: Value, vxrm: Value, vxsat: Flag) -> Value:
    """Signed product >> (SEW - 1), rounded by vxrm; only least * least saturates."""
    width = vs2.type.width
    low, high = vs2 * op1, ir.mulh_s(vs2, op1)
    shifted = (high << 1) | ir.shr_u(low, width - 1)
    lost = low & ((1 << (width - 1)) - 1)
    # The bit that is kept last goes on top, so that the increment sees v[d] as well.
    window = lost | (shifted << (width - 1))
    rounded = shifted + increment(window, ir.const(width - 1, window.type), vxrm)
    least = 1 << (width - 1)
    over = (vs2 == least) & (op1 == least)
    vxsat.set(over)
    return ir.where(over, least - 1, rounded)


# V 12.4  Scaling shifts
@decorated("I", "vssrl", 0b101010, "vv vx vi", unit=Unit.VSHIFT, spec="V 12.4", unsigned_imm=True)
def vssrl(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Logical shift right, rounded by vxrm."""
    return round_shift_u(vs2, op1 & (vs2.type.width - 1), vxrm)


@decorated("I", "vssra", 0b101011, "vv vx vi", unit=Unit.VSHIFT, spec="V 12.4", unsigned_imm=True)
def vssra(vs2: Value, op1: Value, vxrm: Value) -> Value:
    """Arithmetic shift right, rounded by vxrm."""
    return round_shift_s(vs2, op1 & (vs2.type.width - 1), vxrm)


# V 12.5  Narrowing clips: round, then saturate to SEW; the body works on 2*SEW bits
@decorated("I", "vnclipu", 0b101110, "wv wx wi", unit=Unit.VNARROW, spec="V 12.5",
           unsigned_imm=True, widths=NARROWING)  # fmt: skip
def vnclipu(vs2: Value, op1: Value, vxrm: Value, vxsat: Flag) -> Value:
    """Unsigned rounding shift right, saturated to SEW bits."""
    rounded = round_shift_u(vs2, op1 & (vs2.type.width - 1), vxrm)
    greatest = (1 << vs2.type.width // 2) - 1
    over = ir.lt_u(ir.const(greatest, vs2.type), rounded)
    vxsat.set(over)
    return ir.where(over, greatest, rounded)


@decorated("I", "vnclip", 0b101111, "wv wx wi", unit=Unit.VNARROW, spec="V 12.5",
           unsigned_imm=True, widths=NARROWING)  # fmt: skip
def vnclip(vs2: Value, op1: Value, vxrm: Value, vxsat: Flag) -> Value:
    """Signed rounding shift right, saturated to SEW bits."""
    rounded = round_shift_s(vs2, op1 & (vs2.type.width - 1), vxrm)
    narrow = vs2.type.width // 2
    clipped = ir.max_s(ir.min_s(rounded, (1 << (narrow - 1)) - 1), -(1 << (narrow - 1)))
    vxsat.set(clipped != rounded)
    return clipped
