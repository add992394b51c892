"""The cycles that an iteration of a loop would take if only one thing limited it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim.cost import Core
from rvsim.perf.chain import Chain, longest_chain
from rvsim.perf.loops import Loop
from rvsim.perf.unit_demand import demand_of

_BINDS: Final = 1.1
"""The largest bound limits a loop if neither's cycles exceed the other's by this factor."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Cycles per iteration; bounds of units assume a full vl, and all data in L1.

    `chain` is None if the loop contains other loops.
    """

    measured: float
    issue: float
    vector_unit: float
    lsu: float
    scalar_units: float
    chain: Chain | None

    def by_name(self) -> dict[str, float]:
        """The bounds by the names that users see."""
        found = {
            "issue width": self.issue,
            "vector unit": self.vector_unit,
            "load/store unit": self.lsu,
        }
        if self.scalar_units:
            found["scalar units"] = self.scalar_units
        if self.chain is not None:
            found["dependences"] = self.chain.cycles
        return found

    @property
    def largest(self) -> tuple[str, float]:
        """The name of the largest bound, and its cycles; ties go to units."""
        found = self.by_name()
        name = max(reversed(found), key=lambda n: found[n])
        return name, found[name]

    @property
    def binding(self) -> str | None:
        """The name of the bound that limits the loop; None if no single bound does.

        A loop may take less than its bounds if vl is short, or if it ends before an iteration has
        to wait for the one before it.
        """
        name, cycles = self.largest
        return name if cycles / _BINDS <= self.measured <= _BINDS * cycles else None


def bounds(core: Core, loop: Loop) -> Bounds:
    """The bounds of a loop; an instruction counts by its average executions per iteration.

    The chain consists of instructions that ran in at least half of the iterations.
    """
    slots = vectors = accesses = vector_unit = lsu = 0.0
    scalar_units: dict[str, float] = {}
    known = [s for s in loop.sites if s.facts is not None and core.knows(s.insn.unit)]
    for site in known:
        assert site.facts is not None
        demand, share = demand_of(core, site.facts), site.executions / loop.iterations
        slots += share
        vectors += share * demand.vector_slot
        accesses += share * demand.memory_slot
        vector_unit += share * demand.vector_unit
        lsu += share * demand.lsu
        if demand.scalar_unit:
            busy = scalar_units.get(demand.scalar_unit, 0.0)
            scalar_units[demand.scalar_unit] = busy + share * demand.scalar_busy
    usual = [s for s in known if 2 * s.executions >= loop.iterations]
    return Bounds(
        measured=loop.cycles,
        issue=max(slots / core.issue.width, vectors, accesses),
        vector_unit=vector_unit,
        lsu=lsu,
        scalar_units=max(scalar_units.values(), default=0.0),
        chain=longest_chain(core, usual) if loop.is_innermost else None,
    )
