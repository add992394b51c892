"""What a program sets with `prctl` and is told again: nothing else here depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TIMER_SLACK: Final = 50_000
"""Nanoseconds, as a process begins."""


@dataclass(slots=True)
class Settings:
    """The settings as a program finds them."""

    death_signal: int = 0
    dumpable: int = 1
    timer_slack: int = TIMER_SLACK
    is_subreaper: bool = False
    no_new_privileges: bool = False
