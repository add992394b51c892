"""Iterations of a loop in the pipeline: a row for each instruction, a column for each cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rvsim.cli.page.tables import Row, Table
from rvsim.trace.picture import EXECUTE, ISSUE, NOTHING, QUEUED, Line, legend, lines
from rvsim.trace.steady import Iterations

CELL: Final = 10
ROW: Final = 17
_LETTER: Final = 7.3
_GAP: Final = 2
_TOP: Final = 20
_EVERY: Final = 10
_MOST_ROWS: Final = 240
_MOST_CYCLES: Final = 1200
_KINDS: Final = {ISSUE: "issue", EXECUTE: "execute", QUEUED: "queued"}


@dataclass(frozen=True, slots=True)
class Run:
    """Cells of one kind, side by side, with the sign of the text picture."""

    kind: str
    sign: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """An instruction: its text, and its cells."""

    label: str
    y: float
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The picture and its legend; `cut` if it is not the whole of the iterations."""

    title: str
    width: float
    height: float
    cell: int
    row: int
    rulers: tuple[tuple[float, int], ...]
    drawn: tuple[Drawn, ...]
    legend: Table
    cut: bool


def pipeline(shown: Iterations) -> Pipeline:
    """The picture of iterations, no more than a page can show."""
    picture = lines(shown)
    kept = [line for line in picture[:_MOST_ROWS] if line.start < _MOST_CYCLES]
    left = _LETTER * (_GAP + max(len(line.label.rstrip()) for line in kept))
    end = min(_MOST_CYCLES, max(line.start + len(line.cells) for line in kept))
    return Pipeline(
        title=f"{len(shown.steps)} of {shown.count:,} iterations in a row, {shown.cycles:.1f}"
        " cycles each",
        width=left + CELL * (end + 1),
        height=_TOP + ROW * len(kept) + 4,
        cell=CELL,
        row=ROW,
        rulers=tuple((left + CELL * n, n) for n in range(0, end, _EVERY)),
        drawn=tuple(
            Drawn(line.label.rstrip(), _TOP + ROW * i, tuple(_runs(line, left, end)))
            for i, line in enumerate(kept)
        ),
        legend=Table(
            ("sign", "an instruction …"),
            tuple(Row((sign, meaning)) for sign, meaning in legend(shown, picture)),
            text=1,
        ),
        cut=len(kept) < len(picture) or any(x.start + len(x.cells) > end for x in kept),
    )


def _runs(line: Line, left: float, end: int) -> Iterator[Run]:
    at = line.start
    for sign, cells in groupby(line.within(line.start, end)):
        width = len(list(cells))
        if sign != NOTHING:
            yield Run(_KINDS.get(sign, "wait"), sign, left + CELL * at, CELL * width)
        at += width
