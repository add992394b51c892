"""System calls on open files: reading, writing, positions, descriptors."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from rvsim.guest.linux.deadline import PART, CutShort
from rvsim.guest.linux.errno import (
    EAGAIN,
    EBADF,
    EFAULT,
    EINTR,
    EINVAL,
    ENOTDIR,
    EPERM,
    EPIPE,
    ERESTARTSYS,
    ESPIPE,
    CallError,
)
from rvsim.guest.linux.files import (
    O_APPEND,
    O_CLOEXEC,
    O_NONBLOCK,
    POLLERR,
    POLLHUP,
    SEEK_CUR,
    SEEK_END,
    SEEK_SET,
    Folder,
    OpenFile,
    WouldBlock,
)
from rvsim.guest.linux.pipes import PipeEnd
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.signals import SIGPIPE, Signal
from rvsim.guest.linux.table import Addr, Flags, Int, Long, Size, syscall
from rvsim.hart.memory import R, W

LARGEST_TRANSFER: Final = 0x7FFF_F000
_MOST_VECTORS: Final = 1024
_DIRENT: Final = struct.Struct("<QqHB")
_F_DUPFD_CLOEXEC: Final = 1030
_F_SETPIPE_SZ: Final = 1031
_OF_PATHS: Final = (0, _F_DUPFD_CLOEXEC, 1, 2, 3)
"""Commands of `fcntl` that take what is only a path: F_DUPFD, F_GETFD, F_SETFD and F_GETFL."""
_F_RDLCK, _F_WRLCK, _F_UNLCK = 0, 1, 2
_FLOCK_SIZE: Final = 32
TO_READ: Final = OpenFile.READABLE | POLLHUP
TO_WRITE: Final = OpenFile.WRITABLE | POLLERR
_FD_CLOEXEC: Final = 1


def open_to(process: LinuxProcess, fd: int, *, write: bool) -> OpenFile:
    """The file of a descriptor that is open to be read, or written; else EBADF."""
    file = process.files[fd]
    if not (file.writable if write else file.readable):
        raise CallError(EBADF)
    return file


def _open_at(process: LinuxProcess, fd: int, at: int, *, write: bool) -> OpenFile:
    """The same for a read or write at a place of the file."""
    file = open_to(process, fd, write=write)
    if at < 0:
        raise CallError(EINVAL)
    if not file.has_places:
        raise CallError(ESPIPE)
    return file


def _vectors(process: LinuxProcess, addr: int, count: int, need: int) -> list[tuple[int, int]]:
    """(address, length) of the buffers, all of which the guest may access.

    As in Linux, what is too much for one call is cut.
    """
    if not 0 <= count <= _MOST_VECTORS:
        raise CallError(EINVAL)
    words = struct.unpack(f"<{2 * count}Q", process.get(addr, 16 * count))
    pairs = list(zip(words[::2], words[1::2], strict=True))
    if any(length >> 63 for _, length in pairs):
        raise CallError(EINVAL)
    vectors = []
    left = LARGEST_TRANSFER
    for start, length in pairs:
        if start + length > process.memory.size:
            raise CallError(EFAULT)
        vectors.append((start, min(length, left)))
        process.check(*vectors[-1], need)
        left -= vectors[-1][1]
    return vectors


def waiting(process: LinuxProcess, file: OpenFile, events: int, attempt: Callable[[], int]) -> int:
    """The result of an attempt to read or write, after a wait if the file makes it wait.

    A signal restarts the call where its handler says so.
    """
    while True:
        try:
            return attempt()
        except WouldBlock as blocked:
            if file.flags & O_NONBLOCK:
                return EAGAIN
            why = f"the program waits for {blocked.what}"
        try:
            process.waiter.wait(why, ready=lambda: bool(file.events() & events), files=[file])
        except CallError as error:
            return ERESTARTSYS if error.code == EINTR else error.code


def _read_into(
    process: LinuxProcess, file: OpenFile, vectors: list[tuple[int, int]], at: int | None
) -> int:
    """Fill the buffers, one after the other.  Only what is read has to have room."""

    def attempt() -> int:
        done = 0
        for addr, count in vectors:
            room = process.room(addr, min(count, LARGEST_TRANSFER), W)
            if count and not room:
                return done or EFAULT
            more = _read_part(process, file, addr, room, None if at is None else at + done, done)
            done += more
            if more < count:
                break
        return done

    return waiting(process, file, TO_READ, attempt)


def _read_part(
    process: LinuxProcess, file: OpenFile, addr: int, count: int, at: int | None, before: int
) -> int:
    """Bytes read into one buffer; a file that has no more for now ends a read that has some."""
    done = 0
    for start, wanted in process.deadline.parts(count):
        try:
            content = file.read(wanted, None if at is None else at + start)
        except (WouldBlock, CutShort):
            if before + done:
                break
            raise
        process.memory.write(addr + start, content)
        done += len(content)
        if len(content) < wanted:
            break
    return done


def _write_from(
    process: LinuxProcess, file: OpenFile, vectors: list[tuple[int, int]], at: int | None
) -> int:
    """Write the buffers as if they were one."""
    total = sum(length for _, length in vectors)
    return _write(process, file, total, lambda done: _gather(process, vectors, done), at)


def write_all(process: LinuxProcess, file: OpenFile, content: bytes, at: int | None) -> int:
    """Write bytes of the kernel's; how many, or an error."""
    return _write(process, file, len(content), lambda done: content[done:], at)


