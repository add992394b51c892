"""Runs that count cycles, and their results as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rvsim.cli import execution
from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions
from rvsim.cli.execution import Guest, sink
from rvsim.cli.output import JsonFile
from rvsim.machine import Machine, RunResult
from rvsim.perf import Profile
from rvsim.printable import printable

SCHEMA: Final = 1

Write = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran: its profile as a whole (`whole`), and within the regions of interest."""

    result: RunResult
    whole: Profile
    profile: Profile


def measured(file: str, guest: Guest, options: CycleOptions, *, quiet: bool = False) -> Run:
    """Run a program and count cycles; its output goes to stderr, or to the result if `quiet`."""
    machine = Machine(guest.options, note=note, statistics=True, cost=options.loaded_core)
    to = None if quiet else sink(sys.stderr)
    execution.load(machine, file, guest, to, to)
    measure = options.on(machine)
    result = execution.run(machine, guest)
    whole, part = measure()
    return Run(result, whole, part)


@contextmanager
def output(json: str | None) -> Iterator[Write]:
    """A function that writes JSON to a file, opened before the run; without a file, a no-op."""
    if json is None:
        yield lambda command, content: None
        return
    with JsonFile(json) as file:
        yield lambda command, content: file.write({"schema": SCHEMA, "command": command} | content)


def labels(files: Sequence[str]) -> list[str]:
    """Short names of files; full names if short ones are not unique.

    >>> labels(["a/x.elf", "b/y.elf"]), labels(["a/x.elf", "b/x.elf"])
    (['x', 'y'], ['a/x.elf', 'b/x.elf'])
    """
    short = [Path(file).name.removesuffix(".elf") for file in files]
    return [printable(name) for name in (short if len(set(short)) == len(short) else files)]
