"""Per-instruction timing, many instructions at a time: what the writers of traces receive."""

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
"""A `Row` in whole numbers: times and cycles as fixed-point numbers (`rvsim.cost.formula`).

Times begin with the run.  `code` is the place of the instruction in `Batch.code`; reasons are
indices into `rvsim.cost.REASONS`, and mean something where `wait` or `lost` is not 0.
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive instructions that executed, as `BATCH_DTYPE`.

    `code` has every instruction met so far, by its pc and word; it only grows during a run.
    """

    rows: npt.NDArray[Any]
    code: Sequence[Decoded]

    def where(self, chosen: npt.NDArray[np.bool_]) -> Batch:
        """The chosen ones."""
        return self if chosen.all() else Batch(self.rows[chosen], self.code)


class PerInstruction:
    """A value of each instruction of a run, made once: a column of a batch.

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
