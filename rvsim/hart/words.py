"""The 64-bit words that addresses and registers are: Python ints in [0, 2^64)."""

from __future__ import annotations

from typing import Final

WORD_MASK: Final = (1 << 64) - 1
"""The greatest word; what masked with it is a word."""


def signed(value: int, width: int = 64) -> int:
    """The two's complement number that `width` bits stand for.

    >>> signed(0xFF, 8), signed(0x7F, 8), signed(WORD_MASK)
    (-1, 127, -1)
    """
    sign = 1 << (width - 1)
    return (value ^ sign) - sign
