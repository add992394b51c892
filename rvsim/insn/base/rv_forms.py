"""Scalar instruction formats, for instructions that come in rows and whose body is an expression.

Each maker takes the mnemonic, the bits that tell it from its neighbours, and the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim import ir
from rvsim.insn.registry import insn
from rvsim.insn.units import Unit
from rvsim.ir import Value

Body = Callable[..., Value]

OP: Final = "0110011"
OP_32: Final = "0111011"
OP_IMM: Final = "0010011"
OP_IMM_32: Final = "0011011"


def low32(value: Value) -> Value:
    """The low word, which is what *W instructions compute with."""
    return ir.trunc(value, 32)


def sext32(value: Value) -> Value:
    """The low 32 bits, sign-extended to 64: the result of every *W instruction (I 4.2)."""
    return ir.sext(ir.trunc(value, 32), 64)


def zext32(value: Value) -> Value:
    """The low 32 bits, zero-extended to 64."""
    return ir.zext(ir.trunc(value, 32), 64)


def register_form(
    name: str,
    funct: str,
    body: Body,
    *,
    ext: str,
    spec: str,
    unit: Unit = Unit.ALU,
    opcode: str = OP,
) -> None:
    """``name rd, rs1, rs2``; `funct` is funct7 and funct3."""
    funct7, funct3 = funct.split()
    pattern = f"{funct7} rs2 rs1 {funct3} rd {opcode}"
    insn(f"{name} rd, rs1, rs2", pattern, unit=unit, ext=ext, spec=spec)(body)


def immediate_form(
    name: str, funct3: str, body: Body, *, ext: str, spec: str, opcode: str = OP_IMM
) -> None:
    """``name rd, rs1, imm`` with a signed 12-bit immediate."""
    pattern = f"imm[11:0] rs1 {funct3} rd {opcode}"
    insn(f"{name} rd, rs1, imm", pattern, unit=Unit.ALU, ext=ext, spec=spec)(body)


def shift_form(
    name: str, funct: str, body: Body, *, ext: str, spec: str, opcode: str = OP_IMM
) -> None:
    """``name rd, rs1, shamt``; six bits of `funct` leave six for the amount, seven leave five."""
    upper, funct3 = funct.split()
    pattern = f"{upper} shamt[{11 - len(upper)}:0] rs1 {funct3} rd {opcode}"
    insn(f"{name} rd, rs1, shamt", pattern, unit=Unit.ALU, ext=ext, spec=spec)(body)


def unary_form(
    name: str, funct: str, body: Body, *, ext: str, spec: str, opcode: str = OP_IMM
) -> None:
    """``name rd, rs1``; `funct` is the upper twelve bits and funct3."""
    funct12, funct3 = funct.split()
    pattern = f"{funct12} rs1 {funct3} rd {opcode}"
    insn(f"{name} rd, rs1", pattern, unit=Unit.ALU, ext=ext, spec=spec)(body)
