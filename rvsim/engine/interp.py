"""The reference engine: generated Python, a basic block at a time.

An instruction is bound once for each pc and vector mode to a Python call.  A block is the calls
up to the next instruction that may change the pc or the mode; straight-line code costs one call
an instruction and nothing else.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rvsim.config import MACHINE, Config
from rvsim.engine.binding import Binder, Effects, namespace
from rvsim.engine.block import Block, Call, Execution, Jit, Mode
from rvsim.engine.blocks import Blocks
from rvsim.engine.observer import INTERPRETED, Need, Observer
from rvsim.hart.memory import PAGE, GuestFault, Memory
from rvsim.hart.state import SLOT, State
from rvsim.hart.traps import PAGE_FAULT, Cause, Trap, without_pages
from rvsim.hart.words import WORD_MASK
from rvsim.insn.decode import Decoded, decode, fetch
from rvsim.insn.isa import isa
from rvsim.insn.notes import NOTES
from rvsim.ir.numpy.runtime import GuestTrap

if TYPE_CHECKING:
    from rvsim.cost.model import CostModel
    from rvsim.cost.ring import Ring

_PC, _INSTRET, _CYCLE = SLOT["pc"], SLOT["instret"], SLOT["cycle"]
_VL, _NOTE = SLOT["vl"], SLOT["note"]
_BLOCK_LIMIT: Final = 64
MOST_DECODED: Final = 1 << 17
"""Decoded instructions that are kept; each takes up to 1 KB, with a cost model up to 4 KB."""

MOST_FUNCTIONS: Final = 1 << 14
"""Generated functions that are kept on one machine."""

_RECENT_BLOCKS: Final = 16
_BLOCKS_BETWEEN_CLOCK_READS: Final = 8


class Interpreter:
    """Runs one hart's code on its state and memory.

    The `observer` gets what it needs (`rvsim.engine.observer`).  `note` receives one line for each
    place with a reserved use that is carried on with.  A `cost` model accounts for each instruction
    before it executes, and for traps too; a ring gets a record of each after that, see
    `begin_anew`.
    """

    def __init__(
        self,
        config: Config,
        state: State,
        memory: Memory,
        *,
        note: Callable[[int, str], None] = lambda pc, text: None,
        observer: Observer | None = None,
        cost: CostModel | None = None,
    ) -> None:
        self.state = state
        self.memory = memory
        self.note = note
        self.cost = cost
        self.observer = observer or Observer()
        needs = self.observer.needs
        self._tells_each = Need.INSTRUCTIONS in needs
        names = namespace(state, memory)
        names |= self.observer.accesses(names, state)
        logs = bool(needs & INTERPRETED)
        self.binder = Binder(config, names, note=note, logs=logs, cost=cost)
        self.isa = isa()
        self._blocks = Blocks(state)
        self._decoded: dict[int, Decoded] = {}
        self._most_decoded = MOST_DECODED if cost is None else MOST_DECODED // 4
        memory.code.listeners.append(self._drop)
        self.jit: Jit | None = None
        self._earlier_jits: list[Jit] = []
        self.interrupted = False
        """A signal handler sets it; the run then stops between instructions, with fuel left."""
        self.stops: frozenset[int] = frozenset()
        """Addresses that a run stops before, see `stop_at`."""
        self._recent: deque[Block] = deque(maxlen=_RECENT_BLOCKS)

    @property
    def config(self) -> Config:
        """What the hart is; whoever changes it does so before the first instruction."""
        return self.binder.config

    @config.setter
    def config(self, config: Config) -> None:
        self.binder.config = config

    @property
    def ring(self) -> Ring | None:
        """Where records go, if any are made."""
        return self.binder.ring

    # -- code that is kept, and forgotten

    def _drop(self, page: int) -> None:
        """Forget what was decoded from a page whose code is changing or gone.

        A block of the page that is running ends after the instruction that it executes.
        """
        start, stop = page * PAGE, (page + 1) * PAGE
        for pc in range(start - 2, stop, 2):
            self._decoded.pop(pc, None)
        native = self.jit.forget(page) if self.jit is not None else ()
        for block in self._blocks.take_out(start, stop, native):
            block.calls[:] = [_code_changed] * len(block.calls)

    def begin_anew(self, ring: Ring | None, jit: Jit | None) -> None:
        """From here on make records in another ring, or none; all code is bound anew."""
        self._blocks.drop_all()
        self.binder.forget()
        if self.jit is not None:
            self._earlier_jits.append(self.jit)
        self.binder.ring, self.jit = ring, jit

    def stop_at(self, stops: Iterable[int]) -> None:
        """Have runs stop before the instructions at these addresses, and at no others.

        Blocks and regions are cut there, so that a run up to one of them is as fast as any.
        """
        new = frozenset(stops)
        changed, self.stops = new ^ self.stops, new
        for page in {pc // PAGE for pc in changed}:
            self._drop(page)
        if self.jit is not None:
            self.jit.stops_changed()

    def _flush(self) -> None:
        """Forget all decoded code, while no block runs: programs may have any amount of code.

        The pages keep their marks, because native code made of them goes on.
        """
        self._blocks.drop_all()
        self._decoded.clear()
        self.binder.forget()

    def decode_at(self, pc: int) -> Decoded:
        """The instruction at `pc`, decoded once; `GuestFault` if it cannot be fetched."""
        found = self._decoded.get(pc)
        if found is None:
            word, length = fetch(self.memory, pc)
            self.memory.mark_code(pc, length)
            found = self._decoded[pc] = decode(word, length, pc, self.isa)
        return found

    def _block(self, pc: int, mode: Mode, limit: int) -> Block:
        self._blocks.settle()
        if len(self._decoded) > self._most_decoded or self.binder.functions > MOST_FUNCTIONS:
            self._flush()
        decoded: list[Decoded] = []
        calls: list[Call] = []
        last = Effects(ends_block=False)
        while not (last.ends_block or last.reads_counters) and len(calls) < limit:
            if calls and pc in self.stops:
                break
            try:
                d = self.decode_at(pc)
            except GuestFault:
                if not calls:
                    raise
                break  # the fault belongs to the next block
            call, effects = self.binder.bind(d, mode)
            if effects.reads_counters and calls:
                break
            decoded.append(d)
            calls.append(call)
            pc += d.length
            last = effects
        block = Block(
            mode,
            decoded,
            calls,
            pc & WORD_MASK,
            reads_counters=last.reads_counters,
            changes_mode=last.changes_mode,
        )
        if self.jit is not None:
            self.jit.begin(block)
        return block

    # -- running

    @np.errstate(all="ignore")
    def run(self, fuel: int, deadline: float | None = None) -> tuple[Trap | None, int]:
        """Execute at most `fuel` instructions: (the trap that stopped it or None, fuel left).

        `deadline` is a `time.monotonic` value; past it the run stops with fuel left and no trap, as
        it does when it has been `interrupted`, and before an instruction of `stops` that is not its
        first.
        """
        s = self.state.words
        blocks = self._blocks.now()
        recent, observer, each = self._recent, self.observer, self._tells_each
        clock = _BLOCKS_BETWEEN_CLOCK_READS
        limit = 1 if each else _BLOCK_LIMIT
        stops, begun = self.stops, fuel
        while fuel > 0:
            pc = s[_PC]
            if stops and pc in stops and fuel != begun:
                break
            block = blocks.whole.get(pc)
            if block is None:
                try:
                    block = blocks.whole[pc] = self._block(pc, blocks.mode, limit)
                    clock = 1  # generating code takes long
                except GuestFault as fault:
                    trap = Trap(PAGE_FAULT["fetch"], pc, fault.addr, "instruction fetch")
                    return self._told(None, trap), fuel
            if len(block.calls) > fuel:
                block = blocks.singles.get(pc)
                if block is None:
                    block = blocks.singles[pc] = self._block(pc, blocks.mode, 1)
            if block.native is not None and (used := block.native(fuel)):
                fuel -= used
                s[_INSTRET] += used
                blocks = self._blocks.now()
                if self._is_over(deadline):
                    break
                continue
            if block.reads_counters and self.cost is None:
                s[_CYCLE] = s[_INSTRET]
            s[_PC] = block.end
            recent.append(block)
            vl = s[_VL]  # only the last instruction of a block changes it
            done = 0
            try:
                for done, call in enumerate(block.calls):  # noqa: B007
                    call()
            except _CodeChanged:
                self._leave(block, done)
                recent[-1] = replace(block, decoded=block.decoded[:done])
                fuel -= done
                continue
            except (GuestTrap, GuestFault) as stop:
                return self._stop(block, done, stop), fuel - done
            count = len(block.calls)
            fuel -= count
            s[_INSTRET] += count
            block.runs += 1
            block.vl_sum += vl
            if each:
                observer.retired(block.decoded[0])
            if block.runs == block.look_at and self.jit is not None:
                self.jit.hot(block)
            if block.changes_mode:
                if s[_NOTE]:
                    self.note(block.decoded[-1].pc, NOTES[s[_NOTE]])
                    s[_NOTE] = 0
                blocks = self._blocks.now()
            clock -= 1
            if not clock:
                clock = _BLOCKS_BETWEEN_CLOCK_READS
                if self._is_over(deadline):
                    break
        return None, fuel

    def again(self) -> Trap | None:
        """Execute the instruction that has trapped once more, without accounting for it again.

        If it does not trap this time, its record says so.
        """
        s = self.state.words
        mode, d = self._blocks.now().mode, self.decode_at(s[_PC])
        call, effects = self.binder.bind_alone(d, mode, timed=False)
        end = (d.pc + d.length) & WORD_MASK
        block = Block(
            mode, [d], [call], end, reads_counters=False, changes_mode=effects.changes_mode
        )
        s[_PC], vl = end, s[_VL]
        trap = None
        try:
            call()
        except (GuestTrap, GuestFault) as stop:
            trap = self._stop(block, 0, stop)
        else:
            s[_INSTRET] += 1
            block.runs, block.vl_sum = 1, vl
            if self.ring is not None:
                self.ring.retire()
            if self._tells_each:
                self.observer.retired(d)
        self._blocks.drop(block)
        return trap

    def _is_over(self, deadline: float | None) -> bool:
        if self.interrupted:
            self.interrupted = False
            return True
        return deadline is not None and time.monotonic() >= deadline

    # -- traps

    def _stop(self, block: Block, done: int, stop: GuestTrap | GuestFault) -> Trap:
        """Make the trap precise: pc at the instruction, instret without it."""
        at = self._leave(block, done)
        if isinstance(stop, GuestFault):
            why = f"{stop.access} page fault"
            return self._told(at, Trap(PAGE_FAULT[stop.access], at.pc, stop.addr, why))
        # mtval of an illegal instruction is the instruction itself, whoever refused it.
        tval = at.word if stop.cause == Cause.ILLEGAL_INSTRUCTION else stop.tval
        return self._told(at, Trap(Cause(stop.cause), at.pc, tval, stop.why))

    def _told(self, d: Decoded | None, trap: Trap) -> Trap:
        """The trap as this hart has it, and as the observer is told: machine mode has no pages."""
        if self.config.has((MACHINE,)):
            trap = replace(trap, cause=without_pages(trap.cause))
        self.observer.trapped(d, trap)
        return trap

    def _leave(self, block: Block, done: int) -> Decoded:
        """Put the state before instruction `done` of a block, and count the ones before it."""
        s = self.state.words
        at = block.decoded[done]
        s[_PC] = at.pc
        s[_INSTRET] += done
        count, vl_sum = block.stops.get(done, (0, 0))
        block.stops[done] = count + 1, vl_sum + s[_VL]
        return at

    # -- what ran

    def runs_at(self, pc: int, mode: Mode) -> int:
        """How often the block at `pc` ran in this mode."""
        return self._blocks.runs_at(pc, mode)

    def recent(self, count: int) -> list[Decoded]:
        """The last instructions executed, the latest last, before the current pc."""
        done: list[Decoded] = []
        stop_pc = self.state["pc"]
        for block in self._recent:
            done += block.decoded
        last = self._recent[-1].decoded if self._recent else []
        unexecuted = next((len(last) - i for i, d in enumerate(last) if d.pc == stop_pc), 0)
        return done[: len(done) - unexecuted][-count:]

    def executions(self) -> Iterator[Execution]:
        """Executions of all that has run; an instruction in several blocks comes several times.

        Compiled code is among them only if the JIT counts.
        """
        yield from self.interpreted()
        for jit in (*self._earlier_jits, self.jit):
            if jit is not None:
                yield from jit.executions()

    def interpreted(self) -> Iterator[Execution]:
        """Executions by this engine alone."""
        yield from self._blocks.executions()


class _CodeChanged(Exception):
    """The instruction before this one in a block has changed code of the block."""


def _code_changed() -> None:
    raise _CodeChanged
