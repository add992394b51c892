"""How long the JIT takes to compile a region, by its length and the kind of its instructions.

The interpreter has executed the loop before, as it has when code gets hot, so the instructions are
traced already.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from rvsim.engine.block import Mode
from rvsim.engine.jit.compile import object_code
from rvsim.engine.jit.discover import RegionPlan, discover
from rvsim.engine.jit.lower import lower_region
from rvsim.ir.llvm.build import new_module
from rvsim.machine import Machine
from rvsim.toolchain import build
from tools.benchmarks.regions import MIXES, Mix, source
from tools.benchmarks.report import Options, Result, markdown

TITLE: Final = "Compile time of the JIT"

LENGTHS: Final = (50, 200, 400)

T = TypeVar("T")


@dataclass(frozen=True)
class CompileTime(Result):
    """Medians, in seconds of processor time; `compiled` of `length` instructions were.

    An instruction counts once, however many blocks of the region it is in, and those that branches
    skip are not in it.
    """

    kind: str
    length: int
    compiled: int
    lower: float
    llvm: float
    object_bytes: int

    @property
    def per_insn(self) -> float:
        return (self.lower + self.llvm) / self.compiled if self.compiled else 0.0

    def derived(self) -> dict[str, Any]:
        return {"per_insn": self.per_insn}

    def cells(self) -> list[str]:
        total = self.lower + self.llvm
        milliseconds = [f"{1e3 * t:.0f}" for t in (self.lower, self.llvm, total)]
        per_insn = f"{1e3 * self.per_insn:.2f}"
        size = f"{self.object_bytes / 1024:.0f}"
        return [self.kind, f"{self.compiled} of {self.length}", *milliseconds, per_insn, size]


def measure(options: Options) -> Iterator[CompileTime]:
    with tempfile.TemporaryDirectory() as folder:
        for kind in MIXES:
            for length in LENGTHS:
                if options.wants(f"compile {kind} {length}"):
                    print(f"compiling {length} of {kind}", file=sys.stderr)
                    yield median_time(kind, length, options, Path(folder))


def median_time(kind: str, length: int, options: Options, folder: Path) -> CompileTime:
    machine = in_loop(MIXES[kind], length, options.vlen, folder)
    runs = [compile_once(machine, kind, length) for _ in range(options.runs)]
    return CompileTime(
        kind,
        length,
        runs[0].compiled,
        statistics.median(r.lower for r in runs),
        statistics.median(r.llvm for r in runs),
        runs[0].object_bytes,
    )


def in_loop(mix: Mix, length: int, vlen: int, folder: Path) -> Machine:
    """A machine that has been through the loop several times: a region is of what has run."""
    text = folder / "region.S"
    text.write_text(source(mix, length))
    machine = Machine(vlen=vlen, engine="numpy")
    machine.load(build([text], folder / "region.elf"))
    machine.run(max_insns=4 * length)
    return machine


def compile_once(machine: Machine, kind: str, length: int) -> CompileTime:
    pc, mode = loop_address(machine), Mode.of(machine.state)
    plan, discovering = _timed(lambda: discover(machine.interp, pc, mode))
    module, lowering = _timed(lambda: _lower(plan, machine))
    code, llvm = _timed(lambda: object_code(module))
    compiled = {step.decoded.pc for block in plan.blocks.values() for step in block.steps}
    return CompileTime(kind, length, len(compiled), discovering + lowering, llvm, len(code))


def loop_address(machine: Machine) -> int:
    loop = machine.image and machine.image.symbols.address("loop")
    assert loop
    return loop


def _lower(plan: RegionPlan, machine: Machine) -> Any:
    module = new_module("region")
    lower_region(module, "region", plan, machine.config, {})
    return module


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    done = work()
    return done, time.process_time() - start


def table(measured: Sequence[CompileTime]) -> str:
    header = ["region", "insns", "lower, ms", "LLVM, ms", "total, ms", "ms per insn", "object, KiB"]
    return markdown(header, (m.cells() for m in measured))
