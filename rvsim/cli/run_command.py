"""``rvsim run``: runs a program, passes its output through, and ends with its exit code."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rvsim.cli import execution
from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options, note_unknown
from rvsim.cli.execution import Guest, GuestCommand, sink
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options
from rvsim.cli.progress import Progress
from rvsim.cli.trace_options import TraceOptions, trace_options

if TYPE_CHECKING:
    from rvsim.cli.output import JsonFile
    from rvsim.machine import Machine, RunResult
    from rvsim.perf import Profile
    from rvsim.trace.session import Traces


@dataclass(slots=True)
class Options:
    """The options of the command line."""

    file: str
    guest: Guest
    show_cycles: bool
    cycles: CycleOptions
    trace: TraceOptions
    stats: bool
    json: str | None
    strace: bool

    @property
    def outputs(self) -> list[str]:
        """The files to write."""
        traces = [path for _, path in self.trace.files]
        return [*traces, self.json] if self.json and self.json != "-" else traces


@click.command(cls=GuestCommand, short_help="Run a RISC-V executable.")
@click.argument("file")
@machine_options
@click.option(
    "--stats",
    is_flag=True,
    help="Show statistics on stderr: classes, vector instructions, memory bytes.",
)
@click.option(
    "--cycles", is_flag=True, help="Count cycles, and show on stderr what they were spent on."
)
@cycle_options
@click.option(
    "--json",
    metavar="FILE",
    help="Write the result and the statistics as JSON; - is stdout, after the guest's output.",
)
@trace_options
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
    trace: list[tuple[str, str]],
    trace_window: tuple[int, int | None] | None,
    strace: bool,
    **others: Any,
) -> int:  # fmt: skip
    """Run a RISC-V executable, or a bundled kernel by its name.

    Options may be before or after FILE; arguments for the program follow --.

    The exit code is the program's own, 128 + signal after a trap, 124 at a limit, 2 for bad usage
    or input, or 125 for a fault of rvsim itself; with --cycles it is 1 if the core has no numbers
    for an instruction.
    """
    guest = Guest.take(ctx, others)
    counted = CycleOptions(**others, cpu=guest.cpu)
    if trace_window is not None and not trace:
        raise click.UsageError("--trace-window needs --trace")
    if not cycles and not trace:
        counted.refuse_without("--cycles or --trace")
    traced = TraceOptions(trace, trace_window, counted.roi)
    return run(Options(file, guest, cycles, counted, traced, stats, json, strace))


def run(options: Options) -> int:
    """Prepare everything that may fail, then run and report; returns the exit code."""
    from rvsim.cli.output import JsonFile, keep_apart

    keep_apart(options.file, options.outputs)
    traces = options.trace.make() if options.trace.files else None
    # The instructions in a window are no share of the run.
    progress = Progress(sys.stderr, None if options.trace.window else options.guest.max_insns)
    machine = _make_machine(options, traces, progress)
    stdout = progress.behind(sink(sys.stdout), on_terminal=sys.stdout.isatty())
    stderr = progress.behind(sink(sys.stderr))
    strace = progress.behind(_show_call) if options.strace else None
    execution.load(machine, options.file, options.guest, stdout, stderr, strace)
    measure = options.cycles.on(machine) if options.show_cycles else None
    with ExitStack() as closing:
        json_file = closing.enter_context(JsonFile(options.json)) if options.json else None
        if traces is not None:
            if sys.stderr.isatty():
                traces.show_progress(progress.add)
            options.trace.open(closing.enter_context(traces), machine)
        result = execution.run(machine, options.guest, progress.clear)
        profile = measure()[1] if measure is not None else None
        if profile is None:
            note_unknown(machine)
        if options.stats or json_file is not None:
            _write_counts(options, result, json_file, profile)
        if profile is not None:
            from rvsim.cli.cycle_tables import show_cycles

            show_cycles(profile)
    return result.exit_code


def _show_call(line: str) -> None:
    click.echo(line, err=True)


def _make_machine(options: Options, traces: Traces | None, progress: Progress) -> Machine:
    from rvsim.machine import Machine

    statistics = bool(options.stats or options.json or options.show_cycles)
    timed = options.show_cycles or (traces is not None and traces.need_cost)
    return Machine(
        options.guest.options,
        observers=traces.observers() if traces is not None else (),
        note=progress.behind(note),
        statistics=statistics,
        cost=options.cycles.loaded_core if timed else None,
    )


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
