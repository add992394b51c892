"""What can be told of a program before it is lowered strip by strip; nothing here knows of LLVM.

A *strip* is a run of lanes that fills a host vector or two.  A value is computed strip by strip
where lane i needs only lanes near i of its operands; other values become arrays first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from rvsim.ir.program import NamedOperation, Program, inputs
from rvsim.ir.statements import If, RaiseTrap, Statement, WriteMask, WriteV, operands
from rvsim.ir.types import Type
from rvsim.ir.value import Value, is_elementwise

WIDE_BITS: Final = 1 << 11
"""Registers and memory of more bits are not one LLVM vector: compile time grows with its size."""

WIDER: Final = 4
"""So many times as many bits are allowed for addresses and other lanes that are only computed."""

STRIP_BITS: Final = 512
"""The widest value of a strip: 64 bytes."""

_DATA: Final = frozenset({"read_v", "read_mask", "proj"})
_IDENTITY: Final = {"add": 0, "or": 0, "xor": 0, "max_u": 0, "and": -1, "min_u": -1}


@lru_cache(maxsize=4096)
def is_wide(program: Program) -> bool:
    """Whether a program is lowered strip by strip: data counts, lane numbers don't."""
    written = {id(s.value) for s in program.statements() if isinstance(s, WriteV | WriteMask)}
    for value in own_values(program):
        if not is_lanes(value) or value.prim in ("iota", "splat"):
            continue
        data = value.prim in _DATA or id(value) in written or _is_table(value)
        if value.type.total_bits > WIDE_BITS * (1 if data else WIDER):
            return True
    return False


def _is_table(value: Value) -> bool:
    """A constant that is seen as lanes, for looking up."""
    return value.prim == "bitcast" and not is_lanes(value.args[0])


@lru_cache(maxsize=4096)
def has_strips(program: Program) -> bool:
    """Whether every value of a wide program can be computed by strips.

    No loop carries lanes, operations on lanes are elementwise, and integers that are seen as lanes
    are constants.
    """
    for v in own_values(program):
        on_lanes = any(map(is_lanes, v.args))
        if v.prim == "for" and on_lanes:
            return False
        if v.prim == "call" and on_lanes and not _is_elementwise_operation(v.attrs[0]):
            return False
        if _is_table(v) and v.args[0].const is None:
            return False
    return True


def _is_elementwise_operation(function: NamedOperation) -> bool:
    if not all(map(is_lanes, function.results)):
        return False
    plain = ("const", "splat", "carried")
    return all(v.prim in plain or is_elementwise(v.prim) for v in _within(function.results))


def own_values(program: Program) -> Iterator[Value]:
    """Values in use, those of loops included, but not the definitions of named operations."""
    statements = program.statements()
    return _within([value for stmt in statements for value in operands(stmt)])


def _within(values: Iterable[Value]) -> Iterator[Value]:
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            stack += value.args if value.prim == "call" else inputs(value)


def is_lanes(value: Value) -> bool:
    return isinstance(value.type, Type) and value.type.lanes is not None


def lane_number(value: Value) -> int:
    """How many lanes a value has."""
    n = value.type.lanes
    assert n is not None
    return n


# -- masks


def is_prefix(mask: Value) -> bool:
    """Lanes below a scalar: ``lt_u(iota, splat(scalar))``, where no lane number wraps."""
    return (
        mask.prim == "lt_u"
        and mask.args[0].prim == "iota"
        and mask.args[1].prim == "splat"
        and lane_number(mask) <= 1 << mask.args[0].type.width
    )


def bound(mask: Value) -> tuple[Value, int] | None:
    """(limit, k) when no lane from limit*k on is set, as far as can be told."""
    if is_prefix(mask):
        return mask.args[1].args[0], 1
    if mask.prim == "and":
        return bound(mask.args[0]) or bound(mask.args[1])
    if mask.prim == "shuffle" and (k := repetition(mask.attrs[0])):
        inner = bound(mask.args[0])
        return None if inner is None else (inner[0], inner[1] * k)
    return None


def identity(operation: str, width: int) -> int:
    """What a lane may hold without a say in the fold."""
    if operation == "max_s":
        return 1 << (width - 1)
    if operation == "min_s":
        return (1 << (width - 1)) - 1
    return _IDENTITY[operation] & (1 << width) - 1


def harmless_from(call: Value) -> Value | None:
    """A limit from which on an operation has operands that were chosen to raise no flag.

    Shapes put a number that the operation is exact on into elements that are not active.
    """
    limits = _constant_from(call.args)
    return next(iter(limits.values())) if limits is not None and len(limits) == 1 else None


