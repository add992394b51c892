"""The processor as Linux tells programs of it: one hart of the profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rvsim.config import ROUND_RATES, ClockRates, LinuxFacts

_CANONICAL: Final = "imafdqlcbkjtpvnh"
_KNOWN_TO_LINUX: Final = """
zicbom zicboz zicntr zicond zicsr zifencei zihintntl zihintpause zihpm zfa zfh zfhmin
zca zcb zcd zcf zba zbb zbc zbkb zbkc zbkx zbs zknd zkne zknh zkr zksed zksh zkt
zvbb zvbc zve32f zve32x zve64d zve64f zve64x zvfh zvfhmin zvkb zvkg zvkned zvknha zvknhb
zvksed zvksh zvkt
"""
_KNOWN: Final = frozenset(_KNOWN_TO_LINUX.split())
"""The extensions of several letters that the K1's Linux 6.6 knows."""


_PARTS_OF_ZVE64D: Final = frozenset({"zve32x", "zve32f", "zve64x", "zve64f", "zve64d"})


def with_parts(extensions: frozenset[str]) -> frozenset[str]:
    """Extensions and those that Linux lists besides because they are contained in them."""
    return extensions | _PARTS_OF_ZVE64D if "zve64d" in extensions else extensions


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """A cache; `kind` is Instruction, Data or Unified, the sizes are in bytes."""

    level: int
    kind: str
    size: int
    ways: int
    line: int


@dataclass(frozen=True, slots=True)
class Cpu:
    """What Linux tells of a hart.  `extensions` is closed under what extensions imply.

    `caches` gives those of the hart, in the order in which ``/sys`` numbers them.
    """

    extensions: frozenset[str]
    facts: LinuxFacts
    vlenb: int = 32
    rates: ClockRates = ROUND_RATES
    caches: Callable[[], Sequence[CacheFacts]] = tuple

    @property
    def isa(self) -> str:
        """The ISA string: letters in the specification's order, then Z, then S by name.

        >>> Cpu(frozenset({"zba", "zicsr", "c", "i", "m"}), LinuxFacts()).isa
        'rv64imc_zicsr_zba'
        """
        letters = [letter for letter in _CANONICAL if letter in self.extensions]
        shown = (with_parts(self.extensions) & _KNOWN) - set(self.facts.unlisted)
        longer = sorted(shown, key=lambda name: (_CANONICAL.index(name[1]), name))
        return "_".join(("rv64" + "".join(letters), *longer, *sorted(self.facts.supervisor)))

    def cpuinfo(self) -> bytes:
        """The content of ``/proc/cpuinfo``."""
        vendor, architecture, implementation = self.facts.ids
        lines = {
            "processor\t": "0",
            "hart\t\t": "0",
            "model name\t": self.facts.model,
            "isa\t\t": self.isa,
            "mmu\t\t": "sv39",
            "uarch\t\t": self.facts.uarch,
            "mvendorid\t": hex(vendor),
            "marchid\t\t": hex(architecture),
            "mimpid\t\t": hex(implementation),
        }
        return (
            "".join(f"{name}: {value}\n" for name, value in lines.items() if value).encode() + b"\n"
        )
