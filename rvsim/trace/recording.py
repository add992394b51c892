"""The rows of a run in memory, for Python and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.events import Recorder
from rvsim.trace.selection import Window
from rvsim.trace.timing import ROW_DTYPE, Row, Timings

_CHUNK = 4096


class Recording:
    """Keeps the rows of one machine, those of a window of instructions if one is given.

    It is made first, and the machine, which needs a cost model, with its hooks:

    >>> from rvsim.toolchain import build_kernel
    >>> recording = Recording(Window(100, 200))
    >>> machine = Machine(cost="x60", **recording.hooks())
    >>> machine.load(build_kernel("gemm_tile_s8"))
    >>> _ = machine.run(max_insns=200)
    >>> rows = recording.rows()
    >>> len(rows), int(rows["instret"][0]), rows.dtype.names[:3]
    (100, 100, ('instret', 'pc', 'word'))
    """

    def __init__(self, window: Window | None = None) -> None:
        self._window = window or Window()
        self._chunks: list[npt.NDArray[Any]] = []
        self._rows: list[Row] = []
        self._timings = Timings([self._row])
        self._recorder = Recorder([self._timings.instruction])

    def hooks(self) -> dict[str, Any]:
        """Keyword arguments for `Machine`."""
        return self._recorder.hooks() | {"names": self._names}

    def rows(self) -> npt.NDArray[Any]:
        """All rows so far, as `ROW_DTYPE`."""
        return np.concatenate([*self._chunks, np.array(self._rows, ROW_DTYPE)])

    def _names(self, machine: Machine) -> Mapping[str, Any]:
        self._timings.begin(machine)
        return self._recorder.names(machine)

    def _row(self, d: Decoded, row: Row) -> None:
        if row.instret in self._window:
            self._rows.append(row)
            if len(self._rows) == _CHUNK:
                self._chunks.append(np.array(self._rows, ROW_DTYPE))
                self._rows.clear()
