"""LLVM functions, as llvmlite builds them, as formulas over bit-vectors; for proofs with z3.

`Meaning` translates the instructions themselves, on demand: of a value only what it depends on.
What it does not know of a value it leaves open (a fresh variable), so that a proof holds for
whatever it is: floating-point results, lanes of memory, and what a loop carries.  An instruction
that is in none of its lists fails, and so does a pointer that it can't follow.

A loop is one round of it, any: what its header's phis hold is open, but a counter that starts at 0,
is increased by 1 and ends the loop when it equals a limit lies below that limit; that the limit is
not 0 is one more thing to prove (`Meaning.bases`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import z3
from llvmlite import ir
from llvmlite.ir import instructions as insns

Formula = Any
"""A z3 expression."""

MOST_WORK = 500_000_000
"""Of z3 for one proof, in its own units of resources; the largest takes a hundredth of it."""

sys.setrecursionlimit(20_000)

_BINARY: dict[str, Callable[[Formula, Formula], Formula]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "lshr": z3.LShR,
    "ashr": lambda a, b: a >> b,
    "udiv": z3.UDiv,
    "urem": z3.URem,
}
_COMPARE: dict[str, Callable[[Formula, Formula], Formula]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ult": z3.ULT,
    "ule": z3.ULE,
    "ugt": z3.UGT,
    "uge": z3.UGE,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}
_INTRINSICS: dict[str, Callable[[Formula, Formula], Formula]] = {
    "umin": lambda a, b: z3.If(z3.ULE(a, b), a, b),
    "umax": lambda a, b: z3.If(z3.UGE(a, b), a, b),
    "smin": lambda a, b: z3.If(a <= b, a, b),
    "smax": lambda a, b: z3.If(a >= b, a, b),
    "usub.sat": lambda a, b: z3.If(z3.UGE(a, b), a - b, z3.BitVecVal(0, a.size())),
}
_OPEN = frozenset(
    {"sdiv", "srem", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "fptrunc", "fpext",
     "fptosi", "fptoui", "sitofp", "uitofp", "extractvalue", "insertvalue"}
)  # fmt: skip
"""Instructions whose values are left open."""

_OPEN_INTRINSICS = (
    "ctpop", "ctlz", "cttz", "bswap", "bitreverse", "fshl", "fshr", "vector.reduce.",
    "experimental.", "experimental.vector.compress", "x86.", "aarch64.", "fma", "sqrt", "fabs",
    "copysign", "minnum", "maxnum", "uadd.sat", "sadd.sat", "ssub.sat", "sadd.with", "uadd.with",
    "abs", "rint", "nearbyint", "roundeven", "floor", "ceil", "trunc", "canonicalize", "ldexp",
    "is.fpclass", "masked.", "usub.with", "umul.with", "smul.with", "ssub.with", "get.rounding",
)  # fmt: skip
"""Functions that touch no memory, and whose results are left open."""


@dataclass(frozen=True)
class Alternative:
    """What a pointer may be: `offset` bytes into an object, under a condition."""

    when: Formula
    target: object
    offset: Formula
    lane: int | None = None
    part: int | None = None
    """Where the array that it goes through begins in its object, if its index is a second step."""


@dataclass(frozen=True)
class Touch:
    """Bytes that an instruction reads or writes, when its block is reached."""

    insn: Any
    block: Any
    place: Alternative
    nbytes: Formula
    writes: bool


def width_of(type_: Any) -> int:
    """Bits of a value or of one lane."""
    match type_:
        case ir.VectorType():
            return width_of(type_.element)
        case ir.IntType():
            return int(type_.width)
        case ir.DoubleType() | ir.PointerType():
            return 64
        case ir.FloatType():
            return 32
        case ir.HalfType():
            return 16
    raise NotImplementedError(f"a value of type {type_}")


def bytes_of(type_: Any) -> int:
    """Bytes that a load or a store of this type touches, or an alloca has."""
    match type_:
        case ir.VectorType():
            return -(-int(type_.count) * width_of(type_) // 8)
        case ir.ArrayType():
            return int(type_.count) * _stride(type_.element)
    return -(-width_of(type_) // 8)


def _stride(type_: Any) -> int:
    """Bytes from one element of an array to the next."""
    if isinstance(type_, ir.ArrayType):
        return bytes_of(type_)
    return 1 << (bytes_of(type_) - 1).bit_length()


Promise = Callable[[Any, Any], Formula | None]
"""What is known of a value from where it comes: a place, or a stack slot; and the value."""


class Meaning:
    """One function.

    `of_load` and `of_slot` say what is known of values that are loaded from memory, or that a
    register's stack slot holds where a loop begins; whoever says so proves it of what is stored.
    """

    def __init__(
        self,
        function: Any,
        *,
        of_load: Promise = lambda place, loaded: None,
        of_slot: Promise = lambda slot, held: None,
    ) -> None:
        self.function = function
        self._of_load, self._of_slot = of_load, of_slot
        self.facts: list[Formula] = []
        """What holds by definition of the values that stand for others."""
        self.lane_facts: list[tuple[int, Formula]] = []
        """The same of one lane each: a proof that is about one needs no others."""
        self.bases: list[tuple[Any, Formula]] = []
        """(block, claim): what has to hold where a counted loop is entered from this block."""
        self.permissions = z3.Function("permissions", z3.BitVecSort(64), z3.BitVecSort(8))
        self.permission_table: object = None
        """The object whose bytes are `permissions` of their offsets."""
        self._known: dict[Any, Any] = {}
        self._fresh = 0
        self._edges: dict[Any, list[tuple[Any, Any]]] = {b: [] for b in function.blocks}
        self._back: set[tuple[Any, Any]] = set()
        self._owner = {id(i): b for b in function.blocks for i in b.instructions}
        self.slots = set(_slots(function))
        self._walk()

    # -- the graph of blocks

    def _walk(self) -> None:
        for block in self.function.blocks:
            for target in successors(block):
                self._edges[target].append(block)
        state: dict[Any, int] = {}
        stack = [(self.function.blocks[0], iter(successors(self.function.blocks[0])))]
        state[stack[0][0]] = 1
        while stack:
            block, edges = stack[-1]
            target = next(edges, None)
            if target is None:
                state[block] = 2
                stack.pop()
            elif state.get(target) == 1:
                self._back.add((block, target))
            elif target not in state:
                state[target] = 1
                stack.append((target, iter(successors(target))))
        self.reached = set(state)

    def _before(self, block: Any) -> list[Any]:
        """Blocks that lead there other than by closing a loop, each once."""
        found = [p for p in self._edges[block] if (p, block) not in self._back]
        return [p for p in dict.fromkeys(found) if p in self.reached]

    def _is_header(self, block: Any) -> bool:
        return any((p, block) in self._back for p in self._edges[block])

    def _changes_in_loop(self, slot: Any, header: Any) -> bool:
        """Whether a slot is stored to in the loop that begins with a block, if one does."""
        latches = [p for p in self._edges[header] if (p, header) in self._back]
        inside, waiting = {header}, list(latches)
        while waiting:
            block = waiting.pop()
            if block not in inside:
                inside.add(block)
                waiting += [p for p in self._edges[block] if p in self.reached]
        return bool(latches) and any(
            isinstance(insn, insns.StoreInstr) and insn.operands[1] is slot
            for block in inside
            for insn in block.instructions
        )

    def reach(self, block: Any) -> Formula:
        """When control comes to a block."""
        key = "reach", id(block)
        if key not in self._known:
            before = self._before(block)
            ways = [z3.And(self.reach(p), self.edge(p, block)) for p in before]
            first = block is self.function.blocks[0]
            self._known[key] = z3.BoolVal(True) if first else z3.simplify(z3.Or(*ways))
        return self._known[key]

    def edge(self, block: Any, target: Any) -> Formula:
        """When control goes from the end of a block to another."""
        last = block.terminator
        match last:
            case insns.ConditionalBranch():
                condition = self.value(last.operands[0]) == 1
                yes, no = last.operands[1:]
                if yes is no:
                    return z3.BoolVal(True)
                return condition if target is yes else z3.Not(condition)
            case insns.SwitchInstr():
                value = self.value(last.value)
                cases = [(value == self.value(case), to) for case, to in last.cases]
                ways = [when for when, to in cases if to is target]
                if last.default is target:
                    ways.append(z3.Not(z3.Or(*(when for when, _ in cases))))
                return z3.Or(*ways)
            case insns.Branch():
                return z3.BoolVal(True)
        raise NotImplementedError(f"a block that ends in {last.opname}")

    # -- values

    def open(self, width: int, what: str) -> Formula:
        """A value of which nothing is known."""
        self._fresh += 1
        return z3.BitVec(f"{what}!{self._fresh}", width)

    def value(self, v: Any, lane: int | None = None) -> Formula:
        """A scalar, or one lane of lanes."""
        key = id(v), lane
        if key not in self._known:
            self._known[key] = self._value(v, lane)
        return self._known[key]

    def _value(self, v: Any, lane: int | None) -> Formula:
        width = width_of(v.type)
        if isinstance(v, ir.Argument):
            return z3.BitVec(f"{v.name}", width)
        if isinstance(v, ir.Constant):
            return self._constant(v, lane, width)
        match v:
            case insns.PhiInstr():
                return self._phi(v, lane)
            case insns.LoadInstr():
                return self._load(v, lane)
            case insns.ICMPInstr():
                a, b = (self.value(o, lane) for o in v.operands)
                return z3.If(_COMPARE[v.op](a, b), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
            case insns.SelectInstr():
                condition, yes, no = v.operands
                mask = isinstance(condition.type, ir.VectorType)
                chosen = self.value(condition, lane if mask else None) == 1
                return z3.If(chosen, self.value(yes, lane), self.value(no, lane))
            case insns.CallInstr():
                return self._call(v, lane)
            case insns.CastInstr():
                return self._cast(v, lane)
            case insns.ExtractElement():
                index = _known_index(v.operands[1])
                if index is None:
                    return self.open(width, "lane")
                return self.value(v.operands[0], index)
            case insns.InsertElement():
                lanes, element, where = v.operands
                index = _known_index(where)
                if index is None:
                    return self.open(width, "inserted")
                return self.value(element) if index == lane else self.value(lanes, lane)
            case insns.ShuffleVector():
                source, index = _shuffled(v, lane)
                return self.open(width, "undef") if source is None else self.value(source, index)
        if v.opname == "mul" and lane is not None:
            return self.open(width, "product")  # of an address's stride: any will do
        if v.opname in _BINARY:
            return _BINARY[v.opname](*(self.value(o, lane) for o in v.operands))
        if v.opname in _OPEN:
            return self.open(width, v.opname)
        raise NotImplementedError(f"the instruction {v.opname}")

    def _constant(self, v: Any, lane: int | None, width: int) -> Formula:
        constant = v.constant
        if constant is ir.Undefined:
            return self.open(width, "undef")
        if lane is not None and constant is not None:
            constant = constant[lane]
            if isinstance(constant, ir.Constant):
                return self._constant(constant, None, width)
        if isinstance(constant, float):
            return self.open(width, "float")
        return z3.BitVecVal(int(constant or 0), width)

    def _cast(self, v: Any, lane: int | None) -> Formula:
        (source,) = v.operands
        have, want = width_of(source.type), width_of(v.type)
        if v.opname == "bitcast":
            return self._reinterpreted(source, have, want, lane)
        if v.opname in _OPEN:
            return self.open(want, v.opname)
        a = self.value(source, lane)
        match v.opname:
            case "zext":
                return z3.ZeroExt(want - have, a)
            case "sext":
                return z3.SignExt(want - have, a)
            case "trunc":
                return z3.Extract(want - 1, 0, a)
        raise NotImplementedError(f"the cast {v.opname}")

    def _reinterpreted(self, source: Any, have: int, want: int, lane: int | None) -> Formula:
        def part(i: int) -> Formula:
            return self.value(source, i if isinstance(source.type, ir.VectorType) else None)

        first = (lane or 0) * want
        if want <= have:
            return z3.Extract(first % have + want - 1, first % have, part(first // have))
        parts = [part(i) for i in range(first // have, (first + want) // have)]
        return z3.Concat(*reversed(parts))

    def _phi(self, v: Any, lane: int | None) -> Formula:
        block = self._owner[id(v)]
        if self._is_header(block):
            carried = self.open(width_of(v.type), "carried")
            self._known[id(v), lane] = carried  # the limit may depend on it
            self._note_counter(v, block, carried)
            return carried
        return self._merged(block, {id(b): self.value(a, lane) for a, b in v.incomings
                                    if b in self.reached})  # fmt: skip

    def _merged(self, block: Any, ends: Mapping[int, Formula]) -> Formula:
        *others, last = self._before(block)
        merged = ends[id(last)]
        for p in others:
            way = z3.And(self.reach(p), self.edge(p, block))
            merged = z3.If(way, ends[id(p)], merged)
        return merged

    def _note_counter(self, v: Any, block: Any, carried: Formula) -> None:
        """If it counts rounds: that it is less than the limit; and what to prove of the limit."""
        for following, latch in v.incomings:
            if (latch, block) not in self._back:
                continue
            limit = _limit(v, following, latch, block)
            starts = [a for a, b in v.incomings if (b, block) not in self._back]
            if limit is not None and all(_known_index(a) == 0 for a in starts):
                total = self.value(limit)
                self.facts.append(z3.ULT(carried, total))
                self.bases += [(p, z3.And(self.edge(p, block), total == 0))
                               for p in self._before(block)]  # fmt: skip

    def _call(self, v: Any, lane: int | None) -> Formula:
        width, name = width_of(v.type), getattr(v.callee, "name", "")
        stem = name.removeprefix("llvm.")
        for known, meaning in _INTRINSICS.items():
            if stem.startswith(known + "."):
                return meaning(*(self.value(a, lane) for a in v.args))
        if stem.startswith(("vector.reduce.umax.", "vector.reduce.umin.")):
            return self._extreme(v, width, highest="umax" in stem)
        return self.open(width, stem or "call")

    def _extreme(self, v: Any, width: int, *, highest: bool) -> Formula:
        """Of this only what is to be used of it: that no lane lies beyond."""
        found = self.open(width, "extreme")
        for i in range(int(v.args[0].type.count)):
            lane = self.value(v.args[0], i)
            self.lane_facts.append((i, z3.UGE(found, lane) if highest else z3.ULE(found, lane)))
        return found

    # -- memory

    def _load(self, v: Any, lane: int | None) -> Formula:
        (pointer,) = v.operands
        if id(pointer) in self.slots:
            block = self._owner[id(v)]
            return self._slot(pointer, v.type, lane, block, block.instructions.index(v))
        width = width_of(v.type)
        loaded = self.open(width, "loaded")
        if isinstance(v.type, ir.PointerType | ir.VectorType):
            return loaded
        for place in self.pointer(pointer):
            if place.target is self.permission_table and width == 8:
                self.facts.append(z3.Implies(place.when, loaded == self.permissions(place.offset)))
            table = _constant_bytes(place.target)
            if table is not None:
                size = width // 8
                most = max(int.from_bytes(table[i : i + size], "little")
                           for i in range(0, len(table), size))  # fmt: skip
                self.facts.append(z3.Implies(place.when, z3.ULE(loaded, most)))
            promise = self._of_load(place, loaded)
            if promise is not None:
                self.facts.append(z3.Implies(place.when, promise))
        return loaded

    def _slot(self, slot: Any, type_: Any, lane: int | None, block: Any, end: int) -> Formula:
        """What a register's stack slot holds before instruction `end` of a block."""
        for insn in reversed(block.instructions[:end]):
            if isinstance(insn, insns.StoreInstr) and insn.operands[1] is slot:
                stored = insn.operands[0]
                return (
                    self.value(stored, lane)
                    if stored.type == type_
                    else self.open(width_of(type_), "other")
                )
        key = "slot", id(slot), str(type_), lane, id(block)
        if key not in self._known:
            before = self._before(block)
            if not before or self._changes_in_loop(slot, block):
                self._known[key] = held = self.open(width_of(type_), "slot")
                promise = self._of_slot(slot, held)
                if promise is not None:
                    self.facts.append(promise)
            else:
                ends = {id(p): self._slot(slot, type_, lane, p, len(p.instructions))
                        for p in before}  # fmt: skip
                self._known[key] = self._merged(block, ends)
        return self._known[key]

    def pointer(self, v: Any, lane: int | None = None) -> list[Alternative]:
        """What a pointer, or a lane of pointers, may be."""
        key = "pointer", id(v), lane
        if key not in self._known:
            self._known[key] = self._pointer(v, lane)
        return self._known[key]

    def _pointer(self, v: Any, lane: int | None) -> list[Alternative]:
        always, zero = z3.BoolVal(True), z3.BitVecVal(0, 64)
        match v:
            case ir.Argument() | ir.GlobalVariable() | insns.AllocaInstr() | ir.Function():
                return [Alternative(always, v, zero)]
            case insns.LoadInstr():
                return [Alternative(always, "what memory holds", zero)]
            case ir.Constant():
                return [Alternative(always, "null", zero)]
            case insns.GEPInstr():
                (index,) = v.indices
                shared = not isinstance(v.operands[0].type, ir.VectorType) and not isinstance(
                    index.type, ir.VectorType
                )
                many = isinstance(index.type, ir.VectorType)
                step = self.value(index, lane if many else None) * _stride(v.source_etype)
                base = self.pointer(v.operands[0], None if many or shared else lane)
                first = _known_index(v.indices[0]) if v.operands[0] in self.function.args else None
                return [
                    replace(p, offset=p.offset + step, part=p.part if first is None else first)
                    for p in base
                ]
            case insns.SelectInstr():
                condition, yes, no = v.operands
                mask = isinstance(condition.type, ir.VectorType)
                chosen = self.value(condition, lane if mask else None) == 1
                return [*_under(chosen, self.pointer(yes, lane)),
                        *_under(z3.Not(chosen), self.pointer(no, lane))]  # fmt: skip
            case insns.ExtractElement():
                lane = _index(v.operands[1])
                return [replace(p, lane=lane) for p in self.pointer(v.operands[0], lane)]
            case insns.InsertElement():
                lanes, element, where = v.operands
                return self.pointer(*((element, None) if _index(where) == lane else (lanes, lane)))
            case insns.ShuffleVector():
                source, index = _shuffled(v, lane)
                return self.pointer(source, index)
            case insns.CastInstr() if v.opname == "bitcast":
                return self.pointer(v.operands[0], lane)
        raise NotImplementedError(f"a pointer made by {v}")

    def touches(self) -> Iterator[Touch]:
        """All that the function reads and writes itself, and the memory that calls are given."""
        for block in self.function.blocks:
            if block not in self.reached:
                continue
            for insn in block.instructions:
                for pointer, nbytes, writes in self._touched(insn):
                    for place in self.pointer(pointer):
                        yield Touch(insn, block, place, nbytes, writes)

    def _touched(self, insn: Any) -> Iterator[tuple[Any, Formula, bool]]:
        match insn:
            case insns.LoadInstr():
                yield insn.operands[0], z3.BitVecVal(bytes_of(insn.type), 64), False
            case insns.StoreInstr():
                value, pointer = insn.operands
                yield pointer, z3.BitVecVal(bytes_of(value.type), 64), True
            case insns.CallInstr():
                yield from self._touched_by_call(insn)
            case _ if insn.opname in ("cmpxchg", "atomicrmw", "store atomic", "load atomic"):
                raise NotImplementedError(f"the instruction {insn.opname}")

    def _touched_by_call(self, insn: Any) -> Iterator[tuple[Any, Formula, bool]]:
        name = getattr(insn.callee, "name", "")
        if name.startswith("llvm.memset."):
            yield insn.args[0], self.value(insn.args[2]), True
        elif name.startswith(("llvm.memcpy.", "llvm.memmove.")):
            yield insn.args[0], self.value(insn.args[2]), True
            yield insn.args[1], self.value(insn.args[2]), False
        elif name.startswith("llvm."):
            known = (*_INTRINSICS, *_OPEN_INTRINSICS)
            if not name.removeprefix("llvm.").startswith(known):
                raise NotImplementedError(f"the function {name}")

    def calls(self) -> Iterator[tuple[Any, Any]]:
        """(block, call) of functions that are no intrinsics."""
        for block in self.function.blocks:
            for insn in block.instructions:
                if isinstance(insn, insns.CallInstr) and block in self.reached:
                    name = getattr(insn.callee, "name", "")
                    if not name.startswith("llvm."):
                        yield block, insn

    # -- proofs

    def counterexample(
        self, block: Any, claim: Formula, *given: Formula, lane: int | None = None
    ) -> Any:
        """A model in which the block is reached and the claim is false; None if there is none.

        If the claim is about one lane, what is known of the others is not made use of.
        """
        if z3.is_true(z3.simplify(claim)):
            return None
        denied = z3.simplify(z3.And(self.reach(block), *given, z3.Not(claim)))
        if z3.is_false(denied):
            return None
        solver = z3.Solver()
        solver.set("rlimit", MOST_WORK)
        lanes = [fact for i, fact in self.lane_facts if lane in (None, i)]
        solver.add(denied, *self.facts, *lanes)
        found = solver.check()
        if found == z3.unsat:
            return None
        return solver.model() if found == z3.sat else f"z3 gave up: {solver.reason_unknown()}"


