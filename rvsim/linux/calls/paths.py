"""System calls on names of files, all of which `rvsim.linux.grants` resolves."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rvsim.linux.errno import (
    EACCES,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENOENT,
    ENOTDIR,
    EOPNOTSUPP,
    ERANGE,
    EROFS,
    CallError,
    from_host,
)
from rvsim.linux.files import (
    O_ACCMODE,
    O_APPEND,
    O_CLOEXEC,
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_NOFOLLOW,
    O_RDWR,
    O_TMPFILE,
    O_TRUNC,
    O_WRONLY,
    Device,
    Folder,
    HostFile,
    OpenFile,
)
from rvsim.linux.grants import OutsideError, Parts, Place, guest_path
from rvsim.linux.status import Status, status_of
from rvsim.linux.table import Addr, Flags, Int, Long, Size, Text, syscall

if TYPE_CHECKING:
    from rvsim.linux.process import LinuxProcess

_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW, _AT_REMOVEDIR, _AT_EMPTY_PATH = 0x100, 0x200, 0x1000
_AT_NO_AUTOMOUNT, _AT_STATX_SYNC_TYPE = 0x800, 0x6000
_RENAME_NOREPLACE: Final = 1
_W_OK, _X_OK = 2, 1
_EXECUTABLE: Final = b"/proc/self/exe"
_FOLDER_STATUS: Final = Status(mode=stat.S_IFDIR | 0o555, size=4096, links=2)
_DEVICES: Final = (b"/dev/null", b"/dev/zero", b"/dev/random", b"/dev/urandom")
# Never blocks, whatever has taken the file's place; never follows a link.
_SAFE: Final[int] = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC")
)


def _start(process: LinuxProcess, dirfd: int, path: bytes) -> Parts | None:
    """The folder that a relative path starts from; None for the working directory."""
    if path.startswith(b"/") or dirfd == _AT_FDCWD:
        return None
    file = process.files[dirfd]
    if not isinstance(file, Folder):
        raise CallError(ENOTDIR)
    return file.parts


def _find(process: LinuxProcess, dirfd: int, path: bytes, *, follow: bool = True) -> Place:
    return process.tree.find(path, _start(process, dirfd, path), follow=follow)


def _existing(process: LinuxProcess, dirfd: int, path: bytes, *, follow: bool = True) -> Place:
    place = _find(process, dirfd, path, follow=follow)
    if place.mount is not None and place.status is None:
        raise CallError(ENOENT)
    return place


# Opening


@syscall(56, "openat")
def openat(process: LinuxProcess, dirfd: Int, path: Text, flags: Flags, mode: Flags) -> int:
    """Open a file or a folder that a grant covers, or one of the simple devices."""
    name = process.text(path)
    cloexec = bool(flags & O_CLOEXEC)
    try:
        return process.files.add(_open(process, dirfd, name, flags, mode), cloexec=cloexec)
    except OutsideError:
        process.refused(name)
        raise
    except CallError as error:
        if error.code == ENOENT:
            process.missing(name)
        raise


def _open(process: LinuxProcess, dirfd: int, path: bytes, flags: int, mode: int) -> OpenFile:
    if path in _DEVICES:
        return Device(flags, _device_content(process, path))
    if flags & O_TMPFILE:
        raise CallError(EOPNOTSUPP)
    if path == _EXECUTABLE:
        return _open_executable(process, flags)
    exclusive = flags & O_CREAT and flags & O_EXCL
    place = _find(process, dirfd, path, follow=not (flags & O_NOFOLLOW or exclusive))
    writes = flags & O_ACCMODE != 0 or bool(flags & O_TRUNC)
    if place.mount is not None and place.status is None:
        if not flags & O_CREAT:
            raise CallError(ENOENT)
        if path.endswith(b"/"):
            raise CallError(EISDIR)
        writes = True
    elif exclusive:
        raise CallError(EEXIST)
    elif place.is_folder and (writes or flags & O_CREAT):
        raise CallError(EISDIR)
    elif flags & O_DIRECTORY and not place.is_folder:
        raise CallError(ENOTDIR)
    elif place.is_link:
        raise CallError(ELOOP)
    return _open_place(process, place, flags, mode, writes)


def _open_place(
    process: LinuxProcess, place: Place, flags: int, mode: int, writes: bool
) -> OpenFile:
    with place.parent(write=writes) as (folder, name):
        try:
            host_flags = _host_flags(flags) | _SAFE
            fd = os.open(name, host_flags, mode & 0o777 & ~process.umask, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
    kind = os.fstat(fd).st_mode
    if stat.S_ISDIR(kind):
        return Folder(fd, flags, place.parts)
    if stat.S_ISREG(kind):
        return HostFile(fd, flags)
    os.close(fd)  # a device, pipe or socket of the host
    raise CallError(EACCES)


def _host_flags(flags: int) -> int:
    access = {O_WRONLY: os.O_WRONLY, O_RDWR: os.O_RDWR}.get(flags & O_ACCMODE, os.O_RDONLY)
    names = {O_CREAT: os.O_CREAT, O_EXCL: os.O_EXCL, O_TRUNC: os.O_TRUNC, O_APPEND: os.O_APPEND}
    return access | sum(host for guest, host in names.items() if flags & guest)


def _device_content(process: LinuxProcess, path: bytes) -> Callable[[int], bytes]:
    if path == b"/dev/null":
        return lambda count: b""
    return bytes if path == b"/dev/zero" else process.random


def _open_executable(process: LinuxProcess, flags: int) -> OpenFile:
    if flags & O_ACCMODE or flags & O_TRUNC:
        raise CallError(EACCES)
    try:
        return HostFile(os.open(process.executable(), os.O_RDONLY | _SAFE), flags)
    except OSError as error:
        raise from_host(error) from None


# What is there


def _status(process: LinuxProcess, dirfd: int, path: bytes, flags: int) -> Status:
    if flags & ~(_AT_SYMLINK_NOFOLLOW | _AT_EMPTY_PATH | _AT_NO_AUTOMOUNT):
        raise CallError(EINVAL)
    if not path and flags & _AT_EMPTY_PATH:
        if dirfd != _AT_FDCWD:
            return process.files[dirfd].status()
        path = b"."
    if path in _DEVICES:
        return Device(0, bytes).status()
    if path == _EXECUTABLE:
        return status_of(os.stat(process.executable()))
    place = _existing(process, dirfd, path, follow=not flags & _AT_SYMLINK_NOFOLLOW)
    return _FOLDER_STATUS if place.status is None else status_of(place.status)


@syscall(79, "newfstatat")
def newfstatat(process: LinuxProcess, dirfd: Int, path: Text, addr: Addr, flags: Flags) -> int:
    """Tell what a name is."""
    process.put(addr, _status(process, dirfd, process.text(path), flags).stat())
    return 0


@syscall(291, "statx")
def statx(
    process: LinuxProcess, dirfd: Int, path: Text, flags: Flags, mask: Flags, addr: Addr
) -> int:
    """Tell what a name is, in the newer layout; whatever `mask` asks, all that is known."""
    status = _status(process, dirfd, process.text(path), flags & ~_AT_STATX_SYNC_TYPE)
    process.put(addr, status.statx())
    return 0


@syscall(48, "faccessat")
def faccessat(process: LinuxProcess, dirfd: Int, path: Text, mode: Int) -> int:
    """Whether a file could be opened."""
    return _access(process, dirfd, process.text(path), mode, 0)


@syscall(439, "faccessat2")
def faccessat2(process: LinuxProcess, dirfd: Int, path: Text, mode: Int, flags: Flags) -> int:
    """Whether a file could be opened, by the effective user, who is the real one."""
    return _access(process, dirfd, process.text(path), mode, flags)


def _access(process: LinuxProcess, dirfd: int, path: bytes, mode: int, flags: int) -> int:
    if not 0 <= mode <= 7:
        return EINVAL
    if path in _DEVICES:
        return EACCES if mode & _X_OK else 0
    if path == _EXECUTABLE:
        return EACCES if mode & _W_OK else 0
    place = _existing(process, dirfd, path, follow=not flags & _AT_SYMLINK_NOFOLLOW)
    if mode & _W_OK and (place.mount is None or not place.mount.writable):
        return EROFS
    if place.status is not None and mode & _X_OK and not place.status.st_mode & 0o111:
        return EACCES
    return 0


@syscall(78, "readlinkat")
def readlinkat(process: LinuxProcess, dirfd: Int, path: Text, addr: Addr, count: Long) -> int:
    """The text of a link; /proc/self/exe is one to the executable."""
    if count <= 0:
        return EINVAL
    name = process.text(path)
    if name == _EXECUTABLE:
        target: bytes | None = process.executable()
    else:
        target = process.tree.readlink(name, _start(process, dirfd, name))
    if target is None:
        return EINVAL
    process.put(addr, target[:count])
    return min(len(target), count)


# The working directory


@syscall(17, "getcwd")
def getcwd(process: LinuxProcess, addr: Addr, size: Size) -> int:
    """The working directory's name; the result counts the NUL."""
    name = guest_path(process.tree.cwd) + b"\0"
    if len(name) > size:
        return ERANGE
    process.put(addr, name)
    return len(name)


