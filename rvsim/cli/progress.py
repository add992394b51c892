"""The progress of a slow run on a terminal, without disturbing other output."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final, TextIO, TypeVar

_LOOKS: Final = 1024
_SECONDS: Final = 0.25
_BAR: Final = 30
_ERASE: Final = "\r\x1b[K"

_T = TypeVar("_T")


class Progress:
    """A line on a terminal that counts instructions, with a bar if their total is known."""

    def __init__(self, stream: TextIO, total: int | None = None) -> None:
        self._stream = stream
        self._total = total
        self._count = self._unseen = 0
        self._shown = self._within_line = False
        self._began = self._drawn = time.monotonic()

    def add(self, count: int) -> None:
        """Add to the count, and draw the line now and then."""
        self._count += count
        self._unseen += count
        if self._unseen >= _LOOKS:
            self._unseen = 0
            if time.monotonic() - self._drawn >= _SECONDS:
                self._draw()

    def clear(self) -> None:
        """Erase the line."""
        if self._shown:
            self._shown = False
            self._stream.write(_ERASE)
            self._stream.flush()

    def behind(
        self, write: Callable[[_T], object], *, on_terminal: bool = True
    ) -> Callable[[_T], object]:
        """A function that erases the line, then calls `write`.

        If its output is on the terminal too, the progress line waits until an output line ends.
        """

        def cleared(output: _T) -> None:
            self.clear()
            write(output)
            if on_terminal and isinstance(output, bytes) and output:
                self._within_line = not output.endswith(b"\n")

        return cleared

    def _draw(self) -> None:
        if self._within_line:
            return
        self._drawn = time.monotonic()
        self._shown = True
        rate = self._count / (self._drawn - self._began)
        text = f"traced {self._count:,} instructions, {rate:,.0f} a second"
        if self._total:
            done = min(1.0, self._count / self._total)
            text = f"[{'#' * round(_BAR * done):<{_BAR}}] {done:4.0%} {text}"
        most = shutil.get_terminal_size().columns - 1
        self._stream.write(f"{_ERASE}{text[:most]}")
        self._stream.flush()
