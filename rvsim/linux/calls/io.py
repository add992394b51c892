"""System calls on open files: reading, writing, positions, descriptors."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from rvsim.linux.errno import EBADF, EFAULT, EINVAL, ENOTDIR, ENOTTY, EPERM, CallError
from rvsim.linux.files import (
    MOST_FILES,
    O_APPEND,
    O_CLOEXEC,
    O_NONBLOCK,
    Folder,
    OpenFile,
)
from rvsim.linux.table import Addr, Flags, Int, Long, Size, syscall
from rvsim.mem import R, W

if TYPE_CHECKING:
    from rvsim.linux.process import LinuxProcess

_LARGEST_TRANSFER: Final = 0x7FFF_F000
_CHUNK: Final = 1 << 20
_MOST_VECTORS: Final = 1024
_DIRENT: Final = struct.Struct("<QqHB")
_F_DUPFD_CLOEXEC: Final = 1030
_F_UNLCK: Final = 2
_FD_CLOEXEC: Final = 1


def _file(process: LinuxProcess, fd: int, *, write: bool) -> OpenFile:
    file = process.files[fd]
    if not (file.writable if write else file.readable):
        raise CallError(EBADF)
    return file


def _vectors(process: LinuxProcess, addr: int, count: int, need: int) -> list[tuple[int, int]]:
    """(address, length) of the buffers, all of which the guest may access."""
    if not 0 <= count <= _MOST_VECTORS:
        raise CallError(EINVAL)
    words = struct.unpack(f"<{2 * count}Q", process.get(addr, 16 * count))
    vectors = list(zip(words[::2], words[1::2], strict=True))
    if any(length >> 63 for _, length in vectors):
        raise CallError(EINVAL)
    for start, length in vectors:
        process.check(start, length, need)
    return vectors


def _read_into(
    process: LinuxProcess, file: OpenFile, addr: int, count: int, at: int | None
) -> tuple[int, bool]:
    """(bytes read, whether there may be more).  Only what is read has to have room."""
    room = process.room(addr, min(count, _LARGEST_TRANSFER), W)
    if count and not room:
        raise CallError(EFAULT)
    done = 0
    while done < room:
        wanted = min(_CHUNK, room - done)
        content = file.read(wanted, None if at is None else at + done)
        process.memory.write(addr + done, content)
        done += len(content)
        if len(content) < wanted:
            return done, False
    return done, True


def _write_from(
    process: LinuxProcess, file: OpenFile, addr: int, count: int, at: int | None
) -> int:
    done = 0
    while done < count:
        content = process.memory.read(addr + done, min(_CHUNK, count - done))
        written = file.write(content, None if at is None else at + done)
        done += written
        if written < len(content):
            break
    return done


@syscall(63, "read")
def read(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Read at the position; like Linux at most 2 GiB less a page at once."""
    return _read_into(process, _file(process, fd, write=False), addr, count, None)[0]


@syscall(67, "pread64")
def pread64(process: LinuxProcess, fd: Int, addr: Addr, count: Size, at: Long) -> int:
    """Read at a place of the file, and keep the position."""
    if at < 0:
        return EINVAL
    return _read_into(process, _file(process, fd, write=False), addr, count, at)[0]


@syscall(65, "readv")
def readv(process: LinuxProcess, fd: Int, addr: Addr, count: Int) -> int:
    """Read into several buffers, one after the other."""
    file = _file(process, fd, write=False)
    total = 0
    for start, length in _vectors(process, addr, count, W):
        done, more = _read_into(process, file, start, length, None)
        total += done
        if not more:
            break
    return total


