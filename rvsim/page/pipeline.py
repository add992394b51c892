"""Iterations of loops in the pipeline: a lane for each instruction, on one scale of cycles.

Positions along a lane are shares of its width, so that changing the width zooms the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rvsim.cost.reasons import REASONS
from rvsim.insn.disasm import disassemble
from rvsim.page.programs import ReportedProgram
from rvsim.page.stalls import colour_of
from rvsim.page.tables import Table, TableRow
from rvsim.perf.groups import group_of
from rvsim.trace.picture import (
    EXECUTE,
    ISSUE,
    NOTHING,
    QUEUED,
    Line,
    letter,
    lines,
    meanings,
    origin,
    waits,
)
from rvsim.trace.steady import ExecutedRow, Iterations

_EVERY: Final = 10
_MINOR: Final = 50
_MOST_LANES: Final = 480
_MOST_LANES_OF_ALL: Final = 2400
_MOST_CYCLES: Final = 1200
_COLOURS: Final[Mapping[str, int | str]] = {
    ISSUE: colour_of("issue"),
    EXECUTE: "execute",
    QUEUED: "queued",
    **{letter(reason): colour_of(group_of(reason)) for reason in REASONS if reason != "issue"},
}
"""The colour of each cell of the text picture; waits have the same colours in the stall bar."""


@dataclass(frozen=True, slots=True)
class CellRun:
    """Cells of one kind, side by side; `start` and `width` are in percent of the lane."""

    sign: str
    colour: int | str
    start: float
    width: float
    is_one: bool

    @property
    def middle(self) -> float:
        return self.start + self.width / 2


@dataclass(frozen=True, slots=True)
class Lane:
    """An instruction: its iteration, its first cycle, and (`about`) its times in one line."""

    iteration: int
    begin: int
    address: str
    text: str
    about: str
    runs: tuple[CellRun, ...]


@dataclass(frozen=True, slots=True)
class ProgramLanes:
    """The lanes of one program; `cut` if a part of its iterations is not shown."""

    name: str
    title: str
    lanes: tuple[Lane, ...]
    numbers: Table
    cut: bool


@dataclass(frozen=True, slots=True)
class Ruler:
    """A cycle number at a position in percent of the lane; `minor` ones are less visible."""

    at: float
    cycle: int
    minor: bool


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The programs one below the other; their lanes are `cycles` long."""

    cycles: int
    label: int
    rulers: tuple[Ruler, ...]
    parts: tuple[ProgramLanes, ...]
    legend: Table


def pipeline(programs: Sequence[ReportedProgram]) -> Pipeline | None:
    """The picture of the programs' iterations, cut to fit a page; None if there are none."""
    shown = [(p.name, p.iterations, lines(p.iterations)) for p in programs if p.iterations]
    if not shown:
        return None
    most = min(_MOST_LANES, _MOST_LANES_OF_ALL // len(shown))
    ends = [line.start + len(line.cells) for _, _, found in shown for line in found[:most]]
    cycles = min(_MOST_CYCLES, max(ends)) + 1
    parts = tuple(_part(*program, most, cycles) for program in shown)
    return Pipeline(
        cycles,
        max(len(lane.text) for part in parts for lane in part.lanes),
        tuple(Ruler(100 * n / cycles, n, n % _MINOR != 0) for n in range(0, cycles - 3, _EVERY)),
        parts,
        _legend([(name, iterations) for name, iterations, _ in shown], [x[2] for x in shown]),
    )


def _part(
    name: str, shown: Iterations, picture: Sequence[Line], most: int, cycles: int
) -> ProgramLanes:
    steps = [(n, step) for n, steps in enumerate(shown.steps) for step in steps]
    begin = origin(shown)
    kept = [
        (n, step, line)
        for (n, step), line in zip(steps[:most], picture, strict=False)
        if line.start < cycles
    ]
    first, last = shown.first + 1, shown.first + len(shown.steps)
    return ProgramLanes(
        name,
        f"iterations {first} to {last} of {shown.count:,} in a row, {shown.cycles:.1f} cycles each",
        tuple(_lane(n, step, line, begin, cycles) for n, step, line in kept),
        _numbers([(n, step) for n, step, _ in kept], begin),
        len(kept) < len(steps) or any(x.start + len(x.cells) > cycles for _, _, x in kept),
    )


def _lane(n: int, step: ExecutedRow, line: Line, begin: int, cycles: int) -> Lane:
    text = disassemble(step.insn)
    issue, start, done, waiting = _cells(step, begin)
    about = f"iteration {n}, {step.insn.pc:x} {text}: issue {issue}, start {start}, done {done}"
    waited = f"; waited: {waiting}" if waiting else ""
    return Lane(
        n, line.start, f"{step.insn.pc:x}", text, about + waited, tuple(_runs(line, cycles))
    )


def _runs(line: Line, cycles: int) -> Iterator[CellRun]:
    at = line.start
    for sign, cells in groupby(line.within(line.start, cycles)):
        width = len(list(cells))
        if sign != NOTHING:
            share = 100 / cycles
            yield CellRun(sign, _COLOURS[sign], share * at, share * width, width == 1)
        at += width


def _numbers(steps: Sequence[tuple[int, ExecutedRow]], begin: int) -> Table:
    """A row for each lane."""
    rows = (
        TableRow((f"{n} {step.insn.pc:x} {disassemble(step.insn)}", *_cells(step, begin)))
        for n, step in steps
    )
    head = ("iteration and instruction", "issue", "start", "done", "waited")
    return Table(head, tuple(rows), text=4)


def _cells(step: ExecutedRow, begin: int) -> tuple[str, str, str, str]:
    """Issue, start and done as cycles of the picture, and what it waited for and how long."""
    row = step.row
    issue, start, done = (f"{time - begin:g}" for time in (row.issue, row.start, row.done))
    waited = [_charge(step, *charge) for charge in row.charges() if charge[1] != "issue"]
    return issue, start, done, ", ".join(waited)


def _charge(step: ExecutedRow, pc: int, reason: str, cycles: float) -> str:
    where = "" if pc == step.insn.pc else f" at {pc:x}"
    return f"{reason} {cycles:g}{where}"


def _legend(shown: Sequence[tuple[str, Iterations]], pictures: Sequence[Sequence[Line]]) -> Table:
    """The meanings of the signs, and for waits the cycles of each reason in each program."""
    waited = [waits(iterations) for _, iterations in shown]
    rows = []
    for sign, meaning in meanings([line for picture in pictures for line in picture]):
        reasons = [
            ", ".join(f"{reason} {cycles:g}" for reason, cycles in of.get(sign, {}).items())
            for of in waited
        ]
        rows.append(TableRow((sign, meaning, *reasons), colour=_COLOURS[sign]))
    names = [f"cycles in {name}" for name, _ in shown] if len(shown) > 1 else ["cycles"]
    return Table(("sign", "an instruction …", *names), tuple(rows), text=1)
