"""LLVM rules of the elementwise primitives: one instruction does for bits and for lanes.

No `nsw`, `nuw` or fast-math: guest arithmetic wraps.
"""

from __future__ import annotations

from typing import Any, Final

from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I1, llvm_type
from rvsim.ir.llvm.host import confuses_masked_logic, shifts_by_floating_point
from rvsim.ir.llvm.lowering import Lowering, ValueRule
from rvsim.ir.value import Value


def _builder(method: str) -> ValueRule:
    return lambda g, v, a, b: getattr(g.b, method)(a, b)


def _compare(symbol: str, *, signed: bool = False) -> ValueRule:
    method = "icmp_signed" if signed else "icmp_unsigned"
    return lambda g, v, a, b: getattr(g.b, method)(symbol, a, b)


def _intrinsic(name: str, *flags: Any) -> ValueRule:
    return lambda g, v, *args: build.intrinsic(g.b, name, [*args, *flags])


def _shift(method: str) -> ValueRule:
    """LLVM's shifts are poison from the width on; the primitive takes the amount modulo it."""

    def rule(g: Lowering, v: Value, a: Any, amount: Any) -> Any:
        limit = build.filled(amount.type, v.type.width - 1)
        return getattr(g.b, method)(a, g.b.and_(amount, limit))

    return rule


def _shl(g: Lowering, v: Value, a: Any, amount: Any) -> Any:
    host, by_lanes = build.host_of(g.b.module), v.type.lanes is not None
    if by_lanes and v.args[1].const is None and shifts_by_floating_point(host, v.type.width):
        return _shl_by_bits(g.b, a, amount)
    return _shift("shl")(g, v, a, amount)


def _shl_by_bits(b: Any, a: Any, amount: Any) -> Any:
    """Shifts by 1, 2, 4 … each in the lanes whose amount has that bit."""
    type_, width = a.type, build.element_type(a).width
    for distance in (1 << i for i in range((width - 1).bit_length())):
        bit = b.and_(amount, build.filled(type_, distance))
        moved = b.shl(a, build.filled(type_, distance))
        a = b.select(b.icmp_unsigned("!=", bit, build.filled(type_, 0)), moved, a)
    return a


def _mulh(extend_a: str, extend_b: str) -> ValueRule:
    def rule(g: Lowering, v: Value, a: Any, b: Any) -> Any:
        width = v.type.width
        wide = llvm_type(v.type.with_width(2 * width))
        product = g.b.mul(getattr(g.b, extend_a)(a, wide), getattr(g.b, extend_b)(b, wide))
        return g.b.trunc(g.b.lshr(product, build.filled(wide, width)), llvm_type(v.type))

    return rule


def _divide(method: str, *, signed: bool) -> ValueRule:
    def rule(g: Lowering, v: Value, a: Any, b: Any) -> Any:
        bad = g.b.icmp_unsigned("==", b, build.filled(b.type, 0))
        if signed:
            least = build.filled(a.type, 1 << (v.type.width - 1))
            minus_one = build.filled(b.type, v.type.ones)
            overflow = g.b.and_(
                g.b.icmp_unsigned("==", a, least), g.b.icmp_unsigned("==", b, minus_one)
            )
            bad = g.b.or_(bad, overflow)
        return getattr(g.b, method)(a, g.b.select(bad, build.filled(b.type, 1), b))

    return rule


def _resize(method: str) -> ValueRule:
    return lambda g, v, a: getattr(g.b, method)(a, llvm_type(v.type))


def _not(g: Lowering, v: Value, a: Any) -> Any:
    return g.b.xor(a, build.filled(a.type, v.type.ones))


def _where(g: Lowering, v: Value, cond: Any, yes: Any, no: Any) -> Any:
    host = build.host_of(g.b.module)
    if v.args[0].type.is_mask and confuses_masked_logic(host, v.type.width):
        yes, no = (
            build.opaque(g.b, lanes) if _is_logic(node) else lanes
            for lanes, node in ((yes, v.args[1]), (no, v.args[2]))
        )
    return g.b.select(cond, yes, no)


def _is_logic(value: Value) -> bool:
    while value.prim == "bitcast":
        value = value.args[0]
    return value.prim in ("and", "or", "xor", "not")


def _bswap(g: Lowering, v: Value, a: Any) -> Any:
    return a if v.type.width == 8 else build.intrinsic(g.b, "bswap", [a])


def _bitrev8(g: Lowering, v: Value, a: Any) -> Any:
    return build.intrinsic(g.b, "bitreverse", [_bswap(g, v, a)])


ELEMENT_RULES: Final[dict[str, ValueRule]] = {
    "add": _builder("add"),
    "sub": _builder("sub"),
    "mul": _builder("mul"),
    "mulh_u": _mulh("zext", "zext"),
    "mulh_s": _mulh("sext", "sext"),
    "mulh_su": _mulh("sext", "zext"),
    "quot_u": _divide("udiv", signed=False),
    "quot_s": _divide("sdiv", signed=True),
    "rem_u": _divide("urem", signed=False),
    "rem_s": _divide("srem", signed=True),
    "and": _builder("and_"),
    "or": _builder("or_"),
    "xor": _builder("xor"),
    "not": _not,
    "shl": _shl,
    "shr_u": _shift("lshr"),
    "shr_s": _shift("ashr"),
    "min_u": _intrinsic("umin"),
    "max_u": _intrinsic("umax"),
    "min_s": _intrinsic("smin"),
    "max_s": _intrinsic("smax"),
    "eq": _compare("=="),
    "ne": _compare("!="),
    "lt_u": _compare("<"),
    "lt_s": _compare("<", signed=True),
    "where": _where,
    "zext": _resize("zext"),
    "sext": _resize("sext"),
    "trunc": _resize("trunc"),
    "popcount": _intrinsic("ctpop"),
    "clz": _intrinsic("ctlz", I1(0)),
    "ctz": _intrinsic("cttz", I1(0)),
    "bswap": _bswap,
    "bitrev8": _bitrev8,
}
