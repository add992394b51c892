"""System calls on names of files, all of which `rvsim.guest.linux.grants` resolves."""

from __future__ import annotations

import os
from typing import Final

from rvsim.guest.linux.errno import (
    EACCES,
    EBUSY,
    EEXIST,
    EINVAL,
    EISDIR,
    ENOENT,
    ENOTDIR,
    ERANGE,
    EXDEV,
    CallError,
    from_host,
)
from rvsim.guest.linux.file_nodes import Magic
from rvsim.guest.linux.files import (
    O_CLOEXEC,
    O_CREAT,
    O_EXCL,
    O_NOFOLLOW,
    O_WRONLY,
    Folder,
    HostFile,
    OpenFile,
)
from rvsim.guest.linux.made import Made
from rvsim.guest.linux.opening import open_place, opening_flags
from rvsim.guest.linux.places import OutsideError, Place
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.spots import Spot, guest_path
from rvsim.guest.linux.status import USER_ID, Status
from rvsim.guest.linux.table import Addr, Flags, Int, Long, Mode, Size, Text, syscall

AT_FDCWD: Final = -100
AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = 0x100, 0x1000
_AT_REMOVEDIR: Final = 0x200
_AT_NO_AUTOMOUNT, _AT_STATX_SYNC_TYPE = 0x800, 0x6000
_STATX_RESERVED: Final = 1 << 31
_AT_EACCESS: Final = 0x200
_ACCESS_FLAGS: Final = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | _AT_EACCESS
_RENAME_NOREPLACE: Final = 1
_W_OK: Final = 2


def _start(process: LinuxProcess, dirfd: int, path: bytes) -> Spot | None:
    """The folder that a relative path starts from; None for the working directory.

    An empty path leads nowhere, whatever the descriptor.
    """
    if not path or path.startswith(b"/") or dirfd == AT_FDCWD:
        return None
    spot = process.files.any(dirfd).spot
    if spot is None:
        raise CallError(ENOTDIR)
    return spot


def find_place(process: LinuxProcess, dirfd: int, path: bytes, *, follow: bool = True) -> Place:
    """Where a path leads, in ``with``, be something there or not."""
    try:
        return process.tree.find(path, _start(process, dirfd, path), follow=follow)
    except OutsideError:
        process.refused(path)
        raise


def existing(process: LinuxProcess, dirfd: int, path: bytes, *, follow: bool = True) -> Place:
    """What a path leads to, in ``with``; ENOENT if nothing is there, with a note if need be."""
    place = find_place(process, dirfd, path, follow=follow)
    if place.status is None:
        error = place.missing()
        place.spot.close()
        if isinstance(error, OutsideError):
            process.refused(path)
        raise error
    return place


def new_place(process: LinuxProcess, dirfd: int, path: bytes) -> Place:
    """Where a path will lead, in ``with``; EEXIST if something is there."""
    place = find_place(process, dirfd, path, follow=False)
    if place.status is not None:
        place.spot.close()
        raise CallError(EEXIST)
    return place


# Opening


@syscall(56, "openat")
def openat(process: LinuxProcess, dirfd: Int, path: Text, flags: Flags, mode: Mode) -> int:
    """Open a file or a folder that a grant covers, or one of the kernel's own."""
    name = process.text(path)
    cloexec = bool(flags & O_CLOEXEC)
    try:
        return process.files.add(_open(process, dirfd, name, flags, mode), cloexec=cloexec)
    except CallError as error:
        if error.code == ENOENT:
            process.missing(name)
        raise


def _open(process: LinuxProcess, dirfd: int, path: bytes, flags: int, mode: int) -> OpenFile:
    flags = opening_flags(flags)
    exclusive = flags & O_CREAT and flags & O_EXCL
    follow = not (flags & O_NOFOLLOW or exclusive)
    find = find_place if flags & O_CREAT else existing
    with find(process, dirfd, path, follow=follow) as place:
        if place.status is None and path.endswith(b"/"):
            raise CallError(EISDIR)
        return open_place(process.tree, place, flags, mode & 0o777 & ~process.umask)


# What is there


def _status(process: LinuxProcess, dirfd: int, path: bytes, flags: int) -> Status:
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | _AT_NO_AUTOMOUNT):
        raise CallError(EINVAL)
    if not path and flags & AT_EMPTY_PATH:
        if dirfd != AT_FDCWD:
            return process.files.any(dirfd).status()
        path = b"."
    follow = not flags & AT_SYMLINK_NOFOLLOW
    with existing(process, dirfd, path, follow=follow) as place:
        return _reached(place, follow)


def _reached(place: Place, follow: bool) -> Status:
    """What is at a place; of a magic link, what it leads to."""
    file = file_behind(place) if follow else None
    return place.require() if file is None else file.status()


