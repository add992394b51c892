"""Ctrl-C between instructions, so that no trace ends within one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class InterruptsLater:
    """While this is entered, a SIGINT is kept; it is acted on behind that.

    Threads other than the main one, which get no signals, are left as they are.
    """

    def __init__(self) -> None:
        self._kept: tuple[int, FrameType | None] | None = None
        self._before: Any = None

    def __enter__(self) -> InterruptsLater:
        self._kept = None
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._keep)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            before, self._before = self._before, None
            signal.signal(signal.SIGINT, before)
            if self._kept is not None:
                before(*self._kept)

    def _keep(self, number: int, frame: FrameType | None) -> None:
        self._kept = number, frame
