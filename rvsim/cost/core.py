"""A core's numbers: `isa/cores/<name>.toml` as frozen data, checked, with a user's overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, TypeVar

from rvsim.cost import overrides as overrides_of
from rvsim.cost.classes import ScalarClass, VectorClass, read_scalar, read_vector
from rvsim.errors import RvsimError
from rvsim.host.package_data import data_path

DEFAULT_CORE: Final = "x60"
CONFIDENCE: Final = ("measured", "derived", "borrowed", "guessed")

T = TypeVar("T")


def _number(low: float, high: float, *, power_of_two: bool = False) -> Any:
    return field(metadata={"low": low, "high": high, "power_of_two": power_of_two})


def _cycles(high: float = 10_000) -> Any:
    return _number(0, high)


@dataclass(frozen=True, slots=True)
class Issue:
    """Instructions a cycle; at most one of them is a vector and one a memory instruction."""

    width: int = _number(1, 8)


@dataclass(frozen=True, slots=True)
class Branch:
    """Cycles that a misprediction costs; counters, and how many outcomes choose among them."""

    mispredict: float = _cycles()
    history: int = _number(0, 20)
    entries: int = _number(1, 1 << 20, power_of_two=True)


@dataclass(frozen=True, slots=True)
class Vset:
    """Cycles from a vset* to the next vector instruction.

    `to_vector_avl` if the AVL is a register, `to_vector_avl_large` if the new LMUL is 4 or 8 too;
    `branch` more if a branch stands between.
    """

    to_vector: float = _cycles()
    to_vector_avl: float = _cycles()
    to_vector_avl_large: float = _cycles()
    branch: float = _cycles()


@dataclass(frozen=True, slots=True)
class Queue:
    """Vector arithmetic instructions that have issued and not begun."""

    depth: int = _number(1, 8)


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """`release`: cycles from the last step until source registers may be overwritten by a load."""

    release: float = _cycles()


@dataclass(frozen=True, slots=True)
class Lsu:
    """Cycles from data to a store, and what misalignment adds.

    `scalar_store`: from data to the issue of a scalar store, which may be before it;
    `vector_store`: from data that arithmetic could use to the start of a vector store.
    `misaligned_release`: to the time until a load may overwrite what a store has read.
    """

    scalar_store: float = _number(-10, 10)
    vector_store: float = _cycles()
    misaligned_beats: float = _cycles()
    misaligned_latency: float = _cycles()
    misaligned_release: float = _cycles()


@dataclass(frozen=True, slots=True)
class StoreBuffer:
    """Stored beats of 16 bytes that hit L1: a load waits until no more than `capacity` are left.

    A stream of stores takes `beat` cycles each, `short_store` more for less than four and
    `misaligned` more where so, and may run `slack` cycles ahead; no more than `limit` are counted.
    """

    capacity: float = _cycles()
    limit: float = _cycles()
    beat: float = _cycles()
    short_store: float = _cycles()
    misaligned: float = _cycles()
    slack: float = _cycles()


@dataclass(frozen=True, slots=True)
class Cache:
    """A first-level cache, in bytes."""

    size: int = _number(1 << 10, 1 << 24, power_of_two=True)
    ways: int = _number(1, 16, power_of_two=True)
    line: int = _number(16, 256, power_of_two=True)

    @property
    def lines(self) -> int:
        return self.size // self.line

    @property
    def sets(self) -> int:
        return self.lines // self.ways


@dataclass(frozen=True, slots=True)
class DataCache(Cache):
    """`misses`: lines that loads may wait for at once."""

    misses: int = _number(1, 16)


@dataclass(frozen=True, slots=True)
class Tlb:
    """Pages of `page` bytes that are found without a walk, which takes `walk` cycles.

    Only loads that miss L1 ask: what is in L1 has been translated a short while ago.
    """

    entries: int = _number(1, 1 << 16, power_of_two=True)
    ways: int = _number(1, 16, power_of_two=True)
    page: int = _number(1 << 12, 1 << 30, power_of_two=True)
    walk: float = _cycles()

    @property
    def sets(self) -> int:
        return self.entries // self.ways


@dataclass(frozen=True, slots=True)
class InstructionCache(Cache):
    """`miss`: cycles until the line has come from L2."""

    miss: float = _cycles()


@dataclass(frozen=True, slots=True)
class L2:
    """The second level: `latency` is what a load that misses L1 waits longer than one that hits.

    Its bus to L1 is busy for `fill` cycles with a line that was fetched ahead, and for `demand`
    with one that a load asked for.  Which set a line goes to depends on where its page lies in
    physical memory: `contiguous` bytes of virtual memory are so there, and the rest is by chance.
    A store that misses L1 allocates here only: `store` cycles a line on its own path, which may
    run `store_slack` cycles behind, and `store_fill` of the bus.
    """

    size: int = _number(1 << 12, 1 << 26, power_of_two=True)
    ways: int = _number(1, 32, power_of_two=True)
    contiguous: int = _number(1 << 12, 1 << 30, power_of_two=True)
    latency: float = _cycles()
    fill: float = _cycles()
    demand: float = _cycles()
    dirty_victim: float = _cycles()
    store: float = _cycles()
    store_fill: float = _cycles()
    store_slack: float = _cycles()


@dataclass(frozen=True, slots=True)
class Dram:
    """Cycles of a miss, and of the memory bus for a line read, written, and on a change."""

    latency: float = _cycles()
    read: float = _cycles()
    write: float = _cycles()
    turnaround: float = _cycles()


@dataclass(frozen=True, slots=True)
class Streams:
    """Prefetcher: `count` streams, trusted after `train` lines, so many lines ahead."""

    count: int = _number(1, 64)
    train: int = _number(1, 16)
    ahead_l2: int = _number(0, 64)
    ahead_dram: int = _number(0, 64)


@dataclass(frozen=True, slots=True)
class Core:
    """Everything that the cost model knows of a core.  Equal cores time alike.

    >>> core = load_core("x60", ["l1d.size=64K"])
    >>> core.l1d.size, core.l1d.sets, core.vset.to_vector
    (65536, 256, 2)
    """

    name: str
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


_SECTIONS: Final[dict[str, type[Any]]] = {
    "issue": Issue, "branch": Branch, "vset": Vset, "queue": Queue, "vector_unit": VectorUnit,
    "lsu": Lsu, "store_buffer": StoreBuffer, "l1d": DataCache, "l1i": InstructionCache, "tlb": Tlb,
    "l2": L2, "dram": Dram, "streams": Streams,
}  # fmt: skip


def core_names() -> list[str]:
    """Cores that come with rvsim.

    >>> core_names()
    ['x60']
    """
    return sorted(path.stem for path in (data_path("isa") / "cores").glob("*.toml"))


def load_core(name: str = DEFAULT_CORE, overrides: Sequence[str] = ()) -> Core:
    """The core of that name, with overrides: ``l1d.size=64K``, or the path of a TOML file.

    A file holds tables of the same names with the numbers that differ.  RvsimError names a number
    that is unknown or out of range.
    """
    raw = _tables(name)
    for override in overrides:
        overrides_of.apply(raw, override)
    return _parse(raw)


def describe(name: str = DEFAULT_CORE) -> Iterator[tuple[str, Any, str, str]]:
    """(dotted name, value, source, confidence) of every number of a core, but those of cases."""
    yield from _described(_tables(name), (), "", "")


def _described(
    table: Mapping[str, Any], prefix: tuple[str, ...], source: str, confidence: str
) -> Iterator[tuple[str, Any, str, str]]:
    source, confidence = table.get("source", source), table.get("confidence", confidence)
    if "value" in table:
        yield ".".join(prefix), table["value"], source, confidence
        return
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _described(value, (*prefix, key), source, confidence)
        elif isinstance(value, int | float):
            yield ".".join((*prefix, key)), value, source, confidence


def _tables(name: str) -> dict[str, Any]:
    known = core_names()
    if name not in known:
        raise RvsimError(f"unknown core {name!r}", hint=overrides_of.did_you_mean(name, known))
    path = data_path("isa") / "cores" / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8"))


def _parse(raw: Mapping[str, Any]) -> Core:
    sections = {name: _section(name, cls, raw[name]) for name, cls in _SECTIONS.items()}
    core = Core(
        name=raw["name"],
        scalar={unit: read_scalar(f"scalar.{unit}", t) for unit, t in raw["scalar"].items()},
        vector={unit: read_vector(unit, raw["vector"]) for unit in raw["vector"]},
        **sections,
    )
    if 1 << core.branch.history > core.branch.entries:
        raise RvsimError("branch.history is longer than branch.entries can tell apart")
    if core.tlb.ways > core.tlb.entries:
        raise RvsimError("tlb.ways is more than tlb.entries")
    if core.l1d.line != core.l1i.line:
        raise RvsimError("l1d.line and l1i.line differ", hint="set both")
    for name, cache in (("l1d", core.l1d), ("l1i", core.l1i), ("l2", core.l2)):
        if cache.size < cache.ways * core.l1d.line:
            raise RvsimError(
                f"{name}.size = {cache.size} is less than one line of {core.l1d.line} bytes in each"
                f" of its {cache.ways} ways",
                hint=f"set {name}.size to {cache.ways * core.l1d.line} or more",
            )
    return core


def _section(name: str, cls: type[T], table: Mapping[str, Any]) -> T:
    return cls(**{f.name: _checked(f"{name}.{f.name}", f, table) for f in fields(cls)})  # type: ignore[arg-type]


def _checked(dotted: str, number: Field[Any], table: Mapping[str, Any]) -> Any:
    value = table[number.name]
    if isinstance(value, Mapping):
        value = value["value"]
    whole = number.type in ("int", int)
    low, high = number.metadata["low"], number.metadata["high"]
    if not isinstance(value, int if whole else int | float) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise RvsimError(f"{dotted} = {value!r} is not {kind} from {low} to {high}")
    if number.metadata["power_of_two"] and value & (value - 1):
        raise RvsimError(f"{dotted} = {value!r} is not a power of two")
    return value