def successors(block: Any) -> list[Any]:
    last = block.terminator
    match last:
        case insns.ConditionalBranch():
            return list(last.operands[1:])
        case insns.SwitchInstr():
            return [last.default, *(to for _, to in last.cases)]
        case insns.Branch():
            return list(last.operands)
        case insns.Ret() | insns.Unreachable():
            return []
    raise NotImplementedError(f"a block that ends in {last}")


def _slots(function: Any) -> Iterator[int]:
    """Stack slots that are only loaded and stored whole: they hold a value as a variable does."""
    allocas, escaped = set(), set()
    for block in function.blocks:
        for insn in block.instructions:
            if isinstance(insn, insns.AllocaInstr):
                allocas.add(id(insn))
            elif isinstance(insn, insns.StoreInstr):
                escaped.add(id(insn.operands[0]))
            elif isinstance(insn, insns.PhiInstr):
                escaped |= {id(v) for v, _ in insn.incomings}
            elif not isinstance(insn, insns.LoadInstr):
                escaped |= {id(o) for o in insn.operands}
    return iter(allocas - escaped)


def _constant_bytes(target: object) -> bytes | None:
    """The content of a table, of which whole elements are loaded; None for another object."""
    if not isinstance(target, ir.GlobalVariable) or not target.global_constant:
        return None
    content = target.initializer.constant
    return bytes(content) if isinstance(content, bytes | bytearray) else None