def _constant_from(values: Iterable[Value]) -> dict[int, Value] | None:
    """Limits, by id, from the last of which on all lanes are constants; None if there is none."""
    limits: dict[int, Value] = {}
    for value in values:
        match value.prim:
            case "splat":
                continue
            case "where" if is_lanes(value.args[0]) and value.args[2].const is not None:
                scalar, factor = bound(value.args[0]) or (None, 1)
                found = {id(scalar): scalar} if scalar is not None and factor == 1 else None
            case "proj" if value.args[0].prim == "call":
                found = _constant_from(value.args[0].args)
            case prim if is_lanes(value):
                found = _constant_from(value.args) if is_elementwise(prim) else None
            case _:
                continue
        if found is None:
            return None
        limits |= found
    return limits


# -- lanes that move


def progression(indices: Sequence[int]) -> tuple[int, int] | None:
    """(first, step) of rising indices at one distance.

    >>> progression((3, 5, 7)), progression((3, 5, 6))
    ((3, 2), None)
    """
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    if step < 1 or any(b - a != step for a, b in pairwise(indices)):
        return None
    return indices[0], step


def slide(take: Value) -> tuple[int, Value] | None:
    """(direction, offset) where lane i is looked up at i plus or minus one offset.

    The offset is known to be at most the number of lanes, so that no lane number wraps twice.
    """
    index, n = take.args[1], lane_number(take)
    if index.prim not in ("add", "sub") or index.args[0].prim != "iota":
        return None
    offset = index.args[1].args[0] if index.args[1].prim == "splat" else None
    fits = lane_number(take.args[0]) == n and 2 * n <= 1 << index.type.width
    if offset is None or not fits or not _at_most(offset, n):
        return None
    return 1 if index.prim == "add" else -1, offset


def _at_most(value: Value, n: int) -> bool:
    if value.prim == "trunc":
        return n <= value.type.ones and _at_most(value.args[0], n)
    known = [a.const for a in value.args] if value.prim == "min_u" else [value.const]
    return any(k is not None and k <= n for k in known)


def repetition(indices: Sequence[int]) -> int | None:
    """k > 1 where each index from 0 on comes k times.

    >>> repetition((0, 0, 1, 1)), repetition((0, 1))
    (2, None)
    """
    k = sum(i == 0 for i in indices)
    return k if k > 1 and all(i == at // k for at, i in enumerate(indices)) else None


# -- sizes


def strip_lanes(value: Value) -> int:
    """Lanes of a strip such that the widest value it takes fills `STRIP_BITS`, and none is left."""
    n = lane_number(value)
    widest = max(v.type.total_bits / n for v in _computed_with(value))
    whole = 1 << max(0, int(STRIP_BITS / widest)).bit_length() >> 1
    return max(1, min(whole, n & -n))


_ARRAYS: Final = frozenset({"take", "compress", "prefix_count", "concat", "proj"})


def _computed_with(value: Value) -> Iterator[Value]:
    """Lanes that exist beside each other when a strip of `value` is computed."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if id(node) in seen or not is_lanes(node) or (is_prefix(node) and node is not value):
            continue
        seen.add(id(node))
        yield node
        if node.prim not in _ARRAYS:
            stack += node.args


# -- statements


def leaves_region(stmt: Statement) -> bool:
    """Whether a trap is in it: then a region is left where its condition holds."""
    return isinstance(stmt, RaiseTrap) or (
        isinstance(stmt, If) and any(leaves_region(s) for s in stmt.body)
    )


def lowered(body: Sequence[Statement]) -> Iterator[Statement]:
    """Statements that code is made for, those inside `If` included."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, If) and not leaves_region(stmt) and known(stmt.cond) != 0:
            yield from lowered(stmt.body)


def used_by(body: Sequence[Statement]) -> Iterator[Value]:
    """The values that statements use in what is lowered of them."""
    for stmt in lowered(body):
        yield from operands(stmt)


def known(value: Value) -> int | None:
    """The value of a scalar that no state has a say in, in a region: no lane access faults there.

    Its accesses are checked ahead, so the index of the faulting lane is the number of lanes.
    """
    match value.prim:
        case "const":
            return int(value.attrs[0])
        case "store_lanes":
            return lane_number(value.args[1])
        case "proj" if value.args[0].prim == "load_lanes":
            return lane_number(value.args[0].args[1])
        case "eq" | "ne" | "not" | "and" | "min_u" | "quot_u" if value.type.lanes is None:
            numbers = [n for n in map(known, value.args) if n is not None]
            if len(numbers) == len(value.args):
                return _KNOWN[value.prim](*numbers) & value.type.ones
    return None


_KNOWN: Final[dict[str, Callable[..., int]]] = {
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "not": lambda a: ~a,
    "and": lambda a, b: a & b,
    "min_u": min,
    "quot_u": lambda a, b: a // b,
}
