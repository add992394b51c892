"""RV64I, the base integer instruction set (unprivileged manual, chapters 2 and 4).

Zifencei and Zihintpause stand here too, beside the fences whose encodings they refine.
"""

from __future__ import annotations

from rvsim import ir
from rvsim.config import MACHINE
from rvsim.hart.traps import Cause
from rvsim.insn.base.machine_csrs import M_MODE
from rvsim.insn.base.rv_forms import (
    OP_32,
    OP_IMM_32,
    Body,
    immediate_form,
    low32,
    register_form,
    sext32,
    shift_form,
)
from rvsim.insn.registry import Context, insn
from rvsim.insn.units import Unit
from rvsim.ir import Value

# I 2.4.2, 4.2.2  Register-register
for _name, _funct, _body in (
    ("add", "0000000 000", lambda rs1, rs2: rs1 + rs2),
    ("sub", "0100000 000", lambda rs1, rs2: rs1 - rs2),
    ("sll", "0000000 001", lambda rs1, rs2: rs1 << rs2),
    ("slt", "0000000 010", lambda rs1, rs2: ir.lt_s(rs1, rs2)),
    ("sltu", "0000000 011", lambda rs1, rs2: ir.lt_u(rs1, rs2)),
    ("xor", "0000000 100", lambda rs1, rs2: rs1 ^ rs2),
    ("srl", "0000000 101", lambda rs1, rs2: ir.shr_u(rs1, rs2)),
    ("sra", "0100000 101", lambda rs1, rs2: ir.shr_s(rs1, rs2)),
    ("or", "0000000 110", lambda rs1, rs2: rs1 | rs2),
    ("and", "0000000 111", lambda rs1, rs2: rs1 & rs2),
):
    register_form(_name, _funct, _body, ext="i", spec="I 2.4.2")

for _name, _funct, _body in (
    ("addw", "0000000 000", lambda rs1, rs2: sext32(rs1 + rs2)),
    ("subw", "0100000 000", lambda rs1, rs2: sext32(rs1 - rs2)),
    ("sllw", "0000000 001", lambda rs1, rs2: sext32(low32(rs1) << low32(rs2))),
    ("srlw", "0000000 101", lambda rs1, rs2: sext32(ir.shr_u(low32(rs1), low32(rs2)))),
    ("sraw", "0100000 101", lambda rs1, rs2: sext32(ir.shr_s(low32(rs1), low32(rs2)))),
):
    register_form(_name, _funct, _body, opcode=OP_32, ext="i", spec="I 4.2.2")

# I 2.4.1, 4.2.1  Register-immediate
for _name, _funct3, _body in (
    ("addi", "000", lambda rs1, imm: rs1 + imm),
    ("slti", "010", lambda rs1, imm: ir.lt_s(rs1, imm)),
    ("sltiu", "011", lambda rs1, imm: ir.lt_u(rs1, imm)),
    ("xori", "100", lambda rs1, imm: rs1 ^ imm),
    ("ori", "110", lambda rs1, imm: rs1 | imm),
    ("andi", "111", lambda rs1, imm: rs1 & imm),
):
    immediate_form(_name, _funct3, _body, ext="i", spec="I 2.4.1")

immediate_form("addiw", "000", lambda rs1, imm: sext32(rs1 + imm), opcode=OP_IMM_32, ext="i",
               spec="I 4.2.1")  # fmt: skip

for _name, _funct, _body in (
    ("slli", "000000 001", lambda rs1, shamt: rs1 << shamt),
    ("srli", "000000 101", lambda rs1, shamt: ir.shr_u(rs1, shamt)),
    ("srai", "010000 101", lambda rs1, shamt: ir.shr_s(rs1, shamt)),
):
    shift_form(_name, _funct, _body, ext="i", spec="I 4.2.1")

for _name, _funct, _body in (
    ("slliw", "0000000 001", lambda rs1, shamt: sext32(rs1 << shamt)),
    ("srliw", "0000000 101", lambda rs1, shamt: sext32(ir.shr_u(low32(rs1), low32(shamt)))),
    ("sraiw", "0100000 101", lambda rs1, shamt: sext32(ir.shr_s(low32(rs1), low32(shamt)))),
):
    shift_form(_name, _funct, _body, opcode=OP_IMM_32, ext="i", spec="I 4.2.1")


@insn("lui rd, uimm", "uimm[19:0] rd 0110111", unit=Unit.ALU, ext="i", spec="I 2.4.1")
def lui(uimm: Value) -> Value:
    return sext32(uimm << 12)


@insn("auipc rd, uimm", "uimm[19:0] rd 0010111", unit=Unit.ALU, ext="i", spec="I 2.4.1")
def auipc(pc: Value, uimm: Value) -> Value:
    return pc + sext32(uimm << 12)


# I 2.5  Control transfer


def jump(ctx: Context, target: Value) -> None:
    """Go to an even address; without compressed instructions it must be a multiple of 4."""
    if ctx.config.ialign_bytes == 4:
        with ir.when((target & 2) != 0):
            ir.trap(
                Cause.INSTRUCTION_ADDRESS_MISALIGNED,
                "jump to an address that is not a multiple of 4",
                target,
            )
    ir.write("pc", target)


