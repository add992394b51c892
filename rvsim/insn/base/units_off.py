"""Units that mstatus turns off, and the instructions that are illegal then (Privileged 3.1.6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim.insn.base.machine_csrs import FS_OFF, VS_OFF
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit

_FLOAT_CSRS: Final = frozenset({0x001, 0x002, 0x003})
_VECTOR_CSRS: Final = frozenset({0x008, 0x009, 0x00A, 0x00F, 0xC20, 0xC21, 0xC22})


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
