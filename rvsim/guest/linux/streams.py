"""The three streams that the guest starts with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from rvsim.guest.linux.clock import SECOND, Clock
from rvsim.guest.linux.deadline import LOOK_EVERY, Deadline, host_readable
from rvsim.guest.linux.errno import from_host
from rvsim.guest.linux.files import O_NONBLOCK, O_WRONLY, OpenFile, WouldBlock


class Output(OpenFile):
    """Standard output or error: bytes go to a function, like those of a pipe."""

    def __init__(self, sink: Callable[[bytes], object]) -> None:
        super().__init__(O_WRONLY)
        self._sink = sink

    def write(self, content: bytes, at: int | None = None) -> int:
        self._sink(content)
        return len(content)

    def events(self) -> int:
        return self.WRITABLE


class Input(OpenFile):
    """Standard input: a binary stream, read like a pipe; without one it is at its end.

    In the model's time it is always ready to be read, so that runs are the same: a read waits.
    With the host's time, `clock`, it is ready when the host's stream is.  A stream with a
    descriptor is read past what the caller may have read ahead and not used.
    """

    def __init__(self, source: BinaryIO | None, deadline: Deadline, clock: Clock | None) -> None:
        super().__init__(0)
        self._source = source
        self._fd = _descriptor_of(source)
        self._deadline = deadline
        self._clock = clock

    def read(self, count: int, at: int | None = None) -> bytes:
        if self._source is None or not count:
            return b""
        if self._fd is not None:
            if self.flags & O_NONBLOCK and not host_readable(self._fd):
                raise WouldBlock("standard input")
            self._deadline.wait_readable(self._fd)
        # A terminal or pipe gives what is there; `read` would wait until `count` bytes are.
        read: Callable[[int], bytes | None] = getattr(self._source, "read1", self._source.read)
        try:
            return read(count) or b""
        except OSError as error:
            raise from_host(error) from None

    def events(self) -> int:
        ready = self._clock is None or self._fd is None or host_readable(self._fd)
        return self.READABLE if ready else 0

    def changes_at(self) -> int | None:
        return None if self._clock is None else self._clock.now(1) + round(LOOK_EVERY * SECOND)


def _descriptor_of(source: BinaryIO | None) -> int | None:
    """The host's descriptor of a stream; None of one that is in memory."""
    with suppress(AttributeError, OSError, ValueError):
        return source.fileno() if source is not None else None
    return None
