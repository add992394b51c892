"""NumPy rules of the elementwise primitives, on Python ints and on arrays."""

from __future__ import annotations

from typing import Final

from rvsim.ir.numpy.emitter import Emitter, ValueRule, dtype, is_array
from rvsim.ir.value import Value


def _infix(symbol: str, *, wraps: bool) -> ValueRule:
    def rule(g: Emitter, v: Value) -> str:
        a, b = g.args(v)
        text = f"({a} {symbol} {b})"
        return f"({g.wrap(v, text)})" if wraps and not is_array(v) else text

    return rule


def _compare(symbol: str, *, signed: bool = False) -> ValueRule:
    def rule(g: Emitter, v: Value) -> str:
        a, b = v.args
        if v.prim == "lt_u" and a.prim == "iota" and b.prim == "splat":
            n = a.type.lanes or 0
            if n <= a.type.ones:  # the mask of the first lanes, made once for each length
                return f"first_lanes({n}, {g.expr(b.args[0])})"
        if signed and not is_array(v):  # biased unsigned comparison
            sign = f"0x{1 << (a.type.width - 1):x}"
            return f"(({g.expr(a)} ^ {sign}) {symbol} ({g.expr(b)} ^ {sign}))"
        left, right = (g.signed(a), g.signed(b)) if signed else (g.expr(a), g.expr(b))
        return f"({left} {symbol} {right})"

    return rule


def _not(g: Emitter, v: Value) -> str:
    (a,) = g.args(v)
    return f"(~{a})" if is_array(v) else f"({a} ^ 0x{v.type.ones:x})"


def _shl(g: Emitter, v: Value) -> str:
    a, amount = g.typed(v.args[0]) if is_array(v) else g.expr(v.args[0]), g.amount(v.args[1])
    return f"({g.wrap(v, f'({a} << {amount})')})"


def _shr_u(g: Emitter, v: Value) -> str:
    a = g.typed(v.args[0]) if is_array(v) else g.expr(v.args[0])
    return f"({a} >> {g.amount(v.args[1])})"


def _shr_s(g: Emitter, v: Value) -> str:
    a, b = v.args
    w = v.type.width
    if not is_array(v):
        return f"({g.wrap(v, f'({g.signed(a)} >> {g.amount(b)})')})"
    base = g.signed(a)
    if a.prim == "splat" and a.const is None:
        base = f"i{w}({base})"
    return f"({base} >> {g.amount(b, 'i')}).view(u{w})"


def _helper(name: str, *, array_of: tuple[int, ...] = ()) -> ValueRule:
    """A call into the runtime: ``name(args…, width)`` for scalars, ``name_v`` for arrays."""

    def rule(g: Emitter, v: Value) -> str:
        if not is_array(v):
            return f"{name}({', '.join(g.args(v))}, {v.type.width})"
        args = [g.array(a) if i in array_of else g.typed(a) for i, a in enumerate(v.args)]
        return f"{name}_v({', '.join(args)}, {v.type.width})"

    return rule


def _min_max(function: str, *, signed: bool) -> ValueRule:
    def rule(g: Emitter, v: Value) -> str:
        a, b = v.args
        width = v.type.width
        if not is_array(v):
            if signed:
                text = f"{function[:3]}({g.signed(a)}, {g.signed(b)})"
                return f"({g.wrap(v, text)})"
            return f"{function[:3]}({g.expr(a)}, {g.expr(b)})"
        if signed:
            return f"np.{function}({g.signed(a)}, {g.signed(b)}).view(u{width})"
        return f"np.{function}({g.expr(a)}, {g.expr(b)})"

    return rule


def _where(g: Emitter, v: Value) -> str:
    cond, yes, no = v.args
    if not is_array(v):
        return f"({g.expr(yes)} if {g.expr(cond)} else {g.expr(no)})"
    if cond.type.lanes is None:
        return f"({g.array(yes)} if {g.expr(cond)} else {g.array(no)})"
    return f"np.where({g.expr(cond)}, {g.typed(yes)}, {g.typed(no)})"


def _zext(g: Emitter, v: Value) -> str:
    (a,) = g.args(v)
    if is_array(v):
        return f"{a}.astype(u{v.attrs[0]})"
    return f"int({a})" if v.args[0].type.width == 1 else a


def _sext(g: Emitter, v: Value) -> str:
    (a,) = v.args
    width = v.attrs[0]
    if is_array(v):
        if a.type.width == 1:
            return f"np.where({g.expr(a)}, u{width}({v.type.ones}), u{width}(0))"
        return f"{g.signed(a)}.astype(i{width}).view(u{width})"
    return f"({g.wrap(v, g.signed(a))})"


def _trunc(g: Emitter, v: Value) -> str:
    (a,) = g.args(v)
    if not is_array(v):
        return f"({a} & 0x{v.type.ones:x})"
    if v.attrs[0] == 1:
        return f"({a} & {g.constant(1, dtype(v.args[0].type))}).astype(bool_)"
    return f"{a}.astype(u{v.attrs[0]})"


ELEMENT_RULES: Final[dict[str, ValueRule]] = {
    "add": _infix("+", wraps=True),
    "sub": _infix("-", wraps=True),
    "mul": _infix("*", wraps=True),
    "and": _infix("&", wraps=False),
    "or": _infix("|", wraps=False),
    "xor": _infix("^", wraps=False),
    "not": _not,
    "mulh_u": _helper("mulh_u"),
    "mulh_s": _helper("mulh_s"),
    "mulh_su": _helper("mulh_su"),
    "quot_u": _infix("//", wraps=False),
    "rem_u": _infix("%", wraps=False),
    "quot_s": _helper("quot_s"),
    "rem_s": _helper("rem_s"),
    "shl": _shl,
    "shr_u": _shr_u,
    "shr_s": _shr_s,
    "min_u": _min_max("minimum", signed=False),
    "max_u": _min_max("maximum", signed=False),
    "min_s": _min_max("minimum", signed=True),
    "max_s": _min_max("maximum", signed=True),
    "eq": _compare("=="),
    "ne": _compare("!="),
    "lt_u": _compare("<"),
    "lt_s": _compare("<", signed=True),
    "where": _where,
    "zext": _zext,
    "sext": _sext,
    "trunc": _trunc,
    "popcount": _helper("popcount"),
    "clz": _helper("clz"),
    "ctz": _helper("ctz"),
    "bswap": _helper("bswap"),
    "bitrev8": _helper("bitrev8"),
}
