"""Sums whose order is the kernel's own: which results are right.

Right is what any order of additions gives, each rounded to the dtype, and what wider intermediates
give: the exact sum, rounded once.  Additions round to nearest, ties to even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Marks = npt.NDArray[np.bool_]

FEW: Final = 8
"""Numbers of which all orders are tried."""

_MOST_RESULTS: Final = 1 << 14
"""Different results of a part of the numbers; where there are more, the bound decides."""

_INFINITY: Final = np.inf

_UNITS: Final = {
    np.dtype(np.float16): (2.0**-11, 2.0**-24),
    np.dtype(np.float32): (2.0**-24, 2.0**-149),
    np.dtype(np.float64): (2.0**-53, 2.0**-1074),
}
"""Half an ulp of 1, and the least number, by dtype."""

_ROUNDED_UP: Final = 1 + Fraction(1, 1 << 40)
"""More than what the bound loses by being computed in float64."""


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The sum of `terms` along an axis, and of `start`, in any order, as a result of a reference.

    `terms` are float64 numbers, exact products for instance.  Those that a kernel rounds to `dtype`
    before it adds them are rounded here; with `fused` they enter unrounded, as in a fused
    multiply-add.

    Accepted is what adding one after another gives, pairwise addition, the exact sum rounded once,
    any order of up to 8 numbers, and for more numbers what is within the error that any order may
    have: ((1 + u)^n - 1) * Σ|x| for n numbers, where u is half an ulp of 1 (Higham, Accuracy and
    Stability of Numerical Algorithms, 4.2), and u * |x| more for each unfused term.  That error
    alone decides for fused terms of float64, which are no exact products, and with 2 * u under
    directed rounding.  If a term is not finite the result is what IEEE 754 says; if partial sums
    may overflow, any result is accepted.

    >>> total = Sum(np.array([1e8, 1, -1e8, 1]), 0, np.float32)
    >>> [bool(total.wrong(np.float32(x))) for x in (1.0, 2.0, 0.0, 3.0)]
    [False, False, False, True]
    """

    terms: npt.ArrayLike
    axis: int = -1
    dtype: npt.DTypeLike = np.float32
    start: npt.ArrayLike = 0.0
    fused: bool = False
    _rows: Array = field(init=False, repr=False)
    _shape: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in _UNITS:
            raise TypeError(
                f"a Sum has float16, float32 or float64 results, and none of {np.dtype(self.dtype)}"
            )
        terms = np.moveaxis(np.asarray(self.terms, np.float64), self.axis, -1)
        start = np.broadcast_to(np.asarray(self.start, np.float64), terms.shape[:-1])
        rows = terms.reshape(-1, terms.shape[-1]) if terms.size else terms.reshape(start.size, 0)
        with np.errstate(all="ignore"):
            if not self.fused:
                rows = rows.astype(self.dtype).astype(np.float64)
            first = start.reshape(-1, 1).astype(self.dtype).astype(np.float64)
        object.__setattr__(self, "_rows", np.concatenate([first, rows], axis=1))
        object.__setattr__(self, "_shape", start.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the results."""
        return self._shape

    def wrong(self, got: npt.ArrayLike, *, directed: bool = False) -> Marks:
        """Marks the elements that no order gives; `directed` if frm is not to nearest even.

        Raises ValueError if they are not as many as the sums.
        """
        results = np.asarray(got, np.dtype(self.dtype))
        if results.shape != self._shape:
            raise ValueError(f"{results.shape} results for sums of the shape {self._shape}")
        flat = results.reshape(-1).astype(np.float64)
        with np.errstate(all="ignore"):
            right = np.zeros(flat.shape, np.bool_) if directed else self._common(flat)
            for row in np.flatnonzero(~right):
                right[row] = self._is_possible(self._rows[row], flat[row], directed)
        return ~right.reshape(self._shape)

    def one(self) -> Array:
        """What adding one after another gives, for messages."""
        with np.errstate(all="ignore"):
            found: Array = self._sequential().reshape(self._shape).astype(self.dtype)
        return found

    # -- orders that most kernels have, for all sums at once

    def _common(self, got: Array) -> Marks:
        found = np.asarray(got == self._sequential())
        found |= got == self._pairwise(self._rows)
        return found | (np.isnan(got) & np.isnan(self._sequential()))

    def _sequential(self) -> Array:
        total = self._rows[:, 0]
        for column in range(1, self._rows.shape[1]):
            total = self._add(total, self._rows[:, column])
        return total

    def _pairwise(self, rows: Array) -> Array:
        count = rows.shape[1]
        if count == 1:
            return self._rounded(rows[:, 0])
        return self._add(
            self._pairwise(rows[:, : count // 2]), self._pairwise(rows[:, count // 2 :])
        )

    def _rounded(self, values: Array) -> Array:
        return values.astype(self.dtype).astype(np.float64)

    def _add(self, a: Array, b: Array) -> Array:
        """The sum, rounded once: first to odd, which the rounding to fewer bits does not see."""
        total = a + b
        if np.dtype(self.dtype) == np.float64:
            return total
        back = total - a
        error = (a - (total - back)) + (b - back)
        bits = total.view(np.int64) if total.ndim else np.asarray(total).view(np.int64)
        is_even = (bits & 1) == 0
        away = np.where((error > 0) == (total > 0), 1, -1)
        inexact = np.isfinite(total) & (error != 0) & is_even
        return self._rounded((bits + np.where(inexact, away, 0)).view(np.float64))

    # -- what any order may give, for one sum

    def _is_possible(self, numbers: Array, got: float, directed: bool) -> bool:
        if not np.isfinite(numbers).all():
            return _is_not_finite(numbers, got)
        largest = float(np.finfo(self.dtype).max)
        size = float(np.abs(numbers).sum())
        if size > largest / 2:
            return True
        if not np.isfinite(got):
            return False
        used = numbers[numbers != 0]
        exact = sum((Fraction(x) for x in used.tolist()), Fraction(0))
        if abs(Fraction(got) - exact) > self._bound(used.size, size, directed):
            return False
        if used.size > FEW or directed or self._has_rounded_products or got == self._once(exact):
            return True
        possible = self._all_orders(used)
        return possible is None or got in possible

    def _once(self, exact: Fraction) -> float:
        near = float(exact)
        error = exact - Fraction(near)
        total = np.array([near])
        tail = np.array([np.copysign(np.finfo(np.float64).tiny, 1 if error > 0 else -1)])
        return float(self._add(total, tail if error else np.zeros(1))[0])

    def _all_orders(self, numbers: Array) -> set[float] | None:
        """All results by subsets; None if they become too many."""
        count = numbers.size
        if not count:
            return {0.0}
        known: dict[int, Array] = {
            1 << i: np.array([float(self._rounded(numbers[i : i + 1])[0])]) for i in range(count)
        }
        leaves = {1 << i: numbers[i] for i in range(count)} if self.fused else {}
        for subset in range(1, 1 << count):
            if subset in known:
                continue
            results = []
            part = (subset - 1) & subset
            while part > subset ^ part:
                other = subset ^ part
                results += [self._sums(known[part], known[other])]
                for leaf, rest in ((part, other), (other, part)):
                    if leaf in leaves:
                        results.append(self._sums(np.array([leaves[leaf]]), known[rest]))
                part = (part - 1) & subset
            known[subset] = np.unique(np.concatenate(results))
            if known[subset].size > _MOST_RESULTS:
                return None
        return set(known[(1 << count) - 1].tolist())

    def _sums(self, a: Array, b: Array) -> Array:
        first, second = np.meshgrid(a, b)
        return self._add(first.ravel(), second.ravel())

    @property
    def _has_rounded_products(self) -> bool:
        """Whether fused terms are not what enters a fused multiply-add."""
        return self.fused and np.dtype(self.dtype) == np.float64

    def _bound(self, count: int, size: float, directed: bool) -> Fraction:
        u, least = _UNITS[np.dtype(self.dtype)]
        u *= 1 + directed
        relative = Fraction(math.expm1(count * math.log1p(u))) * _ROUNDED_UP
        exact_terms = self.fused and not self._has_rounded_products
        products = Fraction(0 if exact_terms else u)
        return (relative + products) * Fraction(size) + count * Fraction(least)


def _is_not_finite(numbers: Array, got: float) -> bool:
    if np.isnan(numbers).any() or {_INFINITY, -_INFINITY} <= set(numbers.tolist()):
        return bool(np.isnan(got))
    return bool(got == numbers[np.isinf(numbers)][0])