@syscall(64, "write")
def write(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Write at the position; like Linux at most 2 GiB less a page at once."""
    file = _file(process, fd, write=True)
    count = Size(min(count, _LARGEST_TRANSFER))
    process.check(addr, count, R)
    return _write_from(process, file, addr, count, None)


@syscall(68, "pwrite64")
def pwrite64(process: LinuxProcess, fd: Int, addr: Addr, count: Size, at: Long) -> int:
    """Write at a place of the file, and keep the position."""
    file = _file(process, fd, write=True)
    if at < 0:
        return EINVAL
    count = Size(min(count, _LARGEST_TRANSFER))
    process.check(addr, count, R)
    return _write_from(process, file, addr, count, at)


@syscall(66, "writev")
def writev(process: LinuxProcess, fd: Int, addr: Addr, count: Int) -> int:
    """Write several buffers as if they were one."""
    file = _file(process, fd, write=True)
    vectors = _vectors(process, addr, count, R)
    total = sum(length for _, length in vectors)
    if total <= _CHUNK:
        return file.write(b"".join(process.memory.read(*v) for v in vectors)) if total else 0
    done = 0
    for start, length in vectors:
        written = _write_from(process, file, start, length, None)
        done += written
        if written < length:
            break
    return done


@syscall(62, "lseek")
def lseek(process: LinuxProcess, fd: Int, offset: Long, whence: Int) -> int:
    """Move the position of a file."""
    return process.files[fd].seek(offset, whence)


@syscall(57, "close")
def close(process: LinuxProcess, fd: Int) -> int:
    """Close a descriptor."""
    process.files.close(fd)
    return 0


@syscall(80, "fstat")
def fstat(process: LinuxProcess, fd: Int, addr: Addr) -> int:
    """Tell what an open file is."""
    process.put(addr, process.files[fd].status().stat())
    return 0


@syscall(46, "ftruncate")
def ftruncate(process: LinuxProcess, fd: Int, length: Long) -> int:
    """Set the size of an open file."""
    process.files[fd].truncate(length)
    return 0


@syscall(82, "fsync")
def fsync(process: LinuxProcess, fd: Int) -> int:
    """Nothing waits here: the host has what was written."""
    process.files[fd].sync()
    return 0


@syscall(83, "fdatasync")
def fdatasync(process: LinuxProcess, fd: Int) -> int:
    """As fsync."""
    process.files[fd].sync()
    return 0


@syscall(61, "getdents64")
def getdents64(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Some more entries of a folder; 0 at its end."""
    file = process.files[fd]
    if not isinstance(file, Folder):
        return ENOTDIR
    entries = file.entries(file.position)
    records = bytearray()
    taken = 0
    for name, inode, kind in entries:
        length = -(-(_DIRENT.size + len(name) + 1) // 8) * 8
        if len(records) + length > count:
            break
        taken += 1
        head = _DIRENT.pack(inode, file.position + taken, length, kind >> 12)
        records += (head + name).ljust(length, b"\0")
    if entries and not taken:
        return EINVAL
    process.put(addr, bytes(records))
    file.position += taken
    return len(records)


@syscall(29, "ioctl")
def ioctl(process: LinuxProcess, fd: Int, request: Flags, argument: Addr) -> int:
    """No file is a terminal: output is the same wherever it goes."""
    _ = process.files[fd]
    return ENOTTY


@syscall(23, "dup")
def dup(process: LinuxProcess, fd: Int) -> int:
    """Another descriptor of the same open file."""
    return process.files.add(process.files[fd])


@syscall(24, "dup3")
def dup3(process: LinuxProcess, fd: Int, wanted: Int, flags: Flags) -> int:
    """A descriptor with a chosen number."""
    if flags & ~O_CLOEXEC or fd == wanted:
        return EINVAL
    process.files.put(wanted, process.files[fd], cloexec=bool(flags & O_CLOEXEC))
    return wanted


@syscall(25, "fcntl")
def fcntl(process: LinuxProcess, fd: Int, command: Int, argument: Size) -> int:
    """Flags and copies of descriptors; locks, which nobody contests."""
    descriptor = process.files.descriptor(fd)
    file = descriptor.file
    match command:
        case 0 | 1030:  # F_DUPFD, F_DUPFD_CLOEXEC
            if argument >= MOST_FILES:
                return EINVAL
            return process.files.add(file, cloexec=command == _F_DUPFD_CLOEXEC, lowest=argument)
        case 1:  # F_GETFD
            return _FD_CLOEXEC * descriptor.cloexec
        case 2:  # F_SETFD
            descriptor.cloexec = bool(argument & _FD_CLOEXEC)
        case 3:  # F_GETFL
            return file.flags
        case 4:  # F_SETFL
            changes = O_NONBLOCK  # O_APPEND would have to change the host's descriptor
            if (argument ^ file.flags) & O_APPEND:
                return EPERM
            file.flags = file.flags & ~changes | argument & changes
        case 5:  # F_GETLK: l_type says that nobody holds a lock
            process.put(Addr(argument), struct.pack("<H", _F_UNLCK))
        case 6 | 7:  # F_SETLK, F_SETLKW
            pass
        case _:
            return EINVAL
    return 0
