"""Back end "text": a program as a formula that people read, in the manifest and `rvsim explain`.

Lanes are written as if they were one number, ``i`` being the lane number; a sign stands on the
operator that has one (``<u``, ``>>s``, ``*hsu``).  Registers and CSRs on a right-hand side are
those before the instruction, whatever stands before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rvsim.ir.prims import check_complete
from rvsim.ir.program import LoopBody, Program, inputs
from rvsim.ir.statements import (
    Field,
    If,
    Let,
    RaiseTrap,
    Repeat,
    Statement,
    Store,
    Write,
    WriteArray,
    WriteF,
    WriteMask,
    WriteV,
    WriteX,
    check_statement_rules,
    operands,
)
from rvsim.ir.types import Type
from rvsim.ir.value import Value

# How tightly an expression binds; an operand that binds less tightly is put in parentheses.
COMPARE, BITS, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(7)

Text = tuple[str, int]
Rule = Callable[["_Writer", Value], Text]

_INLINE_SIZE: Final = 3
"""A value used more than once is written out again up to so many nodes, and named beyond."""

_SHOWN_INDICES: Final = 8
_ARRAYS: Final = frozenset({"read_array", "invoke"})
_MEMORY: Final = frozenset({"load", "load_lanes", "store_lanes"}) | _ARRAYS


def formula(
    program: Program, *, fields: Mapping[str, int] | None = None, separator: str = "; "
) -> str:
    """The statements of a program; `fields` puts registers and immediates in for their names.

    >>> from rvsim import ir
    >>> with ir.Trace() as t:
    ...     ir.write_x("rd", ir.read_x("rs1") + ir.param("imm"))
    >>> formula(t.finish())
    'x[rd] = x[rs1] + imm'
    >>> formula(t.finish(), fields={"rd": 10, "rs1": 2, "imm": -16})
    'x10 = x2 - 16'
    """
    writer = _Writer(program, fields or {})
    writer.block(program.body)
    return separator.join(writer.lines)


class _Writer:
    def __init__(self, program: Program, fields: Mapping[str, int]) -> None:
        self.fields = fields
        self.lines: list[str] = []
        self.names: dict[int, Any] = {}
        self.sizes: dict[int, int] = {}
        self.temporaries = self.faults = self.loops = self.operations = 0
        self.uses: Counter[int] = Counter()
        self.components: dict[tuple[int, int], Value] = {}
        statements = list(program.statements())
        for stmt in statements:
            if not isinstance(stmt, Let):
                self.uses.update(id(v) for v in operands(stmt))
        for value in _written(statements):
            self.uses.update(id(v) for v in inputs(value))
            if value.prim == "proj":
                self.components[id(value.args[0]), value.attrs[0]] = value
        self.stores = any(
            isinstance(s, Store) or (isinstance(s, Let) and s.value.prim == "store_lanes")
            for s in statements
        )

    # -- values

    def text(self, value: Value) -> Text:
        """The expression for a value, or the name it has or gets here."""
        known = self.names.get(id(value))
        if known is not None:
            return known, ATOM
        text = RULES[value.prim](self, value)
        if self.uses[id(value)] > 1 and self.size(value) > _INLINE_SIZE and _may_name(value):
            return self.name(value, text[0]), ATOM
        return text

    def expr(self, value: Value, binding: int = 0) -> str:
        """The text of an operand in a place that binds so tightly."""
        text, own = self.text(value)
        return text if own >= binding else f"({text})"

    def call(self, name: str, args: Sequence[Value], *more: object) -> Text:
        parts = [*(self.expr(a) for a in args), *map(str, more)]
        return f"{name}({', '.join(parts)})", ATOM

    def name(self, value: Value, text: str) -> str:
        self.temporaries += 1
        name = f"t{self.temporaries}"
        self.lines.append(f"{name} = {text}")
        self.names[id(value)] = name
        return name

    def size(self, value: Value) -> int:
        known = self.sizes.get(id(value))
        if known is None:
            own = 0 if value.prim in ("splat", "proj") else 1
            known = self.sizes[id(value)] = own + sum(self.size(a) for a in value.args)
        return known

    # -- operands

    def register(self, file: str, field: Field, offset: int = 0) -> str:
        number = field if isinstance(field, int) else self.fields.get(field)
        if number is not None:
            return f"{file}{number + offset}"
        return f"{file}[{field}+{offset}]" if offset else f"{file}[{field}]"

    def place(self, addr: Value, width: int, active: Value) -> str:
        """Memory lanes: ``mem8[base ...]`` consecutive, ``mem8[addresses]``, under a mask."""
        run = " ..." if addr.type.lanes is None else ""
        under = "" if active.const == 1 else f" if {self.expr(active)}"
        return f"mem{width}[{self.expr(addr)}{run}{under}]"

    # -- statements

    def block(self, body: tuple[Statement, ...]) -> None:
        for stmt in body:
            STATEMENT_RULES[type(stmt)](self, stmt)

    def braces(self, write: Callable[[], None]) -> str:
        """What `write` adds, in braces; names given inside are not known after them."""
        lines, names = self.lines, dict(self.names)
        self.lines = []
        write()
        inner, self.lines, self.names = self.lines, lines, names
        return f"{{ {'; '.join(inner)} }}" if inner else "{ }"


def _written(statements: Sequence[Statement]) -> list[Value]:
    """Each value that appears in the text: `Let`s of pure values do not."""
    roots = [
        v
        for s in statements
        if not isinstance(s, Let) or s.value.prim in _MEMORY
        for v in operands(s)
    ]
    seen: dict[int, Value] = {}
    while roots:
        value = roots.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            roots.extend(inputs(value))
    return list(seen.values())


def _may_name(value: Value) -> bool:
    return value.prim not in ("const", "param", "splat", "proj", "for", "load_lanes")


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


# -- rules


def _infix(symbol: str, level: int, *, associative: bool = False) -> Rule:
    def rule(g: _Writer, v: Value) -> Text:
        a, b = v.args
        chained = associative and b.prim == v.prim
        # Only the order of + - * is known by heart: other operators get parentheses.
        inner = {SUM: SUM, PRODUCT: PRODUCT, COMPARE: SUM}.get(level, UNARY)
        first = inner if level != BITS or a.prim != v.prim else BITS
        second = level if chained else max(inner, level + 1)
        return f"{g.expr(a, first)} {symbol} {g.expr(b, second)}", level

    return rule


def _add(g: _Writer, v: Value) -> Text:
    addend = g.expr(v.args[1], SUM)
    if addend.startswith("-") and addend[1:].isdigit():
        return f"{g.expr(v.args[0], SUM)} - {addend[1:]}", SUM
    return _infix("+", SUM, associative=True)(g, v)


def _lt_u(g: _Writer, v: Value) -> Text:
    """``i <u vl``: that a count is first limited to the number of lanes is left out."""
    lane, limit = v.args
    if lane.prim == "iota" and limit.prim == "splat":
        count = limit.args[0]
        while count.prim in ("trunc", "zext"):
            count = count.args[0]
        if count.prim == "min_u" and count.args[1].const == lane.type.lanes:
            return f"i <u {g.expr(count.args[0], SUM)}", COMPARE
    return _infix("<u", COMPARE)(g, v)


def _call(name: str) -> Rule:
    return lambda g, v: g.call(name, v.args)


def _resize(name: str) -> Rule:
    return lambda g, v: g.call(f"{name}{v.attrs[0]}", v.args)


def _not(g: _Writer, v: Value) -> Text:
    return f"{'!' if v.type.width == 1 else '~'}{g.expr(v.args[0], UNARY)}", UNARY


def _const(g: _Writer, v: Value) -> Text:
    return _number(v.attrs[0], v.type), ATOM


def _param(g: _Writer, v: Value) -> Text:
    name = v.attrs[0]
    return str(g.fields.get(name, name)), ATOM


def _shuffle(g: _Writer, v: Value) -> Text:
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


def _extract(g: _Writer, v: Value) -> Text:
    return f"{g.expr(v.args[0], ATOM)}[{v.attrs[0]}]", ATOM


def _insert(g: _Writer, v: Value) -> Text:
    a, element = v.args
    return f"insert({g.expr(a)}, {v.attrs[0]}, {g.expr(element)})", ATOM


def _bitcast(g: _Writer, v: Value) -> Text:
    """``as_e8(a)``; a constant as lanes is a table, of which the first entries are shown."""
    number, type_ = v.args[0].const, v.type
    if number is not None and type_.lanes is not None:
        shown = range(min(type_.lanes, _SHOWN_INDICES))
        entries = [hex(number >> type_.width * i & type_.ones) for i in shown]
        more = ["..."] * (type_.lanes > _SHOWN_INDICES)
        return f"[{', '.join([*entries, *more])}]", ATOM
    return g.call(f"as_{_lanes_name(v.type)}", v.args)


def _reduce(g: _Writer, v: Value) -> Text:
    kind = v.attrs[0]
    if kind == "add":
        return g.call("sum", v.args)
    return f"reduce({kind}, {g.expr(v.args[0])})", ATOM


def _read_v(g: _Writer, v: Value) -> Text:
    field, reg_offset, _ = v.attrs
    return g.register("v", field, reg_offset), ATOM


def _read_mask(g: _Writer, v: Value) -> Text:
    return f"mask({g.register('v', v.attrs[0])})", ATOM


def _load(g: _Writer, v: Value) -> Text:
    return f"mem{v.attrs[0]}[{g.expr(v.args[0])}]", ATOM


def _load_lanes(g: _Writer, v: Value) -> Text:
    return g.place(v.args[0], v.attrs[0], v.args[1]), ATOM


def _store_lanes(g: _Writer, v: Value) -> Text:
    addr, values, active = v.args
    return f"{g.place(addr, values.type.width, active)} = {g.expr(values)}", 0


def _read_array(g: _Writer, v: Value) -> Text:
    return f"{v.attrs[0]}[{g.expr(v.args[0])}]", ATOM


def _invoke(g: _Writer, v: Value) -> Text:
    condition, *args = v.args
    call = g.call(v.attrs[0].name, args)
    return call if condition.const == 1 else (f"{call[0]} if {g.expr(condition)}", 0)


def _for(g: _Writer, v: Value) -> Text:
    """Statements for the loop; its components are the names of what it carries."""
    count, loop = v.attrs
    assert isinstance(loop, LoopBody)
    g.loops += 1
    label = "" if g.loops == 1 else str(g.loops)
    index = f"j{label}"
    n = len(v.args)
    names = [f"c{label}" if n == 1 else f"c{label}_{k}" for k in range(n)]
    for name, first in zip(names, v.args, strict=True):
        g.lines.append(f"{name} = {g.expr(first)}")

    def body() -> None:
        g.names[id(loop.index)] = index
        g.names.update(zip(map(id, loop.carried), names, strict=True))
        results = [g.expr(r) for r in loop.results]
        leave = None if loop.until is None else g.expr(loop.until)
        if leave is not None and loop.until is not None:
            leave = g.name(loop.until, leave)
        g.lines.append(f"{', '.join(names)} = {', '.join(results)}")
        if leave is not None:
            g.lines.append(f"if ({leave}) {{ break }}")

    g.lines.append(f"for ({index} < {count}) {g.braces(body)}")
    g.names[id(v)] = tuple(names)
    return ", ".join(names), ATOM


def _carried(g: _Writer, v: Value) -> Text:
    raise AssertionError("a carried value is named by its loop")


def _operation(g: _Writer, v: Value) -> Text:
    """``name(a, b)``; where more than the result is used, ``r = name(a, b)`` and ``r.label``."""
    function = v.attrs[0]
    text = g.call(function.name, v.args)
    if all(k == 0 for owner, k in g.components if owner == id(v)):
        return text
    g.operations += 1
    name = f"r{g.operations if g.operations > 1 else ''}"
    g.lines.append(f"{name} = {text[0]}")
    g.names[id(v)] = (name, *(f"{name}.{label}" for label in function.labels[1:]))
    return name, ATOM


def _proj(g: _Writer, v: Value) -> Text:
    whole = v.args[0]
    if id(whole) not in g.names:
        text, level = RULES[whole.prim](g, whole)
        if whole.prim != "for" and id(whole) not in g.names:  # used once
            return text, level
    return g.names[id(whole)][v.attrs[0]], ATOM


RULES: Final[dict[str, Rule]] = {
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
    "read": lambda g, v: (v.attrs[0], ATOM),
    "read_x": lambda g, v: (g.register("x", v.attrs[0]), ATOM),
    "read_f": lambda g, v: (g.register("f", v.attrs[0]), ATOM),
    "read_v": _read_v,
    "read_mask": _read_mask,
    "load": _load,
    "load_lanes": _load_lanes,
    "store_lanes": _store_lanes,
    "read_array": _read_array,
    "invoke": _invoke,
    "for": _for,
    "call": _operation,
    "carried": _carried,
    "proj": _proj,
}


# -- statements


def _let(g: _Writer, stmt: Let) -> None:
    """Memory accesses stay where they are; state is read before it is written in any case."""
    value = stmt.value
    if value.prim not in _MEMORY or id(value) in g.names:
        return
    text, _ = RULES[value.prim](g, value)
    if value.prim in _ARRAYS:
        if g.uses[id(value)]:
            g.name(value, text)
        elif value.prim == "invoke":
            g.lines.append(text)
        return
    if value.prim == "load":
        if g.uses[id(value)] == 0:
            g.lines.append(text)
        elif g.uses[id(value)] > 1 or g.stores:
            g.name(value, text)
        return
    used = g.uses[id(value)] > 0 if value.prim == "store_lanes" else (id(value), 1) in g.components
    fault = ""
    if used:
        g.faults += 1
        fault = f"fault{g.faults}"
    if value.prim == "store_lanes":
        g.lines.append(f"{fault} = ({text})" if used else text)
        g.names[id(value)] = fault
    elif not used and not g.stores and g.uses[id(g.components.get((id(value), 0)))] == 1:
        return
    elif used or (id(value), 0) in g.components:
        g.temporaries += 1
        name = f"t{g.temporaries}"
        g.lines.append(f"{name}, {fault} = {text}" if used else f"{name} = {text}")
        g.names[id(value)] = (name, fault)
    else:
        g.lines.append(text)


def _store(g: _Writer, stmt: Store) -> None:
    g.lines.append(f"mem{stmt.value.type.width}[{g.expr(stmt.addr)}] = {g.expr(stmt.value)}")


def _write(g: _Writer, stmt: Write) -> None:
    g.lines.append(f"{stmt.name} = {g.expr(stmt.value)}")


def _write_x(g: _Writer, stmt: WriteX) -> None:
    if stmt.field == 0 or g.fields.get(str(stmt.field)) == 0:
        return
    g.lines.append(f"{g.register('x', stmt.field)} = {g.expr(stmt.value)}")


def _write_f(g: _Writer, stmt: WriteF) -> None:
    g.lines.append(f"{g.register('f', stmt.field)} = {g.expr(stmt.value)}")


def _write_v(g: _Writer, stmt: WriteV) -> None:
    target = g.register("v", stmt.field, stmt.reg_offset)
    part = f".byte[{stmt.byte_offset} ...]" if stmt.byte_offset else ""
    g.lines.append(f"{target}{part} = {g.expr(stmt.value)}")


def _write_mask(g: _Writer, stmt: WriteMask) -> None:
    g.lines.append(f"mask({g.register('v', stmt.field)}) = {g.expr(stmt.value)}")


def _trap(g: _Writer, stmt: RaiseTrap) -> None:
    tval = "" if stmt.tval.const == 0 else f", tval = {g.expr(stmt.tval)}"
    g.lines.append(f'trap({stmt.cause}, "{stmt.why}"{tval})')


def _if(g: _Writer, stmt: If) -> None:
    cond = g.expr(stmt.cond)
    g.lines.append(f"if ({cond}) {g.braces(lambda: g.block(stmt.body))}")


def _write_array(g: _Writer, stmt: WriteArray) -> None:
    g.lines.append(f"{stmt.name}[{g.expr(stmt.index)}] = {g.expr(stmt.value)}")


def _repeat(g: _Writer, stmt: Repeat) -> None:
    g.loops += 1
    index = "j" if g.loops == 1 else f"j{g.loops}"
    count = g.expr(stmt.count)
    g.names[id(stmt.index)] = index
    g.lines.append(f"for ({index} < {count}) {g.braces(lambda: g.block(stmt.body))}")


STATEMENT_RULES: Final[dict[type, Callable[[_Writer, Any], None]]] = {
    Let: _let,
    Store: _store,
    Write: _write,
    WriteX: _write_x,
    WriteF: _write_f,
    WriteV: _write_v,
    WriteMask: _write_mask,
    WriteArray: _write_array,
    RaiseTrap: _trap,
    If: _if,
    Repeat: _repeat,
}

check_complete("text", RULES)
check_statement_rules("text", STATEMENT_RULES)
