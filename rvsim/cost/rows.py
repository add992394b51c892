"""Timing of each instruction for users: times in cycles, reasons by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.formula import CYCLE
from rvsim.cost.reasons import REASONS
from rvsim.insn.decode import Decoded

_REASON: Final = f"S{max(map(len, REASONS))}"


class Row(NamedTuple):
    """One executed instruction; times are in cycles from the start of the run.

    The `cycles` of all rows add up to the cycles of the run.
    """

    instret: int
    """Instructions retired before it."""
    pc: int
    word: int
    vl: int
    """vl and vtype after it."""
    vtype: int
    addr: int
    """The lowest address that it read, or wrote if it read nothing; 0 if none, or if it trapped."""
    size: int
    """The number of bytes that it read, or wrote if it read nothing."""
    issue: float
    start: float
    """When its unit began with it."""
    done: float
    """When its result was complete."""
    fetch: float
    """Cycles without issue because its code was not in the L1I."""
    slot: float
    """Cycles that the issue width explains."""
    wait: float
    """Cycles that it waited longer to issue, for `reason`."""
    reason: bytes
    charged: int
    """The pc of the instruction that the wait is charged to."""
    lost: float
    """Cycles without issue after it: a misprediction, or a CSR access."""
    lost_reason: bytes
    trapped: bool

    @property
    def cycles(self) -> float:
        return self.fetch + self.slot + self.wait + self.lost

    @property
    def before(self) -> float:
        """The time from which it could have issued."""
        return self.issue - self.fetch - self.slot - self.wait

    def charges(self) -> list[tuple[int, str, float]]:
        """(pc, reason, cycles) of each charge."""
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
"""A `Row` as a NumPy type: ``np.array(rows, ROW_DTYPE)``."""

_NAMES: Final = np.array([name.encode() for name in REASONS], _REASON)
_SAME: Final = ("instret", "vl", "vtype", "addr", "size", "charged", "trapped")
_CYCLES: Final = ("issue", "start", "done", "fetch", "slot", "wait", "lost")


class Rows:
    """Makes the rows of the batches of one run.

    >>> from rvsim.cost.batch import BATCH_DTYPE
    >>> Rows()(Batch(np.zeros(0, BATCH_DTYPE), [])).dtype.names[:3]
    ('instret', 'pc', 'word')
    """

    def __init__(self) -> None:
        self._pcs = PerInstruction(lambda d: d.pc)
        self._words = PerInstruction(lambda d: d.word)

    def __call__(self, batch: Batch) -> npt.NDArray[Any]:
        """The rows of a batch, as `ROW_DTYPE`."""
        told = batch.rows
        rows = np.empty(len(told), ROW_DTYPE)
        rows["pc"], rows["word"] = self._pcs(batch), self._words(batch)
        for name in _SAME:
            rows[name] = told[name]
        for name in _CYCLES:
            np.multiply(told[name], 1 / CYCLE, out=rows[name])
        for cycles, reason in (("wait", "reason"), ("lost", "lost_reason")):
            rows[reason] = np.where(told[cycles] != 0, _NAMES[told[reason]], b"")
        return rows


def each_row(batch: Batch) -> Iterator[tuple[Decoded, Row]]:
    """The instructions of a batch with their rows, one by one."""
    for number, row in zip(batch.rows["code"].tolist(), Rows()(batch).tolist(), strict=True):
        yield batch.code[number], Row(*row)
