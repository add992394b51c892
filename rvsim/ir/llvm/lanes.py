"""LLVM rules of the primitives that move lanes or fold them.

Where no instruction of the host packs lanes, they go through a stack slot in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I8, I32, I64, at
from rvsim.ir.llvm.host import compress_bytes
from rvsim.ir.llvm.lowering import Lowering, ValueRule
from rvsim.ir.value import Value


def _splat(g: Lowering, v: Value, scalar: Any) -> Any:
    if v.const is not None:
        return build.filled(build.llvm_type(v.type), v.const)
    return build.splat(g.b, scalar, v.attrs[0])


def _iota(g: Lowering, v: Value) -> Any:
    numbers = [i & v.type.ones for i in range(v.type.lanes or 0)]
    return ir.Constant(build.llvm_type(v.type), numbers)


def _extract(g: Lowering, v: Value, a: Any) -> Any:
    return g.b.extract_element(a, I32(v.attrs[0]))


def _insert(g: Lowering, v: Value, a: Any, element: Any) -> Any:
    return g.b.insert_element(a, element, I32(v.attrs[0]))


def _shuffle(g: Lowering, v: Value, a: Any) -> Any:
    return build.pick(g.b, a, v.attrs[0])


def _concat(g: Lowering, v: Value, *parts: Any) -> Any:
    return build.concat(g.b, parts)


def _bitcast(g: Lowering, v: Value, a: Any) -> Any:
    return g.b.bitcast(a, build.llvm_type(v.type))


def _compress(g: Lowering, v: Value, a: Any, selected: Any) -> Any:
    size = compress_bytes(build.host_of(g.b.module), v.type.width) * 8 // v.type.width
    if v.type.width >= 8 and size:
        return _compress_parts(g, a, selected, size)
    return _compress_in_memory(g, v, a, selected)


def _compress_parts(g: Lowering, a: Any, selected: Any, size: int) -> Any:
    """Parts that one instruction packs, each stored after the lanes of those before it."""
    b, n, element = g.b, build.lane_count(a), build.element_type(a)
    if n <= size:
        return _packed(b, a, selected)
    slot = g.frame.array(n + size, element.width)
    b.store(build.filled(a.type, 0), slot, align=1)
    position = I64(0)
    for start in range(0, n, size):
        lanes = range(start, min(start + size, n))
        mask = build.pick(b, selected, lanes)
        part = _packed(b, build.pick(b, a, lanes), mask)
        b.store(part, at(b, slot, position, element), align=1)
        position = b.add(position, _count(b, mask))
    return b.load(slot, typ=a.type, align=1)


def _packed(b: Any, a: Any, selected: Any) -> Any:
    """`compress` as one instruction; LLVM fails where it has to make vectors of other sizes fit."""
    n, width = build.lane_count(a), build.element_type(a).width
    size = max(128 // width, 1 << (n - 1).bit_length())
    if size == n:
        rest = build.filled(a.type, 0)
        return build.intrinsic(b, "experimental.vector.compress", [a, selected, rest])
    wide, mask = (build.pick(b, v, [min(i, n) for i in range(size)]) for v in (a, selected))
    return build.pick(b, _packed(b, wide, mask), range(n))


def _compress_in_memory(g: Lowering, v: Value, a: Any, selected: Any) -> Any:
    n, element = build.lane_count(a), _stored(a)
    source, flags = g.frame.spill(g.b, a), g.frame.spill(g.b, selected)
    out = g.frame.spill(g.b, build.filled(build.vector(n, element.width), 0))

    def one(i: Any, count: Any) -> Sequence[Any]:
        flag = g.b.load(at(g.b, flags, i), typ=I8)
        found = g.b.load(at(g.b, source, i, element), typ=element, align=1)
        # A lane that is not selected leaves a zero, which the next selected one replaces.
        kept = g.b.select(g.b.icmp_unsigned("!=", flag, I8(0)), found, element(0))
        g.b.store(kept, at(g.b, out, count, element), align=1)
        return [g.b.add(count, g.b.zext(flag, I64))]

    build.loop(g.b, n, [I64(0)], one)
    width = v.type.width
    lanes = g.b.load(out, typ=build.vector(n, element.width), align=1)
    return g.b.trunc(lanes, build.llvm_type(v.type)) if width < 8 else lanes


def _prefix_count(g: Lowering, v: Value, mask: Any) -> Any:
    """Sums over 1, 2, 4 … lanes before each, in the narrowest lanes that can hold them."""
    n, width = build.lane_count(mask), v.attrs[0]
    narrow = min(width, 8 if n <= 1 << 8 else 16 if n <= 1 << 16 else 32)
    total = _moved_up(g.b, g.b.zext(mask, build.vector(n, narrow)), 1)
    distance = 1
    while distance < n:
        total = g.b.add(total, _moved_up(g.b, total, distance))
        distance *= 2
    return build.resized_lanes(g.b, total, width)


def _moved_up(b: Any, lanes: Any, distance: int) -> Any:
    n = build.lane_count(lanes)
    return build.pick(b, lanes, [i - distance if i >= distance else n for i in range(n)])


def _count_lanes(g: Lowering, v: Value, mask: Any) -> Any:
    return _count(g.b, mask)


def _count(b: Any, mask: Any) -> Any:
    return build.resized(b, build.intrinsic(b, "ctpop", [build.mask_word(b, mask)]), 64)


def _first(g: Lowering, v: Value, mask: Any) -> Any:
    word = build.mask_word(g.b, mask)
    return build.resized(g.b, build.intrinsic(g.b, "cttz", [word, build.I1(0)]), 64)


_REDUCTION = {"min_u": "umin", "max_u": "umax", "min_s": "smin", "max_s": "smax"}


def _reduce(g: Lowering, v: Value, a: Any) -> Any:
    kind = _REDUCTION.get(v.attrs[0], v.attrs[0])
    return build.intrinsic(g.b, f"vector.reduce.{kind}", [a], build.element_type(a))


def _group_sum(g: Lowering, v: Value, a: Any) -> Any:
    size, n = v.attrs[0], build.lane_count(a)
    total = build.pick(g.b, a, range(0, n, size))
    for k in range(1, size):
        total = g.b.add(total, build.pick(g.b, a, range(k, n, size)))
    return total


def _stored(lanes: Any) -> Any:
    """The type that one lane has in a stack slot: bits are bytes there."""
    width = build.element_type(lanes).width
    return ir.IntType(max(width, 8))


LANE_RULES: Final[dict[str, ValueRule]] = {
    "splat": _splat,
    "iota": _iota,
    "extract": _extract,
    "insert": _insert,
    "shuffle": _shuffle,
    "concat": _concat,
    "bitcast": _bitcast,
    "compress": _compress,
    "prefix_count": _prefix_count,
    "count": _count_lanes,
    "first": _first,
    "reduce": _reduce,
    "group_sum": _group_sum,
}
