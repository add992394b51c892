"""``callgrind:FILE``: a profile with calls for KCachegrind and callgrind_annotate.

Costs are cycles, instructions, and cycles by the model's reasons, each an event of its own.  A wait
stands at the instruction that the model charges, as in ``--cycles``; what a call costs is what
passed until its return, so that a function's inclusive cost is that of all below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rvsim.decode import Decoded
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.trace.files import TraceFile
from rvsim.trace.timing import Row

Costs = Counter[str]
_CYCLES, _INSNS = "Cycles", "Instructions"
_LINK_REGISTERS: Final = (1, 5)


@dataclass(slots=True)
class _Call:
    """One call under way: from where, to where, what returns, and the costs before it."""

    site: int
    target: int
    back: int
    before: Costs


@dataclass(slots=True)
class _Calls:
    """All calls from one place to one function."""

    count: int = 0
    costs: Costs = field(default_factory=Counter)


class CallgrindTrace:
    """Adds up what passes and writes it at the end: memory goes with the code, not the run."""

    def __init__(self, path: str, machine: Machine) -> None:
        assert machine.image is not None
        self._file = TraceFile(path)
        self._image = machine.image
        self._total: Costs = Counter()
        self._own: dict[int, Costs] = {}
        self._calls: dict[tuple[int, int], _Calls] = {}
        self._stack: list[_Call] = []
        self._jumped: tuple[int, int | None] | None = None
        """The last instruction if it was a jump, and where its link returns to."""

    def row(self, d: Decoded, row: Row) -> None:
        if self._jumped is not None:
            self._arrive(row.pc, *self._jumped)
        self._jumped = (d.pc, _link(d)) if d.insn is not None and d.insn.unit is Unit.JUMP else None
        self._add(row.pc, _INSNS, 0 if row.trapped else 1)
        for pc, reason, cycles in row.charges():
            self._add(pc, reason, cycles)
            self._add(pc, _CYCLES, cycles)

    def _add(self, pc: int, event: str, cost: float) -> None:
        own = self._own.setdefault(pc, Counter())
        own[event] += cost  # type: ignore[assignment]
        self._total[event] += cost  # type: ignore[assignment]

    # -- calls

    def _arrive(self, pc: int, site: int, back: int | None) -> None:
        """A jump from `site` has come to `pc`: a call, a return, or neither."""
        if back is not None:
            if pc != back:
                self._stack.append(_Call(site, pc, back, self._total.copy()))
            return
        depth = next((i for i, c in enumerate(reversed(self._stack), 1) if c.back == pc), 0)
        for _ in range(depth):
            self._return()

    def _return(self) -> None:
        call = self._stack.pop()
        calls = self._calls.setdefault((call.site, call.target), _Calls())
        calls.count += 1
        passed = self._total.copy()
        passed.subtract(call.before)
        calls.costs.update(passed)

    # -- the file

    def close(self) -> None:
        while self._stack:
            self._return()
        self._file.write("\n".join(self._lines()).encode() + b"\n")
        self._file.close()

    def _lines(self) -> Iterator[str]:
        reasons = sorted(set(self._total) - {_CYCLES, _INSNS})
        events = [_CYCLES, _INSNS, *reasons]
        yield "# callgrind format"
        yield "version: 1"
        yield "creator: rvsim"
        yield f"cmd: {self._image.name}"
        yield "positions: instr line"
        yield from (f"event: {_name(reason)} : cycles of {reason}" for reason in reasons)
        yield f"events: {' '.join(map(_name, events))}"
        yield f"summary: {_values(self._total, events)}"
        yield ""
        yield f"ob={self._image.name}"
        functions: dict[str, list[int]] = {}
        for pc in sorted(self._own):
            functions.setdefault(self._name_at(pc), []).append(pc)
        homes = {name: self._line_at(pcs[0])[0] for name, pcs in functions.items()}
        for name, pcs in functions.items():
            yield from self._function(name, pcs, homes, events)

    def _function(
        self, name: str, pcs: list[int], homes: Mapping[str, str], events: list[str]
    ) -> Iterator[str]:
        """The costs of the places of a function, and of what they call.

        A function has one file, that of its first place, whatever has been inlined.
        """
        home = file = homes[name]
        yield f"fl={home}"
        yield f"fn={name}"
        for pc in pcs:
            here, line = self._line_at(pc)
            if here != file:
                file = here
                yield f"{'fe' if here == home else 'fi'}={here}"
            yield f"{pc:#x} {line} {_values(self._own.get(pc, Counter()), events)}"
            for (site, target), calls in self._calls.items():
                if site == pc:
                    callee = self._name_at(target)
                    yield f"cob={self._image.name}"
                    yield f"cfi={homes[callee]}"
                    yield f"cfn={callee}"
                    yield f"calls={calls.count} {target:#x} {self._line_at(target)[1]}"
                    yield f"{pc:#x} {line} {_values(calls.costs, events)}"
        yield ""

    def _name_at(self, pc: int) -> str:
        symbol = self._image.symbols.lookup(pc)
        return symbol[0] if symbol is not None else "???"

    def _line_at(self, pc: int) -> tuple[str, int]:
        return self._image.lines.line(pc) or ("???", 0)


def _link(d: Decoded) -> int | None:
    """Where a call returns to; None for jumps that keep no return address."""
    assert d.insn is not None
    source = d.insn.source("rd")
    register = source if isinstance(source, int) else d.fields.get(source, 0)
    return d.pc + d.length if register in _LINK_REGISTERS else None


def _name(event: str) -> str:
    return event.replace(":", "_")


def _values(costs: Costs, events: list[str]) -> str:
    """The costs of a line, which the format has as whole numbers."""
    return " ".join(str(round(costs[event])) for event in events)
