"""The pipeline as text: a row for each instruction, a column for each cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from rvsim.insn.disasm import disassemble
from rvsim.trace.steady import ExecutedRow, Iterations

ISSUE, EXECUTE, QUEUED, NOTHING = "I", "=", "-", " "
_LETTERS: Final = {
    "fetch": "f",
    "pair": "p",
    "branch": "b",
    "vsetvl": "v",
    "store": "s",
    "war": "w",
    "drain": "d",
    "mem:l2": "2",
    "mem:dram": "M",
    "unit:lsu": "l",
    "unit:vector": "u",
    "unit:mul": "m",
    "unit:fp": "x",
}
_RESULT: Final = "r"
_MEANINGS: Final = {
    ISSUE: "issues",
    EXECUTE: "executes, until its result is complete",
    QUEUED: "has issued, and is queued for its unit",
    "f": "code not in the L1I",
    "p": "cannot issue together with the one before it",
    "b": "misprediction",
    "v": "vsetvl not yet in force",
    "s": "stores not yet written",
    "w": "a load waits for readers of its destination",
    "d": "waits until all is done",
    "2": "data that missed L1",
    "M": "data that missed L2",
    "l": "load/store unit busy",
    "u": "vector unit busy, its queue full",
    "m": "multiplier busy",
    "x": "floating-point unit busy",
    _RESULT: "waits for a result",
}
_TEXT: Final = 34
_EVERY: Final = 10
_FEWEST_COLUMNS: Final = 20


def letter(reason: str) -> str:
    """The letter for a reason of waiting.

    >>> letter("war"), letter("raw:vload_unit")
    ('w', 'r')
    """
    return _LETTERS.get(reason, _RESULT)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the picture: the `cells` of an instruction begin at cycle `start`."""

    label: str
    start: int
    cells: str

    def within(self, first: int, end: int) -> str:
        """The cells of the cycles from `first` up to `end`, without spaces at the end."""
        before = max(0, self.start - first)
        part = self.cells[max(0, first - self.start) : max(0, end - self.start)]
        return (NOTHING * before + part).rstrip() if part else ""


def origin(shown: Iterations) -> int:
    """The cycle of the run that is cycle 0 of the picture: when the first one could issue."""
    return floor(shown.steps[0][0].row.before)


def lines(shown: Iterations) -> list[Line]:
    """The rows of the picture."""
    begin = origin(shown)
    numbered = [(n, step) for n, steps in enumerate(shown.steps) for step in steps]
    return [Line(_label(n, step), *_cells(step, begin)) for n, step in numbered]


def _label(iteration: int, step: ExecutedRow) -> str:
    text = disassemble(step.insn)
    if len(text) > _TEXT:
        text = text[: _TEXT - 1] + "…"
    return f"{iteration:2} {step.insn.pc:8x}  {text:<{_TEXT}} "


def _cells(step: ExecutedRow, origin: int) -> tuple[int, str]:
    """(first cycle, cells) of an instruction."""
    row = step.row
    issue = int(row.issue)
    done, start = max(ceil(row.done), issue + 1), max(floor(row.start), issue + 1)
    lost = ceil(row.issue + row.lost) - issue
    first = min(issue - ceil(row.wait), floor(row.before) if row.fetch else issue)
    cells = [NOTHING] * (max(done, issue + lost) - first)

    def fill(begin: int, end: int, cell: str) -> None:
        cells[begin - first : end - first] = cell * (end - begin)

    if row.fetch:
        fill(first, ceil(row.before + row.fetch), letter("fetch"))
    if row.wait:
        fill(issue - ceil(row.wait), issue, letter(row.reason.decode()))
    if done > start:
        fill(issue + 1, start, QUEUED)
        fill(start, done, EXECUTE)
    if row.lost:
        fill(issue + 1, issue + lost, letter(row.lost_reason.decode()))
    fill(issue, issue + 1, ISSUE)
    return first - origin, "".join(cells)


def pages(picture: Sequence[Line], width: int) -> Iterator[list[Line | str]]:
    """The picture in pages of `width` columns: a ruler, and the rows with cells on that page.

    Rows are cut to the cycles of their page.
    """
    label = max(len(line.label) for line in picture)
    columns = max(_FEWEST_COLUMNS, width - label) // _EVERY * _EVERY
    end = max(line.start + len(line.cells) for line in picture)
    for first in range(0, end, columns):
        parts = [(line.label, line.within(first, first + columns)) for line in picture]
        rows = [Line(text.ljust(label), first, cells) for text, cells in parts if cells]
        if rows:
            yield [" " * label + _ruler(first, min(columns, end - first)), *rows]


def _ruler(first: int, count: int) -> str:
    """The numbers of every tenth cycle."""
    return "".join(f"{n:<{_EVERY}}" for n in range(first, first + count, _EVERY)).rstrip()


def legend(shown: Iterations, picture: Sequence[Line]) -> list[tuple[str, str]]:
    """(cell, meaning) of the cells in the picture; meanings of waits have cycles by reason."""
    waited = waits(shown)
    found = []
    for cell, meaning in meanings(picture):
        parts = ", ".join(f"{name} {cycles:g}" for name, cycles in waited.get(cell, {}).items())
        found.append((cell, f"{meaning}: {parts}" if parts else meaning))
    return found


def meanings(picture: Sequence[Line]) -> list[tuple[str, str]]:
    """(cell, meaning) of the cells in the picture."""
    used = set().union(*(line.cells for line in picture))
    return [(cell, meaning) for cell, meaning in _MEANINGS.items() if cell in used]


def waits(shown: Iterations) -> dict[str, dict[str, float]]:
    """For each cell that means a wait, cycles by reason."""
    found: dict[str, dict[str, float]] = {}
    for steps in shown.steps:
        for _, row in steps:
            for _, reason, cycles in row.charges():
                if reason != "issue":
                    of = found.setdefault(letter(reason), {})
                    of[reason] = of.get(reason, 0) + cycles
    return found
