"""The reference engine: generated Python, a basic block at a time.

An instruction is bound once for each pc and vector mode to a Python call.  A block is the calls
up to the next instruction that may change the pc or the mode; straight-line code costs one call
an instruction and nothing else.
"""

from __future__ import annotations

import functools
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from rvsim.config import MACHINE, Config
from rvsim.hart.lanes import LaneAccess
from rvsim.hart.memory import PAGE, GuestFault, Memory
from rvsim.hart.state import SLOT, State
from rvsim.hart.traps import PAGE_FAULT, Cause, Trap, without_pages
from rvsim.insn.base import csrs
from rvsim.insn.base.units_off import unit_off
from rvsim.insn.decode import Decoded, decode, decode_all, fetch, problems, refusal
from rvsim.insn.isa import isa
from rvsim.insn.notes import NOTES
from rvsim.insn.registry import Context, Insn
from rvsim.insn.units import Unit
from rvsim.ir import Program
from rvsim.ir.accesses import noting_access
from rvsim.ir.numpy.backend import compile_python
from rvsim.ir.numpy.host import host_operation
from rvsim.ir.numpy.runtime import NAMESPACE, GuestTrap
from rvsim.vec.shapes import Known
from rvsim.vec.vtype import VILL, VType

if TYPE_CHECKING:
    from rvsim.cost.model import CostModel
    from rvsim.cost.ring import Ring

_M64: Final = (1 << 64) - 1
_PC, _INSTRET, _CYCLE = SLOT["pc"], SLOT["instret"], SLOT["cycle"]
_VL, _VTYPE, _VSTART, _NOTE = SLOT["vl"], SLOT["vtype"], SLOT["vstart"], SLOT["note"]
_UNITS_OFF: Final = SLOT["units_off"]
_BLOCK_LIMIT: Final = 64
MOST_DECODED: Final = 1 << 17
"""Instructions that are kept decoded; each takes up to a kilobyte, with a cost model up to four."""

MOST_FUNCTIONS: Final = 1 << 14
"""Of generated code that are kept on one machine."""

_RECENT_BLOCKS: Final = 16
_BLOCKS_BETWEEN_CLOCK_READS: Final = 8
NEVER: Final = 1 << 62
_CHANGES_FLOW: Final = frozenset({"pc", "vl", "vtype"})
_CHANGES_MODE: Final = frozenset({"vl", "vtype", "vstart", "units_off"})
_ENDS_BLOCK: Final = frozenset({Unit.CSR, Unit.SYSTEM, Unit.FENCE, Unit.VSET})
_COUNTERS: Final = frozenset({"instret", "cycle"})
CYCLE_NOTE: Final = "cycle and time count instructions: there is no cost model, cycle = instret"

Call = Callable[[], None]

Execution = tuple[Decoded, "Mode", int, int]
"""An instruction, the mode it ran in, how often it did, and the sum of vl over that.

The sum is that of an instruction that depends on vl; others may have any number there.
"""


class Jit(Protocol):
    """What the interpreter asks of a JIT, which is told of a block when it ran `look_at` times.

    It has to `forget` native code made from a page, and tells at which pcs that began.
    """

    def begin(self, block: Block) -> None:
        """A block is new: say when to be told of it."""

    def hot(self, block: Block) -> None: ...

    def forget(self, page: int) -> Collection[int]: ...

    def executions(self) -> Iterator[Execution]: ...

    def not_compiled(self) -> Counter[str]: ...


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


@dataclass(frozen=True, slots=True)
class Effects:
    """What a block has to know of an instruction."""

    ends_block: bool
    changes_mode: bool = False
    reads_counters: bool = False
    reads_cycle: bool = False


_REFUSED: Final = Effects(ends_block=True)


@dataclass(frozen=True, slots=True)
class Generated:
    """Code that defines a function `insn` of `params`."""

    code: CodeType
    params: tuple[str, ...]
    effects: Effects


@dataclass(frozen=True, slots=True)
class Compiled:
    """Generated code as a function on one machine."""

    function: Callable[..., None]
    generated: Generated

    @property
    def params(self) -> tuple[str, ...]:
        return self.generated.params


@dataclass(slots=True)
class _ModeCode:
    mode: Mode
    blocks: dict[int, Block] = field(default_factory=dict)
    singles: dict[int, Block] = field(default_factory=dict)


