"""Timing of many instructions at a time: trace writers receive it in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.insn.decode import Decoded

BATCH_DTYPE: Final = np.dtype(
    [
        ("instret", "<u8"), ("code", "<u4"), ("vl", "<u4"), ("vtype", "<u8"), ("addr", "<u8"),
        ("size", "<u4"), ("issue", "<i8"), ("start", "<i8"), ("done", "<i8"), ("fetch", "<i8"),
        ("slot", "<i8"), ("wait", "<i8"), ("reason", "u1"), ("charged", "<u8"), ("lost", "<i8"),
        ("lost_reason", "u1"), ("trapped", "?"),
    ]
)  # fmt: skip
"""A `Row` in integers: times and cycles are fixed-point numbers (`rvsim.cost.formula`).

Times count from the start of the run.  `code` is the index of the instruction in `Batch.code`.
Reasons are indices into `rvsim.cost.REASONS`; they are meaningless where `wait` or `lost` is 0.
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive executed instructions, as `BATCH_DTYPE`.

    `code` has each instruction (pc and word) that ran so far; it only grows during a run.
    """

    rows: npt.NDArray[Any]
    code: Sequence[Decoded]

    def where(self, chosen: npt.NDArray[np.bool_]) -> Batch:
        """The batch of the chosen instructions."""
        return self if chosen.all() else Batch(self.rows[chosen], self.code)


class PerInstruction:
    """Makes a column for a batch: `make` computes the value of each instruction once.

    >>> lengths = PerInstruction(lambda d: d.length)
    >>> lengths(Batch(np.zeros(0, BATCH_DTYPE), [])).tolist()
    []
    """

    def __init__(self, make: Callable[[Decoded], Any]) -> None:
        self._make = make
        self._values: list[Any] = []
        self._array: npt.NDArray[Any] = np.zeros(0)

    def __call__(self, batch: Batch) -> npt.NDArray[Any]:
        """The values for the rows of a batch; text as bytes, padded with zeros."""
        new = batch.code[len(self._values) :]
        if new:
            self._values += map(self._make, new)
            self._array = np.array(self._values)
        values: npt.NDArray[Any] = self._array[batch.rows["code"]]
        return values
