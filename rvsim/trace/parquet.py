"""``parquet:FILE``: the rows as a Parquet table, with pyarrow."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch
from rvsim.cost.rows import ROW_DTYPE, Rows
from rvsim.errors import RvsimError
from rvsim.host.dataframes import arrow_schema, arrow_table, optional
from rvsim.host.outputs import OutputPlace
from rvsim.machine import Machine
from rvsim.trace.files import is_regular

_GROUP = 1 << 16


class ParquetTrace:
    """Writes groups of rows.

    An incomplete file has no index and is removed, unless it is a device or a pipe.
    """

    def __init__(self, path: str, machine: Machine) -> None:
        purpose = f"parquet:{path}"
        if path.endswith((".gz", ".zst")):
            raise RvsimError(f"{purpose}: its columns are compressed", hint="leave out the suffix")
        parquet = optional(purpose, "pyarrow.parquet")
        self._path, self._purpose = path, purpose
        self._rows = Rows()
        self._pending: list[npt.NDArray[Any]] = []
        self._error: OSError | None = None
        self._schema = arrow_schema(purpose, ROW_DTYPE)
        try:
            self._file = open(path, "wb")  # noqa: SIM115 (closed by `close`)
            regular = is_regular(self._file)
            self._place = OutputPlace(os.path.realpath(path)) if regular else None
        except OSError as error:
            raise self._cannot(error) from None
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def _cannot(self, error: OSError) -> RvsimError:
        return RvsimError(f"cannot write {self._path}: {error.strerror}")

    def batch(self, batch: Batch) -> None:
        self._pending.append(self._rows(batch))
        if sum(map(len, self._pending)) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        rows = np.concatenate([np.zeros(0, ROW_DTYPE), *self._pending])
        self._pending.clear()
        if self._error is not None:
            return
        try:
            self._writer.write_table(arrow_table(self._purpose, rows, self._schema))
        except OSError as error:
            self._error = error

    def close(self) -> None:
        self._flush()
        try:
            with self._file:
                self._writer.close()
        except OSError as error:
            self._error = self._error or error
        if self._place is not None:
            with self._place:
                if self._error is not None:
                    self._place.remove()
        if self._error is not None:
            raise self._cannot(self._error)
