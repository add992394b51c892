"""Run a program on both engines and print the first instruction after which they differ.

python tools/diverge.py FILE [-- ARGS]           FILE is an executable or the name of a kernel
python tools/diverge.py FILE --threshold 1       compile every block that has run once

Exit code 0 if both engines do the same, 1 if they differ, 2 for bad usage or input.  The program
runs with an empty standard input, and sees no files.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rvsim.engine.jit.engine import Jit
from rvsim.errors import RvsimError
from rvsim.insn.disasm import disassemble
from rvsim.machine import Machine, RunResult
from rvsim.toolchain import build_kernel, kernel_names
from rvsim.vec.vtype import vtype_text
from tools.divergence import Diverged, Divergence, Watched, differences, locate

WINDOW: Final = 1 << 16
"""Instructions between comparisons of the whole state."""

LINES: Final = 12


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return Comparison(options).run()
    except RvsimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", metavar="FILE", help="executable, or the name of a kernel")
    parser.add_argument("args", nargs="*", metavar="ARGS", help="arguments of the program")
    parser.add_argument("--threshold", type=_positive, metavar="N",
                        help="runs of a block before it is compiled")  # fmt: skip
    parser.add_argument("--window", type=_positive, default=WINDOW, metavar="N",
                        help="instructions between comparisons (default: %(default)s)")  # fmt: skip
    parser.add_argument("--max-insns", type=_positive, metavar="N",
                        help="compare so many instructions")  # fmt: skip
    machine = parser.add_argument_group("the machine, as for rvsim run")
    for name in ("--cpu", "--isa", "--agnostic", "--initial", "--reduction-order"):
        machine.add_argument(name, default=argparse.SUPPRESS)
    machine.add_argument("--vlen", type=int, default=argparse.SUPPRESS, metavar="BITS")
    machine.add_argument("--vl-policy", choices=("max", "half"), default=argparse.SUPPRESS)
    machine.add_argument("--reserved", choices=("trap", "allow"), default=argparse.SUPPRESS)
    machine.add_argument("--syscall-vector", choices=("discard", "keep"), default=argparse.SUPPRESS)
    machine.add_argument("--no-host-float", dest="host_float", action="store_false",
                         default=argparse.SUPPRESS)  # fmt: skip
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


class Comparison:
    """One program on both engines, a window after the other."""

    def __init__(self, options: argparse.Namespace) -> None:
        given = vars(options).copy()
        self.file: str = given.pop("file")
        self.args: list[str] = given.pop("args")
        self.threshold: int | None = given.pop("threshold")
        self.window: int = given.pop("window")
        self.limit: int | None = given.pop("max_insns")
        self.machine_options: dict[str, Any] = given
        self.path = self._executable()

    def _executable(self) -> Path:
        if Path(self.file).exists() or self.file not in kernel_names():
            return Path(self.file)
        return build_kernel(self.file)

    def machine(self, engine: str) -> Machine:
        machine = Machine(engine=engine, cache=False, **self.machine_options)
        machine.load(self.path, argv=[self.file, *self.args], stdin=io.BytesIO())
        if isinstance(machine.interp.jit, Jit) and self.threshold is not None:
            machine.interp.jit.threshold = self.threshold
        return machine

    def run(self) -> int:
        reference, jit = self.machine("numpy"), self.machine("jit")
        done = 0
        while True:
            count = self._count(done)
            results = [machine.run(max_insns=count) for machine in (reference, jit)]
            found = [*_ends(*results), *differences(reference.interp, jit.interp)]
            if found:
                self._explain(done, found)
                return 1
            done += count
            if results[0].reason != "max_insns" or done == self.limit:
                print(f"equal: {results[0].reason} after {reference.state['instret']} instructions")
                return 0

    def _count(self, done: int) -> int:
        return self.window if self.limit is None else min(self.window, self.limit - done)

    def _explain(self, done: int, found: list[str]) -> None:
        """Repeat the run with watched native code, and tell what went wrong first."""
        machine = self.machine("jit")
        assert isinstance(machine.interp.jit, Jit)
        watched = Watched(machine.interp, machine.interp.jit.threshold, watching=False)
        machine.interp.jit = watched
        for start in range(0, done, self.window):
            machine.run(max_insns=min(self.window, done - start))
        watched.watching = True
        try:
            machine.run(max_insns=self._count(done))
        except Diverged as diverged:
            print(report(machine, locate(watched, diverged.stretch)))
            return
        print(f"the engines differ after {done} instructions, but native code did nothing wrong")
        for line in found[:LINES]:
            print(f"  {line}")


def _ends(reference: RunResult, jit: RunResult) -> list[str]:
    """How two runs end differently."""
    pairs = {
        name: (getattr(reference, name), getattr(jit, name))
        for name in ("reason", "exit_code", "trap", "instret", "stdout", "stderr")
    }
    return [f"{name}: numpy {a!r}, jit {b!r}" for name, (a, b) in pairs.items() if a != b]


def report(machine: Machine, found: Divergence) -> str:
    """What is wrong, where, in which state, and how to see it again."""
    span = f"{found.last}" if found.first == found.last else f"{found.first} to {found.last}"
    how = "" if found.alone else ", as part of a region only"
    at = found.before
    return "\n".join(
        [
            f"instruction {span} goes wrong in native code{how}:"
            f" {disassemble(found.insn)} at {machine.place(found.insn.pc)}",
            f"  vtype {vtype_text(at['vtype'])}  vl {at['vl']}  vstart {at['vstart']}"
            f"  frm {at['frm']}  vxrm {at['vxrm']}  mode {found.mode.elements}",
            *(f"  {line}" for line in found.differences[:LINES]),
            f"  reproduce: --max-insns {found.shown} on both engines;"
            f" --engine numpy --max-insns {found.last - 1} stops before the instruction",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
