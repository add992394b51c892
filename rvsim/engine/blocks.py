"""The blocks of one hart by mode and pc, and the counts of dropped ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from rvsim.engine.block import Block, Execution, Mode, Runs
from rvsim.hart.state import SLOT, State
from rvsim.insn.decode import decode_all
from rvsim.vec.vtype import VILL

_VL, _VTYPE, _VSTART = SLOT["vl"], SLOT["vtype"], SLOT["vstart"]
_UNITS_OFF: Final = SLOT["units_off"]


@dataclass(slots=True)
class ModeBlocks:
    """Blocks of one mode by their pc; `singles` are those of one instruction."""

    mode: Mode
    whole: dict[int, Block] = field(default_factory=dict)
    singles: dict[int, Block] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Block]:
        yield from self.whole.values()
        yield from self.singles.values()


class Blocks:
    """All blocks of a hart.  Those that are dropped may still run: `settle` comes later."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._by_mode: dict[tuple[int, str, int], ModeBlocks] = {}
        self._by_state: dict[tuple[int, int, bool, int], ModeBlocks] = {}
        self._dropped: list[Block] = []
        self._settled: dict[tuple[int, bytes, Mode], Runs] = {}
        """Counts of dropped blocks by pc, code and mode, which take less room than the blocks."""

    def now(self) -> ModeBlocks:
        """The blocks of the mode that the state is in."""
        s = self._state.words
        mode_state = (s[_VTYPE], s[_VL], s[_VSTART] != 0, s[_UNITS_OFF])
        found = self._by_state.get(mode_state)
        if found is None:
            mode = Mode.of(self._state)
            key = s[_VTYPE], mode.elements, mode.off
            found = self._by_mode.setdefault(key, ModeBlocks(mode))
            self._by_state[mode_state] = found
        return found

    def runs_at(self, pc: int, mode: Mode) -> int:
        """How often the block at `pc` ran in this mode."""
        vtype = VILL if mode.vtype is None else mode.vtype.encode()
        blocks = self._by_mode.get((vtype, mode.elements, mode.off))
        block = None if blocks is None else blocks.whole.get(pc)
        return 0 if block is None else block.runs

    def take_out(self, start: int, stop: int, natively: Collection[int]) -> Iterator[Block]:
        """Drop the blocks with code in a span, and those at pcs where native code began."""
        for blocks in self._by_mode.values():
            for table in (blocks.whole, blocks.singles):
                for pc, block in list(table.items()):
                    if (pc < stop and block.end > start) or pc in natively:
                        del table[pc]
                        self._dropped.append(block)
                        yield block

    def drop(self, block: Block) -> None:
        """Keep the counts of a block that is in no table."""
        self._dropped.append(block)

    def drop_all(self) -> None:
        """Drop every block, none of which is running."""
        for blocks in self._by_mode.values():
            self._dropped += blocks
            blocks.whole.clear()
            blocks.singles.clear()
        self.settle()
        self._by_state.clear()

    def settle(self) -> None:
        """Keep the counts of dropped blocks, none of which runs any more."""
        for block in self._dropped:
            if block.runs or block.stops:
                key = block.decoded[0].pc, block.code, block.mode
                self._settled.setdefault(key, Runs()).add(block)
        self._dropped.clear()

    def executions(self) -> Iterator[Execution]:
        """Executions of all that has run; an instruction in several blocks comes several times."""
        self.settle()
        for (pc, content, mode), runs in self._settled.items():
            yield from runs.of_each(decode_all(content, pc), mode)
        for blocks in self._by_mode.values():
            for block in blocks:
                yield from block.of_each(block.decoded, block.mode)
