"""Bit manipulation: Zba, Zbb, Zbc, Zbs, and Zbkb, Zbkc for cryptography."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.base.rv_forms import (
    OP,
    OP_32,
    OP_IMM,
    OP_IMM_32,
    low32,
    register_form,
    sext32,
    shift_form,
    unary_form,
    zext32,
)
from rvsim.insn.units import Unit
from rvsim.ir import Value

# Zba  Address generation
for _name, _funct, _opcode, _body in (
    ("sh1add", "0010000 010", OP, lambda rs1, rs2: rs2 + (rs1 << 1)),
    ("sh2add", "0010000 100", OP, lambda rs1, rs2: rs2 + (rs1 << 2)),
    ("sh3add", "0010000 110", OP, lambda rs1, rs2: rs2 + (rs1 << 3)),
    ("add.uw", "0000100 000", OP_32, lambda rs1, rs2: rs2 + zext32(rs1)),
    ("sh1add.uw", "0010000 010", OP_32, lambda rs1, rs2: rs2 + (zext32(rs1) << 1)),
    ("sh2add.uw", "0010000 100", OP_32, lambda rs1, rs2: rs2 + (zext32(rs1) << 2)),
    ("sh3add.uw", "0010000 110", OP_32, lambda rs1, rs2: rs2 + (zext32(rs1) << 3)),
):
    register_form(_name, _funct, _body, opcode=_opcode, ext="zba", spec="Zba")

shift_form("slli.uw", "000010 001", lambda rs1, shamt: zext32(rs1) << shamt, opcode=OP_IMM_32,
           ext="zba", spec="Zba")  # fmt: skip

# Zbb, Zbkb  Logic with complement, rotation
for _name, _funct, _opcode, _body in (
    ("andn", "0100000 111", OP, lambda rs1, rs2: rs1 & ~rs2),
    ("orn", "0100000 110", OP, lambda rs1, rs2: rs1 | ~rs2),
    ("xnor", "0100000 100", OP, lambda rs1, rs2: ~(rs1 ^ rs2)),
    ("rol", "0110000 001", OP, lambda rs1, rs2: ir.rotl(rs1, rs2)),
    ("ror", "0110000 101", OP, lambda rs1, rs2: ir.rotr(rs1, rs2)),
    ("rolw", "0110000 001", OP_32, lambda rs1, rs2: sext32(ir.rotl(low32(rs1), low32(rs2)))),
    ("rorw", "0110000 101", OP_32, lambda rs1, rs2: sext32(ir.rotr(low32(rs1), low32(rs2)))),
):
    register_form(_name, _funct, _body, opcode=_opcode, ext="zbb zbkb", spec="Zbb")

shift_form("rori", "011000 101", lambda rs1, shamt: ir.rotr(rs1, shamt), ext="zbb zbkb",
           spec="Zbb")  # fmt: skip
shift_form("roriw", "0110000 101", lambda rs1, shamt: sext32(ir.rotr(low32(rs1), low32(shamt))),
           opcode=OP_IMM_32, ext="zbb zbkb", spec="Zbb")  # fmt: skip

# Zbb  Least and greatest
for _name, _funct, _body in (
    ("min", "0000101 100", lambda rs1, rs2: ir.min_s(rs1, rs2)),
    ("minu", "0000101 101", lambda rs1, rs2: ir.min_u(rs1, rs2)),
    ("max", "0000101 110", lambda rs1, rs2: ir.max_s(rs1, rs2)),
    ("maxu", "0000101 111", lambda rs1, rs2: ir.max_u(rs1, rs2)),
):
    register_form(_name, _funct, _body, ext="zbb", spec="Zbb")


# Zbb  Counts and extensions
for _name, _funct, _opcode, _function in (
    ("clz", "011000000000 001", OP_IMM, lambda rs1: ir.clz(rs1)),
    ("ctz", "011000000001 001", OP_IMM, lambda rs1: ir.ctz(rs1)),
    ("cpop", "011000000010 001", OP_IMM, lambda rs1: ir.popcount(rs1)),
    ("sext.b", "011000000100 001", OP_IMM, lambda rs1: ir.sext(ir.trunc(rs1, 8), 64)),
    ("sext.h", "011000000101 001", OP_IMM, lambda rs1: ir.sext(ir.trunc(rs1, 16), 64)),
    ("clzw", "011000000000 001", OP_IMM_32, lambda rs1: ir.clz(low32(rs1))),
    ("ctzw", "011000000001 001", OP_IMM_32, lambda rs1: ir.ctz(low32(rs1))),
    ("cpopw", "011000000010 001", OP_IMM_32, lambda rs1: ir.popcount(low32(rs1))),
):
    unary_form(_name, _funct, _function, opcode=_opcode, ext="zbb", spec="Zbb")


def or_combine(rs1: Value) -> Value:
    """Each byte becomes 0xff if any of its bits is set."""
    octets = ir.bitcast(rs1, ir.lanes(8, 8))
    return ir.bitcast(ir.sext(octets != 0, 8), rs1.type)


unary_form("orc.b", "001010000111 101", or_combine, ext="zbb", spec="Zbb")

# Zbb, Zbkb  Byte order; zext.h is packw with x0
unary_form("rev8", "011010111000 101", lambda rs1: ir.bswap(rs1), ext="zbb zbkb", spec="Zbb")
unary_form("zext.h", "000010000000 100", lambda rs1: ir.trunc(rs1, 16), opcode=OP_32,
           ext="zbb zbkb", spec="Zbb")  # fmt: skip

# Zbkb  Packing, bits reversed in bytes


def pack_halves(rs1: Value, rs2: Value, width: int) -> Value:
    """The low halves of two values of `width` bits side by side, rs2's above."""
    low = (1 << width // 2) - 1
    return ((rs2 & low) << width // 2) | (rs1 & low)


for _name, _funct, _opcode, _body in (
    ("pack", "0000100 100", OP, lambda rs1, rs2: pack_halves(rs1, rs2, 64)),
    ("packh", "0000100 111", OP, lambda rs1, rs2: pack_halves(rs1, rs2, 16)),
    ("packw", "0000100 100", OP_32, lambda rs1, rs2: sext32(pack_halves(rs1, rs2, 32))),
):
    register_form(_name, _funct, _body, opcode=_opcode, ext="zbkb", spec="Zbkb")

unary_form("brev8", "011010000111 101", lambda rs1: ir.bitrev8(rs1), ext="zbkb", spec="Zbkb")

# Zbc, Zbkc  Carry-less multiplication


def clmul(rs1: Value, rs2: Value) -> Value:
    """The low half of the product of polynomials over GF(2)."""

    def add_term(i: Value, product: Value) -> tuple[Value]:
        return (product ^ ir.where(ir.trunc(ir.shr_u(rs2, i), 1), rs1 << i, 0),)

    return ir.for_(64, [ir.const(0, 64)], add_term)[0]


def clmulr(rs1: Value, rs2: Value) -> Value:
    """Bits 126 to 63 of the product, which are the reversed product of reversed factors."""

    def add_term(i: Value, product: Value) -> tuple[Value]:
        return (product ^ ir.where(ir.trunc(ir.shr_u(rs2, i), 1), ir.shr_u(rs1, 63 - i), 0),)

    return ir.for_(64, [ir.const(0, 64)], add_term)[0]


def clmulh(rs1: Value, rs2: Value) -> Value:
    """The high half of the product, whose bit 127 is always 0."""
    return ir.shr_u(clmulr(rs1, rs2), 1)


register_form("clmul", "0000101 001", clmul, unit=Unit.MUL, ext="zbc zbkc", spec="Zbc")
register_form("clmulh", "0000101 011", clmulh, unit=Unit.MUL, ext="zbc zbkc", spec="Zbc")
register_form("clmulr", "0000101 010", clmulr, unit=Unit.MUL, ext="zbc", spec="Zbc")


# Zbs  Single bits


def bit(number: Value) -> Value:
    """The word with one bit set, the number being taken modulo 64."""
    return ir.const(1, 64) << number


for _name, _funct, _body in (
    ("bclr", "0100100 001", lambda rs1, rs2: rs1 & ~bit(rs2)),
    ("bext", "0100100 101", lambda rs1, rs2: ir.trunc(ir.shr_u(rs1, rs2), 1)),
    ("binv", "0110100 001", lambda rs1, rs2: rs1 ^ bit(rs2)),
    ("bset", "0010100 001", lambda rs1, rs2: rs1 | bit(rs2)),
):
    register_form(_name, _funct, _body, ext="zbs", spec="Zbs")

for _name, _funct, _body in (
    ("bclri", "010010 001", lambda rs1, shamt: rs1 & ~bit(shamt)),
    ("bexti", "010010 101", lambda rs1, shamt: ir.trunc(ir.shr_u(rs1, shamt), 1)),
    ("binvi", "011010 001", lambda rs1, shamt: rs1 ^ bit(shamt)),
    ("bseti", "001010 001", lambda rs1, shamt: rs1 | bit(shamt)),
):
    shift_form(_name, _funct, _body, ext="zbs", spec="Zbs")
