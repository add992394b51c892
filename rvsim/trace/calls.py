"""The calls of a run, followed from one jump to the next, and what passes until they return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

Jump = tuple[int, int | None]
"""Where a jump is, and where its link returns to; None if it keeps no return address."""


class Edge(NamedTuple):
    """All calls from one place to another."""

    site: int
    target: int


class _Call(NamedTuple):
    """One call under way: its edge, and where it returns to."""

    edge: int
    back: int


@dataclass(slots=True)
class Calls:
    """A shadow of the program's stack of calls.

    What a call costs is the difference of two sums of all that has passed, at its return and at its
    beginning.  They are left as entries for whoever has the sums: (edge, moment, 1 or -1).
    """

    edges: list[Edge] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """How often each edge was taken."""
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    _numbers: dict[Edge, int] = field(default_factory=dict)
    _stack: list[_Call] = field(default_factory=list)

    def arrive(self, moment: int, pc: int, site: int, back: int | None) -> None:
        """A jump from `site` has come to `pc`: a call, a return, or neither."""
        if back is not None:
            if pc != back:
                self._call(moment, Edge(site, pc), back)
            return
        depth = next((i for i, c in enumerate(reversed(self._stack), 1) if c.back == pc), 0)
        for _ in range(depth):
            self._return(moment)

    def end(self, moment: int) -> None:
        """The calls that have not returned end here."""
        while self._stack:
            self._return(moment)

    def _call(self, moment: int, edge: Edge, back: int) -> None:
        number = self._numbers.get(edge)
        if number is None:
            number = self._numbers[edge] = len(self.edges)
            self.edges.append(edge)
            self.counts.append(0)
        self.counts[number] += 1
        self.entries.append((number, moment, -1))
        self._stack.append(_Call(number, back))

    def _return(self, moment: int) -> None:
        self.entries.append((self._stack.pop().edge, moment, 1))
