"""The programs that a page reports on."""

from __future__ import annotations

from dataclasses import dataclass

from rvsim.perf import Profile
from rvsim.perf.sources import Sources
from rvsim.trace.steady import Iterations


@dataclass(frozen=True, slots=True)
class ReportedProgram:
    """A program that ran at a VLEN: its profile as a whole (`whole`) and within the regions.

    `iterations` are some iterations of its hottest loop, cycle by cycle; None if not wanted.
    """

    name: str
    whole: Profile
    profile: Profile
    vlen: int
    sources: Sources
    iterations: Iterations | None = None
