"""Decides what is hot, compiles it, and gives the interpreter native code to call.

The interpreter tells of a block when it has run often enough to look for code that was kept, and
later when compiling may pay.  From then on the block is entered through `Native.run`, which
executes as far as native code knows and leaves everything exactly where the interpreter goes on.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rvsim.decode import Decoded
from rvsim.insn.registry import Insn
from rvsim.interp import NEVER, Block, Execution, Interpreter, Mode
from rvsim.jit.cache import RegionCache, entry_name, open_cache
from rvsim.jit.counters import SYMBOL, RegionCounters
from rvsim.jit.discover import Key, RegionPlan, as_step, discover
from rvsim.jit.region import CompiledRegion, Covered, mode_number, numbered_mode
from rvsim.jit.table import DispatchTable
from rvsim.mem import PAGE
from rvsim.state import SLOT

if TYPE_CHECKING:
    from rvsim.jit.compile import Library

THRESHOLD: Final = 2000
"""Runs of scalar code in the interpreter that take as long as compiling it."""

PATIENCE: Final = 4
"""So many times more for a block that stands in the middle of a region already."""

_WARM: Final = 8
"""A block that ran a part of the threshold as small as this is compiled along with a hot one."""

_START: Final = 100
"""LLVM takes as long to be loaded and begin as to compile so many scalar instructions."""

_LOOK: Final = 500
"""Instructions of a block before it is looked for in the cache; linking takes as long as some."""

FUEL_PER_CALL: Final = 20_000_000
"""Instructions before native code returns to Python, so that Ctrl-C and timeouts are noticed."""

_MOST_KEPT: Final = 4096
"""Regions that stay linked when guest code has changed: most often theirs has not."""

_ENTER: Final = "enter"
_REGION: Final = "region"
_FUEL: Final = SLOT["fuel"]
_SIGNATURE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_uint64, *[ctypes.c_void_p] * 2
)

Entry = tuple[int, int]
"""Where a region begins: pc and mode number."""


class _Call:
    """Calls a region on one machine's state, and keeps its code alive."""

    __slots__ = ("_arguments", "_code", "_enter", "_words")

    def __init__(
        self, enter: Library, library: Library, words: memoryview, arguments: tuple[int, ...]
    ) -> None:
        self._code = enter, library
        self._enter = _SIGNATURE(enter.address)
        self._words = words
        self._arguments = (*arguments, library.address)

    def __call__(self, fuel: int) -> int:
        words = self._words
        given = min(fuel, FUEL_PER_CALL)
        words[_FUEL] = given
        self._enter(*self._arguments)
        left = words[_FUEL]
        words[_FUEL] = 0
        return given - left


@dataclass(frozen=True, slots=True, eq=False)
class Native:
    """A region in this process.  `run` takes the fuel that may be used, gives what was used."""

    region: CompiledRegion
    library: Library
    run: Callable[[int], int]


