"""Proofs that compiled code stays in the arrays of the cost model and in the ring of records.

Their indices are formed from guest addresses: sets of caches, streams, branches; and from what
other arrays hold.  Each function of a region's module is proven for all values of registers,
addresses and arrays, as tests/engine/test_address_proofs.py does it for guest memory; the addresses
stay within the array that they are of, so that no registers are reached from there either.

Some indices come from words of the model.  Of these it is assumed where they are loaded, and proven
wherever they are stored, that they are below their bound (`ARRAYS`, `WORDS`), the same with
parameters of subprograms (`PARAMETERS`), and that no more fuel is left than records have room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import z3
from llvmlite.ir import instructions as insns

from rvsim.cost import load_core
from rvsim.cost.model import CostModel
from rvsim.cost.reasons import REASONS
from rvsim.cost.ring import FIELDS, ring_words
from rvsim.cost.state import SITES, word_index
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.discover import discover
from rvsim.engine.jit.lower import lower_region
from rvsim.engine.jit.table import ENTRY_BYTES, TABLE_BITS
from rvsim.errors import RvsimError
from rvsim.hart.memory import PAGE, Memory, R, X
from rvsim.hart.state import SLOT, State
from rvsim.ir.llvm.build import new_module
from rvsim.vec.vtype import VType
from tests.engine.llvm_meaning import Alternative, Formula, Meaning
from tests.engine.test_address_proofs import assume_memory, config, escape
from tests.program.bare import TEXT, Step, assemble, step

CORE = load_core("x60")
ARRAYS = {
    "why_x": len(REASONS),
    "why_v": len(REASONS),
    "queue_why": len(REASONS),
    "queue_site": SITES,
}
WORDS = {
    "lsu_why": len(REASONS),
    "level": len(REASONS),
    "start_why": len(REASONS),
    "next_stream": CORE.streams.count,
    "history": 1 << CORE.branch.history,
}
PARAMETERS = {
    ("cost_advance", 1): CORE.streams.count,
    ("cost_prefetch_near", 1): CORE.streams.count,
    ("cost_prefetch_far", 1): CORE.streams.count,
    ("cost_fetch", 2): SITES,
}
"""Of subprograms, by the number of the argument behind the state."""

WORD_OF_BOUND = {word_index(name): bound for name, bound in WORDS.items()}
RECORDS_END, FUEL = 8 * SLOT["records_end"], 8 * SLOT["fuel"]


@dataclass
class Arrays:
    """The arrays of a state, and what is promised of their words."""

    state: State
    end: Formula = field(default_factory=lambda: z3.BitVec("records end", 64))

    def extent(self, place: Alternative) -> tuple[int, int]:
        """First and last byte, plus 1, of the array that a place is in; or of all registers."""
        for name, start in self.state.array_offsets.items():
            if place.part == start:
                return start, start + self.state.arrays[name].nbytes
        return 0, min(self.state.array_offsets.values())

    def bound(self, place: Alternative) -> int | None:
        """What the words there stay below."""
        names = {start: name for name, start in self.state.array_offsets.items()}
        name = names.get(place.part if place.part is not None else -1)
        if name == "core":
            offset = z3.simplify(place.offset)
            assert z3.is_bv_value(offset)
            return WORD_OF_BOUND.get((offset.as_long() - place.part) // 8)
        return ARRAYS.get(name or "")

    def promise(self, place: Alternative, value: Formula) -> Formula | None:
        if place.part == RECORDS_END:
            return value == self.end
        if place.part == FUEL:
            return z3.ULE(value, self.end)
        bound = self.bound(place)
        return None if bound is None or value.size() != 64 else z3.ULT(value, bound)


class Proof:
    """One function of a region's module."""

    def __init__(self, function: Any, state: State, *, region: bool) -> None:
        self.function = function
        self.arrays = Arrays(state)
        self.homes: dict[int, Alternative] = {}
        """Of stack slots: the words of the state that they hold."""
        self.base, *args = function.args
        self.meaning = Meaning(function, of_load=self._of_load, of_slot=self._of_slot)
        room = ring_words() // len(FIELDS)
        self.meaning.facts.append(z3.ULE(self.arrays.end, room))
        self.objects: dict[int, Formula] = {}
        if region:
            mem, perm, size, table = args
            extent = self.meaning.value(size)
            assume_memory(self.meaning, extent, perm)
            self.objects = {id(mem): extent, id(perm): z3.LShR(extent, 12) + 1,
                            id(table): z3.BitVecVal(ENTRY_BYTES << TABLE_BITS, 64)}  # fmt: skip
        for number, argument in enumerate(function.args):
            bound = PARAMETERS.get((function.name, number))
            if bound is not None:
                self.meaning.facts.append(z3.ULT(self.meaning.value(argument), bound))
        self._find_homes()

    def _find_homes(self) -> None:
        """A slot is the home of a word that it is filled from."""
        for _, insn in self._stores():
            value, slot = insn.operands
            if id(slot) in self.meaning.slots and isinstance(value, insns.LoadInstr):
                for place in self.meaning.pointer(value.operands[0]):
                    if place.target is self.base:
                        self.homes[id(slot)] = place

    def _stores(self) -> Iterator[tuple[Any, Any]]:
        for block in self.function.blocks:
            if block in self.meaning.reached:
                for insn in block.instructions:
                    if isinstance(insn, insns.StoreInstr):
                        yield block, insn

    def _of_load(self, place: Alternative, loaded: Formula) -> Formula | None:
        return self.arrays.promise(place, loaded) if place.target is self.base else None

    def _of_slot(self, slot: Any, held: Formula) -> Formula | None:
        home = self.homes.get(id(slot))
        return None if home is None else self.arrays.promise(home, held)

    def check(self) -> None:
        self._check_touches()
        self._check_stores()
        self._check_calls()

    def _prove(self, what: str, block: Any, claim: Formula, *given: Formula) -> None:
        found = self.meaning.counterexample(block, claim, *given)
        assert found is None, f"{self.function.name}: {what}\n{found}"

    def _check_touches(self) -> None:
        for touch in self.meaning.touches():
            place = touch.place
            if place.target is not self.base:
                found = escape(self.meaning, touch, self.objects)
                assert found is None, f"{self.function.name}: {touch.insn}\n{found}"
                continue
            low, high = self.arrays.extent(place)
            inside = z3.And(z3.UGE(place.offset, low), z3.ULE(place.offset, high - touch.nbytes))
            self._prove(str(touch.insn), touch.block, inside, place.when)

    def _check_stores(self) -> None:
        """What is stored keeps the promises."""
        for block, insn in self._stores():
            value, pointer = insn.operands
            for place in self._promised(pointer):
                promise = self.arrays.promise(place, self.meaning.value(value))
                if promise is not None:
                    self._prove(f"promise of {insn}", block, promise, place.when)

    def _promised(self, pointer: Any) -> list[Alternative]:
        """The words of the state that a store is to, directly or in their slots."""
        if id(pointer) in self.meaning.slots:
            return [self.homes[id(pointer)]] if id(pointer) in self.homes else []
        places = self.meaning.pointer(pointer)
        return [p for p in places if p.target is self.base and p.part is not None]

    def _check_calls(self) -> None:
        for block, call in self.meaning.calls():
            name = getattr(call.callee, "name", "")
            for number, argument in enumerate(call.args):
                bound = PARAMETERS.get((name, number))
                if bound is not None:
                    claim = z3.ULT(self.meaning.value(argument), bound)
                    self._prove(f"argument {number} of {name}", block, claim)


