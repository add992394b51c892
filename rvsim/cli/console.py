"""Notes and tables for users; escape sequences only on a terminal."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

import click

from rvsim.printable import printable_lines

if TYPE_CHECKING:
    from rich.table import Table

_WIDTH_WITHOUT_TERMINAL: Final = 120


def note(text: str) -> None:
    """Print a note: a line on stderr that is no error."""
    click.echo(printable_lines(f"rvsim: note: {text}"), err=True)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without rules; the columns named in `right` hold numbers, the last one may wrap."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, column in enumerate(columns):
        side = "right" if column in right else "left"
        made.add_column(column, justify=side, no_wrap=i + 1 < len(columns))  # type: ignore[arg-type]
    return made


def width() -> int:
    """The number of columns of stdout."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL


def bold(text: str) -> str:
    """The text for stdout, in bold on a terminal without NO_COLOR."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        return click.style(text, bold=True)
    return text


def show(shown: Table, *, stderr: bool = False, apart: bool = False) -> None:
    """Print a table, with an empty line above it if `apart`.

    Files, pipes, and terminals with NO_COLOR get plain text.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if apart:
        click.echo(err=stderr)
    if stream.isatty() and not os.environ.get("NO_COLOR"):
        Console(file=stream, highlight=False, markup=False).print(shown)
        return
    columns = None if stream.isatty() else _WIDTH_WITHOUT_TERMINAL
    text = io.StringIO()
    Console(file=text, width=columns, color_system=None, highlight=False, markup=False).print(shown)
    for line in text.getvalue().splitlines():
        click.echo(line.rstrip(), err=stderr)
