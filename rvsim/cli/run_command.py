"""``rvsim run``: a program runs, its output passes through, its exit code is ours."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rvsim.cli import execution
from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options
from rvsim.cli.execution import Guest, GuestCommand, sink
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options
from rvsim.cli.options import trace_file

if TYPE_CHECKING:
    from rvsim.cli.output import JsonFile
    from rvsim.machine import Machine, RunResult
    from rvsim.perf import Profile
    from rvsim.trace.spike import SpikeLog


@dataclass(slots=True)
class Options:
    """What the command line asked for."""

    file: str
    guest: Guest
    cycles: CycleOptions | None
    stats: bool
    json: str | None
    trace: str | None
    strace: bool


@click.command(cls=GuestCommand, short_help="Run a RISC-V executable.")
@click.argument("file")
@machine_options
@click.option(
    "--stats",
    is_flag=True,
    help="Show what ran on stderr: classes, vector instructions, memory bytes.",
)
@click.option(
    "--cycles", is_flag=True, help="Count cycles, and show on stderr what they were spent on."
)
@cycle_options
@click.option(
    "--json",
    metavar="FILE",
    help="Write the result and the statistics as JSON; - is stdout, after the guest's.",
)
@click.option(
    "--trace", callback=trace_file, metavar="spike:FILE", help="Write Spike's commit log."
)
@click.option("--strace", is_flag=True, help="Show system calls on stderr.")
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    stats: bool,
    cycles: bool,
    json: str | None,
    trace: str | None,
    strace: bool,
    **others: Any,
) -> int:  # fmt: skip
    """Run a RISC-V executable, or a bundled kernel by its name.

    Options may stand before or after FILE; arguments for the program follow --.

    The exit code is the program's own, 128 + signal after a trap, 124 when a limit was reached,
    2 for bad usage or input, 125 for a fault of rvsim itself.
    """
    guest = Guest.take(ctx, others)
    counted = CycleOptions(**others)
    if not cycles:
        counted.refuse_without("--cycles")
    return run(Options(file, guest, counted if cycles else None, stats, json, trace, strace))


def run(options: Options) -> int:
    """Prepare all that may fail before the first instruction, run, and report."""
    from rvsim.cli.output import JsonFile

    machine, log = _make_machine(options)
    stdout, stderr = sink(sys.stdout), sink(sys.stderr)
    execution.load(machine, options.file, options.guest, stdout, stderr, options.strace)
    measure = options.cycles.on(machine) if options.cycles is not None else None
    with ExitStack() as closing:
        json_file = closing.enter_context(JsonFile(options.json)) if options.json else None
        if log is not None and options.trace is not None:
            log.open(machine, options.trace)
            closing.callback(log.close)
        result = execution.run(machine, options.guest)
        profile = measure()[1] if measure is not None else None
        if options.stats or json_file is not None:
            _write_counts(options, result, json_file, profile)
        if profile is not None:
            from rvsim.cli.cycle_tables import show_cycles

            show_cycles(profile)
    return result.exit_code


def _make_machine(options: Options) -> tuple[Machine, SpikeLog | None]:
    from rvsim.machine import Machine

    log = None
    hooks: dict[str, Any] = {}
    if options.trace is not None:
        from rvsim.trace.spike import SpikeLog

        log = SpikeLog()
        hooks = log.hooks()
    statistics = bool(options.stats or options.json or options.cycles)
    cost = options.cycles.load_core() if options.cycles is not None else None
    made = Machine(note=note, statistics=statistics, cost=cost, **hooks, **options.guest.machine)
    return made, log


def _write_counts(
    options: Options, result: RunResult, json_file: JsonFile | None, profile: Profile | None
) -> None:
    from rvsim.cli.output import run_as_json, show_counts
    from rvsim.trace.counters import counts

    counted = counts(result.machine)
    if options.stats:
        show_counts(counted)
    if json_file is not None:
        json_file.write(run_as_json(options.file, options.guest.args, result, counted, profile))
