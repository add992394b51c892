"""The element oracle: one instruction, plain integers, one element at a time.

It reads the specification on its own and imports nothing from rvsim, so that agreement between the
two means something.
"""

from collections.abc import Mapping

from tests.oracle import (
    compressed,
    ime,
    machine,
    scalar,
    scalar_bits,
    scalar_float,
    scalar_float_move,
    scalar_memory,
    vector_bits,
    vector_config,
    vector_crypto,
    vector_fixed,
    vector_float,
    vector_float_convert,
    vector_float_permute,
    vector_float_reduction,
    vector_integer,
    vector_mask,
    vector_memory,
    vector_permute,
    vector_reduction,
)
from tests.oracle.bits import M64
from tests.oracle.scalar import Row
from tests.oracle.state import OracleState, OracleTrap

__all__ = ["ROWS", "OracleState", "OracleTrap", "execute"]

ROWS: dict[str, Row] = {}
for _module in (
    scalar,
    scalar_bits,
    scalar_memory,
    scalar_float,
    scalar_float_move,
    machine,
    compressed,
    vector_config,
    vector_memory,
    vector_integer,
    vector_fixed,
    vector_reduction,
    vector_mask,
    vector_permute,
    vector_bits,
    vector_crypto,
    vector_float,
    vector_float_convert,
    vector_float_permute,
    vector_float_reduction,
    ime,
):
    _twice = ROWS.keys() & _module.ROWS.keys()
    if _twice:
        raise ValueError(f"two oracle rows for {sorted(_twice)}")
    ROWS |= _module.ROWS


def execute(name: str, state: OracleState, fields: Mapping[str, int], length: int = 4) -> None:
    """Run one instruction of `length` bytes at `state.pc`; on a trap pc stays where it is."""
    state.next_pc = (state.pc + length) & M64
    ROWS[name](state, fields)
    state.pc = state.next_pc
