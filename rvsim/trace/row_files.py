"""Reads traces in the npy and parquet formats, and finds the first row where two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.host.dataframes import optional

_NPY, _PARQUET = b"\x93NUMPY", b"PAR1"
_CHUNK: Final = 1 << 16
_CONTEXT: Final = 3

Columns = dict[str, npt.NDArray[Any]]
"""Some rows of a trace: an array of values for each column."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowComparison:
    """How many rows agree, and the first two rows that differ.

    `a` or `b` is None if that trace has ended.  `columns` names the columns that differ; it is
    empty if a trace has ended.  `before` holds the last rows that agree.
    """

    agreed: int
    a: Row | None
    b: Row | None
    columns: tuple[str, ...]
    before: tuple[Row, ...]
    alone: tuple[str, ...] = ()
    """Columns that only one trace has.  They are not compared."""

    @property
    def same(self) -> bool:
        return self.a is None and self.b is None


def has_rows(file: BufferedReader) -> bool:
    """Whether a file is a trace of rows.  The file must be at its start."""
    return file.peek(len(_NPY)).startswith((_NPY, _PARQUET))


def read_rows(file: BufferedReader) -> Iterator[Columns]:
    """The rows of a trace, in chunks.  An empty trace yields its columns without rows."""
    parquet = file.peek(len(_PARQUET)).startswith(_PARQUET)
    for columns in _parquet_rows(file.name) if parquet else _npy_rows(file):
        if not columns:
            raise RvsimError(f"cannot read {file.name}: it has no columns")
        yield {name: _plain(file.name, name, values) for name, values in columns.items()}


def _npy_rows(file: BufferedReader) -> Iterator[Columns]:
    try:
        count, dtype = _npy_header(file)
        for first in range(0, max(count, 1), _CHUNK):
            wanted = min(_CHUNK, count - first)
            data = file.read(wanted * dtype.itemsize)
            rows = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
            yield {name: rows[name] for name in dtype.names or ()}
            if len(rows) < wanted:
                raise ValueError(f"it ends after row {first + len(rows)} of {count}")
    except (ValueError, TypeError) as error:
        raise RvsimError(f"cannot read {file.name}: {error}") from None


def _npy_header(file: BufferedReader) -> tuple[int, np.dtype[Any]]:
    """The number of rows and their type."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"version {version} of the format is not known")
    read = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(file)
    if len(shape) != 1 or shape[0] < 0:
        raise ValueError(f"it has no rows, but the shape {shape}")
    if not dtype.names:
        raise ValueError("it has no columns")
    return shape[0], dtype


def _parquet_rows(path: str) -> Iterator[Columns]:
    arrow = optional(path, "pyarrow")
    parquet = optional(path, "pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
        none = arrow.RecordBatch.from_pylist([], schema=file.schema_arrow)
        for batch in chain([none], file.iter_batches(_CHUNK)):
            yield {name: _numpy(arrow, batch.column(name)) for name in batch.schema.names}
    except (arrow.ArrowException, OSError) as error:
        raise RvsimError(f"cannot read {path}: {error}") from None


def _numpy(arrow: Any, column: Any) -> npt.NDArray[Any]:
    if isinstance(column, arrow.DictionaryArray):
        kinds = np.array([*column.dictionary.to_pylist(), None], object)
        places = column.indices.fill_null(len(kinds) - 1).to_numpy()
        found: npt.NDArray[Any] = kinds[places]
        return found
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _plain(path: str, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The column as numbers, or as text in UTF-8; RvsimError for anything else."""
    if values.ndim == 1 and values.dtype.kind in "buifS":
        return values
    if values.ndim == 1 and values.dtype.kind in "UO":
        texts = values.tolist()
        if all(text is None or isinstance(text, str) for text in texts):
            return np.array([(text or "").encode() for text in texts], "S")
    raise RvsimError(f"cannot read {path}: column {name} is neither numbers nor text")


def compare_rows(
    a: Iterator[Columns], b: Iterator[Columns], only: Sequence[str] = ()
) -> RowComparison:
    """Compare two traces up to the first row that differs.

    `only` names the columns to compare; by default all that both traces have.
    """
    before: tuple[Row, ...] = ()
    agreed = 0
    alone: tuple[str, ...] = ()
    for ours, theirs in _alike(a, b):
        names = _compared(ours, theirs, only)
        alone = alone or tuple(n for n in (*ours, *theirs) if n not in names and not only)
        counts = _rows_of(ours), _rows_of(theirs)
        both = min(counts)
        differs = {name: _differs(ours[name][:both], theirs[name][:both]) for name in names}
        stop = min(int(d.argmax()) if d.any() else both for d in differs.values())
        latest = (_row(ours, i) for i in range(max(0, stop - _CONTEXT), stop))
        before = (*before, *(row for row in latest if row))[-_CONTEXT:]
        agreed += stop
        if stop < max(counts):
            columns = [name for name in names if stop < both and differs[name][stop]]
            return RowComparison(
                agreed, _row(ours, stop), _row(theirs, stop), tuple(columns), before, alone
            )
    return RowComparison(agreed, None, None, (), before, alone)


def _alike(a: Iterator[Columns], b: Iterator[Columns]) -> Iterator[tuple[Columns, Columns]]:
    """Pairs of chunks with equally many rows.  After one trace ends, its chunk is empty."""
    ours, theirs = next(a, None), next(b, None)
    while ours is not None and theirs is not None:
        count = min(_rows_of(ours), _rows_of(theirs))
        yield _part(ours, 0, count), _part(theirs, 0, count)
        ours = _part(ours, count) if count < _rows_of(ours) else next(a, None)
        theirs = _part(theirs, count) if count < _rows_of(theirs) else next(b, None)
    if ours is not None:
        yield ours, _part(ours, 0, 0)
    elif theirs is not None:
        yield _part(theirs, 0, 0), theirs


def _differs(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where two columns differ.  Text never equals a number; two NaNs are equal."""
    if (ours.dtype.kind == "S") != (theirs.dtype.kind == "S"):
        return np.ones(len(ours), bool)
    found: npt.NDArray[np.bool_] = ours != theirs
    if ours.dtype.kind == theirs.dtype.kind == "f":
        found &= ~(np.isnan(ours) & np.isnan(theirs))
    return found


def _part(columns: Columns, first: int, end: int | None = None) -> Columns:
    return {name: values[first:end] for name, values in columns.items()}


def _rows_of(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _row(columns: Columns, i: int) -> Row | None:
    """Row number `i`, or None after the last row."""
    if i >= _rows_of(columns):
        return None
    return {name: values[i].item() for name, values in columns.items()}


def _compared(ours: Columns, theirs: Columns, only: Sequence[str]) -> list[str]:
    """The columns to compare: `only`, or all columns that both traces have."""
    both = [name for name in ours if name in theirs]
    for name in only:
        if name not in both:
            raise RvsimError(f"there is no column {name}", hint=f"there are {', '.join(both)}")
    if not both:
        raise RvsimError(
            "the traces have no column in common",
            hint=f"A has {', '.join(ours)}, B has {', '.join(theirs)}",
        )
    return list(only) or both
