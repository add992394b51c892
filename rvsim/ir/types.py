"""Types of IR values: a bit vector, or lanes of bit vectors; a mask is lanes of one bit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """`width` bits, once (``lanes is None``) or in each of `lanes` lanes.

    >>> bits(64), lanes(16, 32), mask(8)
    (bits[64], lanes[16, 32], mask[8])
    """

    width: int
    lanes: int | None = None

    @property
    def is_mask(self) -> bool:
        return self.lanes is not None and self.width == 1

    @property
    def total_bits(self) -> int:
        return self.width * (self.lanes or 1)

    @property
    def ones(self) -> int:
        """The element value with every bit set."""
        return (1 << self.width) - 1

    def with_width(self, width: int) -> Type:
        return Type(width, self.lanes)

    def __repr__(self) -> str:
        if self.lanes is None:
            return f"bits[{self.width}]"
        return f"mask[{self.lanes}]" if self.width == 1 else f"lanes[{self.lanes}, {self.width}]"


def bits(width: int) -> Type:
    """A scalar of `width` bits."""
    return Type(width)


def lanes(n: int, width: int) -> Type:
    """`n` lanes of `width` bits."""
    return Type(width, n)


def mask(n: int) -> Type:
    """`n` lanes of one bit."""
    return Type(1, n)


BOOL = bits(1)
WORD = bits(64)
