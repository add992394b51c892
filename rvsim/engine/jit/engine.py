"""Decides what is hot, and gives the interpreter native code to call.

The interpreter tells of a block when it has run often enough to look for code that was kept, and
later when compiling may pay.  From then on the block is entered through `Native.run`, which
executes as far as native code knows and leaves everything exactly where the interpreter goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

from rvsim.engine.block import NEVER, Block, Execution, Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.cache import entry_name
from rvsim.engine.jit.discover import Key, RegionPlan, as_step, discover
from rvsim.engine.jit.llvm_there import NoLlvm
from rvsim.engine.jit.native import FuelSlice, Native, NativeCode
from rvsim.engine.jit.region import mode_number
from rvsim.engine.jit.table import DispatchTable
from rvsim.engine.jit.when_to_compile import (
    PATIENCE,
    THRESHOLD,
    WARM,
    break_even,
    pays,
    starting_pays,
)
from rvsim.hart.memory import PAGE
from rvsim.insn.decode import Decoded

_LOOK: Final = 500
"""Instructions of a block before it is looked for in the cache; linking takes as long as some."""

_MOST_KEPT: Final = 4096
"""Regions that stay linked when guest code has changed: most often theirs has not."""

Entry = tuple[int, int]
"""Where a region begins: pc and mode number."""


class Jit:
    """Native code for the hot regions of one interpreter.

    With a `threshold` of 1 all code is compiled after it ran once.  `cache` is the folder of the
    cache on disk, if there is to be one.  `compiled` and `loaded` count regions that LLVM compiled
    and that came from the cache; `regions` are those that run.  Only if it `counts` is it known
    what they execute.  `fuel` says how much of it they are given at once, `host` for what
    processor (`rvsim.host.processor`) they are compiled.  Where LLVM can't be used, nothing is
    compiled, and `note` is told why.
    """

    def __init__(
        self,
        interp: Interpreter,
        threshold: int = THRESHOLD,
        *,
        cache: Path | None = None,
        counts: bool = False,
        fuel: FuelSlice | None = None,
        host: str | None = None,
        note: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.interp = interp
        self._note = note
        self._is_off = False
        self.threshold = threshold
        self.regions: list[Native] = []
        self.compiled = 0
        self.loaded = 0
        self._kept: dict[Entry, list[Native]] = {}
        self._covered: set[Entry] = set()
        self._forgotten: Counter[Entry] = Counter()
        self._table = DispatchTable()
        self._code = NativeCode(
            interp,
            self._table.address,
            folder=cache,
            counts=counts,
            fuel=fuel or FuelSlice(),
            host=host,
        )

    # -- what the interpreter tells

    def begin(self, block: Block) -> None:
        """Look at a new block soon if it may be there, and else when it is hot."""
        if self._is_off:
            block.look_at = NEVER
        elif _entry(block) in self._kept or self._code.cache is not None:
            block.look_at = min(self._hot_at(block), -(-_LOOK // len(block.calls)))
        else:
            block.look_at = self._hot_at(block)

    def hot(self, block: Block) -> None:
        """Enter native code for this block from now on, or say when to ask again."""
        try:
            self._enter_natively(block)
        except NoLlvm as reason:
            block.look_at = NEVER
            if not self._is_off:
                self._is_off = True
                self._note(f"no code is compiled: {reason}: the reference engine runs on")

    def _enter_natively(self, block: Block) -> None:
        entry = _entry(block)
        native = self._find(block, entry)
        if native is None:
            plan = self._plan(block, entry)
            if plan is None:
                return
            native = self.compile(plan)
            self._kept.setdefault(entry, []).append(native)
            if not self.interp.stops:  # code that is cut at stops is for this run only
                self._code.keep(_name(block, entry), native.region)
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

    def stops_changed(self) -> None:
        """Find no more what is cut at stops that there may be no longer."""
        self._kept = {native.region.entry: [native] for native in self.regions}

    # -- what ran

    def executions(self) -> Iterator[Execution]:
        """What all regions have executed, those that are gone included."""
        for counters in self._code.counters:
            yield from counters.executions(self.interp.state.vlen)

    def not_compiled(self) -> Counter[str]:
        """Executions by the reference engine of what can't be compiled, but was hot, by name."""
        ran: dict[tuple[int, int, Mode], tuple[Decoded, int]] = {}
        for d, mode, count, _ in self.interp.interpreted():
            key = d.pc, d.word, mode
            ran[key] = d, ran.get(key, (d, 0))[1] + count
        found: Counter[str] = Counter()
        for (_, _, mode), (d, count) in ran.items():
            if d.insn is not None and count >= break_even([d.insn], self.threshold):
                found[d.insn.name] += count if as_step(self.interp, d, mode) is None else 0
        return +found

    # -- code that there is

    def _find(self, block: Block, entry: Entry) -> Native | None:
        for native in self._kept.get(entry, ()):
            if self._may_run(native):
                return native
        loaded = self._code.load(_name(block, entry), entry)
        if loaded is not None and self._may_run(loaded):
            self.loaded += 1
            self._kept.setdefault(entry, []).append(loaded)
            return loaded
        return None

    def _may_run(self, native: Native) -> bool:
        """Whether it is for the code that there is, and runs past no stop."""
        region = native.region
        stopped = any(region.touches(pc, pc + 1) for pc in self.interp.stops)
        return not stopped and region.is_for(self.interp.memory)

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
        return break_even(insns, self.threshold) << self._forgotten[_entry(block)]

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
        if not (at_once or starting_pays(self.interp, block, self.threshold)):
            block.look_at = 2 * block.runs
            return None
        pc, mode = block.decoded[0].pc, block.mode
        warm = hot_at // WARM

        def wanted(key: Key) -> bool:
            return at_once or key == (pc, mode) or self._is_warm(key, warm)

        plan = discover(self.interp, pc, mode, wanted=wanted)
        if not plan.blocks:
            block.look_at = NEVER
        elif at_once or pays(plan, self.interp, self.threshold):
            return plan
        else:
            block.look_at = 2 * block.runs
        return None

    def _is_warm(self, key: Key, runs: int) -> bool:
        pc, mode = key
        return (pc, mode_number(mode)) in self._covered or self.interp.runs_at(pc, mode) >= runs

    def compile(self, plan: RegionPlan) -> Native:
        """Native code of a region, which nothing leads to yet."""
        native = self._code.compile(plan)
        self.compiled += 1
        return native


def _entry(block: Block) -> Entry:
    return block.decoded[0].pc, mode_number(block.mode)


def _name(block: Block, entry: Entry) -> str:
    code = b"".join(d.word.to_bytes(d.length, "little") for d in block.decoded)
    return entry_name(*entry, code)
