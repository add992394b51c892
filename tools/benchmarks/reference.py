"""The reference engine: loops of one kind of instruction, and the bundled kernels."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.toolchain import build, build_kernel, find_kernel, kernel_names
from tools.benchmarks.loops import LOOPS, PROGRAM
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "The reference engine"

ENGINES: Final[dict[str, Callable[..., Machine]]] = {
    "numpy": partial(Machine, engine="numpy"),
    "softfloat": partial(Machine, engine="numpy", host_float=False),
}
"""How to make the machine of each engine; each is a column of the table."""

BARS: Final = {
    "numpy": {"scalar": 300_000, "vector": 50_000, "float": 30_000},
    "softfloat": {"float": 5_000},
}
"""Instructions a second that an engine has to reach at VLEN 256, by kind of workload."""

VECTOR_KINDS: Final = ("vector", "float")

WARM_UP: Final = 2_000
"""Instructions before the clock starts: those of a loop are decoded and generated then."""

FOREVER: Final = 1 << 40


@dataclass(frozen=True)
class Workload:
    """A guest program, and how much of it is measured; a kernel runs to its end."""

    name: str
    kind: str
    elf: Path
    args: tuple[str, ...] = ()
    endless: bool = False


def workloads(folder: Path, options: Options) -> Iterator[Workload]:
    """The loops, assembled into `folder`, and the bundled kernels."""
    kernels = (name for name in kernel_names() if find_kernel(name).variant is None)
    chosen = filter(options.wants, (*LOOPS, *kernels))
    for number, name in enumerate(chosen):
        if name not in LOOPS:
            yield Workload(name, "kernel", build_kernel(name))
            continue
        loop = LOOPS[name]
        source = folder / f"loop{number}.S"
        source.write_text(PROGRAM.format(setup=loop.setup, body=loop.body))
        yield Workload(name, loop.kind, build([source], source.with_suffix(".elf")), endless=True)


@dataclass(frozen=True)
class Measurement(Result):
    """The median run of a workload on an engine; `seconds` of processor time."""

    workload: str
    kind: str
    engine: str
    vlen: int
    runs: int
    seconds: float
    instructions: int
    vector_instructions: int

    @property
    def rate(self) -> float:
        """Instructions a second; for loops of vector code, vector instructions a second."""
        count = self.vector_instructions if self.kind in VECTOR_KINDS else self.instructions
        return count / self.seconds

    @property
    def bar(self) -> int | None:
        return BARS.get(self.engine, {}).get(self.kind) if self.vlen == 256 else None

    def missed(self) -> str | None:
        if self.bar is None or self.rate >= self.bar:
            return None
        return f"{self.workload} on {self.engine}: {self.rate:,.0f} < {self.bar:,} a second"

    def derived(self) -> dict[str, Any]:
        return {"rate": self.rate, "bar": self.bar}


def measure(options: Options) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads(Path(folder), options):
            for engine in ENGINES:
                print(f"{workload.name} on {engine}", file=sys.stderr)
                yield median_run(workload, engine, options)


def median_run(workload: Workload, engine: str, options: Options) -> Measurement:
    """Run a workload for about so many seconds each time, or a kernel to its end."""
    runs = [run_once(workload, engine, options) for _ in range(options.runs)]
    median = statistics.median_low(run.rate for run in runs)
    return next(run for run in runs if run.rate == median)


def run_once(workload: Workload, engine: str, options: Options) -> Measurement:
    machine = ENGINES[engine](vlen=options.vlen)
    machine.load(workload.elf, argv=[workload.name, *workload.args])
    warm_up = WARM_UP if workload.endless else 0
    machine.run(max_insns=warm_up)
    before, vector_before = machine.state["instret"], vector_count(machine)
    start = time.process_time()  # engines are one thread, and a busy host must not count
    result = machine.run(max_insns=FOREVER, timeout=options.seconds if workload.endless else None)
    seconds = time.process_time() - start
    if not workload.endless and result.exit_code != 0:
        raise RvsimError(f"{workload.name} ended with {result.exit_code}: {result.stdout[-200:]!r}")
    count, vector = result.instret - before, vector_count(machine) - vector_before
    return Measurement(
        workload.name, workload.kind, engine, options.vlen, options.runs, seconds, count, vector
    )


def vector_count(machine: Machine) -> int:
    return sum(
        count
        for decoded, _, count, _ in machine.interp.executions()
        if decoded.insn is not None and decoded.insn.unit.is_vector
    )


def table(measured: Sequence[Measurement]) -> str:
    """One row for each workload, one column for each engine, and their bars."""
    engines = list(dict.fromkeys(m.engine for m in measured))
    by_name: dict[str, dict[str, Measurement]] = {}
    for m in measured:
        by_name.setdefault(m.workload, {})[m.engine] = m
    about = f"Instructions a second at VLEN {measured[0].vlen}."
    header = ["workload", "counted", *engines, "bar"]
    rows = [_cells(name, row, engines) for name, row in by_name.items()]
    return f"{about}\n\n{markdown(header, rows, text_columns=2)}"


def _cells(name: str, row: dict[str, Measurement], engines: Sequence[str]) -> list[str]:
    counted = "vector" if next(iter(row.values())).kind in VECTOR_KINDS else "all"
    rates = [f"{row[engine].rate:,.0f}" for engine in engines]
    bars = [f"{m.bar:,}" for m in row.values() if m.bar is not None]
    return [name, counted, *rates, ", ".join(bars)]
