"""M, multiplication and division; Zmmul has the multiplications alone (M 1, 2)."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.base.rv_forms import OP, OP_32, Body, low32, register_form, sext32
from rvsim.insn.units import Unit
from rvsim.ir import Value


def _overflows(a: Value, b: Value) -> Value:
    """Whether the signed quotient does not fit: the least number by -1."""
    return (a == 1 << (a.type.width - 1)) & (b == -1)


def quotient_s(a: Value, b: Value) -> Value:
    """Signed quotient towards zero; -1 by zero, the dividend on overflow."""
    safe = ir.where((b == 0) | _overflows(a, b), 1, b)
    return ir.where(b == 0, -1, ir.quot_s(a, safe))


def quotient_u(a: Value, b: Value) -> Value:
    """Unsigned quotient; all ones by zero."""
    safe = ir.where(b == 0, 1, b)
    return ir.where(b == 0, -1, ir.quot_u(a, safe))


def remainder_s(a: Value, b: Value) -> Value:
    """Signed remainder with the dividend's sign; the dividend by zero, 0 on overflow."""
    safe = ir.where((b == 0) | _overflows(a, b), 1, b)
    return ir.where(b == 0, a, ir.rem_s(a, safe))


def remainder_u(a: Value, b: Value) -> Value:
    """Unsigned remainder; the dividend by zero."""
    safe = ir.where(b == 0, 1, b)
    return ir.where(b == 0, a, ir.rem_u(a, safe))


# M 1
for _name, _funct, _opcode, _body in (
    ("mul", "0000001 000", OP, lambda rs1, rs2: rs1 * rs2),
    ("mulh", "0000001 001", OP, lambda rs1, rs2: ir.mulh_s(rs1, rs2)),
    ("mulhsu", "0000001 010", OP, lambda rs1, rs2: ir.mulh_su(rs1, rs2)),
    ("mulhu", "0000001 011", OP, lambda rs1, rs2: ir.mulh_u(rs1, rs2)),
    ("mulw", "0000001 000", OP_32, lambda rs1, rs2: sext32(rs1 * rs2)),
):
    register_form(_name, _funct, _body, opcode=_opcode, unit=Unit.MUL, ext="m zmmul", spec="M 1")


def divide(name: str, name_w: str, funct3: str, function: Body) -> None:
    """A division and its *W form, which divides the low words (M 2); nothing traps."""

    def body(rs1: Value, rs2: Value) -> Value:
        return function(rs1, rs2)

    def body_w(rs1: Value, rs2: Value) -> Value:
        return sext32(function(low32(rs1), low32(rs2)))

    for form, opcode, semantics in ((name, OP, body), (name_w, OP_32, body_w)):
        semantics.__doc__ = function.__doc__
        register_form(form, f"0000001 {funct3}", semantics, opcode=opcode, unit=Unit.DIV, ext="m",
                      spec="M 2")  # fmt: skip


divide("div", "divw", "100", quotient_s)
divide("divu", "divuw", "101", quotient_u)
divide("rem", "remw", "110", remainder_s)
divide("remu", "remuw", "111", remainder_u)
