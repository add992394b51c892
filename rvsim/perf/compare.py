"""Which of several programs takes the fewest cycles, and what the others lose them to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rvsim.perf.groups import grouped
from rvsim.perf.profile import Profile


@dataclass(frozen=True, slots=True)
class Difference:
    """What one program takes more than the fastest, and in which group of reasons most of it."""

    factor: float
    cycles: float
    group: str
    group_cycles: float
    instructions: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`best` is the number of the fastest; `differences` are those of all from it, in order."""

    best: int
    differences: tuple[Difference, ...]


def compare(profiles: Sequence[Profile]) -> Comparison:
    """Compare at least one profile; of equals the first is best."""
    best = min(range(len(profiles)), key=lambda i: profiles[i].cycles)
    return Comparison(best, tuple(_difference(p, profiles[best]) for p in profiles))


def _difference(one: Profile, best: Profile) -> Difference:
    mine, theirs = grouped(one.stalls), grouped(best.stalls)
    more = {group: cycles - theirs.get(group, 0) for group, cycles in mine.items()}
    group = max(more, key=lambda g: more[g], default="issue")
    return Difference(
        factor=one.cycles / best.cycles if best.cycles else 1.0,
        cycles=one.cycles - best.cycles,
        group=group,
        group_cycles=more.get(group, 0.0),
        instructions=one.instructions - best.instructions,
    )
