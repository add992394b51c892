"""Values that all lanes have a say in: scalars from lanes, and arrays that carry a count along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.engine.jit.strips.analysis import identity, is_lanes, lane_number, strip_lanes
from rvsim.engine.jit.strips.arrays import LaneArray, fill_zero, one_lane, stored_width
from rvsim.engine.jit.strips.loops import StripLoops
from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I1, I32, I64, at, vector
from rvsim.ir.value import Value

ArrayRule = Callable[[StripLoops, Value, LaneArray, Any], None]
"""``rule(g, node, out, limit)``: lanes from `limit` (an i64, or None) on may be left undefined."""

ScalarRule = Callable[[StripLoops, Value], Any]

# -- arrays


def _concat(g: StripLoops, node: Value, out: LaneArray, limit: Any) -> None:
    done = 0
    for part in node.args:
        n = lane_number(part)
        if node.type.is_mask and done % 8:
            _join_bits(g, out, done, part)
        else:
            size = strip_lanes(part)
            g.prepare(part, size)
            pointer = at(g.b, out.pointer, done * stored_width(out.width) // 8)
            g.fill(LaneArray(pointer, out.width), part, size, None)
        done += n


def _join_bits(g: StripLoops, out: LaneArray, done: int, part: Value) -> None:
    g.prepare(part, 1)

    def one(i: Any) -> Sequence[Any]:
        out.store(g.b, g.b.add(i, I64(done)), g.lanes(part, i, 1))
        return ()

    g.each(lane_number(part), 1, one)


def _compress(g: StripLoops, node: Value, out: LaneArray, limit: Any) -> None:
    source, selected = node.args
    g.prepare(source, 1)
    g.prepare(selected, 1)
    fill_zero(g.b, out, lane_number(node))

    def one(i: Any, done: Any) -> Sequence[Any]:
        flag = g.b.extract_element(g.lanes(selected, i, 1), I32(0))
        # A lane that is not selected leaves a zero, which the next selected one replaces.
        found = g.b.select(flag, g.lanes(source, i, 1), vector(1, node.type.width)(None))
        out.store(g.b, done, found)
        return [g.b.add(done, g.b.zext(flag, I64))]

    g.each(g.strips(g.limit(selected), lane_number(node), 1), 1, one, [I64(0)])


def _prefix_count(g: StripLoops, node: Value, out: LaneArray, limit: Any) -> None:
    (mask,) = node.args
    g.prepare(mask, 1)
    element = ir.IntType(node.type.width)

    def one(i: Any, count: Any) -> Sequence[Any]:
        out.store(g.b, i, one_lane(g.b, count))
        flag = g.b.extract_element(g.lanes(mask, i, 1), I32(0))
        return [g.b.add(count, g.b.zext(flag, element))]

    g.each(g.strips(limit, lane_number(node), 1), 1, one, [element(0)])


ARRAY_RULES: Final[dict[str, ArrayRule]] = {
    "concat": _concat,
    "compress": _compress,
    "prefix_count": _prefix_count,
}


# -- scalars


def _extract(g: StripLoops, node: Value) -> Any:
    source = node.args[0]
    g.prepare(source, 1)
    return g.b.extract_element(g.lanes(source, I64(node.attrs[0]), 1), I32(0))


def _word(g: StripLoops, mask: Value, start: Any, size: int) -> Any:
    """A strip of a mask as one integer."""
    return build.mask_word(g.b, g.lanes(mask, start, size))


def _count(g: StripLoops, node: Value) -> Any:
    (mask,) = node.args
    n, size = lane_number(mask), strip_lanes(mask)
    g.prepare(mask, size)

    def one(start: Any, total: Any) -> Sequence[Any]:
        found = build.intrinsic(g.b, "ctpop", [_word(g, mask, start, size)])
        return [g.b.add(total, build.resized(g.b, found, 64))]

    return g.each(g.strips(g.limit(mask), n, size), size, one, [I64(0)])[0]


def _first(g: StripLoops, node: Value) -> Any:
    (mask,) = node.args
    n, size = lane_number(mask), strip_lanes(mask)
    g.prepare(mask, size)

    def one(start: Any, found: Any) -> Sequence[Any]:
        word = _word(g, mask, start, size)
        zeros = build.resized(g.b, build.intrinsic(g.b, "cttz", [word, I1(0)]), 64)
        none = g.b.icmp_unsigned("==", word, word.type(0))
        here = g.b.select(none, I64(n), g.b.add(start, zeros))
        return [build.intrinsic(g.b, "umin", [found, here])]

    return g.each(g.strips(g.limit(mask), n, size), size, one, [I64(n)])[0]


_FOLD: Final = {"add": "add", "and": "and_", "or": "or_", "xor": "xor"}
_INTRINSIC: Final = {"min_u": "umin", "max_u": "umax", "min_s": "smin", "max_s": "smax"}


def _fold(g: StripLoops, operation: str, a: Any, b: Any) -> Any:
    if operation in _FOLD:
        return getattr(g.b, _FOLD[operation])(a, b)
    return build.intrinsic(g.b, _INTRINSIC[operation], [a, b])


def _reduce(g: StripLoops, node: Value) -> Any:
    """Strips are folded into one, and that in itself: integers don't mind the order."""
    operation, source = node.attrs[0], node.args[0]
    parts = source.args if source.prim == "concat" else (source,)
    folded = [_reduce_part(g, operation, part) for part in parts]
    total = folded[0]
    for part in folded[1:]:
        total = _fold(g, operation, total, part)
    return total


def _reduce_part(g: StripLoops, operation: str, part: Value) -> Any:
    if part.prim == "splat" and lane_number(part) == 1:
        return g.value(part.args[0])
    n, size = lane_number(part), strip_lanes(part)
    neutral = identity(operation, part.type.width)
    g.prepare(part, size)

    def one(start: Any, total: Any) -> Sequence[Any]:
        return [_fold(g, operation, total, g.lanes(part, start, size))]

    limit = _silent_from(g, part, neutral)
    first = build.filled(vector(size, part.type.width), neutral)
    (total,) = g.each(g.strips(limit, n, size), size, one, [first])
    kind = _INTRINSIC.get(operation, operation)
    return build.intrinsic(g.b, f"vector.reduce.{kind}", [total], total.type.element)


def _silent_from(g: StripLoops, part: Value, neutral: int) -> Any:
    """An i64 from which on lanes hold what has no say in a fold; None if that is not known."""
    if part.prim == "where" and part.args[2].const == neutral and is_lanes(part.args[0]):
        return g.limit(part.args[0])
    return g.limit(part) if part.type.is_mask and neutral == 0 else None


def _bits(g: StripLoops, node: Value) -> Any:
    """All lanes as one integer."""
    found = g.array(node.args[0])
    return g.b.load(found.pointer, typ=ir.IntType(node.type.width), align=1)


SCALAR_RULES: Final[dict[str, ScalarRule]] = {
    "extract": _extract,
    "count": _count,
    "first": _first,
    "reduce": _reduce,
    "bitcast": _bits,
}
