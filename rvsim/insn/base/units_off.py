"""Units that mstatus turns off, and the instructions that are illegal then (Privileged 3.1.6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim.insn.base.csrs import CSRS
from rvsim.insn.base.machine_csrs import FS_OFF, VS_OFF
from rvsim.insn.registry import Insn

_FLOAT_REGISTERS: Final = frozenset({"fd", "fs1", "fs2", "fs3"})


def unit_off(found: Insn, fields: Mapping[str, int], off: int) -> str | None:
    """Why an instruction is illegal while mstatus has units off (``units_off``), if it is."""
    if off & FS_OFF and _uses_floats(found, fields):
        return "mstatus.FS = 0: floating point is off"
    if off & VS_OFF and (found.unit.is_vector or _is_csr_of("v", fields)):
        return "mstatus.VS = 0: the vector unit is off"
    return None


def _uses_floats(found: Insn, fields: Mapping[str, int]) -> bool:
    uses_register = not found.encoding.field_names.isdisjoint(_FLOAT_REGISTERS)
    return found.unit.is_float or uses_register or _is_csr_of("f", fields)


def _is_csr_of(extension: str, fields: Mapping[str, int]) -> bool:
    csr = CSRS.get(fields["csr"]) if "csr" in fields else None
    return csr is not None and extension in csr.extensions
