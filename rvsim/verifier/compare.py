"""When an element is right: exactly, within some units in the last place, or closely.

In all of them a NaN is right where a NaN is expected, whatever its bits: RISC-V makes the canonical
one, and references make any.  An infinity is right only where the same one is expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Marks = npt.NDArray[np.bool_]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are floating-point numbers, those of `ml_dtypes` included."""
    return dtype.kind == "f" or (
        dtype.kind == "V" and dtype.fields is None and "float" in dtype.name
    )


@dataclass(frozen=True, slots=True)
class Exact:
    """The same bits: -0.0 is not 0.0.

    >>> exact.wrong(np.array([0.0, np.nan]), np.array([-0.0, -np.nan])).tolist()
    [True, False]
    """

    def wrong(self, got: Array, expected: Array) -> Marks:
        """Marks the elements that are wrong; both arrays have one dtype and shape."""
        if got.dtype.fields is not None:
            parts = [self.wrong(got[name], expected[name]) for name in got.dtype.names or ()]
            inner = [tuple(range(got.ndim, part.ndim)) for part in parts]
            each = [part.any(axis=axes) for part, axes in zip(parts, inner, strict=True)]
            return np.asarray(np.logical_or.reduce(each))
        if not is_float(got.dtype):
            return np.asarray(_bits(got) != _bits(expected))
        return np.asarray((_bits(got) != _bits(expected)) & ~_both_nan(got, expected))

    def __str__(self) -> str:
        return "the same bits"


@dataclass(frozen=True, slots=True)
class Ulp:
    """At most `n` units in the last place away, or `atol`; -0.0 and 0.0 are the same.

    >>> one = np.array([1.0], np.float32)
    >>> [Ulp(n).wrong(np.nextafter(one, 2, dtype=np.float32), one).tolist() for n in (0, 1)]
    [[True], [False]]
    """

    n: int
    atol: float = 0.0

    def __post_init__(self) -> None:
        if self.n < 0 or not self.atol >= 0:
            raise ValueError(f"{self.n} ulp and atol={self.atol} are no distances")

    def wrong(self, got: Array, expected: Array) -> Marks:
        """Marks the elements that are wrong; both arrays have one dtype and shape."""
        _check_numbers(got)
        if not is_float(got.dtype):
            return np.asarray(abs(got.astype(object) - expected.astype(object)) > self.n)
        near = _distance(got, expected) <= np.uint64(self.n)
        if self.atol:
            near |= _difference(got, expected) <= self.atol
        return ~_agree(got, expected, near)

    def __str__(self) -> str:
        return f"within {self.n} ulp" + (f" or {self.atol}" if self.atol else "")


@dataclass(frozen=True, slots=True)
class Close:
    """At most `atol` + `rtol` * |expected| away.

    >>> Close(rtol=0.1).wrong(np.array([1.05, 1.2]), np.array([1.0, 1.0])).tolist()
    [False, True]
    """

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rtol >= 0 and self.atol >= 0):
            raise ValueError(f"rtol={self.rtol} and atol={self.atol} are no distances")

    def wrong(self, got: Array, expected: Array) -> Marks:
        """Marks the elements that are wrong; both arrays have one dtype and shape."""
        _check_numbers(got)
        if not is_float(got.dtype):
            distance = abs(got.astype(object) - expected.astype(object))
            return np.asarray(distance > self.atol + self.rtol * abs(expected.astype(object)))
        with np.errstate(all="ignore"):
            room = self.atol + self.rtol * np.abs(expected.astype(np.float64))
            near = _difference(got, expected) <= room
        return ~_agree(got, expected, near)

    def __str__(self) -> str:
        return f"within {self.atol} + {self.rtol} * |expected|"


exact: Final = Exact()


def ulp(n: int, atol: float = 0.0) -> Ulp:
    """At most `n` units in the last place, or `atol`, from what is expected."""
    return Ulp(n, atol)


def close(rtol: float = 0.0, atol: float = 0.0) -> Close:
    """At most `atol` + `rtol` * |expected| from what is expected."""
    return Close(rtol, atol)


def _check_numbers(array: Array) -> None:
    if array.dtype.fields is not None:
        raise TypeError(f"elements of {array.dtype} have no distance: compare them exactly")


def _bits(array: Array) -> Array:
    found: Array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return found


def _both_nan(got: Array, expected: Array) -> Marks:
    return np.asarray(np.isnan(got) & np.isnan(expected))


def _agree(got: Array, expected: Array, near: Marks) -> Marks:
    """Finite elements have to be near, others the same."""
    finite = np.isfinite(got) & np.isfinite(expected)
    return np.asarray(np.where(finite, near, _both_nan(got, expected) | (got == expected)))


def _difference(got: Array, expected: Array) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):
        return np.abs(got.astype(np.float64) - expected.astype(np.float64))


def _distance(got: Array, expected: Array) -> npt.NDArray[np.uint64]:
    """Representable numbers from one to the other; both zeros are one number."""
    a, b = _ordered(got), _ordered(expected)
    return np.where(a > b, a - b, b - a)


def _ordered(array: Array) -> npt.NDArray[np.uint64]:
    """Numbers in the order of the floats that they stand for, a step from each to the next."""
    bits = _bits(array).astype(np.uint64)
    sign = np.uint64(1 << 8 * array.dtype.itemsize - 1)
    magnitude = bits & (sign - np.uint64(1))
    return np.where(bits & sign, sign - magnitude, sign + magnitude)
