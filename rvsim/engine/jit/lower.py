"""One LLVM function from the blocks of a region.

Guest registers are SSA values (`rvsim.engine.jit.registers`); fuel is one more.  Fuel is looked at
where the region is entered and at loop heads, for the longest way to the next look; the interpreter
does the rest.  A step that can't be completed leaves the region as if it had not begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.jit.arrays import ArraySlots
from rvsim.engine.jit.counting import CountersLowerer, counted_plan
from rvsim.engine.jit.discover import BasicBlock, Key, RegionPlan, Step
from rvsim.engine.jit.host_float import HostFloat
from rvsim.engine.jit.memory import RegionMemory
from rvsim.engine.jit.operations import by_host, by_softfloat, host_float, wants_mode
from rvsim.engine.jit.recording import RecordsLowerer
from rvsim.engine.jit.region import mode_number
from rvsim.engine.jit.registers import RegionState, usage
from rvsim.engine.jit.shared_checks import COVERED, Check, checks
from rvsim.engine.jit.strips.analysis import is_wide, own_values
from rvsim.engine.jit.strips.arrays import Scratch
from rvsim.engine.jit.strips.lowerer import StripLowerer
from rvsim.engine.jit.table import ENTRY_BYTES, PC_BITS, TABLE_BITS
from rvsim.hart.state import RING, SLOT
from rvsim.hart.words import WORD_MASK
from rvsim.ir.llvm.backend import Lowerer
from rvsim.ir.llvm.build import I64, PTR, Frame, at, host_of
from rvsim.ir.program import READS, NamedOperation, Program
from rvsim.ir.statements import RaiseTrap, Statement, Write

NEXT: Final = 0
"""The region was left between instructions: go on at the pc."""

INTERPRET: Final = 1
"""The instruction at the pc has to be executed by the interpreter."""

SIGNATURE: Final = ir.FunctionType(I64, [PTR, PTR, PTR, I64, PTR])
"""``i64 region(ptr state, ptr mem, ptr perm, i64 mem_size, ptr table)``."""


class RegionLowerer(Lowerer):
    """Lowers steps; what would trap leaves through the exit of its step."""

    host_float: HostFloat | None = None
    shared_check: Check | None = None
    """What the scalar access of the step has to check, if not just its own bytes."""

    def call(self, function: NamedOperation, args: Sequence[Any]) -> tuple[Any, ...]:
        found = by_host(self, self.host_float, function, args) if self.host_float else None
        return by_softfloat(self, function, args) if found is None else found

    def block(self, body: Iterable[Statement]) -> None:
        """Statements; where they are sure to trap, none: the interpreter does all again.

        It also does what is worth a note.
        """
        statements = tuple(body)
        if not any(map(_leaves, statements)):
            super().block(statements)
        else:
            self.b.branch(self.state.leave)  # type: ignore[attr-defined]

    def require_modes(self, program: Program) -> None:
        """Leave where the host has not the rounding mode, before an operation raised a flag."""
        for value in own_values(program):
            host = self.host_float
            if value.prim == "call" and host and wants_mode(host, value.attrs[0]):
                host.require_mode(self, self.value(value.args[-1]))

    def require_load(self, addr: Any, nbytes: int) -> None:
        if self.shared_check != COVERED:
            super().require_load(*self._checked(addr, nbytes))

    def require_store(self, addr: Any, nbytes: int) -> None:
        if self.shared_check != COVERED:
            super().require_store(*self._checked(addr, nbytes))

    def _checked(self, addr: Any, nbytes: int) -> tuple[Any, int]:
        if self.shared_check is None:
            return addr, nbytes
        first, length = self.shared_check
        return self.b.add(addr, I64(first & WORD_MASK)), length

    def check(self, allowed: Any, cause: int, addr: Any, why: str) -> None:
        self.require(allowed)

    def require(self, allowed: Any) -> None:
        go = self.b.append_basic_block("go")
        branch = self.b.cbranch(allowed, go, self.state.leave)  # type: ignore[attr-defined]
        branch.set_weights([1 << 20, 1])
        self.b.position_at_end(go)


def _leaves(stmt: Statement) -> bool:
    return isinstance(stmt, RaiseTrap) or (isinstance(stmt, Write) and stmt.name == "note")


class WideLowerer(StripLowerer, RegionLowerer):
    """Lowers steps with wide register groups."""

    def call_strip(self, function: NamedOperation, args: Sequence[Any]) -> tuple[Any, ...]:
        plain = RegionLowerer(self.b, self.frame, self.state, self.memory, self.fields)
        plain.host_float = self.host_float
        return plain.call(function, args)


class _RegionFunction:
    """The function of one region while it is built."""

    def __init__(
        self,
        module: Any,
        name: str,
        plan: RegionPlan,
        config: Config,
        array_offsets: Mapping[str, int],
        *,
        counts: bool,
    ) -> None:
        self.plan = plan = counted_plan(plan) if counts else plan
        self.host_float = host_float(host_of(module)) if config.host_float else None
        self.function = ir.Function(module, SIGNATURE, name)
        state, data, perm, size, self.table = self.function.args
        for pointer in (state, data, perm, self.table):
            pointer.add_attribute("noalias")
        self.base = state
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b = ir.IRBuilder(self.function.append_basic_block("start"))
        self.frame = Frame(self.entry)
        timings = [
            (step.timing, step.fields)
            for block in plan.blocks.values()
            for step in block.steps
            if step.timing is not None
        ]
        arrays = ArraySlots(self.frame, state, array_offsets, config.vlen, timings)
        used = usage(plan, config.vlenb)
        self.state = RegionState(self.frame, state, used, config.vlen, arrays)
        self.scratch = Scratch(self.entry)
        self.fuel = self.state._alloca(self.entry, I64)
        self.mode = self.state._alloca(self.entry, I64)
        self.counters = CountersLowerer(module, plan, self.state) if counts else None
        self.records = RecordsLowerer(self.state, array_offsets) if RING in array_offsets else None
        self.memory = RegionMemory(data, perm, size, self.frame)
        self.exit = self.function.append_basic_block("exit")
        self.interpret = self.function.append_basic_block("interpret")
        self.blocks = {
            key: self.function.append_basic_block(f"at_{key[0]:x}") for key in plan.blocks
        }

    def build(self) -> None:
        self.state.load_all(self.b)
        self.b.store(self.b.load(at(self.b, self.base, 8 * SLOT["fuel"]), typ=I64), self.fuel)
        self.b.branch(self.blocks[self.plan.entry])
        for key, block in self.plan.blocks.items():
            self.b.position_at_end(self.blocks[key])
            self._block(key, block)
        self._exits()
        self.entry.branch(self.function.blocks[1])

    def _block(self, key: Key, block: BasicBlock) -> None:
        b = self.b
        if key == self.plan.entry or key in self.plan.loop_heads:
            self._look_at_fuel(block)
        count = len(block.steps)
        fuel = b.load(self.fuel, typ=I64)
        b.store(b.sub(fuel, I64(count)), self.fuel)
        if self.records is not None:
            self.records.enter(b, fuel)
        b.store(I64(block.end), self.state._words["pc"])
        if self.counters is not None:
            self.counters.entered(b, block)
        covered = checks(block.steps)
        for index in range(count):
            if b.block.is_terminated:  # the step before is sure to trap
                return
            self._step(block, index, covered.get(index))
        self._go_on(block)

    def _look_at_fuel(self, block: BasicBlock) -> None:
        b = self.b
        enough, low = b.append_basic_block("fuelled"), b.append_basic_block("low")
        fuel = b.load(self.fuel, typ=I64)
        b.cbranch(b.icmp_signed(">=", fuel, I64(self.plan.insns)), enough, low)
        b.position_at_end(low)
        b.store(I64(block.pc), self.state._words["pc"])
        b.branch(self.interpret)
        b.position_at_end(enough)

    def _step(self, block: BasicBlock, index: int, shared_check: Check | None) -> None:
        step = block.steps[index]
        leave = self.function.append_basic_block(f"leave_{step.decoded.pc:x}")
        kind = WideLowerer if is_wide(step.program) else RegionLowerer
        lowerer = kind(self.b, self.frame, self.state, self.memory, step.fields)
        if isinstance(lowerer, WideLowerer):
            lowerer.restart(self.scratch)
        lowerer.host_float = self.host_float
        lowerer.shared_check = shared_check
        self.state.leave = leave
        self.memory.require = lowerer.require
        if step.settles_flags:
            self.state.settle_flags(self.b)
        lowerer.require_modes(step.program)
        timing = self._timing(step)
        lowerer.block(step.program.body)
        timing()
        if self.records is not None and not self.b.block.is_terminated:
            self.records.step(self.b, block, index)
        out = ir.IRBuilder(leave)
        fuel = out.load(self.fuel, typ=I64)
        out.store(out.add(fuel, I64(len(block.steps) - index)), self.fuel)
        out.store(I64(step.decoded.pc), self.state._words["pc"])
        if self.counters is not None:
            self.counters.left(out, block, index)
        out.branch(self.interpret)

    def _timing(self, step: Step) -> Callable[[], None]:
        """What accounts for the step, called when it is sure to retire.

        It still sees the registers as the step found them.
        """
        program = step.timing
        if program is None:
            return lambda: None
        lowerer = RegionLowerer(self.b, self.frame, self.state, self.memory, step.fields)
        for value in program.values():
            if value.prim in READS:
                lowerer.value(value)

        def account() -> None:
            if not self.b.block.is_terminated:
                lowerer.block(program.body)

        return account

    def _go_on(self, block: BasicBlock) -> None:
        b = self.b
        if b.block.is_terminated:
            return
        if block.full_after is not None:
            self._when_full(block, block.full_after)
        falls_through = "pc" not in block.steps[-1].program.writes()
        if falls_through and block.end in block.targets:
            b.branch(self.blocks[block.targets[block.end]])
            return
        self._note_mode(block.mode_after)
        pc = self.state.read(b, "pc")
        switch = b.switch(pc, self.exit)
        for target, key in block.targets.items():
            switch.add_case(I64(target), self.blocks[key])

    def _when_full(self, block: BasicBlock, mode: Mode) -> None:
        """Go on in another mode where vl has become VLMAX."""
        b = self.b
        assert mode.vtype is not None
        vlmax = mode.vtype.vlmax(8 * self.state.vlenb)
        full, part = b.append_basic_block("full"), b.append_basic_block("part")
        b.cbranch(b.icmp_unsigned("==", self.state.read(b, "vl"), I64(vlmax)), full, part)
        b.position_at_end(full)
        self._note_mode(mode)
        b.branch(self.exit if block.when_full is None else self.blocks[block.when_full])
        b.position_at_end(part)

    def _note_mode(self, mode: Mode | None) -> None:
        """Remember the mode for the table, in which number 0, of an unknown one, finds nothing."""
        self.b.store(I64(0 if mode is None else mode_number(mode)), self.mode)

    def _exits(self) -> None:
        """Back to Python, or on to the next region if the dispatch table has it."""
        b = ir.IRBuilder(self.interpret)
        self._write_back(b)
        b.ret(I64(INTERPRET))
        b = ir.IRBuilder(self.exit)
        self._write_back(b)
        pc = b.load(self.state._words["pc"], typ=I64)
        index = b.and_(b.xor(b.lshr(pc, I64(1)), b.lshr(pc, I64(15))), I64((1 << TABLE_BITS) - 1))
        entry = at(b, self.table, b.mul(index, I64(ENTRY_BYTES)))
        key = b.or_(pc, b.shl(b.load(self.mode, typ=I64), I64(PC_BITS)))
        found = b.icmp_unsigned("==", b.load(entry, typ=I64), key)
        # The mode stands where a wild pc has bits of its own.
        found = b.and_(found, b.icmp_unsigned("<", pc, I64(1 << PC_BITS)))
        chain, back = b.append_basic_block("chain"), b.append_basic_block("back")
        b.cbranch(found, chain, back)
        b.position_at_end(chain)
        target = b.load(at(b, entry, 8), typ=PTR)
        call = b.call(_typed(target), self.function.args, tail="musttail")
        b.ret(call)
        b.position_at_end(back)
        b.ret(I64(NEXT))

    def _write_back(self, b: Any) -> None:
        self.state.store_all(b)
        b.store(b.load(self.fuel, typ=I64), at(b, self.base, 8 * SLOT["fuel"]))


def _typed(pointer: Any) -> Any:
    """llvmlite takes the signature of a call from the type of its target."""
    pointer.type = ir.PointerType(SIGNATURE)
    return pointer


def lower_enter(module: Any, name: str) -> None:
    """Add ``i64 enter(state, mem, perm, size, table, region)``, which Python calls.

    It gives the region the guest's rounding mode and adds the flags raised there to fflags.
    """
    function = ir.Function(module, ir.FunctionType(I64, [*SIGNATURE.args, PTR]), name)
    *arguments, region = function.args
    entry = ir.IRBuilder(function.append_basic_block("entry"))
    b = ir.IRBuilder(function.append_basic_block("body"))
    frame = Frame(entry)
    host = host_float(host_of(module))
    if host is None:
        b.ret(b.call(_typed(region), arguments))
    else:
        env = host.env
        saved = env.save(b, frame)
        frm, fflags = (at(b, function.args[0], 8 * SLOT[name]) for name in ("frm", "fflags"))
        env.begin(b, frame, b.load(frm, typ=I64))
        left = b.call(_typed(region), arguments)
        flags = env.take_flags(b, frame)
        env.restore(b, frame, saved)
        b.store(b.or_(b.load(fflags, typ=I64), flags), fflags)
        b.ret(left)
    entry.branch(function.blocks[1])


def lower_region(
    module: Any,
    name: str,
    plan: RegionPlan,
    config: Config,
    array_offsets: Mapping[str, int],
    *,
    counts: bool = False,
) -> None:
    """Add the function of a region to a module, and its counters if it `counts`.

    `array_offsets` are those of the state buffer; with a ring among them, the region makes records.
    """
    _RegionFunction(module, name, plan, config, array_offsets, counts=counts).build()