def module_of(body: list[Step], vtype: str) -> tuple[Any, State]:
    """The module of a region that counts cycles and makes records."""
    model = CostModel(CORE)
    state = model.make_state(256, records=True)
    memory = Memory(1 << 20)
    memory.map(TEXT, PAGE, R | X)
    memory.write(TEXT, assemble([*body, step("ebreak")]))
    interp = Interpreter(config(256, True), state, memory, cost=model)
    plan = discover(interp, TEXT, Mode(VType.parse(f"{vtype},tu,mu"), "vl"))
    module = new_module("proof")
    lower_region(module, "region", plan, interp.config, state.array_offsets)
    return module, state


BODIES: dict[str, tuple[list[Step], str]] = {
    "loads": ([step("ld", rd=5, rs1=9, imm=3), step("lbu", rd=6, rs1=10, imm=-1)], "e8,m1"),
    "stores": ([step("sd", rs2=5, rs1=9, imm=3), step("sb", rs2=6, rs1=10, imm=0)], "e8,m1"),
    "branch": ([step("addi", rd=5, rs1=5, imm=1), step("bne", rs1=5, rs2=6, imm=-4)], "e8,m1"),
    "jump": ([step("jalr", rd=1, rs1=9, imm=0)], "e8,m1"),
    "gather": ([step("vluxei64.v", vd=4, rs1=9, vs2=8, vm=1)], "e64,m1"),
    "strided": ([step("vsse32.v", vs3=4, rs1=9, rs2=10, vm=0)], "e32,m1"),
    "run": ([step("vle64.v", vd=8, rs1=9, vm=1), step("vse64.v", vs3=8, rs1=9, vm=1)], "e64,m2"),
    "vector": ([step("vadd.vv", vd=8, vs2=12, vs1=16, vm=1)] * 2, "e64,m2"),
    "prefetch": ([step("prefetch.r", rs1=9, imm=32)], "e8,m1"),
}


QUICK = ("jump",)
"""Of the regions; the others are proven in the slow round."""


@pytest.mark.parametrize(
    "name", [b if b in QUICK else pytest.param(b, marks=pytest.mark.slow) for b in BODIES]
)
def test_regions_stay_in_the_arrays(name: str) -> None:
    module, state = module_of(*BODIES[name])
    Proof(module.globals["region"], state, region=True).check()


def subprograms() -> dict[str, tuple[Any, State]]:
    """All that the regions call."""
    found: dict[str, tuple[Any, State]] = {}
    for body, vtype in BODIES.values():
        module, state = module_of(body, vtype)
        for function in module.functions:
            if not function.is_declaration and function.name != "region":
                found.setdefault(function.name, (function, state))
    return found


def test_subprograms_stay_in_the_arrays() -> None:
    found = subprograms()
    assert {name for name, _ in PARAMETERS} <= found.keys()
    for function, state in found.values():
        Proof(function, state, region=False).check()


@pytest.mark.parametrize("cache", ["l1d", "l1i", "l2"])
def test_a_cache_has_a_line_in_each_way(cache: str) -> None:
    """With fewer, the number of sets would be 0, and every address a place of its own."""
    numbers = [f"{cache}.size={4096 if cache == 'l2' else 1024}", f"{cache}.ways=16"]
    with pytest.raises(RvsimError, match=f"{cache}.size = .* is less than one line"):
        load_core("x60", [*numbers, "l1d.line=256", "l1i.line=256", "l2.ways=32"])
    whole = [f"{cache}.size=8192", f"{cache}.ways=16", "l1d.line=256", "l1i.line=256"]
    assert load_core("x60", whole)
