"""System calls that tell the time, and that wait for it to pass."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from rvsim.linux.clock import CLOCKS, CPU_CLOCKS
from rvsim.linux.errno import EINVAL, CallError
from rvsim.linux.table import Addr, Flags, Int, syscall

if TYPE_CHECKING:
    from rvsim.linux.process import LinuxProcess

SECOND: Final = 1_000_000_000
CLOCK_TICKS: Final = 100
_REALTIME: Final = 0
_TIMER_ABSTIME: Final = 1
_RUSAGE_CHILDREN, _RUSAGE_SELF, _RUSAGE_THREAD = -1, 0, 1


def timespec(process: LinuxProcess, addr: int) -> int:
    """Nanoseconds of the ``struct timespec`` at an address; EINVAL if it is no proper one."""
    content = process.get(addr, 16)
    seconds = int.from_bytes(content[:8], "little", signed=True)
    nanoseconds = int.from_bytes(content[8:], "little", signed=True)
    if seconds < 0 or not 0 <= nanoseconds < SECOND:
        raise CallError(EINVAL)
    return seconds * SECOND + nanoseconds


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
    process.clock.sleep(timespec(process, request))
    return 0


@syscall(115, "clock_nanosleep")
def clock_nanosleep(
    process: LinuxProcess, clock: Int, flags: Flags, request: Addr, remaining: Addr
) -> int:
    """Let time pass on a clock, or up to a time."""
    if clock not in CLOCKS or clock in CPU_CLOCKS or flags & ~_TIMER_ABSTIME:
        return EINVAL
    wanted = timespec(process, request)
    process.clock.sleep(wanted - process.clock.now(clock) if flags & _TIMER_ABSTIME else wanted)
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
