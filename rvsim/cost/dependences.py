"""How vector arithmetic depends on its operands, and others on it: times from and to its start.

The cost program of an instruction and the longest chain of a loop (`rvsim.perf.chain`) are made
of these.
"""

from __future__ import annotations

from dataclasses import dataclass

from rvsim.cost.classes import VectorTiming
from rvsim.cost.core import Core
from rvsim.cost.facts import Facts, Operand
from rvsim.cost.formula import CYCLE, fixed
from rvsim.ir import Value


@dataclass(frozen=True, slots=True)
class Delay:
    """A time after the start; `and_busy` adds what only the run may know: how long a unit is."""

    time: int
    and_busy: bool = False

    def after(self, start: Value, busy: Value) -> Value:
        """The moment, in a cost program."""
        moment = start + self.time
        return moment + busy if self.and_busy else moment

    def total(self, busy: int) -> int:
        """The time where the unit is busy for as long as the instruction's class says."""
        return self.time + busy if self.and_busy else self.time


def operand_delays(
    core: Core, facts: Facts, timing: VectorTiming
) -> list[tuple[Operand, list[int]]]:
    """For the parts of each operand, the time from when one is ready to the earliest start.

    It is negative for a part that is needed only some steps after the start.
    """
    occupied = timing.occupied(facts.size(core))

    def whole(operand: Operand) -> list[int]:
        return [0] * operand.parts(core)

    def chained(operand: Operand, extra: float) -> list[int]:
        n = operand.parts(core)
        return [fixed(extra) - step(j, n, occupied) for j in range(n)]

    mask, dest = facts.mask_operand, facts.vector_dest
    found = [] if mask is None else [(mask, whole(mask))]
    found += [(o, chained(o, 0) if timing.chain else whole(o)) for o in facts.vector_sources]
    if dest is not None:
        found.append((dest, chained(dest, timing.old)))
    return found


def step(j: int, n: int, occupied: float) -> int:
    """Whole cycles from the start to part `j` of `n`, as time."""
    return int(j * occupied / n) * CYCLE


def result_delays(core: Core, facts: Facts, timing: VectorTiming, dest: Operand) -> list[Delay]:
    """For each part of the destination, when it is ready."""
    latency, n = fixed(timing.latency.cycles(facts.size(core))), dest.parts(core)
    match timing.result:
        case "step":
            occupied = timing.occupied(facts.size(core))
            return [Delay(latency + _passed(core, j, n, occupied)) for j in range(n)]
        case "end":
            return [Delay(latency - CYCLE, and_busy=True)] * n
        case _:
            return [Delay(latency)] * n


def _passed(core: Core, j: int, n: int, occupied: float) -> int:
    """Time from the start to the step after which part `j` of `n` has passed through the unit.

    Parts of one register are ready together where the unit takes longer than a step for each.
    """
    register = core.vector_unit.parts
    if occupied < n:
        return step(j, n, occupied)
    if n == register and occupied > n:
        return fixed(occupied - 1)
    return step(j - j % register, n, occupied)


def release_delay(core: Core, facts: Facts, timing: VectorTiming) -> Delay:
    """When a load may overwrite the sources: they have been read, and it is nearly done."""
    if timing.release is not None:
        return Delay(fixed(timing.release))
    latency = timing.latency.cycles(facts.size(core))
    return Delay(fixed(min(latency, core.vector_unit.release) - 1), and_busy=True)
