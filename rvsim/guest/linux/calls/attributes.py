"""System calls that change what is known of a file: permissions, owner, times, attributes."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rvsim.guest.linux.calls.paths import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_NOFOLLOW,
    existing,
    file_behind,
)
from rvsim.guest.linux.clock import SECOND
from rvsim.guest.linux.errno import EINVAL, EOPNOTSUPP, EPERM, CallError, from_host
from rvsim.guest.linux.files import OpenFile
from rvsim.guest.linux.places import Place
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.status import USER_ID
from rvsim.guest.linux.table import Addr, Flags, Int, Mode, Size, Text, syscall

_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_PERMISSIONS: Final = 0o777
"""Bits of a mode that reach the host: not those by which a program runs as somebody else."""

_LOOK: Final[int] = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def _reached(
    process: LinuxProcess, dirfd: int, path: int, flags: int
) -> Iterator[OpenFile | Place]:
    """What a path leads to, to change it: an open file, also by its magic link, or a place.

    An empty path is the descriptor itself where the flag allows it.  A place is one that the
    program may change.
    """
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        raise CallError(EINVAL)
    name = process.text(path)
    if not name and flags & AT_EMPTY_PATH:
        if dirfd != AT_FDCWD:
            yield process.files.any(dirfd)
            return
        name = b"."
    follow = not flags & AT_SYMLINK_NOFOLLOW
    with existing(process, dirfd, name, follow=follow) as place:
        file = file_behind(place) if follow else None
        if file is None:
            _check_own(place)
        yield place if file is None else file


def _check_own(place: Place) -> None:
    """EPERM for what the kernel makes, EROFS where a grant is one to read."""
    if place.layer is None:
        raise CallError(EPERM)
    place.check_writable()


# Permissions


@syscall(52, "fchmod")
def fchmod(process: LinuxProcess, fd: Int, mode: Mode) -> int:
    """Set the permissions of an open file."""
    return _chmod(process.files[fd].host_to_change(), mode)


@syscall(53, "fchmodat")
def fchmodat(process: LinuxProcess, dirfd: Int, path: Text, mode: Mode) -> int:
    """Set the permissions of a file."""
    return fchmodat2(process, dirfd, path, mode, Flags(0))


@syscall(452, "fchmodat2")
def fchmodat2(process: LinuxProcess, dirfd: Int, path: Text, mode: Mode, flags: Flags) -> int:
    """Set the permissions of a file, or of an open one where there is no path; links have none."""
    with _reached(process, dirfd, path, flags) as found:
        if isinstance(found, OpenFile):
            return _chmod(found.host_to_change(), mode)
        if found.is_link:
            return EOPNOTSUPP
        folder, entry = found.host()
        try:
            fd = os.open(entry, _LOOK, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
        try:
            return _chmod(fd, mode)
        finally:
            os.close(fd)


def _chmod(fd: int, mode: int) -> int:
    try:  # by the host's own magic link, since a descriptor that only looks can't be changed
        os.chmod(_magic_link(fd), mode & _PERMISSIONS)
    except OSError as error:
        raise from_host(error) from None
    return 0


def _magic_link(fd: int) -> str:
    return f"/proc/self/fd/{fd}"


# Owners


@syscall(54, "fchownat")
def fchownat(
    process: LinuxProcess, dirfd: Int, path: Text, user: Int, group: Int, flags: Flags
) -> int:
    """Give a file to its owner; nobody else may have it."""
    with _reached(process, dirfd, path, flags) as found:
        if isinstance(found, OpenFile):
            found.host_to_change()
    return _chown(user, group)


@syscall(55, "fchown")
def fchown(process: LinuxProcess, fd: Int, user: Int, group: Int) -> int:
    """Give an open file to its owner; nobody else may have it."""
    process.files[fd].host_to_change()
    return _chown(user, group)


def _chown(user: int, group: int) -> int:
    return 0 if {user, group} <= {-1, USER_ID} else EPERM


# Times


@syscall(88, "utimensat")
def utimensat(process: LinuxProcess, dirfd: Int, path: Text, times: Addr, flags: Flags) -> int:
    """Set when a file was read and changed, or an open one's times where there is no path."""
    wanted = _times(process, times)
    if wanted == [None, None]:  # not even the path matters
        return 0
    if not path and dirfd != AT_FDCWD:
        return EINVAL if flags else _set_open_times(process.files[dirfd], wanted)
    with _reached(process, dirfd, path, flags) as found:
        if isinstance(found, OpenFile):
            return _set_open_times(found, wanted)
        folder, entry = found.host()
        try:
            before = os.stat(entry, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise from_host(error) from None
        return _set_times(before, wanted, entry, folder)


def _set_open_times(file: OpenFile, wanted: list[int | None]) -> int:
    fd = file.host_to_change()
    return _set_times(os.fstat(fd), wanted, _magic_link(fd) if file.is_path else fd)


def _times(process: LinuxProcess, addr: int) -> list[int | None]:
    """Two times in nanoseconds, None for one to keep; the host's now, as for a file written now."""
    now = time.time_ns()
    if not addr:
        return [now, now]
    words = struct.unpack("<4q", process.get(addr, 32))
    return [_one_time(words[0], words[1], now), _one_time(words[2], words[3], now)]


def _one_time(seconds: int, nanoseconds: int, now: int) -> int | None:
    if nanoseconds == _UTIME_NOW:
        return now
    if nanoseconds == _UTIME_OMIT:
        return None
    if not 0 <= nanoseconds < SECOND:
        raise CallError(EINVAL)
    return seconds * SECOND + nanoseconds


def _set_times(
    found: os.stat_result,
    wanted: list[int | None],
    what: int | str | bytes,
    folder: int | None = None,
) -> int:
    before = found.st_atime_ns, found.st_mtime_ns
    read, changed = (b if w is None else w for w, b in zip(wanted, before, strict=True))
    try:
        if folder is None:
            os.utime(what, ns=(read, changed))
        else:
            os.utime(what, ns=(read, changed), dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise from_host(error) from None
    return 0


# Extended attributes, which no file system here has


def _no_attributes(process: LinuxProcess, path: int, *, follow: bool) -> int:
    with existing(process, AT_FDCWD, process.text(path), follow=follow):
        return EOPNOTSUPP


@syscall(5, "setxattr")
def setxattr(
    process: LinuxProcess, path: Text, name: Text, value: Addr, size: Size, flags: Flags
) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=True)


@syscall(6, "lsetxattr")
def lsetxattr(
    process: LinuxProcess, path: Text, name: Text, value: Addr, size: Size, flags: Flags
) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=False)


