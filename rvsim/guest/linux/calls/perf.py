"""The system call that makes performance events, and their pages."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from rvsim.guest.linux.errno import (
    E2BIG,
    EACCES,
    EBADF,
    EINVAL,
    ENODEV,
    ENOENT,
    EOPNOTSUPP,
    ESRCH,
    CallError,
)
from rvsim.guest.linux.perf import GROUP, READ_FORMATS, PerfEvent, Source
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import Addr, Flags, Int, syscall
from rvsim.hart.memory import PAGE

# struct perf_event_attr
_SMALLEST, _KNOWN_SIZE = 64, 136
_DISABLED, _INHERIT, _PINNED, _EXCLUSIVE = 1, 2, 4, 8
_EXCLUDE_USER, _EXCLUDE_KERNEL, _FREQUENCY = 0x10, 0x20, 0x400
_HARDWARE, _SOFTWARE = 0, 1
_NO_GROUP, _PID_CGROUP, _CLOEXEC, _ALL_FLAGS = 1, 4, 8, 15

_HARDWARE_EVENTS: Final[Mapping[int, tuple[str, int | None]]] = {
    0: ("cycles", 0),
    1: ("instructions", 2),
    5: ("branch-misses", None),
    9: ("cycles", None),  # the reference clock is the core's
}
"""Names of what can be counted, and the CSR from ``cycle`` on that shows the same."""

_CLOCKS: Final = (0, 1)
"""PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK."""

_NEVER: Final = range(2, 10)
"""Software events that do not happen here: page faults, migrations and so on."""


@syscall(241, "perf_event_open")
def perf_event_open(
    process: LinuxProcess, attr: Addr, pid: Int, cpu: Int, group_fd: Int, flags: Flags
) -> int:
    """Make an event that counts what the process does."""
    if flags & ~_ALL_FLAGS or flags & _PID_CGROUP:
        return EINVAL
    kind, config, period, read_format, options = _attributes(process, attr)
    if not options & _EXCLUDE_KERNEL:  # as /proc/sys/kernel/perf_event_paranoid says: 2
        return EACCES
    _check_target(pid, cpu)
    if period or options & _FREQUENCY:
        process.note_once("perf_event_open: sampling is not modelled, events only count")
        return EOPNOTSUPP
    if options & _INHERIT and read_format & GROUP:
        return EINVAL
    source = _source(process, kind, config, counts=not options & _EXCLUDE_USER)
    leader = _leader(process, -1 if flags & _NO_GROUP else group_fd, options)
    event = PerfEvent(process.counters, source, read_format, leader)
    descriptor = process.files.add(event, cloexec=bool(flags & _CLOEXEC))
    event.enable(not options & _DISABLED)
    return descriptor


def _attributes(process: LinuxProcess, attr: int) -> tuple[int, int, int, int, int]:
    """Type, configuration, sampling period, format of what is read, and the options."""
    kind, size = struct.unpack("<II", process.get(attr, 8))
    size = size or _SMALLEST
    if not _SMALLEST <= size <= PAGE:
        raise _too_big(process, attr)
    content = process.get(attr, size)
    if any(content[_KNOWN_SIZE:]):
        raise _too_big(process, attr)
    config, period, _, read_format, options = struct.unpack_from("<5Q", content, 8)
    if read_format & ~READ_FORMATS:
        raise CallError(EINVAL)
    return kind, config, period, read_format, options


def _too_big(process: LinuxProcess, attr: int) -> CallError:
    process.put(attr + 4, struct.pack("<I", _KNOWN_SIZE))
    return CallError(E2BIG)


def _check_target(pid: int, cpu: int) -> None:
    """This process, wherever it runs or on the one hart."""
    if pid == -1:
        raise CallError(EINVAL if cpu == -1 else EACCES)
    if pid not in (0, PROCESS_ID):
        raise CallError(ESRCH)
    if cpu not in (-1, 0):
        raise CallError(EINVAL if cpu < 0 else ENODEV)


def _source(process: LinuxProcess, kind: int, config: int, *, counts: bool) -> Source:
    if kind == _SOFTWARE and config in _CLOCKS:
        return Source(process.clock.cpu)
    if kind == _SOFTWARE and config in _NEVER:
        return Source(lambda: 0)
    name, csr = _HARDWARE_EVENTS.get(config, ("", None))
    counter = process.counters.named.get(name)
    if kind != _HARDWARE or counter is None:
        raise CallError(ENOENT)  # no such unit, or it has no such event
    if name == "cycles" and process.counters.cycles_are_instructions:
        process.note_once("perf_event_open: there is no cost model, cycles count instructions")
    return Source(counter, csr) if counts else Source(lambda: 0)


def _leader(process: LinuxProcess, fd: int, options: int) -> PerfEvent | None:
    if fd == -1:
        return None
    leader = process.files[fd]
    if not isinstance(leader, PerfEvent):
        raise CallError(EBADF)
    if leader.leader is not leader or options & (_PINNED | _EXCLUSIVE):
        raise CallError(EINVAL)
    return leader
