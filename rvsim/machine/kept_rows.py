"""Keeps the times of instructions for `RunResult.trace`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch
from rvsim.cost.rows import ROW_DTYPE, Rows
from rvsim.engine.observer import ALL_INSNS, Need, Observer
from rvsim.errors import RvsimError


class KeptRows(Observer):
    """Keeps what a run hands over, of all instructions (True) or of a range of their numbers."""

    needs = Need.RECORDS

    def __init__(self, trace: bool | range = True) -> None:
        self.window = _window(trace)
        self._batches: list[Batch] = []

    def batch(self, batch: Batch) -> None:
        """Keep what is wanted of a batch."""
        numbers = batch.rows["instret"]
        batch = batch.where((numbers >= self.window.start) & (numbers < self.window.stop))
        if len(batch.rows):
            self._batches.append(batch)

    def table(self) -> npt.NDArray[Any]:
        """All rows so far, as `ROW_DTYPE`."""
        make = Rows()
        return np.concatenate([np.zeros(0, ROW_DTYPE), *map(make, self._batches)])


def _window(trace: bool | range) -> range:
    if trace is True:
        return ALL_INSNS
    if not isinstance(trace, range):
        hint = "give True, or a range of instructions"
        raise RvsimError(f"there is no trace={trace!r}", hint=hint)
    if trace.step != 1:
        raise RvsimError(f"trace={trace} leaves instructions out", hint="give a range of step 1")
    return trace
