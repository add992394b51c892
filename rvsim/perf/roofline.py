"""The roofline: the limits that a core's units and its memory set for a program.

The roof of a unit is flat, in multiply-accumulations a cycle.  The roof of a memory is in bytes a
cycle, so it rises with the multiply-accumulations that a program makes with each byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rvsim.cost import Core
from rvsim.cost.classes import Situation
from rvsim.insn.custom import ime
from rvsim.insn.units import Unit
from rvsim.perf.bytes_moved import bytes_of
from rvsim.perf.macs import PER_ELEMENT
from rvsim.perf.profile import Profile

_WIDENING: Final = frozenset({Unit.VWIDEN_MAC, Unit.VFWIDEN_MA})
_LMULS: Final = (1, 2, 4, 8)
_USUAL_SEWS: Final = (8, 32)


@dataclass(frozen=True, slots=True)
class Roof:
    """A limit: `rate` per cycle (`number` names the entry of the core that sets it)."""

    name: str
    rate: float
    number: str


@dataclass(frozen=True, slots=True)
class Point:
    """The place of a program in the roofline: its multiply-accumulations, bytes and cycles."""

    macs: int
    moved_bytes: int
    cycles: float

    @property
    def intensity(self) -> float | None:
        """Multiply-accumulations a byte; None if the program has none, or moves no bytes."""
        return self.macs / self.moved_bytes if self.macs and self.moved_bytes else None

    @property
    def rate(self) -> float:
        """Multiply-accumulations a cycle."""
        return self.macs / self.cycles if self.cycles else 0.0


def point(found: Profile) -> Point:
    """The place of a profile in the roofline."""
    return Point(found.macs.count, sum(map(bytes_of, found.sites)), found.cycles)


def sews_of(profiles: Sequence[Profile]) -> tuple[int, ...]:
    """The element widths of the vector multiply-accumulations; common widths if there are none."""
    used = {
        site.facts.situation.sew
        for found in profiles
        for site in found.sites
        if site.facts is not None
        and site.facts.unit in PER_ELEMENT
        and site.facts.unit is not Unit.VMADOT
    }
    return tuple(sorted(used)) or _USUAL_SEWS


def unit_roofs(core: Core, vlen: int, sews: Sequence[int]) -> list[Roof]:
    """The flat roofs: of the IME, if the core has it, and of the vector unit for each SEW.

    >>> from rvsim.cost import load_core
    >>> [(roof.name, roof.rate) for roof in unit_roofs(load_core("x60"), 256, [8, 32])]
    [('IME', 128.0), ('vector e8', 32.0), ('vector e32', 8.0)]
    """
    found = []
    if vlen == ime.VLEN and core.knows(Unit.VMADOT):
        rate = _elements(core, Unit.VMADOT, ime.SEW, vlen, 1) * PER_ELEMENT[Unit.VMADOT]
        found.append(Roof("IME", rate, _occupancy(Unit.VMADOT)))
    for sew in sews:
        rates = list(_vector_rates(core, sew, vlen))
        if rates:
            rate, unit = max(rates)
            found.append(Roof(f"vector e{sew}", rate, _occupancy(unit)))
    return found


def _vector_rates(core: Core, sew: int, vlen: int) -> Iterator[tuple[float, Unit]]:
    """The highest rate of each kind of multiply-accumulation, over all LMUL."""
    for unit in PER_ELEMENT:
        if unit is Unit.VMADOT or not core.knows(unit):
            continue
        lmuls = _LMULS[:-1] if unit in _WIDENING else _LMULS
        yield max(_elements(core, unit, sew, vlen, lmul) for lmul in lmuls), unit


def memory_roofs(core: Core, vlen: int) -> list[Roof]:
    """The roofs of memories: bytes a cycle if all data come from there.

    A memory that takes no time has no roof.

    >>> from rvsim.cost import load_core
    >>> [(roof.name, round(roof.rate, 2)) for roof in memory_roofs(load_core("x60"), 256)]
    [('L1', 16.0), ('L2', 5.04), ('DRAM', 4.27)]
    """
    found = []
    if core.knows(Unit.VLOAD_UNIT):
        load = max(_elements(core, Unit.VLOAD_UNIT, 8, vlen, lmul) for lmul in _LMULS)
        found.append(Roof("L1", load, _occupancy(Unit.VLOAD_UNIT)))
    lines = (("L2", core.l2.fill, "l2.fill"), ("DRAM", core.dram.read, "dram.read"))
    for name, cycles, number in lines:
        if cycles:
            found.append(Roof(name, core.l1d.line / cycles, number))
    return found


def _elements(core: Core, unit: Unit, sew: int, vlen: int, lmul: int) -> float:
    """Elements a cycle, if such instructions follow each other."""
    size = core.size(vlen, lmul, vlen * lmul // sew)
    timing = core.vector[unit].at(Situation(sew=sew, lmul=f"m{lmul}"))
    return size.vlmax / max(1.0, timing.occupied(size))


def _occupancy(unit: Unit) -> str:
    return f"vector.{unit}.occupancy"
