"""The traces of one run: any number of files of any kind, with the same instructions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Protocol, cast

from rvsim.cost.batch import Batch
from rvsim.engine.observer import Batches, Observer
from rvsim.errors import RvsimError
from rvsim.host.deferred_signals import InterruptsLater
from rvsim.insn.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.events import Event, Recorder
from rvsim.trace.kinds import KINDS
from rvsim.trace.selection import Selection, Window
from rvsim.trace.spike import SpikeLog


class Wanted(NamedTuple):
    """One trace: its kind, and the path of its file."""

    kind: str
    path: str


class Writer(Protocol):
    """Writes batches to a file that it opened."""

    def batch(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class NothingTraced(RvsimError):
    """No instruction executed within the limits of the traces."""

    exit_code = 1


class Traces:
    """Makes observers for a machine; within ``with``, `open` begins the files.

    Instructions outside the `window` make no records.

    >>> traces = Traces([Wanted("npy", "/no/such/folder/rows.npy")])
    >>> machine = Machine(cost="x60", observers=traces.observers())
    >>> with traces:
    ...     traces.open(machine, Selection())
    Traceback (most recent call last):
    rvsim.errors.RvsimError: cannot write /no/such/folder/rows.npy: No such file or directory
    """

    def __init__(self, wanted: Sequence[Wanted], window: Window | None = None) -> None:
        self.wanted = wanted
        self._window = window or Window()
        self._interrupts = InterruptsLater()
        self._selection = Selection()
        self._logs: list[SpikeLog] = []
        self._writers: list[Writer] = []
        self._closers: list[Callable[[], object]] = []
        self._progress: Callable[[int], object] = lambda count: None

    @property
    def need_cost(self) -> bool:
        """Whether the machine must have a cost model."""
        return any(KINDS[trace.kind].writer for trace in self.wanted)

    def observers(self) -> list[Observer]:
        """The observers for the machine whose run is traced."""
        found: list[Observer] = []
        if self.need_cost:
            found.append(Batches(self._batch, self._window.numbers))
        if any(trace.kind == "spike" for trace in self.wanted):
            found.append(Recorder([self._instruction]))
        return found

    def show_progress(self, progress: Callable[[int], object]) -> None:
        """Call `progress` with the number of instructions traced since the last call."""
        self._progress = progress

    def open(self, machine: Machine, selection: Selection) -> None:
        """Begin the files, for a machine that has loaded its program and has not run."""
        self._selection = selection
        for kind, path in self.wanted:
            if kind == "spike":
                log = SpikeLog()
                log.open(machine, path, selection)
                self._logs.append(log)
                self._closers.append(log.close)
            else:
                writer = _writer(kind, path, machine)
                self._writers.append(writer)
                self._closers.append(writer.close)

    # -- what the machine calls

    def _batch(self, batch: Batch) -> None:
        with self._interrupts:
            chosen = self._selection.of(batch)
            if len(chosen.rows):
                for writer in self._writers:
                    writer.batch(chosen)
            if not self._logs:
                self._progress(len(batch.rows))

    def _instruction(self, d: Decoded | None, events: Sequence[Event]) -> None:
        for log in self._logs:
            log.instruction(d, events)
        self._progress(1)

    # -- the files' lifetime

    def __enter__(self) -> Traces:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete all files; `RvsimError` if one fails, or if there was nothing to write."""
        failed: list[str] = []
        with ExitStack() as closing:
            closing.enter_context(self._interrupts)
            for close in reversed(self._closers):
                closing.callback(_close, close, failed)
        if failed:
            raise RvsimError("; ".join(failed))
        if kind is None and self._selection.limited and not self._selection.any:
            raise NothingTraced(f"nothing to trace: {self._selection.missed()}")


def _close(close: Callable[[], object], failed: list[str]) -> None:
    """Close a file; add an error to `failed`, so that it hides no other error."""
    try:
        close()
    except RvsimError as error:
        failed.append(str(error))


def _writer(kind: str, path: str, machine: Machine) -> Writer:
    module = importlib.import_module(f"rvsim.trace.{kind}")
    return cast(Writer, getattr(module, KINDS[kind].writer)(path, machine))
