"""``parquet:FILE``: the rows as a Parquet table, with pyarrow."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.decode import Decoded
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.trace.files import pyarrow
from rvsim.trace.timing import ROW_DTYPE, Row

_GROUP = 1 << 16


class ParquetTrace:
    """Writes groups of rows; a file that cannot be completed has no index and is removed."""

    def __init__(self, path: str, machine: Machine) -> None:
        purpose = f"parquet:{path}"
        if path.endswith((".gz", ".zst")):
            raise RvsimError(f"{purpose}: its columns are compressed", hint="leave out the suffix")
        self._arrow, parquet = pyarrow(purpose), pyarrow(purpose, "pyarrow.parquet")
        self._path = path
        self._rows: list[Row] = []
        self._error: OSError | None = None
        self._schema = self._make_schema()
        try:
            self._file = open(path, "wb")  # noqa: SIM115 (closed by `close`)
        except OSError as error:
            raise self._cannot(error) from None
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def _make_schema(self) -> Any:
        arrow = self._arrow
        text = arrow.dictionary(arrow.int32(), arrow.string())
        assert ROW_DTYPE.names is not None
        types = [(name, ROW_DTYPE[name]) for name in ROW_DTYPE.names]
        return arrow.schema(
            [(name, text if t.kind == "S" else arrow.from_numpy_dtype(t)) for name, t in types]
        )

    def _cannot(self, error: OSError) -> RvsimError:
        return RvsimError(f"cannot write {self._path}: {error.strerror}")

    def row(self, d: Decoded, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) == _GROUP:
            self._flush()

    def _flush(self) -> None:
        rows = np.array(self._rows, ROW_DTYPE)
        self._rows.clear()
        if self._error is not None:
            return
        columns = [self._column(rows[field.name], field.type) for field in self._schema]
        try:
            self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))
        except OSError as error:
            self._error = error

    def _column(self, values: npt.NDArray[Any], of_type: Any) -> Any:
        text = values.dtype.kind == "S"
        return self._arrow.array(values.astype(str) if text else values).cast(of_type)

    def close(self) -> None:
        self._flush()
        try:
            self._writer.close()
            self._file.close()
        except OSError as error:
            self._error = self._error or error
        if self._error is not None:
            os.unlink(self._path)
            raise self._cannot(self._error)
