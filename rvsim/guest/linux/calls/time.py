"""System calls that tell the time, and that wait for it to pass."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.clock import CLOCKS, CPU_CLOCKS, KTIME_MAX, SECOND
from rvsim.guest.linux.errno import EINTR, EINVAL, EPERM, CallError
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.system import CLOCK_TICKS
from rvsim.guest.linux.table import Addr, Flags, Int, syscall

_REALTIME, _MONOTONIC = 0, 1
_TIMER_ABSTIME: Final = 1
_RUSAGE_CHILDREN, _RUSAGE_SELF, _RUSAGE_THREAD = -1, 0, 1


def timespec(process: LinuxProcess, addr: int) -> int:
    """Nanoseconds of the ``struct timespec`` at an address; EINVAL if it is no proper one.

    As in Linux, what is longer than `KTIME_MAX` is as long as that: without end.
    """
    return _nanoseconds(*struct.unpack("<qq", process.get(addr, 16)))


def _nanoseconds(seconds: int, nanoseconds: int) -> int:
    if seconds < 0 or not 0 <= nanoseconds < SECOND:
        raise CallError(EINVAL)
    return min(seconds * SECOND + nanoseconds, KTIME_MAX)


def timeout(process: LinuxProcess, addr: int) -> int | None:
    """The time on CLOCK_MONOTONIC after the duration at an address; None without one."""
    return process.clock.now(_MONOTONIC) + timespec(process, addr) if addr else None


def time_pair(content: bytes, unit: int = 1) -> tuple[int, int]:
    """(interval, value) of a ``struct itimerspec``, or of an ``itimerval`` with `unit` 1000."""
    words = struct.unpack("<4q", content)
    first, second = (_nanoseconds(words[i], words[i + 1] * unit) for i in (0, 2))
    return first, second


def pair_bytes(interval: int, value: int, unit: int = 1) -> bytes:
    """The two times as the program reads them."""
    words = [word for time in (interval, value) for word in divmod(time, SECOND)]
    return struct.pack("<4q", words[0], words[1] // unit, words[2], words[3] // unit)


@syscall(113, "clock_gettime")
def clock_gettime(process: LinuxProcess, clock: Int, addr: Addr) -> int:
    """Tell the model's time, which is the same on every clock and begins at 0."""
    if clock not in CLOCKS:
        return EINVAL
    process.put(addr, struct.pack("<QQ", *divmod(process.clock.now(clock), SECOND)))
    return 0


@syscall(114, "clock_getres")
def clock_getres(process: LinuxProcess, clock: Int, addr: Addr) -> int:
    """Every clock counts nanoseconds."""
    if clock not in CLOCKS:
        return EINVAL
    if addr:
        process.put(addr, struct.pack("<QQ", 0, 1))
    return 0


@syscall(169, "gettimeofday")
def gettimeofday(process: LinuxProcess, addr: Addr, zone: Addr) -> int:
    """The real-time clock in microseconds, in no time zone."""
    seconds, nanoseconds = divmod(process.clock.now(_REALTIME), SECOND)
    if addr:
        process.put(addr, struct.pack("<QQ", seconds, nanoseconds // 1000))
    if zone:
        process.put(zone, bytes(8))
    return 0


@syscall(101, "nanosleep")
def nanosleep(process: LinuxProcess, request: Addr, remaining: Addr) -> int:
    """Let time pass: the model's is set forward, nobody waits."""
    return _sleep(process, process.clock.now(_MONOTONIC) + timespec(process, request), remaining)


@syscall(115, "clock_nanosleep")
def clock_nanosleep(
    process: LinuxProcess, clock: Int, flags: Flags, request: Addr, remaining: Addr
) -> int:
    """Let time pass on a clock, or up to a time."""
    if clock not in CLOCKS or clock in CPU_CLOCKS or flags & ~_TIMER_ABSTIME:
        return EINVAL
    wanted = timespec(process, request)
    now = process.clock.now(_MONOTONIC)
    if flags & _TIMER_ABSTIME:
        return _sleep(process, now + wanted - process.clock.now(clock), 0)
    return _sleep(process, now + wanted, remaining)


def _sleep(process: LinuxProcess, until: int, remaining: int) -> int:
    """Wait for a time on CLOCK_MONOTONIC; the rest is told if a signal comes first."""
    try:
        process.waiter.wait("the sleep takes 292 years or more", until=until)
    except CallError as error:
        if error.code == EINTR and remaining:
            rest = max(0, until - process.clock.now(_MONOTONIC))
            process.put(remaining, struct.pack("<QQ", *divmod(rest, SECOND)))
        raise
    return 0


@syscall(153, "times")
def times(process: LinuxProcess, addr: Addr) -> int:
    """Processor time in ticks, all of it the user's; the result is the time."""
    ticks = process.clock.cpu() * CLOCK_TICKS // SECOND
    if addr:
        process.put(addr, struct.pack("<QQQQ", ticks, 0, 0, 0))
    return process.clock.now(1) * CLOCK_TICKS // SECOND


@syscall(165, "getrusage")
def getrusage(process: LinuxProcess, who: Int, addr: Addr) -> int:
    """Processor time, all of it the user's; nothing else is counted."""
    if who not in (_RUSAGE_CHILDREN, _RUSAGE_SELF, _RUSAGE_THREAD):
        return EINVAL
    used = 0 if who == _RUSAGE_CHILDREN else process.clock.cpu()
    seconds, nanoseconds = divmod(used, SECOND)
    process.put(addr, struct.pack("<QQ", seconds, nanoseconds // 1000).ljust(144, b"\0"))
    return 0


@syscall(112, "clock_settime")
def clock_settime(process: LinuxProcess, clock: Int, addr: Addr) -> int:
    """Only a privileged user sets the real-time clock, nobody one that only counts."""
    return EPERM if clock == _REALTIME or clock in CPU_CLOCKS else EINVAL


@syscall(170, "settimeofday")
def settimeofday(process: LinuxProcess, addr: Addr, zone: Addr) -> int:
    """Only a privileged user sets clocks."""
    return EPERM
