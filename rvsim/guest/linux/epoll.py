"""An epoll instance: a set of files, and what the program wants to know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim.guest.linux.errno import EEXIST, EINVAL, ELOOP, ENOENT, ENOSPC, EPERM, CallError
from rvsim.guest.linux.files import MOST_FILES, O_RDWR, POLLERR, POLLHUP, AnonymousFile, OpenFile

EPOLLET, EPOLLONESHOT, EPOLLWAKEUP, EPOLLEXCLUSIVE = 1 << 31, 1 << 30, 1 << 29, 1 << 28
_OPTIONS: Final = EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE
_ALWAYS: Final = POLLERR | POLLHUP


@dataclass(slots=True)
class _Interest:
    file: OpenFile
    events: int
    data: int
    seen: int = -1
    """The file's activity when it was last told of, for EPOLLET."""

    def ready(self) -> int:
        wanted = self.events & ~_OPTIONS
        found = self.file.events() & (wanted | _ALWAYS) if self.events & ~EPOLLONESHOT else 0
        if self.events & EPOLLET and self.seen == self.file.activity:
            return 0
        return found


class Epoll(AnonymousFile):
    """What `epoll_create1` makes; the files are those of `epoll_ctl`, by descriptor and file.

    One may be in another, but no deeper: that keeps the work of a wait within bounds.
    """

    name = b"anon_inode:[eventpoll]"

    inside = False
    """Whether it has been put into another."""

    def __init__(self) -> None:
        super().__init__(O_RDWR)
        self._interests: dict[tuple[int, int], _Interest] = {}

    def add(self, fd: int, file: OpenFile, events: int, data: int) -> None:
        """EPOLL_CTL_ADD."""
        if not file.watchable:
            raise CallError(EPERM)
        if (fd, id(file)) in self._interests:
            raise CallError(EEXIST)
        if file is self:
            raise CallError(EINVAL)
        if isinstance(file, Epoll) and (self.inside or file.holds_epoll()):
            raise CallError(ELOOP)
        if len(self._open()) >= MOST_FILES:
            raise CallError(ENOSPC)
        if isinstance(file, Epoll):
            file.inside = True
        self._interests[fd, id(file)] = _Interest(file, events, data)

    def modify(self, fd: int, file: OpenFile, events: int, data: int) -> None:
        """EPOLL_CTL_MOD."""
        interest = self._interests.get((fd, id(file)))
        if interest is None:
            raise CallError(ENOENT)
        if (interest.events | events) & EPOLLEXCLUSIVE:
            raise CallError(EINVAL)
        self._interests[fd, id(file)] = _Interest(file, events, data)

    def remove(self, fd: int, file: OpenFile) -> None:
        """EPOLL_CTL_DEL."""
        if self._interests.pop((fd, id(file)), None) is None:
            raise CallError(ENOENT)

    def holds_epoll(self) -> bool:
        """Whether another instance is among its files."""
        return any(isinstance(interest.file, Epoll) for interest in self._open())

    def _open(self) -> list[_Interest]:
        """The interests whose files are open: one goes with the last descriptor of its file."""
        gone = [key for key, interest in self._interests.items() if interest.file.closed]
        for key in gone:
            del self._interests[key]
        return list(self._interests.values())

    def take(self, most: int) -> list[tuple[int, int]]:
        """(events, data) of the files that are ready, at most so many; the next call has others."""
        found: list[tuple[int, int]] = []
        for key, interest in list(self._interests.items()):
            if interest.file.closed or len(found) == most:
                continue
            events = interest.ready()
            if not events:
                continue
            found.append((events, interest.data))
            interest.seen = interest.file.activity
            if interest.events & EPOLLONESHOT:
                interest.events = EPOLLONESHOT
            self._interests[key] = self._interests.pop(key)
        return found

    def files(self) -> list[OpenFile]:
        """The files that it waits for."""
        return [interest.file for interest in self._open()]

    def events(self) -> int:
        ready = [interest for interest in self._open() if interest.ready()]
        self.activity = sum(interest.file.activity for interest in self._open())
        return self.READABLE if ready else 0

    def changes_at(self) -> int | None:
        moments = [file.changes_at() for file in self.files()]
        return min((m for m in moments if m is not None), default=None)
