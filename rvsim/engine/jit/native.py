"""Native code of regions in this process: compiled or from the cache, and linked."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.cache import RegionCache, open_cache
from rvsim.engine.jit.counters import SYMBOL, RegionCounters
from rvsim.engine.jit.discover import RegionPlan
from rvsim.engine.jit.llvm_there import need_llvm
from rvsim.engine.jit.region import CompiledRegion, Covered, numbered_mode
from rvsim.engine.traits import CodeTraits
from rvsim.hart.memory import GuestFault
from rvsim.hart.state import RECORD, RING, SLOT
from rvsim.host.processor import Host, find_host
from rvsim.insn.decode import Decoded

if TYPE_CHECKING:
    # LLVM takes long to be imported: functions do that which need it, when they run.
    from rvsim.cost.ring import Ring
    from rvsim.engine.jit.compile import Library

_RETURNS_AFTER: Final = 0.008
"""Seconds after which native code should be back, so that Ctrl-C and timeouts are noticed."""

_MOST_AT_ONCE: Final = 1 << 30
_ENTER: Final = "enter"
_REGION: Final = "region"
_FUEL: Final = SLOT["fuel"]
_RECORDS_END: Final = SLOT["records_end"]
_SIGNATURE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_uint64, *[ctypes.c_void_p] * 2
)


@dataclass(slots=True)
class FuelSlice:
    """The fuel that native code is given at once; it follows how long instructions take.

    >>> fuel = FuelSlice(20_000)
    >>> fuel.took(20_000, 0.0001)
    >>> fuel.took(160_000, 0.016)
    >>> fuel.insns
    80000
    """

    insns: int = 4_000

    def took(self, used: int, seconds: float) -> None:
        """Adapt to a call that used so much, at most by a factor of 8."""
        if 2 * used >= self.insns:
            factor = _RETURNS_AFTER / max(seconds, _RETURNS_AFTER / 8)
            self.insns = min(max(int(used * factor), 1000), _MOST_AT_ONCE)


class _RegionCall:
    """Calls a region on one machine's state, and keeps its code alive."""

    __slots__ = ("_arguments", "_code", "_enter", "_ring", "_slice", "_words")

    def __init__(
        self,
        enter: Library,
        library: Library,
        words: memoryview,
        arguments: tuple[int, ...],
        fuel: FuelSlice,
        ring: Ring | None,
    ) -> None:
        self._code = enter, library
        self._slice = fuel
        self._ring = ring
        self._enter = _SIGNATURE(enter.address)
        self._words = words
        self._arguments = (*arguments, library.address)

    def __call__(self, fuel: int) -> int:
        words = self._words
        given = min(fuel, self._slice.insns)
        if self._ring is not None:
            given = min(given, self._ring.room())
            words[_RECORDS_END] = self._ring.at + given
        words[_FUEL] = given
        start = time.perf_counter()
        self._enter(*self._arguments)
        used = given - words[_FUEL]
        self._slice.took(used, time.perf_counter() - start)
        words[_FUEL] = 0
        if self._ring is not None:
            self._ring.at += used
        return used


@dataclass(slots=True, eq=False)
class Native:
    """A region in this process.  `run` takes the fuel that may be used, gives what was used."""

    region: CompiledRegion
    library: Library
    run: Callable[[int], int]


