"""Vector integer arithmetic (V 11)."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.units import Unit
from rvsim.insn.vector.extend import define_extensions, define_moves
from rvsim.insn.vector.forms import (
    COMPARE,
    NARROWING,
    decorated,
    row,
    widening,
    widening_w,
)
from rvsim.ir import Value

ALU, WIDEN, COMPARED = Unit.VALU, Unit.VWIDEN_ALU, Unit.VCOMPARE

# V 11.1  Single-width add and subtract
row("I", "vadd", 0b000000, "vv vx vi", unit=ALU, spec="V 11.1", body=lambda vs2, op1: vs2 + op1)
row("I", "vsub", 0b000010, "vv vx", unit=ALU, spec="V 11.1", body=lambda vs2, op1: vs2 - op1)
row("I", "vrsub", 0b000011, "vx vi", unit=ALU, spec="V 11.1", body=lambda vs2, op1: op1 - vs2)

# V 11.2  Widening add and subtract
for _name, _funct6, _signs in (("vwaddu", 0b110000, "uu"), ("vwadd", 0b110001, "ss")):
    row("M", _name, _funct6, "vv vx", unit=WIDEN, spec="V 11.2", widths=widening(_signs),
        body=lambda vs2, op1: vs2 + op1)  # fmt: skip
    row("M", _name, _funct6 | 4, "wv wx", unit=WIDEN, spec="V 11.2", widths=widening_w(_signs),
        body=lambda vs2, op1: vs2 + op1)  # fmt: skip
for _name, _funct6, _signs in (("vwsubu", 0b110010, "uu"), ("vwsub", 0b110011, "ss")):
    row("M", _name, _funct6, "vv vx", unit=WIDEN, spec="V 11.2", widths=widening(_signs),
        body=lambda vs2, op1: vs2 - op1)  # fmt: skip
    row("M", _name, _funct6 | 4, "wv wx", unit=WIDEN, spec="V 11.2", widths=widening_w(_signs),
        body=lambda vs2, op1: vs2 - op1)  # fmt: skip

# V 11.3  Integer extension: vzext.vf2 vzext.vf4 vzext.vf8 vsext.vf2 vsext.vf4 vsext.vf8
define_extensions()


# V 11.4  Add with carry, subtract with borrow
def _carry_out(vs2: Value, op1: Value, carry: Value) -> Value:
    total = vs2 + op1
    return ir.lt_u(total, vs2) | ((total == -1) & carry)


def _borrow_out(vs2: Value, op1: Value, carry: Value) -> Value:
    return ir.lt_u(vs2, op1) | ((vs2 == op1) & carry)


row("I", "vadc", 0b010000, "vvm vxm vim", unit=Unit.VCARRY, spec="V 11.4",
    body=lambda vs2, op1, carry: vs2 + op1 + ir.zext(carry, vs2.type.width))  # fmt: skip
row("I", "vmadc", 0b010001, "vvm vxm vim", unit=Unit.VCARRY_OUT, spec="V 11.4", widths=COMPARE,
    body=_carry_out)  # fmt: skip
row("I", "vmadc", 0b010001, "vv vx vi", unit=Unit.VCARRY_OUT, spec="V 11.4", widths=COMPARE,
    unmasked=True, body=lambda vs2, op1: ir.lt_u(vs2 + op1, vs2))  # fmt: skip
row("I", "vsbc", 0b010010, "vvm vxm", unit=Unit.VCARRY, spec="V 11.4",
    body=lambda vs2, op1, carry: vs2 - op1 - ir.zext(carry, vs2.type.width))  # fmt: skip
row("I", "vmsbc", 0b010011, "vvm vxm", unit=Unit.VCARRY_OUT, spec="V 11.4", widths=COMPARE,
    body=_borrow_out)  # fmt: skip
row("I", "vmsbc", 0b010011, "vv vx", unit=Unit.VCARRY_OUT, spec="V 11.4", widths=COMPARE,
    unmasked=True, body=lambda vs2, op1: ir.lt_u(vs2, op1))  # fmt: skip

# V 11.5  Bitwise logic
for _name, _funct6, _logic in (
    ("vand", 0b001001, lambda vs2, op1: vs2 & op1),
    ("vor", 0b001010, lambda vs2, op1: vs2 | op1),
    ("vxor", 0b001011, lambda vs2, op1: vs2 ^ op1),
):
    row("I", _name, _funct6, "vv vx vi", unit=Unit.VLOGIC, spec="V 11.5", body=_logic)

# V 11.6  Shifts, by the low log2(SEW) bits
row("I", "vsll", 0b100101, "vv vx vi", unit=Unit.VSHIFT, spec="V 11.6", unsigned_imm=True,
    body=lambda vs2, op1: vs2 << op1)  # fmt: skip
row("I", "vsrl", 0b101000, "vv vx vi", unit=Unit.VSHIFT, spec="V 11.6", unsigned_imm=True,
    body=lambda vs2, op1: ir.shr_u(vs2, op1))  # fmt: skip
row("I", "vsra", 0b101001, "vv vx vi", unit=Unit.VSHIFT, spec="V 11.6", unsigned_imm=True,
    body=lambda vs2, op1: ir.shr_s(vs2, op1))  # fmt: skip

# V 11.7  Narrowing shifts, by the low log2(2*SEW) bits
row("I", "vnsrl", 0b101100, "wv wx wi", unit=Unit.VNARROW, spec="V 11.7", unsigned_imm=True,
    widths=NARROWING, body=lambda vs2, op1: ir.shr_u(vs2, op1))  # fmt: skip
row("I", "vnsra", 0b101101, "wv wx wi", unit=Unit.VNARROW, spec="V 11.7", unsigned_imm=True,
    widths=NARROWING, body=lambda vs2, op1: ir.shr_s(vs2, op1))  # fmt: skip

# V 11.8  Compares
for _name, _funct6, _forms, _compare in (
    ("vmseq", 0b011000, "vv vx vi", lambda vs2, op1: vs2 == op1),
    ("vmsne", 0b011001, "vv vx vi", lambda vs2, op1: vs2 != op1),
    ("vmsltu", 0b011010, "vv vx", lambda vs2, op1: ir.lt_u(vs2, op1)),
    ("vmslt", 0b011011, "vv vx", lambda vs2, op1: ir.lt_s(vs2, op1)),
    ("vmsleu", 0b011100, "vv vx vi", lambda vs2, op1: ~ir.lt_u(op1, vs2)),
    ("vmsle", 0b011101, "vv vx vi", lambda vs2, op1: ~ir.lt_s(op1, vs2)),
    ("vmsgtu", 0b011110, "vx vi", lambda vs2, op1: ir.lt_u(op1, vs2)),
    ("vmsgt", 0b011111, "vx vi", lambda vs2, op1: ir.lt_s(op1, vs2)),
):
    row("I", _name, _funct6, _forms, unit=COMPARED, spec="V 11.8", widths=COMPARE, body=_compare)

# V 11.9  Minimum and maximum
row("I", "vminu", 0b000100, "vv vx", unit=ALU, spec="V 11.9",
    body=lambda vs2, op1: ir.min_u(vs2, op1))  # fmt: skip
row("I", "vmin", 0b000101, "vv vx", unit=ALU, spec="V 11.9",
    body=lambda vs2, op1: ir.min_s(vs2, op1))  # fmt: skip
row("I", "vmaxu", 0b000110, "vv vx", unit=ALU, spec="V 11.9",
    body=lambda vs2, op1: ir.max_u(vs2, op1))  # fmt: skip
row("I", "vmax", 0b000111, "vv vx", unit=ALU, spec="V 11.9",
    body=lambda vs2, op1: ir.max_s(vs2, op1))  # fmt: skip

# V 11.10  Single-width multiply
row("M", "vmul", 0b100101, "vv vx", unit=Unit.VMUL, spec="V 11.10",
    body=lambda vs2, op1: vs2 * op1)  # fmt: skip
row("M", "vmulh", 0b100111, "vv vx", unit=Unit.VMUL, spec="V 11.10",
    body=lambda vs2, op1: ir.mulh_s(vs2, op1))  # fmt: skip
row("M", "vmulhu", 0b100100, "vv vx", unit=Unit.VMUL, spec="V 11.10",
    body=lambda vs2, op1: ir.mulh_u(vs2, op1))  # fmt: skip
row("M", "vmulhsu", 0b100110, "vv vx", unit=Unit.VMUL, spec="V 11.10",
    body=lambda vs2, op1: ir.mulh_su(vs2, op1))  # fmt: skip


# V 11.11  Divide and remainder: nothing traps, the special results are those of M 2
@decorated("M", "vdivu", 0b100000, "vv vx", unit=Unit.VDIV, spec="V 11.11")
def vdivu(vs2: Value, op1: Value) -> Value:
    """Unsigned quotient; all ones by zero."""
    return ir.where(op1 == 0, -1, ir.quot_u(vs2, ir.where(op1 == 0, 1, op1)))


def _signed_guard(dividend: Value, divisor: Value) -> tuple[Value, Value]:
    """Where the signed quotient overflows, and a divisor that is safe everywhere."""
    least = 1 << (dividend.type.width - 1)
    overflow = (dividend == least) & (divisor == -1)
    return overflow, ir.where((divisor == 0) | overflow, 1, divisor)


@decorated("M", "vdiv", 0b100001, "vv vx", unit=Unit.VDIV, spec="V 11.11")
def vdiv(vs2: Value, op1: Value) -> Value:
    """Signed quotient towards zero; -1 by zero, the dividend on overflow."""
    _, safe = _signed_guard(vs2, op1)
    return ir.where(op1 == 0, -1, ir.quot_s(vs2, safe))


@decorated("M", "vremu", 0b100010, "vv vx", unit=Unit.VDIV, spec="V 11.11")
def vremu(vs2: Value, op1: Value) -> Value:
    """Unsigned remainder; the dividend by zero."""
    return ir.where(op1 == 0, vs2, ir.rem_u(vs2, ir.where(op1 == 0, 1, op1)))


@decorated("M", "vrem", 0b100011, "vv vx", unit=Unit.VDIV, spec="V 11.11")
def vrem(vs2: Value, op1: Value) -> Value:
    """Signed remainder with the dividend's sign; the dividend by zero, 0 on overflow."""
    _, safe = _signed_guard(vs2, op1)
    return ir.where(op1 == 0, vs2, ir.rem_s(vs2, safe))


