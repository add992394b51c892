"""Whole processes: the first and the second run of a kernel, and the least that can be asked."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rvsim.toolchain import build_kernel
from tools.benchmarks import process
from tools.benchmarks.process import Cost
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "Whole processes"

KERNEL: Final = "gemm_tile_s8"

VERSION, FIRST, SECOND = "rvsim --version", f"{KERNEL}, first run", f"{KERNEL}, second run"

BAR_SECONDS: Final = {VERSION: 0.15, FIRST: 2.0, SECOND: 0.6}

BAR_BYTES: Final = 250_000_000


@dataclass(frozen=True)
class Whole(Result):
    """Medians of wall and processor seconds, and of the most memory that was in use."""

    title: str
    wall: float
    cpu: float
    peak_bytes: int

    def missed(self) -> str | None:
        if self.wall > BAR_SECONDS[self.title]:
            return f"{self.title}: {self.wall:.2f} s > {BAR_SECONDS[self.title]} s"
        if self.peak_bytes > BAR_BYTES:
            return f"{self.title}: {self.peak_bytes / 1e6:.0f} MB > {BAR_BYTES / 1e6:.0f} MB"
        return None

    def derived(self) -> dict[str, Any]:
        return {"bar_seconds": BAR_SECONDS[self.title], "bar_bytes": BAR_BYTES}

    def cells(self) -> list[str]:
        bars = [f"{BAR_SECONDS[self.title]:.2f}", f"{BAR_BYTES / 1e6:.0f}"]
        return [self.title, f"{self.wall:.2f}", f"{self.cpu:.2f}", bars[0], self._memory(), bars[1]]

    def _memory(self) -> str:
        return f"{self.peak_bytes / 1e6:.0f}"


def measure(options: Options) -> Iterator[Whole]:
    if options.wants(VERSION, FIRST, SECOND):
        print("whole processes", file=sys.stderr)
        runs = [run_all(build_kernel(KERNEL), options.vlen) for _ in range(options.runs)]
        for title in BAR_SECONDS:
            yield _median(title, [run[title] for run in runs])


def run_all(elf: Path, vlen: int) -> dict[str, Cost]:
    """Every command once; nothing that rvsim keeps is there at first but the kernel."""
    rvsim = [sys.executable, "-m", "rvsim"]
    kernel = [*rvsim, "run", "--engine", "jit", "--vlen", str(vlen), str(elf)]
    with tempfile.TemporaryDirectory() as folder:
        env: Mapping[str, str] = os.environ | {"RVSIM_CACHE_DIR": folder}
        return {
            VERSION: process.run([*rvsim, "--version"], env),
            FIRST: process.run(kernel, env),
            SECOND: process.run(kernel, env),
        }


def _median(title: str, costs: Sequence[Cost]) -> Whole:
    return Whole(
        title,
        statistics.median(c.wall for c in costs),
        statistics.median(c.user + c.system for c in costs),
        round(statistics.median(c.peak_bytes for c in costs)),
    )


def table(measured: Sequence[Whole]) -> str:
    header = ["process", "wall, s", "CPU, s", "bar for wall", "peak memory, MB", "bar"]
    return markdown(header, (m.cells() for m in measured))
