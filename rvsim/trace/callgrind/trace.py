"""Adds up the costs of places and calls, batch by batch, and writes them at the end.

Costs are cycles, instructions, and cycles by the model's reasons; each is an event.  A wait is at
the instruction that the model charges, as in ``--cycles``.  A call costs all that passes until it
ends, so that a function's inclusive cost is its own and that of all functions it calls;
`rvsim.trace.callgrind.calls` says what counts as a call.
"""

from __future__ import annotations

import numpy as np

from rvsim.cost.batch import Batch
from rvsim.machine import Machine
from rvsim.trace.callgrind.calls import Calls, Share
from rvsim.trace.callgrind.charges import Charger, Charges
from rvsim.trace.callgrind.functions import Functions
from rvsim.trace.callgrind.steps import Flags, Follower
from rvsim.trace.callgrind.sums import Numbers, Places, Sums
from rvsim.trace.callgrind.text import CallgrindProfile, ProfileText
from rvsim.trace.files import TraceFile


class CallgrindTrace:
    """Adds up costs and writes them at the end: memory grows with the code, not with the run."""

    def __init__(self, path: str, machine: Machine) -> None:
        assert machine.image is not None
        self._file = TraceFile(path)
        self._name = machine.image.name
        self._functions = Functions(machine)
        self._charger = Charger(self._functions)
        self._follower = Follower(self._functions)
        self._own = Sums()
        """Costs by 2 * place, or 2 * place + 1 if its function was under way already."""
        self._inclusive = Sums()
        """Costs by the number of the edge."""
        self._passed = np.zeros(1, np.int64)
        """All costs so far, by column."""

    def batch(self, batch: Batch) -> None:
        """Add up the costs of these instructions."""
        if not len(batch.rows):
            return
        charges, strange = self._charger.charges(batch)
        steps = self._follower.steps(batch)
        cuts = steps.arrives.copy()
        cuts[strange.row] = True
        rows, stretch = np.flatnonzero(cuts), np.cumsum(cuts, dtype=np.intp)
        functions = map(self._charger.function, strange.place.tolist())
        charged = dict(zip(strange.row.tolist(), functions, strict=True))
        again, shared = self._follower.follow(steps, rows, charged)
        self._add_own(charges, np.array(again)[stretch[charges.row]])
        self._add_own(strange, np.array([again for again, _ in shared], np.bool_))
        self._add_calls(self._passed_before(len(rows), stretch, charges, strange))
        self._add_shares(strange, [shares for _, shares in shared])

    def _add_own(self, charges: Charges, again: Flags) -> None:
        self._own.add(2 * charges.place + again, charges.column, charges.amount)

    def _passed_before(self, moments: int, stretch: Places, *charges: Charges) -> Numbers:
        """All costs before each moment; the moments cut the rows into stretches."""
        width = 1 + len(self._charger.reasons)
        passed = np.zeros((moments + 1, width), np.int64)
        for row, _, column, amount in charges:
            np.add.at(passed.reshape(-1), stretch[row] * width + column, amount)
        passed[0, : len(self._passed)] += self._passed
        np.cumsum(passed, axis=0, out=passed)
        self._passed = passed[-1].copy()
        return passed[:-1]

    def _add_calls(self, passed: Numbers) -> None:
        """Add the costs so far, with their signs, at the moments when calls began and ended."""
        calls = self._follower.calls
        if calls is not None and calls.entries:
            edge, moment, sign = np.array(calls.entries, np.int64).T
            self._inclusive.add_rows(edge, passed[moment] * sign[:, np.newaxis])
            calls.entries.clear()

    def _add_shares(self, charges: Charges, shares: list[list[Share]]) -> None:
        """Add charges to the calls that have shares in them."""
        columns, amounts = charges.column.tolist(), charges.amount.tolist()
        found = [
            (edge, column, sign * amount)
            for column, amount, of_one in zip(columns, amounts, shares, strict=True)
            for edge, sign in of_one
        ]
        if found:
            self._inclusive.add(*np.array(found, np.int64).T)

    def close(self) -> None:
        """Write the profile."""
        calls = self._follower.calls
        if calls is not None:
            calls.end(0)
            self._add_calls(self._passed[np.newaxis])
        text = ProfileText(self._profile(calls))
        self._file.write("\n".join(text.lines()).encode() + b"\n")
        self._file.close()

    def _profile(self, calls: Calls | None) -> CallgrindProfile:
        places = self._charger.places.items()
        edges = [] if calls is None else zip(calls.edges, calls.counts, strict=True)
        return CallgrindProfile(
            self._name,
            self._functions,
            self._charger.reasons,
            self._passed.tolist(),
            {(pc, a): self._own.row(2 * n + a) for pc, n in places for a in (False, True)},
            [(edge, count, self._inclusive.row(n)) for n, (edge, count) in enumerate(edges)],
        )
