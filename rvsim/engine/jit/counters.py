"""The counters of compiled code: how often its instructions ran, and the sums of vl over that.

A region that counts has a global of words: for each block, how often it was entered and the sum of
vl over that; after these, the same pair for each of its steps, of the times that the block was
left there for the interpreter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from rvsim.engine.block import Execution, Mode
from rvsim.insn.decode import Decoded

SYMBOL: Final = "counters"
"""The name of the global."""


def starts(sizes: Sequence[int]) -> list[int]:
    """Where the counters of blocks with so many steps begin; the last is the number of words.

    >>> starts([3, 1])
    [0, 8, 12]
    """
    return list(accumulate((2 + 2 * size for size in sizes), initial=0))


class RegionCounters:
    """The counters of a linked region at an address; `library` is what keeps them there."""

    def __init__(
        self, blocks: Sequence[tuple[Mode, Sequence[Decoded]]], address: int, library: object
    ) -> None:
        self._blocks = blocks
        *self._starts, size = starts([len(steps) for _, steps in blocks])
        self._words = (ctypes.c_uint64 * size).from_address(address)
        self._library = library

    def executions(self, vlen: int) -> Iterator[Execution]:
        """How often each instruction ran here, if at all."""
        for (mode, steps), start in zip(self._blocks, self._starts, strict=True):
            count, vl_sum = self._words[start : start + 2]
            for i, decoded in enumerate(steps, start=1):
                left, vl_left = self._words[start + 2 * i : start + 2 * i + 2]
                count, vl_sum = count - left, vl_sum - vl_left
                if count:
                    yield decoded, mode, count, _vl_sum(mode, count, vl_sum, vlen)


def _vl_sum(mode: Mode, count: int, counted: int, vlen: int) -> int:
    if mode.elements == "full" and mode.vtype is not None:
        return count * mode.vtype.vlmax(vlen)
    return counted
