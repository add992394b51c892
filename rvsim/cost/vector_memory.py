"""Timing of vector loads and stores: beats of the load/store unit, and the store buffer."""

from __future__ import annotations

from rvsim import ir
from rvsim.cost.classes import VectorTiming
from rvsim.cost.core import Core
from rvsim.cost.dependences import Delay
from rvsim.cost.facts import Facts, transplant
from rvsim.cost.formula import CYCLE, fixed
from rvsim.cost.hierarchy import Hierarchy
from rvsim.cost.issue import Issuer, latest, reason_in, took
from rvsim.cost.lsu import ByteSpan, begin_after, load_extra, store_extra, wait_for_unit
from rvsim.cost.reasons import STORE, UNIT_LSU, VSETVL, WAR, raw
from rvsim.cost.scalar import wait_for_sources
from rvsim.cost.state import get, put
from rvsim.ir import Value

_LOAD, _STORE = 1, 2


def _span(facts: Facts) -> ByteSpan:
    """The bytes of a contiguous access, from the lowest to the highest within vl."""
    data, vl = facts.operands[0], ir.read("vl")
    address = transplant(facts.access.args[0])
    if facts.style == "whole":
        nbytes = ir.const(data.nregs * facts.context.config.vlenb, 64)
    elif facts.style == "mask":
        nbytes = ir.shr_u(vl + 7, 3)
    else:
        nbytes = vl * _segment_bytes(facts)
    return ByteSpan(nbytes != 0, address, address + nbytes - 1)


def _segment_bytes(facts: Facts) -> int:
    data = facts.operands[0]
    return (1 << data.eew_log2) // 8 * data.nf


def _extra(h: Hierarchy, facts: Facts, time: Value) -> tuple[ByteSpan, Value]:
    """The bytes of a contiguous access (none for others), and the extra cycles of the access.

    Strided and indexed accesses go element by element, whatever the mask is.
    """
    of_span = store_extra if facts.is_store else load_extra
    if facts.style not in ("strided", "indexed"):
        span = _span(facts)
        return span, of_span(h, span, time)
    addresses = None if facts.style == "strided" else transplant(facts.access.args[0])
    put("element_extra", 0)
    with ir.repeat(ir.read("vl")) as i:
        if addresses is None:
            address = ir.read_x("rs1") + ir.read_x("rs2") * i
        else:
            lane = i * facts.operands[0].nf
            address = ir.extract(ir.take(addresses, ir.splat(lane, 1)), 0)
        so_far = get("element_extra")
        span = ByteSpan(ir.const(1, 1), address, address + (_segment_bytes(facts) - 1))
        extra = of_span(h, span, time + i * CYCLE + so_far)
        put("element_extra", so_far + extra)
    nothing = ByteSpan(ir.const(0, 1), ir.const(0, 64), ir.const(0, 64))
    return nothing, get("element_extra")


