"""The guest's file descriptors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rvsim.guest.linux.errno import EBADF, EMFILE, CallError
from rvsim.guest.linux.files import MOST_FILES, OpenFile


@dataclass(slots=True)
class _Descriptor:
    file: OpenFile
    cloexec: bool = False


@dataclass(slots=True)
class FileTable:
    """The guest's file descriptors; a new one is below `limit`, which a program may lower."""

    limit: Callable[[], int] = lambda: MOST_FILES
    _by_number: dict[int, _Descriptor] = field(default_factory=dict)

    def __getitem__(self, fd: int) -> OpenFile:
        """The open file of a descriptor; EBADF if there is none, or one that is only a path."""
        file = self.any(fd)
        if file.is_path:
            raise CallError(EBADF)
        return file

    def any(self, fd: int) -> OpenFile:
        """The same for the few calls that take a path too (open(2), O_PATH)."""
        return self.descriptor(fd).file

    def has(self, fd: int) -> bool:
        """Whether the descriptor is open to be used: ``files[fd]`` has it."""
        found = self._by_number.get(fd)
        return found is not None and not found.file.is_path

    def descriptor(self, fd: int) -> _Descriptor:
        """The descriptor itself, which has a flag of its own."""
        found = self._by_number.get(fd)
        if found is None:
            raise CallError(EBADF)
        return found

    def numbers(self) -> list[int]:
        """The descriptors that are open."""
        return sorted(self._by_number)

    def add(self, file: OpenFile, *, cloexec: bool = False, lowest: int = 0) -> int:
        """Give a file the lowest free number from `lowest` on; EMFILE if there is none."""
        for fd in range(lowest, min(self.limit(), MOST_FILES)):
            if fd not in self._by_number:
                self._by_number[fd] = _Descriptor(file, cloexec)
                return fd
        file_is_open = any(d.file is file for d in self._by_number.values())
        if not file_is_open:
            file.close()
        raise CallError(EMFILE)

    def put(self, fd: int, file: OpenFile, *, cloexec: bool = False) -> None:
        """Let `fd` mean the file, whatever it meant before."""
        if not 0 <= fd < min(self.limit(), MOST_FILES):
            raise CallError(EBADF)
        if fd in self._by_number:
            self.close(fd)
        self._by_number[fd] = _Descriptor(file, cloexec)

    def close(self, fd: int) -> None:
        """Forget a descriptor; its file is closed with the last one."""
        file = self.descriptor(fd).file
        del self._by_number[fd]
        if all(d.file is not file for d in self._by_number.values()):
            file.closed = True
            file.close()

    def close_all(self) -> None:
        """Forget all of them."""
        for fd in list(self._by_number):
            self.close(fd)
