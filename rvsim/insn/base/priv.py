"""Privileged instructions of machine mode.

Only a bare-metal image runs in machine mode: no profile has these instructions.
"""

from __future__ import annotations

from rvsim import ir
from rvsim.config import MACHINE
from rvsim.hart.traps import Cause
from rvsim.insn.base.machine_csrs import (
    M_MODE,
    MIE,
    MPIE,
    MPP,
    MPRV,
    TW,
    U_MODE,
)
from rvsim.insn.registry import insn
from rvsim.insn.units import Unit


@insn("mret", "001100000010 00000 000 00000 1110011", unit=Unit.SYSTEM, ext=MACHINE,
      spec="Privileged 3.3.2")  # fmt: skip
def mret() -> None:
    """Goes to mepc, in the mode of MPP, with the interrupt enable that MPIE kept."""
    with ir.when(ir.read("privilege") != M_MODE):
        ir.trap(Cause.ILLEGAL_INSTRUCTION, "mret is for machine mode")
    status = ir.read("mstatus")
    to_machine = status & MPP == MPP
    enable = ir.where(status & MPIE == 0, ir.const(0, 64), MIE)
    status = ir.where(to_machine, status, status & ~MPRV)
    ir.write("mstatus", status & ~(MIE | MPP) | enable | MPIE)
    ir.write("privilege", ir.where(to_machine, ir.const(M_MODE, 64), U_MODE))
    ir.write("pc", ir.read("mepc"))


@insn("wfi", "000100000101 00000 000 00000 1110011", unit=Unit.SYSTEM, ext=MACHINE,
      spec="Privileged 3.3.3")  # fmt: skip
def wfi() -> None:
    """Does not wait, since nothing interrupts; in user mode it traps where TW is set."""
    user = ir.read("privilege") == U_MODE
    with ir.when(user & (ir.read("mstatus") & TW != 0)):
        ir.trap(Cause.ILLEGAL_INSTRUCTION, "wfi in user mode with mstatus.TW = 1")
