"""``npy:FILE``: the rows as a NumPy structured array, for `numpy.load`."""

from __future__ import annotations

import io
from typing import Final

import numpy as np

from rvsim.cost.batch import Batch
from rvsim.cost.rows import ROW_DTYPE, Rows
from rvsim.machine import Machine
from rvsim.trace.files import TraceFile

_PIECE: Final = 2048
"""Rows that are written together or not at all."""


class NpyTrace:
    """Writes the rows of batches, and after each batch their number into the header."""

    def __init__(self, path: str, machine: Machine) -> None:
        self._file = TraceFile(path)
        self._rows = Rows()
        self._written = 0
        self._file.reserve(_header(0))

    def batch(self, batch: Batch) -> None:
        rows = self._rows(batch)
        for start in range(0, len(rows), _PIECE):
            piece = rows[start : start + _PIECE]
            self._file.write(piece.tobytes())
            self._file.flush()
            if not self._file.failed:
                self._written += len(piece)
        self._file.replace_header(_header(self._written))

    def close(self) -> None:
        self._file.close()


def _header(count: int) -> bytes:
    """A header in version 1.0 of the format, with room for any number of rows."""
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        written,
        {"descr": ROW_DTYPE.descr, "fortran_order": False, "shape": (count,)},
    )
    return written.getvalue()
