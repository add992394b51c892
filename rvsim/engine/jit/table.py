"""How compiled code finds the region that goes on at a pc, without a way through Python."""

from __future__ import annotations

from typing import Final

import numpy as np

from rvsim.hart.words import WORD_MASK

TABLE_BITS: Final = 14
"""The table has 2^14 entries of a key and the address of a function; see `table_key`."""

ENTRY_BYTES: Final = 16

PC_BITS: Final = 48
"""Of a key; the mode is above them.  Guest memory ends far below, and no pc beyond is looked up."""


def table_key(pc: int, mode: int) -> int:
    """What identifies a region to compiled code."""
    return (pc | mode << PC_BITS) & WORD_MASK


def table_index(pc: int) -> int:
    """The one place of the table where a region of this pc may stand."""
    return (pc >> 1 ^ pc >> 15) & (1 << TABLE_BITS) - 1


class DispatchTable:
    """The table of one hart."""

    def __init__(self) -> None:
        self._words = np.zeros((1 << TABLE_BITS) * ENTRY_BYTES // 8, np.uint64)
        self.address: int = self._words.ctypes.data

    def insert(self, pc: int, mode: int, function: int) -> None:
        """Lead to a function; another region that stood in its place is found no more."""
        index = 2 * table_index(pc)
        self._words[index] = table_key(pc, mode)
        self._words[index + 1] = function

    def remove(self, pc: int, function: int) -> None:
        """Lead to a function no more, if it is still the one in its place."""
        index = 2 * table_index(pc)
        if self._words[index + 1] == function:
            self._words[index : index + 2] = 0
