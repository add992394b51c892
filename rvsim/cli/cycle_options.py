"""Options of the commands that count cycles: which core, and which part of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rvsim.cli.console import note
from rvsim.errors import RvsimError
from rvsim.profiles import DEFAULT_CPU, core_of
from rvsim.profiles import profile as cpu_profile

if TYPE_CHECKING:
    from rvsim.cost import Core
    from rvsim.machine import Machine
    from rvsim.perf import Profile

_F = TypeVar("_F", bound=Callable[..., Any])


def cycle_options(command: _F) -> _F:
    """Add the options of `CycleOptions`."""
    for option in (
        click.option(
            "--allow-unknown",
            is_flag=True,
            help="Count 0 cycles for instructions for which the core has no numbers.",
        ),
        click.option(
            "--roi",
            multiple=True,
            metavar="SYMBOL|ADDR-ADDR",
            help="Count only the instructions there, not the functions they call; may be repeated.",
        ),
        click.option(
            "--core-set",
            multiple=True,
            metavar="NAME=VALUE|FILE",
            help="Change a number of the core, as in l1d.size=64K, or the numbers in a .toml file.",
        ),
        click.option(
            "--core",
            metavar="NAME|FILE",
            help="The core whose cycles to count, instead of the CPU's own: a name (see rvsim list"
            " cores) or a .toml file.",
        ),
    ):
        command = option(command)
    return command


def json_option(command: _F) -> _F:
    return click.option(
        "--json",
        metavar="FILE",
        help="Write the result as JSON; - writes to stdout instead of the text.",
    )(command)


class NoTotal(RvsimError):
    """The core has no numbers for an instruction that ran, so a total would be wrong."""

    exit_code = 1


def note_unknown(machine: Machine) -> None:
    """Print a note that names the translated instructions for which the core has no numbers."""
    if machine.cost is not None and machine.cost.unknown:
        names = ", ".join(sorted(machine.cost.unknown))
        note(f"{machine.cost.core.name} has no numbers for {names}: 0 cycles")


@dataclass(frozen=True)
class CycleOptions:
    """What to count, and for which core: `core`, or else that of the `cpu`."""

    core: str | None
    core_set: tuple[str, ...]
    roi: tuple[str, ...]
    allow_unknown: bool
    cpu: str = DEFAULT_CPU

    def refuse_without(self, option: str) -> None:
        """A usage error if any of these options was given: they need `option`."""
        for name in ("core", "core_set", "roi", "allow_unknown"):
            if getattr(self, name):
                raise click.UsageError(f"--{name.replace('_', '-')} needs {option}")

    def with_roi(self, text: str) -> CycleOptions:
        """The same options with one region."""
        return replace(self, roi=(text,))

    @cached_property
    def loaded_core(self) -> Core:
        """The core with its overrides; prints a note, once, if it is not the CPU's own."""
        from rvsim.cost import load_core

        found = load_core(self.core or core_of(self.cpu), self.core_set)
        if self.core and self.core != cpu_profile(self.cpu).core:
            note(f"cycles are those of {found.name}, which is not the core of {self.cpu}")
        return found

    def on(self, machine: Machine) -> Callable[[], tuple[Profile, Profile]]:
        """Look up the regions in a loaded program; returns a function that makes the profiles.

        The first profile is of the whole program, the second of the regions.
        """
        from rvsim.perf import find_region, profile

        assert machine.image is not None
        regions = [find_region(text, machine.image.symbols) for text in self.roi]

        def measure() -> tuple[Profile, Profile]:
            whole = profile(machine)
            part = whole.within(regions) if regions else whole
            for region in regions:
                if not any(site.pc in region for site in part.sites):
                    note(f"no instruction of {region.name} was executed")
            self._check(part)
            return whole, part

        return measure

    def _check(self, found: Profile) -> None:
        """Refuse a profile with unknown instructions, or print a note."""
        if not found.unknown:
            return
        names = ", ".join(f"{name} ({n:,} executed)" for name, n in found.unknown.most_common())
        if self.allow_unknown:
            note(f"{found.core.name} has no numbers for {names}: 0 cycles")
            return
        raise NoTotal(
            f"no total: {found.core.name} has no numbers for {names}",
            hint="--allow-unknown counts 0 cycles for them",
        )
