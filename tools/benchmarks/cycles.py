"""The JIT with the X60's cost model: the programs of the other table, counting cycles.

A rate is of the difference between a run of many rounds and one of few, so that neither start-up
nor compiling is part of it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rvsim.cost import load_core
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from tools.benchmarks.peers import one_round
from tools.benchmarks.programs import PROGRAMS, Program
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "The JIT, counting cycles"

WARM: Final = 4_000_000
"""Instructions in the short run: whatever gets hot is compiled by then."""

BARS: Final = {"gemm_tile_s8": 500e6, "gemm_f32_m4": 300e6}
SCALAR_BAR: Final = 100e6
_SCALAR: Final = frozenset({"sieve", "crc32", "matmul_int", "quicksort", "bytecode"})


@dataclass(frozen=True)
class Timed(Result):
    """What happened between the short and the long run: `seconds` are those of the processor."""

    title: str
    name: str
    instructions: int
    cycles: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.instructions / self.seconds

    @property
    def slowdown(self) -> float:
        """How much longer than an X60, at the clock of most boards."""
        return self.seconds * load_core("x60").clock.frequency / self.cycles

    @property
    def bar(self) -> float | None:
        return BARS.get(self.name, SCALAR_BAR if self.name in _SCALAR else None)

    def missed(self) -> str | None:
        if self.bar is None or self.per_second >= self.bar:
            return None
        return (
            f"{self.title}, with cycles: {self.per_second / 1e6:,.0f} < {self.bar / 1e6:,.0f} M/s"
        )

    def derived(self) -> dict[str, Any]:
        return {"per_second": self.per_second, "slowdown": self.slowdown, "bar": self.bar}

    def cells(self) -> list[str]:
        bar = "" if self.bar is None else f"{self.bar / 1e6:,.0f}"
        ipc = f"{self.instructions / self.cycles:.2f}"
        return [self.title, f"{self.per_second / 1e6:,.0f}", bar, ipc, f"{self.slowdown:,.1f}x"]


@dataclass(frozen=True)
class _Run:
    instructions: int
    cycles: int
    seconds: float


def measure(options: Options) -> Iterator[Timed]:
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            if options.wants(program.title, program.name):
                print(f"{program.title}, with cycles", file=sys.stderr)
                yield timed(program, program.build(Path(folder)), options)


def timed(program: Program, elf: Path, options: Options) -> Timed:
    per_round, _ = one_round(elf, program.bar, options.vlen)
    few = max(1, WARM // per_round)
    short = _run(elf, few, options.vlen)
    trial = _run(elf, 4 * few, options.vlen)
    seconds_per_round = max(trial.seconds - short.seconds, 1e-3) / (3 * few)
    many = few + max(3 * few, round(options.seconds / seconds_per_round))
    samples = [
        (_run(elf, few, options.vlen), _run(elf, many, options.vlen)) for _ in range(options.runs)
    ]
    first, second = samples[0]
    return Timed(
        program.title,
        program.name,
        second.instructions - first.instructions,
        second.cycles - first.cycles,
        statistics.median(long.seconds - short.seconds for short, long in samples),
    )


def _run(elf: Path, rounds: int, vlen: int) -> _Run:
    machine = Machine(vlen=vlen, cost="x60")
    machine.load(elf, argv=[elf.name, str(rounds)])
    start = time.process_time()
    result = machine.run()
    seconds = time.process_time() - start
    if result.exit_code != 0:
        raise RvsimError(f"{elf.name} ended with {result.exit_code}")
    return _Run(result.instret, result.cycle, seconds)


def table(measured: Sequence[Timed]) -> str:
    header = ["program", "M insn/s", "bar", "IPC of the model", "longer than on an X60"]
    about = "Millions of guest instructions a second of processor time, caches and stalls included."
    return f"{about}\n\n{markdown(header, (m.cells() for m in measured))}"
