"""A core's numbers as frozen data.

Each table of `isa/cores/*.toml` is a dataclass here, each number a field that says what it is.
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
    """How fast it runs, and how fast the time CSR counts."""

    frequency: int = whole("cycles of the core", "per second", 1_000_000, 100_000_000_000)
    timer: int = whole("ticks of the time CSR", "per second", 1000, 100_000_000_000)


@dataclass(frozen=True, slots=True)
class Issue:
    """Instructions that go on their way together, in order."""

    width: int = whole(
        "of them at most one is a vector and one a memory instruction",
        "instructions a cycle", 1, 8,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Branch:
    """Prediction of branches."""

    mispredict: float = cycles("lost by a misprediction")
    history: int = whole("latest branches whose outcomes choose a counter", "outcomes", 0, 20)
    entries: int = whole("two-bit counters", "counters", 1, 1 << 20, power_of_two=True)


@dataclass(frozen=True, slots=True)
class Vset:
    """From a vset* to the next vector instruction."""

    to_vector: float = cycles("if the AVL is a constant")
    to_vector_avl: float = cycles("if the AVL is a register")
    to_vector_avl_large: float = cycles("if the AVL is a register and the new LMUL 4 or 8")
    branch: float = cycles("more if a branch stands between")


@dataclass(frozen=True, slots=True)
class Queue:
    """Vector arithmetic instructions that have issued and not begun."""

    depth: int = whole("places", "instructions", 1, 8)


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The one unit of vector arithmetic, and the registers that its numbers are for."""

    vlen: int = whole(
        "VLEN for which the numbers were taken: L counts registers of this length",
        "bits", 64, 1 << 16, power_of_two=True,
    )  # fmt: skip
    datapath: int = whole(
        "part of a register that is ready, and handed on to others, by itself",
        "bits", 64, 1 << 16, power_of_two=True,
    )  # fmt: skip
    release: float = cycles("from the last step until a load may overwrite the sources")

    @property
    def parts(self) -> int:
        """Parts of a register: as many as the datapath is narrower."""
        return self.vlen // self.datapath


@dataclass(frozen=True, slots=True)
class Lsu:
    """The load/store unit."""

    beat: int = whole(
        "moved in a cycle, from such an address on", "bytes", 4, 256, power_of_two=True
    )
    whole_fields: int = whole(
        "fields of a segment load that go through the registers as wholes, at most",
        "fields", 1, 8,
    )  # fmt: skip
    scalar_store: float = cycles(
        "from data to the issue of a scalar store, which may be before it", low=-10, high=10
    )
    vector_store: float = cycles("from data that arithmetic could use to the start of a store")
    misaligned_beats: float = cycles("that a misaligned vector access keeps the unit longer")
    misaligned_latency: float = cycles("that its data comes later")
    misaligned_release: float = cycles("later that a load may overwrite what it has stored")


@dataclass(frozen=True, slots=True)
class StoreBuffer:
    """Stored beats that hit L1, which go to the cache when the load/store unit is idle."""

    capacity: float = cycles("of beats that may be left when a load issues")
    limit: float = cycles("of beats that are counted at most")
    beat: float = cycles("of a beat in a stream of stores")
    short_store: float = cycles("more for a short store")
    short_beats: float = entry(Number("a store of fewer is short", "beats", 0, 64))
    misaligned: float = cycles("more for a misaligned store")
    slack: float = cycles("that a stream of stores may run ahead")


@dataclass(frozen=True, slots=True)
class Cache:
    """A first-level cache."""

    size: int = whole("all of it", "bytes", 1 << 10, 1 << 24, power_of_two=True)
    ways: int = whole("places of a set", "lines", 1, 16, power_of_two=True)
    line: int = whole("of both first-level caches and of L2", "bytes", 16, 256, power_of_two=True)

    @property
    def lines(self) -> int:
        return self.size // self.line

    @property
    def sets(self) -> int:
        return self.lines // self.ways


@dataclass(frozen=True, slots=True)
class DataCache(Cache):
    """The first-level cache of data.  A set replaces a line by chance."""

    misses: int = whole("that loads may wait for at once", "lines", 1, 16)


@dataclass(frozen=True, slots=True)
class Tlb:
    """Pages that are found without a walk.

    Only loads that miss L1 ask: what is in L1 has been translated a short while ago.
    """

    entries: int = whole("all of it", "pages", 1, 1 << 16, power_of_two=True)
    ways: int = whole("places of a set", "pages", 1, 16, power_of_two=True)
    page: int = whole("of a page", "bytes", 1 << 12, 1 << 30, power_of_two=True)
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
    """The second level.

    Which set a line goes to depends on where its page lies in physical memory, which is by chance.
    A store that misses L1 allocates here only, on a path of its own.  A set replaces the line used
    longest ago; of the lines that streams of loads or stores bring in, only some count as used
    just now, the others as used before all that are there.
    """

    size: int = whole("all of it", "bytes", 1 << 12, 1 << 26, power_of_two=True)
    ways: int = whole("places of a set", "lines", 1, 32, power_of_two=True)
    contiguous: int = whole(
        "of virtual memory that are so in physical memory",
        "bytes", 1 << 12, 1 << 30, power_of_two=True,
    )  # fmt: skip
    kept: int = whole("of a stream, one of which counts as used", "lines", 1, 1 << 10)
    latency: float = cycles("that a load which misses L1 waits longer than one that hits")
    fill: float = cycles("of the bus to L1 for a line that was fetched ahead")
    demand: float = cycles("of the bus to L1 for a line that a load asked for")
    dirty_victim: float = cycles("more for a load that evicts a written line from L1")
    store: float = cycles("of the path of stores for a line")
    store_fill: float = cycles("of the bus to L1 for such a line")
    store_slack: float = cycles("that stores may lag")


@dataclass(frozen=True, slots=True)
class Dram:
    """Memory beyond L2, and its bus."""

    latency: float = cycles("until the line of a load that misses L2 is there")
    read: float = cycles("of the bus for a line that is read")
    write: float = cycles("of the bus for a line that is written")
    turnaround: float = cycles("of the bus between reading and writing")


@dataclass(frozen=True, slots=True)
class Streams:
    """The prefetcher: streams of lines that loads go along.  It sees those that miss only."""

    count: int = whole("followed at once", "streams", 1, 64)
    train: int = whole("until a stream is trusted", "lines", 1, 16)
    reach: int = whole("until the next one of a stream, at most", "lines", 1, 64)
    ahead_l2: int = whole("brought ahead from L2", "lines", 0, 64)
    ahead_dram: int = whole("brought ahead from memory", "lines", 0, 64)


@dataclass(frozen=True, slots=True)
class Core:
    """Everything that the cost model knows of a core.  Equal cores time alike.

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
        """Whether there are numbers for a class of instructions."""
        return unit in self.scalar or unit in self.vector

    def size(self, vlen: int, lmul: float, vlmax: int, nf: int = 1) -> Size:
        """What formulas depend on, for data of that LMUL in registers of `vlen` bits."""
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
    """RvsimError where numbers contradict each other."""
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
