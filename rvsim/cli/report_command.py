"""``rvsim report``: a page on what one or several programs spend their cycles on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options
from rvsim.cli.execution import Guest, GuestCommand
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options
from rvsim.errors import RvsimError

if TYPE_CHECKING:
    from rvsim.cli.cycle_output import Run
    from rvsim.cli.page import Program

_FAILED = 1


class NothingToReport(RvsimError):
    """No instruction of the regions has run."""

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
    type=click.IntRange(1, 20),
    metavar="N",
    help="Run once more, slowly, and draw N iterations of the hottest loop in the pipeline.",
)
@machine_options
@cycle_options
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    path: str,
    timeline: int | None,
    **others: Any,
) -> int:  # fmt: skip
    """Run RISC-V executables, or bundled kernels, and write a page on their cycles.

    The page stands for itself: it needs no network, and no scripts.  Several programs stand side
    by side.  What they write is shown only of those that fail; then the exit code is 1.
    """
    from rvsim.cli.cycle_output import labels, measured
    from rvsim.cli.output import WholeFile
    from rvsim.cli.page import Program, page

    guest, options = Guest.take(ctx, others), CycleOptions(**others)
    with WholeFile(path) as file:
        runs = [_checked(name, measured(name, guest, options, quiet=True)) for name in files]
        programs = [
            Program(name, run.whole, run.profile, run.result.machine.config.vlen)
            for name, run in zip(labels(files), runs, strict=True)
        ]
        if timeline is not None:
            programs = [
                _with_iterations(program, file_of, guest, options, timeline)
                for program, file_of in zip(programs, files, strict=True)
            ]
        file.write_text(page(programs))
    return _FAILED if any(run.result.exit_code for run in runs) else 0


def _with_iterations(
    program: Program, file: str, guest: Guest, options: CycleOptions, wanted: int
) -> Program:
    """The program with iterations of its hottest loop, if it has one, from a run of their own."""
    from rvsim.cli.page import hottest_innermost
    from rvsim.cli.steady_run import steady_run
    from rvsim.perf import Region
    from rvsim.trace.steady import steady_iterations

    loop = hottest_innermost(program)
    if loop is None:
        return program
    where = Region(f"{loop.start:x}-{loop.end:x}", loop.start, loop.end)
    _, kept, _ = steady_run(file, guest, options, None, [where])
    return replace(program, iterations=steady_iterations(kept.steps, wanted))


def _checked(name: str, run: Run) -> Run:
    """The run; says how it failed, and refuses one without anything in the regions."""
    code = run.result.exit_code
    if code:
        click.echo(run.result.stdout + run.result.stderr, err=True, nl=False)
        note(f"{name} ended with exit code {code}: its cycles may mean little")
    if not run.profile.instructions:
        where = " or ".join(region.name for region in run.profile.regions) or "the program"
        raise NothingToReport(f"nothing to report: no instruction of {where} executed in {name}")
    return run
