"""Traits of code: what it does besides executing the guest's instructions.

Each combination is code of its own: a region that counts cycles can't stand in for one that
doesn't.  Whatever the traits, results and cycles are those of a plain run (decision 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CodeTraits:
    """Part of what identifies a compiled region.

    `timing` names all numbers of the core whose cycles the code counts, "" where it counts none.
    With `records` it leaves a record of each instruction, which has times and so needs a core; with
    `counts` it counts its blocks and the bytes that they move.

    >>> CodeTraits(records=True)
    Traceback (most recent call last):
    ValueError: records have times: they need a core
    """

    timing: str = ""
    records: bool = False
    counts: bool = False

    def __post_init__(self) -> None:
        if self.records and not self.timing:
            raise ValueError("records have times: they need a core")


PLAIN: Final = CodeTraits()
"""Of code that does nothing else."""