def _write(
    process: LinuxProcess,
    file: OpenFile,
    total: int,
    content_from: Callable[[int], bytes],
    at: int | None,
) -> int:
    done = 0

    def attempt() -> int:
        nonlocal done
        while done < total and not (done and process.deadline.is_over()):
            content = content_from(done)
            written = file.write(content, None if at is None else at + done)
            done += written
            if written < len(content) and not file.waits_for_room:
                break
        return done

    try:
        result = waiting(process, file, TO_WRITE, attempt)
    except CallError as error:
        result = error.code
        if result == EPIPE:
            process.signals.send(Signal(SIGPIPE))
    return done or result


def _gather(process: LinuxProcess, vectors: list[tuple[int, int]], skipped: int) -> bytes:
    """The next bytes to write: short buffers are one."""
    contents = []
    left = PART
    for addr, length in vectors:
        start = min(skipped, length)
        skipped -= start
        part = min(left, length - start)
        if part:
            contents.append(process.memory.read(addr + start, part))
            left -= part
        if not left:
            break
    return b"".join(contents)


@syscall(63, "read")
def read(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Read at the position; like Linux at most 2 GiB less a page at once."""
    return _read_into(process, open_to(process, fd, write=False), [(addr, count)], None)


@syscall(67, "pread64")
def pread64(process: LinuxProcess, fd: Int, addr: Addr, count: Size, at: Long) -> int:
    """Read at a place of the file, and keep the position."""
    file = _open_at(process, fd, at, write=False)
    return _read_into(process, file, [(addr, count)], at)


@syscall(65, "readv")
def readv(process: LinuxProcess, fd: Int, addr: Addr, count: Int) -> int:
    """Read into several buffers, one after the other."""
    file = open_to(process, fd, write=False)
    return _read_into(process, file, _vectors(process, addr, count, W), None)


@syscall(69, "preadv")
def preadv(process: LinuxProcess, fd: Int, addr: Addr, count: Int, at: Long) -> int:
    """Read into several buffers from a place of the file."""
    file = _open_at(process, fd, at, write=False)
    return _read_into(process, file, _vectors(process, addr, count, W), at)


@syscall(64, "write")
def write(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Write at the position; like Linux at most 2 GiB less a page at once."""
    return _write_from(process, open_to(process, fd, write=True), _one(process, addr, count), None)


@syscall(68, "pwrite64")
def pwrite64(process: LinuxProcess, fd: Int, addr: Addr, count: Size, at: Long) -> int:
    """Write at a place of the file, and keep the position."""
    file = _open_at(process, fd, at, write=True)
    return _write_from(process, file, _one(process, addr, count), at)


def _one(process: LinuxProcess, addr: int, count: int) -> list[tuple[int, int]]:
    count = min(count, LARGEST_TRANSFER)
    process.check(addr, count, R)
    return [(addr, count)]


@syscall(66, "writev")
def writev(process: LinuxProcess, fd: Int, addr: Addr, count: Int) -> int:
    """Write several buffers as if they were one."""
    file = open_to(process, fd, write=True)
    return _write_from(process, file, _vectors(process, addr, count, R), None)


@syscall(70, "pwritev")
def pwritev(process: LinuxProcess, fd: Int, addr: Addr, count: Int, at: Long) -> int:
    """Write several buffers to a place of the file."""
    file = _open_at(process, fd, at, write=True)
    return _write_from(process, file, _vectors(process, addr, count, R), at)


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
    process.put(addr, process.files.any(fd).status().stat())
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
    """Control a performance event; no file is a terminal: output is the same wherever it goes."""
    answer = process.files[fd].control(request & 0xFFFF_FFFF, argument)
    if answer is not None:
        process.put(argument, answer)
    return 0


@syscall(23, "dup")
def dup(process: LinuxProcess, fd: Int) -> int:
    """Another descriptor of the same open file."""
    return process.files.add(process.files.any(fd))


@syscall(24, "dup3")
def dup3(process: LinuxProcess, fd: Int, wanted: Int, flags: Flags) -> int:
    """A descriptor with a chosen number."""
    if flags & ~O_CLOEXEC or fd == wanted:
        return EINVAL
    process.files.put(wanted, process.files.any(fd), cloexec=bool(flags & O_CLOEXEC))
    return wanted


def _lock_type(process: LinuxProcess, addr: int) -> int:
    """The kind of lock that a ``struct flock`` asks for."""
    kind, whence = struct.unpack("<hh", process.get(addr, _FLOCK_SIZE)[:4])
    if kind not in (_F_RDLCK, _F_WRLCK, _F_UNLCK) or whence not in (SEEK_SET, SEEK_CUR, SEEK_END):
        raise CallError(EINVAL)
    return int(kind)


def _check_lock(process: LinuxProcess, file: OpenFile, addr: int) -> None:
    """A lock to share wants a file that is open to be read, another one to be written."""
    kind = _lock_type(process, addr)
    if (kind == _F_RDLCK and not file.readable) or (kind == _F_WRLCK and not file.writable):
        raise CallError(EBADF)


@syscall(25, "fcntl")
def fcntl(process: LinuxProcess, fd: Int, command: Int, argument: Size) -> int:
    """Flags and copies of descriptors; locks, which nobody contests."""
    descriptor = process.files.descriptor(fd)
    file = descriptor.file
    if file.is_path and command not in _OF_PATHS:
        return EBADF
    match command:
        case 0 | 1030:  # F_DUPFD, F_DUPFD_CLOEXEC
            if argument >= process.files.limit():
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
        case 1031 | 1032:  # F_SETPIPE_SZ, F_GETPIPE_SZ
            if not isinstance(file, PipeEnd):
                return EBADF
            pipe = file.pipe
            return pipe.resize(argument) if command == _F_SETPIPE_SZ else pipe.capacity
        case 5:  # F_GETLK: l_type says that nobody holds a lock
            if _lock_type(process, argument) == _F_UNLCK:
                return EINVAL
            process.put(Addr(argument), struct.pack("<H", _F_UNLCK))
        case 6 | 7:  # F_SETLK, F_SETLKW
            _check_lock(process, file, argument)
        case _:
            return EINVAL
    return 0
