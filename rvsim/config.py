"""What a run may choose: the profile's answers to what the specification leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Agnostic = Literal["undisturbed", "ones", "random"]
VlPolicy = Literal["max", "half"]
ReductionOrder = Literal["sequential", "tree", "random"]
Reserved = Literal["trap", "allow"]
UserCounters = Literal["trap", "allow"]
SyscallVector = Literal["discard", "keep"]

MACHINE: Final = "machine"
"""The extension of machine mode, which only bare-metal images run in: no profile has it."""

ONLY_BARE_METAL: Final = "is for machine mode, which only an image with a tohost symbol runs in"


@dataclass(frozen=True, slots=True)
class ClockRates:
    """Cycles a second, and ticks of the time CSR; round numbers for a hart that no profile made."""

    frequency: int = 1_000_000_000
    timer: int = 10_000_000


ROUND_RATES: Final = ClockRates()


@dataclass(frozen=True, slots=True)
class LinuxFacts:
    """What the Linux of such a CPU tells of it, apart from its extensions.

    `ids` are mvendorid, marchid and mimpid.  `supervisor` extensions stand in the ISA string
    although no program can use them, and those that are `unlisted` don't although one can.
    """

    model: str = ""
    uarch: str = ""
    ids: tuple[int, int, int] = (0, 0, 0)
    supervisor: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


NO_FACTS: Final = LinuxFacts()


@dataclass(frozen=True, slots=True)
class Config:
    """One hart's configuration.  `extensions` are lower-case names, ``m`` or ``zba``.

    `vlen` and `elen` are in bits.  `agnostic` says what agnostic elements become (``random`` hashes
    `seed`), `vl_policy` what vset* does between VLMAX and 2*VLMAX, `reserved` whether reserved
    encodings trap, `user_counters` whether Linux lets user mode read ``cycle`` and ``instret``;
    `reduction_order` is the order of unordered floating-point sums; `host_float` allows the host's
    arithmetic where it is as exact as softfloat; `rates` relate its cycles to time.
    """

    extensions: frozenset[str]
    vlen: int = 256
    elen: int = 64
    agnostic: Agnostic = "undisturbed"
    seed: int = 0
    vl_policy: VlPolicy = "max"
    reserved: Reserved = "trap"
    user_counters: UserCounters = "allow"
    misaligned_vector: bool = True
    reduction_order: ReductionOrder = "sequential"
    reduction_seed: int = 0
    host_float: bool = True
    rates: ClockRates = ROUND_RATES

    @property
    def vlenb(self) -> int:
        """VLEN in bytes."""
        return self.vlen // 8

    @property
    def ialign_bytes(self) -> int:
        """IALIGN: what the address of each instruction is a multiple of."""
        return 2 if self.has(("c", "zca")) else 4

    def has(self, extensions: tuple[str, ...]) -> bool:
        """Whether any one of the named extensions is there."""
        return not self.extensions.isdisjoint(extensions)
