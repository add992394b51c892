"""What the rules of the back end "text" work on: lines of a formula while they grow.

`FormulaText` has no rules itself; `rvsim.ir.text.backend` puts the tables together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from rvsim.ir.program import Program, inputs
from rvsim.ir.statements import Field, Let, Statement, Store, operands
from rvsim.ir.value import Value

# How tightly an expression binds; an operand that binds less tightly is put in parentheses.
COMPARE, BITS, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(7)

Text = tuple[str, int]
"""An expression, and how tightly it binds."""

ValueRule = Callable[["FormulaText", Value], Text]
StatementRule = Callable[["FormulaText", Any], None]

ARRAYS: Final = frozenset({"read_array", "invoke"})
MEMORY: Final = frozenset({"load", "load_lanes", "store_lanes"}) | ARRAYS
"""Primitives that stay where their `Let` is."""

_INLINE_SIZE: Final = 3
"""A value used more than once is written out again up to so many nodes, and named beyond."""


class FormulaText:
    """The text of one program while it grows; `fields` as in `formula`."""

    value_rules: ClassVar[Mapping[str, ValueRule]]
    statement_rules: ClassVar[Mapping[type, StatementRule]]

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
        text = self.value_rules[value.prim](self, value)
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
            self.statement_rules[type(stmt)](self, stmt)

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
        if not isinstance(s, Let) or s.value.prim in MEMORY
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
