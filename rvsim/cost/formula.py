"""Cycles as fixed-point numbers, and the formulas of a core's tables that give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rvsim.cost.schema import shown
from rvsim.errors import did_you_mean

FRACTION_BITS: Final = 8
"""Times are in 1/256 cycle, so that fractions of a cycle add up to the same in both engines."""

CYCLE: Final = 1 << FRACTION_BITS

_MOST: Final = 10_000
"""The most cycles of a term."""


def fixed(cycles: float) -> int:
    """Cycles as a fixed-point number.

    >>> fixed(1), fixed(1.16)
    (256, 297)
    """
    return round(cycles * CYCLE)


@dataclass(frozen=True, slots=True)
class Size:
    """The arguments of formulas: L (`lmul`) and N (`vlmax`) of the data, and fields of a segment.

    `parts` is the number of register parts that hold the data, each as wide as the datapath.
    """

    lmul: float
    vlmax: int
    nf: int = 1
    parts: float = 1


TERMS: Final[Mapping[str, str]] = {
    "base": "cycles at any size",
    "lmul": "cycles times L, registers of the core's VLEN: LMUL * VLEN / vector_unit.vlen",
    "square": "cycles times L * L",
    "vlmax": "cycles times N, the elements of VLMAX",
    "fields": "cycles times N and the fields of a segment",
    "min": "the least value of the formula",
    "fractional": "the value for L < 1, instead of the sum",
}
"""The terms of a formula."""


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
    def parse(value: Any) -> Formula:
        """The formula of a TOML value; a number is `base`.  ValueError names a wrong term."""
        if _is_number(value):
            return Formula(base=value, min=min(1.0, value))
        if not isinstance(value, Mapping):
            raise ValueError(f"{shown(value)} is neither a number of cycles nor a formula")
        for name, number in value.items():
            if name not in TERMS:
                hint = did_you_mean(name, TERMS)
                raise ValueError(f"a formula has no term {name!r}: {hint}")
            if not _is_number(number):
                raise ValueError(f"{name} = {shown(number)} is not a number of cycles")
        return Formula(**value)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_MOST <= value <= _MOST
