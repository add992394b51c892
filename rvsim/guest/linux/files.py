"""Open files of the guest: what all can do, and the files, folders and devices of its tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final

from rvsim.guest.linux.errno import (
    EACCES,
    EINVAL,
    EISDIR,
    ELOOP,
    ENODEV,
    ENOENT,
    ENOTTY,
    ENXIO,
    EPERM,
    EROFS,
    ESPIPE,
    CallError,
    from_host,
)
from rvsim.guest.linux.spots import Mount, Spot, duplicate, guest_path
from rvsim.guest.linux.status import Status, status_of

O_ACCMODE, O_WRONLY, O_RDWR = 3, 1, 2
O_CREAT, O_EXCL, O_TRUNC, O_APPEND = 0o100, 0o200, 0o1000, 0o2000
O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC = 0o4000, 0o200000, 0o400000, 0o2000000
O_LARGEFILE, O_PATH, O_TMPFILE = 0o100000, 0o10000000, 0o20000000
_O_NOCTTY: Final = 0o400
_DROPPED_FLAGS: Final = O_CREAT | O_EXCL | _O_NOCTTY | O_TRUNC | O_CLOEXEC
"""What says how a file is opened, and nothing of the open file."""

# Never blocks, whatever has taken the file's place.
_SAFE: Final[int] = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))

SEEK_SET, SEEK_CUR, SEEK_END = 0, 1, 2
POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL = 1, 2, 4, 8, 0x10, 0x20
POLLRDNORM, POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLRDHUP = 0x40, 0x80, 0x100, 0x200, 0x2000
MOST_FILES: Final = 1024
LARGEST_OFFSET: Final = (1 << 63) - 1
_FIFO_STATUS: Final = Status(mode=stat.S_IFIFO | 0o600)


class WouldBlock(Exception):
    """A file has nothing to read yet, or no room: the call waits, or answers EAGAIN."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def writes(flags: int) -> bool:
    """Whether opening with these flags may change the file."""
    return flags & O_ACCMODE != 0 or bool(flags & O_TRUNC)


def host_flags(flags: int) -> int:
    """The host's flags for an opening, which never waits."""
    access = {O_WRONLY: os.O_WRONLY, O_RDWR: os.O_RDWR}.get(flags & O_ACCMODE, os.O_RDONLY)
    names = {O_CREAT: os.O_CREAT, O_EXCL: os.O_EXCL, O_TRUNC: os.O_TRUNC, O_APPEND: os.O_APPEND}
    return access | _SAFE | sum(host for guest, host in names.items() if flags & guest)


