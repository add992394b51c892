"""What the page is about."""

from __future__ import annotations

from dataclasses import dataclass

from rvsim.perf import Profile


@dataclass(frozen=True, slots=True)
class Program:
    """A program that has run at a VLEN: its profile, as a whole and within the regions."""

    name: str
    whole: Profile
    profile: Profile
    vlen: int
