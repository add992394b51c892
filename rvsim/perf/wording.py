"""Figures and verdicts in words, the same in tables, annotations and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rvsim.cost import Core
from rvsim.perf.bounds import Bounds
from rvsim.perf.compare import Comparison
from rvsim.perf.groups import main_stall
from rvsim.perf.loops import Loop

_SHOWN_REASONS: Final = 3
_NEAR: Final = 0.8
"""Iterations overlap little if the ratio of an iteration to its longest path is at least this."""


def share(part: float, whole: float) -> str:
    """A percentage, with one digit after the point.

    >>> share(1, 3), share(0, 0)
    ('33.3 %', '0.0 %')
    """
    return f"{100 * part / whole if whole else 0.0:.1f} %"


def number(cycles: float) -> str:
    """A number of cycles as text, with one digit after the point if it is no whole number.

    >>> number(1234.0), number(0.5)
    ('1,234', '0.5')
    """
    return f"{cycles:,.0f}" if cycles == int(cycles) else f"{cycles:,.1f}"


def gigahertz(core: Core) -> str:
    """The clock of a core, as text.

    >>> from rvsim.cost import load_core
    >>> gigahertz(load_core("x60"))
    '1.6 GHz'
    """
    return f"{core.clock.frequency / 1e9:.3g} GHz"


def seconds(cycles: float, core: Core) -> str:
    """The time of cycles of a core, as text.

    >>> from rvsim.cost import load_core
    >>> core = load_core("x60")
    >>> seconds(46, core), seconds(3_200_000, core), seconds(16e9, core)
    ('28.8 ns', '2.0 ms', '10.0 s')
    """
    time = cycles / core.clock.frequency
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if time * scale < 1000:
            return f"{time * scale:.1f} {unit}"
    return f"{time:,.1f} s"


def waits(stalls: Mapping[str, float]) -> str:
    """The main stall reason and its share of all cycles; empty without stalls."""
    found = main_stall(stalls)
    if found is None:
        return ""
    return f"{found[0]} {share(found[1], sum(stalls.values()))}"


def comparison_in_words(names: Sequence[str], found: Comparison) -> Iterator[str]:
    """Lines of text: the best program, and why each other one takes longer."""
    if len(names) > 1 and not any(d.cycles for d in found.differences):
        yield "all take as long"
        return
    if len(names) > 1:
        yield f"{names[found.best]} wins"
    for i, (name, d) in enumerate(zip(names, found.differences, strict=True)):
        if i == found.best:
            continue
        if not d.cycles:
            yield f"{name} takes as long"
            continue
        reasons = " and ".join(f"{reason} ({number(n)})" for reason, n in d.reasons[:2])
        yield (
            f"{name} takes {number(d.cycles)} cycles more ({d.factor:.2f} times), mostly for"
            f" {reasons}; it executes {_more(d.instructions)}"
        )


def _more(instructions: int) -> str:
    if not instructions:
        return "as many instructions"
    return f"{abs(instructions):,} instructions {'more' if instructions > 0 else 'fewer'}"


def loop_in_words(loop: Loop, found: Bounds) -> str:
    """The bound that limits a loop; if there is none, what an iteration waits for."""
    if found.binding is not None:
        return f"limited by: {found.binding}"
    if loop.cycles < found.largest[1]:
        return "below its bounds: a short vl, or few iterations in a row"
    waits_for = sorted(loop.stalls.items(), key=lambda item: (-item[1], item[0]))
    reasons = [
        f"{reason} {n / loop.iterations:.2f}" for reason, n in waits_for if reason != "issue"
    ]
    text = f"no bound is reached; waits for: {', '.join(reasons[:_SHOWN_REASONS])}"
    path = found.chain.path if found.chain is not None else 0.0
    if path * _NEAR <= loop.cycles <= path / _NEAR:
        text += f"; its own longest path is {path:.2f}: {_way_out(reasons)}"
    return text


def _way_out(reasons: Sequence[str]) -> str:
    """Advice for a loop whose iterations do not overlap; `reasons` begins with the main one.

    >>> _way_out(["raw:load 3.00"]), _way_out(["war 7.00", "branch 0.10"])
    ('unroll, or load an iteration ahead', 'load into other registers, an iteration ahead')
    """
    if reasons and reasons[0].startswith("war "):
        return "load into other registers, an iteration ahead"
    return "unroll, or load an iteration ahead"


# -- JSON
