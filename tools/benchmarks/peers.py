"""The JIT beside QEMU user mode: the same programs, whole processes, one after the other.

A rate is of the difference between a run of many rounds and one of few, in instructions and in
user time, so that neither start-up nor compiling is part of it.
"""

from __future__ import annotations

import functools
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rvsim.errors import RvsimError
from rvsim.machine import Machine
from tools.benchmarks import process
from tools.benchmarks.programs import PROGRAMS, PerSecond, Program
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "The JIT and QEMU user mode"

OLDEST_QEMU: Final = 10

WARM: Final = 20_000_000
"""Instructions in the short run: whatever gets hot is compiled by then."""

WARM_SECONDS: Final = 8.0
"""Where instructions are slow, nothing is left to be compiled after this."""


@dataclass(frozen=True, slots=True)
class Simulator:
    """How to run a program for a number of rounds."""

    name: str
    command: Callable[[Path, int], list[str]]
    warm: int

    def run(self, elf: Path, rounds: int) -> process.Cost:
        return process.run(self.command(elf, rounds))

    def user(self, elf: Path, rounds: int) -> float:
        return self.run(elf, rounds).user


def rvsim(vlen: int) -> Simulator:
    prefix = [sys.executable, "-m", "rvsim", "run", "--engine", "jit", "--vlen", str(vlen)]
    return Simulator("rvsim", lambda elf, rounds: [*prefix, str(elf), "--", str(rounds)], WARM)


def qemu(vlen: int) -> Simulator:
    prefix = [find_qemu(), "-cpu", f"max,vlen={vlen}"]
    return Simulator("QEMU", lambda elf, rounds: [*prefix, str(elf), str(rounds)], 0)


@functools.cache
def qemu_version() -> str:
    """Such as ``10.0.13``; `RvsimError` where QEMU is missing or too old."""
    hint = "tools/install_qemu.sh installs it"
    path = shutil.which("qemu-riscv64")
    if path is None:
        raise RvsimError("qemu-riscv64 not found", hint=hint)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"version ((\d+)[.\d]*)", done.stdout)
    if found is None or int(found[2]) < OLDEST_QEMU:
        raise RvsimError(f"{path} is older than {OLDEST_QEMU}: {done.stdout[:40]!r}", hint=hint)
    return found[1]


def find_qemu() -> str:
    qemu_version()
    return shutil.which("qemu-riscv64") or ""


@dataclass(frozen=True)
class Rate:
    """What one simulator did between the short and the long run; `seconds` of user time.

    `start` is the user time of the short run, with compiling and start-up in it.
    """

    rounds: tuple[int, int]
    instructions: int
    start: float
    seconds: float

    @property
    def per_second(self) -> float:
        return self.instructions / self.seconds


@dataclass(frozen=True)
class Comparison(Result):
    """A program on rvsim and, where it can run it, on QEMU.

    `counted` instructions of the kind that the bar names are in each round.
    """

    title: str
    name: str
    vlen: int
    bar: float | PerSecond
    rvsim: Rate
    qemu: Rate | None
    counted: int

    @property
    def ratio(self) -> float | None:
        return self.rvsim.per_second / self.qemu.per_second if self.qemu else None

    @property
    def counted_per_second(self) -> float:
        few, many = self.rvsim.rounds
        return self.counted * (many - few) / self.rvsim.seconds

    def missed(self) -> str | None:
        if isinstance(self.bar, PerSecond):
            if self.counted_per_second < self.bar.count:
                return f"{self.title}: {self._achieved()} < {self._bar()}"
        elif self.ratio is not None and self.ratio < self.bar:
            return f"{self.title}: {self._achieved()} < {self._bar()} QEMU"
        return None

    def derived(self) -> dict[str, Any]:
        return {
            "rvsim_per_second": self.rvsim.per_second,
            "qemu_per_second": self.qemu.per_second if self.qemu else None,
            "ratio": self.ratio,
            "counted_per_second": self.counted_per_second if self.counted else None,
        }

    def cells(self) -> list[str]:
        peer = f"{self.qemu.per_second / 1e6:,.1f}" if self.qemu else "-"
        rate = f"{self.rvsim.per_second / 1e6:,.1f}"
        return [self.title, peer, rate, self._achieved(), self._bar()]

    def _achieved(self) -> str:
        if isinstance(self.bar, PerSecond):
            return f"{self.counted_per_second / 1e6:,.0f} M {self.bar.insn}/s"
        return f"{self.ratio:.2f}x"

    def _bar(self) -> str:
        if isinstance(self.bar, PerSecond):
            return f"{self.bar.count / 1e6:,.0f} M/s"
        return f"{self.bar:g}x"


