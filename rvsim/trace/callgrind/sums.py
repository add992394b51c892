"""Exact sums of many integers, by row and column, in a table that grows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]


class Sums:
    """A table of sums that begin at 0.

    >>> sums = Sums()
    >>> sums.add(np.array([2, 0, 2]), np.array([0, 1, 0]), np.array([5, 6, 7]))
    >>> sums.row(0), sums.row(2), sums.row(100)
    ([0, 6], [12, 0], [])
    """

    def __init__(self) -> None:
        self._table: Numbers = np.zeros((0, 0), np.int64)

    def add(self, rows: Places, columns: Places, amounts: Numbers) -> None:
        """Add each amount to its row and column."""
        if len(rows):
            self._reach(int(rows.max()) + 1, int(columns.max()) + 1)
            places = rows * self._table.shape[1] + columns
            np.add.at(self._table.reshape(-1), places, amounts)

    def add_rows(self, rows: Places, amounts: Numbers) -> None:
        """Add whole rows, which may be shorter than the table's."""
        if len(rows):
            self._reach(int(rows.max()) + 1, amounts.shape[1])
            order = np.argsort(rows)
            first = np.flatnonzero(np.diff(rows[order], prepend=-1))
            self._table[rows[order[first]], : amounts.shape[1]] += np.add.reduceat(
                amounts[order], first
            )

    def _reach(self, rows: int, columns: int) -> None:
        """Make room for that many rows and columns."""
        old = self._table.shape
        if rows > old[0] or columns > old[1]:
            room = max(rows, 2 * old[0]) if rows > old[0] else old[0]
            table = np.zeros((room, max(columns, old[1])), np.int64)
            table[: old[0], : old[1]] = self._table
            self._table = table

    def row(self, number: int) -> list[int]:
        """The sums of a row; empty if the table does not have it."""
        return self._table[number].tolist() if number < len(self._table) else []