@insn("jal rd, target", "imm[20|10:1|11|19:12] rd 1101111", unit=Unit.JUMP, ext="i", spec="I 2.5.1")
def jal(ctx: Context, pc: Value, imm: Value) -> Value:
    jump(ctx, pc + imm)
    return pc + ctx.insn.length


@insn("jalr rd, imm(rs1)", "imm[11:0] rs1 000 rd 1100111", unit=Unit.JUMP, ext="i", spec="I 2.5.1")
def jalr(ctx: Context, pc: Value, rs1: Value, imm: Value) -> Value:
    """The lowest bit of the target is cleared."""
    jump(ctx, (rs1 + imm) & ~1)
    return pc + ctx.insn.length


def branch(name: str, funct3: str, taken: Body) -> None:
    """``name rs1, rs2, target``: go to pc + imm if the condition `taken` holds."""

    @insn(f"{name} rs1, rs2, target", f"imm[12|10:5] rs2 rs1 {funct3} imm[4:1|11] 1100011",
          unit=Unit.BRANCH, ext="i", spec="I 2.5.2")  # fmt: skip
    def body(ctx: Context, pc: Value, rs1: Value, rs2: Value, imm: Value) -> None:
        with ir.when(taken(rs1, rs2)):
            jump(ctx, pc + imm)


branch("beq", "000", lambda a, b: a == b)
branch("bne", "001", lambda a, b: a != b)
branch("blt", "100", lambda a, b: ir.lt_s(a, b))
branch("bge", "101", lambda a, b: ~ir.lt_s(a, b))
branch("bltu", "110", lambda a, b: ir.lt_u(a, b))
branch("bgeu", "111", lambda a, b: ~ir.lt_u(a, b))


# I 2.6, 4.3  Loads and stores


def load(name: str, funct3: str, width: int, extend: Body) -> None:
    @insn(f"{name} rd, imm(rs1)", f"imm[11:0] rs1 {funct3} rd 0000011", unit=Unit.LOAD, ext="i",
          spec="I 2.6")  # fmt: skip
    def body(rs1: Value, imm: Value) -> Value:
        return extend(ir.load(rs1 + imm, width), 64)


load("lb", "000", 8, ir.sext)
load("lh", "001", 16, ir.sext)
load("lw", "010", 32, ir.sext)
load("ld", "011", 64, ir.sext)
load("lbu", "100", 8, ir.zext)
load("lhu", "101", 16, ir.zext)
load("lwu", "110", 32, ir.zext)


def store(name: str, funct3: str, width: int) -> None:
    @insn(f"{name} rs2, imm(rs1)", f"imm[11:5] rs2 rs1 {funct3} imm[4:0] 0100011", unit=Unit.STORE,
          ext="i", spec="I 2.6")  # fmt: skip
    def body(rs1: Value, rs2: Value, imm: Value) -> None:
        ir.store(rs1 + imm, ir.trunc(rs2, width))


store("sb", "000", 8)
store("sh", "001", 16)
store("sw", "010", 32)
store("sd", "011", 64)


# I 2.7  Memory ordering: one hart sees its own accesses in order


@insn("fence pred, succ", "fm pred succ rs1 000 rd 0001111", unit=Unit.FENCE, ext="i", spec="I 2.7")
def fence() -> None:
    """Orders memory accesses as other harts and devices see them; fm, rs1 and rd are ignored."""


@insn("fence.tso", "1000 0011 0011 rs1 000 rd 0001111", unit=Unit.FENCE, ext="i", spec="I 2.7")
def fence_tso() -> None:
    """Orders all but a store before a load."""


@insn("fence.i", "imm[11:0] rs1 001 rd 0001111", unit=Unit.FENCE, ext="zifencei", spec="Zifencei")
def fence_i() -> None:
    """Makes earlier stores visible to instruction fetches, which they are at once."""


@insn("pause", "0000 0001 0000 00000 000 00000 0001111", unit=Unit.FENCE, ext="zihintpause i",
      spec="Zihintpause")  # fmt: skip
def pause() -> None:
    """A hint that the hart spins."""


# I 2.8  Environment call and breakpoint


@insn("ecall", "000000000000 00000 000 00000 1110011", unit=Unit.SYSTEM, ext="i", spec="I 2.8")
def ecall(ctx: Context) -> None:
    if ctx.config.has((MACHINE,)):
        with ir.when(ir.read("privilege") == M_MODE):
            ir.trap(Cause.ENVIRONMENT_CALL_FROM_M_MODE, "environment call")
    ir.trap(Cause.ENVIRONMENT_CALL_FROM_U_MODE, "environment call")


@insn("ebreak", "000000000001 00000 000 00000 1110011", unit=Unit.SYSTEM, ext="i", spec="I 2.8")
def ebreak(pc: Value) -> None:
    ir.trap(Cause.BREAKPOINT, "breakpoint", pc)
