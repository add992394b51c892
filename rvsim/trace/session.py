"""The traces of one run: any number of files, each of a kind, of the same instructions."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, NamedTuple, Protocol, cast

from rvsim.decode import Decoded
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.trace.events import Consumer, Recorder
from rvsim.trace.interrupts import InterruptBetween
from rvsim.trace.kinds import KINDS
from rvsim.trace.selection import Selection
from rvsim.trace.spike import SpikeLog
from rvsim.trace.timing import Row, Timings


class Wanted(NamedTuple):
    """One trace: its kind, and the path of its file."""

    kind: str
    path: str


class Writer(Protocol):
    """Writes the rows that it gets to a file that it has opened."""

    def row(self, d: Decoded, row: Row) -> None: ...

    def close(self) -> None: ...


class NothingTraced(RvsimError):
    """No instruction was where the traces were limited to."""

    exit_code = 1


class Traces:
    """Makes the hooks for a machine; within ``with``, `open` begins the files.

    >>> traces = Traces([Wanted("npy", "/no/such/folder/rows.npy")])
    >>> machine = Machine(cost="x60", **traces.hooks())
    >>> with traces:
    ...     traces.open(machine, Selection())
    Traceback (most recent call last):
    rvsim.errors.RvsimError: cannot write /no/such/folder/rows.npy: No such file or directory
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.wanted = wanted
        self._interrupt = InterruptBetween()
        self._recorder = Recorder([])
        self._files: list[Writer | SpikeLog] = []
        self._selection = Selection()

    @property
    def need_cost(self) -> bool:
        """Whether the machine must have a cost model."""
        return any(KINDS[trace.kind].writer for trace in self.wanted)

    def hooks(self) -> dict[str, Any]:
        """Keyword arguments for `Machine`."""
        return self._recorder.hooks()

    def add(self, consumer: Consumer) -> None:
        """Let somebody else listen too."""
        self._recorder.consumers.append(consumer)

    def open(self, machine: Machine, selection: Selection) -> None:
        """Begin the files, for a machine that has its program and has not run."""
        self._selection = selection
        writers: list[Writer] = []
        for kind, path in self.wanted:
            if kind == "spike":
                log = SpikeLog()
                log.open(machine, path, selection)
                self.add(log.instruction)
                self._files.append(log)
            else:
                writer = _writer(kind, path, machine)
                writers.append(writer)
                self._files.append(writer)
        if writers:
            timings = Timings([_chosen(writers, selection)])
            timings.begin(machine)
            self.add(timings.instruction)
        self.add(lambda d, events: self._interrupt.check())

    def __enter__(self) -> Traces:
        self._interrupt.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete all files; `RvsimError` if one is not, or if there was nothing to write."""
        with ExitStack() as closing:
            closing.push(self._interrupt)
            for file in self._files:
                closing.callback(file.close)
        if kind is None and self._files and not self._selection.any:
            raise NothingTraced(f"nothing to trace: no instruction of {self._selection} executed")


def _writer(kind: str, path: str, machine: Machine) -> Writer:
    module = importlib.import_module(f"rvsim.trace.{kind}")
    return cast(Writer, getattr(module, KINDS[kind].writer)(path, machine))


def _chosen(writers: Sequence[Writer], selection: Selection) -> Any:
    """Hands the rows within the selection to all writers."""

    def row_of(d: Decoded, row: Row) -> None:
        if selection.takes(row.instret, row.pc):
            for writer in writers:
                writer.row(d, row)

    return row_of
