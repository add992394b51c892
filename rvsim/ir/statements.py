"""Statements: what a program does in order, on values.

A back end has a rule for each kind (`check_statement_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from rvsim.ir.value import Value

Field = str | int
"""A register operand: the name of an encoding field, or a fixed register number."""


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """Evaluates `value` here: memory reads keep their order, state reads precede writes."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    addr: Value
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    name: str
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class WriteX:
    field: Field
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class WriteF:
    field: Field
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class WriteV:
    """Lanes into a register group, from byte `byte_offset` of register `field` + `reg_offset`."""

    field: Field
    reg_offset: int
    byte_offset: int
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class WriteMask:
    """A mask, a multiple of 8 lanes, into the low bits of a register."""

    field: Field
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class WriteArray:
    """An element of a named array; reads of arrays keep their place among these."""

    name: str
    index: Value
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class RaiseTrap:
    """Ends the instruction with a trap; what it wrote before stays written."""

    cause: int
    tval: Value
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class If:
    cond: Value
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """Runs its body for each index from 0 to `count` - 1; arrays carry what rounds share."""

    count: Value
    index: Value
    body: tuple[Statement, ...]


Statement = (
    Let
    | Store
    | Write
    | WriteX
    | WriteF
    | WriteV
    | WriteMask
    | WriteArray
    | RaiseTrap
    | If
    | Repeat
)
KINDS: Final[tuple[type, ...]] = get_args(Statement)
REGISTER_WRITES: Final = (WriteX, WriteF, WriteV, WriteMask)
STATE_WRITES: Final = (Write, *REGISTER_WRITES)


def operands(stmt: Statement) -> tuple[Value, ...]:
    """The values a statement uses directly."""
    match stmt:
        case Store(addr, value):
            return (addr, value)
        case RaiseTrap(_, tval, _):
            return (tval,)
        case WriteArray(_, index, value):
            return (index, value)
        case If(cond, _):
            return (cond,)
        case Repeat(count, _, _):
            return (count,)
        case _:
            return (stmt.value,)


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a body, those inside others included, in order."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, If | Repeat):
            yield from walk(stmt.body)


def check_statement_rules(backend: str, rules: Mapping[type, object]) -> None:
    """Raise ImportError when the rules of a back end are not for all kinds of statement."""
    if rules.keys() != set(KINDS):
        raise ImportError(f"back end {backend}: statement rules are not those of {__name__}")
