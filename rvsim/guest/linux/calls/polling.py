"""System calls that wait for several files at once: poll, select and epoll."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

from rvsim.guest.linux.calls.signals import signal_set
from rvsim.guest.linux.calls.time import timeout
from rvsim.guest.linux.clock import SECOND
from rvsim.guest.linux.epoll import Epoll
from rvsim.guest.linux.errno import EINVAL, CallError
from rvsim.guest.linux.files import (
    MOST_FILES,
    O_CLOEXEC,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLNVAL,
    POLLOUT,
    POLLPRI,
    POLLRDBAND,
    POLLRDNORM,
    POLLWRBAND,
    POLLWRNORM,
    OpenFile,
)
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall

_POLLFD: Final = struct.Struct("<iHH")
_EPOLL_EVENT: Final = struct.Struct("<I4xQ")
_DELETE: Final = 2
_MOST_EVENTS: Final = 0x7FFF_FFFF // _EPOLL_EVENT.size
_MILLISECOND: Final = SECOND // 1000
_READABLE: Final = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR
_WRITABLE: Final = POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR
_SELECTED: Final = (_READABLE, _WRITABLE, POLLPRI)
"""The events that make a descriptor one of each of select's three sets."""


def _wait(
    process: LinuxProcess,
    files: Sequence[OpenFile],
    ready: Callable[[], bool],
    until: int | None,
    mask: int | None,
) -> None:
    what = "files that nobody else reads or writes" if files else "a signal that nobody can send"
    why = f"the program waits for {what}"
    with process.signals.masked(mask):
        process.waiter.wait(why, until=until, ready=ready, files=files)


def _mask(process: LinuxProcess, addr: int, size: int) -> int | None:
    return signal_set(process, addr, size) if addr else None


def _tell_rest(process: LinuxProcess, addr: int, until: int | None) -> None:
    """Linux leaves in the program's `timespec` how much time is left."""
    if addr and until is not None:
        rest = max(0, until - process.clock.now(1))
        process.put(addr, struct.pack("<QQ", *divmod(rest, SECOND)))


@syscall(73, "ppoll")
def ppoll(
    process: LinuxProcess, addr: Addr, count: Size, duration: Addr, mask: Addr, size: Size
) -> int:
    """Tell which of some descriptors are ready, after a wait if none is."""
    if count > process.files.limit():
        return EINVAL
    until = timeout(process, duration)
    signals = _mask(process, mask, size)
    wanted = list(_POLLFD.iter_unpack(process.get(addr, _POLLFD.size * count)))
    files = {fd: process.files[fd] for fd, _, _ in wanted if process.files.has(fd)}

    def found() -> list[int]:
        return [_polled(files, fd, events) for fd, events, _ in wanted]

    try:
        _wait(process, list(files.values()), lambda: any(found()), until, signals)
    finally:
        _tell_rest(process, duration, until)
    answers = found()
    for i, answer in enumerate(answers):
        process.put(addr + _POLLFD.size * i + 6, struct.pack("<H", answer))
    return sum(answer != 0 for answer in answers)


def _polled(files: dict[int, OpenFile], fd: int, events: int) -> int:
    if fd < 0:
        return 0
    if fd not in files:
        return POLLNVAL
    return files[fd].events() & (events | POLLERR | POLLHUP)


@syscall(72, "pselect6")
def pselect6(
    process: LinuxProcess,
    count: Int,
    reads: Addr,
    writes: Addr,
    others: Addr,
    duration: Addr,
    mask: Addr,
) -> int:
    """Tell which descriptors of three sets are ready, after a wait if none is."""
    if count < 0:
        return EINVAL
    until = timeout(process, duration)
    signals = _mask(process, *struct.unpack("<QQ", process.get(mask, 16))) if mask else None
    size = -(-min(count, MOST_FILES) // 64) * 8
    sets = [_FdSet(process, addr, size, min(count, MOST_FILES)) for addr in (reads, writes, others)]
    files = {fd: process.files[fd] for fds in sets for fd in fds.wanted}

    def found() -> list[list[int]]:
        return [
            [fd for fd in fds.wanted if files[fd].events() & events]
            for fds, events in zip(sets, _SELECTED, strict=True)
        ]

    try:
        _wait(process, list(files.values()), lambda: any(found()), until, signals)
    finally:
        _tell_rest(process, duration, until)
    answers = found()
    for fds, answer in zip(sets, answers, strict=True):
        fds.tell(process, answer)
    return sum(map(len, answers))


class _FdSet:
    """One of select's sets: a bit for each descriptor."""

    def __init__(self, process: LinuxProcess, addr: int, size: int, count: int) -> None:
        self._addr, self._size = addr, size
        bits = int.from_bytes(process.get(addr, size), "little") if addr else 0
        self.wanted = [fd for fd in range(count) if bits >> fd & 1]

    def tell(self, process: LinuxProcess, ready: list[int]) -> None:
        if self._addr:
            bits = sum(1 << fd for fd in ready)
            process.put(self._addr, bits.to_bytes(self._size, "little"))


# Epoll


def _epoll(process: LinuxProcess, fd: int) -> Epoll:
    file = process.files[fd]
    if not isinstance(file, Epoll):
        raise CallError(EINVAL)
    return file


@syscall(20, "epoll_create1")
def epoll_create1(process: LinuxProcess, flags: Flags) -> int:
    """A new, empty set of files to wait for."""
    if flags & ~O_CLOEXEC:
        return EINVAL
    return process.files.add(Epoll(), cloexec=bool(flags))


@syscall(21, "epoll_ctl")
def epoll_ctl(process: LinuxProcess, fd: Int, operation: Int, target: Int, event: Addr) -> int:
    """Put a file into the set, change what is waited for, or take it out."""
    content = bytes(_EPOLL_EVENT.size)
    if operation != _DELETE:
        content = process.get(event, _EPOLL_EVENT.size)
    events, data = _EPOLL_EVENT.unpack(content)
    _ = process.files[fd]
    file = process.files[target]
    epoll = _epoll(process, fd)
    match operation:
        case 1:
            epoll.add(target, file, events, data)
        case 2:
            epoll.remove(target, file)
        case 3:
            epoll.modify(target, file, events, data)
        case _:
            return EINVAL
    return 0


@syscall(22, "epoll_pwait")
def epoll_pwait(
    process: LinuxProcess, fd: Int, addr: Addr, most: Int, milliseconds: Int, mask: Addr, size: Size
) -> int:
    """The files of a set that are ready, after a wait of some milliseconds; -1 is without end."""
    until = None
    if milliseconds >= 0:
        until = process.clock.now(1) + milliseconds * _MILLISECOND
    return _epoll_wait(process, fd, addr, most, until, _mask(process, mask, size))


@syscall(441, "epoll_pwait2")
def epoll_pwait2(
    process: LinuxProcess, fd: Int, addr: Addr, most: Int, duration: Addr, mask: Addr, size: Size
) -> int:
    """As epoll_pwait, with a timespec."""
    until = timeout(process, duration)
    return _epoll_wait(process, fd, addr, most, until, _mask(process, mask, size))


def _epoll_wait(
    process: LinuxProcess, fd: int, addr: int, most: int, until: int | None, mask: int | None
) -> int:
    if not 0 < most <= _MOST_EVENTS:
        return EINVAL
    epoll = _epoll(process, fd)
    _wait(process, [epoll], lambda: bool(epoll.events()), until, mask)
    found = epoll.take(most)
    process.put(addr, b"".join(_EPOLL_EVENT.pack(*pair) for pair in found))
    return len(found)
