"""A function as text: its instructions with their cycles, its source lines and its loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from rvsim.cli.console import bold, show, table
from rvsim.insn.disasm import disassemble
from rvsim.perf import Bounds, Loop, Profile, Site, bounds
from rvsim.perf.sources import Sources
from rvsim.perf.wording import loop_in_words, number, share, waits

_WAITS: Final = "mostly waits for"
_SHOWN_LINKS: Final = 3
_HOT: Final = 0.1
"""The share of the cycles above which an instruction is bold."""

Place = tuple[str, int]


def annotation_lines(
    part: Profile, whole: Profile, loops: Sequence[Loop], sources: Sources
) -> Iterator[str]:
    """The instructions that ran, with source lines between them if the file has any.

    Hot instructions are bold on a terminal.
    """
    names = ", ".join(region.name for region in part.regions)
    of_all = f"{share(part.cycles, whole.cycles)} of the program's {number(whole.cycles)}"
    yield f"{names}: {number(part.cycles)} cycles, {of_all}"
    yield ""
    columns = _columns(loops)
    width = max([len(_WAITS), *(len(waits(site.stalls)) for site in part.sites)])
    head = f"{'executed':>11} {'cycles':>11} {'share':>7}  {_WAITS:<{width}} "
    yield f"{head}{'  ' * len(columns)} {'address':>8}  instruction"
    last: Place | None = None
    end: int | None = None
    for site in part.sites:
        if end is not None and site.pc != end:
            yield f"{'...':>11}"
        line = part.image.lines.line(site.pc) if part.image is not None else None
        if line is not None and line != last:
            yield f"{'':>11} {Path(line[0]).name}:{line[1]}  {sources.line(*line)}".rstrip()
        last, end = line, site.end
        marks = "".join(_mark(site, column) for column in columns)
        code = f"{marks} {site.pc:>8x}  {disassemble(site.decoded)}"
        text = f"{_counts(site, part)}  {waits(site.stalls):<{width}} {code}"
        yield bold(text) if site.cycles > _HOT * part.cycles else text


def _counts(site: Site, part: Profile) -> str:
    cycles = number(site.cycles)
    return f"{site.executions:>11,} {cycles:>11} {share(site.cycles, part.cycles):>7}"


def _columns(loops: Sequence[Loop]) -> list[list[Loop]]:
    """The loops by depth: the number of other loops that contain them."""
    columns: list[list[Loop]] = []
    for loop in loops:
        depth = sum(loop.pcs < other.pcs for other in loops)
        columns += [[] for _ in range(len(columns), depth + 1)]
        columns[depth].append(loop)
    return columns


def _mark(site: Site, column: Sequence[Loop]) -> str:
    """A piece of the line that marks the instructions of a loop."""
    for loop in column:
        if site.pc in loop.pcs:
            first, last = site.pc == loop.start, site.end == loop.end
            return "[ " if first and last else ".-" if first else "'-" if last else "| "
    return "  "


# -- loops


def show_loops(part: Profile, loops: Sequence[Loop]) -> None:
    """Print the cycles of an iteration, the bounds of each loop, and the bound that limits it."""
    for loop in loops:
        found = bounds(part.core, loop)
        head = f"loop {loop.start:x}-{loop.end:x}: {loop.iterations:,} iterations"
        click.echo(f"\n{head} of {loop.cycles:.2f} cycles")
        shown = table("bound", "cycles", "", right=("cycles",))
        for name, cycles in found.by_name().items():
            shown.add_row(name, f"{cycles:.2f}", _links(found) if name == "dependences" else "")
        show(shown)
        click.echo(f"  {loop_in_words(loop, found)}")


def _links(found: Bounds) -> str:
    """The first few instructions of the chain."""
    links = found.chain.links if found.chain is not None else ()
    shown = [f"{s.pc:x} {disassemble(s.decoded)}" for s in links[:_SHOWN_LINKS]]
    return " -> ".join(shown) + (f" -> {len(links)} in all" if len(links) > len(shown) else "")


def annotation_json(part: Profile, loops: Sequence[Loop]) -> dict[str, Any]:
    """The annotation as plain data."""
    return part.as_json() | {
        "instructions_by_address": [_site_json(site, part) for site in part.sites],
        "loops": [_loop_json(loop, bounds(part.core, loop)) for loop in loops],
    }


def _site_json(site: Site, part: Profile) -> dict[str, Any]:
    line = part.image.lines.line(site.pc) if part.image is not None else None
    return {
        "pc": site.pc,
        "text": disassemble(site.decoded),
        "executions": site.executions,
        "cycles": site.cycles,
        "stalls": site.stalls,
        "file": line and line[0],
        "line": line and line[1],
    }


def _loop_json(loop: Loop, found: Bounds) -> dict[str, Any]:
    return {
        "head": loop.head,
        "start": loop.start,
        "end": loop.end,
        "iterations": loop.iterations,
        "cycles_per_iteration": loop.cycles,
        "stalls": loop.stalls,
        "bounds": found.by_name(),
        "binding": found.binding,
        "chain": [s.pc for s in found.chain.links] if found.chain is not None else None,
        "path": found.chain.path if found.chain is not None else None,
    }
