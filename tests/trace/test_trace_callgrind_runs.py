"""Profiles of programs that ran: their calls, and what callgrind_annotate makes of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rvsim.machine import Machine
from rvsim.perf import find_region
from rvsim.toolchain import build
from rvsim.trace.selection import Selection, Window
from rvsim.trace.session import Traces, Wanted
from tests.trace.callgrind_annotate import annotate, printed
from tests.trace.callgrind_reader import Profile, read_callgrind
from tools.golden_traces import GOLDENS, TRACES

SOURCE = """\
int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int odd(int n);
int even(int n) { return n == 0 ? 1 : odd(n - 1); }
int odd(int n) { return n == 0 ? 0 : even(n - 1); }
int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
int last(int n) { __attribute__((musttail)) return fib(n); }
int main(void) { return fib(10) + even(51) + deep(100) + last(5) != 55 + 0 + 100 + 5; }
"""

AS_VALGRIND_COUNTS = {
    ("main", "fib"): 1,
    ("main", "even"): 1,
    ("main", "deep"): 1,
    ("main", "last"): 1,
    ("last", "fib"): 1,
    ("fib", "fib'2"): 2 + 2,
    ("fib'2", "fib'2"): 174 + 12,
    ("even", "odd"): 1,
    ("odd", "even'2"): 1,
    ("even'2", "odd'2"): 25,
    ("odd'2", "even'2"): 24,
    ("deep", "deep'2"): 1,
    ("deep'2", "deep'2"): 99,
}
"""Calls in the same program for x86, by Valgrind 3.19."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("callgrind")
    (folder / "calls.c").write_text(SOURCE)
    return build([folder / "calls.c"], folder / "calls.elf", extra_args=("-O0",))


def profiled(program: Path, out: Path, *regions: str, first: int = 0) -> Profile:
    """The profile of a run, or of a part of it."""
    traces = Traces([Wanted("callgrind", str(out))])
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(program)
    assert machine.image is not None
    found = [find_region(name, machine.image.symbols) for name in regions]
    with traces:
        traces.open(machine, Selection(Window(first), found))
        assert machine.run().exit_code == 0
    return read_callgrind(out.read_text())


@pytest.fixture(scope="module")
def whole(program: Path) -> tuple[Path, Profile]:
    out = program.with_name("whole.callgrind")
    return out, profiled(program, out)


def test_calls_are_counted_as_valgrind_counts_them(whole: tuple[Path, Profile]) -> None:
    steps = whole[1].steps()
    names = {name for pair in AS_VALGRIND_COUNTS for name in pair}
    assert {
        pair: count for pair, (count, _) in steps.items() if names.issuperset(pair)
    } == AS_VALGRIND_COUNTS


def assert_balanced(profile: Profile, outermost: str) -> None:
    """What calls to a function cost is its own and that of its calls; nobody calls one."""
    for name in {place.name for place in profile.functions}:
        costs = profile.own_of(name) + profile.passed_on_by(name)
        assert costs == (profile.summary if name == outermost else profile.inclusive_of(name)), name


def test_nothing_is_lost_or_counted_twice(whole: tuple[Path, Profile]) -> None:
    assert_balanced(whole[1], outermost="_start")


def test_no_function_costs_more_than_all(whole: tuple[Path, Profile]) -> None:
    """Valgrind's readers add up recursive calls (``'2``) as often as they are nested."""
    out, profile = whole
    inclusive = annotate(out, "--inclusive=yes")
    total = inclusive.pop("PROGRAM TOTALS")
    assert total == [profile.summary["Cycles"], profile.summary["Instructions"]]
    assert inclusive.pop("_start") == total
    plain = {name: costs for name, costs in inclusive.items() if not name.endswith("'2")}
    for name, costs in plain.items():
        found = profile.inclusive_of(name)
        assert costs == [found["Cycles"], found["Instructions"]]
        assert costs[0] <= total[0]
    assert plain.keys() > {"main", "fib", "even", "odd", "deep", "last"}


def test_callgrind_annotate_shows_callers_and_callees(whole: tuple[Path, Profile]) -> None:
    text = printed(whole[0], "--tree=both", "--inclusive=yes")
    block = next(part for part in text.split("\n\n") if re.search(r"\*  \S+:deep \[", part))
    assert [(found[1], found[2]) for found in re.finditer(r"([<>]) +\S+:(\S+ \(\w+\))", block)] == [
        ("<", "main (1x)"),
        (">", "deep'2 (1x)"),
    ]


def test_callgrind_annotate_finds_the_sources(whole: tuple[Path, Profile]) -> None:
    text = printed(whole[0], "--auto=yes")
    (line,) = re.findall(r"([\d,]+) \(.*\) .*\(.*\)  int deep\(int n\)", text)
    profile = whole[1]
    own = [
        costs["Cycles"]
        for (function, pc), costs in profile.own.items()
        if profile.lines[pc] == (function.file, 7)
    ]
    assert int(line.replace(",", "")) == sum(own)


def test_a_window_knows_the_callers_it_returns_to(program: Path, tmp_path: Path) -> None:
    """It begins in the depth of `deep`; the calls before it cost what is left of them."""
    profile = profiled(program, tmp_path / "out", first=5500)
    steps = profile.steps()
    assert steps["main", "deep"][0] == steps["rt_start", "main"][0] == 1
    assert_balanced(profile, outermost="rt_start")


def test_a_region_has_the_calls_among_its_functions(program: Path, tmp_path: Path) -> None:
    profile = profiled(program, tmp_path / "out", "last", "fib")
    steps = profile.steps()
    assert steps["last", "fib"][0] == 1
    assert steps["fib'2", "fib'2"][0] == AS_VALGRIND_COUNTS["fib'2", "fib'2"]
    assert {place.name for place in profile.functions} == {"last", "fib", "fib'2"}


def test_callgrind_annotate_adds_up_calls() -> None:
    profile = TRACES / GOLDENS["callgrind"]
    own, inclusive = annotate(profile), annotate(profile, "--inclusive=yes")
    assert inclusive["_start"] == own["PROGRAM TOTALS"]
    assert inclusive["saxpy"] == own["saxpy"]
    assert own["saxpy"][1] == 2 * 31
    assert read_callgrind(profile.read_text()).steps()["_start", "saxpy"][0] == 2
