"""Options for the machine that runs a program, and for its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from rvsim.cli.options import cpu_option, isa_option, size, vlen_option

_F = TypeVar("_F", bound=Callable[..., Any])

MACHINE_OPTIONS: Final = (
    *("cpu", "isa", "vlen", "agnostic", "vl_policy", "reserved", "user_counters"),
    *("syscall_vector", "initial", "reduction_order", "host_float"),
    *("engine", "host", "cache", "memory"),
)
"""Their parameter names, without those of the limits."""


def machine_options(command: _F) -> _F:
    """Add the options of `MACHINE_OPTIONS`, and ``--max-insns`` and ``--timeout``."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(min=0),
            metavar="SECONDS",
            help="Stop after this time with exit code 124.",
        ),
        click.option(
            "--max-insns",
            type=click.IntRange(min=0),
            metavar="N",
            help="Stop after N instructions with exit code 124.",
        ),
        click.option(
            "--memory",
            callback=size,
            metavar="SIZE",
            default="4G",
            show_default=True,
            help="The most memory that the guest may use.",
        ),
        click.option(
            "--no-cache",
            "cache",
            is_flag=True,
            default=True,
            flag_value=False,
            help="Neither use compiled code of earlier runs nor keep it for later ones.",
        ),
        click.option(
            "--host",
            metavar="NAME",
            help="Compile for this processor instead of the computer's own: x86-64-v2, -v3, -v4"
            " or generic.",
        ),
        click.option(
            "--engine",
            type=click.Choice(["jit", "numpy"]),
            default="jit",
            show_default=True,
            help="jit compiles hot code; numpy is the reference engine, which also runs spike"
            " traces.",
        ),
        click.option(
            "--no-host-float",
            "host_float",
            is_flag=True,
            default=True,
            flag_value=False,
            help="Compute floating point with integers only, to tell a fault of the host's from"
            " one of rvsim's.",
        ),
        click.option(
            "--reduction-order",
            metavar="ORDER",
            default="sequential",
            show_default=True,
            help="Order of unordered floating-point sums: sequential, tree or random:SEED.",
        ),
        click.option(
            "--initial",
            metavar="CONTENTS",
            default="zero",
            show_default=True,
            help="Initial contents of registers and the unused stack: zero, ones or random:SEED.",
        ),
        click.option(
            "--syscall-vector",
            type=click.Choice(["discard", "keep"]),
            default="discard",
            show_default=True,
            help="Whether a system call discards vector state, as Linux since 6.5, or keeps it.",
        ),
        click.option(
            "--user-counters",
            type=click.Choice(["trap", "allow"]),
            default="allow",
            show_default=True,
            help="Whether a Linux program may read cycle and instret, or traps, as on Linux 6.6.",
        ),
        click.option(
            "--reserved",
            type=click.Choice(["trap", "allow"]),
            default="trap",
            show_default=True,
            help="trap: reserved uses trap. allow: those with a plain meaning execute, with a note;"
            " other hardware may differ.",
        ),
        click.option(
            "--vl-policy",
            type=click.Choice(["max", "half"]),
            default="max",
            show_default=True,
            help="vl for VLMAX < AVL < 2*VLMAX: VLMAX, or half of AVL.",
        ),
        click.option(
            "--agnostic",
            metavar="POLICY",
            default="undisturbed",
            show_default=True,
            help="Values of agnostic elements: undisturbed, ones or random:SEED.",
        ),
        vlen_option,
        isa_option,
        cpu_option,
    ):
        command = option(command)
    return command
