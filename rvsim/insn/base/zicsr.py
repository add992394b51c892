"""Zicsr, control and status register instructions (Zicsr 1); the registers are in `csrs`."""

from __future__ import annotations

from collections.abc import Callable

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.base.csrs import CSRS, refusal
from rvsim.insn.base.machine_csrs import privilege_problem
from rvsim.insn.registry import Context, insn
from rvsim.insn.units import Unit
from rvsim.ir import Value

Update = Callable[[Value, Value], Value]


def access(ctx: Context, operand: Value, update: Update, *, writes: bool) -> Value | None:
    """Read a CSR, and if it `writes` give it ``update(old, operand)``.

    No CSR has side effects on reads, so that csrrw with rd = x0 need not be told apart.
    """
    number = ctx.statics["csr"]
    why = refusal(ctx.config, number, writes=writes)
    if why is not None:
        ir.trap(Cause.ILLEGAL_INSTRUCTION, why)
        return None
    problem = privilege_problem(ctx.config, number)
    if problem is not None:
        with ir.when(problem[0]):
            ir.trap(Cause.ILLEGAL_INSTRUCTION, problem[1])
    csr = CSRS[number]
    old = csr.read(ctx.config)
    if writes and csr.write is not None:
        csr.write(ctx.config, update(old, operand))
    return old


def csr_access(name: str, funct3: str, update: Update) -> None:
    """``name rd, csr, rs1``; all but csrrw write only when rs1 is not x0."""

    @insn(f"{name} rd, csr, rs1", f"csr rs1 {funct3} rd 1110011", unit=Unit.CSR, ext="zicsr",
          spec="Zicsr 1", statics="csr", zeros="rs1")  # fmt: skip
    def body(ctx: Context, rs1: Value) -> Value | None:
        writes = name == "csrrw" or not ctx.is_zero("rs1")
        return access(ctx, rs1, update, writes=writes)


def csr_access_immediate(name: str, funct3: str, update: Update) -> None:
    """``name rd, csr, uimm``; all but csrrwi write only when uimm is not 0."""

    @insn(f"{name} rd, csr, uimm", f"csr uimm[4:0] {funct3} rd 1110011", unit=Unit.CSR,
          ext="zicsr", spec="Zicsr 1", statics="csr", zeros="uimm")  # fmt: skip
    def body(ctx: Context, uimm: Value) -> Value | None:
        writes = name == "csrrwi" or not ctx.is_zero("uimm")
        return access(ctx, uimm, update, writes=writes)


csr_access("csrrw", "001", lambda old, operand: operand)
csr_access("csrrs", "010", lambda old, operand: old | operand)
csr_access("csrrc", "011", lambda old, operand: old & ~operand)
csr_access_immediate("csrrwi", "101", lambda old, operand: operand)
csr_access_immediate("csrrsi", "110", lambda old, operand: old | operand)
csr_access_immediate("csrrci", "111", lambda old, operand: old & ~operand)
