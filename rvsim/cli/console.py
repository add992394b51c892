"""Tables and notes for people; colours and lines only where a terminal shows them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDTH_WITHOUT_TERMINAL = 120


def note(text: str) -> None:
    """A line on stderr that is no error."""
    click.echo(f"rvsim: note: {text}", err=True)


def console(*, stderr: bool = False) -> Console:
    """A console that writes no escape sequences into files and pipes, or under NO_COLOR."""
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    terminal = file.isatty()
    options: dict[str, Any] = {} if terminal else {"width": _WIDTH_WITHOUT_TERMINAL}
    if not terminal or os.environ.get("NO_COLOR"):
        options |= {"color_system": None, "force_terminal": False}
    return Console(file=file, highlight=False, markup=False, emoji=False, **options)


def table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """A table without rules; the columns named in `right` hold numbers."""
    from rich.table import Table

    made = Table(box=None, title=title, title_justify="left", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=True)
    return made
