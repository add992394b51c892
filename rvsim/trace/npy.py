"""``npy:FILE``: the rows as a NumPy structured array, for `numpy.load`."""

from __future__ import annotations

import io

import numpy as np

from rvsim.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.files import TraceFile
from rvsim.trace.timing import ROW_DTYPE, Row

_CHUNK = 4096
_MOST_DIGITS = 20


class NpyTrace:
    """Writes chunks of rows; how many there are is put into the header at the end."""

    def __init__(self, path: str, machine: Machine) -> None:
        self._file = TraceFile(path)
        self._rows: list[Row] = []
        self._written = 0
        self._file.reserve(_header(0))

    def row(self, d: Decoded, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) == _CHUNK:
            self._flush()

    def _flush(self) -> None:
        self._file.write(np.array(self._rows, ROW_DTYPE).tobytes())
        self._file.flush()
        if not self._file.failed:
            self._written += len(self._rows)
        self._rows.clear()

    def close(self) -> None:
        self._flush()
        self._file.replace_header(_header(self._written))
        self._file.close()


def _header(count: int) -> bytes:
    """That of the format's version 1.0, with room for any number of rows."""
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        written,
        {"descr": ROW_DTYPE.descr, "fortran_order": False, "shape": (count,)},
    )
    return written.getvalue()
