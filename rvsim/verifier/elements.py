"""Elements of arrays that break kernels: extremes, ties, NaNs, and what else hides in random bytes.

An array is drawn as bytes, which is fast and shrinks to zeros; here bytes become elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Style = Literal["palette", "mixed", "raw"]

STYLES: Final[tuple[Style, ...]] = ("palette", "mixed", "raw")
"""Elements of the palette only, one in four of them, or none: any bytes."""

_ONE_IN: Final = 4
_NAN_PAYLOAD: Final = 5


class Elements(Protocol):
    """Makes elements of a dtype of unsigned numbers of the same size, 0 of 0.

    `others` are values of other arguments by their names.
    """

    @property
    def needs(self) -> tuple[str, ...]: ...

    def __call__(self, raw: Array, dtype: np.dtype[Any], others: Mapping[str, Any]) -> Array: ...


@dataclass(frozen=True, slots=True)
class Floats:
    """Floating-point numbers from `low` to `high`; NaNs and infinities if they are allowed."""

    low: float | None = None
    high: float | None = None
    nan: bool = True
    inf: bool = True
    needs: tuple[str, ...] = ()

    def __call__(self, raw: Array, dtype: np.dtype[Any], others: Mapping[str, Any]) -> Array:
        values = raw.view(dtype)
        with np.errstate(all="ignore"):
            wide = values.astype(np.float64)
            keep = np.ones(values.shape, np.bool_)
            if not self.nan:
                keep &= ~np.isnan(wide)
            if not self.inf:
                keep &= ~np.isinf(wide)
            low = -np.inf if self.low is None else self.low
            high = np.inf if self.high is None else self.high
            keep &= np.isnan(wide) | ((wide >= low) & (wide <= high))
        finite = low > -np.inf and high < np.inf
        share = raw.astype(np.float64) / float(np.iinfo(raw.dtype).max)
        inside = low + share * (high - low) if finite else np.full(values.shape, max(low, 0.0))
        return np.where(keep, values, np.clip(inside, low, high).astype(dtype))


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers from `low` to `high`, both included; those that are outside wrap around."""

    low: int
    high: int
    needs: tuple[str, ...] = ()

    def __call__(self, raw: Array, dtype: np.dtype[Any], others: Mapping[str, Any]) -> Array:
        span = self.high - self.low + 1
        nearest_zero = min(max(self.low, 0), self.high)
        offsets = raw.astype(np.uint64) % np.uint64(span) if span < 1 << 64 else raw
        values = (offsets.astype(object) + (nearest_zero - self.low)) % span + self.low
        return values.astype(dtype)


@dataclass(frozen=True, slots=True)
class Halfway:
    """Values that lie halfway between integers once they are multiplied by another argument.

    They show how a kernel rounds when it narrows: `to` names the argument with the scale, or its
    field as in ``to="params.scale"``, and `narrow` is the width of the result in bits, beyond which
    a quarter of the values lie, so that they saturate.
    """

    to: str
    narrow: int = 8

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.to.split(".")[0],)

    def __call__(self, raw: Array, dtype: np.dtype[Any], others: Mapping[str, Any]) -> Array:
        scale = float(_field(others, self.to))
        span = (1 << self.narrow) + (1 << self.narrow - 1)
        steps = (raw.astype(np.int64) % span).astype(np.float64)
        signs = np.where(raw.astype(np.int64) // span & 1, -1.0, 1.0)
        with np.errstate(all="ignore"):
            ties = signs * (steps / 2) / scale
            return np.where(raw == 0, 0.0, ties).astype(dtype)


def _field(others: Mapping[str, Any], path: str) -> Any:
    name, _, field = path.partition(".")
    value = others[name]
    if field:
        return getattr(value, field)
    if not isinstance(value, int | float | np.generic):  # a structure with one float in it
        floats = [
            v for v in (getattr(value, n) for n, *_ in value._fields_) if isinstance(v, float)
        ]
        if len(floats) != 1:
            raise TypeError(f"halfway(to={path!r}): write which field, as in {path}.scale")
        return floats[0]
    return value


def elements_of(
    raw: bytes,
    dtype: np.dtype[Any],
    style: Style,
    elements: Elements | None,
    others: Mapping[str, Any],
) -> Array:
    """An array of elements made of `raw`: all zeros if that is.

    >>> elements_of(bytes(4), np.dtype(np.int16), "palette", None, {})
    array([0, 0], dtype=int16)
    """
    if dtype.fields is not None or dtype.itemsize not in (1, 2, 4, 8):
        return np.frombuffer(raw, dtype).copy()
    bits = np.frombuffer(raw, f"u{dtype.itemsize}")
    if elements is not None and not isinstance(elements, Floats):
        return elements(bits, dtype, others)
    chosen = _chosen(bits, dtype, style)
    if elements is not None:
        return elements(chosen, dtype, others)
    found: Array = chosen != 0 if dtype.kind == "b" else chosen.view(dtype)
    return found


def _chosen(bits: Array, dtype: np.dtype[Any], style: Style) -> Array:
    if style == "raw":
        return bits.copy()
    palette = _palette(dtype)
    picked: Array = palette[(bits % bits.dtype.type(min(len(palette), 255))).astype(np.intp)]
    if style == "palette":
        return picked
    rest = (bits >> bits.dtype.type(2)).astype(bits.dtype)
    return np.where(
        bits % _ONE_IN == 1, palette[(rest % min(len(palette), 63)).astype(np.intp)], bits
    )


@cache
def _palette(dtype: np.dtype[Any]) -> Array:
    """Bits of values that break kernels, 0 first."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if dtype.kind in "iub":
        return np.array(_integers(8 * dtype.itemsize), unsigned)
    return np.array(_float_bits(dtype), unsigned)


def _integers(width: int) -> list[int]:
    """0, 1, -1, extremes, and what saturates or changes sign when it is narrowed or squared."""
    ones = (1 << width) - 1
    found = [0, 1, ones, ones >> 1, (ones >> 1) + 1, 2, 3, ones - 1]
    for narrow in (4, 7, 8, 15, 16, 31, 32):
        if narrow < width:
            power = 1 << narrow
            found += [power - 1, power, power + 1, -power & ones, -power - 1 & ones]
    return list(dict.fromkeys(found))


def _float_bits(dtype: np.dtype[Any]) -> list[int]:
    """0, 1, signed zero, infinities, quiet and signalling NaNs, subnormals, and ties."""
    width = 8 * dtype.itemsize
    one, inf = (_bits(dtype, value) for value in (1.0, np.inf))
    sign, significand = 1 << width - 1, _significand(dtype)
    quiet = 1 << significand - 1
    positive = [one, 1, quiet - 1 << 1 | 1, 1 << significand, inf - 1, inf]
    positive += [inf | quiet, inf | quiet | _NAN_PAYLOAD, inf | 1]
    positive += [_bits(dtype, v) for v in (0.5, 1.5, 2.5, 3.5, 0.1, 100.0, 127.5, 240.0)]
    positive += [one + 1, one - 1]
    return [0, *dict.fromkeys(p for each in positive for p in (each, each | sign)), sign]


def _significand(dtype: np.dtype[Any]) -> int:
    """Stored bits of the significand: above them the exponent of infinity is all ones."""
    one, two = _bits(dtype, 1.0), _bits(dtype, 2.0)
    return (two - one).bit_length() - 1


def _bits(dtype: np.dtype[Any], value: float) -> int:
    return int(np.array([value]).astype(dtype).view(f"u{dtype.itemsize}")[0])
