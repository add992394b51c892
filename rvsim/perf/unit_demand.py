"""How long one execution of an instruction keeps a core's units busy, by the core's numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rvsim.cost import Core
from rvsim.cost.facts import Facts


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """Busy cycles of each unit, with a full vl, and use of the slots that a cycle has only once."""

    vector_unit: float = 0
    lsu: float = 0
    scalar_unit: str = ""
    scalar_busy: float = 0
    vector_slot: bool = False
    memory_slot: bool = False

    @property
    def busiest(self) -> float:
        """Cycles from one such instruction to the next, if nothing else limits them."""
        return max(1.0, self.vector_unit, self.lsu, self.scalar_busy)


def demand_of(core: Core, facts: Facts, *, masked: bool | None = None) -> UnitDemand:
    """The demand of an instruction of a known class; `masked` overrides whether it is masked.

    >>> from rvsim.cost import load_core
    >>> from rvsim.insn.decode import decode
    >>> from rvsim.engine.block import Mode
    >>> from rvsim.machine import Machine
    >>> from rvsim.perf.site import facts_at
    >>> from rvsim.vec.vtype import VType
    >>> vadd = facts_at(Machine(), decode(0x02008057, 4), Mode(VType(3, 2), "full"))
    >>> demand_of(load_core("x60"), vadd).vector_unit
    4.0
    """
    if facts.unit in core.vector:
        situation = facts.situation
        if masked is not None:
            situation = replace(situation, masked=masked)
        timing = core.vector[facts.unit].at(situation)
        cycles = timing.occupied(facts.size(core))
        if facts.is_memory:
            if timing.granules:  # each element touches at least one beat
                cycles += timing.granules * facts.context.vlmax
            return UnitDemand(lsu=cycles, vector_slot=True, memory_slot=True)
        return UnitDemand(vector_unit=cycles, vector_slot=True)
    plain = core.scalar[facts.unit].at(facts.situation)
    if facts.is_memory:
        return UnitDemand(lsu=plain.busy, memory_slot=True)
    if plain.unit:
        return UnitDemand(scalar_unit=plain.unit, scalar_busy=plain.busy)
    return UnitDemand()
