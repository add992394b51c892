"""Programs: ordered statements over a graph of values, and the walks over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rvsim.ir.float_operation import FloatOperation
from rvsim.ir.statements import REGISTER_WRITES, Statement, Write, operands, walk
from rvsim.ir.value import Value

FIELD_PRIMS: Final = frozenset({"param", "read_x", "read_f", "read_v", "read_mask"})
READS: Final = frozenset({"read", "read_x", "read_f", "read_v", "read_mask"})
"""Reads of registers and CSRs, which an instruction finds as they were before it."""


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The body of a `for`: carried parameters, their next values, and an optional way out."""

    index: Value
    carried: tuple[Value, ...]
    results: tuple[Value, ...]
    until: Value | None

    # A body is an attribute of a hash-consed node: two loops are the same node only if they have
    # the same body.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True, slots=True)
class NamedOperation:
    """What a `call` stands for: back ends that know the name may do better than its definition."""

    name: FloatOperation | str
    params: tuple[Value, ...]
    results: tuple[Value, ...]
    labels: tuple[str, ...]

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True, slots=True)
class Program:
    """What an instruction does: ordered statements over a graph of values."""

    body: tuple[Statement, ...]

    def statements(self) -> Iterator[Statement]:
        """Every statement, those inside `If` included, in order."""
        yield from walk(self.body)

    def values(self) -> Iterator[Value]:
        """Every value in use, operands before users, each once."""
        yield from postorder(v for stmt in self.statements() for v in operands(stmt))

    def params(self) -> tuple[str, ...]:
        """Names of the operand fields in use, sorted."""
        names = {v.attrs[0] for v in self.values() if v.prim in FIELD_PRIMS}
        names |= {s.field for s in self.statements() if isinstance(s, REGISTER_WRITES)}
        return tuple(sorted(n for n in names if isinstance(n, str)))

    def reads(self) -> frozenset[str]:
        """Names of the scalar state it reads."""
        return frozenset(v.attrs[0] for v in self.values() if v.prim == "read")

    def writes(self) -> frozenset[str]:
        """Names of the scalar state it writes."""
        return frozenset(s.name for s in self.statements() if isinstance(s, Write))

    def subprograms(self) -> tuple[Subprogram, ...]:
        """All that it invokes, what those invoke before them, each once."""
        found: dict[str, Subprogram] = {}
        for value in self.values():
            if value.prim == "invoke":
                inner: Subprogram = value.attrs[0]
                found.update({s.name: s for s in inner.program.subprograms()})
                found[inner.name] = inner
        return tuple(found.values())


@dataclass(frozen=True, slots=True, eq=False)
class Subprogram:
    """A program of its own that others invoke by a name no other has: what is seldom needed.

    Its parameters are words, which it sees as operand fields; it returns one word.
    """

    name: str
    params: tuple[str, ...]
    program: Program
    result: Value


def inputs(value: Value) -> tuple[Value, ...]:
    """The values a node depends on, a loop's body and an operation's definition included."""
    if value.prim == "call":
        return (*value.args, *value.attrs[0].results)
    if value.prim != "for":
        return value.args
    body: LoopBody = value.attrs[1]
    return (*value.args, *body.results, *((body.until,) if body.until is not None else ()))


def postorder(roots: Iterable[Value]) -> Iterator[Value]:
    """All that values depend on, and the values: operands before users, each once."""
    seen: set[int] = set()
    for root in roots:
        stack: list[tuple[Value, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(inputs(node)))
