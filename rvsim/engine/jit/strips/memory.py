"""Guest memory of wide programs: one check of what the active lanes may span, then strips.

The check comes first and the values later: loaded lanes are read where they are used, from guest
memory in place, since no instruction that loads lanes also stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rvsim.engine.jit.strips.analysis import is_lanes, lane_number, strip_lanes
from rvsim.engine.jit.strips.arrays import LaneArray, fill_zero
from rvsim.engine.jit.strips.loops import StripLoops
from rvsim.hart.memory import R, W
from rvsim.ir.llvm.build import I32, I64
from rvsim.ir.value import Value

Visit = Callable[[Any, Any], None]
"""What is done to an active lane: its index, and the guest address of its bytes."""


def load_lanes(g: StripLoops, node: Value) -> None:
    addr, active = node.args
    n, width = lane_number(active), node.attrs[0]
    if is_lanes(addr):
        g.loaded[id(node)] = _gather(g, addr, active, width)
    else:
        base = g.value(addr)
        g.require(_span_allowed(g, base, active, width // 8, R))
        g.loaded[id(node)] = LaneArray(g.memory.place(g.b, base), width)
        if active.const != 1:
            g.masked.add(id(node))
    g.values[id(node)] = None, I64(n)


def store_lanes(g: StripLoops, node: Value) -> None:
    addr, values, active = node.args
    n, width = lane_number(active), values.type.width
    if is_lanes(addr):
        _scatter(g, addr, values, active)
    else:
        base = g.value(addr)
        g.require(_span_allowed(g, base, active, width // 8, W))
        _store_strips(g, LaneArray(g.memory.place(g.b, base), width), values, active)
    g.values[id(node)] = I64(n)


def _span_allowed(g: StripLoops, addr: Any, active: Value, size: int, need: int) -> Any:
    """One bit: the lanes below the mask's limit may be accessed, and all lie in guest space."""
    b, total = g.b, lane_number(active) * size
    limit = g.limit(active)
    nbytes = I64(total) if limit is None else b.mul(limit, I64(size))
    return g.memory.run_allowed(b, addr, total, nbytes, need)


def _store_strips(g: StripLoops, target: LaneArray, values: Value, active: Value) -> None:
    size = min(strip_lanes(values), strip_lanes(active))
    g.prepare(values, size)
    g.prepare(active, size)

    def one(start: Any) -> Sequence[Any]:
        strip = g.lanes(values, start, size)
        if active.const != 1:
            # One hart: rewriting the bytes of inactive lanes is invisible.
            mask = g.lanes(active, start, size)
            strip = g.b.select(mask, strip, target.load(g.b, start, size))
        target.store(g.b, start, strip)
        return ()

    g.each(g.strips(g.limit(active), lane_number(active), size), size, one)


# -- lanes of addresses


def _gather(g: StripLoops, addr: Value, active: Value, width: int) -> LaneArray:
    n = lane_number(active)
    out = g.scratch.array(n, width)
    fill_zero(g.b, out, n)

    def one(index: Any, where: Any) -> None:
        found = LaneArray(g.memory.place(g.b, where), width).load(g.b, I64(0), 1)
        out.store(g.b, index, found)

    _each_active(g, addr, active, width // 8, R, one)
    return out


def _scatter(g: StripLoops, addr: Value, values: Value, active: Value) -> None:
    """Store lane by lane, when all may be stored."""
    nbytes = values.type.width // 8
    g.prepare(values, 1)
    _each_active(g, addr, active, nbytes, W, lambda index, where: None)

    def one(index: Any, where: Any) -> None:
        target = LaneArray(g.memory.place_again(g.b, where, nbytes), values.type.width)
        target.store(g.b, I64(0), g.lanes(values, index, 1))

    _each_active(g, addr, active, nbytes, None, one)


def _each_active(
    g: StripLoops, addr: Value, active: Value, nbytes: int, need: int | None, visit: Visit
) -> None:
    """Visit the active lanes in order; the region is left where one lacks the permission."""
    b = g.b
    g.prepare(addr, 1)
    g.prepare(active, 1)

    def one(index: Any) -> Sequence[Any]:
        flag = b.extract_element(g.lanes(active, index, 1), I32(0))
        go, behind = b.append_basic_block("active"), b.append_basic_block("next")
        b.cbranch(flag, go, behind)
        b.position_at_end(go)
        with g.scope():
            where = b.extract_element(g.lanes(addr, index, 1), I32(0))
            if need is not None:
                g.require(g.memory.allowed(b, where, nbytes, need))
            visit(index, where)
        b.branch(behind)
        b.position_at_end(behind)
        return ()

    g.each(g.strips(g.limit(active), lane_number(active), 1), 1, one)
