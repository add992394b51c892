"""Columns of text against Python's own formatting."""

from __future__ import annotations

import platform
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.trace.text_columns import (
    Column,
    columns,
    cycles,
    decimal,
    hexadecimal,
    joined,
    joined_by_row,
)

FAULTS = """
import resource
import numpy as np
from rvsim.trace.text_columns import columns, decimal, joined, keep_memory
keep_memory()
at = np.arange(4096)
for _ in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    joined([(at, columns(decimal(at), 250 * b"a", *[columns(decimal(at), b"b")] * 9))])
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""Prints how often a page of memory came from the system for the last of many texts."""

naturals = st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 30_000), st.just(0))
words = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 70_000), st.just(0))
texts = st.lists(st.binary(max_size=9).map(lambda text: text.replace(b"\0", b"")), max_size=8)


def plain(column: Column) -> list[str]:
    return [text.replace(b"\0", b"").decode() for text in column.tolist()]


@given(st.lists(naturals))
def test_decimal(values: list[int]) -> None:
    assert plain(decimal(np.array(values, np.int64))) == [str(value) for value in values]


@given(st.lists(words))
def test_hexadecimal(values: list[int]) -> None:
    assert plain(hexadecimal(np.array(values, np.uint64))) == [f"{value:x}" for value in values]


@given(st.lists(st.one_of(naturals, naturals.map(lambda time: time // 256 * 256))))
def test_cycles_are_exact(times: list[int]) -> None:
    found = plain(cycles(np.array(times, np.int64), whole=b".0"))
    assert [Decimal(text) * 256 for text in found] == times
    assert all(text.endswith(".0") or not text.endswith("0") for text in found)
    assert plain(cycles(np.array(times, np.int64))) == [text.removesuffix(".0") for text in found]


@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_lines_of_groups_stand_at_their_places(groups: list[list[bytes]], data: Any) -> None:
    places = iter(data.draw(st.permutations(range(sum(map(len, groups))))))
    expected, lines = {}, []
    for group in groups:
        at = [next(places) for _ in group]
        expected |= dict(zip(at, group, strict=True))
        lines.append((np.array(at, np.intp), columns(b"<", np.array(group, "S9"), b">")))
    assert joined(lines) == b"".join(b"<%b>" % text for _, text in sorted(expected.items()))


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=9))
def test_rows_have_the_lines_of_all_groups_in_turn(present: list[list[bool]]) -> None:
    chosen = np.array(present, bool).reshape(-1, 3)
    rows = [np.flatnonzero(chosen[:, group]) for group in range(3)]
    lines = [(at, columns(b"%d:" % group, decimal(at), b"\n")) for group, at in enumerate(rows)]
    expected = [
        f"{group}:{row}\n"
        for row, groups in enumerate(present)
        for group in range(3)
        if groups[group]
    ]
    assert joined_by_row(len(present), lines).decode() == "".join(expected)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep it or not")
def test_memory_of_lines_is_kept_for_the_next() -> None:
    faults = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True)
    assert (faults.stderr, int(faults.stdout) < 100) == ("", True)


def test_columns_have_as_many_lines() -> None:
    with pytest.raises(ValueError, match="too many values"):
        columns(np.array([b"a"]), np.array([b"a", b"b"]))
