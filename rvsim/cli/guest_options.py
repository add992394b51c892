"""Options for the program's surroundings: files, environment, libraries, time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from rvsim.guest.linux import Grant

_F = TypeVar("_F", bound=Callable[..., Any])

GUEST_OPTIONS: Final = ("dirs", "env", "sysroot", "host_time")
"""Their parameter names, which are also those of `Machine.load`."""


def _grants(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> list[Grant]:
    if not texts:
        return []
    from rvsim.guest.linux import Grant

    return [Grant.parse(text) for text in texts]


def _environment(
    ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise click.BadParameter(f"{text!r} is not understood: write VAR=VALUE")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def guest_options(command: _F) -> _F:
    """Add the options of `GUEST_OPTIONS`."""
    for option in (
        click.option(
            "--host-time",
            is_flag=True,
            help="Use the host's time for clocks and sleeping, instead of the model's.",
        ),
        click.option(
            "-L",
            "--sysroot",
            metavar="FOLDER",
            help="The folder with the loader and libraries of dynamic programs, in /lib and so on.",
        ),
        click.option(
            "-E",
            "--env",
            metavar="VAR=VALUE",
            multiple=True,
            callback=_environment,
            help="Add a variable to the program's environment, which is empty by default.",
        ),
        click.option(
            "--dir",
            "dirs",
            metavar="HOST[:GUEST][:rw]",
            multiple=True,
            callback=_grants,
            help="Let the program read this folder, and with :rw write it; it sees no other files.",
        ),
    ):
        command = option(command)
    return command
