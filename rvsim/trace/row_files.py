"""Reads traces of rows, of the kinds npy and parquet, and finds where two of them part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.tables import optional
from rvsim.trace.files import open_trace

_NPY, _PARQUET = b"\x93NUMPY", b"PAR1"
_CHUNK: Final = 1 << 16
_CONTEXT: Final = 3

Columns = dict[str, npt.NDArray[Any]]
"""Some rows, by column."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowComparison:
    """How many rows agree; then the rows that don't, None where a trace has ended.

    `columns` are those that differ, none if both traces end together or one does first.
    """

    agreed: int
    a: Row | None
    b: Row | None
    columns: tuple[str, ...]
    before: tuple[Row, ...]

    @property
    def same(self) -> bool:
        return self.a is None and self.b is None


def has_rows(path: str) -> bool:
    """Whether a file is a trace of rows; `RvsimError` if it cannot be read."""
    with open_trace(path) as file:
        return file.read(len(_NPY)).startswith((_NPY, _PARQUET))


def read_rows(path: str) -> Iterator[Columns]:
    """The rows of a trace, some at a time."""
    with open_trace(path) as file:
        start = file.read(len(_NPY))
        if start.startswith(_PARQUET):
            yield from _parquet_rows(path)
        elif start == _NPY:
            yield from _npy_rows(path, file)
        else:
            raise RvsimError(
                f"{path} is no trace of rows", hint="rvsim run --trace npy:FILE writes one"
            )


def _npy_rows(path: str, file: IO[bytes]) -> Iterator[Columns]:
    """What follows the magic string, which has been read."""
    try:
        file.read(2)  # the version is that of `NpyTrace`
        (count,), _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.names is None:
            raise ValueError("it has no columns")
        for first in range(0, count, _CHUNK):
            wanted = min(_CHUNK, count - first)
            data = file.read(wanted * dtype.itemsize)
            rows = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
            yield {name: rows[name] for name in dtype.names}
            if len(rows) < wanted:
                raise ValueError(f"it ends behind row {first + len(rows)} of {count}")
    except (ValueError, TypeError) as error:
        raise RvsimError(f"cannot read {path}: {error}") from None


def _parquet_rows(path: str) -> Iterator[Columns]:
    arrow = optional(path, "pyarrow")
    parquet = optional(path, "pyarrow.parquet")
    try:
        for batch in parquet.ParquetFile(path).iter_batches(_CHUNK):
            yield {name: _numpy(arrow, batch.column(name)) for name in batch.schema.names}
    except (arrow.ArrowException, OSError) as error:
        raise RvsimError(f"cannot read {path}: {error}") from None


def _numpy(arrow: Any, column: Any) -> npt.NDArray[Any]:
    if isinstance(column, arrow.DictionaryArray):
        names = np.array(column.dictionary.to_pylist(), "S")
        found: npt.NDArray[Any] = names[column.indices.to_numpy()]
        return found
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def compare_rows(
    a: Iterator[Columns], b: Iterator[Columns], only: Sequence[str] = ()
) -> RowComparison:
    """Go through both as far as they agree, in all columns or some of them."""
    before: tuple[Row, ...] = ()
    agreed = 0
    for ours, theirs in _alike(a, b):
        names = _compared(ours, theirs, only)
        counts = _rows_of(ours), _rows_of(theirs)
        both = min(counts)
        differs = np.zeros(both, bool)
        for name in names:
            differs |= ours[name][:both] != theirs[name][:both]
        stop = int(differs.argmax()) if differs.any() else both
        latest = (_row(ours, i) for i in range(max(0, stop - _CONTEXT), stop))
        before = (*before, *(row for row in latest if row))[-_CONTEXT:]
        agreed += stop
        if stop < max(counts):
            columns = [n for n in names if stop < both and ours[n][stop] != theirs[n][stop]]
            return RowComparison(
                agreed, _row(ours, stop), _row(theirs, stop), tuple(columns), before
            )
    return RowComparison(agreed, None, None, (), before)


def _alike(a: Iterator[Columns], b: Iterator[Columns]) -> Iterator[tuple[Columns, Columns]]:
    """Rows of both, as many of one as of the other but at the end, where one may have none."""
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


def _part(columns: Columns, first: int, end: int | None = None) -> Columns:
    return {name: values[first:end] for name, values in columns.items()}


def _rows_of(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _row(columns: Columns, i: int) -> Row | None:
    """Row number `i`, if there are so many."""
    if i >= _rows_of(columns):
        return None
    return {name: values[i].item() for name, values in columns.items()}


def _compared(ours: Columns, theirs: Columns, only: Sequence[str]) -> list[str]:
    """The columns to compare: those of both."""
    both = [name for name in ours if name in theirs]
    for name in only:
        if name not in both:
            raise RvsimError(f"there is no column {name}", hint=f"there are {', '.join(both)}")
    return list(only) or both