def _misaligned(core: Core, facts: Facts, span: ByteSpan) -> Value:
    """Whether its registers touch one more beat than an aligned access would, whatever vl is.

    Accesses that go element by element are never misaligned: strided, indexed, and segments of
    many fields.  Measurements show no such cost for segment stores either.
    """
    most_fields = 1 if facts.is_store else core.lsu.whole_fields
    if facts.style in ("strided", "indexed") or facts.operands[0].nf > most_fields:
        return ir.const(0, 1)
    if facts.style == "mask":
        size = -(-facts.context.vlmax // 8)
    else:
        data = facts.operands[0]
        size = data.nf * max(1, int(facts.context.config.vlenb * 2.0**data.emul_log2))
    bits = _beat_bits(core)
    touched = ir.shr_u(span.low + (size - 1), bits) - ir.shr_u(span.low, bits)
    return ir.lt_u((size - 1) >> bits, touched)


def _beat_bits(core: Core) -> int:
    """The number of address bits within a beat."""
    return core.lsu.beat.bit_length() - 1


def _split_beats(core: Core, misaligned: Value, kind: int) -> Value:
    """The extra time of a misaligned access; two of one kind in a row pay once."""
    pays = misaligned & (get("split") != kind)
    put("split", ir.where(pays, kind, ir.const(0, 64)))
    return ir.where(pays, fixed(core.lsu.misaligned_beats), ir.const(0, 64))


def load(h: Hierarchy, facts: Facts, timing: VectorTiming) -> None:
    """Time a load: it blocks issue until the unit is free and its destination has been read."""
    core = h.core
    issuer = _vector_issuer(core, facts)
    dest = facts.operands[0]
    for r, delay in enumerate(overwriting_delays(core, facts, timing)):
        issuer.wait(ir.read_array("read_v", dest.register(r)), WAR)
        first = ir.read_array("ready_v", dest.part(core, r * core.vector_unit.parts))
        issuer.wait(first + delay, reason_in("why_v", dest.register(r)))
    _wait_for_index(core, issuer, facts)
    _wait_for_drain(core, issuer)
    time = begin_after(issuer.issue())
    span, extra = _extra(h, facts, time)
    misaligned = _misaligned(core, facts, span)
    beats = _beats(core, facts, timing)
    busy = time + beats + _split_beats(core, misaligned, _LOAD)
    put("lsu_free", busy + extra)
    put("lsu_why", ir.where(extra == 0, UNIT_LSU, get("level")))
    begun = time + extra
    begun += ir.where(misaligned, fixed(core.lsu.misaligned_latency), ir.const(0, 64))
    why = ir.where(extra == 0, raw(facts.unit), get("level"))
    last = _last_arrival(core, facts, timing).after(begun, beats)
    for j, arrival in enumerate(arrival_delays(core, facts, timing)):
        ir.write_array("ready_v", dest.part(core, j), arrival.after(begun, beats))
    for r in range(dest.nregs):
        ir.write_array("why_v", dest.register(r), why)
    put("end", latest(get("end"), last))
    took(time, last)


def _beats(core: Core, facts: Facts, timing: VectorTiming) -> Value:
    """How long the unit is busy, including the beats that strided segments touch."""
    beats = ir.const(fixed(timing.occupied(facts.size(core))), 64)
    if not timing.granules:
        return beats
    n, data = facts.context.vlmax, facts.operands[0]
    segment = (1 << data.eew_log2) // 8 * data.nf
    low = (ir.iota(n, 64) * ir.read_x("rs2") + ir.read_x("rs1")) & (core.lsu.beat - 1)
    more = ir.reduce("add", ir.shr_u(low + (segment - 1), _beat_bits(core)))
    return beats + (more + n) * fixed(timing.granules)


def register_beats(core: Core, facts: Facts) -> int:
    """The time to move one register, at the VLEN of the run."""
    return fixed(facts.context.config.vlenb / core.lsu.beat)


def overwriting_delays(core: Core, facts: Facts, timing: VectorTiming) -> list[int]:
    """For each register of a load, the time from when its old value is ready to the start."""
    latency = fixed(timing.latency.cycles(facts.size(core)))
    registers = range(facts.operands[0].nregs)
    return [fixed(timing.old) - latency - r * register_beats(core, facts) for r in registers]


def arrival_delays(core: Core, facts: Facts, timing: VectorTiming) -> list[Delay]:
    """For each part of a load's data, the delay until it arrives.

    All parts of an access that is not contiguous arrive together.
    """
    n = facts.operands[0].parts(core)
    if not _is_run(facts):
        return [_last_arrival(core, facts, timing)] * n
    latency = fixed(timing.latency.cycles(facts.size(core)))
    beats = fixed(timing.occupied(facts.size(core)))
    return [Delay(latency + j * beats // n) for j in range(n)]


def _last_arrival(core: Core, facts: Facts, timing: VectorTiming) -> Delay:
    return Delay(fixed(timing.latency.cycles(facts.size(core))) - CYCLE, and_busy=True)


def _is_run(facts: Facts) -> bool:
    """Whether its parts are consecutive bytes, which arrive one after another."""
    run = facts.style in ("unit", "fault_only_first", "whole", "mask")
    return run and facts.operands[0].nf == 1


def _vector_issuer(core: Core, facts: Facts) -> Issuer:
    issuer = Issuer(core, vector=True, memory=True)
    wait_for_sources(issuer, facts)
    issuer.wait(get("vset_ready"), VSETVL)
    wait_for_unit(issuer)
    return issuer


def _wait_for_index(core: Core, issuer: Issuer, facts: Facts) -> None:
    """Wait for all parts of index registers and mask."""
    others = facts.operands[1:]
    for operand in others:
        for j in range(operand.parts(core)):
            ready = ir.read_array("ready_v", operand.part(core, j))
            issuer.wait(ready, reason_in("why_v", operand.register(0)))


def _drained(time: Value) -> Value:
    """Beats left in the store buffer at `time`: one leaves in each cycle that the unit is idle."""
    free, stored = get("lsu_free"), get("stored")
    idle = ir.where(ir.lt_u(free, time), time - free, 0)
    return stored - ir.min_u(stored, idle)


def _wait_for_drain(core: Core, issuer: Issuer) -> None:
    """A load waits until at most `store_buffer.capacity` of beats is left."""
    time = issuer.earliest()
    left, capacity = _drained(time), fixed(core.store_buffer.capacity)
    over = ir.where(ir.lt_u(capacity, left), left - capacity, 0)
    put("stored", left - over)
    issuer.wait(time + over, STORE)


def store(h: Hierarchy, facts: Facts, timing: VectorTiming) -> None:
    """Time a store: it issues without waiting for its data, unless stores are too far ahead."""
    core = h.core
    buffer = core.store_buffer
    issuer = _vector_issuer(core, facts)
    begin = latest(
        issuer.earliest(), get("lsu_free"), get("stores_done"), *_data_times(core, facts)
    )
    stream = get("stored_until") - fixed(buffer.slack)
    blocked = ir.lt_u(begin, stream)
    issuer.wait(ir.where(blocked, stream, issuer.now), STORE)
    time = issuer.issue()
    begin = latest(begin, time)
    left = _drained(begin)
    span, extra = _extra(h, facts, begin)
    misaligned = _misaligned(core, facts, span)
    beats = _beats(core, facts, timing)
    cost = beats + _split_beats(core, misaligned, _STORE)
    put("lsu_why", ir.where(extra == 0, UNIT_LSU, get("level")))
    put("lsu_free", latest(get("lsu_free"), time) + cost + extra)
    put("stores_done", latest(get("stores_done"), begin + cost))
    data = facts.operands[0]
    read = begin + ir.max_u(beats - CYCLE, CYCLE)
    read += ir.where(misaligned, fixed(core.lsu.misaligned_release), ir.const(0, 64))
    for r in range(data.nregs):
        register = data.register(r)
        ir.write_array("read_v", register, latest(ir.read_array("read_v", register), read))
    written = _buffer(core, facts, span, beats, left, begin)
    written += ir.where(misaligned, fixed(buffer.misaligned), ir.const(0, 64))
    put("stored_until", written)
    put("end", latest(get("end"), begin + cost))
    took(begin, begin + cost)


def _data_times(core: Core, facts: Facts) -> list[Value]:
    """When the data allow the store to begin: part by part if it is contiguous, else as a whole."""
    data = facts.operands[0]
    times = [
        ir.read_array("ready_v", data.part(core, j)) + needed
        for j, needed in enumerate(data_needed(core, facts))
    ]
    for operand in facts.operands[1:]:
        places = (operand.part(core, j) for j in range(operand.parts(core)))
        times += [ir.read_array("ready_v", place) for place in places]
    return times


def data_needed(core: Core, facts: Facts) -> list[int]:
    """For each part of a store's data, the time from when it is ready to the start."""
    count = facts.operands[0].parts(core)
    if not _is_run(facts):
        return [0] * count
    each = register_beats(core, facts) // core.vector_unit.parts
    return [fixed(core.lsu.vector_store) - j * each for j in range(count)]


def _buffer(
    core: Core, facts: Facts, span: ByteSpan, beats: Value, left: Value, begin: Value
) -> Value:
    """Put contiguous bytes that hit L1 into the store buffer; returns when a stream wrote them.

    Bytes that missed take another path, and are written before.
    """
    if not _is_run(facts):
        put("stored", left)
        return get("stored_until")
    buffer = core.store_buffer
    per_byte = CYCLE // core.lsu.beat
    nbytes = span.high - span.low + 1
    hit = ir.where(span.any, nbytes - get("store_missed"), 0)
    active = ir.min_u(hit * per_byte, beats)
    put("stored", ir.min_u(left + active, fixed(buffer.limit)))
    cost = ir.shr_u(active * fixed(buffer.beat), CYCLE.bit_length() - 1)
    short = ir.lt_u(active, fixed(buffer.short_beats))
    cost += ir.where(short, fixed(buffer.short_store), ir.const(0, 64))
    written = latest(get("stored_until"), get("store_path_free"), begin) + cost
    return ir.where(active == 0, get("stored_until"), written)
