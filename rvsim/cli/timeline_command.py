"""``rvsim timeline``: a few iterations of a loop in the pipeline, cycle by cycle."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from rvsim.cli.cycle_options import CycleOptions, cycle_options
from rvsim.cli.execution import Guest, GuestCommand, sink
from rvsim.cli.guest_options import guest_options
from rvsim.cli.machine_options import machine_options

if TYPE_CHECKING:
    from rvsim.machine import Machine
    from rvsim.trace.steady import Iterations

_WIDTH_WITHOUT_TERMINAL: Final = 120
_COLOURS: Final = {"I": "green", "=": "cyan", "-": "yellow"}
_WAIT_COLOUR: Final = "red"


@click.command(
    cls=GuestCommand, short_help="Show iterations of a loop in the pipeline, cycle by cycle."
)
@click.argument("file")
@click.option(
    "--iterations",
    type=click.IntRange(1, 100),
    metavar="N",
    default=2,
    show_default=True,
    help="How many iterations to show.",
)
@click.option(
    "--width",
    type=click.IntRange(min=60),
    metavar="N",
    help="Columns of the picture; by default those of the terminal.",
)
@machine_options
@cycle_options
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    iterations: int,
    width: int | None,
    **others: Any,
) -> int:  # fmt: skip
    """Run a RISC-V executable, and draw a few iterations of its hottest loop as they executed.

    A row is an instruction, a column a cycle; a letter says what an instruction waits for.  With
    --roi the loop is the hottest one there.  The program stops when the loop has run long enough
    to be steady.  The last line has the option of rvsim run --trace that selects the same
    instructions.  The program's output goes to stderr.
    """
    from rvsim.cli.steady_run import steady_run
    from rvsim.trace.steady import steady_iterations

    guest = Guest.take(ctx, others)
    options = CycleOptions(**others, cpu=guest.cpu)
    machine, kept, result = steady_run(file, guest, options, sink(sys.stderr))
    shown = steady_iterations(kept.steps, iterations)
    columns = width or shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 0)).columns
    _show(_text(machine, shown, columns))
    return 0 if result is None else result.exit_code


def _text(machine: Machine, shown: Iterations, width: int) -> Iterator[str]:
    """The lines to print, in colour; `click.echo` removes colours if the output has none."""
    from rvsim.trace.picture import Line, legend, lines, pages

    picture = lines(shown)
    yield _title(machine, shown)
    for page in pages(picture, width):
        yield ""
        for line in page:
            yield line.label + _coloured(line.cells) if isinstance(line, Line) else line
    yield ""
    for cell, meaning in legend(shown, picture):
        yield f"{_coloured(cell)}  {meaning}"
    first, last = (shown.steps[i][i].row.instret for i in (0, -1))
    yield ""
    yield f"the same in a trace, for Konata or Perfetto: --trace-window {first}:{last + 1}"


def _title(machine: Machine, shown: Iterations) -> str:
    where = machine.place(shown.head)
    if not shown.count:
        return f"no loop: the last {_instructions(shown)}, from {where}"
    first, last = shown.first + 1, shown.first + len(shown.steps)
    which = f"iteration {first}" if first == last else f"iterations {first} to {last}"
    cycles = f"{shown.cycles:.1f}".removesuffix(".0")
    return (
        f"loop at {where}: {which} of {shown.count:,} in a row,"
        f" {_instructions(shown)} and {cycles} cycles each"
    )


def _instructions(shown: Iterations) -> str:
    """The number of instructions in an iteration, as text."""
    fewest, most = (of(map(len, shown.steps)) for of in (min, max))
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{count} instruction{'s' if most > 1 else ''}"


def _coloured(cells: str) -> str:
    """Cells in colour, with one escape sequence for each run of equal cells."""
    return "".join(
        text if (text := "".join(group)).isspace() else _styled(kind, text)
        for kind, group in groupby(cells)
    )


def _styled(kind: str, text: str) -> str:
    return click.style(text, fg=_COLOURS.get(kind, _WAIT_COLOUR), bold=kind == "I")


def _show(text: Iterator[str]) -> None:
    """Print the lines; on a terminal use a pager if they fill more than a screen."""
    found = list(text)
    terminal = sys.stdout.isatty()
    colour = terminal and not os.environ.get("NO_COLOR")
    if terminal and len(found) >= shutil.get_terminal_size().lines:
        click.echo_via_pager("\n".join(found) + "\n", color=colour)
        return
    for line in found:
        click.echo(line, color=colour)
