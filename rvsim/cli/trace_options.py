"""Options of traces: their kinds and files, and the part of the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rvsim.errors import nearest
from rvsim.trace.kinds import KINDS

if TYPE_CHECKING:
    from rvsim.machine import Machine
    from rvsim.trace.selection import Window
    from rvsim.trace.session import Traces

_F = TypeVar("_F", bound=Callable[..., Any])


def trace_options(command: _F) -> _F:
    """Add the options of `TraceOptions`, except ``--roi``."""
    kinds = ", ".join(f"{name} ({kind.about})" for name, kind in KINDS.items())
    for option in (
        click.option(
            "--trace-window",
            callback=_window,
            metavar="FROM:TO",
            help="Trace only instructions FROM to TO - 1, counted from 0; FROM or TO may be left"
            " out.",
        ),
        click.option(
            "--trace",
            callback=_traces,
            multiple=True,
            metavar="KIND:FILE",
            help=f"Write a trace, compressed if FILE ends in .gz or .zst; may be repeated: {kinds}."
            " With --roi, trace only the instructions there.",
        ),
    ):
        command = option(command)
    return command


def _traces(
    ctx: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> list[tuple[str, str]]:
    return [_trace(text) for text in texts]


def _trace(text: str) -> tuple[str, str]:
    """(kind, path) of ``KIND:FILE``."""
    kind, _, path = text.partition(":")
    if kind in KINDS and path:
        return kind, path
    raise click.BadParameter(f"{text!r} is not understood: write {_way_out(kind)}")


def _way_out(kind: str) -> str:
    close = nearest(kind, KINDS)
    return f"{close[0]}:FILE" if close else f"KIND:FILE, where KIND is {', '.join(KINDS)}"


def _window(
    ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, int | None] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d*):(\d*)", text)
    if match is None or text == ":":
        raise click.BadParameter(f"{text!r} is not understood: write FROM:TO, as in 1000:2000")
    first, end = int(match[1] or 0), int(match[2]) if match[2] else None
    if end is not None and end <= first:
        raise click.BadParameter(f"{text} is empty: TO must be greater than FROM")
    return first, end


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """The traces to write, and the part of the run to trace."""

    files: Sequence[tuple[str, str]]
    window: tuple[int, int | None] | None
    roi: Sequence[str]

    def make(self) -> Traces:
        from rvsim.trace.session import Traces, Wanted

        return Traces([Wanted(*file) for file in self.files], self._window)

    @property
    def _window(self) -> Window:
        from rvsim.trace.selection import Window

        return Window(*(self.window or ()))

    def open(self, traces: Traces, machine: Machine) -> None:
        """Begin the files, for a machine that has loaded its program."""
        from rvsim.perf import find_region
        from rvsim.trace.selection import Selection

        assert machine.image is not None
        regions = [find_region(text, machine.image.symbols) for text in self.roi]
        traces.open(machine, Selection(self._window, regions))
