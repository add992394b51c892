"""Options that say what machine runs a program, and for how long."""

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
"""Their parameter names, but for those of the limits."""


def machine_options(command: _F) -> _F:
    """Add the options of `MACHINE_OPTIONS`, and ``--max-insns`` and ``--timeout``."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(min=0),
            metavar="SECONDS",
            help="Stop after so many seconds with exit code 124.",
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
            help="Size of the guest's address space.",
        ),
        click.option(
            "--no-cache",
            "cache",
            is_flag=True,
            default=True,
            flag_value=False,
            help="Neither use nor keep what the engine jit compiled.",
        ),
        click.option(
            "--host",
            metavar="NAME",
            help="What the engine jit compiles for, if not for this processor: x86-64-v2, -v3, -v4"
            " or generic.",
        ),
        click.option(
            "--engine",
            type=click.Choice(["jit", "numpy"]),
            default="jit",
            show_default=True,
            help="jit compiles hot code; numpy is the reference, which also executes what is"
            " traced.",
        ),
        click.option(
            "--no-host-float",
            "host_float",
            is_flag=True,
            default=True,
            flag_value=False,
            help="Compute floating point with integers only, to tell a fault of the host's from"
            " ours.",
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
            help="What registers and the unused stack hold at first: zero, ones or random:SEED.",
        ),
        click.option(
            "--syscall-vector",
            type=click.Choice(["discard", "keep"]),
            default="discard",
            show_default=True,
            help="A system call discards vector state, as Linux does since 6.5, or keeps it.",
        ),
        click.option(
            "--user-counters",
            type=click.Choice(["trap", "allow"]),
            default="allow",
            show_default=True,
            help="A program on Linux may read cycle and instret, or that traps as on Linux 6.6.",
        ),
        click.option(
            "--reserved",
            type=click.Choice(["trap", "allow"]),
            default="trap",
            show_default=True,
            help="Reserved uses trap; or those whose meaning is plain are noted and executed,"
            " though not everything else does.",
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
            help="What agnostic elements become: undisturbed, ones or random:SEED.",
        ),
        vlen_option,
        isa_option,
        cpu_option,
    ):
        command = option(command)
    return command
