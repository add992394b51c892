"""The load/store unit: one access at a time, in order; and the timing of scalar accesses."""

from __future__ import annotations

from dataclasses import dataclass

from rvsim import ir
from rvsim.cost.caches import find
from rvsim.cost.classes import ScalarTiming
from rvsim.cost.core import Core
from rvsim.cost.facts import Facts, registers_of, transplant
from rvsim.cost.formula import CYCLE, fixed
from rvsim.cost.hierarchy import Hierarchy, hit
from rvsim.cost.issue import Issuer, ceil, latest, reason_in, took
from rvsim.cost.reasons import UNIT_LSU, raw
from rvsim.cost.scalar import deliver, wait_for
from rvsim.cost.state import get, put
from rvsim.insn.units import Unit
from rvsim.ir import Value


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """The bytes of an access: whether there are any, and the lowest and highest address."""

    any: Value
    low: Value
    high: Value

    def line(self, core: Core, address: Value) -> Value:
        return ir.shr_u(address, core.l1d.line.bit_length() - 1)


def begin_after(time: Value) -> Value:
    """When an access that issued at `time` starts; the unit may be busy for a part of the cycle."""
    return latest(time, get("lsu_free"))


def wait_for_unit(issuer: Issuer) -> None:
    issuer.wait(get("lsu_free") & -CYCLE, lambda: get("lsu_why"))


def load_extra(h: Hierarchy, span: ByteSpan, time: Value) -> Value:
    """Extra cycles of a load; none on the short path."""
    first, last = span.line(h.core, span.low), span.line(h.core, span.high)
    short = (first == last) & hit(h.core, first, store=False)
    return ir.invoke(h.load_lines, first, last, time, when=span.any & ~short)


def store_extra(h: Hierarchy, span: ByteSpan, time: Value) -> Value:
    """Extra cycles of a store; ``store_missed`` counts the bytes that missed L1."""
    first, last = span.line(h.core, span.low), span.line(h.core, span.high)
    put("store_missed", 0)
    short = (first == last) & hit(h.core, first, store=True)
    inside = h.core.l1d.line - 1
    head, tail = span.low & inside, inside - (span.high & inside)
    return ir.invoke(h.store_lines, first, last, head, tail, time, when=span.any & ~short)


def scalar(h: Hierarchy, facts: Facts, timing: ScalarTiming) -> None:
    """Time a scalar load, store or atomic operation.

    An atomic operation is a load that waits for all operands.  Nothing passes it: it keeps the unit
    busy for `timing.busy`.
    """
    core = h.core
    issuer = Issuer(core, memory=True)
    address, width = _scalar_address(facts)
    if facts.unit is Unit.AMO:
        wait_for(issuer, facts.scalar_sources)
    else:
        wait_for(issuer, registers_of(facts.scalar_access[0]))
    if facts.is_store:
        for register in facts.scalar_sources:
            ready = ir.read_array("ready_x", register) + fixed(core.lsu.scalar_store)
            issuer.wait(ready, reason_in("why_x", register))
    wait_for_unit(issuer)
    time = ceil(begin_after(issuer.issue()))
    span = ByteSpan(ir.const(1, 1), address, address + (width // 8 - 1))
    extra = ceil((store_extra if facts.is_store else load_extra)(h, span, time))
    put("lsu_why", ir.where(extra == 0, UNIT_LSU, get("level")))
    if facts.is_store:
        put("lsu_free", time + CYCLE + extra)
        took(time, time + CYCLE + extra)
        return
    put("lsu_free", time + fixed(timing.busy) + (extra if facts.unit is Unit.AMO else 0))
    ready = time + fixed(timing.latency) + extra
    deliver(facts, ready, ir.where(extra == 0, raw(facts.unit), get("level")))
    put("end", latest(get("end"), ready))
    took(time, ready)


def _scalar_address(facts: Facts) -> tuple[Value, int]:
    address, width = facts.scalar_access
    return transplant(address), width


def prefetch(h: Hierarchy, facts: Facts) -> None:
    """Time a prefetch hint: the line comes into L1, and nothing waits for it."""
    issuer = Issuer(h.core, memory=True)
    wait_for(issuer, (ir.param("rs1"),))
    wait_for_unit(issuer)
    time = ceil(begin_after(issuer.issue()))
    line = ir.shr_u(ir.read_x("rs1") + ir.param("imm"), h.core.l1d.line.bit_length() - 1)
    found, _ = find(h.core.l1d, "l1d", line)
    ir.invoke(h.fills.fill, line, time, 1, 0, when=~found)
    put("lsu_free", time + CYCLE)
    put("lsu_why", UNIT_LSU)
    took(time, time + CYCLE)
