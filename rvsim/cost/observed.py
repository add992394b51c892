"""One instruction at a time: when it was under way, and what it was charged.

This is for the reference engine, whose generated code reaches the counters by name; `CostModel`
puts `Charges` in their place.  What an instruction is charged adds up to the cycles between the
end of the one before it and its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rvsim.cost.formula import CYCLE
from rvsim.cost.reasons import FETCH, ISSUE, REASONS
from rvsim.cost.state import EPOCH, word_index

_NOW, _ISSUED = word_index("now"), word_index("issued")
_BEGUN, _FINISHED = word_index("begun"), word_index("finished")
_N: Final = len(REASONS)


class Charges:
    """The counters of sites, for code that adds to them: keeps what is added."""

    def __init__(self, counters: memoryview) -> None:
        self._counters = counters
        self.added: list[tuple[int, int]] = []

    def __getitem__(self, place: int) -> int:
        found: int = self._counters[place]
        return found

    def __setitem__(self, place: int, value: int) -> None:
        self.added.append((place, value - self._counters[place]))
        self._counters[place] = value


class Timing(NamedTuple):
    """Times of one instruction in cycles of the run, and what it was charged.

    Before it issued passed `fetch` cycles for its line, `slot` for the width of issue, and `wait`
    for `reason`, charged to the site `charged`; behind it nothing issued for `lost` cycles.
    """

    issue: float
    start: float
    done: float
    fetch: float = 0.0
    slot: float = 0.0
    wait: float = 0.0
    reason: str = ""
    charged: int = -1
    lost: float = 0.0
    lost_reason: str = ""


class Observer:
    """Tells the timing of the instruction that was accounted for last."""

    def __init__(self, core: memoryview, charges: Charges) -> None:
        self._core = core
        self._charges = charges
        self._now: int = core[_NOW]

    def take(self) -> Timing:
        """Its times; one that the model does not account for takes no time."""
        core, added = self._core, self._charges.added
        before, now = self._now, core[_NOW]
        self._now = now
        issued, core[_ISSUED] = core[_ISSUED], 0
        if not issued:
            at = (now - EPOCH) / CYCLE
            return Timing(at, at, at)
        timing = Timing(
            (issued - EPOCH) / CYCLE,
            (core[_BEGUN] - EPOCH) / CYCLE,
            (core[_FINISHED] - EPOCH) / CYCLE,
        )
        if added:
            timing = _with_charges(timing, added, issued - before)
            added.clear()
        return timing


def _with_charges(timing: Timing, added: list[tuple[int, int]], until_issue: int) -> Timing:
    """What was charged for the time before it issued comes first."""
    found: dict[str, float | str | int] = {}
    for place, amount in added:
        site, reason = divmod(place, _N)
        cycles = amount / CYCLE
        if until_issue <= 0:
            found |= {"lost": cycles, "lost_reason": REASONS[reason]}
        elif reason == FETCH:
            found["fetch"] = cycles
        elif reason == ISSUE:
            found["slot"] = cycles
        else:
            found |= {"wait": cycles, "reason": REASONS[reason], "charged": site}
        until_issue -= amount
    return timing._replace(**found)  # type: ignore[arg-type]
