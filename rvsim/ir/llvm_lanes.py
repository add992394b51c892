"""LLVM rules of the primitives that move lanes or fold them.

Lanes packed or counted one after the other go through a stack slot and a loop: code size does not
grow with the number of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from rvsim.ir import llvm_build as build
from rvsim.ir.llvm_build import I8, I32, I64, at
from rvsim.ir.value import Value

if TYPE_CHECKING:
    from rvsim.ir.llvm_backend import Lowerer


def splat(g: Lowerer, v: Value, scalar: Any) -> Any:
    if v.const is not None:
        return build.filled(build.llvm_type(v.type), v.const)
    return build.splat(g.b, scalar, v.attrs[0])


def iota(g: Lowerer, v: Value) -> Any:
    numbers = [i & v.type.ones for i in range(v.type.lanes or 0)]
    return ir.Constant(build.llvm_type(v.type), numbers)


def extract(g: Lowerer, v: Value, a: Any) -> Any:
    return g.b.extract_element(a, I32(v.attrs[0]))


def insert(g: Lowerer, v: Value, a: Any, element: Any) -> Any:
    return g.b.insert_element(a, element, I32(v.attrs[0]))


def shuffle(g: Lowerer, v: Value, a: Any) -> Any:
    return build.pick(g.b, a, v.attrs[0])


def concat(g: Lowerer, v: Value, *parts: Any) -> Any:
    return build.concat(g.b, parts)


def bitcast(g: Lowerer, v: Value, a: Any) -> Any:
    return g.b.bitcast(a, build.llvm_type(v.type))


def compress(g: Lowerer, v: Value, a: Any, selected: Any) -> Any:
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
    return _unspill(g, out, v)


def prefix_count(g: Lowerer, v: Value, mask: Any) -> Any:
    n, width = build.lane_count(mask), v.attrs[0]
    element = ir.IntType(width)
    flags, out = g.frame.spill(g.b, mask), g.frame.array(n, width)

    def one(i: Any, count: Any) -> Sequence[Any]:
        g.b.store(count, at(g.b, out, i, element), align=1)
        flag = g.b.load(at(g.b, flags, i), typ=I8)
        return [g.b.add(count, build.resized(g.b, flag, width))]

    build.loop(g.b, n, [element(0)], one)
    return _unspill(g, out, v)


def count(g: Lowerer, v: Value, mask: Any) -> Any:
    return build.resized(g.b, build.intrinsic(g.b, "ctpop", [build.mask_word(g.b, mask)]), 64)


def first(g: Lowerer, v: Value, mask: Any) -> Any:
    word = build.mask_word(g.b, mask)
    return build.resized(g.b, build.intrinsic(g.b, "cttz", [word, build.I1(0)]), 64)


_REDUCTION = {"min_u": "umin", "max_u": "umax", "min_s": "smin", "max_s": "smax"}


def reduce(g: Lowerer, v: Value, a: Any) -> Any:
    kind = _REDUCTION.get(v.attrs[0], v.attrs[0])
    return build.intrinsic(g.b, f"vector.reduce.{kind}", [a], build.element_type(a))


def group_sum(g: Lowerer, v: Value, a: Any) -> Any:
    size, n = v.attrs[0], build.lane_count(a)
    total = build.pick(g.b, a, range(0, n, size))
    for k in range(1, size):
        total = g.b.add(total, build.pick(g.b, a, range(k, n, size)))
    return total


def _stored(lanes: Any) -> Any:
    """The type that one lane has in a stack slot: bits are bytes there."""
    width = build.element_type(lanes).width
    return ir.IntType(max(width, 8))


def _unspill(g: Lowerer, slot: Any, v: Value) -> Any:
    n, width = v.type.lanes or 0, v.type.width
    lanes = g.b.load(slot, typ=build.vector(n, max(width, 8)), align=1)
    return g.b.trunc(lanes, build.llvm_type(v.type)) if width < 8 else lanes
