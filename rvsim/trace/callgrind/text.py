"""A profile in version 1 of callgrind's format (Valgrind's manual, "Callgrind Format")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rvsim.cost.formula import CYCLE
from rvsim.printable import printable
from rvsim.trace.callgrind.calls import Edge
from rvsim.trace.callgrind.functions import FunctionName, Functions

_CYCLES, _INSNS = "Cycles", "Instructions"
_AGAIN: Final = "'2"

Costs = Sequence[int]
"""Instructions, then fixed-point cycles by reason; missing values are 0."""

Place = tuple[int, bool]
"""A pc, and whether its function was under way already."""


@dataclass(frozen=True, slots=True)
class CallgrindProfile:
    """The costs of a run: in all, by place, and by call as (edge, count, inclusive costs)."""

    name: str
    functions: Functions
    reasons: Sequence[str]
    total: Costs
    own: Mapping[Place, Costs]
    calls: Sequence[tuple[Edge, int, Costs]]


class ProfileText:
    """The lines of a profile."""

    def __init__(self, profile: CallgrindProfile) -> None:
        self._profile = profile
        self._functions = profile.functions
        self._order = sorted(profile.reasons)
        self._calls: defaultdict[Place, list[tuple[Edge, int, Costs]]] = defaultdict(list)
        for call in profile.calls:
            self._calls[call[0].site, call[0].site_again].append(call)
        self._object = self._file = ""

    def lines(self) -> Iterator[str]:
        """All lines of the file."""
        yield from self._header()
        for (number, again), pcs in self._blocks().items():
            yield ""
            yield from self._function(self._functions[number], again, pcs)
        yield ""
        yield f"totals: {self._values(self._profile.total)}"

    def _header(self) -> Iterator[str]:
        name = printable(self._profile.name)
        yield "# callgrind format"
        yield "version: 1"
        yield "creator: rvsim"
        yield f"cmd: {name}"
        yield "positions: instr line"
        yield from (f"event: {_event(reason)} : cycles of {reason}" for reason in self._order)
        yield f"events: {' '.join(map(_event, (_CYCLES, _INSNS, *self._order)))}"
        yield f"summary: {self._values(self._profile.total)}"

    def _blocks(self) -> dict[tuple[int, bool], list[int]]:
        """For each function, its places with costs or calls, sorted by pc."""
        places = {place for place, costs in self._profile.own.items() if any(costs)}
        blocks: dict[tuple[int, bool], list[int]] = {}
        for pc, again in sorted(places.union(self._calls)):
            blocks.setdefault((self._functions.number(pc), again), []).append(pc)
        return blocks

    def _function(self, function: FunctionName, again: bool, pcs: list[int]) -> Iterator[str]:
        """The costs of the places of a function, and of their calls.

        A function belongs to the file in which it begins, whatever was inlined into it.
        """
        if function.object != self._object:
            self._object = function.object
            yield f"ob={printable(function.object)}"
        self._file = function.file
        yield f"fl={printable(function.file)}"
        yield f"fn={_name(function, again)}"
        for pc in pcs:
            file, line = self._functions.line(pc) or (function.file, 0)
            if file != self._file:
                self._file = file
                yield f"{'fe' if file == function.file else 'fi'}={printable(file)}"
            position = f"{self._functions.address(pc):#x} {line}"
            yield f"{position} {self._values(self._profile.own.get((pc, again), ()))}"
            for edge, count, costs in self._calls.get((pc, again), ()):
                yield from self._called(edge, count)
                yield f"{position} {self._values(costs)}"

    def _called(self, edge: Edge, count: int) -> Iterator[str]:
        """The lines of a call; without an object or file of its own it has the caller's."""
        callee = self._functions[self._functions.number(edge.target)]
        if callee.object != self._object:
            yield f"cob={printable(callee.object)}"
        if callee.file != self._file:
            yield f"cfi={printable(callee.file)}"
        yield f"cfn={_name(callee, edge.target_again)}"
        _, line = self._functions.line(edge.target) or ("", 0)
        yield f"calls={count} {self._functions.address(edge.target):#x} {line}"

    def _values(self, costs: Costs) -> str:
        """The costs of a line, as integers."""
        insns, *cycles = costs or (0,)
        found = dict(zip(self._profile.reasons, cycles, strict=False))
        ordered = (sum(cycles), *(found.get(reason, 0) for reason in self._order))
        first, *others = (round(fixed_point / CYCLE) for fixed_point in ordered)
        return " ".join(map(str, (first, insns, *others)))


def _event(reason: str) -> str:
    return reason.replace(":", "_")


def _name(function: FunctionName, again: bool) -> str:
    return printable(function.name) + _AGAIN * again
