"""``callgrind:FILE``: a profile with calls for KCachegrind and callgrind_annotate.

Costs are cycles, instructions, and cycles by the model's reasons, each an event of its own.  A wait
stands at the instruction that the model charges, as in ``--cycles``; what a call costs is what
passed until its return, so that a function's inclusive cost is that of all below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.formula import CYCLE
from rvsim.decode import Decoded
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.trace.calls import Calls
from rvsim.trace.charges import INSTRUCTIONS, Charger, Charges
from rvsim.trace.files import TraceFile
from rvsim.trace.sums import Numbers, Places, Sums

_CYCLES, _INSNS = "Cycles", "Instructions"
_LINK_REGISTERS: Final = (1, 5)


class CallgrindTrace:
    """Adds up what passes and writes it at the end: memory goes with the code, not the run."""

    def __init__(self, path: str, machine: Machine) -> None:
        assert machine.image is not None
        self._file = TraceFile(path)
        self._image = machine.image
        self._charger = Charger()
        self._own = Sums()
        """By the places of `_charger`."""
        self._calls = Calls()
        self._inclusive = Sums()
        """By the edges of `_calls`."""
        self._passed = np.zeros(1, np.int64)
        """All that has passed, by column."""
        self._is_jump = PerInstruction(lambda d: d.insn is not None and d.insn.unit is Unit.JUMP)
        self._last: Decoded | None = None
        """The last instruction of the batch before, if it was a jump."""

    def batch(self, batch: Batch) -> None:
        """Add up what these instructions cost."""
        if len(batch.rows):
            charges = self._charger.charges(batch)
            self._own.add(charges.place, charges.column, charges.amount)
            arrived = self._follow(batch)
            self._add_calls(self._passed_before(charges, arrived, len(batch.rows)))

    # -- calls

    def _follow(self, batch: Batch) -> Places:
        """Follow the jumps; the rows that came after one."""
        code, numbers = batch.code, batch.rows["code"]
        jumps = self._is_jump(batch)
        arrived = np.flatnonzero(jumps[:-1]) + 1
        came = [code[number] for number in numbers[arrived - 1].tolist()]
        if self._last is not None:
            arrived = np.concatenate(([0], arrived))
            came.insert(0, self._last)
        self._last = code[int(numbers[-1])] if jumps[-1] else None
        for moment, number in enumerate(numbers[arrived].tolist()):
            jump = came[moment]
            self._calls.arrive(moment, code[number].pc, jump.pc, _link(jump))
        return arrived

    def _passed_before(self, charges: Charges, arrived: Places, rows: int) -> Numbers:
        """All that had passed before each of the rows in `arrived`, which are in order."""
        stretch = np.zeros(rows, np.intp)
        stretch[arrived] = 1
        np.cumsum(stretch, out=stretch)
        width = 1 + len(self._charger.reasons)
        passed = np.zeros((len(arrived) + 1, width), np.int64)
        np.add.at(passed.reshape(-1), stretch[charges.row] * width + charges.column, charges.amount)
        passed[0, : len(self._passed)] += self._passed
        np.cumsum(passed, axis=0, out=passed)
        self._passed = passed[-1].copy()
        return passed[:-1]

    def _add_calls(self, before: Numbers) -> None:
        """Add what has passed at each beginning and end of a call, with its sign."""
        entries = self._calls.entries
        if entries:
            edge, moment, sign = np.array(entries, np.int64).T
            self._inclusive.add_rows(edge, before[moment] * sign[:, np.newaxis])
            entries.clear()

    # -- the file

    def close(self) -> None:
        self._calls.end(0)
        self._add_calls(self._passed[np.newaxis])
        self._file.write("\n".join(self._lines()).encode() + b"\n")
        self._file.close()

    def _lines(self) -> Iterator[str]:
        reasons = sorted(self._charger.reasons)
        yield "# callgrind format"
        yield "version: 1"
        yield "creator: rvsim"
        yield f"cmd: {self._image.name}"
        yield "positions: instr line"
        yield from (f"event: {_name(reason)} : cycles of {reason}" for reason in reasons)
        yield f"events: {' '.join(map(_name, (_CYCLES, _INSNS, *reasons)))}"
        yield f"summary: {self._values(self._passed.tolist())}"
        yield ""
        yield f"ob={self._image.name}"
        own = {pc: self._own.row(n) for pc, n in sorted(self._charger.places.items())}
        functions: dict[str, list[int]] = {}
        for pc, sums in own.items():
            if any(sums):
                functions.setdefault(self._name_at(pc), []).append(pc)
        homes = {name: self._line_at(pcs[0])[0] for name, pcs in functions.items()}
        calls: dict[int, list[int]] = {}
        for number, edge in enumerate(self._calls.edges):
            calls.setdefault(edge.site, []).append(number)
        for name, pcs in functions.items():
            yield from self._function(name, pcs, homes, own, calls)

    def _function(
        self,
        name: str,
        pcs: list[int],
        homes: Mapping[str, str],
        own: Mapping[int, list[int]],
        calls: Mapping[int, list[int]],
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
            yield f"{pc:#x} {line} {self._values(own[pc])}"
            for number in calls.get(pc, ()):
                target = self._calls.edges[number].target
                callee = self._name_at(target)
                yield f"cob={self._image.name}"
                yield f"cfi={homes[callee]}"
                yield f"cfn={callee}"
                yield f"calls={self._calls.counts[number]} {target:#x} {self._line_at(target)[1]}"
                yield f"{pc:#x} {line} {self._values(self._inclusive.row(number))}"
        yield ""

    def _values(self, sums: Sequence[int]) -> str:
        """The costs of a line, which the format has as whole numbers."""
        found = dict(zip(self._charger.reasons, sums[1:], strict=False))
        cycles = [sum(sums[1:]), *(found.get(name, 0) for name in sorted(self._charger.reasons))]
        whole = [round(fixed_point / CYCLE) for fixed_point in cycles]
        whole.insert(1, sums[INSTRUCTIONS])
        return " ".join(map(str, whole))

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
