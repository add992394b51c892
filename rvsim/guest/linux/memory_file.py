"""Files without a name, whose content is in the host's memory (`memfd_create`)."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass, replace
from typing import Final

from rvsim.guest.linux.errno import ENOSPC, CallError
from rvsim.guest.linux.files import O_RDWR, HostFile
from rvsim.guest.linux.status import Status

_PERMISSIONS: Final = 0o777


@dataclass(slots=True)
class Quota:
    """How many bytes of the host's memory all such files of a process may take together."""

    left: int


class MemoryFile(HostFile):
    """One such file.  Its size counts, also where it has holes: what is free may be filled."""

    def __init__(self, quota: Quota) -> None:
        super().__init__(_nameless(), O_RDWR)
        self._quota = quota
        self._taken = 0

    def write(self, content: bytes, at: int | None = None) -> int:
        start = self.seek(0, os.SEEK_CUR) if at is None else at
        self._grow(start + len(content))
        return super().write(content, at)

    def truncate(self, length: int) -> None:
        self._grow(length)
        super().truncate(length)
        self._quota.left += self._taken - length
        self._taken = length

    def _grow(self, size: int) -> None:
        more = size - self._taken
        if more > self._quota.left:
            raise CallError(ENOSPC)
        if more > 0:
            self._quota.left -= more
            self._taken = size

    def status(self) -> Status:
        return replace(super().status(), mode=stat.S_IFREG | _PERMISSIONS, links=0, inode=1)

    def close(self) -> None:
        self._quota.left += self._taken
        super().close()


def _nameless() -> int:
    """A descriptor of the host's: of memory, or of a file that has been removed already."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rvsim")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
