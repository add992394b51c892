"""Text rules of the primitives that compute: arithmetic, and lanes that move or fold."""

from __future__ import annotations

from typing import Final

from rvsim.ir.text.writer import (
    ATOM,
    BITS,
    COMPARE,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    FormulaText,
    Text,
    ValueRule,
)
from rvsim.ir.types import Type
from rvsim.ir.value import Value

_SHOWN_INDICES: Final = 8


def _number(value: int, type_: Type) -> str:
    """Small numbers in decimal, also below zero; others in hexadecimal."""
    below = (1 << type_.width) - value
    if type_.width >= 8 and below <= (16 if type_.width == 8 else 2048):
        return f"-{below}"
    return str(value) if value < 1024 else hex(value)


def _lanes_name(type_: Type) -> str:
    if type_.lanes is None:
        return f"u{type_.width}"
    return "mask" if type_.is_mask else f"e{type_.width}"


def _infix(symbol: str, level: int, *, associative: bool = False) -> ValueRule:
    def rule(g: FormulaText, v: Value) -> Text:
        a, b = v.args
        chained = associative and b.prim == v.prim
        # Only the order of + - * is known by heart: other operators get parentheses.
        inner = {SUM: SUM, PRODUCT: PRODUCT, COMPARE: SUM}.get(level, UNARY)
        first = inner if level != BITS or a.prim != v.prim else BITS
        second = level if chained else max(inner, level + 1)
        return f"{g.expr(a, first)} {symbol} {g.expr(b, second)}", level

    return rule


def _add(g: FormulaText, v: Value) -> Text:
    addend = g.expr(v.args[1], SUM)
    if addend.startswith("-") and addend[1:].isdigit():
        return f"{g.expr(v.args[0], SUM)} - {addend[1:]}", SUM
    return _infix("+", SUM, associative=True)(g, v)


def _lt_u(g: FormulaText, v: Value) -> Text:
    """``i <u vl``: that a count is first limited to the number of lanes is left out."""
    lane, limit = v.args
    if lane.prim == "iota" and limit.prim == "splat":
        count = limit.args[0]
        while count.prim in ("trunc", "zext"):
            count = count.args[0]
        if count.prim == "min_u" and count.args[1].const == lane.type.lanes:
            return f"i <u {g.expr(count.args[0], SUM)}", COMPARE
    return _infix("<u", COMPARE)(g, v)


def _call(name: str) -> ValueRule:
    return lambda g, v: g.call(name, v.args)


def _resize(name: str) -> ValueRule:
    return lambda g, v: g.call(f"{name}{v.attrs[0]}", v.args)


def _not(g: FormulaText, v: Value) -> Text:
    return f"{'!' if v.type.width == 1 else '~'}{g.expr(v.args[0], UNARY)}", UNARY


def _const(g: FormulaText, v: Value) -> Text:
    return _number(v.attrs[0], v.type), ATOM


def _param(g: FormulaText, v: Value) -> Text:
    name = v.attrs[0]
    return str(g.fields.get(name, name)), ATOM


def _shuffle(g: FormulaText, v: Value) -> Text:
    """``a[4:8]``, ``a[0:8:2]``, ``a[i / 3]``: a slice, or the index as a function of the lane."""
    indices: tuple[int, ...] = v.attrs[0]
    a = g.expr(v.args[0], ATOM)
    start, n = indices[0], len(indices)
    step = indices[1] - start if n > 1 else 1
    if step > 0 and indices == tuple(range(start, start + n * step, step)):
        stop = indices[-1] + 1
        return f"{a}[{start}:{stop}]" if step == 1 else f"{a}[{start}:{stop}:{step}]", ATOM
    law = _index_law(indices)
    if law is None:
        shown = [*map(str, indices[:_SHOWN_INDICES]), *["..."] * (n > _SHOWN_INDICES)]
        law = f"[{', '.join(shown)}]"
    return f"{a}[{law}]", ATOM


