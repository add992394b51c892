"""Per-instruction timing: one row for each instruction that executed, and who receives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from rvsim.cost import CostModel
from rvsim.cost.reasons import REASONS
from rvsim.decode import Decoded
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.state import SLOT
from rvsim.trace.events import Event, Kind

_VL, _VTYPE, _INSTRET = SLOT["vl"], SLOT["vtype"], SLOT["instret"]
_REASON: Final = f"S{max(map(len, REASONS))}"


class Row(NamedTuple):
    """One instruction; times are in cycles from the start of the run.

    `cycles` is what the row adds to the run: the rows of a whole run add up to its cycles.
    """

    instret: int
    """Instructions retired before it."""
    pc: int
    word: int
    vl: int
    """vl and vtype as it leaves them."""
    vtype: int
    addr: int
    """The first byte of memory that it accessed, 0 if it did not."""
    size: int
    """Bytes that it accessed."""
    issue: float
    start: float
    """When its unit began with it."""
    done: float
    """When its result was complete."""
    fetch: float
    """Cycles without issue because its code was not in the L1I."""
    slot: float
    """Cycles that the width of issue asked for."""
    wait: float
    """Cycles that it waited longer to issue, and why."""
    reason: bytes
    charged: int
    """The pc of the instruction that the wait is charged to."""
    lost: float
    """Cycles without issue behind it: a misprediction, or a CSR access."""
    lost_reason: bytes
    trapped: bool

    @property
    def cycles(self) -> float:
        return self.fetch + self.slot + self.wait + self.lost

    @property
    def before(self) -> float:
        """When the instruction before it was out of the way."""
        return self.issue - self.fetch - self.slot - self.wait

    def charges(self) -> list[tuple[int, str, float]]:
        """(pc, reason, cycles) of all that was charged."""
        found = [
            (self.pc, "fetch", self.fetch),
            (self.pc, "issue", self.slot),
            (self.charged, self.reason.decode(), self.wait),
            (self.pc, self.lost_reason.decode(), self.lost),
        ]
        return [charge for charge in found if charge[2]]


ROW_DTYPE: Final = np.dtype(
    [
        ("instret", "<u8"), ("pc", "<u8"), ("word", "<u4"), ("vl", "<u4"), ("vtype", "<u8"),
        ("addr", "<u8"), ("size", "<u4"), ("issue", "<f8"), ("start", "<f8"), ("done", "<f8"),
        ("fetch", "<f8"), ("slot", "<f8"), ("wait", "<f8"), ("reason", _REASON),
        ("charged", "<u8"), ("lost", "<f8"), ("lost_reason", _REASON), ("trapped", "?"),
    ]
)  # fmt: skip
"""A `Row` as NumPy has it: ``np.array(rows, ROW_DTYPE)``."""

RowConsumer = Callable[[Decoded, Row], object]


class Timings:
    """A consumer of events that hands on a row for each instruction that executed.

    >>> from rvsim.trace.events import Recorder
    >>> timings = Timings([lambda insn, row: print(row.issue, row.reason)])
    >>> machine = Machine(cost="x60", **Recorder([timings.instruction]).hooks())
    >>> timings.begin(machine)
    """

    def __init__(self, consumers: Sequence[RowConsumer]) -> None:
        self.consumers = consumers

    def begin(self, machine: Machine) -> None:
        """Listen to a machine with a cost model, before it runs."""
        if machine.cost is None:
            raise RvsimError("there are no times without a cost model", hint='Machine(cost="x60")')
        self._cost: CostModel = machine.cost
        self._words = machine.state.words
        self._observer = machine.cost.observe()

    def instruction(self, d: Decoded | None, events: Sequence[Event]) -> None:
        """Of an instruction that could not be fetched there is no row."""
        timing = self._observer.take()
        if d is None:
            return
        words = self._words
        trapped = events[-1].kind == Kind.TRAP
        addr, size = _access(events)
        row = Row(
            words[_INSTRET] - (not trapped),
            d.pc,
            d.word,
            words[_VL],
            words[_VTYPE],
            addr,
            size,
            timing.issue,
            timing.start,
            timing.done,
            timing.fetch,
            timing.slot,
            timing.wait,
            timing.reason.encode(),
            self._cost.pc_of(timing.charged) if timing.reason else d.pc,
            timing.lost,
            timing.lost_reason.encode(),
            trapped,
        )
        for consumer in self.consumers:
            consumer(d, row)


def _access(events: Sequence[Event]) -> tuple[int, int]:
    """The first address and the bytes of what was read, or else written."""
    addr = size = 0
    kind: Kind | None = None
    for event in events[1:]:
        if event.kind not in (Kind.READ, Kind.WRITE) or kind not in (None, event.kind):
            break
        if kind is None:
            kind, addr = event.kind, event.addr
        size += event.size
    return addr, size
