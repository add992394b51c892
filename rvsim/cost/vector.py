"""Timing of vector arithmetic: a queue, and one unit that goes over groups half by half."""

from __future__ import annotations

from rvsim import ir
from rvsim.cost.classes import VectorTiming
from rvsim.cost.core import Core
from rvsim.cost.facts import Facts, Operand
from rvsim.cost.formula import CYCLE, fixed
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
    occupied = timing.occupied(facts.size)
    start = _start(facts, timing, issued, occupied)
    _enqueue(core, start)
    busy = _busy(facts, timing, occupied)
    put("vector_free", start + busy)
    done = _results(facts, timing, start, occupied, busy)
    _release_sources(core, facts, timing, start, busy)
    put("end", latest(get("end"), done))
    took(start, done)


def _busy(facts: Facts, timing: VectorTiming, occupied: float) -> Value:
    """How long it keeps the unit: by vl, for operations that do less where nothing is to be done.

    The cycles of a half in between go with the logarithm of its elements: the slowest counts.
    """
    halves = timing.halves
    if halves is None:
        return ir.const(fixed(occupied), 64)
    count = max(1, int(2 * facts.size.lmul))
    bits = (facts.context.config.vlen // 2 // facts.context.v.sew).bit_length() - 1
    vl = ir.read("vl")
    whole, rest = ir.shr_u(vl, bits), vl & ((1 << bits) - 1)
    per_bit = fixed((halves.full - halves.one) / bits) if bits else 0
    part = fixed(halves.one) + (63 - ir.clz(rest)) * per_bit
    idle = count - whole - ir.where(rest != 0, ir.const(1, 64), 0)
    return (
        whole * fixed(halves.full)
        + ir.where(rest != 0, part, ir.const(0, 64))
        + idle * fixed(halves.idle)
    )


# -- beginning


def _start(facts: Facts, timing: VectorTiming, issued: Value, occupied: float) -> Value:
    """When it begins; why not before is left for whoever waits for this in the queue."""
    groups = [*(_group_times(facts, timing, occupied))]
    free = get("vector_free")
    start = latest(issued, free, *(time for _, time in groups))
    with ir.when(start != issued):
        why = ir.const(UNIT_VECTOR, 64)
        for operand, time in reversed(groups):
            why = ir.where(time == start, ir.read_array("why_v", operand.register(0)), why)
        why = ir.where(free == start, UNIT_VECTOR, why)
        put("start_why", why)
    return start


def _group_times(
    facts: Facts, timing: VectorTiming, occupied: float
) -> list[tuple[Operand, Value]]:
    """For each operand, how early its halves allow the instruction to begin."""
    times = []
    mask, dest = facts.mask_operand, facts.vector_dest
    if mask is not None:
        times.append((mask, _all_ready(mask)))
    for operand in facts.vector_sources:
        chained = timing.chain
        times.append((operand, _chained(operand, occupied, 0) if chained else _all_ready(operand)))
    if dest is not None:
        times.append((dest, _chained(dest, occupied, timing.old)))
    return times


def _all_ready(operand: Operand) -> Value:
    halves = [ir.read_array("ready_v", operand.half(j)) for j in range(2 * operand.nregs)]
    return latest(*halves)


def _chained(operand: Operand, occupied: float, extra: float) -> Value:
    """Half j is needed j steps after the start."""
    n = 2 * operand.nregs
    times = [
        ir.read_array("ready_v", operand.half(j)) + (fixed(extra) - step(j, n, occupied))
        for j in range(n)
    ]
    return latest(*times)


def step(j: int, n: int, occupied: float) -> int:
    """Whole cycles from the start to half `j` of `n`, as time."""
    return int(j * occupied / n) * CYCLE


def _enqueue(core: Core, start: Value) -> None:
    for name, value in (
        ("queue_start", start), ("queue_why", get("start_why")), ("queue_site", ir.param("site")),
    ):  # fmt: skip
        kept = [ir.read_array(name, i) for i in range(core.queue.depth - 1)]
        ir.write_array(name, 0, value)
        for i, old in enumerate(kept):
            ir.write_array(name, i + 1, old)


# -- results


def _results(
    facts: Facts, timing: VectorTiming, start: Value, occupied: float, busy: Value
) -> Value:
    """Mark what is written as ready in time; returns when the last of it is."""
    latency = fixed(timing.latency.cycles(facts.size))
    deliver(facts, ceil(start + latency))
    dest = facts.vector_dest
    if dest is None:
        return start + latency
    ends = start + latency
    if timing.result == "end":
        ends += busy - CYCLE
    n = 2 * dest.nregs
    last = ends
    for j in range(n):
        time = ends
        if timing.result == "step":
            time = last = start + (latency + done(j, n, occupied))
        ir.write_array("ready_v", dest.half(j), time)
    for r in range(dest.nregs):
        ir.write_array("why_v", dest.register(r), raw(facts.unit))
    return last


def done(j: int, n: int, occupied: float) -> int:
    """Time from the start to the step after which half `j` of `n` has passed through the unit."""
    if occupied < n:
        return step(j, n, occupied)
    if n == 2 and occupied > 2:
        return fixed(occupied - 1)
    return step(j & ~1, n, occupied)


def release_after(core: Core, facts: Facts, timing: VectorTiming) -> float:
    """Cycles until a load may overwrite the sources: from the start, or else from its last step."""
    if timing.release is not None:
        return timing.release
    return min(timing.latency.cycles(facts.size), core.vector_unit.release) - 1


def _release_sources(
    core: Core, facts: Facts, timing: VectorTiming, start: Value, busy: Value
) -> None:
    """A load may overwrite the sources once the instruction has read them and is nearly done."""
    time = start + fixed(release_after(core, facts, timing))
    if timing.release is None:
        time += busy
    for operand in facts.vector_sources:
        for r in range(operand.nregs):
            register = operand.register(r)
            ir.write_array("read_v", register, latest(ir.read_array("read_v", register), time))
