"""How system calls wait, and how one that takes long ends when the run's time is over.

A call waits for something that an open file tells, for a time, or for a signal.  In the model's
time nobody waits: the clock goes on to the next moment at which anything can change.  If there is
no such moment, the wait has no end, and is told as one.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rvsim.guest.linux.errno import EINTR, CallError
from rvsim.guest.linux.table import BlockedForEver

if TYPE_CHECKING:
    from rvsim.guest.linux.clock import Clock
    from rvsim.guest.linux.files import OpenFile
    from rvsim.guest.linux.signals import Signals
    from rvsim.guest.linux.timers import SignalTimers

KTIME_MAX: Final = (1 << 63) - 1
"""The last nanosecond that Linux can tell; a wait up to it has no end."""

PART: Final = 1 << 20
"""Bytes that are moved between two looks at the deadline: well under a millisecond."""

_LOOK_EVERY: Final = 0.02
"""Seconds that the host waits at most before it looks at the deadline again."""


class CutShort(Exception):
    """The run's time is over, and the call has done nothing yet: it begins anew in the next run."""


class Deadline:
    """When the run has to end, in seconds of `time.monotonic`; None if it need not."""

    def __init__(self) -> None:
        self.at: float | None = None

    def is_over(self) -> bool:
        """Whether the run has to end now."""
        return self.at is not None and time.monotonic() >= self.at

    def check(self) -> None:
        """Raise `CutShort` if the time is over."""
        if self.is_over():
            raise CutShort

    def parts(self, count: int) -> Iterator[tuple[int, int]]:
        """(offset, length) of the parts of a long transfer.

        Past the deadline there is one part and no more: the call then tells a short count.
        """
        for start in range(0, count, PART):
            if start and self.is_over():
                return
            yield start, min(PART, count - start)

    def sleep(self, seconds: float) -> None:
        """Wait; `CutShort` if the deadline comes first."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(rest, _LOOK_EVERY))

    def wait_readable(self, fd: int) -> None:
        """Wait until a descriptor of the host can be read; `CutShort` if the deadline is first."""
        while not host_readable(fd, _LOOK_EVERY):
            self.check()


def host_readable(fd: int, seconds: float = 0) -> bool:
    """Whether a read of the host's descriptor would answer at once, within some seconds.

    What the host cannot tell of, such as a file that is no pipe on some systems, always answers.
    """
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    except (OSError, ValueError):
        return True


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
