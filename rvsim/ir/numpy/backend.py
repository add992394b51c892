"""Back end "numpy": a program as generated Python source.

Scalars are Python ints in [0, 2^width), lanes are unsigned NumPy arrays, masks are bool arrays.
A splat stays a Python int as long as it can: NumPy adds an int to an array of any width without
widening it, and a one-element array addition costs ten times a Python one.  Constants beside lanes
are arrays of no dimensions, made once.

The source is a function of the operand fields (`rd`, `imm`, …), behind the constants and host
operations that it uses.  It finds the state and memory of one machine in its globals, which
`rvsim.engine.interp.namespace` provides; a named array is the global ``a_<name>``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from rvsim.hart.state import F_BASE, SLOT, X_BASE
from rvsim.ir.numpy.host import HOST, base_name
from rvsim.ir.prims import check_complete
from rvsim.ir.program import LoopBody, NamedOperation, Program, Subprogram, inputs
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

assert (X_BASE, F_BASE) == (0, 32)

Rule = Callable[["_Emitter", Value], str]


def compile_python(
    program: Program,
    name: str = "insn",
    *,
    zero: frozenset[str] = frozenset(),
    events: bool = False,
    host: bool = True,
) -> str:
    """Source of a function `name` of the program's operand fields.

    `zero` names destination fields that are x0, whose writes are dropped.  With `events`, register
    writes call ``log_x(register)``, ``log_v(register, count)`` and ``log_csr(name)``.  With `host`,
    operations of `numpy_host` are tried first; callers turn NumPy's floating-point warnings off.
    """
    emitter = _Emitter(program, zero, events, host)
    emitter.block(program.body)
    made_once = "".join(f"{name} = {text}\n" for name, text in emitter.made_once.items())
    body = "\n".join(emitter.lines) or "    pass"
    return f"{made_once}def {name}({', '.join(program.params())}):\n{body}\n"


def compile_subprogram(sub: Subprogram) -> str:
    """Source of the function of a subprogram, named as it is."""
    emitter = _Emitter(sub.program, frozenset(), events=False, results=(sub.result,))
    emitter.block(sub.program.body)
    emitter.line(f"return {emitter.expr(sub.result)}")
    body = "\n".join(emitter.lines)
    return f"def {sub.name}({', '.join(sub.params)}):\n{body}\n"


class _Emitter:
    def __init__(
        self,
        program: Program,
        zero: frozenset[str],
        events: bool,
        host: bool = True,
        results: tuple[Value, ...] = (),
    ) -> None:
        self.zero = zero
        self.events = events
        self.host = host
        self.made_once: dict[str, str] = {}
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[int, str] = {}
        self.fresh = 0
        self.uses: Counter[int] = Counter()
        for value in program.values():
            self.uses.update(id(v) for v in inputs(value))
        for stmt in program.statements():
            self.uses.update(id(v) for v in operands(stmt))
        self.uses.update(map(id, results))
        self.copy_views = _outlives_write(program)
        self.stores = any(
            isinstance(s, Store) or (isinstance(s, Let) and s.value.prim == "store_lanes")
            for s in program.statements()
        )

    # -- text

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def assign(self, value: Value, expression: str) -> str:
        if self.copy_views and _is_view(value):
            expression += ".copy()"
        self.fresh += 1
        name = f"t{self.fresh}"
        self.line(f"{name} = {expression}")
        self.names[id(value)] = name
        return name

    # -- values

    def expr(self, value: Value) -> str:
        """Python for the value: a name, a literal, or an expression used once."""
        known = self.names.get(id(value))
        if known is not None:
            return known
        text = RULES[value.prim](self, value)
        if self.uses[id(value)] <= 1 or value.prim in ("const", "param", "splat"):
            return text
        if text.isidentifier():
            self.names[id(value)] = text
            return text
        return self.assign(value, text)

    def args(self, value: Value) -> list[str]:
        return [self.expr(a) for a in value.args]

    def array(self, value: Value) -> str:
        """Python for lanes that are an array for certain, not a splatted int."""
        if value.prim != "splat":
            return self.expr(value)
        dtype = _dtype(value.type)
        return f"np.full({value.type.lanes}, {self.expr(value)}, {dtype})"

    def typed(self, value: Value) -> str:
        """As `expr`, but a splatted int carries its dtype."""
        text = self.expr(value)
        splat_of_int = value.prim == "splat" and value.const is None
        return f"{_dtype(value.type)}({text})" if splat_of_int else text

    def constant(self, value: int, dtype: str) -> str:
        """The name of a constant beside lanes, which no other value has."""
        name = f"c_{dtype}_{value:x}".replace("-", "minus_")
        self.made_once[name] = f"lane_const({value:#x}, {dtype})"
        return name

    def signed(self, value: Value) -> str:
        """The operand as a signed number, or as lanes of a signed dtype."""
        width = value.type.width
        sign = 1 << (width - 1)
        if value.const is not None:
            number = (value.const ^ sign) - sign
            return f"({number})" if value.prim != "splat" else self.constant(number, f"i{width}")
        text = self.expr(value)
        if value.type.lanes is not None and value.prim != "splat":
            return f"{text}.view(i{width})"
        return f"(({text} ^ 0x{sign:x}) - 0x{sign:x})"

    def amount(self, value: Value, kind: str = "u") -> str:
        """A shift amount modulo the width; lanes have a dtype of this kind."""
        width = value.type.width
        limit = width - 1
        if value.const is not None:
            amount = value.const & limit
            return str(amount) if not _is_array(value) else self.constant(amount, f"{kind}{width}")
        if value.prim == "splat" or not _is_array(value):
            return f"({self.expr(value)} & {limit})"
        text = f"({self.expr(value)} & {self.constant(limit, f'u{width}')})"
        return text if kind == "u" else f"{text}.view(i{width})"

    def wrap(self, value: Value, text: str) -> str:
        """Scalar arithmetic needs its result cut to the width; arrays wrap by themselves."""
        return text if value.type.lanes is not None else f"{text} & 0x{value.type.ones:x}"

    # -- statements

    def block(self, body: tuple[Statement, ...]) -> None:
        for stmt in body:
            STATEMENT_RULES[type(stmt)](self, stmt)

    def nested(self, body: tuple[Statement, ...]) -> None:
        """A block whose names are not known behind it."""
        outer = dict(self.names)
        self.indent += 1
        before = len(self.lines)
        self.block(body)
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.names = outer


def _dtype(type_: Type) -> str:
    return "bool_" if type_.is_mask else f"u{type_.width}"


def _is_array(value: Value) -> bool:
    return value.type.lanes is not None


def _infix(symbol: str, *, wraps: bool) -> Rule:
    def rule(g: _Emitter, v: Value) -> str:
        a, b = g.args(v)
        text = f"({a} {symbol} {b})"
        return f"({g.wrap(v, text)})" if wraps and not _is_array(v) else text

    return rule


def _compare(symbol: str, *, signed: bool = False) -> Rule:
    def rule(g: _Emitter, v: Value) -> str:
        a, b = v.args
        if v.prim == "lt_u" and a.prim == "iota" and b.prim == "splat":
            n = a.type.lanes or 0
            if n <= a.type.ones:  # the mask of the first lanes, made once for each length
                return f"first_lanes({n}, {g.expr(b.args[0])})"
        if signed and not _is_array(v):  # biased unsigned comparison
            sign = f"0x{1 << (a.type.width - 1):x}"
            return f"(({g.expr(a)} ^ {sign}) {symbol} ({g.expr(b)} ^ {sign}))"
        left, right = (g.signed(a), g.signed(b)) if signed else (g.expr(a), g.expr(b))
        return f"({left} {symbol} {right})"

    return rule


def _not(g: _Emitter, v: Value) -> str:
    (a,) = g.args(v)
    return f"(~{a})" if _is_array(v) else f"({a} ^ 0x{v.type.ones:x})"


def _shl(g: _Emitter, v: Value) -> str:
    a, amount = g.typed(v.args[0]) if _is_array(v) else g.expr(v.args[0]), g.amount(v.args[1])
    return f"({g.wrap(v, f'({a} << {amount})')})"


def _shr_u(g: _Emitter, v: Value) -> str:
    a = g.typed(v.args[0]) if _is_array(v) else g.expr(v.args[0])
    return f"({a} >> {g.amount(v.args[1])})"


def _shr_s(g: _Emitter, v: Value) -> str:
    a, b = v.args
    w = v.type.width
    if not _is_array(v):
        return f"({g.wrap(v, f'({g.signed(a)} >> {g.amount(b)})')})"
    base = g.signed(a)
    if a.prim == "splat" and a.const is None:
        base = f"i{w}({base})"
    return f"({base} >> {g.amount(b, 'i')}).view(u{w})"


def _helper(name: str, *, array_of: tuple[int, ...] = ()) -> Rule:
    """A call into the runtime: ``name(args…, width)`` for scalars, ``name_v`` for arrays."""

    def rule(g: _Emitter, v: Value) -> str:
        if not _is_array(v):
            return f"{name}({', '.join(g.args(v))}, {v.type.width})"
        args = [g.array(a) if i in array_of else g.typed(a) for i, a in enumerate(v.args)]
        return f"{name}_v({', '.join(args)}, {v.type.width})"

    return rule


def _min_max(function: str, *, signed: bool) -> Rule:
    def rule(g: _Emitter, v: Value) -> str:
        a, b = v.args
        width = v.type.width
        if not _is_array(v):
            if signed:
                text = f"{function[:3]}({g.signed(a)}, {g.signed(b)})"
                return f"({g.wrap(v, text)})"
            return f"{function[:3]}({g.expr(a)}, {g.expr(b)})"
        if signed:
            return f"np.{function}({g.signed(a)}, {g.signed(b)}).view(u{width})"
        return f"np.{function}({g.expr(a)}, {g.expr(b)})"

    return rule


def _where(g: _Emitter, v: Value) -> str:
    cond, yes, no = v.args
    if not _is_array(v):
        return f"({g.expr(yes)} if {g.expr(cond)} else {g.expr(no)})"
    if cond.type.lanes is None:
        return f"({g.array(yes)} if {g.expr(cond)} else {g.array(no)})"
    return f"np.where({g.expr(cond)}, {g.typed(yes)}, {g.typed(no)})"


def _zext(g: _Emitter, v: Value) -> str:
    (a,) = g.args(v)
    if _is_array(v):
        return f"{a}.astype(u{v.attrs[0]})"
    return f"int({a})" if v.args[0].type.width == 1 else a


def _sext(g: _Emitter, v: Value) -> str:
    (a,) = v.args
    width = v.attrs[0]
    if _is_array(v):
        if a.type.width == 1:
            return f"np.where({g.expr(a)}, u{width}({v.type.ones}), u{width}(0))"
        return f"{g.signed(a)}.astype(i{width}).view(u{width})"
    return f"({g.wrap(v, g.signed(a))})"


def _trunc(g: _Emitter, v: Value) -> str:
    (a,) = g.args(v)
    if not _is_array(v):
        return f"({a} & 0x{v.type.ones:x})"
    if v.attrs[0] == 1:
        return f"({a} & {g.constant(1, _dtype(v.args[0].type))}).astype(bool_)"
    return f"{a}.astype(u{v.attrs[0]})"


def _splat(g: _Emitter, v: Value) -> str:
    if v.const is not None:
        return g.constant(v.const, _dtype(v.type))
    scalar = g.expr(v.args[0])
    return f"bool_({scalar})" if v.type.is_mask else scalar  # NumPy would widen bools beside ints


def _shuffle(g: _Emitter, v: Value) -> str:
    indices: tuple[int, ...] = v.attrs[0]
    a = g.array(v.args[0])
    start, n = indices[0], len(indices)
    step = indices[1] - start if n > 1 else 1
    if step > 0 and all(i == start + k * step for k, i in enumerate(indices)):
        stop = start + (n - 1) * step + 1
        return f"{a}[{start}:{stop}]" if step == 1 else f"{a}[{start}:{stop}:{step}]"
    return f"{a}[lane_table({indices})]"


def _bitcast(g: _Emitter, v: Value) -> str:
    (a,) = v.args
    if not _is_array(a) and not _is_array(v):
        return g.expr(a)
    if not _is_array(a):
        octets = -(-a.type.width // 8)
        make = "lanes_of_int" if a.const is None else "constant_lanes"
        source = f"{make}({g.expr(a)}, {octets}, {'u8' if v.type.is_mask else _dtype(v.type)})"
    else:
        source = f"pack({g.array(a)})" if a.type.is_mask else f"contiguous({g.array(a)})"
    if not _is_array(v):
        return f"int_of_lanes({source})"
    if v.type.is_mask:
        return f"unpack({source}.view(u8), {v.type.lanes})"
    return f"{source}.view({_dtype(v.type)})"


def _reduce(g: _Emitter, v: Value) -> str:
    (a,) = v.args
    kind: str = v.attrs[0]
    width = v.type.width
    ufuncs = {"add": "add", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
    if v.type.width == 1 and kind != "xor":
        return f"{'any_lane' if kind == 'or' else 'every_lane'}({g.array(a)})"
    if kind in ufuncs:
        return f"int(np.{ufuncs[kind]}.reduce({g.array(a)}, dtype={_dtype(a.type)}))"
    array = g.array(a) if kind.endswith("_u") else f"{g.array(a)}.view(i{width})"
    return f"(int({array}.{kind[:3]}()) & 0x{v.type.ones:x})"


def _register_index(field: Field, offset: int) -> str:
    if isinstance(field, int):
        return str(field + offset)
    return f"({field} + {offset})" if offset else field


def _v_slice(field: Field, reg_offset: int, byte_offset: int, type_: Type) -> str:
    unit = type_.width // 8
    start = f"{_register_index(field, reg_offset)} * vl{type_.width}"
    if byte_offset:
        start += f" + {byte_offset // unit}"
    return f"v{type_.width}[{start} : {start} + {type_.lanes}]"


def _read(g: _Emitter, v: Value) -> str:
    name, type_ = v.attrs
    word = f"s[{SLOT[name]}]"
    return word if type_.width == 64 else f"({word} & 0x{type_.ones:x})"


def _f_word(field: Field) -> str:
    return str(F_BASE + field) if isinstance(field, int) else f"{F_BASE} + {field}"


def _read_v(g: _Emitter, v: Value) -> str:
    field, reg_offset, type_ = v.attrs
    return _v_slice(field, reg_offset, 0, type_)


def _read_mask(g: _Emitter, v: Value) -> str:
    field, type_ = v.attrs
    return f"unpack({_v_slice(field, 0, 0, Type(8, -(-type_.lanes // 8)))}, {type_.lanes})"


def _active(g: _Emitter, active: Value, *, copies: bool = False) -> str:
    """A mask, or None for all lanes; a load of all lanes may hand out a window on memory."""
    return "None" if active.const == 1 and not copies else g.array(active)


def _load_lanes(g: _Emitter, v: Value) -> str:
    addr, active = v.args
    n = active.type.lanes
    if addr.type.lanes is None:
        return (
            f"load_run({g.expr(addr)}, {_active(g, active, copies=g.stores)}, {n}, u{v.attrs[0]})"
        )
    return f"load_at({g.array(addr)}, {_active(g, active)}, u{v.attrs[0]})"


def _store_lanes(g: _Emitter, v: Value) -> str:
    addr, values, active = v.args
    if addr.type.lanes is None:
        return f"store_run({g.expr(addr)}, {g.array(values)}, {_active(g, active)})"
    return f"store_at({g.array(addr)}, {g.array(values)}, {_active(g, active)})"


def _for(g: _Emitter, v: Value) -> str:
    count, loop = v.attrs
    assert isinstance(loop, LoopBody)
    g.fresh += 1
    prefix = f"c{g.fresh}_"
    names = [f"{prefix}{i}" for i in range(len(v.args))]
    for name, arg in zip(names, v.args, strict=True):
        g.line(f"{name} = {g.array(arg) if _is_array(arg) else g.expr(arg)}")
    g.line(f"for {prefix}i in range({count}):")
    outer = dict(g.names)
    g.names[id(loop.index)] = f"{prefix}i"
    g.names.update({id(c): name for c, name in zip(loop.carried, names, strict=True)})
    g.indent += 1
    results = [g.array(r) if _is_array(r) else g.expr(r) for r in loop.results]
    leave = None
    if loop.until is not None:
        leave = g.assign(loop.until, g.expr(loop.until))
    g.line(f"{', '.join(names)} = {', '.join(results)}")
    if leave is not None:
        g.line(f"if {leave}: break")
    g.indent -= 1
    g.names = outer
    return f"({', '.join(names)},)"


def _call(g: _Emitter, v: Value) -> str:
    """What the host makes of it; its definition where there is no such thing or the host refuses.

    The host takes the operands that are lanes; a scalar is a rounding mode, and 0 the host's.
    """
    function = v.attrs[0]
    texts = [g.array(a) if _is_array(a) else g.expr(a) for a in v.args]
    outer = dict(g.names)
    for param, text in zip(function.params, texts, strict=True):
        g.names[id(param)] = text if text.isidentifier() else g.assign(param, text)
    outcome = ""
    if g.host and base_name(function.name) in HOST and all(map(_is_array, v.args[:1])):
        outcome = _host_call(g, function)
        g.line(f"if {outcome} is None:")
        g.indent += 1
    results = [g.array(r) if _is_array(r) else g.expr(r) for r in function.results]
    text = f"({', '.join(results)},)"
    if outcome:
        g.line(f"{outcome} = {text}")
        g.indent -= 1
    g.names = outer
    return outcome or text


def _host_call(g: _Emitter, function: NamedOperation) -> str:
    g.fresh += 1
    outcome = f"t{g.fresh}"
    host = re.sub(r"\W+", "_", f"host_{'_'.join((function.name, *function.labels))}")
    g.made_once[host] = f"host_operation({function.name!r}, {function.labels})"
    lanes = ", ".join(g.names[id(p)] for p in function.params if _is_array(p))
    modes = [g.names[id(p)] for p in function.params if not _is_array(p)]
    condition = f" if {modes[0]} == 0 else None" if modes else ""
    g.line(f"{outcome} = {host}({lanes}){condition}")
    return outcome


def _read_array(g: _Emitter, v: Value) -> str:
    return f"a_{v.attrs[0]}[{g.expr(v.args[0])}]"


def _invoke(g: _Emitter, v: Value) -> str:
    condition, *args = v.args
    call = f"{v.attrs[0].name}({', '.join(g.expr(a) for a in args)})"
    return call if condition.const == 1 else f"{call} if {g.expr(condition)} else 0"


def _unreachable(g: _Emitter, v: Value) -> str:
    raise AssertionError(f"a {v.prim} is named by its loop")


RULES: Final[dict[str, Rule]] = {
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
    "const": lambda g, v: hex(v.attrs[0]) if v.attrs[0] > 9 else str(v.attrs[0]),
    "param": lambda g, v: v.attrs[0],
    "splat": _splat,
    "iota": lambda g, v: f"lane_numbers({v.type.lanes}, {_dtype(v.type)})",
    "extract": lambda g, v: f"int({g.array(v.args[0])}[{v.attrs[0]}])",
    "insert": lambda g, v: f"insert({g.array(v.args[0])}, {v.attrs[0]}, {g.expr(v.args[1])})",
    "shuffle": _shuffle,
    "take": lambda g, v: f"take({g.array(v.args[0])}, {g.array(v.args[1])})",
    "concat": lambda g, v: f"np.concatenate(({', '.join(g.array(a) for a in v.args)}))",
    "bitcast": _bitcast,
    "compress": lambda g, v: f"compress({g.array(v.args[0])}, {g.array(v.args[1])})",
    "prefix_count": lambda g, v: f"prefix_count({g.array(v.args[0])}, {_dtype(v.type)})",
    "count": lambda g, v: f"int(np.count_nonzero({g.array(v.args[0])}))",
    "first": lambda g, v: f"first({g.array(v.args[0])})",
    "reduce": _reduce,
    "group_sum": lambda g, v: (
        f"np.add.reduce({g.array(v.args[0])}.reshape(-1, {v.attrs[0]}), axis=1,"
        f" dtype={_dtype(v.type)})"
    ),
    "read": _read,
    "read_x": lambda g, v: f"s[{v.attrs[0]}]",
    "read_f": lambda g, v: f"s[{_f_word(v.attrs[0])}]",
    "read_v": _read_v,
    "read_mask": _read_mask,
    "load": lambda g, v: f"load{v.attrs[0] // 8}({g.expr(v.args[0])})",
    "load_lanes": _load_lanes,
    "store_lanes": _store_lanes,
    "read_array": _read_array,
    "invoke": _invoke,
    "for": _for,
    "call": _call,
    "carried": _unreachable,
    "proj": lambda g, v: f"{g.expr(v.args[0])}[{v.attrs[0]}]",
}


# -- statements


def _let(g: _Emitter, stmt: Let) -> None:
    value = stmt.value
    if id(value) in g.names:
        return
    g.assign(value, RULES[value.prim](g, value))


def _is_view(value: Value) -> bool:
    """Whether NumPy may hand out a window on the register file instead of fresh lanes."""
    match value.prim:
        case "shuffle" | "bitcast":
            return _is_view(value.args[0])
        case "where":
            cond, yes, no = value.args
            return cond.type.lanes is None and (_is_view(yes) or _is_view(no))
        case "proj":
            return value.args[0].prim in ("for", "call")
        case prim:
            return prim == "read_v"


def _outlives_write(program: Program) -> bool:
    """Whether a window on the register file may be looked into after a write to the file."""
    lets = {id(s.value) for s in program.statements() if isinstance(s, Let)}
    written = False
    for stmt in program.statements():
        for value in operands(stmt) if written else ():
            if value.prim != "const" and (id(value) not in lets or _is_view(value)):
                return True
        written |= isinstance(stmt, WriteV | WriteMask)
    return False


def _write(g: _Emitter, stmt: Write) -> None:
    g.line(f"s[{SLOT[stmt.name]}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_csr({stmt.name!r})")


def _write_x(g: _Emitter, stmt: WriteX) -> None:
    if stmt.field in g.zero or stmt.field == 0:
        return
    g.line(f"s[{stmt.field}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_x({stmt.field})")


def _write_f(g: _Emitter, stmt: WriteF) -> None:
    g.line(f"s[{_f_word(stmt.field)}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_f({stmt.field})")


def _write_v(g: _Emitter, stmt: WriteV) -> None:
    type_ = stmt.value.type
    target = _v_slice(stmt.field, stmt.reg_offset, stmt.byte_offset, type_)
    g.line(f"{target} = {g.expr(stmt.value)}")
    if g.events:
        first = _register_index(stmt.field, stmt.reg_offset)
        g.line(f"log_v({first}, {stmt.byte_offset}, {type_.total_bits // 8})")


def _write_mask(g: _Emitter, stmt: WriteMask) -> None:
    n = stmt.value.type.lanes or 0
    target = _v_slice(stmt.field, 0, 0, Type(8, n // 8))
    g.line(f"{target} = pack({g.array(stmt.value)})")
    if g.events:
        g.line(f"log_v({_register_index(stmt.field, 0)}, 0, {n // 8})")


def _store(g: _Emitter, stmt: Store) -> None:
    g.line(f"store{stmt.value.type.width // 8}({g.expr(stmt.addr)}, {g.expr(stmt.value)})")


def _trap(g: _Emitter, stmt: RaiseTrap) -> None:
    g.line(f"raise GuestTrap({stmt.cause}, {g.expr(stmt.tval)}, {stmt.why!r})")


def _if(g: _Emitter, stmt: If) -> None:
    g.line(f"if {g.expr(stmt.cond)}:")
    g.nested(stmt.body)


def _write_array(g: _Emitter, stmt: WriteArray) -> None:
    g.line(f"a_{stmt.name}[{g.expr(stmt.index)}] = {g.expr(stmt.value)}")


def _repeat(g: _Emitter, stmt: Repeat) -> None:
    g.fresh += 1
    index = f"i{g.fresh}"
    g.line(f"for {index} in range({g.expr(stmt.count)}):")
    outer = dict(g.names)
    g.names[id(stmt.index)] = index
    g.nested(stmt.body)
    g.names = outer


STATEMENT_RULES: Final[dict[type, Callable[[_Emitter, Any], None]]] = {
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

check_complete("numpy", RULES)
check_statement_rules("numpy", STATEMENT_RULES)
