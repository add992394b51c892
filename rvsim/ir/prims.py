"""The primitives: a name, a typing rule, a meaning.  Back ends are tables keyed by these names.

A primitive has no other behaviour; `check_complete` makes a back end that lacks a rule for one
fail when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rvsim.ir.types import WORD, Type, bits, lanes, mask

Attrs = tuple[Any, ...]
Result = Type | tuple[Type, ...]
Typing = Callable[[tuple[Type, ...], Attrs], Result]


@dataclass(frozen=True, slots=True)
class Prim:
    """One primitive.  `elementwise`: applies lane by lane, so it commutes with `splat`."""

    name: str
    typing: Typing
    doc: str
    elementwise: bool = False


PRIMS: Final[dict[str, Prim]] = {}


def _define(names: str, typing: Typing, doc: str, *, elementwise: bool = False) -> None:
    for name in names.split():
        PRIMS[name] = Prim(name, typing, doc, elementwise)


def _require(ok: bool, what: str) -> None:
    if not ok:
        raise TypeError(what)


def _same(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(len(set(args)) == 1, f"operands of one type expected, got {args}")
    return args[0]


def _number(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(not args[0].is_mask, "a mask is no number: use & | ^ ~ == !=, or zext it first")
    return _same(args, attrs)


def _comparison(args: tuple[Type, ...], attrs: Attrs) -> Type:
    return _same(args, attrs).with_width(1)


def _order(args: tuple[Type, ...], attrs: Attrs) -> Type:
    return _number(args, attrs).with_width(1)


def _where(args: tuple[Type, ...], attrs: Attrs) -> Type:
    cond, yes, no = args
    _require(yes == no, f"where: branches differ: {yes} and {no}")
    _require(cond.width == 1 and cond.lanes in (None, yes.lanes), f"where: condition is {cond}")
    return yes


def _wider(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(attrs[0] > args[0].width, f"extension of {args[0]} to {attrs[0]} bits")
    return args[0].with_width(attrs[0])


def _narrower(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(attrs[0] < args[0].width, f"truncation of {args[0]} to {attrs[0]} bits")
    return args[0].with_width(attrs[0])


def _attr_type(args: tuple[Type, ...], attrs: Attrs) -> Type:
    return attrs[-1]  # type: ignore[no-any-return]


def _bitcast(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[0].total_bits == attrs[0].total_bits, f"bitcast of {args[0]} to {attrs[0]}")
    return attrs[0]  # type: ignore[no-any-return]


def _splat(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[0].lanes is None, "splat of lanes")
    return lanes(attrs[0], args[0].width)


def _of_lanes(args: tuple[Type, ...]) -> tuple[int, int]:
    n = args[0].lanes
    _require(n is not None, f"lanes expected, got {args[0]}")
    assert n is not None
    return n, args[0].width


def _extract(args: tuple[Type, ...], attrs: Attrs) -> Type:
    return bits(_of_lanes(args)[1])


def _insert(args: tuple[Type, ...], attrs: Attrs) -> Type:
    n, width = _of_lanes(args)
    _require(args[1] == bits(width) and 0 <= attrs[0] < n, f"insert {args[1]} into {args[0]}")
    return args[0]


def _shuffle(args: tuple[Type, ...], attrs: Attrs) -> Type:
    n, width = _of_lanes(args)
    _require(all(0 <= i < n for i in attrs[0]), f"shuffle index outside {args[0]}")
    return lanes(len(attrs[0]), width)


def _take(args: tuple[Type, ...], attrs: Attrs) -> Type:
    return lanes(_of_lanes(args[1:])[0], _of_lanes(args)[1])


def _concat(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(len({a.width for a in args}) == 1, f"concat of {args}")
    return lanes(sum(_of_lanes((a,))[0] for a in args), args[0].width)


def _compress(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[1] == mask(_of_lanes(args)[0]), f"compress by {args[1]}")
    return args[0]


def _prefix_count(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[0].is_mask, "a mask expected")
    return lanes(_of_lanes(args)[0], attrs[0])


def _mask_to_word(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[0].is_mask, "a mask expected")
    return WORD


def _reduce(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(attrs[0] in REDUCTIONS, f"unknown reduction {attrs[0]}")
    _require(not args[0].is_mask or attrs[0] in ("and", "or", "xor"),
             f"reduction {attrs[0]} of a mask: use count or first")  # fmt: skip
    return bits(_of_lanes(args)[1])


def _group_sum(args: tuple[Type, ...], attrs: Attrs) -> Type:
    n, width = _of_lanes(args)
    _require(n % attrs[0] == 0, f"{n} lanes in groups of {attrs[0]}")
    return lanes(n // attrs[0], width)


def _load(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args[0] == WORD, f"address of type {args[0]}")
    return bits(attrs[0])


def _load_lanes(args: tuple[Type, ...], attrs: Attrs) -> tuple[Type, Type]:
    n = _of_lanes(args[1:])[0]
    _require(args[0] in (WORD, lanes(n, 64)) and args[1].is_mask, f"load at {args}")
    return lanes(n, attrs[0]), WORD


def _store_lanes(args: tuple[Type, ...], attrs: Attrs) -> Type:
    n = _of_lanes(args[1:])[0]
    _require(args[0] in (WORD, lanes(n, 64)) and args[2] == mask(n), f"store at {args}")
    return WORD


def _read_array(args: tuple[Type, ...], attrs: Attrs) -> Type:
    _require(args == (WORD,), f"array index of type {args}")
    return WORD


def _invoke(args: tuple[Type, ...], attrs: Attrs) -> Type:
    subprogram = attrs[0]
    _require(args[0] == bits(1), f"invoke: condition is {args[0]}")
    expected = (WORD,) * len(subprogram.params)
    _require(args[1:] == expected, f"{subprogram.name} takes {expected}, not {args[1:]}")
    return WORD


def _for(args: tuple[Type, ...], attrs: Attrs) -> tuple[Type, ...]:
    return args


def _call(args: tuple[Type, ...], attrs: Attrs) -> tuple[Type, ...]:
    function = attrs[0]
    params = tuple(p.type for p in function.params)
    _require(args == params, f"{function.name} takes {params}, not {args}")
    return tuple(r.type for r in function.results)


def _proj(args: tuple[Any, ...], attrs: Attrs) -> Type:
    return args[0][attrs[0]]  # type: ignore[no-any-return]


REDUCTIONS: Final = ("add", "and", "or", "xor", "min_u", "max_u", "min_s", "max_s")

# Elementwise arithmetic; every result is modulo 2^width.
_define("add sub mul", _number, "modular arithmetic", elementwise=True)
_define(
    "mulh_u mulh_s mulh_su", _number, "upper half of the double-width product", elementwise=True
)
_define("quot_u quot_s rem_u rem_s", _number,
        "division towards zero; the divisor is not 0, and not -1 under the least dividend",
        elementwise=True)  # fmt: skip
_define("and or xor", _same, "bitwise", elementwise=True)
_define("not", _same, "complement", elementwise=True)
_define("shl shr_u shr_s", _number, "shift by the amount modulo the width", elementwise=True)
_define("min_u max_u min_s max_s", _number, "the lesser or greater operand", elementwise=True)
_define("eq ne", _comparison, "comparison, one bit", elementwise=True)
_define("lt_u lt_s", _order, "comparison, one bit", elementwise=True)
_define("where", _where, "select by a one-bit condition", elementwise=True)
_define("zext sext", _wider, "extend to attr bits", elementwise=True)
_define("trunc", _narrower, "keep the low attr bits", elementwise=True)
_define("popcount clz ctz", _number, "count bits; clz and ctz of 0 are the width", elementwise=True)
_define("bswap bitrev8", _number, "reverse the bytes; reverse the bits in each byte",
        elementwise=True)  # fmt: skip
# Lanes.
_define("const", _attr_type, "attrs: value, type")
_define("param", _attr_type, "an operand field of the instruction; attrs: name, type")
_define("splat", _splat, "the scalar in each of attr lanes")
_define("iota", _attr_type, "lane numbers; attr: type")
_define("extract", _extract, "lane attr as a scalar")
_define("insert", _insert, "the lanes with lane attr replaced")
_define("shuffle", _shuffle, "lanes picked by a tuple of static indices")
_define("take", _take, "lanes picked by index lanes; 0 where the index is outside")
_define("concat", _concat, "lanes one after the other")
_define("bitcast", _bitcast, "the same bits, little end first, as another type")
_define("compress", _compress, "the lanes under the mask, packed to the front, then zeros")
_define("prefix_count", _prefix_count, "mask bits set below each lane, attr bits wide")
_define("count", _mask_to_word, "mask bits set")
_define("first", _mask_to_word, "index of the first mask bit set, or the number of lanes")
_define("reduce", _reduce, "fold of all lanes; attr: the operation")
_define("group_sum", _group_sum, "sums of runs of attr lanes")
# State before the instruction: an instruction reads all it reads before it writes.
_define("read", _attr_type, "a named scalar; attrs: name, type")
_define("read_x", _attr_type, "x register by operand field; attrs: field, type")
_define("read_f", _attr_type, "f register by operand field, its 64 bits; attrs: field, type")
_define("read_v", _attr_type, "vector register group; attrs: field, register offset, type")
_define("read_mask", _attr_type, "the low bits of a mask register; attrs: field, type")
# Memory, in program order.  Lane accesses stop before the first lane that faults and return its
# index (the number of lanes if none), so that the shape can make the trap precise.
_define("load", _load, "scalar at an address, attr bits; traps")
_define("load_lanes", _load_lanes,
        "(attr-bit lanes under a mask, else 0; index of the faulting lane), at a base or at lanes "
        "of addresses")  # fmt: skip
_define("store_lanes", _store_lanes, "index of the faulting lane; args: address, values, mask")
# Named arrays of 64-bit words, in program order like memory: a read sees the writes before it.
_define("read_array", _read_array, "element of a named array; attr: name")
# Control.
_define("invoke", _invoke,
        "result of a subprogram, run here if the condition is set, else 0; attr: "
        "`program.Subprogram`")  # fmt: skip
_define("for", _for, "attrs: count, body region; carries args; leaves when the body says so")
_define("call", _call, "a named operation, given by its definition; attr: `program.NamedOperation`")
_define(
    "carried", _attr_type, "parameter of a loop body or of a named operation; attrs: index, type"
)
_define("proj", _proj, "component attr of a tuple")


def check_complete(backend: str, rules: Mapping[str, object], extra: Iterable[str] = ()) -> None:
    """Raise ImportError when the rule table of a back end and the primitives differ.

    >>> check_complete("demo", {name: None for name in PRIMS})
    """
    expected = {*PRIMS, *extra}
    missing, unknown = expected - rules.keys(), rules.keys() - expected
    if missing or unknown:
        raise ImportError(
            f"back end {backend}: no rule for {sorted(missing)}, unknown rule {sorted(unknown)}"
        )
