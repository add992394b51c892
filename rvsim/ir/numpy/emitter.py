"""What the rules of the back end "numpy" work on: Python source while it grows.

`Emitter` has no rules itself; `rvsim.ir.numpy.backend` puts the tables together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rvsim.hart.words import signed
from rvsim.ir.program import Program, inputs
from rvsim.ir.statements import Let, Statement, Store, WriteMask, WriteV, operands
from rvsim.ir.types import Type
from rvsim.ir.value import Value

ValueRule = Callable[["Emitter", Value], str]
"""``rule(emitter, value)`` gives an expression for the value."""

StatementRule = Callable[["Emitter", Any], None]


class Emitter:
    """The source of one function while it grows.

    `zero`, `events` and `host` are as in `rvsim.ir.numpy.backend.compile_python`; `results` are
    values that are used after the program.
    """

    value_rules: ClassVar[Mapping[str, ValueRule]]
    statement_rules: ClassVar[Mapping[type, StatementRule]]

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
        text = self.value_rules[value.prim](self, value)
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
        return f"np.full({value.type.lanes}, {self.expr(value)}, {dtype(value.type)})"

    def typed(self, value: Value) -> str:
        """As `expr`, but a splatted int carries its dtype."""
        text = self.expr(value)
        splat_of_int = value.prim == "splat" and value.const is None
        return f"{dtype(value.type)}({text})" if splat_of_int else text

    def constant(self, value: int, kind: str) -> str:
        """The name of a constant beside lanes of a dtype, which no other value has."""
        name = f"c_{kind}_{value:x}".replace("-", "minus_")
        self.made_once[name] = f"lane_const({value:#x}, {kind})"
        return name

    def signed(self, value: Value) -> str:
        """The operand as a signed number, or as lanes of a signed dtype."""
        width = value.type.width
        sign = 1 << (width - 1)
        if value.const is not None:
            number = signed(value.const, width)
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
            return str(amount) if not is_array(value) else self.constant(amount, f"{kind}{width}")
        if value.prim == "splat" or not is_array(value):
            return f"({self.expr(value)} & {limit})"
        text = f"({self.expr(value)} & {self.constant(limit, f'u{width}')})"
        return text if kind == "u" else f"{text}.view(i{width})"

    def wrap(self, value: Value, text: str) -> str:
        """Scalar arithmetic needs its result cut to the width; arrays wrap by themselves."""
        return text if value.type.lanes is not None else f"{text} & 0x{value.type.ones:x}"

    # -- statements

    def block(self, body: tuple[Statement, ...]) -> None:
        for stmt in body:
            self.statement_rules[type(stmt)](self, stmt)

    def nested(self, body: tuple[Statement, ...]) -> None:
        """A block whose names are not known after it."""
        outer = dict(self.names)
        self.indent += 1
        before = len(self.lines)
        self.block(body)
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.names = outer


def dtype(type_: Type) -> str:
    return "bool_" if type_.is_mask else f"u{type_.width}"


def is_array(value: Value) -> bool:
    return value.type.lanes is not None


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
