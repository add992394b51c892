"""The memory that a program accesses, as values of the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Final, Literal

from rvsim.ir.program import Program
from rvsim.ir.statements import If, Let, Statement, Store, Write
from rvsim.ir.types import WORD, lanes
from rvsim.ir.value import Value

ADDR: Final = "access_addr"
BYTES: Final = "access_bytes"

_LANE_BITS: Final = 16
"""The width of a lane's number."""

Kind = Literal["read", "written"]


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory.

    `addr` is one address, or one address per lane.  `active` is the mask of lanes, None for a
    scalar.  `fault` is the lane at which a load of lanes stopped; the load itself computes it.
    """

    kind: Kind
    addr: Value
    active: Value | None
    element_bytes: int
    fault: Value | None = None

    def before_fault(self) -> Access:
        """The lanes before the fault only, for a program that continues after a fault."""
        if self.active is None or self.fault is None:
            return self
        graph, n = self.addr.graph, self.active.type.lanes or 0
        lane = graph.node("iota", (), (lanes(n, _LANE_BITS),))
        fault = graph.apply("trunc", self.fault, attrs=(_LANE_BITS,))
        return replace(self, active=self.active & graph.apply("lt_u", lane, fault))

    @property
    def nbytes(self) -> Value:
        """The number of bytes in the active lanes."""
        graph, active = self.addr.graph, self.active
        if active is None:
            return graph.const(self.element_bytes, WORD)
        full = active.const == 1
        count = (
            graph.const(active.type.lanes or 0, WORD) if full else graph.node("count", (active,))
        )
        return count * self.element_bytes

    @property
    def lowest(self) -> Value:
        """The lowest address of an active lane; any address if no lane is active."""
        graph, active = self.addr.graph, self.active
        if self.addr.type == WORD:
            if active is None or active.const == 1:
                return self.addr
            return self.addr + graph.node("first", (active,)) * self.element_bytes
        assert active is not None
        nowhere = graph.const(-1, lanes(active.type.lanes or 0, 64))
        chosen = graph.apply("where", active, self.addr, nowhere)
        return graph.node("reduce", (chosen,), ("min_u",))


def access_of(stmt: Statement) -> Access | None:
    """The access that a statement makes, or None."""
    match stmt:
        case Store(addr, value):
            return Access("written", addr, None, value.type.width // 8)
        case Let(Value(prim="load") as value):
            return Access("read", value.args[0], None, value.attrs[0] // 8)
        case Let(Value(prim="load_lanes") as value):
            fault = value.graph.node("proj", (value,), (1,))
            return Access("read", value.args[0], value.args[1], value.attrs[0] // 8, fault)
        case Let(Value(prim="store_lanes") as value):
            addr, values, active = value.args
            return Access("written", addr, active, values.type.width // 8)
    return None


@lru_cache(maxsize=8192)
def noting_access(program: Program) -> Program:
    """The program with additional writes that note its access in the state.

    The notes are the lowest address and the number of bytes: of the reads if the program reads,
    otherwise of the writes.  The number is 0 if every lane was masked off.
    """
    found = [access for stmt in program.statements() if (access := access_of(stmt)) is not None]
    if not found:
        return program
    kind: Kind = "read" if any(access.kind == "read" for access in found) else "written"
    nothing = Write(BYTES, found[0].addr.graph.const(0, WORD))
    shortens = "vl" in program.writes()  # a fault then shortens vl instead of trapping (V 7.7)
    return Program((nothing, *_noting(program.body, kind, shortens)))


def _noting(body: tuple[Statement, ...], kind: Kind, shortens: bool) -> Iterator[Statement]:
    """The statements, each access followed by its notes.

    The notes are computed at the access, before a later statement overwrites their registers.
    """
    noted: list[tuple[Value, Value]] = []
    for stmt in body:
        if isinstance(stmt, If):
            stmt = replace(stmt, body=tuple(_noting(stmt.body, kind, shortens)))
        yield stmt
        access = access_of(stmt)
        if access is not None and access.kind == kind:
            access = access.before_fault() if shortens else access
            noted.append((access.lowest, access.nbytes))
            yield from (Let(value) for value in noted[-1] if value.prim != "const")
    if noted:
        addrs, counts = zip(*noted, strict=True)
        yield Write(ADDR, reduce(lambda a, b: a.graph.apply("min_u", a, b), addrs))
        yield Write(BYTES, reduce(lambda a, b: a + b, counts))
