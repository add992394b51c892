"""Timing of vector arithmetic: a queue, and one unit that goes over groups part by part."""

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
    occupied = timing.occupied(facts.size(core))
    start = _start(core, facts, timing, issued, occupied)
    _enqueue(core, start)
    busy = _busy(core, facts, timing, occupied)
    put("vector_free", start + busy)
    done = _results(core, facts, timing, start, occupied, busy)
    _release_sources(core, facts, timing, start, busy)
    put("end", latest(get("end"), done))
    took(start, done)


def _busy(core: Core, facts: Facts, timing: VectorTiming, occupied: float) -> Value:
    """How long it keeps the unit: by vl, for operations that do less where nothing is to be done.

    The cycles of a part in between go with the logarithm of its elements: the slowest counts.
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


def _start(core: Core, facts: Facts, timing: VectorTiming, issued: Value, occupied: float) -> Value:
    """When it begins; why not before is left for whoever waits for this in the queue."""
    groups = _group_times(core, facts, timing, occupied)
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
    core: Core, facts: Facts, timing: VectorTiming, occupied: float
) -> list[tuple[Operand, Value]]:
    """For each operand, how early its parts allow the instruction to begin."""
    times = []
    mask, dest = facts.mask_operand, facts.vector_dest
    if mask is not None:
        times.append((mask, _all_ready(core, mask)))
    for operand in facts.vector_sources:
        whole = not timing.chain
        ready = _all_ready(core, operand) if whole else _chained(core, operand, occupied, 0)
        times.append((operand, ready))
    if dest is not None:
        times.append((dest, _chained(core, dest, occupied, timing.old)))
    return times


def _all_ready(core: Core, operand: Operand) -> Value:
    places = (operand.part(core, j) for j in range(operand.parts(core)))
    return latest(*(ir.read_array("ready_v", place) for place in places))


def _chained(core: Core, operand: Operand, occupied: float, extra: float) -> Value:
    """Part j is needed j steps after the start."""
    n = operand.parts(core)
    times = [
        ir.read_array("ready_v", operand.part(core, j)) + (fixed(extra) - step(j, n, occupied))
        for j in range(n)
    ]
    return latest(*times)


def step(j: int, n: int, occupied: float) -> int:
    """Whole cycles from the start to part `j` of `n`, as time."""
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
    core: Core, facts: Facts, timing: VectorTiming, start: Value, occupied: float, busy: Value
) -> Value:
    """Mark what is written as ready in time; returns when the last of it is."""
    latency = fixed(timing.latency.cycles(facts.size(core)))
    deliver(facts, ceil(start + latency))
    dest = facts.vector_dest
    if dest is None:
        return start + latency
    ends = start + latency
    if timing.result == "end":
        ends += busy - CYCLE
    n = dest.parts(core)
    last = ends
    for j in range(n):
        time = ends
        if timing.result == "step":
            time = last = start + (latency + done(core, j, n, occupied))
        ir.write_array("ready_v", dest.part(core, j), time)
    for r in range(dest.nregs):
        ir.write_array("why_v", dest.register(r), raw(facts.unit))
    return last


def done(core: Core, j: int, n: int, occupied: float) -> int:
    """Time from the start to the step after which part `j` of `n` has passed through the unit.

    Parts of one register are ready together where the unit takes longer than a step for each.
    """
    register = core.vector_unit.parts
    if occupied < n:
        return step(j, n, occupied)
    if n == register and occupied > n:
        return fixed(occupied - 1)
    return step(j - j % register, n, occupied)


def release_after(core: Core, facts: Facts, timing: VectorTiming) -> float:
    """Cycles until a load may overwrite the sources: from the start, or else from its last step."""
    if timing.release is not None:
        return timing.release
    return min(timing.latency.cycles(facts.size(core)), core.vector_unit.release) - 1


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
