"""Pipes, counters and signals as files: what one process can say to itself."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

from rvsim.guest.linux.errno import EBUSY, EINVAL, EPERM, EPIPE, CallError
from rvsim.guest.linux.files import (
    O_RDWR,
    O_WRONLY,
    POLLERR,
    POLLHUP,
    AnonymousFile,
    OpenFile,
    WouldBlock,
)
from rvsim.guest.linux.signals import Signal, Signals

PIPE_BUF: Final = 4096
"""Bytes that are written whole or not at all."""

_CAPACITY: Final = 64 << 10
_LARGEST_CAPACITY: Final = 1 << 20
_LARGEST_COUNT: Final = (1 << 64) - 2
_SIGNALFD_SIGINFO: Final = 128


@dataclass(slots=True)
class Pipe:
    """Bytes on their way from a writing end to a reading end."""

    content: bytearray = field(default_factory=bytearray)
    capacity: int = _CAPACITY
    readers: int = 1
    writers: int = 1

    @property
    def room(self) -> int:
        """How many bytes can be written."""
        return self.capacity - len(self.content)

    def resize(self, wanted: int) -> int:
        """F_SETPIPE_SZ: the new capacity, a power of two of whole pages."""
        if wanted > _LARGEST_CAPACITY:
            raise CallError(EPERM)
        if not wanted:
            raise CallError(EINVAL)
        capacity = max(PIPE_BUF, 1 << (wanted - 1).bit_length())
        if capacity < len(self.content):
            raise CallError(EBUSY)
        self.capacity = capacity
        return capacity


def make_pipe(flags: int) -> tuple[ReadEnd, WriteEnd]:
    """The two ends of a new pipe."""
    reader, writer = ReadEnd(flags), WriteEnd(flags | O_WRONLY)
    reader.pipe = writer.pipe = Pipe()
    reader.other, writer.other = writer, reader
    return reader, writer


class PipeEnd(OpenFile):
    """Either end of a pipe."""

    pipe: Pipe
    other: PipeEnd


class ReadEnd(PipeEnd):
    """The end of a pipe that is read."""

    def read(self, count: int, at: int | None = None) -> bytes:
        content = self.peek(count)
        del self.pipe.content[: len(content)]
        if content:
            self.other.activity += 1
        return content

    def peek(self, count: int) -> bytes:
        """As `read`, but the bytes stay."""
        if not self.pipe.content and self.pipe.writers and count:
            raise WouldBlock("a pipe that nobody else writes to")
        return bytes(self.pipe.content[:count])

    def events(self) -> int:
        hung_up = POLLHUP if not self.pipe.writers else 0
        return hung_up | (self.READABLE if self.pipe.content else 0)

    def close(self) -> None:
        self.pipe.readers = 0
        self.other.activity += 1


class WriteEnd(PipeEnd):
    """The end of a pipe that is written."""

    waits_for_room = True

    def write(self, content: bytes, at: int | None = None) -> int:
        if not self.pipe.readers:
            raise CallError(EPIPE)
        room = self.pipe.room
        if content and (not room or (len(content) <= PIPE_BUF and room < len(content))):
            raise WouldBlock("a full pipe that nobody else reads")
        self.pipe.content += content[:room]
        self.other.activity += 1
        return min(room, len(content))

    def events(self) -> int:
        broken = POLLERR if not self.pipe.readers else 0
        return broken | (self.WRITABLE if self.pipe.room >= PIPE_BUF or broken else 0)

    def close(self) -> None:
        self.pipe.writers = 0
        self.other.activity += 1


class EventCounter(AnonymousFile):
    """`eventfd2`: a number that writes add to, and a read takes, or only 1 of it."""

    name = b"anon_inode:[eventfd]"

    def __init__(self, value: int, flags: int, *, semaphore: bool) -> None:
        super().__init__(O_RDWR | flags)
        self._value = value
        self._semaphore = semaphore

    def read(self, count: int, at: int | None = None) -> bytes:
        if count < 8:
            raise CallError(EINVAL)
        if not self._value:
            raise WouldBlock("a counter of events that nobody else adds to")
        taken = 1 if self._semaphore else self._value
        self._value -= taken
        self.activity += 1
        return taken.to_bytes(8, "little")

    def write(self, content: bytes, at: int | None = None) -> int:
        if len(content) < 8:
            raise CallError(EINVAL)
        more = int.from_bytes(content[:8], "little")
        if more > _LARGEST_COUNT:
            raise CallError(EINVAL)
        if self._value + more > _LARGEST_COUNT:
            raise WouldBlock("a counter of events that nobody else reads")
        self._value += more
        self.activity += 1
        return 8

    def events(self) -> int:
        writable = self.WRITABLE if self._value < _LARGEST_COUNT else 0
        return writable | (self.READABLE if self._value else 0)


class SignalFile(AnonymousFile):
    """`signalfd4`: pending signals of a set, read as structures."""

    name = b"anon_inode:[signalfd]"

    def __init__(self, signals: Signals, wanted: int, flags: int) -> None:
        super().__init__(O_RDWR | flags)
        self._signals = signals
        self.wanted = wanted

    def read(self, count: int, at: int | None = None) -> bytes:
        if count < _SIGNALFD_SIGINFO:
            raise CallError(EINVAL)
        found = bytearray()
        while len(found) + _SIGNALFD_SIGINFO <= count:
            signal = self._signals.take(self.wanted)
            if signal is None:
                break
            found += _signalfd_info(signal)
        if not found:
            raise WouldBlock("a signal that nobody can send")
        return bytes(found)

    def events(self) -> int:
        self.activity = self._signals.sent
        return self.READABLE if self._signals.pending_bits & self.wanted else 0


def _signalfd_info(signal: Signal) -> bytes:
    """``struct signalfd_siginfo`` of what a process sends to itself."""
    number, _, code, pid, uid, value = struct.unpack_from("<iii4xiIQ", signal.info())
    head = struct.pack("<IiiII24xIQ", number, 0, code, pid, uid, value & 0xFFFF_FFFF, value)
    return head.ljust(_SIGNALFD_SIGINFO, b"\0")
