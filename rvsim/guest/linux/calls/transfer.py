"""System calls that move bytes from one file to another: sendfile, splice, tee, copy_file_range."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.calls.io import LARGEST_TRANSFER, TO_READ, open_to, waiting, write_all
from rvsim.guest.linux.deadline import CutShort
from rvsim.guest.linux.errno import EBADF, EINVAL, ESPIPE, CallError
from rvsim.guest.linux.files import O_APPEND, SEEK_CUR, HostFile, OpenFile, WouldBlock
from rvsim.guest.linux.pipes import PipeEnd, ReadEnd, WriteEnd
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall

_SPLICE_FLAGS: Final = 15


class _Position:
    """Where a transfer is in a file: at the file's own position, or at one in guest memory."""

    def __init__(self, process: LinuxProcess, addr: int) -> None:
        self._process, self._addr = process, addr
        self.at: int | None = None
        if addr:
            (self.at,) = struct.unpack("<q", process.get(addr, 8))
            if self.at < 0:
                raise CallError(EINVAL)

    def advance(self, count: int) -> None:
        if self.at is not None:
            self.at += count
            self._process.put(self._addr, struct.pack("<q", self.at))


def _move(
    process: LinuxProcess,
    source: OpenFile,
    target: OpenFile,
    count: int,
    positions: tuple[_Position, _Position],
) -> int:
    """Copy up to `count` bytes; what has been read and does not fit stays in the source."""
    start, end = positions
    done = 0
    for _, wanted in process.deadline.parts(min(count, LARGEST_TRANSFER)):
        try:
            content = _read(process, source, wanted, start.at, before=done)
        except CallError:
            if done:
                break
            raise
        written = write_all(process, target, content, end.at) if content else 0
        if written < len(content):
            _give_back(source, content[max(0, written) :], start.at)
        if written < 0:
            return done or written
        start.advance(written)
        end.advance(written)
        done += written
        if written < wanted:
            break
    return done


def _read(
    process: LinuxProcess, source: OpenFile, count: int, at: int | None, *, before: int
) -> bytes:
    content = b""

    def attempt() -> int:
        nonlocal content
        try:
            content = source.read(count, at)
        except (WouldBlock, CutShort):
            if not before:
                raise
        return len(content)

    result = waiting(process, source, TO_READ, attempt)
    if result < 0:
        raise CallError(result)
    return content


def _give_back(source: OpenFile, content: bytes, at: int | None) -> None:
    if isinstance(source, ReadEnd):
        source.pipe.content[:0] = content
    elif at is None:
        source.seek(-len(content), SEEK_CUR)


@syscall(71, "sendfile")
def sendfile(process: LinuxProcess, to: Int, fd: Int, offset: Addr, count: Size) -> int:
    """Copy from a file that could be mapped to any other."""
    source, target = open_to(process, fd, write=False), open_to(process, to, write=True)
    position = _Position(process, offset)
    if target.flags & O_APPEND or not isinstance(source, HostFile):
        return EINVAL
    return _move(process, source, target, count, (position, _Position(process, 0)))


@syscall(285, "copy_file_range")
def copy_file_range(
    process: LinuxProcess, fd: Int, at: Addr, to: Int, end: Addr, count: Size, flags: Flags
) -> int:
    """Copy from one regular file to another."""
    source, target = open_to(process, fd, write=False), open_to(process, to, write=True)
    if flags or not isinstance(source, HostFile) or not isinstance(target, HostFile):
        return EINVAL
    if target.flags & O_APPEND:
        return EBADF
    positions = _Position(process, at), _Position(process, end)
    start, stop = _places((source, target), positions)
    count = Size(min(count, max(0, source.status().size - start)))
    if source.same_file(target) and abs(start - stop) < count:
        return EINVAL
    return _move(process, source, target, count, positions)


def _places(files: tuple[HostFile, HostFile], positions: tuple[_Position, _Position]) -> list[int]:
    return [
        file.seek(0, SEEK_CUR) if position.at is None else position.at
        for file, position in zip(files, positions, strict=True)
    ]


@syscall(76, "splice")
def splice(
    process: LinuxProcess, fd: Int, at: Addr, to: Int, end: Addr, count: Size, flags: Flags
) -> int:
    """Move bytes between two files, one of which is a pipe."""
    source, target = open_to(process, fd, write=False), open_to(process, to, write=True)
    if flags & ~_SPLICE_FLAGS:
        return EINVAL
    ends = isinstance(source, PipeEnd), isinstance(target, PipeEnd)
    if not any(ends):
        return EINVAL
    if (ends[0] and at) or (ends[1] and end):
        return ESPIPE
    if all(ends) and _same_pipe(source, target):
        return EINVAL
    if target.flags & O_APPEND:
        return EINVAL
    positions = _Position(process, at), _Position(process, end)
    if isinstance(target, WriteEnd):
        count = Size(min(count, max(1, target.pipe.room)))
    return _move(process, source, target, count, positions)


@syscall(77, "tee")
def tee(process: LinuxProcess, fd: Int, to: Int, count: Size, flags: Flags) -> int:
    """Copy bytes from one pipe to another; they stay in the first."""
    source, target = open_to(process, fd, write=False), open_to(process, to, write=True)
    if flags & ~_SPLICE_FLAGS or not isinstance(source, ReadEnd):
        return EINVAL
    if not isinstance(target, WriteEnd) or _same_pipe(source, target):
        return EINVAL
    content = b""

    def attempt() -> int:
        nonlocal content
        content = source.peek(min(count, max(1, target.pipe.room)))
        return len(content)

    result = waiting(process, source, TO_READ, attempt)
    return write_all(process, target, content, None) if result > 0 else result


def _same_pipe(source: OpenFile, target: OpenFile) -> bool:
    return (
        isinstance(source, PipeEnd) and isinstance(target, PipeEnd) and source.pipe is target.pipe
    )