def measure(options: Options) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            if options.wants(program.title, program.name):
                print(program.title, end=": ", file=sys.stderr, flush=True)
                compared = compare(program, program.build(Path(folder)), options)
                print(" | ".join(compared.cells()[1:]), file=sys.stderr)
                yield compared


def compare(program: Program, elf: Path, options: Options) -> Comparison:
    """Measure a program on both, taking turns, so that what disturbs one disturbs the other."""
    simulators = [rvsim(options.vlen)]
    if not isinstance(program.bar, PerSecond):
        simulators.append(qemu(options.vlen))
        require_same_output(simulators, elf)
    per_round, counted = one_round(elf, program.bar, options.vlen)
    rounds = [choose_rounds(s, elf, per_round, options.seconds) for s in simulators]
    samples: list[list[tuple[float, float]]] = [[] for _ in simulators]
    for _ in range(options.runs):
        for simulator, (few, many), mine in zip(simulators, rounds, samples, strict=True):
            mine.append((simulator.user(elf, few), simulator.user(elf, many)))
    rates = [_rate(elf, r, s, options.vlen) for r, s in zip(rounds, samples, strict=True)]
    return Comparison(
        program.title,
        program.name,
        options.vlen,
        program.bar,
        rates[0],
        rates[1] if len(rates) > 1 else None,
        counted,
    )


def choose_rounds(
    simulator: Simulator, elf: Path, per_round: int, seconds: float
) -> tuple[int, int]:
    """A short run, in which all gets warm, and one that takes about so many `seconds` longer."""
    few = 1
    while few * per_round < simulator.warm and simulator.user(elf, few) < WARM_SECONDS:
        few *= 8
    start = simulator.user(elf, few)
    many = 4 * few
    while (longer := settled(simulator, elf, many) - start) < seconds / 4:
        many *= 4
    return few, few + max(1, round((many - few) * seconds / longer))


def settled(simulator: Simulator, elf: Path, rounds: int) -> float:
    """User time of a run whose code another run has compiled and kept."""
    return min(simulator.user(elf, rounds) for _ in range(2))


def _rate(
    elf: Path, rounds: tuple[int, int], samples: Sequence[tuple[float, float]], vlen: int
) -> Rate:
    few, many = (instructions(elf, n, vlen) for n in rounds)
    start = statistics.median(short for short, _ in samples)
    seconds = statistics.median(long - short for short, long in samples)
    return Rate(rounds, many - few, start, seconds)


def instructions(elf: Path, rounds: int, vlen: int) -> int:
    """How many instructions a run executes: the JIT counts them as the reference does."""
    return _run(elf, rounds, vlen, "jit").state["instret"]


def one_round(elf: Path, bar: float | PerSecond, vlen: int) -> tuple[int, int]:
    """(instructions, those that the bar counts) of a round, by the reference engine."""
    runs = [_run(elf, rounds, vlen, "numpy") for rounds in (1, 2)]
    first, second = (m.state["instret"] for m in runs)
    if not isinstance(bar, PerSecond):
        return second - first, 0
    counted = [executions(m, bar.insn) for m in runs]
    return second - first, counted[1] - counted[0]


def executions(machine: Machine, mnemonic: str) -> int:
    return sum(
        count
        for decoded, _, count, _ in machine.interp.executions()
        if decoded.insn is not None and decoded.insn.name == mnemonic
    )


def _run(elf: Path, rounds: int, vlen: int, engine: str) -> Machine:
    machine = Machine(vlen=vlen, engine=engine)
    machine.load(elf, argv=[elf.name, str(rounds)])
    machine.run()
    return machine


def require_same_output(simulators: Sequence[Simulator], elf: Path) -> None:
    """Both print the same checksum, or the comparison of their speed means nothing."""
    outputs = {s.name: results(s.run(elf, 2).output) for s in simulators}
    if len(set(outputs.values())) > 1:
        raise RvsimError(f"{elf.name} prints different results: {outputs}")


def results(output: str) -> str:
    """What a program printed, without the times that kernels measure themselves."""
    lines = output.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("bench "))


def table(compared: Sequence[Comparison]) -> str:
    header = ["program", f"QEMU {qemu_version()}", "rvsim", "reached", "bar"]
    about = (
        f"Millions of guest instructions a second of user time at VLEN {compared[0].vlen},"
        " net of start-up and compiling."
    )
    return f"{about}\n\n{markdown(header, (c.cells() for c in compared))}"
