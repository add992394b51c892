"""A few iterations of a loop, after it has run for a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rvsim.decode import Decoded
from rvsim.perf.region import Region
from rvsim.trace.timing import Row

ENOUGH: Final = 20_000
"""Rows that are kept: a loop has long settled by then."""

_STRAIGHT: Final = 64
"""Instructions that are shown where there is no loop."""


class Step(NamedTuple):
    """An instruction that executed, and its row."""

    insn: Decoded
    row: Row


class Kept:
    """Keeps the first `ENOUGH` rows within regions; all of the program if there are none."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self._regions = regions
        self.steps: list[Step] = []

    @property
    def enough(self) -> bool:
        return len(self.steps) >= ENOUGH

    def row(self, d: Decoded, row: Row) -> None:
        inside = not self._regions or any(d.pc in region for region in self._regions)
        if inside and not self.enough:
            self.steps.append(Step(d, row))


@dataclass(frozen=True)
class Iterations:
    """Consecutive iterations of a loop, the first of them number `first` of `count` in a row.

    Code without a loop is one iteration, and `count` is 0.
    """

    steps: tuple[tuple[Step, ...], ...]
    first: int
    count: int

    @property
    def head(self) -> int:
        """The address of their first instruction."""
        return self.steps[0][0].insn.pc

    @property
    def cycles(self) -> float:
        """The mean from one iteration to the next; what one takes if it stands alone."""
        begins = [steps[0].row.issue for steps in self.steps]
        if len(begins) > 1:
            return (begins[-1] - begins[0]) / (len(begins) - 1)
        return sum(step.row.cycles for step in self.steps[0])


def steady_iterations(steps: Sequence[Step], wanted: int) -> Iterations:
    """Iterations from the middle of the longest stay in the loop that is entered most often."""
    head = _hottest_head(steps)
    if head is None:
        return Iterations((_last_stay(steps),), 0, 0)
    starts = [i for i, step in enumerate(steps) if step.insn.pc == head]
    first, count = _longest_stay(steps, starts)
    shown = min(wanted, count)
    skipped = (count - shown) // 2
    begin = first + skipped
    return Iterations(
        tuple(tuple(steps[starts[i] : starts[i + 1]]) for i in range(begin, begin + shown)),
        skipped,
        count,
    )


def _last_stay(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The instructions since the regions were entered for the last time."""
    begin = len(steps) - 1
    while begin and _follows(steps, begin):
        begin -= 1
    return tuple(steps[max(begin, len(steps) - _STRAIGHT) :])


def _hottest_head(steps: Sequence[Step]) -> int | None:
    """Where most jumps backwards go."""
    heads = Counter(steps[i].insn.pc for i in range(1, len(steps)) if _goes_back(steps, i))
    return max(heads, key=lambda pc: (heads[pc], pc)) if heads else None


def _goes_back(steps: Sequence[Step], i: int) -> bool:
    """Whether the instruction before number `i` jumped back to it."""
    return _follows(steps, i) and steps[i].insn.pc <= steps[i - 1].insn.pc


def _follows(steps: Sequence[Step], i: int) -> bool:
    """Whether nothing outside the regions was executed before number `i`."""
    return steps[i].row.instret == steps[i - 1].row.instret + 1


def _longest_stay(steps: Sequence[Step], starts: Sequence[int]) -> tuple[int, int]:
    """(first start, iterations) of the longest run of iterations that each jump to the next."""
    best = (0, 0)
    first = 0
    for k in range(1, len(starts)):
        if not _goes_back(steps, starts[k]):
            first = k
        elif k - first > best[1]:
            best = first, k - first
    return best