@syscall(49, "chdir")
def chdir(process: LinuxProcess, path: Text) -> int:
    """Go to another folder."""
    place = _existing(process, _AT_FDCWD, process.text(path))
    if not place.is_folder:
        return ENOTDIR
    process.tree.cwd = place.parts
    return 0


@syscall(50, "fchdir")
def fchdir(process: LinuxProcess, fd: Int) -> int:
    """Go to an open folder."""
    file = process.files[fd]
    if not isinstance(file, Folder):
        return ENOTDIR
    process.tree.cwd = file.parts
    return 0


@syscall(166, "umask")
def umask(process: LinuxProcess, mask: Int) -> int:
    """Set which permissions new files lack; the host's own mask holds too."""
    old, process.umask = process.umask, mask & 0o777
    return old


# Changes, where a grant is one to write


@syscall(35, "unlinkat")
def unlinkat(process: LinuxProcess, dirfd: Int, path: Text, flags: Flags) -> int:
    """Remove a file, a link (never what it leads to) or an empty folder."""
    if flags & ~_AT_REMOVEDIR:
        return EINVAL
    name = process.text(path)
    if name.rstrip(b"/").rpartition(b"/")[2] in (b".", b".."):
        return EINVAL if flags & _AT_REMOVEDIR else EISDIR
    place = _existing(process, dirfd, name.rstrip(b"/") or name, follow=False)
    if name.endswith(b"/") and not place.is_folder:
        return ENOTDIR
    with place.parent(write=True) as (folder, entry):
        try:
            if flags & _AT_REMOVEDIR:
                os.rmdir(entry, dir_fd=folder)
            elif place.is_folder:
                return EISDIR
            else:
                os.unlink(entry, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(34, "mkdirat")
def mkdirat(process: LinuxProcess, dirfd: Int, path: Text, mode: Flags) -> int:
    """Make a folder."""
    name = process.text(path)
    place = _find(process, dirfd, name.rstrip(b"/") or name, follow=False)
    if place.mount is None or place.status is not None:
        return EEXIST
    with place.parent(write=True) as (folder, entry):
        try:
            os.mkdir(entry, mode & 0o777 & ~process.umask, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(276, "renameat2")
def renameat2(
    process: LinuxProcess, old_dirfd: Int, old: Text, new_dirfd: Int, new: Text, flags: Flags
) -> int:
    """Rename a file, a link itself or a folder, within what may be written."""
    if flags & ~_RENAME_NOREPLACE:
        return EINVAL
    source = _existing(process, old_dirfd, process.text(old), follow=False)
    target = _find(process, new_dirfd, process.text(new), follow=False)
    if flags & _RENAME_NOREPLACE and (target.mount is None or target.status is not None):
        return EEXIST
    with (
        source.parent(write=True) as (old_folder, old_name),
        target.parent(write=True) as (new_folder, new_name),
    ):
        try:
            os.rename(old_name, new_name, src_dir_fd=old_folder, dst_dir_fd=new_folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(45, "truncate")
def truncate(process: LinuxProcess, path: Text, length: Long) -> int:
    """Set the size of a file."""
    place = _existing(process, _AT_FDCWD, process.text(path))
    if place.is_folder:
        return EISDIR
    file = _open_place(process, place, O_WRONLY, 0, True)
    try:
        file.truncate(length)
    finally:
        file.close()
    return 0
