"""``rvsim report``: a page on what one or several programs spend their cycles on."""

from __future__ import annotations

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
@machine_options
@cycle_options
@guest_options
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], path: str, **others: Any) -> int:
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
        file.write_text(page(programs))
    return _FAILED if any(run.result.exit_code for run in runs) else 0


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
