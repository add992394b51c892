"""Observers: they listen to a run, and declare what the engines have to tell them.

An observer declares its `needs`, and engines stay native where these allow it:

| need         | the observer gets                                   | compiled code           |
|--------------|-----------------------------------------------------|-------------------------|
| INSTRUCTIONS | `retired` after each instruction                    | none: all is interpreted |
| ACCESSES     | memory accesses and register writes as they happen  | none: all is interpreted |
| RECORDS      | `batch`: the times of instructions, many at a time  | makes the records       |
| TRAPS        | `trapped` for each trap of the program              | as without              |
| STATISTICS   | counts of what executes, and of the bytes it moves  | counts                  |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Final

from rvsim.engine.traffic import counting
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.insn.decode import Decoded

if TYPE_CHECKING:
    from rvsim.cost.batch import Batch

ALL_INSNS: Final = range(1 << 62)


class Need(Flag):
    """What an observer needs to be told."""

    NOTHING = 0
    INSTRUCTIONS = auto()
    ACCESSES = auto()
    RECORDS = auto()
    TRAPS = auto()
    STATISTICS = auto()


INTERPRETED: Final = Need.INSTRUCTIONS | Need.ACCESSES
"""Needs that only the reference engine meets."""


class Observer:
    """Listens to the harts of a machine; a subclass has what it needs.

    Records are made of the instructions whose numbers are in `window`; more may come where others
    listen too.
    """

    needs: Need = Need.NOTHING
    window: range = ALL_INSNS

    def accesses(self, names: Mapping[str, Any], state: State) -> Mapping[str, Any]:
        """Replacements for the names that generated code calls (`rvsim.engine.binding`).

        `names` are those of the observers before it.  With ACCESSES, ``log_x``, ``log_f``,
        ``log_v`` and ``log_csr`` are called for each register that is written.
        """
        return {}

    def retired(self, d: Decoded) -> None:
        """An instruction is done."""

    def trapped(self, d: Decoded | None, trap: Trap) -> None:
        """An instruction has ended in a trap, or could not be fetched and is None.

        An ecall does too, before the system call is made.
        """

    def batch(self, batch: Batch) -> None:
        """Instructions with their times, in the order in which they executed."""


class Statistics(Observer):
    """Has the engines count what they execute (`rvsim.trace.counters` sums it up)."""

    needs = Need.STATISTICS

    def accesses(self, names: Mapping[str, Any], state: State) -> Mapping[str, Any]:
        return counting(names, state)


class Batches(Observer):
    """Calls `listener` with the times of the instructions of a window."""

    needs = Need.RECORDS

    def __init__(self, listener: Callable[[Batch], object], window: range = ALL_INSNS) -> None:
        self._listener = listener
        self.window = window

    def batch(self, batch: Batch) -> None:
        self._listener(batch)


class Observers(Observer):
    """Several observers as one.

    >>> both = Observers([Statistics(), Observer()])
    >>> both.needs is Need.STATISTICS
    True
    """

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._all = list(observers)
        self.needs = Need.NOTHING
        for observer in self._all:
            self.needs |= observer.needs
        self._of_instructions = self._with(Need.INSTRUCTIONS)
        self._of_traps = self._with(Need.TRAPS)
        self._of_records = self._with(Need.RECORDS)
        self.window = _hull([observer.window for observer in self._of_records])

    def _with(self, need: Need) -> list[Observer]:
        return [observer for observer in self._all if observer.needs & need]

    def accesses(self, names: Mapping[str, Any], state: State) -> Mapping[str, Any]:
        replaced: dict[str, Any] = {}
        for observer in self._all:
            replaced |= observer.accesses({**names, **replaced}, state)
        return replaced

    def retired(self, d: Decoded) -> None:
        for observer in self._of_instructions:
            observer.retired(d)

    def trapped(self, d: Decoded | None, trap: Trap) -> None:
        for observer in self._of_traps:
            observer.trapped(d, trap)

    def batch(self, batch: Batch) -> None:
        for observer in self._of_records:
            observer.batch(batch)


def _hull(windows: list[range]) -> range:
    """The smallest range that has all of them in it."""
    if not windows:
        return ALL_INSNS
    return range(max(0, min(w.start for w in windows)), max(w.stop for w in windows))
