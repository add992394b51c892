"""The longest chain of dependences that a loop carries from one iteration to the next.

The instructions of one iteration run many times on a machine without other limits: each begins as
soon as its operands allow.  The bound is the time of such an iteration in the long run.  The rules
for operands and results are those of `rvsim.cost`, which its cost programs use too.  There is no
renaming: a load waits until its destination has been read, and this is a dependence, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rvsim.cost import Core
from rvsim.cost.dependences import operand_delays, release_delay, result_delays
from rvsim.cost.facts import Facts, Operand
from rvsim.cost.formula import CYCLE, fixed
from rvsim.cost.vector_memory import arrival_delays, data_needed, overwriting_delays
from rvsim.perf.site import Site

_ROUNDS: Final = 24
"""Iterations that run; after half of them the time of an iteration is steady."""

_READ: Final = 64
_PARTS: Final = _READ + 32
"""Places: x and f registers; from `_READ` on, reads of vector registers; then register parts."""

Edge = tuple[int, int]
"""A place and a time: from ready to the start (inputs), or from the start to ready (outputs)."""


@dataclass(frozen=True, slots=True)
class DataFlow:
    """The inputs and outputs of an instruction."""

    inputs: tuple[Edge, ...]
    outputs: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Cycles per iteration, and the instructions that pass the value on, in order.

    `path` is the cycles of one iteration by itself, from its first instruction to its last result.
    An in-order core comes close to it if the loop starts nothing an iteration ahead.
    """

    cycles: float
    links: tuple[Site, ...]
    path: float


@dataclass(slots=True)
class _ReadyTimes:
    """When each place is ready, and the execution (round, number) that made it ready."""

    ready: dict[int, int] = field(default_factory=dict)
    maker: dict[int, tuple[int, int]] = field(default_factory=dict)
    parent: dict[tuple[int, int], tuple[int, int] | None] = field(default_factory=dict)
    last: int = 0

    def execute(self, flow: DataFlow, at: tuple[int, int]) -> None:
        start, parent = 0, None
        for place, delay in flow.inputs:
            time = self.ready.get(place, 0) + delay
            if time > start:
                start, parent = time, self.maker.get(place)
        self.parent[at] = parent
        self.last = max(self.last, start)
        for place, delay in flow.outputs:
            time = start + delay
            if place < _READ:  # scalar results are ready at whole cycles
                time = -(-time // CYCLE) * CYCLE
            if not _READ <= place < _PARTS or time > self.ready.get(
                place, 0
            ):  # the last reader counts
                self.ready[place], self.maker[place] = time, at
            self.last = max(self.last, time)

    def cycle(self) -> list[int]:
        """Numbers of the instructions that led to the last result, once around the cycle."""
        if not self.ready:
            return []
        at: tuple[int, int] | None = self.maker[max(self.ready, key=lambda p: self.ready[p])]
        path: list[int] = []
        while at is not None:
            if at[1] in path:
                return path[path.index(at[1]) :][::-1]
            path.append(at[1])
            at = self.parent[at]
        return []


def longest_chain(core: Core, body: Sequence[Site]) -> Chain:
    """The longest chain of a loop with these instructions; the core must know their classes."""
    flows = [flow_of(core, site) for site in body]
    run, ends = _ReadyTimes(), []
    for round_ in range(_ROUNDS):
        for number, flow in enumerate(flows):
            run.execute(flow, (round_, number))
        ends.append(run.last)
    half = _ROUNDS // 2
    cycles = (ends[-1] - ends[half - 1]) / (_ROUNDS - half) / CYCLE
    links = tuple(body[i] for i in run.cycle()) if cycles else ()
    return Chain(cycles, links, ends[0] / CYCLE)


def flow_of(core: Core, site: Site) -> DataFlow:
    """The inputs and outputs of an instruction that ran."""
    facts = site.facts
    assert facts is not None, "what never ran is no part of a loop"
    inputs = [(_place(p, site), 0) for p in facts.scalar_source_fields]
    if facts.unit not in core.vector:
        if facts.is_store:
            return DataFlow(tuple(inputs), ())
        latency = fixed(core.scalar[facts.unit].at(facts.situation).latency)
        return DataFlow(tuple(inputs), tuple(_scalar_output(facts, site, latency)))
    flow = _store if facts.is_store else _load if facts.is_memory else _arithmetic
    more, outputs = flow(core, facts, site)
    return DataFlow((*inputs, *more), tuple(outputs))


def _place(place: tuple[int | str, int], site: Site) -> int:
    name, file = place
    return file + (name if isinstance(name, int) else site.decoded.fields[name])


def _scalar_output(facts: Facts, site: Site, latency: int) -> list[Edge]:
    dest = facts.scalar_dest_field
    return [] if dest is None else [(_place(dest, site), latency)]


def _parts(core: Core, operand: Operand, site: Site) -> list[int]:
    first = _PARTS + core.vector_unit.parts * _place((operand.reg, 0), site)
    return [first + j for j in range(operand.parts(core))]


def _whole(core: Core, operand: Operand, site: Site) -> list[Edge]:
    return [(part, 0) for part in _parts(core, operand, site)]


def _reads(operand: Operand, site: Site, time: int) -> list[Edge]:
    """Outputs: the registers of an operand have been read `time` after the start."""
    first = _place((operand.reg, 0), site)
    return [(_READ + first + r, time) for r in range(operand.nregs)]


def _load(core: Core, facts: Facts, site: Site) -> tuple[list[Edge], list[Edge]]:
    timing, dest = core.vector[facts.unit].at(facts.situation), facts.operands[0]
    beats = fixed(timing.occupied(facts.size(core)))
    parts = _parts(core, dest, site)
    inputs = [edge for operand in facts.operands[1:] for edge in _whole(core, operand, site)]
    inputs += _reads(dest, site, 0)
    firsts = parts[:: core.vector_unit.parts]
    inputs += zip(firsts, overwriting_delays(core, facts, timing), strict=True)
    arrivals = (delay.total(beats) for delay in arrival_delays(core, facts, timing))
    return inputs, list(zip(parts, arrivals, strict=True))


def _store(core: Core, facts: Facts, site: Site) -> tuple[list[Edge], list[Edge]]:
    timing, data = core.vector[facts.unit].at(facts.situation), facts.operands[0]
    beats = fixed(timing.occupied(facts.size(core)))
    inputs = [edge for operand in facts.operands[1:] for edge in _whole(core, operand, site)]
    inputs += zip(_parts(core, data, site), data_needed(core, facts), strict=True)
    return inputs, _reads(data, site, max(beats - CYCLE, CYCLE))


def _arithmetic(core: Core, facts: Facts, site: Site) -> tuple[list[Edge], list[Edge]]:
    timing, dest = core.vector[facts.unit].at(facts.situation), facts.vector_dest
    busy = fixed(timing.occupied(facts.size(core)))
    inputs: list[Edge] = []
    for operand, delays in operand_delays(core, facts, timing):
        inputs += zip(_parts(core, operand, site), delays, strict=True)
    outputs = _scalar_output(facts, site, fixed(timing.latency.cycles(facts.size(core))))
    read = release_delay(core, facts, timing).total(busy)
    for operand in facts.vector_sources:
        outputs += _reads(operand, site, read)
    if dest is not None:
        ready = (delay.total(busy) for delay in result_delays(core, facts, timing, dest))
        outputs += zip(_parts(core, dest, site), ready, strict=True)
    return inputs, outputs
