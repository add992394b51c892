"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PAGE: Final = 4096
_LARGEST: Final = 256 << 30
"""The address space of a process under Sv39, the X60's address translation."""


def size(ctx: click.Context, parameter: click.Parameter, text: str) -> int:
    """A number of bytes with an optional K, M or G: a multiple of the page size."""
    match = re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{text!r} is no size: write 64M or 4G")
    number = int(match[1], 16 if match[1][:2] in ("0x", "0X") else 10) * _UNITS[match[2].upper()]
    if number % _PAGE or not 0 < number <= _LARGEST:
        raise click.BadParameter(f"{text} is not a multiple of 4K up to 256G")
    return number


def cpu_option(command: _F) -> _F:
    return click.option("--cpu", metavar="NAME", help="CPU profile; see rvsim list cpus.")(command)


def vlen_option(command: _F) -> _F:
    return click.option(
        "--vlen", type=int, metavar="BITS", help="VLEN, a power of two from 128 to 4096."
    )(command)


def isa_option(command: _F) -> _F:
    return click.option(
        "--isa", metavar="STRING", help="Extensions as Spike spells them: rv64gcv_zvl256b_zba."
    )(command)


def source_option(command: _F) -> _F:
    return click.option(
        "--source-dir",
        "source_dirs",
        metavar="FOLDER",
        multiple=True,
        type=click.Path(exists=True, file_okay=False),
        help="Also show sources in this folder, besides those in the program's own folder.",
    )(command)
