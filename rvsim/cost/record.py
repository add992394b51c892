"""The record of one instruction: a cost program writes its times and charges.

The record is an array of the CostState, written in every run.  A back end without a place for the
array drops the writes, because nothing reads it.  Three waits precede the issue: ``fetch`` cycles
for the instruction's line, ``slot`` for the issue width, and ``wait`` for the reason of the counter
``charged``.  After it, nothing issues for ``lost`` cycles.
"""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.hart.state import RECORD
from rvsim.ir import Value

TOLD: Final = (
    "issued",  # 0 for an instruction that the model does not account for
    "begun",  # in its unit
    "finished",  # result ready, or stored
    "fetch",
    "slot",
    "wait",
    "charged",
    "lost",
    "lost_why",
)
"""Elements of the array: times and cycles (fixed-point), the index of a counter, a reason."""

_INDEX: Final = {name: i for i, name in enumerate(TOLD)}


def begin() -> None:
    """Clear the record."""
    for i in range(len(TOLD)):
        ir.write_array(RECORD, i, 0)


def tell(**told: Value | int) -> None:
    """Write elements of the record, by name."""
    for name, value in told.items():
        ir.write_array(RECORD, _INDEX[name], value)
