"""Signals that end a run are acted on where all is in order: between instructions, and records."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, ``kill`` or ``timeout``, and a terminal that is closed."""

_Handler = Callable[[int, FrameType | None], Any]


class InterruptsLater:
    """While this is entered, signals with a handler in Python are kept; they are handled after it.

    `hurry` is called when one comes.  Another one before that is handled at once: then something
    hangs.  Threads other than the main one get no signals.
    """

    def __init__(self, hurry: Callable[[], object] = lambda: None) -> None:
        self._hurry = hurry
        self._kept: Callable[[], object] | None = None
        self._before: dict[int, _Handler] = {}
        self._waits = False

    def __enter__(self) -> InterruptsLater:
        self._kept = None
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                before = signal.getsignal(number)
                if callable(before):
                    self._before[number] = before
                    signal.signal(number, self._keep)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()
        self.handle()

    def handle(self) -> None:
        """Handle the signal that has been kept, if there is one: all is in order."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Something may be waited for that never comes: signals are handled as they come."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False

    def _leave(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _keep(self, number: int, frame: FrameType | None) -> None:
        handler = self._before[number]
        if self._waits:
            handler(number, frame)
        elif self._kept is None:
            self._kept = partial(handler, number, frame)
            self._hurry()
        else:
            self._kept = None
            self._leave()
            handler(number, frame)
