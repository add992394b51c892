"""Ranges of numbers do what sets of numbers do."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rvsim.hart.areas import Areas

LARGEST = 24
ends = st.integers(0, LARGEST)
changes = st.lists(st.tuples(st.booleans(), ends, ends), max_size=20)


def numbers(ranges: list[tuple[int, int]]) -> set[int]:
    return {n for start, stop in ranges for n in range(start, stop)}


@given(changes, ends, ends, st.integers(1, LARGEST))
def test_ranges_are_a_set(
    operations: list[tuple[bool, int, int]], start: int, stop: int, size: int
):
    areas, model = Areas(), set()
    for adds, first, last in operations:
        if adds:
            areas.add(first, last)
            model |= set(range(first, last))
        else:
            areas.remove(first, last)
            model -= set(range(first, last))
    parts = areas.parts(0, LARGEST)
    assert numbers(parts) == model
    assert areas.total == len(model)
    assert all(a < b for a, b in parts)
    assert all(one[1] < two[0] for one, two in pairwise(parts))
    if start <= stop:
        span = set(range(start, stop))
        assert numbers(areas.parts(start, stop)) == span & model
        assert numbers(areas.gaps(start, stop)) == span - model
        assert areas.count(start, stop) == len(span & model)
        assert areas.covers(start, stop) == (span <= model)
    fits = [a for a in range(start, stop - size + 1) if not set(range(a, a + size)) & model]
    assert areas.highest_gap(start, stop, size) == (max(fits) if fits else None)
