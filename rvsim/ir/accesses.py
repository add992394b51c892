"""The memory that a program accesses, as values of the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Final, Literal

from rvsim.ir.trace import If, Let, Program, Statement, Store, Write
from rvsim.ir.types import WORD, lanes
from rvsim.ir.value import Value

ADDR: Final = "access_addr"
BYTES: Final = "access_bytes"

Kind = Literal["read", "written"]


@dataclass(frozen=True, slots=True)
class Access:
    """One access: `active` lanes of it, None for a scalar, at an address or at lanes of addresses.

    Nothing that its values depend on is known only when it has been made.
    """

    kind: Kind
    addr: Value
    active: Value | None
    element_bytes: int

    @property
    def nbytes(self) -> Value:
        """The bytes of its active lanes."""
        trace, active = self.addr.trace, self.active
        if active is None:
            return trace.const(self.element_bytes, WORD)
        full = active.const == 1
        count = (
            trace.const(active.type.lanes or 0, WORD) if full else trace.node("count", (active,))
        )
        return count * self.element_bytes

    @property
    def lowest(self) -> Value:
        """The lowest address of an active lane; any if there is none."""
        trace, active = self.addr.trace, self.active
        if self.addr.type == WORD:
            if active is None or active.const == 1:
                return self.addr
            return self.addr + trace.node("first", (active,)) * self.element_bytes
        assert active is not None
        nowhere = trace.const(-1, lanes(active.type.lanes or 0, 64))
        chosen = trace.apply("where", active, self.addr, nowhere)
        return trace.node("reduce", (chosen,), ("min_u",))


def access_of(stmt: Statement) -> Access | None:
    """The access that a statement makes, if it makes one."""
    match stmt:
        case Store(addr, value):
            return Access("written", addr, None, value.type.width // 8)
        case Let(Value(prim="load") as value):
            return Access("read", value.args[0], None, value.attrs[0] // 8)
        case Let(Value(prim="load_lanes") as value):
            return Access("read", value.args[0], value.args[1], value.attrs[0] // 8)
        case Let(Value(prim="store_lanes") as value):
            addr, values, active = value.args
            return Access("written", addr, active, values.type.width // 8)
    return None


@lru_cache(maxsize=8192)
def noting_access(program: Program) -> Program:
    """The program, which also leaves in the state what it read, or if it did not, what it wrote.

    That is the lowest address, and the number of bytes, which is 0 if all of it was masked off.
    """
    found = [access for stmt in program.statements() if (access := access_of(stmt)) is not None]
    if not found:
        return program
    kind: Kind = "read" if any(access.kind == "read" for access in found) else "written"
    nothing = Write(BYTES, found[0].addr.trace.const(0, WORD))
    return Program((nothing, *_noting(program.body, kind)))


def _noting(body: tuple[Statement, ...], kind: Kind) -> Iterator[Statement]:
    """The values are made beside the access, before registers that they depend on are written."""
    noted: list[tuple[Value, Value]] = []
    for stmt in body:
        yield replace(stmt, body=tuple(_noting(stmt.body, kind))) if isinstance(stmt, If) else stmt
        access = access_of(stmt)
        if access is not None and access.kind == kind:
            noted.append((access.lowest, access.nbytes))
            yield from (Let(value) for value in noted[-1] if value.prim != "const")
    if noted:
        addrs, counts = zip(*noted, strict=True)
        yield Write(ADDR, reduce(lambda a, b: a.trace.apply("min_u", a, b), addrs))
        yield Write(BYTES, reduce(lambda a, b: a + b, counts))
