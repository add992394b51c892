"""NumPy rules of the primitives that move lanes or fold them."""

from __future__ import annotations

from typing import Final

from rvsim.ir.numpy.emitter import Emitter, ValueRule, dtype, is_array
from rvsim.ir.value import Value


def _splat(g: Emitter, v: Value) -> str:
    if v.const is not None:
        return g.constant(v.const, dtype(v.type))
    scalar = g.expr(v.args[0])
    return f"bool_({scalar})" if v.type.is_mask else scalar  # NumPy would widen bools beside ints


def _shuffle(g: Emitter, v: Value) -> str:
    indices: tuple[int, ...] = v.attrs[0]
    a = g.array(v.args[0])
    start, n = indices[0], len(indices)
    step = indices[1] - start if n > 1 else 1
    if step > 0 and all(i == start + k * step for k, i in enumerate(indices)):
        stop = start + (n - 1) * step + 1
        return f"{a}[{start}:{stop}]" if step == 1 else f"{a}[{start}:{stop}:{step}]"
    return f"{a}[lane_table({indices})]"


def _bitcast(g: Emitter, v: Value) -> str:
    (a,) = v.args
    if not is_array(a) and not is_array(v):
        return g.expr(a)
    if not is_array(a):
        octets = -(-a.type.width // 8)
        make = "lanes_of_int" if a.const is None else "constant_lanes"
        source = f"{make}({g.expr(a)}, {octets}, {'u8' if v.type.is_mask else dtype(v.type)})"
    else:
        source = f"pack({g.array(a)})" if a.type.is_mask else f"contiguous({g.array(a)})"
    if not is_array(v):
        return f"int_of_lanes({source})"
    if v.type.is_mask:
        return f"unpack({source}.view(u8), {v.type.lanes})"
    return f"{source}.view({dtype(v.type)})"


def _reduce(g: Emitter, v: Value) -> str:
    (a,) = v.args
    kind: str = v.attrs[0]
    width = v.type.width
    ufuncs = {"add": "add", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
    if v.type.width == 1 and kind != "xor":
        return f"{'any_lane' if kind == 'or' else 'every_lane'}({g.array(a)})"
    if kind in ufuncs:
        return f"int(np.{ufuncs[kind]}.reduce({g.array(a)}, dtype={dtype(a.type)}))"
    array = g.array(a) if kind.endswith("_u") else f"{g.array(a)}.view(i{width})"
    return f"(int({array}.{kind[:3]}()) & 0x{v.type.ones:x})"


LANE_RULES: Final[dict[str, ValueRule]] = {
    "splat": _splat,
    "iota": lambda g, v: f"lane_numbers({v.type.lanes}, {dtype(v.type)})",
    "extract": lambda g, v: f"int({g.array(v.args[0])}[{v.attrs[0]}])",
    "insert": lambda g, v: f"insert({g.array(v.args[0])}, {v.attrs[0]}, {g.expr(v.args[1])})",
    "shuffle": _shuffle,
    "take": lambda g, v: f"take({g.array(v.args[0])}, {g.array(v.args[1])})",
    "concat": lambda g, v: f"np.concatenate(({', '.join(g.array(a) for a in v.args)}))",
    "bitcast": _bitcast,
    "compress": lambda g, v: f"compress({g.array(v.args[0])}, {g.array(v.args[1])})",
    "prefix_count": lambda g, v: f"prefix_count({g.array(v.args[0])}, {dtype(v.type)})",
    "count": lambda g, v: f"int(np.count_nonzero({g.array(v.args[0])}))",
    "first": lambda g, v: f"first({g.array(v.args[0])})",
    "reduce": _reduce,
    "group_sum": lambda g, v: (
        f"np.add.reduce({g.array(v.args[0])}.reshape(-1, {v.attrs[0]}), axis=1,"
        f" dtype={dtype(v.type)})"
    ),
}
