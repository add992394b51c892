"""Tracing: an instruction body runs once on values and leaves a `Program` behind.

The body is plain Python that calls `rvsim.ir.ops` and the statements below.  Pure values are
hash-consed nodes; statements are kept in order.  An instruction reads the state as it was before
the instruction, whatever the order in which its body mentions things: `Trace.finish` evaluates
what is still needed in front of the first write.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rvsim.ir.prims import PRIMS, Attrs
from rvsim.ir.types import BOOL, WORD, Type, bits
from rvsim.ir.types import lanes as lanes_type
from rvsim.ir.value import Value, is_elementwise

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
class Trap:
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
    Let | Store | Write | WriteX | WriteF | WriteV | WriteMask | WriteArray | Trap | If | Repeat
)
REGISTER_WRITES = (WriteX, WriteF, WriteV, WriteMask)
STATE_WRITES = (Write, *REGISTER_WRITES)


def operands(stmt: Statement) -> tuple[Value, ...]:
    """The values a statement uses directly."""
    match stmt:
        case Store(addr, value):
            return (addr, value)
        case Trap(_, tval, _):
            return (tval,)
        case WriteArray(_, index, value):
            return (index, value)
        case If(cond, _):
            return (cond,)
        case Repeat(count, _, _):
            return (count,)
        case _:
            return (stmt.value,)


@dataclass(frozen=True, slots=True)
class Region:
    """The body of a `for`: carried parameters, their next values, and an optional way out."""

    index: Value
    carried: tuple[Value, ...]
    results: tuple[Value, ...]
    until: Value | None

    # A region is an attribute of a hash-consed node: two loops are the same node only if they
    # are the same region.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclass(frozen=True, slots=True)
class Function:
    """What a `call` stands for: back ends that know the name may do better than its definition."""

    name: str
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
        yield from _walk(self.body)

    def values(self) -> Iterator[Value]:
        """Every value in use, operands before users, each once."""
        seen: set[int] = set()
        for stmt in self.statements():
            for value in operands(stmt):
                yield from _postorder(value, seen)

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


FIELD_PRIMS = frozenset({"param", "read_x", "read_f", "read_v", "read_mask"})
READS = frozenset({"read", "read_x", "read_f", "read_v", "read_mask"})
"""Reads of registers and CSRs, which an instruction finds as they were before it."""
_NO_LET = frozenset({"const", "param", "load", "load_lanes", "store_lanes", "read_array",
                     "invoke"})  # fmt: skip
"""Values that need no `Let` ahead of writes: constants, and what has a `Let` of its own."""


def _walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, If | Repeat):
            yield from _walk(stmt.body)


def inputs(value: Value) -> tuple[Value, ...]:
    """The values a node depends on, a loop's body and an operation's definition included."""
    if value.prim == "call":
        return (*value.args, *value.attrs[0].results)
    if value.prim != "for":
        return value.args
    region: Region = value.attrs[1]
    return (*value.args, *region.results, *((region.until,) if region.until is not None else ()))


def _postorder(value: Value, seen: set[int]) -> Iterator[Value]:
    stack: list[tuple[Value, bool]] = [(value, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(inputs(node)))


@dataclass(slots=True)
class Trace:
    """Collects one program; `with Trace() as t:` makes it the one that operations write to."""

    _nodes: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    _blocks: list[list[Statement]] = field(default_factory=lambda: [[]])
    _calls: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    _loops: int = 0

    def __enter__(self) -> Trace:
        _active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.pop()

    # -- values

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

    # -- statements

    def emit(self, stmt: Statement) -> None:
        self._blocks[-1].append(stmt)

    def memory(self, prim: str, args: tuple[Value, ...], attrs: Attrs = ()) -> Value:
        """A memory access: a node of its own each time, evaluated here."""
        type_ = PRIMS[prim].typing(tuple(a.type for a in args), attrs)
        value = Value(self, prim, args, attrs, type_)
        self.emit(Let(value))
        return value

    def for_(
        self,
        count: int,
        init: tuple[Value, ...],
        body: Callable[..., tuple[Value, ...]],
        until: Callable[..., Value] | None,
    ) -> tuple[Value, ...]:
        self._loops += 1
        index = self.node("carried", (), ((self._loops, -1), WORD))
        carried = tuple(
            self.node("carried", (), ((self._loops, i), v.type)) for i, v in enumerate(init)
        )
        results = body(index, *carried)
        if [r.type for r in results] != [v.type for v in init]:
            raise TypeError("for_: the body returns other types than it carries")
        region = Region(index, carried, results, until(*results) if until else None)
        loop = self.node("for", init, (count, region))
        return tuple(self.node("proj", (loop,), (i,)) for i in range(len(init)))

    def call(
        self,
        name: str,
        args: tuple[Value, ...],
        body: Callable[..., Mapping[str, Value]],
    ) -> dict[str, Value]:
        """The labelled results of a named operation, whose name tells it from any other body."""
        key = (name, *map(id, args))
        if key not in self._calls:
            self._loops += 1
            params = tuple(
                self.node("carried", (), ((self._loops, i), v.type)) for i, v in enumerate(args)
            )
            results = body(*params)
            function = Function(name, params, tuple(results.values()), tuple(results))
            self._calls[key] = self.node("call", args, (function,))
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
    """Insert a `Let`, ahead of the first write, for all that later statements take from state."""
    body = tuple(If(s.cond, _reads_before_writes(s.body)) if isinstance(s, If) else s for s in body)
    first = next((i for i, s in enumerate(body) if _is_write(s)), len(body))
    tail = body[first:]
    if not tail:
        return body
    # Operands of the tail itself, unless they wait for a memory read inside it; then whatever
    # state the statements behind its first one read, at any depth.
    late = {id(s.value) for s in tail if isinstance(s, Let)}
    needed: dict[int, Value] = {}
    for stmt in tail[1:] if isinstance(tail[0], If) or len(tail) == 1 else tail:
        for value in () if isinstance(stmt, Let) else operands(stmt):
            if not _depends_on(value, late):
                needed.setdefault(id(value), value)
    seen: set[int] = set()
    for stmt in _walk(tail[1:]):
        for value in operands(stmt):
            for node in _postorder(value, seen):
                if node.prim in READS:
                    needed.setdefault(id(node), node)
    lets = tuple(Let(v) for v in needed.values() if v.prim not in _NO_LET)
    return (*body[:first], *lets, *tail)


def _depends_on(value: Value, targets: set[int]) -> bool:
    return bool(targets) and any(id(node) in targets for node in _postorder(value, set()))


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


_active: list[Trace] = []


def current() -> Trace:
    """The trace that is being built; bodies run only inside one."""
    if not _active:
        raise RuntimeError("instruction bodies run only while they are traced")
    return _active[-1]


@contextlib.contextmanager
def when(cond: Value) -> Iterator[None]:
    """Statements inside run only where the one-bit `cond` is set."""
    if cond.type != BOOL:
        raise TypeError(f"when: a one-bit condition expected, got {cond.type}")
    trace = current()
    if cond.const == 0:
        trace._blocks.append([])
        yield
        trace._blocks.pop()
        return
    if cond.const == 1:
        yield
        return
    trace._blocks.append([])
    yield
    body = tuple(trace._blocks.pop())
    if body:
        trace.emit(If(cond, body))


# -- state and memory, as bodies see them


def param(name: str, width: int = 64) -> Value:
    """The value of an operand field: an immediate, a register number, the pc."""
    return current().node("param", (), (name, bits(width)))


def read(name: str, width: int = 64) -> Value:
    """A scalar of the state; its low `width` bits, the others being 0."""
    return current().node("read", (), (name, bits(width)))


def read_x(field: Field) -> Value:
    return current().node("read_x", (), (field, WORD))


def read_f(field: Field) -> Value:
    return current().node("read_f", (), (field, WORD))


def read_v(field: Field, n: int, width: int, reg_offset: int = 0) -> Value:
    """`n` lanes of `width` bits from the register `field` + `reg_offset` on."""
    return current().node("read_v", (), (field, reg_offset, lanes_type(n, width)))


def read_mask(field: Field, n: int) -> Value:
    return current().node("read_mask", (), (field, lanes_type(n, 1)))


def write(name: str, value: Value | int) -> None:
    trace = current()
    trace.emit(Write(name, trace.lift(value, WORD)))


def write_x(field: Field, value: Value) -> None:
    if value.type != WORD:
        raise TypeError(f"x registers hold bits[64], not {value.type}")
    current().emit(WriteX(field, value))


def write_f(field: Field, value: Value) -> None:
    if value.type != WORD:
        raise TypeError(f"f registers hold bits[64], not {value.type}")
    current().emit(WriteF(field, value))


def write_v(field: Field, value: Value, reg_offset: int = 0, byte_offset: int = 0) -> None:
    current().emit(WriteV(field, reg_offset, byte_offset, value))


def write_mask(field: Field, value: Value) -> None:
    if not value.type.is_mask or (value.type.lanes or 0) % 8:
        raise TypeError(f"write_mask: a mask of whole bytes expected, got {value.type}")
    current().emit(WriteMask(field, value))


def load(addr: Value, width: int) -> Value:
    """`width` bits at `addr`; traps when the access is not allowed."""
    return current().memory("load", (addr,), (width,))


def store(addr: Value, value: Value) -> None:
    current().emit(Store(addr, value))


def load_lanes(addr: Value, active: Value, width: int) -> tuple[Value, Value]:
    """Lanes at a base (consecutive) or at lanes of addresses; and the index of the first fault."""
    trace = current()
    both = trace.memory("load_lanes", (addr, active), (width,))
    return trace.node("proj", (both,), (0,)), trace.node("proj", (both,), (1,))


def store_lanes(addr: Value, value: Value, active: Value) -> Value:
    """Store active lanes in element order up to the first fault; its index is returned."""
    return current().memory("store_lanes", (addr, value, active))


def read_array(name: str, index: Value | int) -> Value:
    """Element `index` of a named array, as the statements before this left it."""
    trace = current()
    return trace.memory("read_array", (trace.lift(index, WORD),), (name,))


def write_array(name: str, index: Value | int, value: Value | int) -> None:
    trace = current()
    trace.emit(WriteArray(name, trace.lift(index, WORD), trace.lift(value, WORD)))


@contextlib.contextmanager
def repeat(count: Value | int) -> Iterator[Value]:
    """Statements inside run `count` times; yields the index of the round."""
    trace = current()
    trace._loops += 1
    index = trace.node("carried", (), ((trace._loops, -1), WORD))
    trace._blocks.append([])
    yield index
    body = tuple(trace._blocks.pop())
    trace.emit(Repeat(trace.lift(count, WORD), index, body))


def subprogram(name: str, params: str, body: Callable[..., Value | None]) -> Subprogram:
    """``body(*params)`` as a program that `invoke` runs; without a result it returns 0."""
    names = tuple(params.split())
    with Trace() as trace:
        result = body(*(trace.node("param", (), (p, WORD)) for p in names))
        result = trace.const(0, WORD) if result is None else result
    return Subprogram(name, names, trace.finish(), result)


def invoke(what: Subprogram, *args: Value | int, when: Value | None = None) -> Value:
    """The result of `what`, run here where the one-bit `when` is set, else 0."""
    trace = current()
    condition = trace.const(1, BOOL) if when is None else when
    words = tuple(trace.lift(a, WORD) for a in args)
    return trace.memory("invoke", (condition, *words), (what,))


def trap(cause: int, why: str, tval: Value | int = 0) -> None:
    trace = current()
    trace.emit(Trap(cause, trace.lift(tval, WORD), why))
