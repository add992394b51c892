"""Ctrl-C between instructions, so that no trace ends within one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class InterruptBetween:
    """While this is entered, the first SIGINT waits until `check` is called; a second does not.

    Threads other than the main one, which get no signals, are left as they are.
    """

    def __init__(self) -> None:
        self._pending = False
        self._before: Any = None

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if there was a SIGINT."""
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    def __enter__(self) -> InterruptBetween:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pending:
            raise KeyboardInterrupt
        self._pending = True
