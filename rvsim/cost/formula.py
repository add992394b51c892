"""Cycles as fixed-point numbers, and the formulas of a core's tables that give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

FRACTION_BITS: Final = 8
"""Times are in 1/256 cycle, so that 1.06, 1.16 and 12.7 cycles add up alike in every engine."""

CYCLE: Final = 1 << FRACTION_BITS


def fixed(cycles: float) -> int:
    """Cycles as a fixed-point number.

    >>> fixed(1), fixed(1.16)
    (256, 297)
    """
    return round(cycles * CYCLE)


@dataclass(frozen=True, slots=True)
class Size:
    """What formulas depend on: L and N of the data, and the fields of a segment."""

    lmul: float
    vlmax: int
    nf: int = 1


@dataclass(frozen=True, slots=True)
class Formula:
    """``max(min, base + lmul*L + square*L*L + vlmax*N + fields*N*nf)`` cycles.

    `fractional` is the value for L < 1.

    >>> Formula(lmul=2).cycles(Size(0.25, 8)), Formula(lmul=2).cycles(Size(4, 128))
    (1.0, 8.0)
    """

    base: float = 0
    lmul: float = 0
    square: float = 0
    vlmax: float = 0
    fields: float = 0
    min: float = 1
    fractional: float | None = None

    def cycles(self, size: Size) -> float:
        """The value for one size."""
        if self.fractional is not None and size.lmul < 1:
            return self.fractional
        total = self.base + self.lmul * size.lmul + self.square * size.lmul**2
        total += (self.vlmax + self.fields * size.nf) * size.vlmax
        return float(max(self.min, total))

    @staticmethod
    def parse(value: float | Mapping[str, Any]) -> Formula:
        """From a TOML value: a number is `base`.  Raises ValueError, naming what is wrong."""
        if isinstance(value, int | float):
            return Formula(base=value, min=min(1.0, value))
        known = {f.name for f in fields(Formula)}
        for name, number in value.items():
            if name not in known:
                raise ValueError(
                    f"a formula has no term {name!r}: it has {', '.join(sorted(known))}"
                )
            if not isinstance(number, int | float) or not -10_000 <= number <= 10_000:
                raise ValueError(f"{name} = {number!r} is not a number of cycles")
        return Formula(**value)
