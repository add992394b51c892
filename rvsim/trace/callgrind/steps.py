"""Follows calls from row to row: finds where the executing function may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch
from rvsim.insn.decode import Decoded
from rvsim.trace.callgrind.calls import Calls, PlacedInsn, Share
from rvsim.trace.callgrind.functions import Functions
from rvsim.trace.callgrind.sums import Places
from rvsim.trace.flow import Flow, flow_of

Flags = npt.NDArray[np.bool_]


class Steps(NamedTuple):
    """The rows of a batch, each with what came before it."""

    last: Places
    """The code of the row before."""
    code: Places
    trapped: Flags
    """Whether the row before did not retire."""
    gap: Flags
    """Whether instructions between the two rows are left out."""
    arrives: Flags
    """Whether the executing function may have changed; `Follower.follow` must see these rows."""


class Follower:
    """Follows the calls of a run from batch to batch; `calls` is None before the first row."""

    calls: Calls | None = None

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._spots: list[PlacedInsn] = []
        """Instructions by the code of a batch; the arrays have the same order."""
        self._function = np.zeros(0, np.intp)
        self._turns = np.zeros(0, np.bool_)
        """Whether an instruction calls or returns."""
        self._last = 0
        """The code of the last row."""
        self._last_trapped = False
        self._retired = 0
        """Instructions retired after the last row."""

    def steps(self, batch: Batch) -> Steps:
        """The steps of a batch, which must not be empty."""
        self._meet(batch.code)
        code, retired = batch.rows["code"].astype(np.intp), batch.rows["instret"].astype(np.int64)
        last = np.concatenate(([self._last], code[:-1]))
        trapped = np.concatenate(([self._last_trapped], batch.rows["trapped"]))
        due = np.concatenate(([self._retired], retired + ~trapped[1:]))
        gap = retired != due[:-1]
        arrives = self._turns[last] | (self._function[code] != self._function[last]) | gap
        if self.calls is None:
            self.calls = Calls(self._spots[code[0]])
            arrives[0] = False
        self._last, self._last_trapped, self._retired = code[-1], trapped[-1], due[-1]
        return Steps(last, code, trapped[:-1], gap, arrives)

    def follow(
        self, steps: Steps, rows: Places, charged: Mapping[int, int]
    ) -> tuple[list[bool], list[tuple[bool, list[Share]]]]:
        """Follow the calls at `rows`, which include all that arrive; each is a moment of `Calls`.

        `charged` has, by row, functions that are charged but do not execute there.  Returns whether
        the executing function is under way more than once, at the end of the batch before and from
        each of the rows on; and for each of `charged` the result of `Calls.charge`.
        """
        calls, spots = self.calls, self._spots
        assert calls is not None
        again, shared = [calls.again], []
        steps_there = zip(*(column[rows].tolist() for column in steps), strict=True)
        for moment, (last, code, trapped, gap, arrives) in enumerate(steps_there):
            if arrives:
                before = spots[last]._replace(flow=Flow.TRAP) if trapped else spots[last]
                calls.arrive(moment, before, spots[code], gap)
            again.append(calls.again)
            if charged and (row := int(rows[moment])) in charged:
                shared.append(calls.charge(charged[row]))
        return again, shared

    def _meet(self, code: Sequence[Decoded]) -> None:
        """Add new instructions to the tables."""
        new = code[len(self._spots) :]
        if new:
            self._spots += map(self._spot, new)
            found = self._spots[-len(new) :]
            functions = [spot.function for spot in found]
            turns = [spot.flow in (Flow.CALL, Flow.RETURN) for spot in found]
            self._function = np.concatenate((self._function, functions))
            self._turns = np.concatenate((self._turns, turns))

    def _spot(self, d: Decoded) -> PlacedInsn:
        function, offset = self._functions.number(d.pc), self._functions.offset(d.pc)
        return PlacedInsn(
            d.pc, function, flow_of(d), d.pc + d.length, offset == 0, offset is not None
        )
