"""Kanata and Chrome traces of rows made at random, in batches that are cut anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim.cost import REASONS
from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.insn.decode import decode
from rvsim.machine import Machine
from rvsim.trace.chrome import ChromeTrace
from rvsim.trace.kanata import KanataTrace
from tests.trace.plain_traces import CYCLE, PlainRow, chrome, kanata, read_chrome

INSNS = [
    (0x00C58533, 4, "add a0, a1, a2", ""),
    (0x0005B503, 4, "ld a0, 0x0(a1)", "load/store unit"),
    (0x02058407, 4, "vle8.v v8, (a1)", "load/store unit"),
    (0x022180D7, 4, "vadd.vv v1, v2, v3", "vector unit"),
    (0x02C58533, 4, "mul a0, a1, a2", "multiplier"),
    (0x02B57553, 4, "fadd.d fa0, fa0, fa1, dyn", "floating-point unit"),
    (0x0C0572D7, 4, "vsetvli t0, a0, e8, m1, ta, ma", ""),
    (0x0000, 2, "unknown 0x0000", ""),
]
PLACES = [0x1000, 0xFFFF_FFFF_FFFF_F000]
quickly = settings(max_examples=60)
MACHINE = Machine(cost="x60")
KINDS = {"kanata": KanataTrace, "chrome": ChromeTrace}

time = st.one_of(st.just(0), st.integers(1, 8).map(lambda n: n * CYCLE), st.integers(0, 90_000))
reason = st.sampled_from([i for i, name in enumerate(REASONS) if name not in ("issue", "fetch")])
drain = st.just(REASONS.index("drain"))
TIMES = ("fetch", "slot", "wait", "start", "done", "lost")
insn = st.fixed_dictionaries(
    {
        "code": st.integers(0, len(INSNS) * len(PLACES) - 1),
        "vl": st.sampled_from([0, 1, 32, 65_536]),
        "addr": st.one_of(st.just(0), st.integers(1, 2**64 - 1)),
        "times": st.one_of(st.just((0,) * len(TIMES)), st.tuples(*[time] * len(TIMES))),
        **dict.fromkeys(("reason", "lost_reason"), st.one_of(reason, drain)),
    }
)


@st.composite
def batches(draw: st.DrawFn) -> npt.NDArray[Any]:
    """The rows of a run: instructions issue in order.

    All that take time issue in whole cycles; some are not accounted for.
    """
    insns = draw(st.lists(insn, min_size=1, max_size=20))
    rows = np.zeros(len(insns), BATCH_DTYPE)
    rows["instret"] = np.arange(len(insns)) + draw(st.sampled_from([0, 9_990, 10**12]))
    now = draw(st.sampled_from([0, 300, 99_990 * CYCLE, 10**12]))
    for row, drawn in zip(rows, insns, strict=True):
        for name in ("code", "vl", "addr", "reason", "lost_reason"):
            row[name] = drawn[name]
        row["size"] = 8 * (drawn["addr"] > 0)
        fetch, slot, wait, start, done, lost = drawn["times"]
        if any(drawn["times"]):
            wait += -(now + fetch + slot + wait) % CYCLE
        now += fetch + slot + wait
        times = fetch, slot, wait, now + start, now + start + done, lost
        for name, value in zip(TIMES, times, strict=True):
            row[name] = value
        row["issue"] = now
        now += lost
    return rows


CODE = [
    decode(word, length, pc + 16 * i) for pc in PLACES for i, (word, length, *_) in enumerate(INSNS)
]


def plain_rows(rows: npt.NDArray[Any]) -> list[PlainRow]:
    found = []
    for row in rows:
        _, _, label, unit = INSNS[row["code"] % len(INSNS)]
        pc = CODE[row["code"]].pc
        numbers = {name: int(row[name]) for name in ("instret", "vl", "addr", "size", "issue")}
        times = {
            name: int(row[name]) for name in ("start", "done", "fetch", "slot", "wait", "lost")
        }
        names = {name: REASONS[row[name]] for name in ("reason", "lost_reason")}
        found.append(PlainRow(pc=pc, label=label, unit=unit, **numbers, **times, **names))
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuts") / "trace"


def write(kind: str, path: Path, rows: npt.NDArray[Any], cuts: list[int]) -> str:
    trace = KINDS[kind](str(path), MACHINE)
    for part in np.split(rows, sorted(cuts)):
        trace.batch(Batch(part, CODE))
    trace.close()
    return path.read_text()


@pytest.mark.parametrize("kind", KINDS)
@quickly
@given(rows=batches(), cuts=st.one_of(st.lists(st.integers(0, 20)), st.just([*range(20)])))
def test_where_batches_are_cut_does_not_matter(
    kind: str, path: Path, rows: npt.NDArray[Any], cuts: list[int]
) -> None:
    assert write(kind, path, rows, cuts) == write(kind, path, rows, [])


@quickly
@given(rows=batches())
def test_kanata_is_that_of_plain_python(path: Path, rows: npt.NDArray[Any]) -> None:
    assert write("kanata", path, rows, [7, 8]) == kanata(plain_rows(rows))


@quickly
@given(rows=batches())
def test_chrome_is_that_of_plain_python(path: Path, rows: npt.NDArray[Any]) -> None:
    assert read_chrome(write("chrome", path, rows, [7, 8])) == chrome(plain_rows(rows))
