"""What the page is about."""

from __future__ import annotations

from dataclasses import dataclass

from rvsim.perf import Profile
from rvsim.perf.sources import Sources
from rvsim.trace.steady import Iterations


@dataclass(frozen=True, slots=True)
class ReportedProgram:
    """A program that has run at a VLEN: its profile, as a whole and within the regions.

    `iterations` are some of its hottest loop, cycle by cycle, if they were asked for.
    """

    name: str
    whole: Profile
    profile: Profile
    vlen: int
    sources: Sources
    iterations: Iterations | None = None
