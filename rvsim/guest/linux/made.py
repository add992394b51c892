"""Open files whose content the kernel makes."""

from __future__ import annotations

from collections.abc import Callable

from rvsim.guest.linux.errno import EACCES, EINVAL, ENODEV, CallError
from rvsim.guest.linux.files import LARGEST_OFFSET, SEEK_CUR, SEEK_END, SEEK_SET, OpenFile, writes
from rvsim.guest.linux.status import Status


class Made(OpenFile):
    """A file whose content the kernel makes: when it is first read, and again from its start."""

    has_places = True
    watchable = False

    def __init__(
        self, make: Callable[[], bytes], flags: int, *, name: bytes, status: Status
    ) -> None:
        super().__init__(flags)
        if writes(flags):
            raise CallError(EACCES)
        self._make = make
        self._content: bytes | None = None
        self._status = status
        self.name = name
        self.position = 0

    def read(self, count: int, at: int | None = None) -> bytes:
        start = self.position if at is None else at
        if start == 0 or self._content is None:
            self._content = self._make()
        part = self._content[start : start + count]
        if at is None:
            self.position += len(part)
        return part

    def seek(self, offset: int, whence: int) -> int:
        base = {SEEK_SET: 0, SEEK_CUR: self.position, SEEK_END: self._status.size}.get(whence)
        if base is None or not 0 <= base + offset <= LARGEST_OFFSET:
            raise CallError(EINVAL)
        self.position = base + offset
        return self.position

    def status(self) -> Status:
        return self._status

    def check_mappable(self) -> None:
        if not self._status.size:  # as most files of /proc and /sys
            raise CallError(ENODEV)

    def reopen(self, flags: int) -> OpenFile:
        return Made(self._make, flags, name=self.name, status=self._status)

    def sync(self) -> None:
        pass
