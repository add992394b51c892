"""Multiply-accumulations: how many, and how long they would take at the core's peak.

The peak of an instruction follows from the core's numbers: its multiply-accumulations with a full
vl and no mask, divided by the cycles from one such instruction to the next.
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
    Unit.VMADOT: N,  # each of the vl elements of A is multiplied once for each column of C
}
"""Multiply-accumulations of each element within vl, by unit."""


@dataclass(frozen=True, slots=True)
class Macs:
    """`count` multiply-accumulations would take `peak_cycles` if nothing else took time."""

    count: int = 0
    peak_cycles: float = 0.0

    def __add__(self, other: Macs) -> Macs:
        return Macs(self.count + other.count, self.peak_cycles + other.peak_cycles)

    @property
    def peak(self) -> float:
        """Multiply-accumulations a cycle, at best."""
        return self.count / self.peak_cycles if self.count else 0.0


def macs_of(core: Core, site: Site) -> Macs:
    """The multiply-accumulations of one instruction of the program."""
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
