"""Strategies for the operand fields of an instruction."""

from collections.abc import Mapping

from hypothesis import strategies as st

from rvsim.insn.base.csrs import CSRS
from rvsim.insn.encoding import FieldCode
from rvsim.insn.registry import Insn

REGISTERS = frozenset(
    {"rd", "rs1", "rs2", "rs3", "fd", "fs1", "fs2", "fs3", "vd", "vs1", "vs2", "vs3"}
)
LEGAL_MODES = (0, 1, 2, 3, 4, 7)
"""Values of rm; 5 and 6 are reserved, which decoding refuses (F 2.2)."""


def field_values(field: FieldCode) -> st.SearchStrategy[int]:
    """All values that fit: few registers, so that they meet, and often corners of immediates."""
    if field.compact:
        return st.sampled_from((8, 9, 10, 15)) | st.integers(8, 15)
    half = 1 << field.width - 1
    low, high = (-half, half - 1) if field.signed else (0, 2 * half - 1)
    anything = st.integers(low // field.step, high // field.step).map(lambda n: n * field.step)
    if field.name == "rm":
        return st.sampled_from(LEGAL_MODES)
    if field.name == "csr":
        return st.sampled_from(sorted(CSRS)) | anything
    often = (0, 1, 2, 10, 31) if field.name in REGISTERS else (low, -1, 0, 1, high)
    corners = sorted({n - n % field.step for n in often if low <= n <= high})
    return st.sampled_from(corners) | anything


def legal_fields(insn: Insn) -> st.SearchStrategy[dict[str, int]]:
    """Fields that `insn` encodes, those that belong to another instruction left out."""

    def allowed(fields: Mapping[str, int]) -> bool:
        return all(fields[name] != value for name, value in insn.encoding.excluded)

    strategies = {f.name: field_values(f) for f in insn.encoding.fields}
    return st.fixed_dictionaries(strategies).filter(allowed)
