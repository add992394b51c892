"""The pipeline as text, of rows made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.cost.rows import Row
from rvsim.insn.decode import decode
from rvsim.perf.region import Region
from rvsim.trace import steady
from rvsim.trace.picture import legend, letter, lines, pages
from rvsim.trace.steady import ExecutedRow, FirstRows, Iterations, steady_iterations
from tests.program.bare import step

ADDI = step("addi", rd=10, rs1=10, imm=1).word


def at(pc: int, issue: float, instret: int = 0, **columns: object) -> ExecutedRow:
    """An addi of one cycle, if the columns don't say otherwise."""
    row = Row(
        instret, pc, ADDI, 0, 0, 0, 0, issue, issue, issue + 1, 0, 0, 0, b"", pc, 0, b"", False
    )
    return ExecutedRow(decode(ADDI, 4, pc), row._replace(**columns))  # type: ignore[arg-type]


def batch_of(steps: Sequence[ExecutedRow], numbers: range) -> Batch:
    """A batch with the places of some of the steps."""
    rows = np.zeros(len(numbers), BATCH_DTYPE)
    rows["code"] = numbers
    return Batch(rows, [step.insn for step in steps])


def straight(*steps: ExecutedRow) -> Iterations:
    return Iterations((steps,), 0)


def cells(*steps: ExecutedRow) -> list[str]:
    return [" " * line.start + line.cells for line in lines(straight(*steps))]


def test_every_kind_of_cell() -> None:
    assert cells(
        at(0, 100),
        at(4, 104, wait=4, reason=b"raw:load", done=107),
        at(8, 105, slot=1, start=108, done=110),
        at(12, 110, fetch=3, slot=1, wait=1, reason=b"war"),
        at(16, 110, lost=4, lost_reason=b"branch"),
    ) == [
        "I",
        "rrrrI==",
        "     I--==",
        "     fff wI",
        "          Ibbb",
    ]


def test_a_fraction_of_a_cycle_is_a_whole_one() -> None:
    assert cells(at(0, 100, start=101.5, done=103.25)) == ["I==="]


def test_pages_have_the_rows_of_their_cycles() -> None:
    picture = lines(straight(at(0, 0), at(4, 45, done=62), at(8, 500)))
    label = len(picture[0].label)
    found = list(pages(picture, label + 30))
    texts = [[line if isinstance(line, str) else line.cells for line in page] for page in found]
    assert texts == [
        [" " * label + "0         10        20", "I"],
        [" " * label + "30        40        50", " " * 15 + "I" + "=" * 14],
        [" " * label + "60        70        80", "=="],
        [" " * label + "480       490       500", " " * 20 + "I"],
    ]


def test_the_legend_tells_what_is_there() -> None:
    shown = straight(at(0, 3, wait=3, reason=b"raw:load"), at(4, 5, wait=2, reason=b"raw:mul"))
    assert legend(shown, lines(shown)) == [
        ("I", "issues"),
        ("r", "waits for a result: raw:load 3, raw:mul 2"),
    ]


def test_letters_of_reasons() -> None:
    reasons = ["fetch", "pair", "branch", "vsetvl", "store", "war", "drain", "mem:l2", "mem:dram"]
    reasons += ["unit:lsu", "unit:vector", "unit:mul", "unit:fp", "raw:valu"]
    assert "".join(map(letter, reasons)) == "fpbvswd2Mlumxr"


def run_of(*pcs: int) -> list[ExecutedRow]:
    """Instructions one after the other, two cycles apart; 0 is one outside the region."""
    return [at(pc, 2 * number, number) for number, pc in enumerate(pcs) if pc]


def pcs(shown: Iterations) -> list[list[int]]:
    return [[step.insn.pc for step in steps] for steps in shown.steps]


def test_iterations_from_the_middle_of_the_longest_stay() -> None:
    stay = [4, 8, 12] * 7
    shown = steady_iterations(run_of(1, *[4, 8, 12] * 2, 16, 1, *stay, 16), 2)
    assert pcs(shown) == [[4, 8, 12]] * 2
    assert (shown.first, shown.count, shown.head, shown.cycles) == (2, 6, 4, 6)


def test_iterations_that_take_the_median_time_are_shown() -> None:
    """Each second one takes one cycle longer, and the one in the middle ten."""
    issues = [0, 2, 5, 7, 20, 22, 25, 27, 30]
    shown = steady_iterations([at(4, issue, i) for i, issue in enumerate(issues)], 1)
    assert (shown.first, shown.cycles) == (4, 2)


def test_the_inner_loop_is_shown() -> None:
    outer = [4, *[8, 12] * 5, 16]
    assert pcs(steady_iterations(run_of(*outer * 3), 3)) == [[8, 12]] * 3


def test_the_loop_with_most_cycles_is_shown() -> None:
    """Not that with most iterations."""
    short, long = [4, 8] * 4, [20, *range(24, 60, 4)] * 3
    assert steady_iterations(run_of(*short, *long, 60), 1).head == 20


def test_a_loop_may_call_functions() -> None:
    """No call of what stands before it, nor a return from what stands behind, is a loop."""
    call, ret = step("jal", rd=1, imm=0).word, step("c.jr", rs1=1).word
    words = {24: call, 4: ret, 28: call, 44: ret}
    body = [20, 24, 0, 4, 28, 40, 44, 32]  # 0 is an addi
    steps = [
        ExecutedRow(decode(words.get(pc, ADDI), 4 if pc in (24, 28) else 2, pc), at(pc, i, i).row)
        for i, pc in enumerate(body * 3)
    ]
    assert pcs(steady_iterations(steps, 1)) == [body]


def test_fewer_iterations_than_wanted() -> None:
    shown = steady_iterations(run_of(4, 8, 4, 8, 4), 10)
    assert (pcs(shown), shown.first, shown.count) == ([[4, 8]] * 2, 0, 2)


def test_a_function_that_is_called_again_is_no_loop() -> None:
    shown = steady_iterations(run_of(4, 8, 12, 0, 4, 8, 12), 2)
    assert (pcs(shown), shown.count) == ([[4, 8, 12]], 0)


def test_a_trap_is_no_gap() -> None:
    """What traps, as a system call does, has the number of what comes next."""
    shown = steady_iterations([at(4, 0, 0), at(8, 2, 1, trapped=True), at(12, 4, 1)], 1)
    assert pcs(shown) == [[4, 8, 12]]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "ENOUGH", 3)
    kept = FirstRows([Region("loop", 4, 12)])
    steps = run_of(*[4, 8, 12] * 3)
    for numbers in (range(2), range(2, 9)):
        kept.batch(batch_of(steps, numbers))
    assert [step.insn.pc for step in kept.steps] == [4, 8, 4]
    assert kept.enough
