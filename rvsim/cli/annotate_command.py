"""``rvsim annotate``: a function's instructions with their cycles, and what bounds its loops."""

from __future__ import annotations

from typing import Any

import click

from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, cycle_options, json_option
from rvsim.cli.execution import Guest, GuestCommand
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options
from rvsim.cli.options import source_option


@click.command(
    cls=GuestCommand,
    short_help="Show the cycles of each instruction, and what bounds each loop.",
)
@click.argument("file")
@click.argument("function", required=False, metavar="[FUNCTION|ADDR-ADDR]")
@machine_options
@cycle_options
@json_option
@source_option
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    function: str | None,
    json: str | None,
    source_dirs: tuple[str, ...],
    **others: Any,
) -> int:  # fmt: skip
    """Run a RISC-V executable, and show a function with the cycles of each instruction.

    Without FUNCTION it is the function with most cycles.  Loops are marked at the left of the
    addresses.  After the code, each loop has a table: the cycles that an iteration takes, and those
    it would take if only the issue width, the vector unit, the load/store unit or the longest chain
    of dependences limited it.  The program's output goes to stderr; the exit code is that of rvsim
    run.
    """
    from rvsim.cli.annotation import annotation_json, annotation_lines, show_loops
    from rvsim.cli.cycle_output import measured, output
    from rvsim.perf import find_loops
    from rvsim.perf.sources import Sources

    guest = Guest.take(ctx, others)
    options = CycleOptions(**others, cpu=guest.cpu)
    if options.roi and function is not None:
        raise click.UsageError("name a FUNCTION or give --roi, not both")
    if function is not None:
        options = options.with_roi(function)
    with output(json) as write:
        run = measured(file, guest, options)
        part = run.profile if run.profile.regions else run.profile.hottest_function()
        loops = [x for x in find_loops(run.whole) if any(x.head in r for r in part.regions)]
        if json != "-":
            sources = Sources.of(part, source_dirs)
            for line in annotation_lines(part, run.whole, loops, sources):
                click.echo(line)
            show_loops(part, loops)
            for remark in sources.remarks():
                note(remark)
        write("annotate", annotation_json(part, loops))
    return run.result.exit_code
