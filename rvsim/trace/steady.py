"""A few iterations of a loop that has run for a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, starmap
from statistics import median_low
from typing import Final, NamedTuple

from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.rows import Row, each_row
from rvsim.insn.decode import Decoded
from rvsim.perf.region import Region
from rvsim.trace.flow import Flow, flow_of

ENOUGH: Final = 20_000
"""The number of rows to keep: a loop is steady long before."""

_STRAIGHT: Final = 64
"""The number of instructions to show if there is no loop."""


class ExecutedRow(NamedTuple):
    """An executed instruction and its row."""

    insn: Decoded
    row: Row


class FirstRows:
    """Keeps the first `ENOUGH` rows within `regions`, or of the program if there are no regions."""

    def __init__(self, regions: Sequence[Region] = ()) -> None:
        self.regions = regions
        self.steps: list[ExecutedRow] = []
        self._inside = PerInstruction(self._is_inside)

    @property
    def enough(self) -> bool:
        return len(self.steps) >= ENOUGH

    def batch(self, batch: Batch) -> None:
        """Keep the wanted rows of a batch."""
        if not self.enough:
            chosen = batch.where(self._inside(batch))
            missing = ENOUGH - len(self.steps)
            self.steps += starmap(ExecutedRow, islice(each_row(chosen), missing))

    def _is_inside(self, d: Decoded) -> bool:
        return not self.regions or any(d.pc in region for region in self.regions)


@dataclass(frozen=True)
class Iterations:
    """Consecutive iterations of a loop; the first is number `first` of `count` in a row.

    Code without a loop is one iteration with a `count` of 0.  `end` is the issue time of the
    instruction after them.
    """

    steps: tuple[tuple[ExecutedRow, ...], ...]
    end: float
    first: int = 0
    count: int = 0

    @property
    def head(self) -> int:
        """The address of their first instruction."""
        return self.steps[0][0].insn.pc

    @property
    def cycles(self) -> float:
        """The average cycles of an iteration."""
        return (self.end - self.steps[0][0].row.issue) / len(self.steps)


def steady_iterations(steps: Sequence[ExecutedRow], wanted: int) -> Iterations:
    """Typical iterations from the longest stay in the innermost loop with most cycles.

    They are `wanted` iterations in a row that take the median time, near the middle of the stay.
    """
    head = _hottest_head(steps)
    if head is None:
        last = _last_stay(steps)
        return Iterations((last,), last[-1].row.issue + last[-1].row.lost)
    starts = [i for i, step in enumerate(steps) if step.insn.pc == head]
    first, count = _longest_stay(steps, starts)
    stay = starts[first : first + count + 1]
    skipped = _typical([steps[i].row.issue for i in stay], min(wanted, count))
    shown = stay[skipped : skipped + wanted + 1]
    return Iterations(
        tuple(tuple(steps[begin:end]) for begin, end in pairwise(shown)),
        steps[shown[-1]].row.issue,
        skipped,
        count,
    )


def _typical(begins: Sequence[float], length: int) -> int:
    """The index at which `length` intervals begin that take the median time, near the middle.

    >>> _typical([0, 9, 12, 15, 18, 21, 33], 2)
    2
    """
    spans = [end - begin for begin, end in zip(begins, begins[length:], strict=False)]
    typical, middle = median_low(spans), (len(spans) - 1) / 2
    found = (i for i, span in enumerate(spans) if span == typical)
    return min(found, key=lambda i: abs(i - middle))


def _last_stay(steps: Sequence[ExecutedRow]) -> tuple[ExecutedRow, ...]:
    """The instructions since the program last entered the regions."""
    begin = len(steps) - 1
    while begin and _follows(steps, begin):
        begin -= 1
    return tuple(steps[max(begin, len(steps) - _STRAIGHT) :])


def _hottest_head(steps: Sequence[ExecutedRow]) -> int | None:
    """The pc where the innermost loop with most cycles begins; None without a loop."""
    cycles: Counter[int] = Counter()
    last: dict[int, int] = {}
    jumped = 0
    for i, step in enumerate(steps):
        if i and _goes_back(steps, i):
            begin = last.get(step.insn.pc)
            if begin is not None and jumped <= begin:
                cycles[step.insn.pc] += int(step.row.issue - steps[begin].row.issue)
            jumped = i
        last[step.insn.pc] = i
    return max(cycles, key=lambda pc: (cycles[pc], pc)) if cycles else None


def _goes_back(steps: Sequence[ExecutedRow], i: int) -> bool:
    """Whether the step before step `i` jumped back to it, and was neither call nor return."""
    before, here = steps[i - 1].insn, steps[i].insn
    turns = here.pc <= before.pc and _follows(steps, i)
    return turns and flow_of(before) not in (Flow.CALL, Flow.RETURN)


def _follows(steps: Sequence[ExecutedRow], i: int) -> bool:
    """Whether nothing outside the regions executed directly before step `i`."""
    before = steps[i - 1].row
    return steps[i].row.instret == before.instret + (not before.trapped)


def _longest_stay(steps: Sequence[ExecutedRow], starts: Sequence[int]) -> tuple[int, int]:
    """(first start, iterations) of the longest run of iterations that each jump to the next."""
    best = (0, 0)
    first = 0
    for k in range(1, len(starts)):
        if not _goes_back(steps, starts[k]):
            first = k
        elif k - first > best[1]:
            best = first, k - first
    return best
