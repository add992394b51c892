"""``rvsim profile``: the functions and source lines with most cycles."""

from __future__ import annotations

from typing import Any

import click

from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options, json_option
from rvsim.cli.execution import Guest, GuestCommand
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options


@click.command(cls=GuestCommand, short_help="Show the hottest functions and lines, by cycles.")
@click.argument("file")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    metavar="N",
    help="Functions and lines to show.",
)
@machine_options
@cycle_options
@json_option
@guest_options
@click.pass_context
def command(ctx: click.Context, /, file: str, limit: int, json: str | None, **others: Any) -> int:
    """Run a RISC-V executable, and show which functions and source lines take its cycles.

    Cycles are charged to the instruction that waited.  The program's output goes to stderr.
    The exit code is that of rvsim run, or 1 if the core has no numbers for an instruction.
    """
    from rvsim.cli.cycle_output import measured, output
    from rvsim.cli.cycle_tables import show_parts
    from rvsim.perf.sources import Sources

    guest = Guest.take(ctx, others)
    with output(json) as write:
        run = measured(file, guest, CycleOptions(**others, cpu=guest.cpu))
        if json != "-":
            show_parts(run.profile, limit)
            for remark in Sources.of(run.profile, ()).remarks():
                note(remark)
        write(
            "profile",
            run.profile.as_json()
            | {
                "functions": [part.as_json() for part in run.profile.functions()],
                "lines": [part.as_json() for part in run.profile.lines()],
            },
        )
    return run.result.exit_code
