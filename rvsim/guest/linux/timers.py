"""Timers: those that send signals (`setitimer`, `timer_create`) and those that are files."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from rvsim.guest.linux.clock import CPU_CLOCKS, KTIME_MAX, Clock
from rvsim.guest.linux.errno import EAGAIN, EINVAL, CallError
from rvsim.guest.linux.files import O_RDWR, AnonymousFile, WouldBlock
from rvsim.guest.linux.signals import SI_KERNEL, SI_TIMER, Signal, Signals

MOST_TIMERS: Final = 1024
_MONOTONIC, _PROCESS_CPU = 1, 2
_SIGALRM, _SIGVTALRM, _SIGPROF = 14, 26, 27
_ITIMERS: Final = ((_SIGALRM, _MONOTONIC), (_SIGVTALRM, _PROCESS_CPU), (_SIGPROF, _PROCESS_CPU))
"""Signal and clock of ITIMER_REAL, ITIMER_VIRTUAL and ITIMER_PROF."""


class Timer:
    """Expires at a time, and from then on after each interval; all in nanoseconds.

    A timer of another clock than processor time counts CLOCK_MONOTONIC.
    """

    def __init__(self, clock: Clock, clock_id: int = _MONOTONIC) -> None:
        self._clock = clock
        self._id = clock_id
        self._counted = clock_id if clock_id in CPU_CLOCKS else _MONOTONIC
        self.expires: int | None = None
        self.interval = 0

    def now(self) -> int:
        """The time that `expires` is compared with."""
        return self._clock.now(self._counted)

    @property
    def asleep_too(self) -> bool:
        """Whether it expires while the process waits."""
        return self._counted == _MONOTONIC

    def arm(self, value: int, interval: int, *, absolute: bool = False) -> None:
        """Expire after `value`, or at that time of its own clock; never if it is 0."""
        delay = value - self._clock.now(self._id) if absolute else value
        self.expires = min(self.now() + delay, KTIME_MAX) if value else None
        self.interval = interval

    def left(self) -> int:
        """Until it expires; 0 only if it is not armed."""
        return 0 if self.expires is None else max(1, self.expires - self.now())

    def take(self) -> int:
        """How often it has expired since it was last asked."""
        now = self.now()
        if self.expires is None or now < self.expires:
            return 0
        if not self.interval:
            self.expires = None
            return 1
        count = 1 + (now - self.expires) // self.interval
        self.expires = min(self.expires + count * self.interval, KTIME_MAX)
        return count


@dataclass(slots=True, eq=False)
class SignalTimer:
    """A timer that sends a signal; `number` 0 sends none.  `overruns` counts what came too soon."""

    timer: Timer
    number: int
    value: int = 0
    """What the program gave to tell its timers apart, 64 bits."""
    id: int | None = None
    """Of a timer of `timer_create`."""
    overruns: int = 0

    def signal(self) -> Signal:
        """The signal that it sends now."""
        if self.id is None:
            return Signal(self.number, SI_KERNEL, detail=bytes(8))
        detail = struct.pack("<iiQ", self.id, min(self.overruns, 0x7FFF_FFFF), self.value)
        return Signal(self.number, SI_TIMER, detail=detail)


class SignalTimers:
    """The timers of a process that send it signals."""

    def __init__(self, clock: Clock, signals: Signals) -> None:
        self._clock = clock
        self._signals = signals
        self.intervals = tuple(SignalTimer(Timer(clock, c), n) for n, c in _ITIMERS)
        """Of `setitimer`, by its number."""
        self._made: dict[int, SignalTimer] = {}
        self._every = list(self.intervals)

    def make(self, clock_id: int, number: int, value: int | None) -> int:
        """A new timer's id, which is its value too if there is None."""
        if len(self._made) >= MOST_TIMERS:
            raise CallError(EAGAIN)
        new = next(i for i in range(MOST_TIMERS) if i not in self._made)
        timer = Timer(self._clock, clock_id)
        self._made[new] = SignalTimer(timer, number, new if value is None else value, new)
        self._every.append(self._made[new])
        return new

    def __getitem__(self, number: int) -> SignalTimer:
        """A timer that `make` has made; EINVAL if there is none."""
        found = self._made.get(number)
        if found is None:
            raise CallError(EINVAL)
        if not found.number:  # `expire` does not look at it
            found.timer.take()
        return found

    def delete(self, number: int) -> None:
        """Forget a timer that `make` has made."""
        self._every.remove(self[number])
        del self._made[number]

    def _armed(self) -> list[SignalTimer]:
        return [t for t in self._every if t.timer.expires is not None and t.number]

    def next(self, signals: int) -> int | None:
        """When the first one expires that sends a signal of the set and runs in sleep too."""
        moments = [
            t.timer.expires
            for t in self._armed()
            if signals >> t.number - 1 & 1 and t.timer.asleep_too
        ]
        return min((m for m in moments if m is not None), default=None)

    def first(self) -> int | None:
        """When the running program has to be stopped for a signal, on CLOCK_MONOTONIC."""
        armed = self._armed()
        if not armed:
            return None
        wanted = self._signals.interrupting & ~self._signals.pending_bits
        now = self._clock.now(_MONOTONIC)
        left = [t.timer.left() for t in armed if wanted >> t.number - 1 & 1]
        return min((now + n for n in left), default=None)

    def expire(self) -> None:
        """Send the signals whose time has come."""
        for timer in self._armed():
            count = timer.timer.take()
            if count:
                timer.overruns = count - 1
                self._signals.send(timer.signal())


class TimerFile(AnonymousFile):
    """A timer of `timerfd_create`: what is read is how often it has expired, 8 bytes."""

    name = b"anon_inode:[timerfd]"

    def __init__(self, clock: Clock, clock_id: int, flags: int) -> None:
        super().__init__(O_RDWR | flags)
        self.timer = Timer(clock, clock_id)
        self._count = 0

    def set(self, value: int, interval: int, *, absolute: bool) -> None:
        """Arm it anew; what has expired before is forgotten."""
        self.timer.arm(value, interval, absolute=absolute)
        self._count = 0

    def _expired(self) -> int:
        new = self.timer.take()
        if new and not self._count:
            self.activity += 1  # Linux tells of no further time before the first is read
        self._count += new
        return self._count

    def read(self, count: int, at: int | None = None) -> bytes:
        if count < 8:
            raise CallError(EINVAL)
        if not self._expired():
            raise WouldBlock("a timer that is not set")
        content = self._count.to_bytes(8, "little")
        self._count = 0
        return content

    def events(self) -> int:
        return self.READABLE if self._expired() else 0

    def changes_at(self) -> int | None:
        return None if self._count else self.timer.expires
