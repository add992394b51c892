"""Values that instruction bodies compute with: hash-consed nodes with sign-free operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from rvsim.ir.prims import PRIMS, Attrs
from rvsim.ir.types import Type

if TYPE_CHECKING:
    from rvsim.ir.trace import Trace

Operand = "Value | int"


class Value:
    """One node of the graph: a primitive applied to values.

    Operators exist where sign does not matter.  Everything else says its sign by name
    (`rvsim.ir.ops`); a Python operator that would have to guess raises and names the call.
    """

    __slots__ = ("args", "attrs", "prim", "trace", "type")

    def __init__(
        self, trace: Trace, prim: str, args: tuple[Value, ...], attrs: Attrs, type_: Any
    ) -> None:
        self.trace = trace
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
        return self.trace.apply("add", self, other)

    def __sub__(self, other: Value | int) -> Value:
        return self.trace.apply("sub", self, other)

    def __mul__(self, other: Value | int) -> Value:
        return self.trace.apply("mul", self, other)

    def __and__(self, other: Value | int) -> Value:
        return self.trace.apply("and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return self.trace.apply("or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return self.trace.apply("xor", self, other)

    def __radd__(self, other: int) -> Value:
        return self.trace.apply("add", other, self)

    def __rsub__(self, other: int) -> Value:
        return self.trace.apply("sub", other, self)

    __rmul__ = __mul__
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return self.trace.apply("not", self)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self.trace.apply("eq", self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self.trace.apply("ne", self, other)  # type: ignore[arg-type]

    def __lshift__(self, amount: Value | int) -> Value:
        return self.trace.apply("shl", self, amount)

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


def is_elementwise(prim: str) -> bool:
    return PRIMS[prim].elementwise