def namespace(state: State, memory: Memory) -> dict[str, Any]:
    """Globals for generated code: one machine's state and memory, and the runtime."""
    lanes = LaneAccess(memory)
    names: dict[str, Any] = {
        **NAMESPACE,
        "host_operation": host_operation,
        "s": state.words,
        "load_run": lanes.load_run,
        "load_at": lanes.load_at,
        "store_run": lanes.store_run,
        "store_at": lanes.store_at,
    }
    for width in (8, 16, 32, 64):
        names[f"v{width}"] = state.vfile.view(f"u{width // 8}")
        names[f"vl{width}"] = state.vlen // width
        names[f"load{width // 8}"] = getattr(memory, f"load{width // 8}")
        names[f"store{width // 8}"] = getattr(memory, f"store{width // 8}")
    return names


@functools.lru_cache(maxsize=8192)
def _program(
    insn: Insn, statics: tuple[tuple[str, int], ...], config: Config, mode: Mode, recorded: bool
) -> Program:
    program = insn.trace(Context(insn, config, dict(statics), mode.vtype, mode.elements))
    return noting_access(program) if recorded else program


@functools.lru_cache(maxsize=8192)
def _generated(
    insn: Insn,
    statics: tuple[tuple[str, int], ...],
    config: Config,
    mode: Mode,
    *,
    events: bool,
    recorded: bool,
) -> Generated:
    zero = frozenset(n.removesuffix("=0") for n, v in statics if n.endswith("=0") and v)
    program = _program(insn, statics, config, mode, recorded)
    source = compile_python(program, zero=zero, events=events, host=config.host_float)
    reads, writes = program.reads(), program.writes()
    changes_flow = not writes.isdisjoint(_CHANGES_FLOW)
    effects = Effects(
        ends_block=changes_flow or insn.unit in _ENDS_BLOCK or mode.elements == "vstart",
        changes_mode=mode.elements == "vstart" or not writes.isdisjoint(_CHANGES_MODE),
        reads_counters=not reads.isdisjoint(_COUNTERS),
        reads_cycle="cycle" in reads,
    )
    return Generated(compile(source, f"<{insn.name}>", "exec"), program.params(), effects)


