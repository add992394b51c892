"""Tracing: an instruction body runs once on values and leaves a `Program` behind.

The body is plain Python that calls `rvsim.ir.ops` and `rvsim.ir.state`.  Pure values are
hash-consed nodes; statements are kept in order.  An instruction reads the state as it was before
the instruction, whatever the order in which its body mentions things: `Trace.finish` evaluates
what is still needed before the first write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rvsim.ir.float_operation import FloatOperation
from rvsim.ir.prims import PRIMS, Attrs
from rvsim.ir.program import READS, LoopBody, NamedOperation, Program, postorder
from rvsim.ir.statements import STATE_WRITES, If, Let, Repeat, Statement, operands, walk
from rvsim.ir.types import WORD, Type
from rvsim.ir.value import Graph, Value

_NO_LET: Final = frozenset({"const", "param", "load", "load_lanes", "store_lanes", "read_array",
                     "invoke"})  # fmt: skip
"""Values that need no `Let` before writes: constants, and what has a `Let` of its own."""


@dataclass(slots=True)
class Trace(Graph):
    """Collects one program; `with Trace() as t:` makes it the one that operations write to."""

    _blocks: list[list[Statement]] = field(default_factory=lambda: [[]])
    _calls: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    _scopes: int = 0

    def __enter__(self) -> Trace:
        _active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.pop()

    # -- statements

    def emit(self, stmt: Statement) -> None:
        self._blocks[-1].append(stmt)

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Statements inside go to the list that it yields, for one that holds a block."""
        self._blocks.append([])
        yield self._blocks[-1]
        self._blocks.pop()

    def memory(self, prim: str, args: tuple[Value, ...], attrs: Attrs = ()) -> Value:
        """A memory access: a node of its own each time, evaluated here."""
        type_ = PRIMS[prim].typing(tuple(a.type for a in args), attrs)
        value = Value(self, prim, args, attrs, type_)
        self.emit(Let(value))
        return value

    def carried(self, types: Sequence[Type], first: int = 0) -> tuple[Value, ...]:
        """New parameters of a loop or an operation, numbered from `first` on."""
        self._scopes += 1
        return tuple(
            self.node("carried", (), ((self._scopes, i), type_))
            for i, type_ in enumerate(types, first)
        )

    def for_(
        self,
        count: int,
        init: tuple[Value, ...],
        body: Callable[..., tuple[Value, ...]],
        until: Callable[..., Value] | None,
    ) -> tuple[Value, ...]:
        index, *carried = self.carried([WORD, *(v.type for v in init)], first=-1)
        results = body(index, *carried)
        if [r.type for r in results] != [v.type for v in init]:
            raise TypeError("for_: the body returns other types than it carries")
        loop_body = LoopBody(index, tuple(carried), results, until(*results) if until else None)
        loop = self.node("for", init, (count, loop_body))
        return tuple(self.node("proj", (loop,), (i,)) for i in range(len(init)))

    def call(
        self,
        name: FloatOperation | str,
        args: tuple[Value, ...],
        body: Callable[..., Mapping[str, Value]],
    ) -> dict[str, Value]:
        """The labelled results of a named operation, whose name tells it from any other body."""
        key = (name, *map(id, args))
        if key not in self._calls:
            params = self.carried([v.type for v in args])
            results = body(*params)
            operation = NamedOperation(name, params, tuple(results.values()), tuple(results))
            self._calls[key] = self.node("call", args, (operation,))
        node = self._calls[key]
        labels = node.attrs[0].labels
        return {label: self.node("proj", (node,), (i,)) for i, label in enumerate(labels)}

    def finish(self) -> Program:
        return Program(_reads_before_writes(tuple(self._blocks[0])))


def _is_write(stmt: Statement) -> bool:
    return isinstance(stmt, STATE_WRITES) or (
        isinstance(stmt, If | Repeat) and any(_is_write(s) for s in stmt.body)
    )


def _reads_before_writes(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Insert a `Let`, before the first write, for all that later statements take from state."""
    body = tuple(If(s.cond, _reads_before_writes(s.body)) if isinstance(s, If) else s for s in body)
    first = next((i for i, s in enumerate(body) if _is_write(s)), len(body))
    tail = body[first:]
    if not tail:
        return body
    lets = tuple(Let(v) for v in _needed_by(tail) if v.prim not in _NO_LET)
    return (*body[:first], *lets, *tail)


def _needed_by(tail: tuple[Statement, ...]) -> Iterable[Value]:
    """What statements need of the state before the first of them writes to it.

    That is the operands of the statements themselves, unless they wait for a memory read among
    them, and whatever state the statements after the first one read, at any depth.
    """
    late = {id(s.value) for s in tail if isinstance(s, Let)}
    needed: dict[int, Value] = {}
    for stmt in tail[1:] if isinstance(tail[0], If) or len(tail) == 1 else tail:
        for value in () if isinstance(stmt, Let) else operands(stmt):
            if not _depends_on(value, late):
                needed.setdefault(id(value), value)
    for node in postorder(v for stmt in walk(tail[1:]) for v in operands(stmt)):
        if node.prim in READS:
            needed.setdefault(id(node), node)
    return needed.values()


def _depends_on(value: Value, targets: set[int]) -> bool:
    return bool(targets) and any(id(node) in targets for node in postorder((value,)))


_active: list[Trace] = []


def current() -> Trace:
    """The trace that is being built; bodies run only inside one."""
    if not _active:
        raise RuntimeError("instruction bodies run only while they are traced")
    return _active[-1]