class Jit:
    """Native code for the hot regions of one interpreter.

    With a `threshold` of 1 all code is compiled after it ran once.  `cache` is the folder of the
    cache on disk, if there is to be one.  `compiled` and `loaded` count regions that LLVM compiled
    and that came from the cache; `regions` are those that run.  Only if it `counts` is it known
    what they execute.
    """

    def __init__(
        self,
        interp: Interpreter,
        threshold: int = THRESHOLD,
        *,
        cache: Path | None = None,
        counts: bool = False,
    ) -> None:
        self.interp = interp
        self.threshold = threshold
        self._counts = counts
        self._counters: list[RegionCounters] = []
        self.regions: list[Native] = []
        self.compiled = 0
        self.loaded = 0
        self._cache_folder = cache
        self._kept: dict[Entry, list[Native]] = {}
        self._covered: set[Entry] = set()
        self._forgotten: Counter[Entry] = Counter()
        self._table = DispatchTable()
        state, memory = interp.state, interp.memory
        self._arguments: tuple[int, ...] = (
            state.buffer.ctypes.data,
            memory.data_address,
            memory.perm_address,
            memory.size,
            self._table.address,
        )

    @cached_property
    def _cache(self) -> RegionCache | None:
        """Opened when the first block asks for it: the configuration is settled by then."""
        folder = self._cache_folder
        if folder is None:
            return None
        return open_cache(self.interp.config, folder, counts=self._counts)

    # -- what the interpreter tells

    def begin(self, block: Block) -> None:
        """Look at a new block soon if it may be there, and else when it is hot."""
        if _entry(block) in self._kept or self._cache is not None:
            block.look_at = min(self._hot_at(block), -(-_LOOK // len(block.calls)))
        else:
            block.look_at = self._hot_at(block)

    def hot(self, block: Block) -> None:
        """Enter native code for this block from now on, or say when to ask again."""
        entry = _entry(block)
        native = self._find(block, entry)
        if native is None:
            plan = self._plan(block, entry)
            if plan is None:
                return
            native = self.compile(plan)
            self._keep(block, entry, native)
        self._install(block, entry, native)

    def forget(self, page: int) -> Collection[int]:
        """Lead no more to regions with code in a page that has changed; the pcs they begin at.

        This runs between guest instructions that the interpreter executes, so no native code does.
        It stays linked, to be found again for the same code; but each time its block has to run
        twice as often before other code is compiled for it: what keeps changing is better
        interpreted.
        """
        start, stop = page * PAGE, (page + 1) * PAGE
        gone = [native for native in self.regions if native.region.touches(start, stop)]
        if not gone:
            return ()
        self.regions = [native for native in self.regions if native not in gone]
        for native in gone:
            self._table.remove(native.region.entry[0], native.library.address)
            self._covered.difference_update(block.key for block in native.region.blocks)
            self._forgotten[native.region.entry] += 1
        if sum(map(len, self._kept.values())) > _MOST_KEPT:
            self._kept = {native.region.entry: [native] for native in self.regions}
        return {native.region.entry[0] for native in gone}

    # -- what ran

    def executions(self) -> Iterator[Execution]:
        """What all regions have executed, those that are gone included."""
        for counters in self._counters:
            yield from counters.executions(self.interp.state.vlen)

    def not_compiled(self) -> Counter[str]:
        """Executions by the reference engine of what can't be compiled, but was hot, by name."""
        ran: dict[tuple[int, int, Mode], tuple[Decoded, int]] = {}
        for d, mode, count, _ in self.interp.interpreted():
            key = d.pc, d.word, mode
            ran[key] = d, ran.get(key, (d, 0))[1] + count
        found: Counter[str] = Counter()
        for (_, _, mode), (d, count) in ran.items():
            if d.insn is not None and count >= self._break_even([d.insn]):
                found[d.insn.name] += count if as_step(self.interp, d, mode) is None else 0
        return +found

    # -- code that there is

    def _find(self, block: Block, entry: Entry) -> Native | None:
        for native in self._kept.get(entry, ()):
            if native.region.is_for(self.interp.memory):
                return native
        name = _name(block, entry)
        if self._cache is None or not self._cache.has(name):
            return None
        from rvsim.jit.compile import host_name

        region = self._cache.load(name, host_name(), self.interp.memory)
        if region is None:
            return None
        self.loaded += 1
        native = self._native(region)
        self._kept.setdefault(entry, []).append(native)
        return native

    def _keep(self, block: Block, entry: Entry, native: Native) -> None:
        self._kept.setdefault(entry, []).append(native)
        if self._cache is not None:
            from rvsim.jit.compile import host_name

            self._cache.store(_name(block, entry), host_name(), native.region)

    def _install(self, block: Block, entry: Entry, native: Native) -> None:
        for covered in native.region.blocks:
            self._covered.add(covered.key)
            self.interp.memory.mark_code(covered.pc, covered.end - covered.pc)
        if native not in self.regions:
            self.regions.append(native)
        block.native = native.run
        self._table.insert(*entry, native.library.address)

    # -- code that is worth making

    def _hot_at(self, block: Block) -> int:
        """Runs after which interpreting a block has taken as long as compiling it would."""
        insns = [d.insn for d in block.decoded if d.insn is not None]
        return self._break_even(insns) << self._forgotten[_entry(block)]

    def _break_even(self, insns: Sequence[Insn]) -> int:
        return max(1, self.threshold * _compiling(insns) // max(1, _interpreting(insns)))

    def _plan(self, block: Block, entry: Entry) -> RegionPlan | None:
        """The region of a block if compiling it pays; if not None, and when to ask again is set."""
        at_once = self.threshold <= 1
        hot_at = self._hot_at(block)
        if entry in self._covered:
            self._covered.remove(entry)
            hot_at = block.runs + PATIENCE * hot_at
        if block.runs < hot_at:
            block.look_at = hot_at
            return None
        if not (at_once or self._ran_for_long()):
            block.look_at = 2 * block.runs
            return None
        pc, mode = block.decoded[0].pc, block.mode
        warm = hot_at // _WARM

        def wanted(key: Key) -> bool:
            return at_once or key == (pc, mode) or self._is_warm(key, warm)

        plan = discover(self.interp, pc, mode, wanted=wanted)
        if not plan.blocks:
            block.look_at = NEVER
        elif at_once or self._pays(plan):
            return plan
        else:
            block.look_at = 2 * block.runs
        return None

    def _ran_for_long(self) -> bool:
        return self.interp.state["instret"] >= _START * self.threshold

    def _is_warm(self, key: Key, runs: int) -> bool:
        pc, mode = key
        return (pc, mode_number(mode)) in self._covered or self.interp.runs_at(pc, mode) >= runs

    def _pays(self, plan: RegionPlan) -> bool:
        """Whether interpreting its blocks has taken as long by now as compiling them would."""
        compiling = interpreting = 0
        for (pc, mode), block in plan.blocks.items():
            insns = [s.decoded.insn for s in block.steps if s.decoded.insn is not None]
            compiling += _compiling(insns)
            interpreting += self.interp.runs_at(pc, mode) * _interpreting(insns)
        return interpreting >= self.threshold * compiling

    def compile(self, plan: RegionPlan) -> Native:
        """Native code of a region, which nothing leads to yet."""
        from llvmlite import ir

        from rvsim.jit.compile import object_code
        from rvsim.jit.lower import lower_region

        module = ir.Module(_REGION)
        lower_region(module, _REGION, plan, self.interp.config, counts=self._counts)
        self.compiled += 1
        return self._native(CompiledRegion.of(plan, object_code(module)))

    def _native(self, region: CompiledRegion) -> Native:
        from rvsim.jit.compile import link

        library = link(region.code, _REGION, SYMBOL if self._counts else None)
        if self._counts:
            blocks = [(numbered_mode(b.mode), self._decoded(b)) for b in region.blocks]
            self._counters.append(RegionCounters(blocks, library.data, library))
        words = self.interp.state.words
        return Native(region, library, _Call(self._enter, library, words, self._arguments))

    def _decoded(self, block: Covered) -> list[Decoded]:
        """The instructions of a block, whose code is what memory holds now."""
        decoded: list[Decoded] = []
        pc = block.pc
        for _ in range(block.insns):
            decoded.append(self.interp.decode_at(pc))
            pc += decoded[-1].length
        return decoded

    @cached_property
    def _enter(self) -> Library:
        """The way into native code, which is kept like a region of no guest code."""
        from rvsim.jit.compile import host_name, link

        cache, memory = self._cache, self.interp.memory
        region = None if cache is None else cache.load(_ENTER, host_name(), memory)
        if region is None:
            region = CompiledRegion((), sha256().hexdigest(), _enter_code())
            if cache is not None:
                cache.store(_ENTER, host_name(), region)
        return link(region.code, _ENTER)


@cache
def _enter_code() -> bytes:
    from llvmlite import ir

    from rvsim.jit.compile import object_code
    from rvsim.jit.lower import lower_enter

    module = ir.Module(_ENTER)
    lower_enter(module, _ENTER)
    return object_code(module)


def _entry(block: Block) -> Entry:
    return block.decoded[0].pc, mode_number(block.mode)


def _name(block: Block, entry: Entry) -> str:
    code = b"".join(d.word.to_bytes(d.length, "little") for d in block.decoded)
    return entry_name(*entry, code)


def _interpreting(insns: Iterable[Insn]) -> int:
    """How long interpreting takes, in scalar instructions (docs/performance.md)."""
    return sum(_interpreting_one(insn) for insn in insns)


def _interpreting_one(insn: Insn) -> int:
    if not insn.unit.is_vector:
        return 1
    return 40 if insn.unit.startswith("vf") else 8


def _compiling(insns: Iterable[Insn]) -> int:
    """How long compiling takes, in scalar instructions."""
    return sum(3 if insn.unit.is_vector else 1 for insn in insns)