def static_fields(insn: Insn, fields: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The fields, and the x0-ness of registers, that a trace of the instruction depends on."""
    statics = [(name, fields[name]) for name in insn.statics]
    for operand in {"rd", *insn.zeros}:
        source = insn.source(operand)
        if isinstance(source, int):
            statics.append((f"{operand}=0", int(source == 0)))
        elif source in fields:
            statics.append((f"{operand}=0", int(fields[source] == 0)))
    return tuple(sorted(statics))


class Interpreter:
    """Runs one hart's code on its state and memory.

    `note` receives one line for each place with a reserved use that is carried on with.
    `names` may replace entries of `namespace`, which is how counters and events listen.  With
    `retired` blocks are one instruction, register writes are logged (`compile_python`), and it is
    called after each; `trapped` is called for an instruction that traps instead, ecall included.
    A `cost` model accounts for each instruction before it executes, and for traps too; a ring gets
    a record of each behind that, see `begin_anew`.
    """

    def __init__(
        self,
        config: Config,
        state: State,
        memory: Memory,
        *,
        note: Callable[[int, str], None] = lambda pc, text: None,
        names: Mapping[str, Any] | None = None,
        retired: Callable[[Decoded], None] | None = None,
        trapped: Callable[[Trap], None] = lambda trap: None,
        cost: CostModel | None = None,
    ) -> None:
        self.config = config
        self.state = state
        self.memory = memory
        self.note = note
        self.retired = retired
        self.trapped = trapped
        self.cost = cost
        self.ring: Ring | None = None
        self._remarks: set[str] = set() if cost is None else {CYCLE_NOTE}
        """What has been said of the counters, or need not be."""
        self.isa = isa()
        self._names = {**namespace(state, memory), **(names or {})}
        self._functions: dict[tuple[Any, ...], Compiled] = {}
        self._modes: dict[tuple[int, str, int], _ModeCode] = {}
        self._code_for: dict[tuple[int, int, bool, int], _ModeCode] = {}
        self._decoded: dict[int, Decoded] = {}
        self._most_decoded = MOST_DECODED if cost is None else MOST_DECODED // 4
        self._dropped: list[Block] = []
        self._settled: dict[tuple[int, bytes, Mode], Runs] = {}
        """What dropped blocks have done by their pc, code and mode: decoded it takes much room."""
        memory.code.listeners.append(self._drop)
        self.jit: Jit | None = None
        self._earlier_jits: list[Jit] = []
        self.interrupted = False
        """Set by a signal handler, to have the run stop between instructions, with fuel left."""
        self._recent: deque[Block] = deque(maxlen=_RECENT_BLOCKS)

    # -- binding

    def _drop(self, page: int) -> None:
        """Forget what was decoded from a page whose code is changing or gone.

        If that happens while one of its blocks runs, the block goes on no further than the
        instruction that is being executed.
        """
        start, stop = page * PAGE, (page + 1) * PAGE
        for pc in range(start - 2, stop, 2):
            self._decoded.pop(pc, None)
        native = self.jit.forget(page) if self.jit is not None else ()
        for code in self._modes.values():
            for blocks in (code.blocks, code.singles):
                for pc, block in list(blocks.items()):
                    inside = pc < stop and block.end > start
                    if inside or pc in native:
                        del blocks[pc]
                        block.calls[:] = [_code_changed] * len(block.calls)
                        self._dropped.append(block)

    def begin_anew(self, ring: Ring | None, jit: Jit | None) -> None:
        """Make records in another ring, or none, from here on: all code is bound anew for that."""
        for code in self._modes.values():
            self._dropped += [*code.blocks.values(), *code.singles.values()]
        self._settle()
        self._modes.clear()
        self._code_for.clear()
        self._functions.clear()
        if self.jit is not None:
            self._earlier_jits.append(self.jit)
        self.ring, self.jit = ring, jit

    def _settle(self) -> None:
        """Keep of dropped blocks, none of them still running, what they have done."""
        for block in self._dropped:
            if block.runs or block.stops:
                key = block.decoded[0].pc, block.code, block.mode
                self._settled.setdefault(key, Runs()).add(block)
        self._dropped.clear()

    def _flush(self) -> None:
        """Forget all that was decoded, which no block is running: programs may have any much.

        The pages keep their marks, since native code that was made of them goes on.
        """
        for code in self._modes.values():
            self._dropped += [*code.blocks.values(), *code.singles.values()]
            code.blocks.clear()
            code.singles.clear()
        self._settle()
        self._decoded.clear()
        self._code_for.clear()
        self._functions.clear()

    def _bind(self, d: Decoded, mode: Mode) -> tuple[Call, Effects]:
        call, effects = self._bind_alone(d, mode)
        if self.ring is not None and self.cost is not None:
            call = _recorded(self.ring, self.cost.site(d.pc), call, d.word)
        return call, effects

    def _bind_alone(self, d: Decoded, mode: Mode, *, timed: bool = True) -> tuple[Call, Effects]:
        if d.insn is None:
            return self._illegal(d, _no_instruction(d)), _REFUSED
        if mode.off:
            off = unit_off(d.insn, d.fields, mode.off)
            if off is not None:
                return self._illegal(d, off), _REFUSED
            mode = replace(mode, off=0)
        found = problems(d.insn, d.fields, mode.vtype, self.config)
        refused = refusal(found, self.config)
        if refused is not None:
            return self._illegal(d, str(refused)), _REFUSED
        for violation in found:
            self.note(d.pc, str(violation))
        compiled = self.compiled(d.insn, d.fields, mode)
        effects = compiled.generated.effects
        if effects.reads_cycle:
            self._remark(d.pc, CYCLE_NOTE)
        if "csr" in d.fields:
            self._remark(d.pc, csrs.note(self.config, d.fields["csr"]))
        arguments = [(d.pc if p == "pc" else d.fields[p]) & _M64 for p in compiled.params]
        call: Call = functools.partial(compiled.function, *arguments)
        if timed and self.cost is not None:
            call = self._timed(self.cost, call, d, mode)
        return call, effects

    def _remark(self, pc: int, text: str | None) -> None:
        """Say something of the counters, once a run."""
        if text is not None and text not in self._remarks:
            self._remarks.add(text)
            self.note(pc, text)

    def _timed(self, cost: CostModel, call: Call, d: Decoded, mode: Mode) -> Call:
        """The call, with what it costs accounted for in front of it."""
        assert d.insn is not None
        context = self.context(d.insn, d.fields, mode)
        program = self.program(d.insn, d.fields, mode)
        account = cost.bind(context, d.fields, d.pc, program, self._names)
        if account is None:
            return call

        def timed() -> None:
            account()
            call()

        return timed

    def _illegal(self, d: Decoded, why: str) -> Call:
        def refuse() -> None:
            raise GuestTrap(Cause.ILLEGAL_INSTRUCTION, 0, why)

        return refuse

    def compiled(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Compiled:
        """The generated function of an instruction, made once for its static fields and mode."""
        statics = static_fields(insn, fields)
        mode = mode if insn.vregs or insn.vector else _NO_MODE
        key = (insn.name, statics, mode)
        found = self._functions.get(key)
        if found is None:
            generated = _generated(
                insn,
                statics,
                self.config,
                mode,
                events=self.retired is not None,
                recorded=self.ring is not None,
            )
            exec(generated.code, self._names)
            found = self._functions[key] = Compiled(self._names.pop("insn"), generated)
        return found

    def program(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Program:
        """The program of an instruction for its static fields and a mode."""
        mode = mode if insn.vregs or insn.vector else _NO_MODE
        statics = static_fields(insn, fields)
        return _program(insn, statics, self.config, mode, self.ring is not None)

    def context(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Context:
        """What the program of an instruction is specialised on."""
        statics = dict(static_fields(insn, fields))
        return Context(insn, self.config, statics, mode.vtype, mode.elements)

    def timing(self, d: Decoded, mode: Mode) -> tuple[Program | None, Mapping[str, int]]:
        """The cost program of an instruction, if there is any, and what programs know of it."""
        assert d.insn is not None
        if self.cost is None:
            return None, {**d.fields, "pc": d.pc}
        context = self.context(d.insn, d.fields, mode)
        timed = self.cost.program(context, self.program(d.insn, d.fields, mode))
        return timed, self.cost.fields(context, d.fields, d.pc)

    def decode_at(self, pc: int) -> Decoded:
        """The instruction at `pc`, decoded once; `GuestFault` if it cannot be fetched."""
        found = self._decoded.get(pc)
        if found is None:
            word, length = fetch(self.memory, pc)
            self.memory.mark_code(pc, length)
            found = self._decoded[pc] = decode(word, length, pc, self.isa)
        return found

    def _block(self, pc: int, mode: Mode, limit: int) -> Block:
        self._settle()
        if len(self._decoded) > self._most_decoded or len(self._functions) > MOST_FUNCTIONS:
            self._flush()
        decoded: list[Decoded] = []
        calls: list[Call] = []
        last = Effects(ends_block=False)
        while not (last.ends_block or last.reads_counters) and len(calls) < limit:
            try:
                d = self.decode_at(pc)
            except GuestFault:
                if not calls:
                    raise
                break  # the fault belongs to the next block
            call, effects = self._bind(d, mode)
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
            pc & _M64,
            reads_counters=last.reads_counters,
            changes_mode=last.changes_mode,
        )
        if self.jit is not None:
            self.jit.begin(block)
        return block

    def runs_at(self, pc: int, mode: Mode) -> int:
        """How often the block at `pc` ran in this mode."""
        vtype = VILL if mode.vtype is None else mode.vtype.encode()
        code = self._modes.get((vtype, mode.elements, mode.off))
        block = None if code is None else code.blocks.get(pc)
        return 0 if block is None else block.runs

    # -- running

    def _mode_code(self) -> _ModeCode:
        s = self.state.words
        mode_state = (s[_VTYPE], s[_VL], s[_VSTART] != 0, s[_UNITS_OFF])
        found = self._code_for.get(mode_state)
        if found is None:
            mode = Mode.of(self.state)
            found = self._modes.setdefault((s[_VTYPE], mode.elements, mode.off), _ModeCode(mode))
            self._code_for[mode_state] = found
        return found

    @np.errstate(all="ignore")
    def run(self, fuel: int, deadline: float | None = None) -> tuple[Trap | None, int]:
        """Execute at most `fuel` instructions: (the trap that stopped it or None, fuel left).

        `deadline` is a `time.monotonic` value; past it the run stops with fuel left and no trap, as
        it does when it has been `interrupted`.
        """
        s = self.state.words
        code = self._mode_code()
        recent, retired = self._recent, self.retired
        clock = _BLOCKS_BETWEEN_CLOCK_READS
        limit = _BLOCK_LIMIT if retired is None else 1
        while fuel > 0:
            pc = s[_PC]
            block = code.blocks.get(pc)
            if block is None:
                try:
                    block = code.blocks[pc] = self._block(pc, code.mode, limit)
                    clock = 1  # generating code takes long
                except GuestFault as fault:
                    cause = self._cause(PAGE_FAULT["fetch"])
                    trap = Trap(cause, pc, fault.addr, "instruction fetch")
                    self.trapped(trap)
                    return trap, fuel
            if len(block.calls) > fuel:
                block = code.singles.get(pc)
                if block is None:
                    block = code.singles[pc] = self._block(pc, code.mode, 1)
            if block.native is not None and (used := block.native(fuel)):
                fuel -= used
                s[_INSTRET] += used
                code = self._mode_code()
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
                trap = self._stop(block, done, stop)
                self.trapped(trap)
                return trap, fuel - done
            count = len(block.calls)
            fuel -= count
            s[_INSTRET] += count
            block.runs += 1
            block.vl_sum += vl
            if retired is not None:
                retired(block.decoded[0])
            if block.runs == block.look_at and self.jit is not None:
                self.jit.hot(block)
            if block.changes_mode:
                if s[_NOTE]:
                    self.note(block.decoded[-1].pc, NOTES[s[_NOTE]])
                    s[_NOTE] = 0
                code = self._mode_code()
            clock -= 1
            if not clock:
                clock = _BLOCKS_BETWEEN_CLOCK_READS
                if self._is_over(deadline):
                    break
        return None, fuel

    def again(self) -> Trap | None:
        """Execute the instruction that has trapped once more: it has been accounted for.

        If it does not trap now, its record is that of an instruction that has not.
        """
        s = self.state.words
        mode, d = self._mode_code().mode, self.decode_at(s[_PC])
        call, effects = self._bind_alone(d, mode, timed=False)
        end = (d.pc + d.length) & _M64
        block = Block(
            mode, [d], [call], end, reads_counters=False, changes_mode=effects.changes_mode
        )
        s[_PC], vl = end, s[_VL]
        trap = None
        try:
            call()
        except (GuestTrap, GuestFault) as stop:
            trap = self._stop(block, 0, stop)
            self.trapped(trap)
        else:
            s[_INSTRET] += 1
            block.runs, block.vl_sum = 1, vl
            if self.ring is not None:
                self.ring.retire()
            if self.retired is not None:
                self.retired(d)
        self._dropped.append(block)
        return trap

    def _is_over(self, deadline: float | None) -> bool:
        if self.interrupted:
            self.interrupted = False
            return True
        return deadline is not None and time.monotonic() >= deadline

    def _stop(self, block: Block, done: int, stop: GuestTrap | GuestFault) -> Trap:
        """Make the trap precise: pc at the instruction, instret without it."""
        at = self._leave(block, done)
        if isinstance(stop, GuestFault):
            cause = self._cause(PAGE_FAULT[stop.access])
            return Trap(cause, at.pc, stop.addr, f"{stop.access} page fault")
        # mtval of an illegal instruction is the instruction itself, whoever refused it.
        tval = at.word if stop.cause == Cause.ILLEGAL_INSTRUCTION else stop.tval
        return Trap(self._cause(stop.cause), at.pc, tval, stop.why)

    def _leave(self, block: Block, done: int) -> Decoded:
        """Put the state before an instruction of a block, and account for those `done`."""
        s = self.state.words
        at = block.decoded[done]
        s[_PC] = at.pc
        s[_INSTRET] += done
        count, vl_sum = block.stops.get(done, (0, 0))
        block.stops[done] = count + 1, vl_sum + s[_VL]
        return at

    def _cause(self, cause: int) -> Cause:
        """A cause as this hart has it: machine mode has no pages."""
        return without_pages(Cause(cause)) if self.config.has((MACHINE,)) else Cause(cause)

    # -- what ran

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
        """Of everything that has run; an instruction in several blocks comes several times.

        Of compiled code this knows only if the JIT counts.
        """
        yield from self.interpreted()
        for jit in (*self._earlier_jits, self.jit):
            if jit is not None:
                yield from jit.executions()

    def interpreted(self) -> Iterator[Execution]:
        """Of what this engine has executed itself."""
        self._settle()
        for (pc, content, mode), runs in self._settled.items():
            yield from runs.of_each(decode_all(content, pc, self.isa), mode)
        for code in self._modes.values():
            for block in (*code.blocks.values(), *code.singles.values()):
                yield from block.of_each(block.decoded, block.mode)


_NO_MODE: Final = Mode(None, "vl")


def _recorded(ring: Ring, site: int, call: Call, word: int) -> Call:
    """The call, with a record behind it."""

    def recorded() -> None:
        ring.clear()
        try:
            call()
        except (GuestTrap, GuestFault):
            ring.add(site, word, trapped=True)
            raise
        ring.add(site, word)

    return recorded


class _CodeChanged(Exception):
    """The instruction before this one in a block has changed code of the block."""


def _code_changed() -> None:
    raise _CodeChanged


def _no_instruction(d: Decoded) -> str:
    if d.length == 2 and d.word & 0x1F == 0x1F:
        return "an encoding of more than 32 bits"
    return f"no instruction has the encoding {d.word:#0{2 + 2 * d.length}x}"
