"""The hot loops of a program: source lines, instructions with cycles, and bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rvsim.insn.disasm import disassemble
from rvsim.page.programs import ReportedProgram
from rvsim.page.tables import Table, TableRow
from rvsim.perf import Loop, Profile, Site, bounds, find_loops
from rvsim.perf.sources import Sources
from rvsim.perf.wording import loop_in_words, number, share

_MOST_LOOPS: Final = 5
_MOST_LINES: Final = 400
_SMALL: Final = 0.02
"""Loops with less than this share of the cycles are not shown."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row; `heat` is its cycles in percent of the hottest instruction in the loop."""

    address: str
    text: str
    executed: str
    cycles: str
    per_iteration: str
    heat: float
    waits: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """A loop without its inner loops; a `str` in `lines` is a source line or marks an omission."""

    function: str
    title: str
    about: str
    lines: tuple[Instruction | str, ...]
    verdict: str
    bounds: Table


def hot_loops(program: ReportedProgram) -> list[Annotated]:
    """The loops of the regions with most cycles, not counting their inner loops."""
    part = program.profile
    return [
        _annotated(sites, loop, part, program.sources)
        for sites, loop in _by_cycles(program)[:_MOST_LOOPS]
        if _cycles(sites) >= _SMALL * part.cycles
    ]


def loops_abreast(programs: Sequence[ReportedProgram]) -> list[list[Annotated | None]]:
    """Hot loops of several programs, a list for each row: loops of one function side by side.

    The second loop of a function is beside the second loops of the other programs.  None stands
    for a program without such a loop.
    """
    found: list[dict[tuple[str, int], Annotated]] = []
    for program in programs:
        count: Counter[str] = Counter()
        found.append({})
        for hot in hot_loops(program):
            found[-1][hot.function, count[hot.function]] = hot
            count[hot.function] += 1
    keys = dict.fromkeys(key for loops in found for key in loops)
    return [[loops.get(key) for loops in found] for key in keys]


def hottest_innermost(program: ReportedProgram) -> Loop | None:
    """The innermost loop with most cycles; None if there is no loop."""
    return next((loop for _, loop in _by_cycles(program) if loop.is_innermost), None)


def _by_cycles(program: ReportedProgram) -> list[tuple[list[Site], Loop]]:
    """Loops of the regions, each with its own instructions, most cycles first."""
    found = find_loops(program.whole)
    own = [(_own(loop, found), loop) for loop in found if _is_within(loop, program.profile)]
    return sorted(own, key=lambda pair: (-_cycles(pair[0]), pair[1].start))


def _is_within(loop: Loop, part: Profile) -> bool:
    return not part.regions or any(loop.head in region for region in part.regions)


def _own(loop: Loop, loops: Sequence[Loop]) -> list[Site]:
    """The instructions of a loop that are not in its inner loops, sorted by address."""
    inner = set().union(*(other.pcs for other in loops if other.pcs < loop.pcs))
    return sorted((s for s in loop.sites if s.pc not in inner), key=lambda site: site.pc)


def _cycles(sites: Sequence[Site]) -> float:
    return sum(site.cycles for site in sites)


def _annotated(sites: Sequence[Site], loop: Loop, part: Profile, sources: Sources) -> Annotated:
    total = _cycles(sites)
    inside = "" if loop.is_innermost else ", without the loops inside"
    found = bounds(part.core, loop)
    function = part.function_at(loop.head)
    return Annotated(
        function=function,
        title=f"{function}: loop {loop.start:x}-{loop.end:x}",
        about=(
            f"{loop.iterations:,} iterations of {total / loop.iterations:.2f} cycles:"
            f" {number(total)} cycles, {share(total, part.cycles)}{inside}"
        ),
        lines=tuple(_lines(sites, loop, part, sources)),
        verdict=loop_in_words(loop, found),
        bounds=Table(
            ("bound of an iteration", "cycles"),
            (
                *(TableRow((name, f"{cycles:.2f}")) for name, cycles in found.by_name().items()),
                TableRow(("as it ran", f"{found.measured:.2f}"), "total"),
            ),
        ),
    )


def _lines(
    sites: Sequence[Site], loop: Loop, part: Profile, sources: Sources
) -> Iterator[Instruction | str]:
    hottest = max(site.cycles for site in sites)
    last: tuple[str, int] | None = None
    end: int | None = None
    for site in sites[:_MOST_LINES]:
        if end is not None and site.pc != end:
            yield "…"
        line = part.image.lines.line(site.pc) if part.image is not None else None
        if line is not None and line != last:
            yield f"{Path(line[0]).name}:{line[1]}  {sources.line(*line).strip()}".rstrip()
        last, end = line, site.end
        yield _instruction(site, loop, hottest)
    if len(sites) > _MOST_LINES:
        yield f"{len(sites) - _MOST_LINES} more instructions"


def _instruction(site: Site, loop: Loop, hottest: float) -> Instruction:
    reasons = sorted(site.stalls.items(), key=lambda item: (-item[1], item[0]))
    return Instruction(
        address=f"{site.pc:x}",
        text=disassemble(site.decoded),
        executed=f"{site.executions:,}",
        cycles=number(site.cycles),
        per_iteration=f"{site.cycles / loop.iterations:.2f}",
        heat=100 * site.cycles / hottest,
        waits=", ".join(
            f"{reason} {n / loop.iterations:.2f}"
            for reason, n in reasons
            if reason != "issue" and n
        ),
    )
