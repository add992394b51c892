"""How much work and memory a file may cost: whoever made it may have made it as costly as it goes.

All that is read for people (symbols, lines, attributes) has a `Budget`.  What goes beyond is not
known, and `TooLarge` says why.  Counted is work, not time, so that a file gives the same on each
host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_SECTIONS: Final = 4096
MOST_HEADER_READS: Final = 100_000
"""Fields that pyelftools reads of headers and attributes: half a second."""

MOST_DEBUG_READS: Final = 150_000
"""Fields that it reads of debug information: about a second, or 10,000 units."""

MOST_TYPE_READS: Final = 300_000
"""Fields that it reads of it where types are asked for: two seconds, or 30,000 entries."""

DEEPEST_TYPE: Final = 64
"""Types that a type is made of, each part of the one before."""

MOST_LINE_OPERATIONS: Final = 1_000_000
"""Of the line number programs that are run: less than a second."""

MOST_EXPANDED: Final = 64 << 20
"""Bytes that compressed sections become."""

MOST_SYMBOLS: Final = 300_000
"""Entries of the symbol table: about a second."""

MOST_NAME_BYTES: Final = 32 << 20
"""Of all symbols: their names may overlap in the file."""

LONGEST_NAME: Final = 4096


class TooLarge(ValueError):
    """A file asks for more than it gets."""


@dataclass(slots=True)
class Budget:
    """What is `left` of something, and what to say where that is not enough.

    >>> budget = Budget(2, "too many rows")
    >>> budget.spend(2)
    >>> budget.is_overdrawn
    False
    >>> budget.spend(1)
    Traceback (most recent call last):
    rvsim.guest.file_limits.TooLarge: too many rows
    """

    left: int
    text: str

    def spend(self, amount: int) -> None:
        """Take some off; `TooLarge` if there is not as much."""
        self.left -= amount
        if self.left < 0:
            raise TooLarge(self.text)

    @property
    def is_overdrawn(self) -> bool:
        """Whether more was asked for than there was."""
        return self.left < 0
