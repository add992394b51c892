"""LLVM rule of `take`: lanes picked by running indices.

Most hosts pick lanes of a vector by running numbers in one instruction, which is an intrinsic: a
portable form, one extract and insert a lane, is no more recognised once LLVM moves half of it out
of a loop.  Longer tables are looked up in parts; for very long ones, and on other hosts, lanes go
through memory in a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I64, at
from rvsim.ir.llvm.host import Permute, permute
from rvsim.ir.llvm.lowering import Lowering
from rvsim.ir.value import Value

MAX_LOOKUPS: Final = 16
"""Look-ups in parts of a table by parts of an index, at most: beyond, the loop is as fast."""

SLIDE_LOOKUPS: Final = 4
"""The same for a slide: beyond, a load from where the lanes were just stored is faster."""


def take(g: Lowering, v: Value, a: Any, index: Any) -> Any:
    """Lanes of `a` at `index`, 0 from past its end."""
    source = v.args[1]
    n, m, width = build.lane_count(a), build.lane_count(index), _width(a)
    known = _known_lanes(source, m, g.fields)
    if known is not None:
        return build.pick(g.b, a, [min(lane, n) for lane in known])  # zeros are after the last
    how = _permute(g.b, width, max(n, m) * width // 8)
    lookups = MAX_LOOKUPS + 1 if how is None else _lookups(how, n * width, m * width)
    slide = _slide(source)
    if slide is not None and n == m and lookups > SLIDE_LOOKUPS and _at_most(slide[1], n):
        return _slide_in_memory(g, a, slide[0], g.value(slide[1]))
    if source.prim == "splat" and lookups > 1:
        found = _take_in_memory(g, a, build.pick(g.b, index, [0]))
        return build.pick(g.b, found, [0] * m)
    if how is not None and lookups <= MAX_LOOKUPS:
        return _look_up(g.b, a, index, how)
    return _take_in_memory(g, a, index)


def _permute(b: Any, width: int, nbytes: int) -> Permute | None:
    return permute(build.host_of(b.module), width, nbytes) if width in (8, 16, 32, 64) else None


def _lookups(how: Permute, table_bits: int, index_bits: int) -> int:
    return -(-table_bits // (8 * how.table_bytes)) * -(-index_bits // (8 * how.index_bytes))


def _slide(index: Value) -> tuple[int, Value] | None:
    """(1 or -1, offset) if lane i of an index is i plus or minus one offset."""
    if index.prim in ("add", "sub") and index.args[0].prim == "iota":
        offset = index.args[1]
        if offset.prim == "splat":
            return 1 if index.prim == "add" else -1, offset.args[0]
    return None


def _at_most(offset: Value, n: int) -> bool:
    """Whether an offset is made so that, added to `n`, it neither exceeds 2n nor wraps around."""
    if 2 * n > offset.type.ones:
        return False
    limited = offset.args[0] if offset.prim == "trunc" else offset
    return limited.prim == "min_u" and any(
        arg.const is not None and arg.const <= n for arg in limited.args
    )


def _known_lanes(index: Value, m: int, fields: Mapping[str, int]) -> list[int] | None:
    """The lanes of an index that depends on nothing but operand fields."""
    direction, offset = _slide(index) or (0, index.args[0] if index.prim == "splat" else None)
    known = None if offset is None else _known(offset, fields)
    if known is None:
        return None
    first, step = (known, 0) if direction == 0 else (direction * known, 1)
    return [first + step * i & index.type.ones for i in range(m)]


def _known(value: Value, fields: Mapping[str, int]) -> int | None:
    if value.prim == "const":
        return int(value.attrs[0])
    if value.prim == "param":
        return fields[value.attrs[0]] & value.type.ones
    if value.prim in ("trunc", "min_u"):
        args = [_known(arg, fields) for arg in value.args]
        numbers = [n for n in args if n is not None]
        return min(numbers) & value.type.ones if len(numbers) == len(args) else None
    return None


# -- in vectors


def _look_up(b: Any, a: Any, index: Any, how: Permute) -> Any:
    """Parts of the index, each in every part of the table that it can reach."""
    m, width, index_width = build.lane_count(index), _width(a), _width(index)
    size = how.table_bytes * 8 // width
    bits = size.bit_length() - 1
    tables = _parts(b, a, size)[: max(1, (1 << index_width) // size)]
    found = []
    for part in _parts(b, index, how.index_bytes * 8 // width):
        within = build.resized_lanes(b, part, width)
        if index_width > bits and not how.wraps:
            within = b.and_(within, build.filled(within.type, size - 1))
        numbers = _unit_numbers(b, within, how.unit)
        total = build.filled(build.vector(build.lane_count(part), width), 0)
        for number, table in enumerate(tables):
            lanes = _permuted(b, how, table, numbers, total.type)
            if index_width > bits:
                high = b.lshr(part, build.filled(part.type, bits))
                here = b.icmp_unsigned("==", high, build.filled(part.type, number))
                lanes = b.select(here, lanes, total)
            total = lanes
        found.append(total)
    whole = build.concat(b, found)
    return whole if build.lane_count(whole) == m else build.pick(b, whole, range(m))


def _width(lanes: Any) -> int:
    return int(build.element_type(lanes).width)


def _parts(b: Any, lanes: Any, size: int) -> list[Any]:
    """Runs of `size` lanes; zeros fill the last."""
    n = build.lane_count(lanes)
    if n == size:
        return [lanes]
    return [
        build.pick(b, lanes, [min(i, n) for i in range(start, start + size)])
        for start in range(0, n, size)
    ]


def _unit_numbers(b: Any, lanes: Any, unit: int) -> Any:
    """Numbers of elements as numbers of the units that they consist of."""
    width, count = _width(lanes), _width(lanes) // unit
    if count == 1:
        return lanes
    first = b.mul(lanes, build.filled(lanes.type, sum(count << unit * i for i in range(count))))
    offsets = build.filled(lanes.type, sum(i << unit * i for i in range(count)))
    units = build.vector(build.lane_count(lanes) * width // unit, unit)
    return b.bitcast(b.add(first, offsets), units)


def _permuted(b: Any, how: Permute, table: Any, numbers: Any, type_: Any) -> Any:
    """The elements of `table` at `numbers` of units, as lanes of `type_`."""
    units = b.bitcast(table, build.vector(how.table_bytes * 8 // how.unit, how.unit))
    n = build.lane_count(units)
    if n != build.lane_count(numbers):
        units = build.pick(b, units, [i % n for i in range(build.lane_count(numbers))])
    return b.bitcast(build.named_call(b, how.function, [units, numbers], units.type), type_)


# -- in memory


def _slide_in_memory(g: Lowering, a: Any, direction: int, offset: Any) -> Any:
    """A window that moves over the lanes, with zeros on the side where it may leave them."""
    b, n, element = g.b, build.lane_count(a), build.element_type(a)
    slot = g.frame.array(2 * n, element.width)
    zeros, lanes = (n, 0) if direction > 0 else (0, n)
    b.store(build.filled(a.type, 0), at(b, slot, zeros, element), align=1)
    b.store(a, at(b, slot, lanes, element), align=1)
    offset = build.intrinsic(b, "umin", [build.resized(b, offset, 64), I64(n)])
    start = offset if direction > 0 else b.sub(I64(n), offset)
    return b.load(at(b, slot, start, element), typ=a.type, align=1)


def _take_in_memory(g: Lowering, a: Any, index: Any) -> Any:
    source, indices = g.frame.spill(g.b, a), g.frame.spill(g.b, index)
    n, m = build.lane_count(a), build.lane_count(index)
    index_type, width = build.element_type(index), build.element_type(a).width
    element = ir.IntType(max(width, 8))  # a mask is bytes there
    out = g.frame.array(m, element.width)

    def one(i: Any) -> Sequence[Any]:
        wanted = build.resized(
            g.b, g.b.load(at(g.b, indices, i, index_type), typ=index_type, align=1), 64
        )
        inside = g.b.icmp_unsigned("<", wanted, I64(n))
        safe = g.b.select(inside, wanted, I64(0))
        found = g.b.load(at(g.b, source, safe, element), typ=element, align=1)
        found = g.b.select(inside, found, element(0))
        g.b.store(found, at(g.b, out, i, element), align=1)
        return ()

    build.loop(g.b, m, (), one)
    lanes = g.b.load(out, typ=build.vector(m, element.width), align=1)
    return g.b.trunc(lanes, build.vector(m, width)) if width < 8 else lanes
