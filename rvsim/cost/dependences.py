"""Timing rules of vector arithmetic: from ready operands to its start, from there to its results.

The cost program of an instruction and the longest chain of a loop (`rvsim.perf.chain`) both use
these rules.
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
    """A time after the start; `and_busy` adds how long the unit is busy, known only in the run."""

    time: int
    and_busy: bool = False

    def after(self, start: Value, busy: Value) -> Value:
        """The time when it ends, as a value of a cost program."""
        moment = start + self.time
        return moment + busy if self.and_busy else moment

    def total(self, busy: int) -> int:
        """The delay if the unit is busy for `busy`."""
        return self.time + busy if self.and_busy else self.time


def operand_delays(
    core: Core, facts: Facts, timing: VectorTiming
) -> list[tuple[Operand, list[int]]]:
    """For each part of each operand, the time from when it is ready to the earliest start.

    It is negative for a part that the instruction needs only some steps after its start.
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
    """The time from the start to part `j` of `n`, rounded down to whole cycles."""
    return int(j * occupied / n) * CYCLE


def result_delays(core: Core, facts: Facts, timing: VectorTiming, dest: Operand) -> list[Delay]:
    """For each part of the destination, the delay from the start until it is ready."""
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
    """The time from the start until part `j` of `n` has passed through the unit.

    The parts of one register pass together if the unit takes more than one step for each.
    """
    register = core.vector_unit.parts
    if occupied < n:
        return step(j, n, occupied)
    if n == register and occupied > n:
        return fixed(occupied - 1)
    return step(j - j % register, n, occupied)


def release_delay(core: Core, facts: Facts, timing: VectorTiming) -> Delay:
    """The delay from the start until a load may overwrite the sources."""
    if timing.release is not None:
        return Delay(fixed(timing.release))
    latency = timing.latency.cycles(facts.size(core))
    return Delay(fixed(min(latency, core.vector_unit.release) - 1), and_busy=True)
