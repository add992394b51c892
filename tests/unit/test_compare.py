"""Rules for right elements, on values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rvsim.verifier.compare import close, exact, ulp


def wrong(rule: Any, got: Any, expected: Any, dtype: Any) -> bool:
    return bool(rule.wrong(np.array([got], dtype), np.array([expected], dtype))[0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rules_for_what_is_not_finite(dtype: Any) -> None:
    largest = np.finfo(dtype).max
    for rule in (exact, ulp(4), close(rtol=1.0)):
        assert not wrong(rule, np.nan, np.nan, dtype)
        assert wrong(rule, np.nan, 1.0, dtype)
        assert wrong(rule, 1.0, np.nan, dtype)
        assert not wrong(rule, np.inf, np.inf, dtype)
        assert wrong(rule, -np.inf, np.inf, dtype)
        assert wrong(rule, largest, np.inf, dtype)


def test_signs_of_zero() -> None:
    assert wrong(exact, -0.0, 0.0, np.float32)
    assert not wrong(ulp(0), -0.0, 0.0, np.float32)
    assert not wrong(close(), -0.0, 0.0, np.float32)


@pytest.mark.parametrize("bits", [np.float16, np.float32, np.float64])
def test_a_unit_in_the_last_place_is_a_step_across_zero_too(bits: Any) -> None:
    tiny = np.finfo(bits).smallest_subnormal
    assert not wrong(ulp(2), tiny, -tiny, bits)
    assert wrong(ulp(1), tiny, -tiny, bits)
    one = np.array(1.0, bits)
    three = np.nextafter(np.nextafter(np.nextafter(one, 2), 2), 2, dtype=bits)
    assert not wrong(ulp(3), three, one, bits)
    assert wrong(ulp(2), three, one, bits)


def test_an_absolute_distance_is_enough() -> None:
    assert wrong(ulp(1), 1e-8, 0.0, np.float32)
    assert not wrong(ulp(1, atol=1e-7), 1e-8, 0.0, np.float32)


def test_integers() -> None:
    assert wrong(exact, 127, -128, np.int8)
    assert not wrong(ulp(1), 126, 127, np.int8)
    assert wrong(ulp(1), 127, -128, np.int8)


def test_records_are_compared_field_by_field() -> None:
    dtype = np.dtype([("d", np.float16), ("q", np.int8, 2)])
    a = np.array([(1.0, (1, 2)), (np.nan, (3, 4))], dtype)
    b = a.copy()
    assert not exact.wrong(a, b).any()
    b["q"][1, 1] = 5
    assert exact.wrong(a, b).tolist() == [False, True]


def test_integers_are_compared_exactly_and_bools_by_their_byte() -> None:
    assert wrong(close(), 2**53 + 1, 2**53, np.int64)
    assert not wrong(close(atol=1), 2**53 + 1, 2**53, np.int64)
    two = np.array([2], np.uint8).view(np.bool_)
    assert exact.wrong(two, np.array([True])).all()


@pytest.mark.parametrize(
    "rule", [lambda: ulp(-1), lambda: ulp(1, np.nan), lambda: close(rtol=np.nan)]
)
def test_distances_are_not_negative(rule: Any) -> None:
    with pytest.raises(ValueError, match="no distances"):
        rule()


def test_records_have_no_distance() -> None:
    record = np.zeros(1, [("a", np.int8)])
    with pytest.raises(TypeError, match="exactly"):
        ulp(1).wrong(record, record)
