"""Which of several programs takes the fewest cycles, and why the others take more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rvsim.perf.profile import Profile


@dataclass(frozen=True, slots=True)
class Difference:
    """How one program differs from the fastest.

    `reasons` are those with more cycles than in the fastest, the largest difference first.
    """

    factor: float
    cycles: float
    reasons: tuple[tuple[str, float], ...]
    instructions: int

    def as_json(self) -> dict[str, Any]:
        return {
            "factor": self.factor,
            "cycles": self.cycles,
            "instructions": self.instructions,
            "reasons": dict(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """`best` is the index of the fastest program; `differences` has one entry for each program."""

    best: int
    differences: tuple[Difference, ...]


def compare(profiles: Sequence[Profile]) -> Comparison:
    """Compare one or more profiles; among equals the first is best."""
    best = min(range(len(profiles)), key=lambda i: profiles[i].cycles)
    return Comparison(best, tuple(_difference(p, profiles[best]) for p in profiles))


def _difference(one: Profile, best: Profile) -> Difference:
    more = {reason: n - best.stalls.get(reason, 0) for reason, n in one.stalls.items()}
    reasons = sorted(((r, n) for r, n in more.items() if n > 0), key=lambda x: (-x[1], x[0]))
    return Difference(
        factor=one.cycles / best.cycles if best.cycles else 1.0,
        cycles=one.cycles - best.cycles,
        reasons=tuple(reasons),
        instructions=one.instructions - best.instructions,
    )