class OpenFile:
    """An open file as `dup` shares it.  What a kind of file can't do is an error of Linux."""

    spot: Spot | None = None
    """What a folder is, from which relative names start."""

    name = b"pipe:[1]"
    """Its name when it was opened; the streams are pipes."""

    READABLE: Final = POLLIN | POLLRDNORM
    WRITABLE: Final = POLLOUT | POLLWRNORM

    watchable = True
    """Whether epoll takes it: not files and folders, which are always ready."""
    has_places = False
    """Whether it can be read and written at a place; if not, it is a stream."""
    waits_for_room = False
    """Whether a write that it does not take whole waits for room."""
    closed = False
    activity = 0
    """Grows whenever events come, so that epoll can tell a new one from an old one."""

    def __init__(self, flags: int) -> None:
        self.flags = flags & ~_DROPPED_FLAGS

    def events(self) -> int:
        """What poll tells: POLLIN and the like."""
        return self.READABLE | self.WRITABLE

    def changes_at(self) -> int | None:
        """When its events may change by themselves, on CLOCK_MONOTONIC in nanoseconds."""
        return None

    @property
    def is_path(self) -> bool:
        """Whether it only stands for a place in the tree (O_PATH): it is not open to be used."""
        return bool(self.flags & O_PATH)

    @property
    def readable(self) -> bool:
        """Whether it was opened to read; the access mode 3 is for neither."""
        return self.flags & O_ACCMODE in (0, O_RDWR)

    @property
    def writable(self) -> bool:
        """Whether it was opened to write."""
        return self.flags & O_ACCMODE in (O_WRONLY, O_RDWR)

    def read(self, count: int, at: int | None = None) -> bytes:
        """At most `count` bytes from the file's position, or from `at`, which leaves it."""
        raise CallError(EINVAL)

    def write(self, content: bytes, at: int | None = None) -> int:
        """Write at the position, or at `at`; the number of bytes written."""
        raise CallError(EINVAL)

    def seek(self, offset: int, whence: int) -> int:
        """Move the position and tell it."""
        raise CallError(ESPIPE)

    def truncate(self, length: int) -> None:
        """Set the size."""
        raise CallError(EINVAL)

    def status(self) -> Status:
        """What `fstat` tells."""
        return _FIFO_STATUS

    def host_to_change(self) -> int:
        """The host's descriptor, to change permissions and times; an error for what has none."""
        raise CallError(EPERM)

    def check_mappable(self) -> None:
        """An error if there can be no mapping that shows what `read` gives."""
        raise CallError(ENODEV)

    def control(self, request: int, argument: int) -> bytes | None:
        """What `ioctl` stores at its argument, if anything."""
        raise CallError(ENOTTY)

    def reopen(self, flags: int) -> OpenFile:
        """What opening its entry in ``/proc/self/fd`` gives: of a stream, the same one."""
        if flags & O_ACCMODE != self.flags & O_ACCMODE:
            raise CallError(EACCES)
        return self

    def shown_name(self) -> bytes:
        """What ``/proc/self/fd`` shows."""
        return self.name

    def link_text(self) -> bytes:
        """The text of the symbolic link that this stands for."""
        raise CallError(ENOENT)

    def sync(self) -> None:
        """See the content through to the disk."""
        raise CallError(EINVAL)

    def close(self) -> None:
        """Release what the host holds, when the last descriptor is gone."""


class AnonymousFile(OpenFile):
    """What has a descriptor and no place among the files."""

    def reopen(self, flags: int) -> OpenFile:
        raise CallError(ENXIO)

    def status(self) -> Status:
        return Status(mode=0o600)


class Device(OpenFile):
    """/dev/null, /dev/zero, /dev/random or /dev/urandom."""

    has_places = True

    def __init__(self, flags: int, content: Callable[[int], bytes]) -> None:
        super().__init__(flags)
        self._content = content

    def read(self, count: int, at: int | None = None) -> bytes:
        return self._content(count)

    def write(self, content: bytes, at: int | None = None) -> int:
        return len(content)

    def seek(self, offset: int, whence: int) -> int:
        return 0

    def status(self) -> Status:
        return Status(mode=stat.S_IFCHR | 0o666)


