"""The guest's clocks: the model's time, or the host's if that is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from rvsim.guest.linux.deadline import Deadline

SECOND: Final = 1_000_000_000
"""In nanoseconds, the unit of all times of the guest."""

KTIME_MAX: Final = (1 << 63) - 1
"""The last nanosecond that Linux can tell; a wait up to it has no end."""

CLOCKS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 11)
"""CLOCK_REALTIME to CLOCK_BOOTTIME, CLOCK_TAI."""

CPU_CLOCKS: Final = (2, 3)
"""CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID, which sleep does not move."""

_REALTIME_CLOCKS: Final = (0, 5, 11)


class Clock(Protocol):
    """What time calls need; all in nanoseconds."""

    def now(self, clock: int) -> int:
        """The time on one of `CLOCKS`."""

    def cpu(self) -> int:
        """The processor time that the process has used."""

    def sleep(self, duration: int, deadline: Deadline) -> None:
        """Let time pass; a negative duration is over already."""

    def run_limit(self, moment: int) -> tuple[int | None, float | None]:
        """How far to run until a moment of CLOCK_MONOTONIC: cycles, or the host's time in s."""

    @property
    def slept(self) -> int:
        """Nanoseconds by which sleeping has moved the clocks beyond the model's time."""


class ModelClock:
    """Time that only instructions and sleeping move: the same in each run.

    >>> clock = ModelClock(lambda: 5, 1_000_000_000)
    >>> clock.sleep(100, Deadline())
    >>> clock.now(0), clock.cpu()
    (105, 5)
    """

    def __init__(self, executed: Callable[[], int], frequency: int) -> None:
        self._executed = executed
        self._frequency = frequency
        self.slept = 0

    def now(self, clock: int) -> int:
        """Time executed, and slept unless it is processor time."""
        return self._executed() + (0 if clock in CPU_CLOCKS else self.slept)

    def cpu(self) -> int:
        """Time executed."""
        return self._executed()

    def sleep(self, duration: int, deadline: Deadline) -> None:
        """Set the clocks forward."""
        self.slept += max(0, duration)

    def run_limit(self, moment: int) -> tuple[int | None, float | None]:
        """Cycles that take as long, rounded up."""
        return max(0, -(-(moment - self.now(1)) * self._frequency // SECOND)), None


class HostClock:
    """The host's clocks; sleeping waits, and moves nothing of the model."""

    slept = 0

    def now(self, clock: int) -> int:
        """The host's time of that clock, or of one like it."""
        if clock in CPU_CLOCKS:
            return time.process_time_ns()
        return time.time_ns() if clock in _REALTIME_CLOCKS else time.monotonic_ns()

    def cpu(self) -> int:
        """Processor time of rvsim itself."""
        return time.process_time_ns()

    def sleep(self, duration: int, deadline: Deadline) -> None:
        """Wait."""
        deadline.sleep(duration / SECOND)

    def run_limit(self, moment: int) -> tuple[int | None, float | None]:
        """The host's own time then."""
        return None, moment / SECOND