@syscall(7, "fsetxattr")
def fsetxattr(
    process: LinuxProcess, fd: Int, name: Text, value: Addr, size: Size, flags: Flags
) -> int:
    """No file has extended attributes."""
    _ = process.files[fd]
    return EOPNOTSUPP


@syscall(8, "getxattr")
def getxattr(process: LinuxProcess, path: Text, name: Text, value: Addr, size: Size) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=True)


@syscall(9, "lgetxattr")
def lgetxattr(process: LinuxProcess, path: Text, name: Text, value: Addr, size: Size) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=False)


@syscall(10, "fgetxattr")
def fgetxattr(process: LinuxProcess, fd: Int, name: Text, value: Addr, size: Size) -> int:
    """No file has extended attributes."""
    _ = process.files[fd]
    return EOPNOTSUPP


@syscall(11, "listxattr")
def listxattr(process: LinuxProcess, path: Text, names: Addr, size: Size) -> int:
    """No file has extended attributes: the list is empty."""
    with existing(process, AT_FDCWD, process.text(path)):
        return 0


@syscall(12, "llistxattr")
def llistxattr(process: LinuxProcess, path: Text, names: Addr, size: Size) -> int:
    """No file has extended attributes: the list is empty."""
    with existing(process, AT_FDCWD, process.text(path), follow=False):
        return 0


@syscall(13, "flistxattr")
def flistxattr(process: LinuxProcess, fd: Int, names: Addr, size: Size) -> int:
    """No file has extended attributes: the list is empty."""
    _ = process.files[fd]
    return 0


@syscall(14, "removexattr")
def removexattr(process: LinuxProcess, path: Text, name: Text) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=True)


@syscall(15, "lremovexattr")
def lremovexattr(process: LinuxProcess, path: Text, name: Text) -> int:
    """No file has extended attributes."""
    return _no_attributes(process, path, follow=False)


@syscall(16, "fremovexattr")
def fremovexattr(process: LinuxProcess, fd: Int, name: Text) -> int:
    """No file has extended attributes."""
    _ = process.files[fd]
    return EOPNOTSUPP