def file_behind(place: Place) -> OpenFile | None:
    """The open file that a magic link at a place leads to; None if there is no such link."""
    found = place.node.leads_to() if isinstance(place.node, Magic) else None
    return found if isinstance(found, OpenFile) else None


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
    if mask & _STATX_RESERVED or flags & _AT_STATX_SYNC_TYPE == _AT_STATX_SYNC_TYPE:
        return EINVAL
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
    if not 0 <= mode <= 7 or flags & ~_ACCESS_FLAGS:
        return EINVAL
    if not path and flags & AT_EMPTY_PATH:
        if dirfd != AT_FDCWD:
            file = process.files.any(dirfd)
            return _permitted(file, file.status(), mode)
        path = b"."
    follow = not flags & AT_SYMLINK_NOFOLLOW
    with existing(process, dirfd, path, follow=follow) as place:
        reached = file_behind(place) if follow else None
        if reached is not None:
            return _permitted(reached, reached.status(), mode)
        return _permitted(place, place.require(), mode)


def _permitted(found: OpenFile | Place, status: Status, mode: int) -> int:
    """Whether the user may do what the bits of `mode` ask: by the permissions, and by the grant."""
    bits = status.mode >> 6 if status.owner == USER_ID else status.mode
    if mode & ~bits & 7:
        return EACCES
    if mode & _W_OK:
        if isinstance(found, Place) and found.layer is not None:
            found.check_writable()
        elif isinstance(found, (HostFile, Folder)):
            found.host_to_change()
        elif isinstance(found, Made):
            return EACCES
    return 0


@syscall(78, "readlinkat")
def readlinkat(process: LinuxProcess, dirfd: Int, path: Text, addr: Addr, count: Long) -> int:
    """The text of a link; /proc/self/exe is one to the executable."""
    if count <= 0:
        return EINVAL
    target = _link_text(process, dirfd, process.text(path))
    process.put(addr, target[:count])
    return min(len(target), count)


def _link_text(process: LinuxProcess, dirfd: int, path: bytes) -> bytes:
    if not path and dirfd != AT_FDCWD:
        return process.files.any(dirfd).link_text()
    with existing(process, dirfd, path, follow=False) as place:
        if not place.is_link:
            raise CallError(EINVAL)
        return place.link_text()


# The working directory


@syscall(17, "getcwd")
def getcwd(process: LinuxProcess, addr: Addr, size: Size) -> int:
    """The working directory's name; the result counts the NUL."""
    name = guest_path(process.tree.cwd.name()) + b"\0"
    if len(name) > size:
        return ERANGE
    process.put(addr, name)
    return len(name)


@syscall(49, "chdir")
def chdir(process: LinuxProcess, path: Text) -> int:
    """Go to another folder."""
    with existing(process, AT_FDCWD, process.text(path)) as place:
        if not place.is_folder:
            return ENOTDIR
        spot = process.tree.into(place)
        process.tree.move(spot.copy() if spot is place.spot else spot)
    return 0


@syscall(50, "fchdir")
def fchdir(process: LinuxProcess, fd: Int) -> int:
    """Go to an open folder."""
    spot = process.files.any(fd).spot
    if spot is None:
        return ENOTDIR
    process.tree.move(spot.copy())
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
    with existing(process, dirfd, name.rstrip(b"/") or name, follow=False) as place:
        if name.endswith(b"/") and not place.is_folder:
            return ENOTDIR
        folder, entry = _to_change(process, place)
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


def _to_change(process: LinuxProcess, place: Place) -> tuple[int, bytes]:
    """The host's folder and name of an entry that may go; what leads to a grant has to stay."""
    if process.tree.holds_a_grant(place.parts):
        raise CallError(EBUSY)
    return place.host_to_change()


@syscall(34, "mkdirat")
def mkdirat(process: LinuxProcess, dirfd: Int, path: Text, mode: Mode) -> int:
    """Make a folder."""
    name = process.text(path)
    with new_place(process, dirfd, name.rstrip(b"/") or name) as place:
        folder, entry = place.host_to_change()
        try:
            os.mkdir(entry, mode & 0o777 & ~process.umask, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(276, "renameat2")
def renameat2(
    process: LinuxProcess, old_dirfd: Int, old: Text, new_dirfd: Int, new: Text, flags: Flags
) -> int:
    """Rename a file, a link itself or a folder, within one grant that may be written."""
    if flags & ~_RENAME_NOREPLACE:
        return EINVAL
    with (
        existing(process, old_dirfd, process.text(old), follow=False) as source,
        find_place(process, new_dirfd, process.text(new), follow=False) as target,
    ):
        if flags & _RENAME_NOREPLACE and target.status is not None:
            return EEXIST
        old_folder, old_name = _to_change(process, source)
        new_folder, new_name = _to_change(process, target)
        if not source.shares_mount(target):
            return EXDEV
        try:
            os.rename(old_name, new_name, src_dir_fd=old_folder, dst_dir_fd=new_folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(45, "truncate")
def truncate(process: LinuxProcess, path: Text, length: Long) -> int:
    """Set the size of a file."""
    with existing(process, AT_FDCWD, process.text(path)) as place:
        file = open_place(process.tree, place, O_WRONLY, 0)
    try:
        file.truncate(length)
    finally:
        file.close()
    return 0
