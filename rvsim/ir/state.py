"""State, memory and control as instruction bodies see them, each a statement or a read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rvsim.ir.program import Subprogram
from rvsim.ir.statements import (
    Field,
    If,
    RaiseTrap,
    Repeat,
    Store,
    Write,
    WriteArray,
    WriteF,
    WriteMask,
    WriteV,
    WriteX,
)
from rvsim.ir.trace import Trace, current
from rvsim.ir.types import BOOL, WORD, bits
from rvsim.ir.types import lanes as lanes_type
from rvsim.ir.value import Value


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


@contextmanager
def when(cond: Value) -> Iterator[None]:
    """Statements inside run only where the one-bit `cond` is set."""
    if cond.type != BOOL:
        raise TypeError(f"when: a one-bit condition expected, got {cond.type}")
    trace = current()
    if cond.const == 1:
        yield
        return
    with trace.block() as body:
        yield
    if body and cond.const is None:
        trace.emit(If(cond, tuple(body)))


@contextmanager
def repeat(count: Value | int) -> Iterator[Value]:
    """Statements inside run `count` times; yields the index of the round."""
    trace = current()
    (index,) = trace.carried([WORD], first=-1)
    with trace.block() as body:
        yield index
    trace.emit(Repeat(trace.lift(count, WORD), index, tuple(body)))


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
    trace.emit(RaiseTrap(cause, trace.lift(tval, WORD), why))