class HostFile(OpenFile):
    """A file of the host, by its descriptor; `grant` is what covers it.

    It is a regular one, unless it was opened with O_PATH, which touches nothing.
    """

    has_places = True
    watchable = False

    def __init__(self, fd: int, flags: int, *, name: bytes = b"", grant: Mount | None = None):
        super().__init__(flags)
        self._fd = fd
        self._grant = grant
        self.name = name

    def read(self, count: int, at: int | None = None) -> bytes:
        try:
            return os.read(self._fd, count) if at is None else os.pread(self._fd, count, at)
        except OSError as error:
            raise from_host(error) from None

    def write(self, content: bytes, at: int | None = None) -> int:
        try:
            if at is None:
                return os.write(self._fd, content)
            return os.pwrite(self._fd, content, at)
        except OSError as error:
            raise from_host(error) from None

    def seek(self, offset: int, whence: int) -> int:
        if whence not in (SEEK_SET, SEEK_CUR, SEEK_END):
            raise CallError(EINVAL)
        try:
            return os.lseek(self._fd, offset, whence)
        except OSError as error:
            raise from_host(error) from None

    def truncate(self, length: int) -> None:
        if not self.writable or length < 0:
            raise CallError(EINVAL)
        try:
            os.ftruncate(self._fd, length)
        except OSError as error:
            raise from_host(error) from None

    def read_all(self) -> bytes:
        """The whole file, whatever the position."""
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    def host_status(self) -> os.stat_result:
        """What the host tells of it."""
        return os.fstat(self._fd)

    def status(self) -> Status:
        return status_of(self.host_status())

    def host_to_change(self) -> int:
        if self._grant is None or not self._grant.writable:
            raise CallError(EROFS)
        return self._fd

    def same_file(self, other: HostFile) -> bool:
        """Whether both are the same file of the host."""
        return os.path.sameopenfile(self._fd, other._fd)

    def check_mappable(self) -> None:
        if not self.readable:
            raise CallError(EACCES)

    def link_text(self) -> bytes:
        if not stat.S_ISLNK(self.status().mode):
            raise CallError(ENOENT)
        return os.readlink(b"", dir_fd=self._fd)

    def reopen(self, flags: int) -> OpenFile:
        """Open the file itself anew, whatever its name leads to by now."""
        if flags & O_PATH:
            return HostFile(duplicate(self._fd), flags, name=self.name, grant=self._grant)
        kind = stat.S_IFMT(self.status().mode)
        if kind != stat.S_IFREG:  # as by its name
            raise CallError(ELOOP if kind == stat.S_IFLNK else EACCES)
        if writes(flags) and (self._grant is None or not self._grant.writable):
            raise CallError(EROFS)
        try:  # the host's own magic link; a host without is one without this
            fd = os.open(f"/proc/self/fd/{self._fd}", host_flags(flags) & ~os.O_CREAT)
        except OSError as error:
            raise from_host(error) from None
        return HostFile(fd, flags, name=self.name, grant=self._grant)

    def sync(self) -> None:
        pass  # what the guest wrote is in the host's hands already

    def close(self) -> None:
        os.close(self._fd)


class Folder(OpenFile):
    """A folder; its entries are sorted, so that each run sees the same order.

    `list_entries` gives (name, inode, type) of what is in it.
    """

    has_places = True
    watchable = False

    def __init__(
        self,
        spot: Spot,
        flags: int,
        status: Callable[[], Status],
        list_entries: Callable[[], list[tuple[bytes, int, int]]],
    ) -> None:
        super().__init__(flags)
        self.spot: Spot = spot
        self.position = 0
        self._status = status
        self._list = list_entries
        self._entries: list[tuple[bytes, int, int]] | None = None

    def read(self, count: int, at: int | None = None) -> bytes:
        raise CallError(EISDIR)

    def seek(self, offset: int, whence: int) -> int:
        if whence == SEEK_CUR:
            offset += self.position
        if whence not in (SEEK_SET, SEEK_CUR) or not 0 <= offset <= LARGEST_OFFSET:
            raise CallError(EINVAL)
        if offset == 0:
            self._entries = None
        self.position = offset
        return offset

    def entries(self, start: int) -> list[tuple[bytes, int, int]]:
        """(name, inode, type) of the entries from number `start` on."""
        status = self._status()
        if not status.links:  # it has been removed
            raise CallError(ENOENT)
        if self._entries is None:
            inode = status.inode
            own = [(b".", inode, stat.S_IFDIR), (b"..", inode, stat.S_IFDIR)]
            self._entries = own + sorted(self._list())
        return self._entries[start:]

    def status(self) -> Status:
        return self._status()

    def host_to_change(self) -> int:
        if not self.spot.layers:
            raise CallError(EPERM)
        if not self.spot.layers[0].mount.writable:
            raise CallError(EROFS)
        return self.spot.layers[0].fd

    def shown_name(self) -> bytes:
        return guest_path(self.spot.name())

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self.spot.close()
