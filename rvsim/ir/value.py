"""Values that instruction bodies compute with, and the graph that they are nodes of.

A node has sign-free operators, and the graph makes each node once (hash-consing).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from rvsim.ir.prims import PRIMS, Attrs
from rvsim.ir.types import Type, bits


class Value:
    """One node of the graph: a primitive applied to values.

    Operators exist where sign does not matter.  Everything else says its sign by name
    (`rvsim.ir.ops`); a Python operator that would have to guess raises and names the call.
    """

    __slots__ = ("args", "attrs", "graph", "prim", "type")

    def __init__(
        self, graph: Graph, prim: str, args: tuple[Value, ...], attrs: Attrs, type_: Any
    ) -> None:
        self.graph = graph
        self.prim = prim
        self.args = args
        self.attrs = attrs
        self.type: Type = type_

    def __repr__(self) -> str:
        return f"<{self.prim} {self.type}>"

    @property
    def const(self) -> int | None:
        """The value if it is a constant, in every lane."""
        node = self.args[0] if self.prim == "splat" else self
        return node.attrs[0] if node.prim == "const" else None

    # Identity is what a dictionary of nodes wants; `==` builds a comparison.
    __hash__ = object.__hash__

    def __add__(self, other: Value | int) -> Value:
        return self.graph.apply("add", self, other)

    def __sub__(self, other: Value | int) -> Value:
        return self.graph.apply("sub", self, other)

    def __mul__(self, other: Value | int) -> Value:
        return self.graph.apply("mul", self, other)

    def __and__(self, other: Value | int) -> Value:
        return self.graph.apply("and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return self.graph.apply("or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return self.graph.apply("xor", self, other)

    def __radd__(self, other: int) -> Value:
        return self.graph.apply("add", other, self)

    def __rsub__(self, other: int) -> Value:
        return self.graph.apply("sub", other, self)

    __rmul__ = __mul__
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return self.graph.apply("not", self)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self.graph.apply("eq", self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self.graph.apply("ne", self, other)  # type: ignore[arg-type]

    def __lshift__(self, amount: Value | int) -> Value:
        return self.graph.apply("shl", self, amount)

    def __lt__(self, other: object) -> NoReturn:
        raise TypeError("'<' is ambiguous on bits: use lt_u(a, b) or lt_s(a, b)")

    __gt__ = __le__ = __ge__ = __lt__

    def __rshift__(self, other: object) -> NoReturn:
        raise TypeError("'>>' is ambiguous on bits: use shr_u(a, n) or shr_s(a, n)")

    def __floordiv__(self, other: object) -> NoReturn:
        raise TypeError("'//' is ambiguous on bits: use quot_u(a, b) or quot_s(a, b)")

    def __mod__(self, other: object) -> NoReturn:
        raise TypeError("'%' is ambiguous on bits: use rem_u(a, b) or rem_s(a, b)")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a traced value has no truth: use where(condition, a, b) or when(condition)"
        )


@dataclass(slots=True)
class Graph:
    """Makes nodes, each once, and simplifies elementwise ones."""

    _nodes: dict[tuple[Any, ...], Value] = field(default_factory=dict)

    def node(self, prim: str, args: tuple[Value, ...] = (), attrs: Attrs = ()) -> Value:
        """The one node for this primitive, arguments and attributes."""
        key = (prim, *map(id, args), attrs)
        found = self._nodes.get(key)
        if found is None:
            type_ = PRIMS[prim].typing(tuple(a.type for a in args), attrs)
            found = self._nodes[key] = Value(self, prim, args, attrs, type_)
        return found

    def const(self, value: int, type_: Type) -> Value:
        scalar = self.node("const", (), (value & type_.ones, bits(type_.width)))
        return scalar if type_.lanes is None else self.node("splat", (scalar,), (type_.lanes,))

    def lift(self, value: Value | int, like: Type) -> Value:
        """`value` as an operand beside one of type `like`: ints and scalars fill all lanes."""
        if not isinstance(value, Value):
            return self.const(value, like)
        if value.type.lanes is None and like.lanes is not None:
            return self.node("splat", (value,), (like.lanes,))
        return value

    def apply(self, prim: str, *operands: Value | int, attrs: Attrs = ()) -> Value:
        """An elementwise primitive on operands that are lifted to one shape and simplified."""
        values = [o for o in operands if isinstance(o, Value)]
        like = next((v.type for v in values if v.type.lanes is not None), values[0].type)
        args = tuple(self.lift(o, like) for o in operands)
        if like.lanes is not None and all(a.prim == "splat" for a in args):
            scalar = self.apply(prim, *(a.args[0] for a in args), attrs=attrs)
            return self.node("splat", (scalar,), (like.lanes,))
        simpler = _simplify(prim, args) if is_elementwise(prim) else None
        return simpler if simpler is not None else self.node(prim, args, attrs)


def is_elementwise(prim: str) -> bool:
    return PRIMS[prim].elementwise


def _simplify(prim: str, args: tuple[Value, ...]) -> Value | None:
    """The few identities that keep masks and constants out of generated code."""
    a, b = args[0], args[-1]
    ones = a.type.ones
    match prim, a.const, b.const:
        case ("add" | "or" | "xor" | "sub" | "shl" | "shr_u" | "shr_s", _, 0) if a is not b:
            return a
        case "add" | "or" | "xor", 0, _:
            return b
        case "and", _, c if c == ones:
            return a
        case "and", c, _ if c == ones:
            return b
        case (("and" | "mul"), 0, _):
            return a
        case (("and" | "mul"), _, 0):
            return b
        case "mul", _, 1:
            return a
        case "where", 1, _:
            return args[1]
        case "where", 0, _:
            return args[2]
        case "where", _, _ if args[1] is args[2]:
            return args[1]
    return None
