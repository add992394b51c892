"""Where the lanes of values lie already, and what a strip of other values takes.

`PLACES` finds lanes in memory.  `NEEDS` has the operands of a strip with their lanes, where these
are not strips of the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim.engine.jit.strips.analysis import is_lanes, lane_number, progression, repetition, slide
from rvsim.engine.jit.strips.arrays import LaneArray, constant_array, stored_width
from rvsim.engine.jit.strips.loops import StripLoops
from rvsim.ir.value import Value

Place = Callable[[StripLoops, Value], LaneArray | None]
Need = Callable[[StripLoops, Value, int], list[tuple[Value, int]]]

MOVES: Final = frozenset({"take", "shuffle", "bitcast"})
"""Primitives that may need all their lanes at once."""


def by_strips(node: Value, size: int) -> bool:
    """Whether strips of so many lanes of a move can be computed from memory or other strips."""
    match node.prim:
        case "take":
            return size == 1 or slide(node) is not None or node.args[1].prim == "splat"
        case "shuffle":
            return size == 1 or stride_of(node) is not None or repeats(node, size) is not None
    return True


def stride_of(node: Value) -> tuple[int, int] | None:
    """(first, step) of a shuffle that reads whole strips of its operand, from a multiple of step.

    >>> from rvsim.ir import Trace, const, lanes, read_v, shuffle
    >>> with Trace():
    ...     stride_of(shuffle(read_v("vs2", 8, 8), (1, 3, 5, 7)))
    (1, 2)
    """
    found = progression(node.attrs[0])
    if found is None:
        return None
    first, step = found
    source = node.args[0]
    if source.type.is_mask:
        return found if step == 1 and first % 8 == 0 else None
    inside = first - first % step + step * lane_number(node) <= lane_number(source)
    return found if inside and step <= 8 else None


def repeats(node: Value, size: int) -> int | None:
    k = repetition(node.attrs[0])
    return k if k and size % k == 0 else None


# -- places


def _read_v_place(g: StripLoops, node: Value) -> LaneArray:
    field, offset, type_ = node.attrs
    return LaneArray(g.register_pointer(g.register(field) + offset), type_.width)


def _read_mask_place(g: StripLoops, node: Value) -> LaneArray:
    return LaneArray(g.register_pointer(g.register(node.attrs[0])), 1)


def _bitcast_place(g: StripLoops, node: Value) -> LaneArray | None:
    source = node.args[0]
    if source.const is not None and not is_lanes(source):
        octets = source.const.to_bytes(source.type.width // 8, "little")
        return LaneArray(constant_array(g.b, octets), node.type.width)
    found = g.in_memory(source) if is_lanes(source) else None
    if found is None or stored_width(found.width) != found.width:
        return None
    return LaneArray(found.pointer, node.type.width)


def _concat_place(g: StripLoops, node: Value) -> LaneArray | None:
    """Register groups one after the other, as segments have them."""
    if any(a.prim != "read_v" for a in node.args):
        return None
    first = g.register(node.args[0].attrs[0])
    expected = first + node.args[0].attrs[1]
    for part in node.args:
        field, offset, type_ = part.attrs
        if g.register(field) + offset != expected or type_.total_bits % g.vlen:
            return None
        expected += type_.total_bits // g.vlen
    return g.in_memory(node.args[0])


def _proj_place(g: StripLoops, node: Value) -> LaneArray | None:
    source, index = node.args[0], node.attrs[0]
    if source.prim == "call":
        return g.results[id(source)][index] if id(source) in g.results else None
    return None if id(source) in g.masked else g.loaded[id(source)]


PLACES: Final[dict[str, Place]] = {
    "read_v": _read_v_place,
    "read_mask": _read_mask_place,
    "bitcast": _bitcast_place,
    "concat": _concat_place,
    "proj": _proj_place,
}


# -- needs


def _proj_needs(g: StripLoops, node: Value, size: int) -> list[tuple[Value, int]]:
    source = node.args[0]
    if source.prim == "call":
        g.call_lanes(source)
        return []
    return [(source.args[1], size)]


def _take_needs(g: StripLoops, node: Value, size: int) -> list[tuple[Value, int]]:
    source, index = node.args
    found = slide(node)
    if found is not None and not source.type.is_mask:
        g.pad(source, size)
        return [(found[1], 1)]
    g.array(source)
    return [(index, size)]


def _shuffle_needs(g: StripLoops, node: Value, size: int) -> list[tuple[Value, int]]:
    source = node.args[0]
    if size > 1 and (k := repeats(node, size)):
        return [(source, size // k)]
    if source.prim == "proj":
        distance = stride_of(node) if size > 1 else None
        return [(source, size * distance[1] if distance else 1)]
    if source.prim not in ("iota", "splat"):
        g.array(source)
    return []


def _bitcast_needs(g: StripLoops, node: Value, size: int) -> list[tuple[Value, int]]:
    source = node.args[0]
    if size * node.type.width < source.type.width:
        g.array(source)
        return []
    return [(source, size * node.type.width // source.type.width)]


def _group_sum_needs(g: StripLoops, node: Value, size: int) -> list[tuple[Value, int]]:
    return [(node.args[0], size * node.attrs[0])]


NEEDS: Final[dict[str, Need]] = {
    "proj": _proj_needs,
    "take": _take_needs,
    "shuffle": _shuffle_needs,
    "bitcast": _bitcast_needs,
    "group_sum": _group_sum_needs,
}
