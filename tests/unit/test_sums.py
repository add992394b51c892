"""Results of unordered sums, against all orders that fractions can be added in."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim.verifier.sums import Sum

SIGNIFICAND, LOWEST = 24, -149  # of binary32


def rounded(exact: Fraction) -> Fraction:
    """To binary32, ties to even; no overflow."""
    if not exact:
        return exact
    exponent = 0
    size = abs(exact)
    while size >= 2:
        size, exponent = size / 2, exponent + 1
    while size < 1:
        size, exponent = size * 2, exponent - 1
    unit = Fraction(2) ** max(exponent - SIGNIFICAND + 1, LOWEST)
    return round(exact / unit) * unit


def every_order(terms: list[Fraction], *, fused: bool) -> set[Fraction]:
    """All results of additions that each round once; a fused term may enter unrounded."""
    if len(terms) == 1:
        return {rounded(terms[0])}
    found = set()
    rest = terms[1:]
    for size in range(len(rest)):
        for chosen in combinations(range(len(rest)), size):
            a = [terms[0], *(rest[i] for i in chosen)]
            b = [rest[i] for i in range(len(rest)) if i not in chosen]
            left, right = every_order(a, fused=fused), every_order(b, fused=fused)
            found |= {rounded(x + y) for x in left for y in right}
            if fused and len(a) == 1:
                found |= {rounded(a[0] + y) for y in right}
            if fused and len(b) == 1:
                found |= {rounded(x + b[0]) for x in left}
    return found


NUMBERS = st.one_of(
    st.integers(-9, 9).map(float),
    st.floats(-(2.0**60), 2.0**60, width=32),
    st.sampled_from([1e8, -1e8, 16777216.0, 1.0, 2**-24, 3 * 2**-25, 2**-149]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=5), st.booleans(), st.data())
def test_exactly_what_some_order_gives_is_right(
    numbers: list[float], fused: bool, data: st.DataObject
) -> None:
    if fused:  # products of two numbers of binary32 are exact in binary64
        numbers = [x * float(np.float32(1.0000001)) for x in numbers]
    exact = [Fraction(x) for x in numbers]
    leaves = exact if fused else [rounded(x) for x in exact]
    possible = every_order(leaves, fused=fused) | {rounded(sum(leaves, Fraction(0)))}
    total = Sum(np.array(numbers), 0, np.float32, fused=fused)
    for result in possible:
        assert not total.wrong(np.float32(float(result)))
    near = np.nextafter(
        np.float32(float(data.draw(st.sampled_from(sorted(possible))))), np.float32(np.inf)
    )
    assert bool(total.wrong(near)) == (Fraction(float(near)) not in possible)


@pytest.mark.parametrize(("result", "right"), [(1.0, 1), (2.0, 1), (0.0, 1), (3.0, 0), (-1.0, 0)])
def test_four_numbers_of_which_two_cancel(result: float, right: int) -> None:
    """Case C14."""
    total = Sum(np.array([1e8, 1.0, -1e8, 1.0]), 0, np.float32)
    assert bool(total.wrong(np.float32(result))) != bool(right)


def test_many_numbers_have_a_bound() -> None:
    rng = np.random.default_rng(1)
    terms = rng.standard_normal((3, 1000))
    total = Sum(terms, 1, np.float32)
    tree = terms.astype(np.float32).sum(axis=1, dtype=np.float32)
    assert not total.wrong(tree).any()
    far = tree + np.float32(0.1)
    assert total.wrong(far).all()
    assert total.wrong(np.float32([np.nan, np.inf, 0.0])).all()


@pytest.mark.parametrize(
    ("terms", "right", "wrong"),
    [
        ([np.inf, 1.0], np.inf, 1.0),
        ([-np.inf, 1.0], -np.inf, np.nan),
        ([np.inf, -np.inf], np.nan, np.inf),
        ([np.nan, 1.0], np.nan, 1.0),
    ],
)
def test_terms_that_are_not_finite(terms: list[float], right: float, wrong: float) -> None:
    total = Sum(np.array(terms), 0, np.float32)
    assert not total.wrong(np.float32(right))
    assert total.wrong(np.float32(wrong))


def test_sums_under_directed_rounding_have_the_bound_alone() -> None:
    numbers = np.array([1.0, 2**-24, 2**-24])
    down = np.float32(1.0)
    up = np.nextafter(np.nextafter(down, np.float32(2)), np.float32(2))
    total = Sum(numbers, 0, np.float32)
    assert total.wrong(up)
    assert not total.wrong(up, directed=True)
    assert total.wrong(np.float32(1.1), directed=True)


def test_fused_terms_of_float64_are_no_exact_products() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 100, 4))
    total = Sum(a * b, 1, np.float64, fused=True)
    for row in range(100):
        result = Fraction(0)
        for x, y in zip(a[row], b[row], strict=True):
            result = Fraction(float(result + Fraction(x) * Fraction(y)))
        assert not total.wrong(np.where(np.arange(100) == row, float(result), total.one()))[row]


def test_partial_sums_that_may_overflow_say_nothing() -> None:
    largest = float(np.finfo(np.float32).max)
    total = Sum(np.array([largest, largest, -largest]), 0, np.float32)
    for result in (largest, np.inf, -np.inf, np.nan):
        assert not total.wrong(np.float32(result))


def test_a_start_and_an_axis() -> None:
    total = Sum(np.ones((4, 2)), 0, np.float32, start=np.array([10.0, 20.0]))
    assert total.shape == (2,)
    assert total.wrong(np.float32([14.0, 23.0])).tolist() == [False, True]
    assert total.one().tolist() == [14.0, 24.0]


def test_no_terms_are_the_start() -> None:
    total = Sum(np.zeros((2, 0)), 1, np.float32, start=3.0)
    assert total.wrong(np.float32([3.0, 0.0])).tolist() == [False, True]


def test_results_of_another_shape_and_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        Sum(np.ones((4, 2)), 0, np.float32).wrong(np.float32([1.0]))
    with pytest.raises(TypeError, match="int32"):
        Sum(np.ones(4), 0, np.int32)
