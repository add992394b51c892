"""Performance events of the process: counting what it executes (`perf_event_open`).

The counters belong to the one process and never share hardware, so an event that is enabled runs
all of the time.  What counts is its group: a member runs while its leader does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from rvsim.guest.linux.errno import EINVAL, ENOSPC, ENOTTY, CallError
from rvsim.guest.linux.files import AnonymousFile
from rvsim.guest.linux.mappings import Mappings, Span
from rvsim.guest.linux.status import Status
from rvsim.hart.memory import PAGE, Memory

TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING, ID, GROUP, LOST = 1, 2, 4, 8, 16
READ_FORMATS: Final = 31

_ENABLE, _DISABLE, _REFRESH, _RESET, _ID = 0x2400, 0x2401, 0x2402, 0x2403, 0x8008_2407
_WHOLE_GROUP: Final = 1

# struct perf_event_mmap_page
_USER_READ, _NO_OLD_BITS = 4, 2
_COUNTER_BITS: Final = 64
_PAGE_SIZE_FIELD: Final = 96
_FIRST_INODE: Final = 1 << 33
_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Source:
    """What an event counts; `csr` is the number of a counter that shows the same to user mode."""

    now: Callable[[], int]
    csr: int | None = None


class Counters:
    """What a process can count by name, and where its events show their pages.

    `time` is its processor time in nanoseconds.  With `user_access`, user mode may read the CSRs
    ``cycle`` and ``instret``.
    """

    def __init__(
        self,
        memory: Memory,
        mappings: Mappings,
        time: Callable[[], int],
        named: Mapping[str, Callable[[], int]],
        *,
        user_access: bool = True,
    ) -> None:
        self._memory = memory
        self._mappings = mappings
        self._user_access = user_access
        self.time = time
        self.named = named
        self._ids = count(1)

    @property
    def cycles_are_instructions(self) -> bool:
        """Whether there is nothing better to count for cycles."""
        return self.named.get("cycles") is self.named.get("instructions")

    def next_id(self) -> int:
        """The number of a new event."""
        return next(self._ids)

    def map(self, event: PerfEvent, addr: int, length: int) -> None:
        """Have a new mapping show an event from now on."""
        span = Span(addr, addr + length, event.name, inode=event.inode, shared=True)
        self._mappings.show(span)
        self.show(event)

    def show(self, event: PerfEvent) -> None:
        """Bring the pages up to date where an event is mapped."""
        for span in self._mappings.of_file(event.inode):
            if span.offset == 0:
                self._memory.write(span.start, event.page(self._user_access))


class PerfEvent(AnonymousFile):
    """An event, alone or in a group, that is read as `read_format` says."""

    name = b"anon_inode:[perf_event]"

    def __init__(
        self, counters: Counters, source: Source, read_format: int, leader: PerfEvent | None
    ) -> None:
        super().__init__(0)
        self._counters = counters
        self._source = source
        self._format = read_format
        self.leader: PerfEvent = leader or self
        self.members: list[PerfEvent] = []
        if leader is not None:
            leader.members.append(self)
        self.id = counters.next_id()
        self._enabled = False
        self._count, self._time = 0, 0
        self._started: tuple[int, int] | None = None
        """The source and the clock when it began to run."""

    # Counting

    @property
    def value(self) -> int:
        """The count until now."""
        return self._count + (self._source.now() - self._started[0] if self._started else 0)

    @property
    def time(self) -> int:
        """Nanoseconds of the process for which it has run."""
        return self._time + (self._counters.time() - self._started[1] if self._started else 0)

    def enable(self, wanted: bool) -> None:
        """Let it run, if its leader does, or stop it and its members."""
        self._enabled = wanted
        for event in self.group():
            event._update()

    def group(self) -> Iterator[PerfEvent]:
        """Itself and its members."""
        yield self
        yield from self.members

    def _update(self) -> None:
        runs = self._enabled and self.leader._enabled
        if runs and self._started is None:
            self._started = self._source.now(), self._counters.time()
        elif not runs and self._started is not None:
            self._count, self._time, self._started = self.value, self.time, None
        self._counters.show(self)

    def reset(self) -> None:
        """Count from 0 again; the times stay."""
        self._count = 0
        if self._started is not None:
            self._started = self._source.now(), self._started[1]
        self._counters.show(self)

    # As a file

    def read(self, count: int, at: int | None = None) -> bytes:
        words = self._group_words() if self._format & GROUP else self._words()
        content = struct.pack(f"<{len(words)}Q", *words)
        if count < len(content):
            raise CallError(ENOSPC)
        return content

    def _words(self) -> list[int]:
        return [self.value, *self._times(), *self._tail()]

    def _group_words(self) -> list[int]:
        leader = self.leader
        values = [
            w for e in leader.group() for w in (e.value, *e._tail(self._format & (ID | LOST)))
        ]
        return [1 + len(leader.members), *leader._times(self._format), *values]

    def _times(self, wanted: int | None = None) -> list[int]:
        wanted = self._format if wanted is None else wanted
        return [self.time] * (bool(wanted & TOTAL_TIME_ENABLED) + bool(wanted & TOTAL_TIME_RUNNING))

    def _tail(self, wanted: int | None = None) -> list[int]:
        wanted = self._format if wanted is None else wanted
        return [self.id] * bool(wanted & ID) + [0] * bool(wanted & LOST)

    def control(self, request: int, argument: int) -> bytes | None:
        """`ioctl`; what it stores at its argument."""
        if request == _ID:
            return struct.pack("<Q", self.id)
        if request == _REFRESH:  # for sampling only
            raise CallError(EINVAL)
        if request not in (_ENABLE, _DISABLE, _RESET):
            raise CallError(ENOTTY)
        first = self.leader if argument & _WHOLE_GROUP else self
        for event in first.group() if argument & _WHOLE_GROUP else (self,):
            event.reset() if request == _RESET else event.enable(request == _ENABLE)
        return None

    def status(self) -> Status:
        return Status(mode=0o600, inode=self.inode)

    @property
    def inode(self) -> int:
        """Its number among the files."""
        return _FIRST_INODE + self.id

    def close(self) -> None:
        """The members of a leader that goes are on their own."""
        if self.leader is not self:
            self.leader.members.remove(self)
        for member in self.members:
            member.leader = member
            member._update()

    # The page that user mode may map

    def page(self, user_access: bool) -> bytes:
        """``struct perf_event_mmap_page``: with `user_access`, how to count without a call.

        The count is then the CSR ``cycle + index - 1`` plus the offset.
        """
        csr = self._source.csr if user_access else None
        index, shown = 0, 0
        if csr is not None and self._started is not None:
            index, shown = csr + 1, self._source.now()
        offset = (self.value - shown + _SIGN) % (1 << 64) - _SIGN
        capabilities = _NO_OLD_BITS | (0 if csr is None else _USER_READ)
        head = struct.pack(
            "<IIIIqQQQHHIQQIIQQ",
            *(0, 0, 0, index, offset, self.time, self.time, capabilities),
            *(0 if csr is None else _COUNTER_BITS, 0, 0, 0, 0, _PAGE_SIZE_FIELD, 0, 0, 0),
        )
        return head.ljust(PAGE, b"\0")

    def map(self, addr: int, length: int) -> None:
        """Show the page at the start of a new mapping; the rest is for samples, and stays empty."""
        self._counters.map(self, addr, length)
