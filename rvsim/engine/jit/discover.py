"""Which guest code becomes one native function: blocks, their edges, and the modes along them.

A block is keyed by its pc and vector mode (vtype, and what is known of vl and vstart), since that
is what its programs are traced for.  `vset*` with an immediate vtype moves to another mode inside
the region; what can't be followed ends it, and the interpreter takes over there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.strips.analysis import has_strips, is_wide
from rvsim.hart.memory import GuestFault
from rvsim.hart.words import WORD_MASK
from rvsim.insn.base.units_off import unit_off
from rvsim.insn.decode import Decoded, problems
from rvsim.insn.units import Unit
from rvsim.ir import Program
from rvsim.ir.known import known
from rvsim.ir.statements import Field, Write, WriteX
from rvsim.vec.vset import Avl, avl_of, gives_vlmax, has_constant_vtype
from rvsim.vec.vtype import VType

MAX_INSNS: Final = 400
"""Instructions in a region, at most: compile time grows with them."""

_NOT_COMPILED: Final = frozenset({Unit.SYSTEM})
_EXACT: Final = frozenset({"instret", "cycle"})
_CALLER: Final = frozenset({"vstart", "note"})

Key = tuple[int, Mode]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a block: its program and the values of its operand fields.

    `timing` is its cost program, if cycles are counted.
    """

    decoded: Decoded
    program: Program
    fields: Mapping[str, int]
    timing: Program | None = None

    def register(self, field: Field) -> int:
        """The number of a register operand."""
        return field if isinstance(field, int) else self.fields[field]

    @property
    def settles_flags(self) -> bool:
        """Whether it names fflags, which otherwise only gather."""
        insn = self.decoded.insn
        touched = self.program.reads() | self.program.writes()
        return insn is not None and insn.unit is Unit.CSR and "fflags" in touched


@dataclass(slots=True)
class BasicBlock:
    """Steps that run one after the other, and where control may go from there.

    `targets` maps a next pc to its block; any other next pc leaves the region.  A block that
    `calls` ends in a jump that links, an `indirect` one in a jump to a register: in a region it may
    well return to where another block called from.  Behind a block comes `mode_after`, or
    `full_after` where that is given and vl has become VLMAX; the latter's block is `when_full`.
    """

    pc: int
    mode: Mode
    steps: list[Step] = field(default_factory=list)
    end: int = 0
    targets: dict[int, Key] = field(default_factory=dict)
    indirect: bool = False
    calls: bool = False
    mode_after: Mode | None = None
    full_after: Mode | None = None
    when_full: Key | None = None

    @property
    def key(self) -> Key:
        return self.pc, self.mode

    @property
    def successors(self) -> list[Key]:
        """Keys of the blocks that may run next, if they are in the region."""
        return [*self.targets.values(), *([] if self.when_full is None else [self.when_full])]

    def keep(self, inside: Callable[[Key], bool]) -> None:
        """Leave the region towards all other blocks."""
        self.targets = {pc: key for pc, key in self.targets.items() if inside(key)}
        if self.when_full is not None and not inside(self.when_full):
            self.when_full = None


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """Blocks of a region, the entry first, and the blocks that close a cycle."""

    entry: Key
    blocks: dict[Key, BasicBlock]
    loop_heads: frozenset[Key]

    @property
    def insns(self) -> int:
        return sum(len(b.steps) for b in self.blocks.values())


def discover(
    interp: Interpreter,
    pc: int,
    mode: Mode,
    limit: int = MAX_INSNS,
    *,
    wanted: Callable[[Key], bool] = lambda key: True,
) -> RegionPlan:
    """The region that begins at `pc`: wanted blocks reachable over direct edges, nearest first."""
    blocks: dict[Key, BasicBlock] = {}
    pending: deque[Key] = deque([(pc, mode)])
    budget = limit
    while pending and budget > 0:
        key = pending.popleft()
        if key in blocks:
            continue
        block = _scan(interp, key, budget)
        if not block.steps:
            continue
        blocks[key] = block
        budget -= len(block.steps)
        block.keep(wanted)
        pending.extend(block.successors)
        if block.calls and wanted((block.end, mode)):
            pending.append((block.end, mode))
    returns = {b.end: (b.end, b.mode) for b in blocks.values() if b.calls}
    for block in blocks.values():
        if block.indirect:
            block.targets = {p: k for p, k in returns.items() if k[1] == block.mode}
        block.keep(blocks.__contains__)
    return RegionPlan((pc, mode), blocks, _loop_heads((pc, mode), blocks))


def _scan(interp: Interpreter, key: Key, budget: int) -> BasicBlock:
    pc, mode = key
    block = BasicBlock(pc, mode, end=pc)
    while len(block.steps) < budget:
        step = compilable(interp, block.end, mode)
        if step is None:
            return block if not block.steps else _falls_to(block, mode)
        block.steps.append(step)
        block.end = (block.end + step.decoded.length) & WORD_MASK
        writes = step.program.writes()
        if "vtype" in writes or "vl" in writes:
            _falls_to(block, _mode_after(interp, step, mode))
            return _may_fill(block) if _decides_vl(step) else block
        if "pc" in writes:
            targets = _next_pcs(step, block.end)
            block.targets = {t: (t, mode) for t in targets}
            block.indirect = not targets
            block.mode_after = mode
            block.calls = any(
                isinstance(s, WriteX) and _register(s, step) for s in step.program.body
            )
            return block
    return _falls_to(block, mode)


