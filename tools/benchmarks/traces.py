"""Traces: instructions a second from the run to the file, and how much memory a long one takes.

Rates are of processor time, and of the difference between a long run and a short one, so that
neither start-up nor compiling is part of them.  A run is a process of its own.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rvsim.errors import RvsimError
from rvsim.toolchain import build_kernel
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "Traces"

KERNEL: Final = "gemm_tile_s8"
SHORT, LONG = 200, 1000
"""Rounds of the kernel: 1.5 and 5.9 million instructions."""

BARS: Final = {"npy": 1.0e6, "kanata": 0.3e6, "chrome": 0.3e6}
FILES: Final = ("npy", "npy.zst", "parquet", "kanata", "kanata.zst", "chrome", "callgrind")

_CHILD: Final = """
import json, resource, sys, time
from rvsim.machine import Machine
from rvsim.trace.selection import Selection
from rvsim.trace.session import Traces, Wanted
elf, rounds, kind, path = sys.argv[1:]
traces = Traces([Wanted(kind, path)])
machine = Machine(cost="x60", observers=traces.observers())
machine.load(elf, argv=[elf, rounds])
start = time.process_time()
with traces:
    traces.open(machine, Selection())
    result = machine.run()
assert result.exit_code == 0, result.stdout
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([result.instret, time.process_time() - start, peak * 1024]))
"""


@dataclass(frozen=True)
class Traced(Result):
    """What happened between a short and a long run; `peak` is the memory of the long one."""

    name: str
    instructions: int
    seconds: float
    file_bytes: int
    peak: int

    @property
    def per_second(self) -> float:
        return self.instructions / self.seconds

    @property
    def bar(self) -> float | None:
        return BARS.get(self.name)

    def missed(self) -> str | None:
        if self.bar is None or self.per_second >= self.bar:
            return None
        return f"trace {self.name}: {self.per_second / 1e6:.2f} < {self.bar / 1e6:.1f} M/s"

    def derived(self) -> dict[str, Any]:
        return {"per_second": self.per_second, "bar": self.bar}

    def cells(self) -> list[str]:
        bar = "" if self.bar is None else f"{self.bar / 1e6:.1f}"
        rate, size = f"{self.per_second / 1e6:.2f}", f"{self.file_bytes / self.instructions:.1f}"
        return [self.name, rate, bar, size, f"{self.peak / 1e6:.0f}"]


def measure(options: Options) -> Iterator[Traced]:
    elf = build_kernel(KERNEL)
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            if options.wants(name):
                print(f"trace {name}", file=sys.stderr)
                yield _traced(name, elf, Path(folder) / f"trace.{name}", options.runs)


def _traced(name: str, elf: Path, path: Path, runs: int) -> Traced:
    kind = name.partition(".")[0]
    _run(elf, LONG, kind, path)  # what gets hot is compiled, and kept
    samples = []
    for _ in range(runs):
        short, short_bytes = _run(elf, SHORT, kind, path), path.stat().st_size
        long, long_bytes = _run(elf, LONG, kind, path), path.stat().st_size
        samples.append(long.seconds - short.seconds)
    return Traced(
        name,
        long.instructions - short.instructions,
        statistics.median(samples),
        long_bytes - short_bytes,
        long.peak,
    )


@dataclass(frozen=True)
class _Run:
    instructions: int
    seconds: float
    peak: int


def _run(elf: Path, rounds: int, kind: str, path: Path) -> _Run:
    command = [sys.executable, "-c", _CHILD, str(elf), str(rounds), kind, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RvsimError(f"a traced run of {elf.name} failed: {done.stderr[-500:]}")
    instructions, seconds, peak = (float(word) for word in done.stdout.strip("[]\n").split(","))
    return _Run(int(instructions), seconds, int(peak))


def table(measured: Sequence[Traced]) -> str:
    header = ["trace", "M insn/s", "bar", "bytes an instruction", "peak memory, MB"]
    about = f"`{KERNEL}`, every instruction, millions a second of processor time."
    return f"{about}\n\n{markdown(header, (m.cells() for m in measured))}"
