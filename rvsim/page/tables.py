"""Tables of the page: a head, rows of text, and how each row looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rvsim.page.programs import ReportedProgram
from rvsim.perf import Comparison, Profile, point
from rvsim.perf.wording import gigahertz, number, seconds, share, waits

_HOTTEST: Final = 12

Kind = Literal["", "part", "total"]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row; its first cell is its name, and a `part` belongs to the row above it.

    `colour` is the number or name of its colour in the picture.
    """

    cells: tuple[str, ...]
    kind: Kind = ""
    colour: int | str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; columns from number `text` on hold text, as does the first; the others numbers."""

    head: tuple[str, ...]
    rows: tuple[TableRow, ...]
    text: int = 99


def summary(programs: Sequence[ReportedProgram], found: Comparison) -> Table:
    """A row for each total, a column for each program."""
    head = ("", *(program.name for program in programs))
    rows = [*_totals([program.profile for program in programs], found)]
    if programs[0].profile.regions:
        shares = [share(p.profile.cycles, p.whole.cycles) for p in programs]
        rows.insert(1, ("of the whole program", shares))
    return Table(head, tuple(TableRow((name, *cells)) for name, cells in rows))


def _totals(profiles: Sequence[Profile], found: Comparison) -> Iterator[tuple[str, list[str]]]:
    yield "cycles", [number(p.cycles) for p in profiles]
    if len(profiles) > 1:
        yield "times the best", [f"{d.factor:.2f}" for d in found.differences]
    clock = gigahertz(profiles[0].core)
    yield f"time at {clock}", [seconds(p.cycles, p.core) for p in profiles]
    yield "instructions", [f"{p.instructions:,}" for p in profiles]
    yield "instructions a cycle (IPC)", [f"{p.ipc:.2f}" for p in profiles]
    if any(p.lanes[1] for p in profiles):
        yield "lanes used of paid", [share(*p.lanes) if p.lanes[1] else "-" for p in profiles]
    yield "bytes loaded and stored", [f"{point(p).moved_bytes:,}" for p in profiles]
    if any(p.macs.count for p in profiles):
        yield "multiply-adds", [f"{p.macs.count:,}" for p in profiles]
        yield "multiply-adds a cycle", [f"{point(p).rate:.2f}" for p in profiles]
        yield "peak of these instructions", [f"{p.macs.peak:.4g}" for p in profiles]
        yield "share of the peak", [share(p.macs.peak_cycles, p.cycles) for p in profiles]


def hottest(profile: Profile) -> Table:
    """The functions with most cycles; the last row has the total."""
    parts = profile.functions()
    shown, left = parts[:_HOTTEST], parts[_HOTTEST:]
    rows = [_part(p.name, p.cycles, p.executions, waits(p.stalls), profile.cycles) for p in shown]
    if left:
        cycles, executions = sum(p.cycles for p in left), sum(p.executions for p in left)
        rows.append(_part(f"{len(left)} more", cycles, executions, "", profile.cycles))
    all_of = _part("all", profile.cycles, profile.instructions, "", profile.cycles, "total")
    head = ("function", "cycles", "share", "executed", "mostly waits for")
    return Table(head, (*rows, all_of), text=4)


def _part(
    name: str, cycles: float, executions: int, waits_for: str, total: float, kind: Kind = ""
) -> TableRow:
    return TableRow(
        (name, number(cycles), share(cycles, total), f"{executions:,}", waits_for), kind
    )
