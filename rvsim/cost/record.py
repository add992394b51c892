"""What a cost program tells of one instruction: times, and what it was charged.

It is left in an array of the CostState, whether or not somebody looks: a back end that knows no
place for the array drops what is written there, as nothing reads it.  Before the instruction
issued passed ``fetch`` cycles for its line, ``slot`` for the width of issue, and ``wait`` for the
reason of the counter ``charged``; after it nothing issued for ``lost`` cycles.
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
"""Elements of the array: times, cycles as fixed-point numbers, a counter, and a reason."""

_INDEX: Final = {name: i for i, name in enumerate(TOLD)}


def begin() -> None:
    """Nothing is known of the instruction yet."""
    for i in range(len(TOLD)):
        ir.write_array(RECORD, i, 0)


def tell(**told: Value | int) -> None:
    """Note elements by their names."""
    for name, value in told.items():
        ir.write_array(RECORD, _INDEX[name], value)
