"""Privileged instructions of machine mode, and the units that mstatus can turn off.

Only a bare-metal image runs in machine mode: no profile has these instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim import ir
from rvsim.config import MACHINE
from rvsim.insn.causes import ILLEGAL_INSTRUCTION
from rvsim.insn.machine_csrs import (
    FS_OFF,
    M_MODE,
    MIE,
    MPIE,
    MPP,
    MPRV,
    TW,
    U_MODE,
    VS_OFF,
)
from rvsim.insn.registry import Insn, insn
from rvsim.insn.units import Unit

_FLOAT_CSRS: Final = frozenset({0x001, 0x002, 0x003})
_VECTOR_CSRS: Final = frozenset({0x008, 0x009, 0x00A, 0x00F, 0xC20, 0xC21, 0xC22})


@insn("mret", "001100000010 00000 000 00000 1110011", unit=Unit.SYSTEM, ext=MACHINE,
      spec="Privileged 3.3.2")  # fmt: skip
def mret() -> None:
    """Goes to mepc, in the mode of MPP, with the interrupt enable that MPIE kept."""
    with ir.when(ir.read("privilege") != M_MODE):
        ir.trap(ILLEGAL_INSTRUCTION, "mret is for machine mode")
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
        ir.trap(ILLEGAL_INSTRUCTION, "wfi in user mode with mstatus.TW = 1")


def unit_off(found: Insn, fields: Mapping[str, int], off: int) -> str | None:
    """Why an instruction is illegal while mstatus has units off (``units_off``), if it is."""
    if off & FS_OFF and _uses_floats(found, fields):
        return "mstatus.FS = 0: floating point is off"
    if off & VS_OFF and (found.unit.is_vector or fields.get("csr") in _VECTOR_CSRS):
        return "mstatus.VS = 0: the vector unit is off"
    return None


def _uses_floats(found: Insn, fields: Mapping[str, int]) -> bool:
    if found.unit.is_vector:
        return found.name.startswith(("vf", "vmf")) and found.name != "vfirst.m"
    scalar_float = found.unit.value.startswith("f") and found.unit is not Unit.FENCE
    return scalar_float or fields.get("csr") in _FLOAT_CSRS
