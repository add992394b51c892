"""Cycles by reason: a bar for each program, and its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rvsim.page.programs import ReportedProgram
from rvsim.page.tables import Table, TableRow
from rvsim.perf.groups import GROUPS, group_of, grouped
from rvsim.perf.wording import number, share


@dataclass(frozen=True, slots=True)
class Piece:
    """A group of reasons in a bar; `start` and `width` are in percent."""

    title: str
    colour: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The pieces of one program; lengths of bars are in proportion to cycles."""

    name: str
    label: str
    pieces: tuple[Piece, ...]


def stall_bars(programs: Sequence[ReportedProgram]) -> list[Bar]:
    """The bars; the longest one takes the whole width."""
    longest = max(program.profile.cycles for program in programs)
    return [_bar(program, longest) for program in programs]


def _bar(program: ReportedProgram, longest: float) -> Bar:
    pieces, start = [], 0.0
    cycles = program.profile.cycles
    for group, n in grouped(program.profile.stalls).items():
        width = 100 * n / longest
        title = f"{group}: {number(n)} cycles, {share(n, cycles)}"
        pieces.append(Piece(title, colour_of(group), start, width))
        start += width
    return Bar(program.name, f"{number(cycles)} cycles", tuple(pieces))


def stall_table(programs: Sequence[ReportedProgram]) -> Table:
    """Groups of reasons and the reasons in them; each program has two columns."""
    stalls = [program.profile.stalls for program in programs]
    totals = [program.profile.cycles for program in programs]
    groups = [grouped(one) for one in stalls]
    rows = []
    for group in GROUPS:
        if not any(group in one for one in groups):
            continue
        numbers = [one.get(group, 0.0) for one in groups]
        rows.append(TableRow((group, *_cells(numbers, totals)), colour=colour_of(group)))
        for reason in _reasons(group, stalls):
            numbers = [one.get(reason, 0.0) for one in stalls]
            rows.append(TableRow((reason, *_cells(numbers, totals)), "part"))
    rows.append(TableRow(("all", *_cells(totals, totals)), "total"))
    columns = [column for p in programs for column in (_heading(p, programs), "share")]
    return Table(("cycles spent on", *columns), tuple(rows))


def _heading(program: ReportedProgram, programs: Sequence[ReportedProgram]) -> str:
    return program.name if len(programs) > 1 else "cycles"


def _reasons(group: str, stalls: Sequence[dict[str, float]]) -> list[str]:
    """The reasons in a group, most cycles first; none if the group is a single reason."""
    found: dict[str, float] = {}
    for one in stalls:
        for reason, n in one.items():
            if n and group_of(reason) == group:
                found[reason] = found.get(reason, 0.0) + n
    is_group = len(GROUPS[group]) == 1 and set(found) <= set(GROUPS[group])
    return [] if is_group else sorted(found, key=lambda reason: (-found[reason], reason))


def _cells(numbers: Sequence[float], totals: Sequence[float]) -> Iterator[str]:
    for n, total in zip(numbers, totals, strict=True):
        yield number(n)
        yield share(n, total)


def colour_of(group: str) -> int:
    """The number of a group's colour, here and in the other pictures."""
    return list(GROUPS).index(group)