def _limit(phi: Any, following: Any, latch: Any, header: Any) -> Any:
    """What a counter is compared with where its loop goes round again; None if it is no counter."""
    if getattr(following, "opname", "") != "add" or not isinstance(phi.type, ir.IntType):
        return None
    a, by = following.operands
    last = latch.terminator
    if a is not phi or _known_index(by) != 1 or not isinstance(last, insns.ConditionalBranch):
        return None
    condition, yes, no = last.operands
    if no is not header or yes is header:
        return None
    waiting = [condition]
    while waiting:
        found = waiting.pop()
        if isinstance(found, insns.ICMPInstr) and found.op == "eq":
            if found.operands[0] is following:
                return found.operands[1]
        elif getattr(found, "opname", "") == "or":
            waiting += found.operands
    return None


def _under(condition: Formula, places: list[Alternative]) -> list[Alternative]:
    return [replace(p, when=z3.And(condition, p.when)) for p in places]


def _shuffled(v: Any, lane: int | None) -> tuple[Any, int]:
    """(operand, lane) that a lane of a shuffle is; no operand for an undefined lane."""
    one, other, table = v.operands
    index = 0 if table.constant is None else table.constant[lane]
    if isinstance(index, ir.Constant):
        index = index.constant
    if index is ir.Undefined:
        return None, 0
    n = int(one.type.count)
    return (one, index) if index < n else (other, index - n)


def _known_index(v: Any) -> int | None:
    return int(v.constant or 0) if isinstance(v, ir.Constant) else None


def _index(v: Any) -> int:
    found = _known_index(v)
    if found is None:
        raise NotImplementedError("a pointer in a lane that the run decides")
    return found
