"""Timing of scalar instructions: arithmetic, branches, vset*, CSR accesses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rvsim import ir
from rvsim.cost.classes import ScalarTiming
from rvsim.cost.core import Core
from rvsim.cost.facts import Facts, transplant
from rvsim.cost.formula import CYCLE, fixed
from rvsim.cost.issue import Issuer, latest, lose, reason_in, took
from rvsim.cost.reasons import BRANCH, DRAIN, PAIR, UNIT_OF, VSETVL, raw
from rvsim.cost.state import EPOCH, UNIT_INDEX, get, put
from rvsim.ir import Value
from rvsim.ir.statements import If, Write
from rvsim.vec.vset import has_constant_vtype

_COUNTER_BITS: Final = 3
"""The counter in the low bits of a pattern; the place plus 1 is above it."""


def wait_for_sources(issuer: Issuer, facts: Facts) -> None:
    """Wait for the scalar registers that the instruction reads."""
    wait_for(issuer, facts.scalar_sources)


def wait_for(issuer: Issuer, registers: Iterable[Value]) -> None:
    """Wait for registers, given as indices into ``ready_x``."""
    for register in registers:
        issuer.wait(ir.read_array("ready_x", register), reason_in("why_x", register))


def deliver(facts: Facts, time: Value, why: Value | int | None = None) -> None:
    """Mark the scalar result as ready at `time`; a wait for it has the reason `why`."""
    dest = facts.scalar_dest
    if dest is not None:
        ir.write_array("ready_x", dest, time)
        ir.write_array("why_x", dest, raw(facts.unit) if why is None else why)


def arithmetic(core: Core, facts: Facts, timing: ScalarTiming, longer: Value | int = 0) -> Value:
    """Issue to a pipelined unit, or to one that stays busy; `longer` adds to latency and busy time.

    Returns the cycle of issue.
    """
    issuer = Issuer(core)
    wait_for_sources(issuer, facts)
    dest = facts.scalar_dest
    latency = longer + fixed(timing.latency)
    if dest is not None:  # results of one register come in order, one a cycle
        issuer.wait(ir.read_array("ready_x", dest) - (latency - CYCLE), PAIR)
    busy = UNIT_INDEX[timing.unit] if timing.busy > 1 or timing.unit else None
    if busy is not None:
        issuer.wait(ir.read_array("unit_free", busy), UNIT_OF[timing.unit])
    time = issuer.issue()
    deliver(facts, time + latency)
    took(time, time + latency)
    if busy is not None:
        ir.write_array("unit_free", busy, time + (longer + fixed(timing.busy)))
        put("end", latest(get("end"), time + latency))
    return time


def division(core: Core, facts: Facts, timing: ScalarTiming) -> None:
    """The divider makes `quotient_bits` of the quotient in a cycle, and ends with the last bit.

    The length of a quotient is the difference of both operands' lengths, or one bit more.
    """
    node = next(value for value in facts.program.values() if value.prim in _SIGNED)
    dividend, divisor = (
        _magnitude(ir.trunc(ir.read_x(r), node.type.width), signed=_SIGNED[node.prim])
        for r in ("rs1", "rs2")
    )
    longer = ir.clz(divisor) - ir.clz(dividend) + 1
    bits = ir.where(ir.lt_s(longer, 0) | (divisor == 0), 0, longer)
    width = timing.quotient_bits.bit_length() - 1
    cycles = ir.shr_u(bits + (timing.quotient_bits - 1), width)
    arithmetic(core, facts, timing, cycles * CYCLE)


_SIGNED: Final = {"quot_s": True, "rem_s": True, "quot_u": False, "rem_u": False}


def _magnitude(value: Value, *, signed: bool) -> Value:
    """An operand of a division without its sign."""
    if not signed:
        return ir.zext(value, 64)
    wide = ir.sext(value, 64)
    return ir.where(ir.lt_s(wide, 0), 0 - wide, wide)


def branch(core: Core, facts: Facts, timing: ScalarTiming) -> None:
    """Two-bit counters predict: first the counter of the place and the last outcomes.

    If there is none, the counter of the place alone predicts.  If there is none either, backward
    branches are predicted taken, forward ones not.  A counter records its place, and no other
    branch uses it; otherwise branches without a pattern would spoil each other's counters.
    """
    arithmetic(core, facts, timing)
    _delay_vector(core)
    place, history = ir.param("predictor"), get("history")
    pattern = ir.read_array("pattern", place ^ history)
    bias = ir.read_array("bias", place)
    first = ir.where(ir.param("backward") == 1, 3, ir.const(2, 64))
    known_bias = ir.where(bias == 0, first, bias)
    own = ir.shr_u(pattern, _COUNTER_BITS) == place + 1
    known = ir.where(own, pattern & ((1 << _COUNTER_BITS) - 1), known_bias)
    guess, taken = ir.lt_u(2, known), _taken(facts)
    ir.write_array("bias", place, _counted(known_bias, taken))
    kept = (place + 1) << _COUNTER_BITS | _counted(known, taken)
    ir.write_array("pattern", place ^ history, kept)
    put("history", (history << 1 | ir.zext(taken, 64)) & ((1 << core.branch.history) - 1))
    with ir.when(guess != taken):
        lose(fixed(core.branch.mispredict), BRANCH)


def _counted(counter: Value, taken: Value) -> Value:
    """A counter after one more outcome; it goes from 1 (never taken) to 4."""
    return ir.where(taken, ir.min_u(counter + 1, 4), ir.max_u(counter - 1, 1))


def _delay_vector(core: Core) -> None:
    """A branch between a vset* and the next vector instruction delays that instruction."""
    waits = ~ir.lt_u(get("vset_at"), get("vector_at"))
    with ir.when(waits & (get("vset_at") != EPOCH)):
        put("vset_ready", get("vset_ready") + fixed(core.vset.branch))
        put("vset_at", EPOCH)


def _taken(facts: Facts) -> Value:
    """The condition under which the program writes the pc."""
    for stmt in facts.program.body:
        if isinstance(stmt, If) and any(isinstance(s, Write) for s in stmt.body):
            return transplant(stmt.cond)
    raise LookupError(f"{facts.insn.name} has no condition")


def jump(core: Core, facts: Facts, timing: ScalarTiming) -> None:
    """Direct jumps and returns are predicted right; other jumps to their last target."""
    arithmetic(core, facts, timing)
    if not facts.scalar_sources:
        return
    target = transplant(next(s.value for s in facts.program.statements() if isinstance(s, Write)))
    place = ir.param("predictor")
    seen = ir.read_array("target", place)
    ir.write_array("target", place, target)
    with ir.when((seen != target) & (ir.param("returns") == 0)):
        lose(fixed(core.branch.mispredict), BRANCH)


def vset(core: Core, facts: Facts, timing: ScalarTiming) -> None:
    """A new vtype waits until queued vector instructions have begun; later ones wait for it."""
    issuer = Issuer(core)
    wait_for_sources(issuer, facts)
    numbers = core.vset
    constant_vtype = has_constant_vtype(facts.insn.encoding.field_names)
    vtype = ir.param("vtypei") if constant_vtype else ir.read_x("rs2")
    changes = ((vtype ^ ir.read("vtype")) & 0x3F) != 0
    begun = ir.read_array("queue_start", 0) + CYCLE
    issuer.wait(ir.where(changes, begun, EPOCH), VSETVL)
    time = issuer.issue()
    by_register = constant_vtype and bool(facts.scalar_sources)
    if by_register and facts.scalar_dest is not None:
        large = ir.lt_u((vtype & 7) - 2, 2)
        delay = ir.where(
            large, fixed(numbers.to_vector_avl_large), ir.const(fixed(numbers.to_vector_avl), 64)
        )
    else:
        delay = ir.const(fixed(numbers.to_vector), 64)
    put("vset_ready", latest(get("vset_ready"), time + delay))
    put("vset_at", time)
    deliver(facts, time + fixed(timing.latency))
    took(time, time + fixed(timing.latency))


def serialising(core: Core, facts: Facts, timing: ScalarTiming) -> None:
    """Wait until everything issued is done; the next instruction waits for this one.

    Also updates the cycle CSR.
    """
    issuer = Issuer(core)
    wait_for_sources(issuer, facts)
    issuer.wait(latest(get("end"), get("lsu_free")), DRAIN)
    time = issuer.issue()
    deliver(facts, time + fixed(timing.latency))
    took(time, time + fixed(timing.latency))
    lose(fixed(timing.latency), DRAIN)
    ir.write("cycle", ir.shr_u(time - EPOCH, CYCLE.bit_length() - 1))
