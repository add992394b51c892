"""The charges of a batch of instructions, as flat arrays to add up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.reasons import FETCH, ISSUE, REASONS
from rvsim.trace.callgrind.functions import Functions
from rvsim.trace.callgrind.sums import Numbers, Places

INSTRUCTIONS = 0
"""The column that counts instructions.  The others hold fixed-point cycles
(`rvsim.cost.formula`) for the reasons in `Charger.reasons`."""


class Charges(NamedTuple):
    """Charges: the row that each belongs to, the place and column to add it to, its amount."""

    row: Places
    place: Places
    column: Places
    amount: Numbers


class Charger:
    """Numbers places and reasons in order of appearance, so that tables stay small."""

    def __init__(self, functions: Functions) -> None:
        self.places: dict[int, int] = {}
        """The number of each pc."""
        self.reasons: list[str] = []
        """The charged reasons, in the order of their columns."""
        self._functions = functions
        self._function_at: list[int] = []
        """The function of each place."""
        self._columns = np.zeros(len(REASONS), np.intp)
        self._place = PerInstruction(lambda d: self._number(d.pc))
        self._pc = PerInstruction(lambda d: d.pc)

    def charges(self, batch: Batch) -> tuple[Charges, Charges]:
        """(charges of a batch, charges to functions that were not executing)."""
        rows, place = batch.rows, self._place(batch).astype(np.intp)
        counted = np.flatnonzero(~rows["trapped"])
        found = [Charges(counted, place[counted], 0 * counted, np.ones_like(counted))]
        for name, reason in (("fetch", FETCH), ("slot", ISSUE)):
            found.append(self._charges(rows[name], np.broadcast_to(reason, len(rows)), place))
        found.append(self._charges(rows["lost"], rows["lost_reason"], place))
        charged, strange = self._charged(batch, place)
        found.append(self._charges(np.where(strange, 0, rows["wait"]), rows["reason"], charged))
        strangers = self._charges(rows["wait"] * strange, rows["reason"], charged)
        return Charges(*map(np.concatenate, zip(*found, strict=True))), strangers

    def function(self, place: int) -> int:
        """The function of a place."""
        return self._function_at[place]

    def _charges(
        self, amounts: Numbers, reasons: npt.NDArray[np.integer[Any]], places: Places
    ) -> Charges:
        """The charges that are not 0."""
        at = np.flatnonzero(amounts)
        return Charges(at, places[at], self._columns_of(reasons[at]), amounts[at])

    def _columns_of(self, reasons: npt.NDArray[np.integer[Any]]) -> Places:
        columns: Places = self._columns[reasons]
        if not columns.all():
            for reason in np.unique(reasons[columns == 0]).tolist():
                self.reasons.append(REASONS[reason])
                self._columns[reason] = len(self.reasons)
            columns = self._columns[reasons]
        return columns

    def _charged(self, batch: Batch, place: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        """(the place that each wait is charged to, whether that is in another function)."""
        rows = batch.rows
        strange = np.zeros(len(rows), np.bool_)
        elsewhere = np.flatnonzero((rows["charged"] != self._pc(batch)) & (rows["wait"] != 0))
        if not len(elsewhere):
            return place, strange
        pcs, which = np.unique(rows["charged"][elsewhere], return_inverse=True)
        charged = place.copy()
        charged[elsewhere] = np.array([self._number(pc) for pc in pcs.tolist()])[which]
        function = np.array(self._function_at)
        strange[elsewhere] = function[charged[elsewhere]] != function[place[elsewhere]]
        return charged, strange

    def _number(self, pc: int) -> int:
        number = self.places.setdefault(pc, len(self.places))
        if number == len(self._function_at):
            self._function_at.append(self._functions.number(pc))
        return number
