"""Timing of vector arithmetic: a queue, and one unit that processes groups part by part."""

from __future__ import annotations

from collections.abc import Iterator

from rvsim import ir
from rvsim.cost.classes import VectorTiming
from rvsim.cost.core import Core
from rvsim.cost.dependences import operand_delays, release_delay, result_delays
from rvsim.cost.facts import Facts, Operand
from rvsim.cost.formula import fixed
from rvsim.cost.issue import Issuer, ceil, latest, took
from rvsim.cost.reasons import UNIT_VECTOR, VSETVL, raw
from rvsim.cost.scalar import deliver, wait_for_sources
from rvsim.cost.state import get, put
from rvsim.ir import Value


def arithmetic(core: Core, facts: Facts, timing: VectorTiming) -> None:
    """Issue into the queue, and begin when the unit and the operands are ready."""
    issuer = Issuer(core, vector=True)
    wait_for_sources(issuer, facts)
    issuer.wait(get("vset_ready"), VSETVL)
    last = core.queue.depth - 1
    issuer.wait(
        ir.read_array("queue_start", last),
        lambda: ir.read_array("queue_why", last),
        lambda: ir.read_array("queue_site", last),
    )
    issued = issuer.issue()
    occupied = timing.occupied(facts.size(core))
    start = _start(core, facts, timing, issued)
    _enqueue(core, start)
    busy = _busy(core, facts, timing, occupied)
    put("vector_free", start + busy)
    done = _results(core, facts, timing, start, busy)
    _release_sources(core, facts, timing, start, busy)
    put("end", latest(get("end"), done))
    took(start, done)


def _busy(core: Core, facts: Facts, timing: VectorTiming, occupied: float) -> Value:
    """How long the unit is busy; for classes with `parts` this depends on vl.

    The cycles of a part with some elements within vl grow with the logarithm of their number:
    the slowest element counts.
    """
    parts = timing.parts
    if parts is None:
        return ir.const(fixed(occupied), 64)
    count = max(1, int(facts.size(core).parts))
    bits = (core.vector_unit.datapath // facts.context.v.sew).bit_length() - 1
    vl = ir.read("vl")
    whole, rest = ir.shr_u(vl, bits), vl & ((1 << bits) - 1)
    per_bit = fixed((parts.full - parts.one) / bits) if bits else 0
    begun = fixed(parts.one) + (63 - ir.clz(rest)) * per_bit
    idle = count - whole - ir.where(rest != 0, ir.const(1, 64), 0)
    return (
        whole * fixed(parts.full)
        + ir.where(rest != 0, begun, ir.const(0, 64))
        + idle * fixed(parts.idle)
    )


# -- beginning


def _start(core: Core, facts: Facts, timing: VectorTiming, issued: Value) -> Value:
    """When it begins; stores the reason for the delay, for instructions that wait for the queue."""
    groups = _group_times(core, facts, timing)
    free = get("vector_free")
    start = latest(issued, free, *(time for _, time in groups))
    with ir.when(start != issued):
        why = ir.const(UNIT_VECTOR, 64)
        for operand, time in reversed(groups):
            why = ir.where(time == start, ir.read_array("why_v", operand.register(0)), why)
        why = ir.where(free == start, UNIT_VECTOR, why)
        put("start_why", why)
    return start


def _group_times(core: Core, facts: Facts, timing: VectorTiming) -> list[tuple[Operand, Value]]:
    """For each operand, the earliest start that its parts allow."""
    return [
        (operand, latest(*_allowed(core, operand, delays)))
        for operand, delays in operand_delays(core, facts, timing)
    ]


def _allowed(core: Core, operand: Operand, delays: list[int]) -> Iterator[Value]:
    for j, delay in enumerate(delays):
        ready = ir.read_array("ready_v", operand.part(core, j))
        yield ready + delay if delay else ready


def _enqueue(core: Core, start: Value) -> None:
    for name, value in (
        ("queue_start", start), ("queue_why", get("start_why")), ("queue_site", ir.param("site")),
    ):  # fmt: skip
        kept = [ir.read_array(name, i) for i in range(core.queue.depth - 1)]
        ir.write_array(name, 0, value)
        for i, old in enumerate(kept):
            ir.write_array(name, i + 1, old)


# -- results


def _results(core: Core, facts: Facts, timing: VectorTiming, start: Value, busy: Value) -> Value:
    """Set when each part of the results is ready; returns when the last part is."""
    done = start + fixed(timing.latency.cycles(facts.size(core)))
    deliver(facts, ceil(done))
    dest = facts.vector_dest
    if dest is None:
        return done
    for j, delay in enumerate(result_delays(core, facts, timing, dest)):
        done = delay.after(start, busy)
        ir.write_array("ready_v", dest.part(core, j), done)
    for r in range(dest.nregs):
        ir.write_array("why_v", dest.register(r), raw(facts.unit))
    return done


def _release_sources(
    core: Core, facts: Facts, timing: VectorTiming, start: Value, busy: Value
) -> None:
    time = release_delay(core, facts, timing).after(start, busy)
    for operand in facts.vector_sources:
        for r in range(operand.nregs):
            register = operand.register(r)
            ir.write_array("read_v", register, latest(ir.read_array("read_v", register), time))
