"""System calls that make files of events, and timers: eventfd, signalfd, timerfd, setitimer."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.calls.signals import signal_set
from rvsim.guest.linux.calls.time import pair_bytes, time_pair
from rvsim.guest.linux.clock import CLOCKS
from rvsim.guest.linux.errno import EINVAL, EPERM, CallError
from rvsim.guest.linux.files import O_CLOEXEC, O_NONBLOCK, OpenFile
from rvsim.guest.linux.pipes import EventCounter, SignalFile, make_pipe
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.signals import check_number
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall
from rvsim.guest.linux.timers import Timer, TimerFile

_O_DIRECT: Final = 0o40000
_EFD_SEMAPHORE: Final = 1
_ABSTIME, _CANCEL_ON_SET = 1, 2
_TIMERFD_CLOCKS: Final = (0, 1, 7)
_ALARM_CLOCKS: Final = (8, 9)
"""Those that wake the machine, for a privileged user."""

_SIGALRM: Final = 14
_SIGEV_SIGNAL, _SIGEV_NONE, _SIGEV_THREAD_ID = 0, 1, 4
_MICROSECOND: Final = 1000


def _add(process: LinuxProcess, file: OpenFile, flags: int) -> int:
    return process.files.add(file, cloexec=bool(flags & O_CLOEXEC))


@syscall(59, "pipe2")
def pipe2(process: LinuxProcess, addr: Addr, flags: Flags) -> int:
    """Make a pipe: two descriptors, the first to read."""
    if flags & ~(O_CLOEXEC | O_NONBLOCK | _O_DIRECT):
        return EINVAL
    process.put(addr, bytes(8))
    reader, writer = make_pipe(flags & O_NONBLOCK)
    fds = [_add(process, reader, flags)]
    try:
        fds.append(_add(process, writer, flags))
    except CallError:
        process.files.close(fds[0])
        raise
    process.put(addr, struct.pack("<ii", *fds))
    return 0


@syscall(19, "eventfd2")
def eventfd2(process: LinuxProcess, value: Int, flags: Flags) -> int:
    """Make a counter of events."""
    if flags & ~(O_CLOEXEC | O_NONBLOCK | _EFD_SEMAPHORE):
        return EINVAL
    status, semaphore = flags & ~_EFD_SEMAPHORE, bool(flags & _EFD_SEMAPHORE)
    return _add(process, EventCounter(value & 0xFFFF_FFFF, status, semaphore=semaphore), flags)


@syscall(74, "signalfd4")
def signalfd4(process: LinuxProcess, fd: Int, addr: Addr, size: Size, flags: Flags) -> int:
    """Make a file of the signals of a set, or change the set of one."""
    if flags & ~(O_CLOEXEC | O_NONBLOCK):
        return EINVAL
    wanted = signal_set(process, addr, size)
    if fd == -1:
        return _add(process, SignalFile(process.signals, wanted, flags), flags)
    file = process.files[fd]
    if not isinstance(file, SignalFile):
        return EINVAL
    file.wanted = wanted
    return fd


# Timers that are files


@syscall(85, "timerfd_create")
def timerfd_create(process: LinuxProcess, clock: Int, flags: Flags) -> int:
    """Make a timer that is read."""
    if clock in _ALARM_CLOCKS:
        return EPERM
    if clock not in _TIMERFD_CLOCKS or flags & ~(O_CLOEXEC | O_NONBLOCK):
        return EINVAL
    return _add(process, TimerFile(process.clock, clock, flags), flags)


def _timer_file(process: LinuxProcess, fd: int) -> TimerFile:
    file = process.files[fd]
    if not isinstance(file, TimerFile):
        raise CallError(EINVAL)
    file.events()  # notes what has expired
    return file


@syscall(86, "timerfd_settime")
def timerfd_settime(process: LinuxProcess, fd: Int, flags: Flags, new: Addr, old: Addr) -> int:
    """Let a timer expire after a time, or at one, and then after each interval."""
    interval, value = time_pair(process.get(new, 32))
    if flags & ~(_ABSTIME | _CANCEL_ON_SET):
        return EINVAL
    file = _timer_file(process, fd)
    before = _times(file.timer)
    file.set(value, interval, absolute=bool(flags & _ABSTIME))
    if old:
        process.put(old, before)
    return 0


@syscall(87, "timerfd_gettime")
def timerfd_gettime(process: LinuxProcess, fd: Int, addr: Addr) -> int:
    """Tell when a timer expires next."""
    process.put(addr, _times(_timer_file(process, fd).timer))
    return 0


def _times(timer: Timer, unit: int = 1) -> bytes:
    return pair_bytes(timer.interval, timer.left(), unit)


# Timers that send signals


def _interval_timer(process: LinuxProcess, which: int) -> Timer:
    if not 0 <= which < len(process.timers.intervals):
        raise CallError(EINVAL)
    process.timers.expire()
    return process.timers.intervals[which].timer


@syscall(102, "getitimer")
def getitimer(process: LinuxProcess, which: Int, addr: Addr) -> int:
    """Tell when a timer sends its signal next."""
    process.put(addr, _times(_interval_timer(process, which), _MICROSECOND))
    return 0


@syscall(103, "setitimer")
def setitimer(process: LinuxProcess, which: Int, new: Addr, old: Addr) -> int:
    """Have SIGALRM, SIGVTALRM or SIGPROF sent after a time, and then after each interval."""
    content = process.get(new, 32) if new else bytes(32)
    interval, value = time_pair(content, _MICROSECOND)
    timer = _interval_timer(process, which)
    before = _times(timer, _MICROSECOND)
    timer.arm(value, interval)
    if old:
        process.put(old, before)
    return 0


@syscall(107, "timer_create")
def timer_create(process: LinuxProcess, clock: Int, event: Addr, out: Addr) -> int:
    """Make a timer that sends a signal of choice, or none."""
    value: int | None = None
    number, notify, thread = _SIGALRM, _SIGEV_SIGNAL, PROCESS_ID
    if event:
        value, number, notify, thread = struct.unpack("<Qiii", process.get(event, 64)[:20])
    if clock not in CLOCKS or notify not in (_SIGEV_SIGNAL, _SIGEV_NONE, _SIGEV_THREAD_ID):
        return EINVAL
    if notify == _SIGEV_THREAD_ID and thread != PROCESS_ID:
        return EINVAL
    number = 0 if notify == _SIGEV_NONE else check_number(number)
    process.put(out, bytes(4))
    process.put(out, struct.pack("<i", process.timers.make(clock, number, value)))
    return 0


@syscall(110, "timer_settime")
def timer_settime(process: LinuxProcess, number: Int, flags: Flags, new: Addr, old: Addr) -> int:
    """Let a timer expire after a time, or at one, and then after each interval."""
    interval, value = time_pair(process.get(new, 32))
    timer = process.timers[number].timer
    before = _times(timer)
    timer.arm(value, interval, absolute=bool(flags & _ABSTIME))
    if old:
        process.put(old, before)
    return 0


@syscall(108, "timer_gettime")
def timer_gettime(process: LinuxProcess, number: Int, addr: Addr) -> int:
    """Tell when a timer expires next."""
    process.put(addr, _times(process.timers[number].timer))
    return 0


@syscall(109, "timer_getoverrun")
def timer_getoverrun(process: LinuxProcess, number: Int) -> int:
    """How many more times a timer had expired when it sent its last signal."""
    return min(process.timers[number].overruns, 0x7FFF_FFFF)


@syscall(111, "timer_delete")
def timer_delete(process: LinuxProcess, number: Int) -> int:
    """Forget a timer."""
    process.timers.delete(number)
    return 0
