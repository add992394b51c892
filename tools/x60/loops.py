"""Steady-state cycles of a loop on the cost model, without executing it.

A loop is assembled once; its instructions are accounted for over and over with the registers as
they are, until the cycles of an iteration repeat.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rvsim.cost import Core
from rvsim.cost.model import CostModel
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.guest.elf import load_elf
from rvsim.hart.memory import Memory, R, W
from rvsim.insn.registry import Context, static_fields
from rvsim.profiles import make_config
from rvsim.toolchain import build
from rvsim.vec.vtype import VType

MEMORY = 0x200_0000
"""Where loops may find 64 KB of their own."""

_LONGEST_PERIOD = 6
_MOST_ITERATIONS = 16


class Loops:
    """Assembled pieces of code by label, and a model to time them on: `reset` it before each."""

    def __init__(self, core: Core, pieces: Mapping[str, Iterable[str]]) -> None:
        self.config = make_config()
        self.memory = Memory(1 << 26)
        pieces = {**pieces, "load": ["lb zero, 0(a0)"]}
        self.cost = CostModel(core)
        self.state = self.cost.make_state(self.config.vlen)
        self.interp = Interpreter(self.config, self.state, self.memory, cost=self.cost)
        self.memory.map(MEMORY, 1 << 16, R | W)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "loops.S"
            source.write_text(_source(pieces))
            image = load_elf(build([source], Path(folder) / "loops.elf"), self.memory)
        self._at = {name: image.symbols.address(name) for name in pieces}
        ends = sorted(self._at.values())
        last = image.symbols.address("loops_end")
        self._end = dict(zip(ends, [*ends[1:], last], strict=True))

    def calls(self, label: str, vtype: str | None) -> list[Callable[[], None]]:
        """The accounts of a piece under a vtype, one an instruction."""
        mode = Mode(None if vtype is None else VType.parse(vtype), "vl")
        pc = self._at[label]
        end = self._end[pc]
        calls = []
        while pc < end:
            d = self.interp.decode_at(pc)
            assert d.insn is not None, f"{label}: {d.word:#x} is no instruction"
            statics = dict(static_fields(d.insn, d.fields))
            context = Context(d.insn, self.config, statics, mode.vtype, mode.elements)
            program = self.interp.binder.program(d.insn, d.fields, mode)
            call = self.cost.bind(context, d.fields, pc, program, self.interp._names)
            assert call is not None, f"{d.insn.name} has no timing class"
            calls.append(call)
            pc += d.length
        return calls

    def warm(self, span: range) -> None:
        """Bring memory into L1."""
        (load,) = self.calls("load", None)
        for address in span[:: self.config.vlenb]:
            self.state.x[10] = address
            load()

    def steady(self, iteration: list[Callable[[], None]]) -> float:
        """Cycles of an iteration once they repeat."""
        times = [self.cost.cycle]
        for _ in range(_MOST_ITERATIONS):
            for call in iteration:
                call()
            times.append(self.cost.cycle)
            for period in range(1, _LONGEST_PERIOD + 1):
                steps = [b - a for a, b in zip(times, times[period:])]  # noqa: B905
                if len(steps) > 2 * period + 2 and len(set(steps[-2 * period - 1 :])) == 1:
                    return steps[-1] / period
        half = _MOST_ITERATIONS // 2
        return (times[-1] - times[half]) / (len(times) - 1 - half)


def _source(pieces: Mapping[str, Iterable[str]]) -> str:
    lines = [".text", ".globl main", "main:", "ret"]
    for label, code in pieces.items():
        lines += [f".globl {label}", f"{label}:", *code]
    return "\n".join([*lines, ".globl loops_end", "loops_end:", "nop", ""])
