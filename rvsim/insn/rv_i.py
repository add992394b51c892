"""RV64I, the base integer instruction set (unprivileged manual, chapters 2 and 4)."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.registry import Context, insn
from rvsim.insn.units import Unit
from rvsim.ir import Value


@insn("add rd, rs1, rs2", "0000000 rs2 rs1 000 rd 0110011", unit=Unit.ALU, ext="i", spec="I 2.4.2")
def add(rs1: Value, rs2: Value) -> Value:
    return rs1 + rs2


@insn("addi rd, rs1, imm", "imm[11:0] rs1 000 rd 0010011", unit=Unit.ALU, ext="i", spec="I 2.4.1")
def addi(rs1: Value, imm: Value) -> Value:
    return rs1 + imm


@insn("lw rd, imm(rs1)", "imm[11:0] rs1 010 rd 0000011", unit=Unit.LOAD, ext="i", spec="I 2.6")
def lw(rs1: Value, imm: Value) -> Value:
    return ir.sext(ir.load(rs1 + imm, 32), 64)


@insn("sw rs2, imm(rs1)", "imm[11:5] rs2 rs1 010 imm[4:0] 0100011", unit=Unit.STORE, ext="i",
      spec="I 2.6")  # fmt: skip
def sw(rs1: Value, rs2: Value, imm: Value) -> None:
    ir.store(rs1 + imm, ir.trunc(rs2, 32))


@insn("jal rd, imm", "imm[20|10:1|11|19:12] rd 1101111", unit=Unit.JUMP, ext="i", spec="I 2.5.1")
def jal(ctx: Context, pc: Value, imm: Value) -> Value:
    ir.write("pc", pc + imm)
    return pc + ctx.insn.length


@insn("beq rs1, rs2, imm", "imm[12|10:5] rs2 rs1 000 imm[4:1|11] 1100011", unit=Unit.BRANCH,
      ext="i", spec="I 2.5.2")  # fmt: skip
def beq(pc: Value, rs1: Value, rs2: Value, imm: Value) -> None:
    with ir.when(rs1 == rs2):
        ir.write("pc", pc + imm)
