"""Cycles as tables: totals, stalls, functions and lines, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from rvsim.cli.console import show, table, width
from rvsim.perf import Comparison, Part, Profile
from rvsim.perf.groups import GROUPS, group_of, grouped
from rvsim.perf.wording import comparison_in_words, gigahertz, number, seconds, share, waits

_BAR: Final = 40
_GAP: Final = 2
_SMALL: Final = 0.01
"""Reasons with less than this share of each program's cycles have no row in a comparison."""


def show_cycles(profile: Profile) -> None:
    """Print the totals of a run and its stalls to stderr."""
    totals = table("", "total", "", right=("total",))
    where = f" in {', '.join(r.name for r in profile.regions)}" if profile.regions else ""
    clock = f"{seconds(profile.cycles, profile.core)} at {gigahertz(profile.core)}{where}"
    totals.add_row("cycles", number(profile.cycles), clock)
    totals.add_row("instructions", f"{profile.instructions:,}", f"{profile.ipc:.2f} a cycle")
    for row in _work(profile):
        totals.add_row(*row)
    show(totals, stderr=True)
    _show_stalls(profile.stalls)


def _work(profile: Profile) -> Iterable[tuple[str, str, str]]:
    """Rows on lanes and multiply-accumulations, if there are any."""
    used, paid = profile.lanes
    if paid:
        yield "lanes", f"{used:,}", f"{share(used, paid)} of the {paid:,} paid for"
    macs = profile.macs
    if macs.count:
        rate = f"{macs.count / profile.cycles:.2f} a cycle"
        peak = f"{share(macs.peak_cycles, profile.cycles)} of the peak of {macs.peak:.4g}"
        yield "multiply-adds", f"{macs.count:,}", f"{rate}, {peak}"


def _show_stalls(stalls: Mapping[str, float]) -> None:
    total = sum(stalls.values())
    shown = table("cycles spent on", "cycles", "share", "", right=("cycles", "share"))
    shown.columns[-1].no_wrap = True
    shown.columns[-1].overflow = "crop"
    for group, cycles in grouped(stalls).items():
        bar = "#" * round(_BAR * cycles / total)
        shown.add_row(group, number(cycles), share(cycles, total), bar)
        inside = [(n, reason) for reason, n in stalls.items() if group_of(reason) == group]
        if _has_parts(group):
            for n, reason in sorted(inside, key=lambda pair: (-pair[0], pair[1])):
                shown.add_row(f"  {reason}", number(n), share(n, total), "")
    show(shown, stderr=True, apart=True)


def _has_parts(group: str) -> bool:
    return len(GROUPS[group]) > 1 or GROUPS[group][0].endswith(":")


def show_parts(profile: Profile, limit: int) -> None:
    """Print the hottest functions and lines."""
    _show_hottest("function", profile.functions(), profile, limit)
    _show_hottest("line", profile.lines(), profile, limit)


def _show_hottest(kind: str, parts: Sequence[Part], profile: Profile, limit: int) -> None:
    numbers = ("cycles", "share", "executed")
    shown = table(*numbers, "mostly waits for", kind, right=numbers)
    for part in parts[:limit]:
        shown.add_row(
            number(part.cycles),
            share(part.cycles, profile.cycles),
            f"{part.executions:,}",
            waits(part.stalls),
            Path(part.name).name if kind == "line" else part.name,
        )
    show(shown, apart=kind == "line")
    left = parts[limit:]
    if left:
        rest = share(sum(part.cycles for part in left), profile.cycles)
        click.echo(f"and {len(left)} more {kind}s with {rest} of the cycles")


def show_comparison(names: Sequence[str], profiles: Sequence[Profile], found: Comparison) -> None:
    """Print a column for each program, as many side by side as fit, then which one wins and why."""
    rows = list(_compared(profiles, found))
    label = max(len(name) for name, _ in rows) + _GAP
    widths = [
        max(len(name), *(len(cells[i]) for _, cells in rows)) + _GAP for i, name in enumerate(names)
    ]
    for part in _fitting(widths, width() - label):
        shown = table("", *names[part], right=tuple(names))
        shown.columns[-1].no_wrap = True
        for name, cells in rows:
            shown.add_row(name, *cells[part])
        show(shown, apart=part.start > 0)
    for i, line in enumerate(comparison_in_words(names, found)):
        click.echo(line if i else f"\n{line}")


def _fitting(widths: Sequence[int], room: int) -> Iterator[slice]:
    """Slices of columns that fit into `room`, each with at least one column.

    >>> list(_fitting([10, 10, 30, 5], 20))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start = used = 0
    for i, needed in enumerate(widths):
        if i > start and used + needed > room:
            yield slice(start, i)
            start, used = i, 0
        used += needed
    yield slice(start, len(widths))


def _compared(profiles: Sequence[Profile], found: Comparison) -> Iterator[tuple[str, list[str]]]:
    yield "cycles", [number(p.cycles) for p in profiles]
    yield "times the best", [f"{d.factor:.2f}" for d in found.differences]
    yield "instructions", [f"{p.instructions:,}" for p in profiles]
    yield "instructions a cycle", [f"{p.ipc:.2f}" for p in profiles]
    if any(p.lanes[1] for p in profiles):
        yield "lanes used of paid", [share(*p.lanes) if p.lanes[1] else "-" for p in profiles]
    if any(p.macs.count for p in profiles):
        yield "multiply-adds a cycle", [f"{p.macs.count / p.cycles:.2f}" for p in profiles]
        yield "share of the peak", [share(p.macs.peak_cycles, p.cycles) for p in profiles]
    for reason in _reasons(profiles):
        yield reason, [number(p.stalls.get(reason, 0.0)) for p in profiles]
    rest = [_rest(p, _reasons(profiles)) for p in profiles]
    if any(rest):
        yield "other reasons", [number(n) for n in rest]


def _reasons(profiles: Sequence[Profile]) -> list[str]:
    """The reasons that get a row: by group, then most cycles first."""
    most: dict[str, float] = {}
    for profile in profiles:
        for reason, n in profile.stalls.items():
            if n >= _SMALL * profile.cycles:
                most[reason] = max(n, most.get(reason, 0.0))
    groups = list(GROUPS)
    return sorted(most, key=lambda r: (groups.index(group_of(r)), -most[r], r))


def _rest(profile: Profile, shown: Sequence[str]) -> float:
    return sum(n for reason, n in profile.stalls.items() if reason not in shown)
