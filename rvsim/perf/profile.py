"""Executions and cycles of every instruction of a run, and their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rvsim.cost import Core
from rvsim.errors import RvsimError
from rvsim.guest.elf import Image
from rvsim.machine import Machine
from rvsim.perf.groups import added, grouped
from rvsim.perf.macs import Macs, macs_of
from rvsim.perf.region import Region
from rvsim.perf.site import Site, sites_of


@dataclass(frozen=True, slots=True)
class Part:
    """The sums of several instructions: a function or a source line."""

    name: str
    executions: int
    stalls: Mapping[str, float]

    @property
    def cycles(self) -> float:
        return sum(self.stalls.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "cycles": self.cycles,
            "executions": self.executions,
            "stalls": dict(self.stalls),
        }


@dataclass(frozen=True)
class Profile:
    """The cycles of a run, or of its regions of interest.

    `unknown` counts, by mnemonic, executions of instructions for whose class the core has no
    numbers.  If there are any, the sums are not totals.

    >>> from rvsim.perf import find_region
    >>> from rvsim.machine import Machine
    >>> from rvsim.toolchain import build_kernel
    >>> machine = Machine(cost="x60", statistics=True)
    >>> machine.load(build_kernel("gemm_tile_s8"))
    >>> result = machine.run()
    >>> whole = profile(machine)
    >>> whole.cycles == machine.cycle and whole.instructions == result.instret
    True
    >>> inner = whole.within([find_region("gemm_tile_s8", machine.image.symbols)])
    >>> [part.name for part in inner.functions()], inner.cycles < whole.cycles
    (['gemm_tile_s8'], True)
    """

    core: Core
    sites: tuple[Site, ...]
    image: Image | None = None
    regions: tuple[Region, ...] = ()

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Cycles by reason."""
        return _sum(self.sites)

    @cached_property
    def cycles(self) -> float:
        return sum(self.stalls.values())

    @cached_property
    def instructions(self) -> int:
        return sum(site.executions for site in self.sites)

    @property
    def ipc(self) -> float:
        """Instructions a cycle."""
        return self.instructions / self.cycles if self.cycles else 0.0

    @property
    def lanes(self) -> tuple[int, int]:
        """(elements within vl, VLMAX), summed over the vector instructions that depend on vl."""
        return sum(s.vl_sum for s in self.sites), sum(s.vlmax_sum for s in self.sites)

    @cached_property
    def macs(self) -> Macs:
        """Multiply-accumulations, and how long they would take at the core's peak."""
        total = Macs()
        for site in self.sites:
            total += macs_of(self.core, site)
        return total

    @cached_property
    def unknown(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for site in self.sites:
            if site.executions and not self.core.knows(site.insn.unit):
                found[site.insn.name] += site.executions
        return found

    def within(self, regions: Iterable[Region]) -> Profile:
        """The profile of the instructions in the regions, without the functions that they call."""
        kept = tuple(regions)
        inside = tuple(s for s in self.sites if any(s.pc in region for region in kept))
        return replace(self, sites=inside, regions=kept)

    def hottest_function(self) -> Profile:
        """The profile of the function with most cycles, without the functions that it calls."""
        pcs: dict[str, list[Site]] = {}
        for site in self.sites:
            pcs.setdefault(self.function_at(site.pc), []).append(site)
        name = self.functions()[0].name if self.sites else "[nothing]"
        inside = pcs.get(name, [])
        region = Region(name, inside[0].pc, inside[-1].end) if inside else Region(name, 0, 0)
        return replace(self, sites=tuple(inside), regions=(region,))

    def functions(self) -> list[Part]:
        """The functions, most cycles first."""
        return self._parts(self.function_at)

    def lines(self) -> list[Part]:
        """The source lines, as ``file:line``, most cycles first."""
        return self._parts(self.line_at)

    def function_at(self, pc: int) -> str:
        found = self.image.symbols.lookup(pc) if self.image is not None else None
        return found[0] if found is not None else "[unknown]"

    def line_at(self, pc: int) -> str:
        found = self.image.lines.line(pc) if self.image is not None else None
        return f"{found[0]}:{found[1]}" if found is not None else "[unknown]"

    def as_json(self) -> dict[str, Any]:
        """The totals as plain data."""
        used, paid = self.lanes
        return {
            "core": self.core.name,
            "regions": [region.name for region in self.regions],
            "cycles": self.cycles,
            "instructions": self.instructions,
            "ipc": self.ipc,
            "lanes": {"used": used, "paid": paid},
            "macs": {
                "count": self.macs.count,
                "per_cycle": self.macs.count / self.cycles if self.cycles else 0.0,
                "peak_per_cycle": self.macs.peak,
                "share_of_peak": self.macs.peak_cycles / self.cycles if self.cycles else 0.0,
            },
            "stalls": self.stalls,
            "groups": grouped(self.stalls),
            "unknown": dict(self.unknown),
        }

    def _parts(self, name_of: Callable[[int], str]) -> list[Part]:
        sites: dict[str, list[Site]] = {}
        for site in self.sites:
            sites.setdefault(name_of(site.pc), []).append(site)
        parts = [
            Part(name, sum(s.executions for s in group), _sum(group))
            for name, group in sites.items()
        ]
        return sorted(parts, key=lambda part: (-part.cycles, -part.executions, part.name))


def _sum(sites: Iterable[Site]) -> dict[str, float]:
    total: dict[str, float] = {}
    for site in sites:
        total = added(total, site.stalls)
    return total


def profile(machine: Machine) -> Profile:
    """The profile of what a machine with statistics has executed so far.

    Raises `RvsimError` if the machine has no cost model.
    """
    if machine.cost is None:
        raise RvsimError("the machine counts no cycles", hint='make it with cost="x60"')
    return Profile(machine.cost.core, sites_of(machine, machine.cost), machine.image)
