"""Multiply-accumulations: how many, and how long they would take at the core's peak.

The peak of an instruction follows from the core's numbers: its multiply-accumulations with a full
vl and no mask, over the cycles from one of it to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim.cost import Core
from rvsim.insn.custom.ime import N
from rvsim.insn.units import Unit
from rvsim.perf.site import Site
from rvsim.perf.unit_demand import demand_of

PER_ELEMENT: Final = {
    Unit.VMAC: 1,
    Unit.VWIDEN_MAC: 1,
    Unit.VFMA: 1,
    Unit.VFWIDEN_MA: 1,
    Unit.VMADOT: N,  # each element of A, as many as vl, meets one of each column of the product
}
"""Multiply-accumulations of each element within vl, by unit."""


@dataclass(frozen=True, slots=True)
class Macs:
    """`peak_cycles` is what `count` of them would take with nothing else in the way."""

    count: int = 0
    peak_cycles: float = 0.0

    def __add__(self, other: Macs) -> Macs:
        return Macs(self.count + other.count, self.peak_cycles + other.peak_cycles)

    @property
    def peak(self) -> float:
        """A cycle, at best."""
        return self.count / self.peak_cycles if self.count else 0.0


def macs_of(core: Core, site: Site) -> Macs:
    """What one instruction of the program has multiplied and added."""
    facts = site.facts
    if facts is None or not core.knows(facts.unit):
        return Macs()
    unit = facts.unit
    if unit is Unit.FMA:
        return Macs(site.executions, site.executions * demand_of(core, facts).busiest)
    if unit not in PER_ELEMENT or not site.vlmax_sum:
        return Macs()
    full = facts.context.vlmax
    cycles = demand_of(core, facts, masked=False).busiest
    return Macs(site.vl_sum * PER_ELEMENT[unit], site.vl_sum / full * cycles)
