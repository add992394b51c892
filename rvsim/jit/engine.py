"""Decides what is hot, compiles it, and gives the interpreter native code to call.

The interpreter counts how often its blocks run.  At the threshold the region around a block is
compiled; from then on the block is entered through `Native.run`, which executes as far as native
code knows and leaves everything exactly where the interpreter goes on.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from llvmlite import ir

from rvsim.interp import Block, Interpreter, Mode
from rvsim.jit.compile import Library, link, object_code
from rvsim.jit.discover import Key, RegionPlan, discover
from rvsim.jit.lower import (
    ENTRY_BYTES,
    TABLE_BITS,
    lower_enter,
    lower_region,
    table_index,
    table_key,
)
from rvsim.mem import PAGE
from rvsim.state import SLOT

THRESHOLD: Final = 200
"""Runs of a block before its region is compiled."""

PATIENCE: Final = 20
"""So many times the threshold for a block that stands in the middle of a region already."""

FUEL_PER_CALL: Final = 20_000_000
"""Instructions before native code returns to Python, so that Ctrl-C and timeouts are noticed."""

_FUEL: Final = SLOT["fuel"]
_SIGNATURE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_uint64, *[ctypes.c_void_p] * 2
)


@cache
def _entry() -> Library:
    """The way into native code, made once in a process."""
    module = ir.Module("enter")
    lower_enter(module, "enter")
    return link(object_code(module), "enter")


@dataclass(slots=True)
class Native:
    """A compiled region, ready to be called on the machine's state."""

    plan: RegionPlan
    library: Library
    run: Callable[[int], int]


class Jit:
    """Compiles hot regions of one interpreter.

    `run` of a block's native code takes the fuel that may be used and returns what was used.
    """

    def __init__(self, interp: Interpreter, threshold: int = THRESHOLD) -> None:
        self.interp = interp
        self.threshold = threshold
        self.regions: list[Native] = []
        self._covered: set[Key] = set()
        self._forgotten: Counter[Key] = Counter()
        self._modes: dict[Mode, int] = {}
        self._table = np.zeros((1 << TABLE_BITS) * ENTRY_BYTES // 8, np.uint64)
        state, memory = interp.state, interp.memory
        self._arguments = (
            state.buffer.ctypes.data,
            memory.data_address,
            memory.perm_address,
            memory.size,
            self._table.ctypes.data,
        )

    def mode_number(self, mode: Mode) -> int:
        """A number for the dispatch table; 0 is kept for "unknown"."""
        return self._modes.setdefault(mode, len(self._modes) + 1)

    def hot(self, block: Block) -> None:
        """Compile the region that begins with this block, if native code can do any of it."""
        pc = block.decoded[0].pc
        rounds = block.runs // self.threshold
        patience = PATIENCE if (pc, block.mode) in self._covered else 1
        if rounds != patience << self._forgotten[pc, block.mode]:
            return
        plan = discover(self.interp, pc, block.mode, everything=self.threshold == 1)
        if not plan.blocks:
            return
        self._covered.update(plan.blocks)
        native = self.compile(plan)
        self.regions.append(native)
        block.native = native.run
        index = 2 * table_index(pc)
        self._table[index] = table_key(pc, self.mode_number(block.mode))
        self._table[index + 1] = native.library.address

    def compile(self, plan: RegionPlan) -> Native:
        """Native code of a region, which nothing leads to yet."""
        for block in plan.blocks.values():
            for mode in block.modes_after:
                self.mode_number(mode)
        module = ir.Module("region")
        lower_region(module, "region", plan, self.interp.config, self._modes)
        library = link(object_code(module), "region")
        return Native(plan, library, self._caller(library))

    def _caller(self, library: Library) -> Callable[[int], int]:
        enter = _SIGNATURE(_entry().address)
        words = self.interp.state.words
        arguments = (*self._arguments, library.address)

        def run(fuel: int) -> int:
            given = min(fuel, FUEL_PER_CALL)
            words[_FUEL] = given
            enter(*arguments)
            left = words[_FUEL]
            words[_FUEL] = 0
            return int(given - left)

        return run

    def forget(self, page: int) -> Collection[Key]:
        """Drop the regions with code in a page that has changed; the blocks that they had.

        Each time, the block that a region begins with has to run twice as often to be compiled
        again: code that keeps changing is better interpreted.
        """
        start, stop = page * PAGE, (page + 1) * PAGE
        blocks: set[Key] = set()
        kept = []
        for native in self.regions:
            if all(end <= start or addr >= stop for addr, end in native.plan.spans()):
                kept.append(native)
                continue
            blocks.update(native.plan.blocks)
            self._forgotten[native.plan.entry] += 1
            index = 2 * table_index(native.plan.entry[0])
            if self._table[index + 1] == native.library.address:
                self._table[index : index + 2] = 0
        self.regions = kept
        self._covered -= blocks
        return blocks
