"""How a system call that takes long ends when the run's time is over."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from typing import Final

PART: Final = 1 << 20
"""Bytes that are moved between two looks at the deadline: well under a millisecond."""

LOOK_EVERY: Final = 0.02
"""Seconds that the host waits at most before it looks at the deadline again."""


class CutShort(Exception):
    """The run's time is over, and the call has done nothing yet: it begins anew in the next run."""


class Deadline:
    """When the run has to end, in seconds of `time.monotonic`; None if it need not."""

    def __init__(self) -> None:
        self.at: float | None = None

    def is_over(self) -> bool:
        """Whether the run has to end now."""
        return self.at is not None and time.monotonic() >= self.at

    def check(self) -> None:
        """Raise `CutShort` if the time is over."""
        if self.is_over():
            raise CutShort

    def parts(self, count: int) -> Iterator[tuple[int, int]]:
        """(offset, length) of the parts of a long transfer.

        Past the deadline there is one part and no more: the call then tells a short count.
        """
        for start in range(0, count, PART):
            if start and self.is_over():
                return
            yield start, min(PART, count - start)

    def sleep(self, seconds: float) -> None:
        """Wait; `CutShort` if the deadline comes first."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(rest, LOOK_EVERY))

    def wait_readable(self, fd: int) -> None:
        """Wait until a descriptor of the host can be read; `CutShort` if the deadline is first."""
        while not host_readable(fd, LOOK_EVERY):
            self.check()


def host_readable(fd: int, seconds: float = 0) -> bool:
    """Whether a read of the host's descriptor would answer at once, within some seconds.

    What the host cannot tell of, such as a file that is no pipe on some systems, always answers.
    """
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    except (OSError, ValueError):
        return True
