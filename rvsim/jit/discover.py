"""Which guest code becomes one native function: blocks, their edges, and the modes along them.

A block is keyed by its pc and vector mode (vtype, and what is known of vl and vstart), since that
is what its programs are traced for.  `vset*` with an immediate vtype moves to another mode inside
the region; what can't be followed ends it, and the interpreter takes over there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rvsim.decode import Decoded, problems
from rvsim.insn.priv import unit_off
from rvsim.insn.units import Unit
from rvsim.interp import Interpreter, Mode
from rvsim.ir import Program
from rvsim.ir.trace import Write, WriteX
from rvsim.ir.types import Type
from rvsim.ir.value import Value
from rvsim.mem import GuestFault
from rvsim.vec.vtype import VType

_M64: Final = (1 << 64) - 1
MAX_INSNS: Final = 400
"""Instructions in a region, at most: compile time grows with them."""

MAX_LANE_BITS: Final = 1 << 12
"""Larger register groups stay with the interpreter: LLVM takes too long over them."""

_NOT_COMPILED: Final = frozenset({Unit.SYSTEM})
_EXACT: Final = frozenset({"instret", "cycle"})
_CALLER: Final = frozenset({"vstart", "note"})

Key = tuple[int, Mode]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a block: its program and the values of its operand fields."""

    decoded: Decoded
    program: Program
    fields: Mapping[str, int]

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
    well return to where another block called from.
    """

    pc: int
    mode: Mode
    steps: list[Step] = field(default_factory=list)
    end: int = 0
    targets: dict[int, Key] = field(default_factory=dict)
    indirect: bool = False
    calls: bool = False
    mode_after: Mode | None = None

    @property
    def key(self) -> Key:
        return self.pc, self.mode


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """Blocks of a region, the entry first, and the blocks that close a cycle."""

    entry: Key
    blocks: dict[Key, BasicBlock]
    loop_heads: frozenset[Key]

    @property
    def insns(self) -> int:
        return sum(len(b.steps) for b in self.blocks.values())

    def spans(self) -> Iterator[tuple[int, int]]:
        """(address, end) of the code that the region was made from."""
        for block in self.blocks.values():
            yield block.pc, block.end


def discover(interp: Interpreter, pc: int, mode: Mode, limit: int = MAX_INSNS) -> RegionPlan:
    """The region that begins at `pc`: blocks reachable over direct edges, nearest first."""
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
        pending.extend(block.targets.values())
        if block.calls:
            pending.append((block.end, mode))
    returns = {b.end: (b.end, b.mode) for b in blocks.values() if b.calls}
    for block in blocks.values():
        if block.indirect:
            block.targets = {p: k for p, k in returns.items() if k[1] == block.mode}
        block.targets = {p: k for p, k in block.targets.items() if k in blocks}
    return RegionPlan((pc, mode), blocks, _loop_heads((pc, mode), blocks))


def _scan(interp: Interpreter, key: Key, budget: int) -> BasicBlock:
    pc, mode = key
    block = BasicBlock(pc, mode, end=pc)
    while len(block.steps) < budget:
        step = compilable(interp, block.end, mode)
        if step is None:
            return block if not block.steps else _falls_to(block, mode)
        block.steps.append(step)
        block.end = (block.end + step.decoded.length) & _M64
        writes = step.program.writes()
        if "vtype" in writes or "vl" in writes:
            return _falls_to(block, _mode_after(interp, step, mode))
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
    return stmt.field if isinstance(stmt.field, int) else step.fields[stmt.field]


def _falls_to(block: BasicBlock, mode: Mode | None) -> BasicBlock:
    block.mode_after = mode
    block.targets = {} if mode is None else {block.end: (block.end, mode)}
    return block


def compilable(interp: Interpreter, pc: int, mode: Mode) -> Step | None:
    """The instruction at `pc` as a step, or None where the interpreter has to execute it."""
    try:
        d = interp.decode_at(pc)
    except GuestFault:
        return None
    insn = d.insn
    if insn is None or insn.unit in _NOT_COMPILED:
        return None
    if unit_off(insn, d.fields, mode.off) or problems(insn, d.fields, mode.vtype, interp.config):
        return None
    program = interp.program(insn, d.fields, mode)
    if not program.reads().isdisjoint(_EXACT) or _outside(program, insn.vector):
        return None
    if mode.elements == "vstart" or _costly(program):
        return None
    return Step(d, program, {**{k: v & _M64 for k, v in d.fields.items()}, "pc": d.pc})


def _costly(program: Program) -> bool:
    """Whether compiling it would take longer than it is worth: very wide lanes."""
    return any(
        isinstance(v.type, Type) and v.type.total_bits > MAX_LANE_BITS for v in program.values()
    )


def _outside(program: Program, vector: bool) -> bool:
    """Whether it writes state that blocks are specialised on, in a way that can't be followed."""
    written = {s.name for s in program.body if isinstance(s, Write)}
    if not program.writes().isdisjoint({"note", "units_off"}):
        return True
    return not vector and "vstart" in written and "vtype" not in written


def _mode_after(interp: Interpreter, step: Step, mode: Mode) -> Mode | None:
    """The mode behind a vset* with a constant vtype; None where it isn't known."""
    insn, fields = step.decoded.insn, step.decoded.fields
    assert insn is not None
    if insn.unit is not Unit.VSET:
        return replace(mode, elements="vl")  # a fault-only-first load that trimmed vl, or did not
    if "vtypei" not in fields:
        return None
    vtype = VType.decode(fields["vtypei"], interp.config.elen)
    if vtype is None:
        return None
    vlmax = vtype.vlmax(interp.config.vlen)
    if "uimm" in fields:
        return replace(mode, vtype=vtype, elements="full" if fields["uimm"] >= vlmax else "vl")
    if fields["rs1"] == 0 and fields["rd"] != 0:
        return replace(mode, vtype=vtype, elements="full")
    return replace(mode, vtype=vtype, elements="vl")


def _next_pcs(step: Step, fallthrough: int) -> list[int]:
    """Constant values that a control transfer may give the pc; none for an indirect jump."""
    targets = []
    conditional = False
    for stmt in step.program.statements():
        if isinstance(stmt, Write) and stmt.name == "pc":
            target = constant(stmt.value, step.fields)
            if target is None:
                return []
            targets.append(target)
            conditional = stmt not in step.program.body
    return [*([fallthrough] if conditional else []), *targets]


def constant(value: Value, fields: Mapping[str, int]) -> int | None:
    """The value of a node that depends on nothing but operand fields, as far as + and & go."""
    if value.prim == "const":
        return int(value.attrs[0])
    if value.prim == "param":
        return fields[value.attrs[0]] & value.type.ones
    if value.prim in ("add", "and"):
        a, b = (constant(arg, fields) for arg in value.args)
        if a is not None and b is not None:
            return (a + b if value.prim == "add" else a & b) & value.type.ones
    return None


def _loop_heads(entry: Key, blocks: dict[Key, BasicBlock]) -> frozenset[Key]:
    """Targets of back edges in a depth-first walk: every cycle contains one."""
    heads: set[Key] = set()
    state: dict[Key, int] = {}
    stack: list[tuple[Key, Iterator[Key]]] = []

    def enter(key: Key) -> None:
        state[key] = 1
        stack.append((key, iter(blocks[key].targets.values())))

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