def _index_law(indices: tuple[int, ...]) -> str | None:
    """Indices as a sum of strided digits of the lane number, if they are one of few digits.

    >>> _index_law((0, 0, 1, 1)), _index_law((0, 4, 1, 5, 2, 6)), _index_law((1, 0, 3))
    ('i / 2', 'i % 2 * 4 + i / 2', None)
    """
    terms, below, rest = [], 1, indices
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        run = next((k for k in range(2, len(rest)) if rest[k] - rest[k - 1] != stride), len(rest))
        blocks = [rest[k : k + run] for k in range(0, len(rest), run)]
        if any([x - b[0] for x in b] != [x - rest[0] for x in blocks[0]] for b in blocks):
            return None
        if stride:
            digit = "i" if below == 1 else f"i / {below}"
            digit += f" % {run}" if len(blocks) > 1 else ""
            terms.append(digit if stride == 1 else f"{digit} * {stride}")
        below, rest = below * run, tuple(b[0] for b in blocks)
    if indices[0]:
        terms.append(str(indices[0]))
    return " + ".join(terms).replace("+ -", "- ") if 1 <= len(terms) <= 3 else None


def _extract(g: FormulaText, v: Value) -> Text:
    return f"{g.expr(v.args[0], ATOM)}[{v.attrs[0]}]", ATOM


def _insert(g: FormulaText, v: Value) -> Text:
    a, element = v.args
    return f"insert({g.expr(a)}, {v.attrs[0]}, {g.expr(element)})", ATOM


def _bitcast(g: FormulaText, v: Value) -> Text:
    """``as_e8(a)``; a constant as lanes is a table, of which the first entries are shown."""
    number, type_ = v.args[0].const, v.type
    if number is not None and type_.lanes is not None:
        shown = range(min(type_.lanes, _SHOWN_INDICES))
        entries = [hex(number >> type_.width * i & type_.ones) for i in shown]
        more = ["..."] * (type_.lanes > _SHOWN_INDICES)
        return f"[{', '.join([*entries, *more])}]", ATOM
    return g.call(f"as_{_lanes_name(v.type)}", v.args)


def _reduce(g: FormulaText, v: Value) -> Text:
    kind = v.attrs[0]
    if kind == "add":
        return g.call("sum", v.args)
    return f"reduce({kind}, {g.expr(v.args[0])})", ATOM


VALUE_RULES: Final[dict[str, ValueRule]] = {
    "add": _add,
    "sub": _infix("-", SUM),
    "mul": _infix("*", PRODUCT, associative=True),
    "mulh_u": _infix("*hu", PRODUCT),
    "mulh_s": _infix("*hs", PRODUCT),
    "mulh_su": _infix("*hsu", PRODUCT),
    "quot_u": _infix("/u", PRODUCT),
    "quot_s": _infix("/s", PRODUCT),
    "rem_u": _infix("%u", PRODUCT),
    "rem_s": _infix("%s", PRODUCT),
    "and": _infix("&", BITS, associative=True),
    "or": _infix("|", BITS, associative=True),
    "xor": _infix("^", BITS, associative=True),
    "not": _not,
    "shl": _infix("<<", SHIFT),
    "shr_u": _infix(">>u", SHIFT),
    "shr_s": _infix(">>s", SHIFT),
    "min_u": _call("min_u"),
    "max_u": _call("max_u"),
    "min_s": _call("min_s"),
    "max_s": _call("max_s"),
    "eq": _infix("==", COMPARE),
    "ne": _infix("!=", COMPARE),
    "lt_u": _lt_u,
    "lt_s": _infix("<s", COMPARE),
    "where": _call("where"),
    "zext": _resize("zext"),
    "sext": _resize("sext"),
    "trunc": _resize("low"),
    "popcount": _call("popcount"),
    "clz": _call("clz"),
    "ctz": _call("ctz"),
    "bswap": _call("bswap"),
    "bitrev8": _call("bitrev8"),
    "const": _const,
    "param": _param,
    "splat": lambda g, v: g.text(v.args[0]),
    "iota": lambda g, v: ("i", ATOM),
    "extract": _extract,
    "insert": _insert,
    "shuffle": _shuffle,
    "take": _call("take"),
    "concat": _call("concat"),
    "bitcast": _bitcast,
    "compress": _call("compress"),
    "prefix_count": _call("prefix_count"),
    "count": _call("count"),
    "first": _call("first"),
    "reduce": _reduce,
    "group_sum": lambda g, v: g.call("group_sum", v.args, v.attrs[0]),
}
