"""Blocks: consecutive instructions, bound to calls, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from rvsim.hart.state import State
from rvsim.insn.decode import Decoded
from rvsim.vec.shapes import Known
from rvsim.vec.vtype import VType

NEVER: Final = 1 << 62

Call = Callable[[], None]

Execution = tuple[Decoded, "Mode", int, int]
"""An instruction, the mode it ran in, how often it did, and the sum of vl over that.

The sum has a meaning only for instructions that depend on vl.
"""


@dataclass(frozen=True, slots=True)
class Mode:
    """What blocks are specialised on: the vtype, and what is known of vl and vstart.

    `off` is not 0 where mstatus has turned units off, which only bare-metal images can.
    """

    vtype: VType | None
    elements: Known
    off: int = 0

    @staticmethod
    def of(state: State) -> Mode:
        vtype = VType.decode(state["vtype"])
        off = state["units_off"]
        if state["vstart"]:
            return Mode(vtype, "vstart", off)
        full = vtype is not None and state["vl"] == vtype.vlmax(state.vlen)
        return Mode(vtype, "full" if full else "vl", off)


NO_MODE: Final = Mode(None, "vl")
"""For instructions that depend on no mode."""


@dataclass(slots=True, kw_only=True)
class Runs:
    """How often a block ran.

    `runs` counts whole executions, `vl_sum` adds the vl before each.  `stops` has the same pair for
    those that ended before an instruction: it trapped, or its code has just changed.
    """

    runs: int = 0
    vl_sum: int = 0
    stops: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, other: Runs) -> None:
        """Count what another block of the same code has done."""
        self.runs += other.runs
        self.vl_sum += other.vl_sum
        for done, (count, vl_sum) in other.stops.items():
            before, vl_before = self.stops.get(done, (0, 0))
            self.stops[done] = before + count, vl_before + vl_sum

    def of_each(self, decoded: Sequence[Decoded], mode: Mode) -> Iterator[Execution]:
        """How often each instruction of the block ran, if at all."""
        for i, d in enumerate(decoded):
            ended = [stop for done, stop in self.stops.items() if done > i]
            count = self.runs + sum(n for n, _ in ended)
            if count:
                yield d, mode, count, self.vl_sum + sum(vl for _, vl in ended)


@dataclass(slots=True)
class Block(Runs):
    """Consecutive instructions and how often they ran.

    A block that `reads_counters` is one instruction.  A JIT sets `look_at`, the runs after which it
    looks at the block, and `native`.
    """

    mode: Mode
    decoded: list[Decoded]
    calls: list[Call]
    end: int
    reads_counters: bool
    changes_mode: bool
    look_at: int = NEVER
    native: Callable[[int], int] | None = None

    @property
    def code(self) -> bytes:
        """Its instructions as they stand in memory."""
        return b"".join(d.word.to_bytes(d.length, "little") for d in self.decoded)


class Jit(Protocol):
    """What the interpreter asks of a JIT, which is told of a block when it ran `look_at` times.

    It has to `forget` native code made from a page, and tells at which pcs that began.
    """

    def begin(self, block: Block) -> None:
        """A block is new: say when to be told of it."""

    def hot(self, block: Block) -> None: ...

    def forget(self, page: int) -> Collection[int]: ...

    def stops_changed(self) -> None:
        """Runs stop at other addresses, whose pages have been forgotten."""

    def executions(self) -> Iterator[Execution]: ...

    def not_compiled(self) -> Counter[str]: ...
