"""A core's numbers as frozen data.

Each table of `isa/cores/*.toml` is a dataclass here, and each number is a field with its meaning.
`rvsim.cost.core_tables` reads the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rvsim.cost.classes import ScalarClass, VectorClass
from rvsim.cost.formula import Size
from rvsim.cost.schema import Number, cycles, entry, whole
from rvsim.errors import RvsimError


@dataclass(frozen=True, slots=True)
class CoreClock:
    """Clock of the core, and rate of the time CSR."""

    frequency: int = whole("cycles of the core", "per second", 1_000_000, 100_000_000_000)
    timer: int = whole("ticks of the time CSR", "per second", 1000, 100_000_000_000)


@dataclass(frozen=True, slots=True)
class Issue:
    """In-order issue."""

    width: int = whole(
        "that issue together, at most one vector and one memory instruction among them",
        "instructions a cycle", 1, 8,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Branch:
    """Branch prediction."""

    mispredict: float = cycles("lost by a misprediction")
    history: int = whole("of the last branches, which choose a counter", "outcomes", 0, 20)
    entries: int = whole("two-bit counters", "counters", 1, 1 << 20, power_of_two=True)


@dataclass(frozen=True, slots=True)
class Vset:
    """From a vset* to the next vector instruction."""

    to_vector: float = cycles("if the AVL is a constant")
    to_vector_avl: float = cycles("if the AVL is a register")
    to_vector_avl_large: float = cycles("if the AVL is a register and the new LMUL is 4 or 8")
    branch: float = cycles("more if there is a branch between")


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue of vector arithmetic instructions that have issued but not begun."""

    depth: int = whole("places", "instructions", 1, 8)


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The unit of vector arithmetic, and the register length that its numbers are for."""

    vlen: int = whole(
        "VLEN at which the numbers were measured: L counts registers of this length",
        "bits", 64, 1 << 16, power_of_two=True,
    )  # fmt: skip
    datapath: int = whole(
        "part of a register that becomes ready, and goes on to others, by itself",
        "bits", 64, 1 << 16, power_of_two=True,
    )  # fmt: skip
    release: float = cycles("from the last step until a load may overwrite the sources")

    @property
    def parts(self) -> int:
        """Parts of a register: VLEN divided by the width of the datapath."""
        return self.vlen // self.datapath


@dataclass(frozen=True, slots=True)
class Lsu:
    """The load/store unit."""

    beat: int = whole("moved in a cycle, at an aligned address", "bytes", 4, 256, power_of_two=True)
    whole_fields: int = whole(
        "of a segment load that moves whole registers, at most",
        "fields", 1, 8,
    )  # fmt: skip
    scalar_store: float = cycles(
        "from ready data to the issue of a scalar store; negative if it issues before",
        low=-10, high=10,
    )  # fmt: skip
    vector_store: float = cycles("from data that arithmetic could use to the start of a store")
    misaligned_beats: float = cycles("more that a misaligned vector access keeps the unit busy")
    misaligned_latency: float = cycles("more until the data of a misaligned load arrive")
    misaligned_release: float = cycles(
        "more until a load may overwrite the data of a misaligned store"
    )


@dataclass(frozen=True, slots=True)
class StoreBuffer:
    """Beats of stores that hit L1; they go to the cache when the load/store unit is idle."""

    capacity: float = cycles("of beats that may be left when a load issues")
    limit: float = cycles("of beats that are counted, at most")
    beat: float = cycles("of a beat in a stream of stores")
    short_store: float = cycles("more for a short store")
    short_beats: float = entry(Number("below which a store is short", "beats", 0, 64))
    misaligned: float = cycles("more for a misaligned store")
    slack: float = cycles("that a stream of stores may run ahead")


@dataclass(frozen=True, slots=True)
class Cache:
    """A first-level cache."""

    size: int = whole("in all", "bytes", 1 << 10, 1 << 24, power_of_two=True)
    ways: int = whole("in a set", "lines", 1, 16, power_of_two=True)
    line: int = whole(
        "in a line of both first-level caches and of L2", "bytes", 16, 256, power_of_two=True
    )

    @property
    def lines(self) -> int:
        return self.size // self.line

    @property
    def sets(self) -> int:
        return self.lines // self.ways


@dataclass(frozen=True, slots=True)
class DataCache(Cache):
    """The first-level cache of data.  A set replaces a random line."""

    misses: int = whole("that loads may wait for at once", "lines", 1, 16)


@dataclass(frozen=True, slots=True)
class Tlb:
    """The TLB: pages that need no walk.

    Only loads that miss L1 use it: the pages of L1's lines were translated a short while ago.
    """

    entries: int = whole("in all", "pages", 1, 1 << 16, power_of_two=True)
    ways: int = whole("in a set", "pages", 1, 16, power_of_two=True)
    page: int = whole("in a page", "bytes", 1 << 12, 1 << 30, power_of_two=True)
    walk: float = cycles("of a walk")

    @property
    def sets(self) -> int:
        return self.entries // self.ways


@dataclass(frozen=True, slots=True)
class InstructionCache(Cache):
    """The first-level cache of instructions."""

    miss: float = cycles("until the line has come from L2")


@dataclass(frozen=True, slots=True)
class L2:
    """The second-level cache.

    The place of a page in physical memory is random, and chooses the sets of its lines.
    A store that misses L1 allocates only here, on its own path.  A set replaces its least recently
    used line.  Some of the lines that streams of loads or stores bring in count as most recently
    used, the others as least recently used.
    """

    size: int = whole("in all", "bytes", 1 << 12, 1 << 26, power_of_two=True)
    ways: int = whole("in a set", "lines", 1, 32, power_of_two=True)
    contiguous: int = whole(
        "of virtual memory that are contiguous in physical memory",
        "bytes", 1 << 12, 1 << 30, power_of_two=True,
    )  # fmt: skip
    kept: int = whole("of a stream, of which one counts as most recently used", "lines", 1, 1 << 10)
    latency: float = cycles("more of a load that misses L1 than of one that hits")
    fill: float = cycles("of the bus to L1 for a line fetched ahead")
    demand: float = cycles("of the bus to L1 for a line that a load waits for")
    dirty_victim: float = cycles("more for a load that evicts a written line from L1")
    store: float = cycles("of the path of stores for a line")
    store_fill: float = cycles("of the bus to L1 for a line of a store that missed")
    store_slack: float = cycles("that stores may lag behind")


@dataclass(frozen=True, slots=True)
class Dram:
    """Memory beyond L2, and its bus."""

    latency: float = cycles("until the line of a load that misses L2 arrives")
    read: float = cycles("of the bus for reading a line")
    write: float = cycles("of the bus for writing a line")
    turnaround: float = cycles("of the bus between reading and writing")


@dataclass(frozen=True, slots=True)
class Streams:
    """The prefetcher: it follows streams of lines.  It sees only loads that miss."""

    count: int = whole("followed at once", "streams", 1, 64)
    train: int = whole("until a stream is trusted", "lines", 1, 16)
    reach: int = whole("from one line of a stream to the next, at most", "lines", 1, 64)
    ahead_l2: int = whole("fetched ahead from L2", "lines", 0, 64)
    ahead_dram: int = whole("fetched ahead from memory", "lines", 0, 64)


@dataclass(frozen=True, slots=True)
class Core:
    """All numbers of a core.  Equal cores give equal cycles.

    >>> from rvsim.cost import load_core
    >>> core = load_core("x60", ["l1d.size=64K"])
    >>> core.l1d.size, core.l1d.sets, core.vset.to_vector, core.vector_unit.parts
    (65536, 256, 2, 2)
    """

    name: str
    clock: CoreClock
    issue: Issue
    branch: Branch
    vset: Vset
    queue: Queue
    vector_unit: VectorUnit
    lsu: Lsu
    store_buffer: StoreBuffer
    l1d: DataCache
    l1i: InstructionCache
    tlb: Tlb
    l2: L2
    dram: Dram
    streams: Streams
    scalar: Mapping[str, ScalarClass] = field(hash=False)
    vector: Mapping[str, VectorClass] = field(hash=False)

    def knows(self, unit: str) -> bool:
        """Whether the core has numbers for a class of instructions."""
        return unit in self.scalar or unit in self.vector

    def size(self, vlen: int, lmul: float, vlmax: int, nf: int = 1) -> Size:
        """The size of the data for formulas, at an LMUL in registers of `vlen` bits."""
        unit = self.vector_unit
        registers = lmul * vlen / unit.vlen
        return Size(registers, vlmax, nf, parts=registers * unit.parts)


SECTIONS: Final[Mapping[str, type[Any]]] = {
    "clock": CoreClock, "issue": Issue, "branch": Branch, "vset": Vset, "queue": Queue,
    "vector_unit": VectorUnit, "lsu": Lsu, "store_buffer": StoreBuffer, "l1d": DataCache,
    "l1i": InstructionCache, "tlb": Tlb, "l2": L2, "dram": Dram, "streams": Streams,
}  # fmt: skip
"""The tables of numbers, in the order of the files."""

_MOST_PARTS: Final = 8


def check(core: Core) -> Core:
    """Return `core`; RvsimError if its numbers contradict each other."""
    if 1 << core.branch.history > core.branch.entries:
        raise RvsimError("branch.history is longer than branch.entries can tell apart")
    if core.tlb.ways > core.tlb.entries:
        raise RvsimError("tlb.ways is more than tlb.entries")
    if core.l1d.line != core.l1i.line:
        raise RvsimError("l1d.line and l1i.line differ", hint="set both")
    if core.lsu.beat > core.l1d.line:
        raise RvsimError(f"lsu.beat = {core.lsu.beat} is more than l1d.line = {core.l1d.line}")
    unit = core.vector_unit
    if not 1 <= unit.parts <= _MOST_PARTS:
        raise RvsimError(
            f"vector_unit.datapath = {unit.datapath} is not from an eighth of vector_unit.vlen ="
            f" {unit.vlen} to all of it"
        )
    for name, cache in (("l1d", core.l1d), ("l1i", core.l1i), ("l2", core.l2)):
        if cache.size < cache.ways * core.l1d.line:
            raise RvsimError(
                f"{name}.size = {cache.size} is less than one line of {core.l1d.line} bytes in each"
                f" of its {cache.ways} ways",
                hint=f"set {name}.size to {cache.ways * core.l1d.line} or more",
            )
    return core
