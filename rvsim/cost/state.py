"""CostState: the model's state, as arrays of words in the hart's state buffer.

Times are fixed-point (`rvsim.cost.formula`) and begin at `EPOCH`, so that subtracting some cycles
never gives a negative time.
"""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.cost.classes import SCALAR_UNITS
from rvsim.cost.core import Core
from rvsim.cost.formula import CYCLE
from rvsim.cost.reasons import REASONS
from rvsim.cost.record import TOLD
from rvsim.hart.state import RECORD
from rvsim.ir import Value

EPOCH: Final = CYCLE << 20

SITES: Final = 1 << 17
"""The most instructions that have their own counters; only used counters take memory."""

_TIMES: Final = (
    "now",  # the cycle in which the last instruction issued
    "vector_at",  # when the last vector instruction issued
    "vset_at",  # when the last vset* issued
    "memory_at",  # when the last memory instruction issued
    "vset_ready",  # when the next vector instruction may issue
    "vector_free",  # when the vector unit is free
    "lsu_free",  # when the load/store unit is free
    "stores_done",  # when stores that have begun have left the load/store unit
    "stored_until",  # when a pure stream of stores would be written
    "end",  # when everything issued is done
    "bus_free",  # L2 to L1
    "store_path_free",  # stores that missed L1, to L2
    "dram_free",
)
_COUNTS: Final = (
    "slots",  # instructions issued in the cycle `now`
    "lsu_why",  # reason of waits for the load/store unit
    "split",  # 1 after a misaligned load, 2 after a misaligned store, that took its extra beats
    "stored",  # beats in the store buffer
    "fetch_line",  # the line of the last instruction
    "history",  # outcomes of the last branches, the latest in the lowest bit
    "level",  # reason of the last miss
    "store_missed",  # bytes of the last store that missed L1
    "missed_line",  # the line of the last store that missed, plus 1
    "eviction",  # cycles that dirty victims add to the next load
    "dram_direction",  # 1 after a write
    "next_stream",  # the stream to replace next
    "extra",  # extra cycles so far of an access, over its lines
    "element_extra",  # extra cycles so far of a strided or indexed access, over its elements
    "start_why",  # the reason of the last wait of a vector instruction for its start
)
_WORDS: Final = {name: i for i, name in enumerate((*_TIMES, *_COUNTS))}


def get(name: str) -> Value:
    """A word of the array ``core``, at this point of the trace."""
    return ir.read_array("core", _WORDS[name])


def put(name: str, value: Value | int) -> None:
    ir.write_array("core", _WORDS[name], value)


def word_index(name: str) -> int:
    """The index of a word in the array ``core``."""
    return _WORDS[name]


def array_lengths(core: Core) -> dict[str, int]:
    """The arrays of a core's CostState, with their lengths in words."""
    l2_lines = core.l2.size // core.l1d.line
    return {
        "core": len(_WORDS),
        # x registers, then f registers: when the value is ready, and the reason of a wait for it
        "ready_x": 64,
        "why_x": 64,
        # when each part of a vector register is ready; per register the reason of a wait for it,
        # and when its last reader is done
        "ready_v": 32 * core.vector_unit.parts,
        "why_v": 32,
        "read_v": 32,
        "unit_free": len(SCALAR_UNITS),
        # the last vector arithmetic instructions, the latest first
        "queue_start": core.queue.depth,
        "queue_why": core.queue.depth,
        "queue_site": core.queue.depth,
        # two-bit counters plus 1 (0 is none): by place; and by place and history, with the place
        "bias": core.branch.entries,
        "pattern": core.branch.entries,
        "target": core.branch.entries,
        "l1i_line": core.l1i.lines,
        "l1i_used": core.l1i.lines,
        "l1d_line": core.l1d.lines,
        "l1d_dirty": core.l1d.lines,
        "l1d_arrival": core.l1d.lines,
        "chance": 1,  # the random number that chooses the L1 line to replace
        # when the last misses of loads end, the latest first
        "missing_until": core.l1d.misses,
        "tlb_line": core.tlb.entries,
        "tlb_used": core.tlb.entries,
        "l2_line": l2_lines,
        "l2_used": l2_lines,
        "l2_dirty": l2_lines,
        "l2_turns": 2,  # uses of lines in L2, and lines of streams that passed since one was kept
        "stream_line": core.streams.count,
        "stream_step": core.streams.count,
        "stream_trained": core.streams.count,
        "stream_near": core.streams.count,
        "stream_far": core.streams.count,
        "sites": SITES * len(REASONS),
        RECORD: len(TOLD),
    }


UNIT_INDEX: Final = {name: i for i, name in enumerate(SCALAR_UNITS)}

_INITIAL_TIMES: Final = (
    "ready_x",
    "ready_v",
    "read_v",
    "unit_free",
    "queue_start",
    "missing_until",
)


def reset(arrays: dict[str, memoryview]) -> None:
    """Set fresh arrays to empty caches and pipelines at time `EPOCH`."""
    for name in _INITIAL_TIMES:
        for i in range(len(arrays[name])):
            arrays[name][i] = EPOCH
    for name in _TIMES:
        arrays["core"][_WORDS[name]] = EPOCH
