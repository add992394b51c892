"""Operations whose sign or shape has to be named, as functions on values and ints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rvsim.ir.float_operation import FloatOperation
from rvsim.ir.trace import current
from rvsim.ir.types import Type, bits, lanes
from rvsim.ir.value import Value

V = Value | int


def const(value: int, type_: Type | int) -> Value:
    """A constant of a type, or of a width in bits."""
    return current().const(value, bits(type_) if isinstance(type_, int) else type_)


def where(cond: Value, yes: V, no: V) -> Value:
    """`yes` where the one-bit condition is set, else `no`; lane by lane if any is lanes."""
    trace = current()
    shape = cond.type.lanes
    if cond.prim == "splat":
        cond = cond.args[0]
    shapes = [v.type for v in (yes, no) if isinstance(v, Value)]
    if not shapes:
        raise TypeError("where: one branch must be a value, so that the width is known")
    like = next((t for t in shapes if t.lanes is not None), shapes[0])
    if shape is not None and like.lanes is None:
        like = lanes(shape, like.width)
    yes, no = trace.lift(yes, like), trace.lift(no, like)
    if like.lanes is not None and yes.prim == no.prim == "splat" and cond.type.lanes is None:
        return trace.lift(where(cond, yes.args[0], no.args[0]), like)
    if cond.const is not None:
        return yes if cond.const else no
    return yes if yes is no else trace.node("where", (cond, yes, no))


def _binary(prim: str, doc: str) -> Callable[[V, V], Value]:
    def operation(a: V, b: V) -> Value:
        return current().apply(prim, a, b)

    operation.__name__ = operation.__qualname__ = prim
    operation.__doc__ = doc
    return operation


lt_u = _binary("lt_u", "a < b, unsigned.")
lt_s = _binary("lt_s", "a < b, two's complement.")
shr_u = _binary("shr_u", "Logical shift right, amount modulo the width.")
shr_s = _binary("shr_s", "Arithmetic shift right, amount modulo the width.")
mulh_u = _binary("mulh_u", "Upper half of the unsigned product.")
mulh_s = _binary("mulh_s", "Upper half of the signed product.")
mulh_su = _binary("mulh_su", "Upper half of signed a times unsigned b.")
quot_u = _binary("quot_u", "Unsigned quotient; b is not 0.")
quot_s = _binary("quot_s", "Signed quotient towards zero; b is not 0, and no overflow.")
rem_u = _binary("rem_u", "Unsigned remainder; b is not 0.")
rem_s = _binary("rem_s", "Signed remainder with the sign of a; b is not 0, and no overflow.")
min_u = _binary("min_u", "The lesser, unsigned.")
max_u = _binary("max_u", "The greater, unsigned.")
min_s = _binary("min_s", "The lesser, signed.")
max_s = _binary("max_s", "The greater, signed.")


def _unary(prim: str, doc: str) -> Callable[[Value], Value]:
    def operation(a: Value) -> Value:
        return current().apply(prim, a)

    operation.__name__ = operation.__qualname__ = prim
    operation.__doc__ = doc
    return operation


popcount = _unary("popcount", "Number of bits set.")
clz = _unary("clz", "Leading zeros; the width for 0.")
ctz = _unary("ctz", "Trailing zeros; the width for 0.")
bswap = _unary("bswap", "Bytes reversed.")
bitrev8 = _unary("bitrev8", "Bits reversed within each byte.")


def zext(a: Value, width: int) -> Value:
    """Zero-extended to `width` bits; as it is if it has them already."""
    return a if a.type.width == width else current().apply("zext", a, attrs=(width,))


def sext(a: Value, width: int) -> Value:
    """Sign-extended to `width` bits; as it is if it has them already."""
    return a if a.type.width == width else current().apply("sext", a, attrs=(width,))


def trunc(a: Value, width: int) -> Value:
    """The low `width` bits; as it is if it has no more."""
    return a if a.type.width == width else current().apply("trunc", a, attrs=(width,))


def resize_u(a: Value, width: int) -> Value:
    """`zext` or `trunc`, whichever leads to `width` bits."""
    return trunc(a, width) if a.type.width > width else zext(a, width)


def rotl(a: Value, amount: Value) -> Value:
    """Rotate left by the amount modulo the width (a power of two)."""
    return (a << amount) | shr_u(a, 0 - amount)


def rotr(a: Value, amount: Value) -> Value:
    """Rotate right by the amount modulo the width (a power of two)."""
    return shr_u(a, amount) | (a << (0 - amount))


def for_(
    count: int,
    init: Sequence[Value],
    body: Callable[..., tuple[Value, ...]],
    until: Callable[..., Value] | None = None,
) -> tuple[Value, ...]:
    """Carry values through at most `count` rounds of ``body(i, *carried)``.

    ``until(*results)`` is looked at after each round; when it is 1 the loop ends.
    """
    return current().for_(count, tuple(init), body, until)


def call(
    name: FloatOperation | str, body: Callable[..., Mapping[str, Value]], *args: Value
) -> dict[str, Value]:
    """``body(*args)`` as one node of this name, which must tell it from every other body.

    The body labels its results; the first is *the* result.
    """
    return current().call(name, args, body)


# -- lanes


def splat(a: Value, n: int) -> Value:
    return current().node("splat", (a,), (n,))


def iota(n: int, width: int) -> Value:
    """Lane numbers 0 … n-1, modulo 2^width."""
    return current().node("iota", (), (lanes(n, width),))


def extract(a: Value, lane: int) -> Value:
    return a.args[0] if a.prim == "splat" else current().node("extract", (a,), (lane,))


def insert(a: Value, lane: int, element: V) -> Value:
    """`a` with one lane replaced by the scalar `element`."""
    trace = current()
    return trace.node("insert", (a, trace.lift(element, bits(a.type.width))), (lane,))


def shuffle(a: Value, indices: Sequence[int]) -> Value:
    """Lanes of `a` at static indices."""
    if a.prim == "splat":
        return splat(a.args[0], len(indices))
    if a.type.lanes == len(indices) and all(i == j for i, j in enumerate(indices)):
        return a
    return current().node("shuffle", (a,), (tuple(indices),))


def head(a: Value, n: int) -> Value:
    """The first `n` lanes."""
    return shuffle(a, range(n))


def take(a: Value, index: Value) -> Value:
    """Lane `index[i]` of `a` in lane i; 0 where the unsigned index is not below its lanes."""
    return current().node("take", (a, index))


def concat(*parts: Value) -> Value:
    return parts[0] if len(parts) == 1 else current().node("concat", parts)


def bitcast(a: Value, type_: Type) -> Value:
    return a if a.type == type_ else current().node("bitcast", (a,), (type_,))


def compress(a: Value, selected: Value) -> Value:
    """The selected lanes packed to the front, zeros after them."""
    return current().node("compress", (a, selected))


def prefix_count(a: Value, width: int) -> Value:
    """For each lane the number of mask bits set in lanes below it."""
    return current().node("prefix_count", (a,), (width,))


def count(a: Value) -> Value:
    """Mask bits set, as bits[64]."""
    return current().node("count", (a,))


def first(a: Value) -> Value:
    """Index of the first mask bit set, or the number of lanes, as bits[64]."""
    return current().node("first", (a,))


def reduce(operation: str, a: Value) -> Value:
    """All lanes folded by `operation`, one of `rvsim.ir.prims.REDUCTIONS`."""
    return current().node("reduce", (a,), (operation,))


def group_sum(a: Value, size: int) -> Value:
    """The sum of each run of `size` consecutive lanes, modulo the width."""
    return current().node("group_sum", (a,), (size,))