class NativeCode:
    """Makes native code for the state of one interpreter, to run on the `host` of this name.

    `counters` are those of all of it.
    """

    def __init__(
        self,
        interp: Interpreter,
        table: int,
        *,
        folder: Path | None,
        counts: bool,
        fuel: FuelSlice,
        host: str | None,
    ) -> None:
        self.interp = interp
        self.counters: list[RegionCounters] = []
        self._folder = folder
        self._fuel = fuel
        self._counts = counts
        self._host_name = host
        state, memory = interp.state, interp.memory
        self._arguments: tuple[int, ...] = (
            state.buffer.ctypes.data,
            memory.data_address,
            memory.perm_address,
            memory.size,
            table,
        )

    @cached_property
    def _host(self) -> Host:
        return find_host(self._host_name)

    @cached_property
    def cache(self) -> RegionCache | None:
        """Opened when the first block asks for it: the configuration is settled by then."""
        if self._folder is None:
            return None
        interp = self.interp
        traits = CodeTraits(
            timing="" if interp.cost is None else repr(interp.cost.core),
            records=interp.ring is not None,
            counts=self._counts,
        )
        return open_cache(interp.config, self._folder, traits)

    def load(self, name: str, entry: tuple[int, int]) -> Native | None:
        """A region of this name and entry from the cache, for the code in memory.

        A file that holds none is dropped, though its digest may be right.  Raises `NoLlvm`, as
        `compile` does.
        """
        if self.cache is None or not self.cache.has(name):
            return None
        need_llvm()
        from rvsim.engine.jit.compile import host_digest

        host = host_digest(self._host)
        region = self.cache.load(name, host, self.interp.memory)
        if region is None:
            return None
        try:
            if not region.begins_at(entry):
                raise ValueError("the region of another entry")
            return self._link(region) if self._is_at_home(region) else None
        except (RuntimeError, ValueError, GuestFault):  # the first is LLVM's
            self.cache.drop(name, host, region)
            return None

    def keep(self, name: str, region: CompiledRegion) -> None:
        """For the next run."""
        if self.cache is not None and self._is_at_home(region):
            from rvsim.engine.jit.compile import host_digest

            self.cache.store(name, host_digest(self._host), region)

    def _is_at_home(self, region: CompiledRegion) -> bool:
        """Whether it counts cycles, if it does, where another run would count them too."""
        cost = self.interp.cost
        return cost is None or all(
            cost.is_at_home(d.pc) for block in region.blocks for d in self._decoded(block)
        )

    def compile(self, plan: RegionPlan) -> Native:
        """The region of a plan, linked."""
        need_llvm()
        from rvsim.engine.jit.compile import object_code
        from rvsim.engine.jit.lower import lower_region
        from rvsim.ir.llvm.build import new_module

        module = new_module(_REGION, self._host)
        arrays = dict(self.interp.state.array_offsets)
        if self.interp.ring is None:
            for name in (RECORD, RING):  # nobody reads what cost programs tell
                arrays.pop(name, None)
        lower_region(module, _REGION, plan, self.interp.config, arrays, counts=self._counts)
        return self._link(CompiledRegion.of(plan, object_code(module)))

    def _link(self, region: CompiledRegion) -> Native:
        from rvsim.engine.jit.compile import link

        library = link(region.code, _REGION, SYMBOL if self._counts else None)
        if self._counts:
            blocks = [(numbered_mode(b.mode), self._decoded(b)) for b in region.blocks]
            self.counters.append(RegionCounters(blocks, library.data, library))
        interp = self.interp
        run = _RegionCall(
            self._enter, library, interp.state.words, self._arguments, self._fuel, interp.ring
        )
        return Native(region, library, run)

    def _decoded(self, block: Covered) -> list[Decoded]:
        """The instructions of a block, whose code is what memory holds now."""
        decoded: list[Decoded] = []
        pc = block.pc
        for _ in range(block.insns):
            decoded.append(self.interp.decode_at(pc))
            pc += decoded[-1].length
        if pc != block.end:
            raise ValueError("a block of another length")
        return decoded

    @cached_property
    def _enter(self) -> Library:
        """The way into native code, which is kept like a region of no guest code."""
        from rvsim.engine.jit.compile import host_digest, link

        memory, host = self.interp.memory, host_digest(self._host)
        kept = None if self.cache is None else self.cache.load(_ENTER, host, memory)
        if self.cache is not None and kept is not None:
            try:
                return link(kept.code, _ENTER)
            except RuntimeError:
                self.cache.drop(_ENTER, host, kept)
        made = CompiledRegion((), sha256().hexdigest(), _enter_code(self._host))
        self.keep(_ENTER, made)
        return link(made.code, _ENTER)


@cache
def _enter_code(host: Host) -> bytes:
    from rvsim.engine.jit.compile import object_code
    from rvsim.engine.jit.lower import lower_enter
    from rvsim.ir.llvm.build import new_module

    module = new_module(_ENTER, host)
    lower_enter(module, _ENTER)
    return object_code(module)
