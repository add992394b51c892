"""``rvsim report``: a page on what one or several programs spend their cycles on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options
from rvsim.cli.execution import Guest, GuestCommand
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options
from rvsim.cli.options import source_option
from rvsim.errors import RvsimError

if TYPE_CHECKING:
    from rvsim.cli.cycle_output import Run
    from rvsim.page import ReportedProgram

_FAILED = 1
_LONG = 100_000
"""Instructions from which on a run with times takes long."""

_NOT_WRITTEN = 2


class NothingToReport(RvsimError):
    """No instruction of the regions ran."""

    exit_code = 1


@click.command(
    cls=GuestCommand,
    short_help="Write a page with the cycles, hot loops and roofline of executables.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="The page; - is stdout.",
)
@click.option(
    "--timeline",
    type=click.IntRange(0, 20),
    metavar="N",
    default=2,
    show_default=True,
    help="Run once more, and draw N iterations of the hottest loop in the pipeline; 0 draws none.",
)
@machine_options
@cycle_options
@source_option
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    path: str,
    timeline: int,
    source_dirs: tuple[str, ...],
    **others: Any,
) -> int:  # fmt: skip
    """Run RISC-V executables, or bundled kernels, and write a page on their cycles.

    The page is complete: it needs no network.  It shows several programs side by side.  Only the
    output of programs that fail is shown; then the exit code is 1.  The command also prints what
    compare prints, even if it cannot write the page.
    """
    from rvsim.cli.cycle_output import measured
    from rvsim.cli.output import WholeFile

    guest = Guest.take(ctx, others)
    options = CycleOptions(**others, cpu=guest.cpu)
    with ExitStack() as stack:
        file: WholeFile | None = None
        try:
            file = stack.enter_context(WholeFile(path))
        except RvsimError as error:
            click.echo(f"rvsim: {error}", err=True)
        runs = [_checked(name, measured(name, guest, options, quiet=True)) for name in files]
        try:
            if file is None:
                return _NOT_WRITTEN
            file.write_text(_page(files, runs, guest, options, timeline, source_dirs))
        finally:
            _show_result(files, runs, to_stderr=path == "-")
    return _FAILED if any(run.result.exit_code for run in runs) else 0


def _show_result(files: Sequence[str], runs: Sequence[Run], *, to_stderr: bool) -> None:
    from rvsim.cli.cycle_output import labels
    from rvsim.cli.cycle_tables import show_comparison
    from rvsim.perf import compare

    profiles = [run.profile for run in runs]
    with redirect_stdout(sys.stderr) if to_stderr else nullcontext():
        show_comparison(labels(files), profiles, compare(profiles))


def _page(
    files: Sequence[str],
    runs: Sequence[Run],
    guest: Guest,
    options: CycleOptions,
    timeline: int,
    source_dirs: Sequence[str],
) -> str:
    from rvsim.cli.cycle_output import labels
    from rvsim.page import page

    programs = [
        _program(name, run, source_dirs) for name, run in zip(labels(files), runs, strict=True)
    ]
    if not timeline:
        return page(programs, "No picture was asked for: --timeline 2 draws two iterations.")
    programs = [
        program
        if run.result.exit_code
        else _with_iterations(program, run, file, guest, options, timeline)
        for program, run, file in zip(programs, runs, files, strict=True)
    ]
    if any(run.result.exit_code for run in runs):
        return page(programs, "A program that fails or is stopped has no picture.")
    return page(programs, "No picture: no innermost loop was executed.")


def _program(name: str, run: Run, source_dirs: Sequence[str]) -> ReportedProgram:
    from rvsim.page import ReportedProgram
    from rvsim.perf.sources import Sources

    vlen = run.result.machine.config.vlen
    return ReportedProgram(name, run.whole, run.profile, vlen, Sources.of(run.whole, source_dirs))


def _with_iterations(
    program: ReportedProgram, run: Run, file: str, guest: Guest, options: CycleOptions, wanted: int
) -> ReportedProgram:
    """The program with iterations of its hottest loop, if it has one, from a separate run.

    A long run is searched from its middle on, where most programs are in the loop, and if that
    fails from the beginning.
    """
    from rvsim.cli.steady_run import steady_run
    from rvsim.page import hottest_innermost
    from rvsim.perf import Region
    from rvsim.trace.session import NothingTraced
    from rvsim.trace.steady import steady_iterations

    loop = hottest_innermost(program)
    if loop is None:
        return program
    where = Region(f"{loop.start:x}-{loop.end:x}", loop.start, loop.end)
    middle = run.result.instret // 2
    for start in (middle, 0) if middle >= _LONG else (0,):
        with suppress(NothingTraced):
            _, kept, _ = steady_run(file, guest, options, None, [where], start)
            return replace(program, iterations=steady_iterations(kept.steps, wanted))
    # Its input may be gone, such as that of a pipe.
    note(f"{program.name} did not come to its hottest loop again: no picture of it")
    return program


def _checked(name: str, run: Run) -> Run:
    """Return the run; prints how it failed.  Raises NothingToReport if no region ran."""
    code = run.result.exit_code
    if code:
        click.echo(run.result.stdout + run.result.stderr, err=True, nl=False)
        note(f"{name} ended with exit code {code}: its cycles may mean little")
    if not run.profile.instructions:
        where = " or ".join(region.name for region in run.profile.regions) or "the program"
        raise NothingToReport(f"nothing to report: no instruction of {where} executed in {name}")
    return run
