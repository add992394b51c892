"""How system calls wait.

A call waits for something that an open file tells, for a time, or for a signal.  In the model's
time nobody waits: the clock goes on to the next moment at which anything can change.  If there is
no such moment, the wait has no end, and is told as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rvsim.guest.linux.clock import KTIME_MAX, Clock
from rvsim.guest.linux.deadline import Deadline
from rvsim.guest.linux.errno import EINTR, CallError
from rvsim.guest.linux.files import OpenFile
from rvsim.guest.linux.signals import Signals
from rvsim.guest.linux.table import BlockedForEver
from rvsim.guest.linux.timers import SignalTimers


class Waiter:
    """What a process waits with: clock, signals, the timers that send some, and the deadline."""

    def __init__(
        self, clock: Clock, signals: Signals, timers: SignalTimers, deadline: Deadline
    ) -> None:
        self._clock = clock
        self._signals = signals
        self._timers = timers
        self._deadline = deadline

    def wait(
        self,
        why: str,
        *,
        until: int | None = None,
        ready: Callable[[], bool] = lambda: False,
        files: Iterable[OpenFile] = (),
        signals: int = 0,
    ) -> bool:
        """Whether it became `ready` before `until`, a time of CLOCK_MONOTONIC in nanoseconds.

        `files` may become ready by themselves.  A signal that has a handler ends the wait as
        EINTR, one of the set `signals` by being pending.  `why` says what would wait without end.
        """
        signals |= self._signals.interrupting
        while not ready():
            if self._signals.pending_bits & signals:
                raise CallError(EINTR)
            now = self._clock.now(1)
            if until is not None and now >= until:
                return False
            moments = [until, self._timers.next(signals), *(f.changes_at() for f in files)]
            moment = min((m for m in moments if m is not None), default=KTIME_MAX)
            if moment >= KTIME_MAX:
                raise BlockedForEver(why)
            self._clock.sleep(moment - now, self._deadline)
            self._timers.expire()
        return True
