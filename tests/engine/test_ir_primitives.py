"""Every primitive, on both back ends, against plain Python written here from its description."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim import ir
from rvsim.ir import Type, Value, bits, lanes, mask
from rvsim.ir.prims import PRIMS
from rvsim.ir.program import Program

from .ir_harness import Bench, Number, deliver, operand, pack, traced, unpack

pytestmark = pytest.mark.compiled

WIDTHS = (8, 16, 32, 64)


def signed(a: int, w: int) -> int:
    return a - (1 << w) if a >> (w - 1) else a


def low(a: int, w: int) -> int:
    return a % (1 << w)


def towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def legal_divisor(a: int, b: int, w: int) -> int:
    """What instruction bodies do: the primitive never sees 0, nor -1 under the least dividend."""
    return 1 if b == 0 or (a == 1 << (w - 1) and b == (1 << w) - 1) else b


# name: (how a body says it, what one element becomes: width first)
ELEMENT: dict[str, tuple[Callable[..., Value], Callable[..., int]]] = {
    "add": (operator.add, lambda w, a, b: low(a + b, w)),
    "sub": (operator.sub, lambda w, a, b: low(a - b, w)),
    "mul": (operator.mul, lambda w, a, b: low(a * b, w)),
    "and": (operator.and_, lambda w, a, b: a & b),
    "or": (operator.or_, lambda w, a, b: a | b),
    "xor": (operator.xor, lambda w, a, b: a ^ b),
    "not": (operator.invert, lambda w, a: low(-1 - a, w)),
    "mulh_u": (ir.mulh_u, lambda w, a, b: a * b // 2**w),
    "mulh_s": (ir.mulh_s, lambda w, a, b: low(signed(a, w) * signed(b, w) // 2**w, w)),
    "mulh_su": (ir.mulh_su, lambda w, a, b: low(signed(a, w) * b // 2**w, w)),
    "quot_u": (ir.quot_u, lambda w, a, b: a // b),
    "rem_u": (ir.rem_u, lambda w, a, b: a % b),
    "quot_s": (ir.quot_s, lambda w, a, b: low(towards_zero(signed(a, w), signed(b, w)), w)),
    "rem_s": (
        ir.rem_s,
        lambda w, a, b: low(
            signed(a, w) - signed(b, w) * towards_zero(signed(a, w), signed(b, w)), w
        ),
    ),
    "shl": (operator.lshift, lambda w, a, b: low(a << b % w, w)),
    "shr_u": (ir.shr_u, lambda w, a, b: a >> b % w),
    "shr_s": (ir.shr_s, lambda w, a, b: low(signed(a, w) >> b % w, w)),
    "min_u": (ir.min_u, lambda w, a, b: min(a, b)),
    "max_u": (ir.max_u, lambda w, a, b: max(a, b)),
    "min_s": (ir.min_s, lambda w, a, b: low(min(signed(a, w), signed(b, w)), w)),
    "max_s": (ir.max_s, lambda w, a, b: low(max(signed(a, w), signed(b, w)), w)),
    "eq": (operator.eq, lambda w, a, b: int(a == b)),
    "ne": (operator.ne, lambda w, a, b: int(a != b)),
    "lt_u": (ir.lt_u, lambda w, a, b: int(a < b)),
    "lt_s": (ir.lt_s, lambda w, a, b: int(signed(a, w) < signed(b, w))),
    "popcount": (ir.popcount, lambda w, a: f"{a:b}".count("1")),
    "clz": (ir.clz, lambda w, a: len(f"{a:0{w}b}") - len(f"{a:0{w}b}".lstrip("0"))),
    "ctz": (ir.ctz, lambda w, a: len(f"{a:0{w}b}") - len(f"{a:0{w}b}".rstrip("0"))),
    "bswap": (ir.bswap, lambda w, a: pack(unpack(a, w // 8, 8)[::-1], 8)),
    "bitrev8": (
        ir.bitrev8,
        lambda w, a: pack([int(f"{byte:08b}"[::-1], 2) for byte in unpack(a, w // 8, 8)], 8),
    ),
}
DIVISIONS = {"quot_u", "quot_s", "rem_u", "rem_s"}
ON_MASKS = {"and", "or", "xor", "not", "eq", "ne"}


@dataclass(frozen=True)
class Case:
    """A body over arguments of given types, and the result that plain Python expects."""

    prim: str
    label: str
    types: tuple[Type, ...]
    build: Callable[..., Value]
    expect: Callable[..., Number]
    repair: Callable[[list[Any]], None] = lambda values: None

    @property
    def name(self) -> str:
        return f"{self.prim}-{self.label}"

    def values(self) -> list[Value]:
        return [operand(i, t) for i, t in enumerate(self.types)]

    @property
    def program(self) -> Program:
        return traced(lambda: deliver(self.build(*self.values())))


def on_lanes(element: Callable[..., int], w: int, *values: Number) -> Number:
    """`element` lane by lane; ints stand for all lanes."""
    n = next((len(v) for v in values if isinstance(v, list)), None)
    if n is None:
        return element(w, *values)
    rows = [v if isinstance(v, list) else [v] * n for v in values]
    return [element(w, *row) for row in zip(*rows, strict=True)]


def repair_divisor(w: int) -> Callable[[list[Any]], None]:
    def repair(values: list[Any]) -> None:
        a, b = values
        if isinstance(a, list) and isinstance(b, list):
            values[1] = [legal_divisor(x, y, w) for x, y in zip(a, b, strict=True)]
        elif isinstance(b, list):
            values[1] = [legal_divisor(a, y, w) for y in b]
        elif isinstance(a, list):
            values[1] = 3 if any(legal_divisor(x, b, w) != b for x in a) else b
        else:
            values[1] = legal_divisor(a, b, w)

    return repair


def element_cases() -> Iterator[Case]:
    for prim, (build, element) in ELEMENT.items():
        arity = element.__code__.co_argcount - 1
        for w in WIDTHS:
            n = 64 // w + 3
            shapes = {"scalar": (bits(w),) * arity, "lanes": (lanes(n, w),) * arity}
            if arity == 2:
                shapes["vx"] = (lanes(n, w), bits(w))
                shapes["xv"] = (bits(w), lanes(n, w))
            for label, types in shapes.items():
                repair = repair_divisor(w) if prim in DIVISIONS else lambda values: None
                expect = lambda *v, e=element, w=w: on_lanes(e, w, *v)  # noqa: E731
                yield Case(prim, f"{label}{w}", types, build, expect, repair)
            if arity == 2:
                for constant in (1, 5, (1 << w) - 1, 1 << (w - 1)):
                    if prim in DIVISIONS and constant == (1 << w) - 1:
                        continue
                    expect = lambda a, e=element, w=w, c=constant: on_lanes(e, w, a, c)  # noqa: E731
                    by = lambda a, b=build, c=constant: b(a, c)  # noqa: E731
                    for type_ in (bits(w), lanes(n, w)):
                        yield Case(prim, f"{type_}by{constant:#x}", (type_,), by, expect)
        if prim in ON_MASKS:
            expect = lambda *v, e=element: on_lanes(e, 1, *v)  # noqa: E731
            for n in (3, 8):
                yield Case(prim, f"mask{n}", (mask(n),) * arity, build, expect)
            yield Case(prim, "bit", (bits(1),) * arity, build, expect)
            if arity == 2:
                yield Case(prim, "maskx", (mask(8), bits(1)), build, expect)
                yield Case(prim, "xmask", (bits(1), mask(8)), build, expect)
                for c in (0, 1):
                    by = lambda a, b=build, c=c: b(a, c)  # noqa: E731
                    expect = lambda a, e=element, c=c: on_lanes(e, 1, a, c)  # noqa: E731
                    yield Case(prim, f"maskby{c}", (mask(8),), by, expect)


def select(cond: Number, yes: Number, no: Number) -> Number:
    return on_lanes(lambda w, c, a, b: a if c else b, 0, cond, yes, no)


def resize_cases() -> Iterator[Case]:
    for w in (1, *WIDTHS):
        n = 5
        for to in (1, *WIDTHS):
            for type_ in (bits(w), lanes(n, w)):
                if to > w:
                    yield Case("zext", f"{type_}to{to}", (type_,), lambda a, t=to: ir.zext(a, t),
                               lambda a: a)  # fmt: skip
                    yield Case("sext", f"{type_}to{to}", (type_,), lambda a, t=to: ir.sext(a, t),
                               lambda a, w=w, t=to: on_lanes(
                                   lambda _, x: low(signed(x, w), t), 0, a))  # fmt: skip
                    # An operand that is itself an expression: extended after it is complemented.
                    yield Case("zext", f"not{type_}to{to}", (type_,),
                               lambda a, t=to: ir.zext(~a, t),
                               lambda a, w=w: on_lanes(lambda _, x: low(~x, w), 0, a))  # fmt: skip
                if to < w:
                    yield Case("trunc", f"{type_}to{to}", (type_,), lambda a, t=to: ir.trunc(a, t),
                               lambda a, t=to: on_lanes(lambda _, x: low(x, t), 0, a))  # fmt: skip


def where_cases() -> Iterator[Case]:
    for w in (1, *WIDTHS):
        v, n = lanes(8, w), 8
        for label, types in {
            "scalar": (bits(1), bits(w), bits(w)),
            "scalar condition": (bits(1), v, v),
            "lanes": (mask(n), v, v),
            "lanes else scalar": (mask(n), v, bits(w)),
            "scalars by lane": (mask(n), bits(w), bits(w)),
        }.items():
            expect: Callable[..., Number] = select
            yield Case("where", f"{label}{w}", types, ir.where, expect)
        yield Case("where", f"splatted condition{w}", (bits(1), bits(w), bits(w)),
                   lambda c, a, b: ir.where(ir.splat(c, 8), a, b),
                   lambda c, a, b: [a if c else b] * 8)  # fmt: skip
        yield Case("where", f"constant{w}", (mask(n), v), lambda c, a: ir.where(c, a, 1),
                   lambda c, a: select(c, a, 1))  # fmt: skip


def fold(kind: str, w: int, values: list[int]) -> int:
    step = {"add": "add", "and": "and", "or": "or", "xor": "xor"}.get(kind, kind)
    total = values[0]
    for value in values[1:]:
        total = ELEMENT[step][1](w, total, value)
    return total


def packed(values: list[int], selected: list[int]) -> list[int]:
    kept = [v for v, s in zip(values, selected, strict=True) if s]
    return kept + [0] * (len(values) - len(kept))


def lane_cases() -> Iterator[Case]:
    for w in WIDTHS:
        n = min(256 // w + 2, 24)
        v, m = lanes(n, w), mask(n)
        yield Case("splat", str(w), (bits(w),), lambda a: ir.splat(a, 7), lambda a: [a] * 7)
        yield Case("const", str(w), (), lambda w=w: ir.const(-3, lanes(4, w)),
                   lambda w=w: [low(-3, w)] * 4)  # fmt: skip
        yield Case("const", f"scalar{w}", (), lambda w=w: ir.const(12345, w),
                   lambda w=w: low(12345, w))  # fmt: skip
        yield Case("iota", str(w), (), lambda w=w: ir.iota(9, w), lambda: list(range(9)))
        yield Case("extract", str(w), (v,), lambda a: ir.extract(a, 2), lambda a: a[2])
        yield Case("insert", str(w), (v, bits(w)), lambda a, e: ir.insert(a, 1, e),
                   lambda a, e: [a[0], e, *a[2:]])  # fmt: skip
        for label, picked in {
            "slice": range(1, 5), "stride": range(0, 6, 2), "mixed": (3, 0, 0, 5, 1), "one": (4,),
        }.items():  # fmt: skip
            yield Case("shuffle", f"{label}{w}", (v,), lambda a, p=picked: ir.shuffle(a, p),
                       lambda a, p=picked: [a[i] for i in p])  # fmt: skip
        for index in {w, 16}:
            yield Case("take", f"{w}by{index}", (v, lanes(n + 3, index)),
                       lambda a, i, n=n: ir.take(a, ir.trunc(i & 31, 8)),
                       lambda a, i: [dict(enumerate(a)).get(k & 31, 0) for k in i])  # fmt: skip
            yield Case("take", f"far{w}by{index}", (v, lanes(n, index)), ir.take,
                       lambda a, i: [dict(enumerate(a)).get(k, 0) for k in i])  # fmt: skip
        yield Case("concat", str(w), (v, lanes(3, w), lanes(2, w)), ir.concat,
                   lambda a, b, c: a + b + c)  # fmt: skip
        yield Case("concat", f"splats{w}", (v, bits(w)),
                   lambda a, s: ir.concat(ir.splat(s, 2), a, ir.splat(s, 1)),
                   lambda a, s: [s, s, *a, s])  # fmt: skip
        yield Case("compress", str(w), (v, m), ir.compress, packed)
        yield Case("prefix_count", str(w), (m,), lambda a, w=w: ir.prefix_count(a, w),
                   lambda a: [sum(a[:i]) for i in range(len(a))])  # fmt: skip
        for kind in ("add", "and", "or", "xor", "min_u", "max_u", "min_s", "max_s"):
            yield Case("reduce", f"{kind}{w}", (v,), lambda a, k=kind: ir.reduce(k, a),
                       lambda a, k=kind, w=w: fold(k, w, a))  # fmt: skip
        yield Case("group_sum", str(w), (lanes(12, w),), lambda a: ir.group_sum(a, 4),
                   lambda a, w=w: [low(sum(a[i : i + 4]), w) for i in (0, 4, 8)])  # fmt: skip
        for to in WIDTHS:
            yield Case("bitcast", f"{w}to{to}", (lanes(128 // w, w),),
                       lambda a, t=to: ir.bitcast(a, lanes(128 // t, t)),
                       lambda a, w=w, t=to: unpack(pack(a, w), 128 // t, t))  # fmt: skip
        yield Case("bitcast", f"bits{w}to8", (bits(w),),
                   lambda a, w=w: ir.bitcast(a, lanes(w // 8, 8)),
                   lambda a, w=w: unpack(a, w // 8, 8))  # fmt: skip
        yield Case("bitcast", f"8tobits{w}", (lanes(w // 8, 8),),
                   lambda a, w=w: ir.bitcast(a, bits(w)), lambda a: pack(a, 8))  # fmt: skip
        yield Case("bitcast", f"{w}tomask", (lanes(2, w),),
                   lambda a, w=w: ir.bitcast(a, mask(2 * w)),
                   lambda a, w=w: unpack(pack(a, w), 2 * w, 1))  # fmt: skip
        yield Case("bitcast", f"maskto{w}", (mask(2 * w),),
                   lambda a, w=w: ir.bitcast(a, lanes(2, w)),
                   lambda a, w=w: unpack(pack(a, 1), 2, w))  # fmt: skip
        yield Case("bitcast", f"bits{w}tomask", (bits(w),),
                   lambda a, w=w: ir.bitcast(a, mask(w)),
                   lambda a, w=w: unpack(a, w, 1))  # fmt: skip
        yield Case("bitcast", f"masktobits{w}", (mask(w),),
                   lambda a, w=w: ir.bitcast(a, bits(w)), lambda a: pack(a, 1))  # fmt: skip


def mask_cases() -> Iterator[Case]:
    for n in (1, 3, 8, 31, 64, 100, 256):
        m = mask(n)
        yield Case("count", str(n), (m,), ir.count, sum)
        yield Case("first", str(n), (m,), ir.first, lambda a: [*a, 1].index(1))
        for kind, expect in {"and": min, "or": max, "xor": lambda a: sum(a) % 2}.items():
            yield Case("reduce", f"{kind}mask{n}", (m,), lambda a, k=kind: ir.reduce(k, a), expect)
    m = mask(8)
    yield Case("prefix_count", "wraps", (mask(256),), lambda a: ir.prefix_count(a, 8),
               lambda a: [sum(a[:i]) % 256 for i in range(256)])  # fmt: skip
    for n in (70, 300):
        yield Case("prefix_count", f"{n} lanes", (mask(n),),
                   lambda a: ir.shuffle(ir.prefix_count(a, 32), range(a.type.lanes - 60,
                                                                     a.type.lanes)),
                   lambda a: [sum(a[:i]) for i in range(len(a) - 60, len(a))])  # fmt: skip
    yield Case("iota", "wraps", (), lambda: ir.shuffle(ir.iota(300, 8), range(250, 300)),
               lambda: [i % 256 for i in range(250, 300)])  # fmt: skip
    yield Case("take", "256 lanes by bytes", (lanes(256, 8), lanes(256, 8)), ir.take,
               lambda a, i: [a[k] for k in i])  # fmt: skip
    yield Case("take", "mask", (m, lanes(8, 8)), lambda a, i: ir.take(a, i & 15),
               lambda a, i: [(a + [0] * 8)[k & 15] for k in i])  # fmt: skip
    yield Case("compress", "mask", (m, m), ir.compress, packed)
    yield Case("shuffle", "mask", (m,), lambda a: ir.shuffle(a, [7, 0, 1, 1, 2, 6, 3, 4]),
               lambda a: [a[i] for i in (7, 0, 1, 1, 2, 6, 3, 4)])  # fmt: skip
    yield Case("concat", "mask", (m, m), ir.concat, operator.add)
    yield Case("insert", "mask", (m, bits(1)), lambda a, e: ir.insert(a, 3, e),
               lambda a, e: [*a[:3], e, *a[4:]])  # fmt: skip
    yield Case("extract", "mask", (m,), lambda a: ir.extract(a, 3), lambda a: a[3])
    yield Case("not", "mask beside a splat", (m, bits(1)), lambda a, s: ~(a ^ s),
               lambda a, s: [1 - (x ^ s) for x in a])  # fmt: skip
    yield Case("splat", "mask", (bits(1), m), lambda a, b: ir.splat(a, 8) | b,
               lambda a, b: [a | x for x in b])  # fmt: skip


def loop_cases() -> Iterator[Case]:
    def clmul(a: Value, b: Value) -> Value:
        def step(i: Value, total: Value) -> tuple[Value]:
            return (total ^ ir.where(ir.trunc(ir.shr_u(b, i), 1), a << i, 0),)

        return ir.for_(64, [ir.const(0, 64)], step)[0]

    def carryless(a: int, b: int) -> int:
        total = 0
        for i in range(64):
            total ^= (a << i) * (b >> i & 1)
        return low(total, 64)

    yield Case("for", "clmul", (bits(64), bits(64)), clmul, carryless)
    yield Case("carried", "swap", (lanes(4, 16), lanes(4, 16)),
               lambda a, b: ir.concat(*ir.for_(3, [a, b], lambda i, x, y: (y, x))),
               lambda a, b: b + a)  # fmt: skip
    yield Case("carried", "splat", (lanes(4, 16), bits(16)),
               lambda a, s: ir.reduce("add", ir.for_(1, [a], lambda i, x: (ir.splat(s, 4),))[0]),
               lambda a, s: low(4 * s, 16))  # fmt: skip
    yield Case("for", "until", (bits(64),),
               lambda a: ir.for_(64, [ir.shr_u(a, 8), ir.const(0, 64)],
                                 lambda i, x, n: (ir.shr_u(x, 1), n + 1),
                                 until=lambda x, n: x == 0)[1],
               lambda a: max(1, (a >> 8).bit_length()))  # fmt: skip
    yield Case("proj", "not at all", (bits(64),),
               lambda a: ir.for_(0, [a], lambda i, x: (x + 1,))[0], lambda a: a)  # fmt: skip
    yield Case("call", "scalar", (bits(64), bits(64)), product_and_sum,
               lambda a, b: low(a * b, 64) ^ low(a + b, 64) ^ low(2 * b, 64))  # fmt: skip
    yield Case("call", "lanes", (lanes(8, 16), lanes(8, 16)), product_and_sum,
               lambda a, b: [low(x * y, 16) ^ low(x + y, 16) ^ low(2 * y, 16)
                             for x, y in zip(a, b, strict=True)])  # fmt: skip
    yield Case("call", "splat", (bits(16), lanes(8, 16)),
               lambda a, b: product_and_sum(ir.splat(a, 8), b),
               lambda a, b: [low(a * x, 16) ^ low(a + x, 16) ^ low(2 * x, 16) for x in b]
               )  # fmt: skip
    yield Case("for", "nested", (bits(64),),
               lambda a: ir.for_(4, [a], lambda i, x: ir.for_(
                   3, [x], lambda j, y: (y * 3 + i * 7 + j,)))[0],
               lambda a: nested(a))  # fmt: skip


def product_and_sum(a: Value, b: Value) -> Value:
    """A call whose second result is used too, beside a second call of the same name."""
    both = ir.call("demo", lambda x, y: {"product": x * y, "sum": x + y}, a, b)
    again = ir.call("demo", lambda x, y: {"product": x * y, "sum": x + y}, b, b)
    return both["product"] ^ both["sum"] ^ again["sum"]


def nested(a: int) -> int:
    for i in range(4):
        for j in range(3):
            a = low(a * 3 + i * 7 + j, 64)
    return a


def f_written_and_read(a: Value) -> Value:
    """f7, which was 0, is read as it was before the instruction."""
    ir.write_f(7, a)
    return a + ir.read_f(7)


def state_cases() -> Iterator[Case]:
    yield Case("read_x", "", (bits(64),), lambda a: ir.read_x("rs1"), lambda a: a)
    yield Case("read_x", "x0", (), lambda: ir.read_x(0) + 1, lambda: 1)
    yield Case("read_f", "before a write", (bits(64),), f_written_and_read, lambda a: a)
    yield Case("read_v", "offset", (lanes(8, 8),), lambda a: ir.read_v("vd", 8, 8, reg_offset=8),
               lambda a: a)  # fmt: skip
    yield Case("read_mask", "", (mask(8),), lambda a: ir.read_mask("vs1", 8), lambda a: a)
    yield Case("read", "", (), lambda: ir.read("vl") + ir.zext(ir.read("vxrm", 2), 64), lambda: 0)
    yield Case("param", "", (), lambda: ir.param("rs3"), lambda: 28)
    yield Case("param", "narrow", (), lambda: ir.shr_u(ir.param("rs3", 8), 2), lambda: 7)


CASES = {
    c.name: c
    for maker in (element_cases, resize_cases, where_cases, lane_cases, mask_cases, loop_cases,
                  state_cases)
    for c in maker()
}  # fmt: skip
ELSEWHERE = {"load", "load_lanes", "store_lanes", "read_array", "invoke"}
"""Tested in test_ir_memory.py and test_ir_arrays.py."""


@cache
def bench() -> Bench:
    return Bench({name: case.program for name, case in CASES.items()})


def numbers(width: int) -> st.SearchStrategy[int]:
    edges = sorted({0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1})
    return st.one_of(st.sampled_from(edges), st.integers(0, (1 << width) - 1))


def arguments(types: Sequence[Type]) -> st.SearchStrategy[list[Any]]:
    def one(t: Type) -> st.SearchStrategy[Any]:
        if t.lanes is None:
            return numbers(t.width)
        if t.lanes > 16:  # many lanes at once are one draw, or Hypothesis is slow
            bulk = st.integers(0, (1 << t.total_bits) - 1)
            return bulk.map(lambda word: unpack(word, t.lanes or 0, t.width))
        return st.lists(numbers(t.width), min_size=t.lanes, max_size=t.lanes)

    return st.tuples(*map(one, types)).map(list)


@pytest.mark.parametrize("name", CASES)
def test_both_back_ends_compute_what_plain_python_does(name: str) -> None:
    case, machine = CASES[name], bench()
    type_ = _result_type(case)

    @settings(max_examples=4 if case.types else 1)
    @given(arguments(case.types))
    def check(values: list[Any]) -> None:
        case.repair(values)
        expected = case.expect(*values)
        for engine, run in machine.engines.items():
            machine.set(values, case.types)
            assert run(name) is None
            assert machine.get(type_) == expected, engine

    check()


@cache
def _result_type_of(name: str) -> Type:
    result: list[Type] = []

    def body() -> None:
        result.append(CASES[name].build(*CASES[name].values()).type)

    traced(body)
    return result[0]


def _result_type(case: Case) -> Type:
    return _result_type_of(case.name)


def test_every_primitive_has_a_case() -> None:
    assert {c.prim for c in CASES.values()} | ELSEWHERE == PRIMS.keys()


def test_f_registers_keep_what_was_written() -> None:
    programs = {
        "write": traced(lambda: ir.write_f("rd", ir.read_x("rs1"))),
        "read": traced(lambda: ir.write_x("rd", ir.read_f("rd"))),
    }
    machine = Bench(programs)
    for engine, run in machine.engines.items():
        machine.set([0x123456789ABCDEF0], [bits(64)])
        run("write")
        run("read")
        assert machine.get(bits(64)) == 0x123456789ABCDEF0, engine