def _register(stmt: WriteX, step: Step) -> int:
    return step.register(stmt.field)


def _falls_to(block: BasicBlock, mode: Mode | None) -> BasicBlock:
    block.mode_after = mode
    block.targets = {} if mode is None else {block.end: (block.end, mode)}
    return block


def _may_fill(block: BasicBlock) -> BasicBlock:
    """Distinguish after the block whether vl has become VLMAX: masks fold away where it has."""
    if block.mode_after is not None:
        block.full_after = replace(block.mode_after, elements="full")
        block.when_full = (block.end, block.full_after)
    return block


def compilable(interp: Interpreter, pc: int, mode: Mode) -> Step | None:
    """The instruction at `pc` as a step, or None where the interpreter has to execute it.

    That is also so where runs stop.
    """
    if pc in interp.stops:
        return None
    try:
        d = interp.decode_at(pc)
    except GuestFault:
        return None
    return as_step(interp, d, mode)


def as_step(interp: Interpreter, d: Decoded, mode: Mode) -> Step | None:
    """A decoded instruction as a step, or None where the interpreter has to execute it."""
    insn = d.insn
    if insn is None or insn.unit in _NOT_COMPILED:
        return None
    if unit_off(insn, d.fields, mode.off) or problems(insn, d.fields, mode.vtype, interp.config):
        return None
    program = interp.binder.program(insn, d.fields, mode)
    if not program.reads().isdisjoint(_EXACT) or _outside(program, insn.vector):
        return None
    if mode.elements == "vstart" or _costly(program):
        return None
    timing, fields = interp.binder.timing(d, mode)
    return Step(d, program, {name: value & WORD_MASK for name, value in fields.items()}, timing)


def _costly(program: Program) -> bool:
    """Whether compiling it would take longer than it is worth: lanes that no strips can hold."""
    return is_wide(program) and not has_strips(program)


def _outside(program: Program, vector: bool) -> bool:
    """Whether it writes state that blocks are specialised on, in a way that can't be followed."""
    written = {s.name for s in program.body if isinstance(s, Write)}
    if "note" in written or "units_off" in program.writes():
        return True
    return not vector and "vstart" in written and "vtype" not in written


def _mode_after(interp: Interpreter, step: Step, mode: Mode) -> Mode | None:
    """The mode after a vset* with a constant vtype; None where it isn't known.

    Where only the run decides vl, it is the mode for less than VLMAX.  One that keeps vl keeps
    VLMAX as well, or else is left to the interpreter.
    """
    insn, fields = step.decoded.insn, step.decoded.fields
    assert insn is not None
    if insn.unit is not Unit.VSET:
        return replace(mode, elements="vl")
    if not has_constant_vtype(fields):
        return None
    vtype = VType.decode(fields["vtypei"], interp.config.elen)
    if vtype is None:
        return None
    config, avl = interp.config, avl_of(fields)
    vlmax = vtype.vlmax(config.vlen)
    if avl is Avl.KEEP:
        same = mode.vtype is not None and mode.vtype.vlmax(config.vlen) == vlmax
        return replace(mode, vtype=vtype) if same else None
    full = avl is Avl.ALL or (
        avl is Avl.IMMEDIATE and gives_vlmax(fields["uimm"], vlmax, config.vl_policy)
    )
    return replace(mode, vtype=vtype, elements="full" if full else "vl")


def _decides_vl(step: Step) -> bool:
    """Whether vl depends on the run: by a register, or by a fault."""
    decoded = step.decoded
    is_vset = decoded.insn is not None and decoded.insn.unit is Unit.VSET
    return not is_vset or avl_of(decoded.fields) is Avl.REGISTER


def _next_pcs(step: Step, fallthrough: int) -> list[int]:
    """Constant values that a control transfer may give the pc; none for an indirect jump."""
    targets = []
    conditional = False
    for stmt in step.program.statements():
        if isinstance(stmt, Write) and stmt.name == "pc":
            target = known(stmt.value, step.fields)
            if target is None:
                return []
            targets.append(target)
            conditional = stmt not in step.program.body
    return [*([fallthrough] if conditional else []), *targets]


def _loop_heads(entry: Key, blocks: dict[Key, BasicBlock]) -> frozenset[Key]:
    """Targets of back edges in a depth-first walk: every cycle contains one."""
    heads: set[Key] = set()
    state: dict[Key, int] = {}
    stack: list[tuple[Key, Iterator[Key]]] = []

    def enter(key: Key) -> None:
        state[key] = 1
        stack.append((key, iter(blocks[key].successors)))

    if entry in blocks:
        enter(entry)
    while stack:
        key, edges = stack[-1]
        for target in edges:
            if state.get(target) == 1:
                heads.add(target)
            elif target not in state:
                enter(target)
                break
        else:
            state[key] = 2
            stack.pop()
    return frozenset(heads)
