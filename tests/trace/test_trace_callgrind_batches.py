"""Profiles of any run, cut into any batches, against a model that takes one row at a time."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.callgrind_model import Code, Kind, Model, Row
from tests.trace.callgrind_reader import Profile, read_callgrind
from tests.trace.callgrind_rows import STARTS, UNNAMED, code_at, function_at, profile_text

PLACES = [start + 4 * n for start in (*STARTS.values(), UNNAMED) for n in range(4)]
KINDS: list[Kind] = ["other", "other", "call", "call", "return", "return", "indirect"]
REASONS = ["pair", "mem:l2", "raw:alu", "vsetvl"]


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """Rows of a program that goes anywhere, mostly to where programs go."""
    kinds = dict(
        zip(PLACES, draw(st.lists(st.sampled_from(KINDS), min_size=20, max_size=20)), strict=True)
    )
    pc = draw(st.sampled_from(PLACES))
    backs = [pc]
    rows = []
    for way, where, costs, seldom in draw(st.lists(STEPS, min_size=1, max_size=50)):
        code = code_at(pc, kinds[pc])
        rows.append(row_of(code, costs, seldom))
        if code.kind == "call" and pc + 4 in kinds:
            backs.append(pc + 4)
        beginnings = [*STARTS.values(), UNNAMED]
        ways = [pc + 4, backs[-1 - where % len(backs)], beginnings[where % 5], PLACES[where]]
        pc = ways[way] if ways[way] in kinds else PLACES[where]
    return rows


STEPS = st.tuples(
    st.integers(0, 3), st.integers(0, 19), st.integers(0, 4**6 - 1), st.integers(0, 99)
)
"""For each row: how it goes on, and where; its costs; what is not often so."""


def row_of(code: Code, costs: int, seldom: int) -> Row:
    slot, fetch, lost, wait, why, _ = (costs >> 2 * n & 3 for n in range(6))
    charged = PLACES[costs % len(PLACES)] if 40 <= seldom < 80 else None
    gap, trapped = seldom in range(80, 88), seldom in range(88, 95)
    return Row(code, slot, fetch, wait, REASONS[why], charged, lost, gap, trapped)


def written(rows: list[Row], cuts: set[int] | None = None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return profile_text(Path(folder) / "out", rows, cuts or ())


def named(name: str, again: bool) -> str:
    return name + "'2" * again


def own(profile: Profile) -> dict[object, Counter[str]]:
    return {(place.name, pc): costs for (place, pc), costs in profile.own.items() if costs}


@settings(max_examples=100)
@given(runs())
def test_a_profile_says_what_the_rules_say(rows: list[Row]) -> None:
    profile = read_callgrind(written(rows))
    model = Model({pc: function_at(pc) for pc in PLACES}).run(rows)
    events = {event: event.replace(":", "_") for event in model.total}

    def renamed(costs: Counter[str]) -> Counter[str]:
        return Counter({events[event]: amount for event, amount in costs.items() if amount})

    assert profile.summary == renamed(model.total)
    assert own(profile) == {
        (named(*function), pc): renamed(costs)
        for (function, pc), costs in model.own.items()
        if +costs
    }
    keys = {
        call: (named(*call.caller), call.site, named(*call.callee), call.target)
        for call in model.calls
    }
    found = {
        (call.caller.name, call.site, call.callee.name, call.target): call for call in profile.calls
    }
    assert {key: profile.counts[call] for key, call in found.items()} == {
        keys[call]: count for call, count in model.counts.items()
    }
    assert {key: profile.calls[call] for key, call in found.items()} == {
        keys[call]: renamed(costs) for call, costs in model.calls.items()
    }


@settings(max_examples=60)
@given(runs(), st.sets(st.integers(0, 40)))
def test_a_profile_does_not_depend_on_how_rows_are_cut_into_batches(
    rows: list[Row], cuts: set[int]
) -> None:
    assert written(rows, {cut for cut in cuts if cut <= len(rows)}) == written(rows)
