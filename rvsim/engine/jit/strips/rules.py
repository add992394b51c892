"""Strips of the primitives that are not elementwise, where the builder stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.engine.jit.strips.analysis import is_prefix, lane_number, repetition, slide
from rvsim.engine.jit.strips.arrays import constant_array, one_lane
from rvsim.engine.jit.strips.loops import StripLoops
from rvsim.engine.jit.strips.places import repeats, stride_of
from rvsim.hart.words import WORD_MASK
from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I8, I32, I64, at, vector
from rvsim.ir.value import Value

StripRule = Callable[[StripLoops, Value, Any, int], Any]

# -- strips


def _splat(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    if node.const is not None:
        return build.filled(vector(size, node.type.width), node.const)
    return build.splat(g.b, g.value(node.args[0]), size)


def _iota(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    element = ir.IntType(node.type.width)
    numbers = ir.Constant(ir.VectorType(element, size), [i & node.type.ones for i in range(size)])
    return g.b.add(numbers, build.splat(g.b, build.resized(g.b, start, node.type.width), size))


def _lt_u(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    """Lanes below a limit are compared in few bits: where in the strip the limit is."""
    b = g.b
    if not is_prefix(node):
        return b.icmp_unsigned("<", *(g.lanes(a, start, size) for a in node.args))
    limit = build.resized(b, g.value(node.args[1].args[0]), 64)
    rest = build.intrinsic(b, "usub.sat", [limit, start])
    if size == 1:
        return one_lane(b, b.icmp_unsigned("!=", rest, I64(0)))
    narrow = I8 if size < 256 else I32
    rest = b.trunc(build.intrinsic(b, "umin", [rest, I64(size)]), narrow)
    numbers = ir.Constant(ir.VectorType(narrow, size), list(range(size)))
    return b.icmp_unsigned("<", numbers, build.splat(b, rest, size))


def _proj(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    """Lanes of a masked load at consecutive addresses: 0 where the mask is."""
    source = node.args[0]
    found = g.loaded[id(source)].load(g.b, start, size)
    active = g.lanes(source.args[1], start, size)
    return g.b.select(active, found, build.filled(found.type, 0))


def _shuffle(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    b, source, indices = g.b, node.args[0], node.attrs[0]
    if size > 1 and (k := repeats(node, size)):
        found = g.lanes(source, g.divided(start, k), size // k)
        return build.pick(b, found, [i // k for i in range(size)])
    distance = stride_of(node)
    if distance is None:
        return g.lanes(source, _table(g, indices, start), 1)
    first, step = distance
    if size == 1:
        return g.lanes(source, b.add(b.mul(start, I64(step)), I64(first)), 1)
    origin = g.multiple(start, step)
    if first >= step:
        origin = b.add(origin, I64(first - first % step))
    found = g.lanes(source, origin, size * step)
    return found if step == 1 else build.pick(b, found, range(first % step, size * step, step))


def _table(g: StripLoops, indices: Sequence[int], position: Any) -> Any:
    """An entry of a constant table of indices, as an i64."""
    k = repetition(indices)
    if k:
        return g.divided(position, k)
    table = constant_array(g.b, b"".join(i.to_bytes(4, "little") for i in indices))
    return g.b.zext(g.b.load(at(g.b, table, position, I32), typ=I32, align=1), I64)


def _take(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    """One lane looked up, or one in all lanes, or a strip of a slide; 0 where that is outside."""
    b, (source, index) = g.b, node.args
    found = slide(node)
    if found is not None and id(source) in g.padded:
        return _slid(g, source, *found, start, size)
    which = index.args[0] if index.prim == "splat" else None
    lane = g.value(which) if which is not None else _only(b, g.lanes(index, start, 1))
    lane = build.resized(b, lane, 64)
    inside = b.icmp_unsigned("<", lane, I64(lane_number(source)))
    element = _only(b, g.array(source).load(b, b.select(inside, lane, I64(0)), 1))
    return build.splat(b, b.select(inside, element, element.type(0)), size)


def _slid(g: StripLoops, source: Value, way: int, offset: Value, start: Any, size: int) -> Any:
    """Lanes from `start` plus or minus an offset on, out of the copy that has zeros around it."""
    b, by = g.b, build.resized(g.b, g.value(offset), 64)
    padded, _ = g.padded[id(source)]
    if way > 0:
        origin = build.intrinsic(b, "umin", [b.add(start, by), I64(lane_number(source))])
    else:
        origin = build.intrinsic(b, "smax", [b.sub(start, by), I64(-size & WORD_MASK)])
    return padded.load(b, origin, size)


def _only(b: Any, lanes: Any) -> Any:
    return b.extract_element(lanes, I32(0))


def _bitcast(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    source = node.args[0]
    have, want = source.type.width, node.type.width
    wider = have >= want
    origin = g.divided(start, have // want) if wider else g.multiple(start, want // have)
    found = g.lanes(source, origin, size * want // have)
    return g.b.bitcast(found, vector(size, want))


def _insert(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    b = g.b
    element = build.splat(b, g.value(node.args[1]), size)
    numbers = ir.Constant(ir.VectorType(I64, size), list(range(size)))
    place = b.sub(I64(node.attrs[0]), start)
    there = b.icmp_unsigned("==", numbers, build.splat(b, place, size))
    return b.select(there, element, g.lanes(node.args[0], start, size))


def _group_sum(g: StripLoops, node: Value, start: Any, size: int) -> Any:
    k = node.attrs[0]
    found = g.lanes(node.args[0], g.multiple(start, k), size * k)
    total = build.pick(g.b, found, range(0, size * k, k))
    for i in range(1, k):
        total = g.b.add(total, build.pick(g.b, found, range(i, size * k, k)))
    return total


STRIP_RULES: Final[dict[str, StripRule]] = {
    "splat": _splat,
    "iota": _iota,
    "lt_u": _lt_u,
    "proj": _proj,
    "shuffle": _shuffle,
    "take": _take,
    "bitcast": _bitcast,
    "insert": _insert,
    "group_sum": _group_sum,
}
