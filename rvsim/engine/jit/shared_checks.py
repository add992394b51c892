"""Scalar accesses of a block that one check covers: they share a base register and lie together.

Nothing in a region changes permissions, so what the first of several accesses finds allowed stays
so.  All of them are executed whenever the block is: what a condition guards, as the store of sc.w,
checks itself and vouches for no other.  Where the span of all is refused, the first one leaves the
region and the interpreter sees which it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rvsim.engine.jit.discover import Step
from rvsim.hart.memory import PAGE
from rvsim.hart.words import signed
from rvsim.ir.known import known
from rvsim.ir.statements import Let, Statement, Store, WriteX
from rvsim.ir.value import Value

COVERED: Final = (0, 0)
"""The check of an earlier access is enough."""

Check = tuple[int, int]
"""The first byte of the span to check, from the address of the access, and its length in bytes."""


@dataclass(slots=True)
class _SharedCheck:
    """Accesses by their step and offset, and the bytes from the lowest to the highest."""

    low: int
    high: int
    members: list[tuple[int, int]] = field(default_factory=list)

    def take(self, index: int, offset: int, nbytes: int) -> bool:
        """Add an access, unless the bytes would reach over more than two pages."""
        low, high = min(self.low, offset), max(self.high, offset + nbytes)
        if high - low > PAGE:
            return False
        self.low, self.high = low, high
        self.members.append((index, offset))
        return True


def checks(steps: Sequence[Step]) -> dict[int, Check]:
    """By number of a step with one scalar access: what it has to check."""
    open_checks: dict[tuple[int, str], _SharedCheck] = {}
    shared: list[_SharedCheck] = []
    for index, step in enumerate(steps):
        access = _access(step)
        if access is not None:
            base, offset, nbytes, kind = access
            check = open_checks.get((base, kind))
            if check is None or not check.take(index, offset, nbytes):
                check = open_checks[base, kind] = _SharedCheck(
                    offset, offset + nbytes, [(index, offset)]
                )
                shared.append(check)
        for register in _written(step):
            for kind in ("load", "store"):
                open_checks.pop((register, kind), None)
    found: dict[int, Check] = {}
    for check in shared:
        (first, offset), *others = check.members
        found[first] = (check.low - offset, check.high - check.low)
        found.update((index, COVERED) for index, _ in others)
    return found


def _written(step: Step) -> Iterator[int]:
    for stmt in step.program.statements():
        if isinstance(stmt, WriteX):
            yield step.register(stmt.field)


def _access(step: Step) -> tuple[int, int, int, str] | None:
    """(base register, offset, bytes, kind) of a step that always makes one scalar access."""
    loads = [v for v in step.program.values() if v.prim in ("load", "load_lanes", "store_lanes")]
    stores = [s for s in step.program.statements() if isinstance(s, Store)]
    if len(loads) + len(stores) != 1 or (loads and loads[0].prim != "load"):
        return None
    if not any(s is stores[0] if stores else _lets(s, loads[0]) for s in step.program.body):
        return None
    addr, width, kind = (
        (loads[0].args[0], loads[0].type.width, "load")
        if loads
        else (stores[0].addr, stores[0].value.type.width, "store")
    )
    place = _place(addr, step)
    return None if place is None else (*place, width // 8, kind)


def _lets(stmt: Statement, value: Value) -> bool:
    return isinstance(stmt, Let) and stmt.value is value


def _place(addr: Value, step: Step) -> tuple[int, int] | None:
    """(base register, signed offset) of an address, if it is their sum."""
    base, offset = addr, 0
    if addr.prim == "add":
        base, displacement = addr.args
        unsigned = known(displacement, step.fields)
        if unsigned is None:
            return None
        offset = signed(unsigned)
    if base.prim != "read_x":
        return None
    return step.register(base.attrs[0]), offset
