"""``rvsim compare``: several programs side by side, and which of them wins."""

from __future__ import annotations

from typing import Any

import click

from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options, json_option
from rvsim.cli.execution import Guest, GuestCommand
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options

_FAILED = 1


@click.command(cls=GuestCommand, short_help="Compare the cycles of several executables.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@machine_options
@cycle_options
@json_option
@guest_options
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], json: str | None, **others: Any) -> int:
    """Run RISC-V executables, or bundled kernels, and compare what they spend their cycles on.

    Only the output of programs that fail is shown; then the exit code is 1.
    """
    from rvsim.cli.cycle_output import labels, measured, output
    from rvsim.cli.cycle_tables import show_comparison
    from rvsim.perf import compare

    guest = Guest.take(ctx, others)
    options = CycleOptions(**others, cpu=guest.cpu)
    with output(json) as write:
        runs = [measured(file, guest, options, quiet=True) for file in files]
        failed = False
        for file, run in zip(files, runs, strict=True):
            if run.result.exit_code:
                failed = True
                click.echo(run.result.stdout + run.result.stderr, err=True, nl=False)
                code = run.result.exit_code
                note(f"{file} ended with exit code {code}: its cycles may mean little")
        profiles = [run.profile for run in runs]
        found = compare(profiles)
        if json != "-":
            show_comparison(labels(files), profiles, found)
        write(
            "compare",
            {
                "programs": [
                    {"file": file, "exit_code": run.result.exit_code} | run.profile.as_json()
                    for file, run in zip(files, runs, strict=True)
                ],
                "best": found.best,
                "differences": [difference.as_json() for difference in found.differences],
            },
        )
    return _FAILED if failed else 0
