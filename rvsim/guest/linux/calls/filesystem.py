"""System calls on file systems, on files without a name, and advice about files."""

from __future__ import annotations

import stat
import struct
from typing import Final

from rvsim.guest.linux.calls.paths import AT_FDCWD, existing
from rvsim.guest.linux.errno import EBADF, EFBIG, EINVAL, ENODEV, EOPNOTSUPP, ESPIPE
from rvsim.guest.linux.files import LARGEST_OFFSET, OpenFile
from rvsim.guest.linux.memory_file import MemoryFile
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.status import BLOCK
from rvsim.guest.linux.table import Addr, Flags, Int, Long, Size, Text, syscall

_EXT4: Final = 0xEF53
_BLOCKS: Final = 1 << 24
_LONGEST_NAME: Final = 255
_RELATIME: Final = 0x1000
_MFD_CLOEXEC, _MFD_ALLOW_SEALING, _MFD_NOEXEC_SEAL, _MFD_EXEC = 1, 2, 8, 16
_LONGEST_MEMFD_NAME: Final = 249
_LOCKS: Final = (1, 2, 8)
_LOCK_NB: Final = 4
_MOST_ADVICE: Final = 5
_CLOSE_RANGE_CLOEXEC: Final = 4


def _file_system() -> bytes:
    """``struct statfs`` of all files: the same on each host, with 64 GiB, of which half is free."""
    free = _BLOCKS // 2
    numbers = (_EXT4, BLOCK, _BLOCKS, free, free, _BLOCKS, free)
    return struct.pack("<7QiiQQQ32x", *numbers, 1, 0, _LONGEST_NAME, BLOCK, _RELATIME)


@syscall(43, "statfs")
def statfs(process: LinuxProcess, path: Text, addr: Addr) -> int:
    """Tell about the file system of a file."""
    with existing(process, AT_FDCWD, process.text(path)):
        pass
    process.put(addr, _file_system())
    return 0


@syscall(44, "fstatfs")
def fstatfs(process: LinuxProcess, fd: Int, addr: Addr) -> int:
    """Tell about the file system of an open file."""
    process.files.any(fd)
    process.put(addr, _file_system())
    return 0


@syscall(279, "memfd_create")
def memfd_create(process: LinuxProcess, name: Text, flags: Flags) -> int:
    """Make a file without a name, whose content is in memory."""
    if flags & ~(_MFD_CLOEXEC | _MFD_ALLOW_SEALING | _MFD_NOEXEC_SEAL | _MFD_EXEC):
        return EINVAL
    if len(process.text(name)) > _LONGEST_MEMFD_NAME:
        return EINVAL
    file = MemoryFile(process.quota)
    return process.files.add(file, cloexec=bool(flags & _MFD_CLOEXEC))


@syscall(81, "sync")
def sync(process: LinuxProcess) -> int:
    """Nothing waits here: the host has what was written."""
    return 0


@syscall(267, "syncfs")
def syncfs(process: LinuxProcess, fd: Int) -> int:
    """As sync."""
    _ = process.files[fd]
    return 0


@syscall(84, "sync_file_range")
def sync_file_range(process: LinuxProcess, fd: Int, offset: Long, count: Long, flags: Flags) -> int:
    """As sync."""
    kind = _kind(process.files[fd])
    if flags & ~7 or offset < 0 or count < 0 or offset + count > LARGEST_OFFSET:
        return EINVAL
    return 0 if kind in (stat.S_IFREG, stat.S_IFDIR) else ESPIPE


def _kind(file: OpenFile) -> int:
    return stat.S_IFMT(file.status().mode)


@syscall(223, "fadvise64")
def fadvise64(process: LinuxProcess, fd: Int, offset: Long, count: Long, advice: Int) -> int:
    """Advice on how a file will be read changes nothing."""
    if _kind(process.files[fd]) == stat.S_IFIFO:
        return ESPIPE
    return 0 if 0 <= advice <= _MOST_ADVICE and count >= 0 else EINVAL


@syscall(213, "readahead")
def readahead(process: LinuxProcess, fd: Int, offset: Long, count: Size) -> int:
    """Reading ahead changes nothing."""
    file = process.files[fd]
    if not file.readable:
        return EBADF
    return 0 if _kind(file) == stat.S_IFREG else EINVAL


@syscall(32, "flock")
def flock(process: LinuxProcess, fd: Int, operation: Int) -> int:
    """A lock, which nobody contests."""
    _ = process.files[fd]
    return 0 if operation & ~_LOCK_NB in _LOCKS else EINVAL


@syscall(47, "fallocate")
def fallocate(process: LinuxProcess, fd: Int, mode: Int, offset: Long, count: Long) -> int:
    """Make a file as long as that; there are no other modes than the default."""
    file = process.files[fd]
    if offset < 0 or count <= 0:
        return EINVAL
    if offset + count > LARGEST_OFFSET:
        return EFBIG
    if mode:
        return EOPNOTSUPP
    if not file.writable:
        return EBADF
    if _kind(file) == stat.S_IFIFO:
        return ESPIPE
    if _kind(file) != stat.S_IFREG:
        return ENODEV
    if file.status().size < offset + count:
        file.truncate(offset + count)
    return 0


@syscall(436, "close_range")
def close_range(process: LinuxProcess, first: Int, last: Int, flags: Flags) -> int:
    """Close all descriptors of a range, or mark them to be closed by `execve`."""
    low, high = first & 0xFFFF_FFFF, last & 0xFFFF_FFFF
    if low > high or flags & ~(_CLOSE_RANGE_CLOEXEC | 2):
        return EINVAL
    for fd in process.files.numbers():
        if low <= fd <= high:
            if flags & _CLOSE_RANGE_CLOEXEC:
                process.files.descriptor(fd).cloexec = True
            else:
                process.files.close(fd)
    return 0