# V 11.12  Widening multiply
for _name, _funct6, _signs in (
    ("vwmulu", 0b111000, "uu"),
    ("vwmulsu", 0b111010, "su"),
    ("vwmul", 0b111011, "ss"),
):
    row("M", _name, _funct6, "vv vx", unit=Unit.VWIDEN_MUL, spec="V 11.12",
        widths=widening(_signs), body=lambda vs2, op1: vs2 * op1)  # fmt: skip

# V 11.13  Single-width multiply-add: macc adds to vd, madd multiplies vd
for _name, _funct6, _multiply_add in (
    ("vmacc", 0b101101, lambda vd, op1, vs2: vd + op1 * vs2),
    ("vnmsac", 0b101111, lambda vd, op1, vs2: vd - op1 * vs2),
    ("vmadd", 0b101001, lambda vd, op1, vs2: op1 * vd + vs2),
    ("vnmsub", 0b101011, lambda vd, op1, vs2: vs2 - op1 * vd),
):
    row("M", _name, _funct6, "vv vx", unit=Unit.VMAC, spec="V 11.13", body=_multiply_add)

# V 11.14  Widening multiply-add; signs are those of vs2 and of vs1 or rs1
for _name, _funct6, _forms, _signs in (
    ("vwmaccu", 0b111100, "vv vx", "uu"),
    ("vwmacc", 0b111101, "vv vx", "ss"),
    ("vwmaccsu", 0b111111, "vv vx", "us"),
    ("vwmaccus", 0b111110, "vx", "su"),
):
    row("M", _name, _funct6, _forms, unit=Unit.VWIDEN_MAC, spec="V 11.14",
        widths=widening(_signs), body=lambda vd, op1, vs2: vd + op1 * vs2)  # fmt: skip

# V 11.15  Merge
row("I", "vmerge", 0b010111, "vvm vxm vim", unit=Unit.VMERGE, spec="V 11.15",
    body=lambda vs2, op1, carry: ir.where(carry, op1, vs2))  # fmt: skip

# V 11.16  Moves: vmv.v.v vmv.v.x vmv.v.i
define_moves()
