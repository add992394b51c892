"""Proofs, for all 2^64 addresses and every size of memory, that compiled code stays in the guest's.

z3 gets the LLVM IR that the functions of `rvsim.ir.llvm.bounds` emit, and that of whole regions,
translated by `llvm_meaning`: proofs about the code itself, not about a model of it.  All are made
at the full 64 bits; a smaller width with all inputs tried would say less.  What keeps them small is
that a loop stands for one round of it, any, and that of the highest lane only this is used: none
lies beyond.

Two kinds of claims:

- of each marked function (`PROOFS`): what it allows lies in guest memory and has the permission, in
  the first page, the last, and those between; what it looks up lies in the table of permissions;
- of the region of each memory instruction: every load and store, whatever it is for, stays in the
  object that its pointer comes from, be that guest memory, the permissions, the hart's state with
  the arrays of the cost model, the table of regions, or a place on the stack.

So an access that is added elsewhere, or a check that is left out, fails here.  That nothing else
names the places is checked in the source as well.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3
from llvmlite import ir
from llvmlite.ir import instructions as insns

from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.jit.discover import discover
from rvsim.engine.jit.lower import lower_region
from rvsim.engine.jit.table import ENTRY_BYTES, TABLE_BITS
from rvsim.hart.memory import PAGE, R, W
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.ir.llvm.bounds import FORMS_ADDRESS
from rvsim.ir.llvm.build import I1, I64, PTR, Frame, new_module, vector
from rvsim.ir.llvm.memory import GuestMemory
from rvsim.vec.vtype import VType
from tests.harness import EXTENSIONS
from tests.program.bare import TEXT, Bare, Step, assemble, random_fields, step, vector_fields

from .llvm_meaning import Formula, Meaning, Touch, bytes_of

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 1 << 62
"""Of a memory; the command line allows 2^38."""


def assume_memory(meaning: Meaning, size: Formula, perm: Any) -> None:
    """What `rvsim.hart.memory.Memory` promises of size and permissions."""
    meaning.permission_table = perm
    meaning.facts += [
        size & (PAGE - 1) == 0,
        size != 0,
        z3.ULE(size, LARGEST),
        meaning.permissions(z3.LShR(size, 12)) == 0,
    ]


# -- the marked functions

Emit = Callable[[GuestMemory, Any, list[Any]], Any]


class Emitted:
    """What a function emits, between arguments that may be anything and a return of its result."""

    def __init__(self, emit: Emit, *operands: Any) -> None:
        module = new_module("proof")
        function = ir.Function(module, ir.FunctionType(I64, [PTR, PTR, I64, *operands]), "f")
        entry = ir.IRBuilder(function.append_basic_block("entry"))
        b = ir.IRBuilder(function.append_basic_block("body"))
        self.mem, self.perm, size, *self.operands = function.args
        guest = GuestMemory(self.mem, self.perm, size, Frame(entry))
        self.result = emit(guest, b, self.operands)
        self.end = b.block
        b.ret(I64(0))
        entry.branch(function.blocks[1])
        self.meaning = Meaning(function)
        self.size = self.meaning.value(size)
        assume_memory(self.meaning, self.size, self.perm)
        self.function = function

    def value(self, v: Any, lane: int | None = None) -> Formula:
        return self.meaning.value(v, lane)

    @property
    def allows(self) -> Formula:
        return self.value(self.result) == 1

    def bad_byte(self, addr: Formula, nbytes: Formula, need: int | None) -> Formula:
        """Some byte of the span is outside, behind a wrap, or in a page without permission."""
        k = z3.BitVec("some byte", 64)
        at = addr + k
        outside = z3.Or(z3.ULT(at, addr), z3.UGE(at, self.size))
        if need is not None:
            page = self.meaning.permissions(z3.LShR(at, 12))
            outside = z3.Or(outside, page & need == 0)
        return z3.And(z3.ULT(k, nbytes), outside)

    def good_pages(self, addr: Formula, nbytes: int, need: int) -> Formula:
        """The first byte of each page of the span, and its last, may be accessed."""
        found = []
        for offset in [*range(0, nbytes, PAGE), nbytes - 1]:
            at = addr + offset
            page = self.meaning.permissions(z3.LShR(at, 12))
            found += [z3.ULT(at, self.size), z3.UGE(at, addr), page & need != 0]
        return z3.And(*found)

    def prove(self, claim: Formula, block: Any = None, lane: int | None = None) -> None:
        found = self.meaning.counterexample(block or self.end, claim, lane=lane)
        assert found is None, found

    def prove_touches(self, *given: Formula) -> None:
        """All that is loaded and stored on the way lies in its object."""
        objects = {id(self.mem): self.size, id(self.perm): z3.LShR(self.size, 12) + 1}
        for touch in self.meaning.touches():
            found = escape(self.meaning, touch, objects, *given)
            assert found is None, f"{touch.insn}: {found}"


def escape(meaning: Meaning, touch: Touch, objects: dict[int, Formula], *given: Formula) -> Any:
    """How a load or store may leave its object; None if it can't."""
    target, place = touch.place.target, touch.place
    if id(target) in objects:
        extent = objects[id(target)]
    elif isinstance(target, insns.AllocaInstr):
        extent = z3.BitVecVal(bytes_of(target.allocated_type), 64)
    elif isinstance(target, ir.GlobalVariable):
        extent = z3.BitVecVal(bytes_of(target.value_type), 64)
    else:
        return f"nothing is known of {target}"
    inside = z3.And(z3.ULE(touch.nbytes, extent), z3.ULE(place.offset, extent - touch.nbytes))
    inside = z3.Or(touch.nbytes == 0, inside)
    return meaning.counterexample(touch.block, inside, place.when, *given, lane=place.lane)


LENGTHS = (1, 2, 4, 8, 3, 31, 64, PAGE - 1, PAGE)
LONG = (PAGE + 1, 2 * PAGE, 3 * PAGE + 1)


def prove_permission() -> None:
    e = Emitted(lambda g, b, args: g.permission(b, args[0]), I64)
    addr, found = e.value(e.operands[0]), e.value(e.result)
    e.prove_touches()
    e.prove(z3.Implies(z3.UGE(addr, e.size), found == 0))
    own = e.meaning.permissions(z3.LShR(addr, 12))
    e.prove(z3.Implies(z3.ULT(addr, e.size), found == own))


def prove_permission_inside() -> None:
    e = Emitted(lambda g, b, args: g._permission_inside(b, args[0]), I64)
    addr = e.value(e.operands[0])
    e.value(e.result)
    e.prove_touches(z3.ULT(addr, e.size))
    e.prove(e.value(e.result) == e.meaning.permissions(z3.LShR(addr, 12)))


def prove_inside() -> None:
    for nbytes in (*LENGTHS, *LONG):
        e = Emitted(lambda g, b, args, n=nbytes: g.inside(b, args[0], n), I64)
        addr = e.value(e.operands[0])
        bad = e.bad_byte(addr, z3.BitVecVal(nbytes, 64), None)
        e.prove(z3.Not(z3.And(e.allows, bad)))
        last = addr + (nbytes - 1)
        fits = z3.And(z3.UGE(last, addr), z3.ULT(last, e.size))
        e.prove(z3.Implies(fits, e.allows))


def prove_allowed() -> None:
    for number, nbytes in enumerate((*LENGTHS, *LONG)):
        need = (R, W)[number % 2]
        e = Emitted(lambda g, b, args, n=nbytes, w=need: g.allowed(b, args[0], n, w), I64)
        addr = e.value(e.operands[0])
        bad = e.bad_byte(addr, z3.BitVecVal(nbytes, 64), need)
        e.prove(z3.Not(z3.And(e.allows, bad)))
        e.prove(z3.Implies(e.good_pages(addr, nbytes, need), e.allows))
        e.prove_touches()


def prove_run_allowed() -> None:
    """All of it lies inside, whatever is said of how much is used."""
    for nbytes in (1, 32, PAGE, *LONG):
        e = Emitted(lambda g, b, args, n=nbytes: g.run_allowed(b, args[0], n, args[1], W), I64, I64)
        addr, used = (e.value(o) for o in e.operands)
        whole = e.bad_byte(addr, z3.BitVecVal(nbytes, 64), None)
        e.prove(z3.Not(z3.And(e.allows, whole)))
        bad = e.bad_byte(addr, used, W)
        e.prove(z3.Not(z3.And(e.allows, z3.ULE(used, nbytes), bad)))
        e.prove_touches()


def lanes_operands(n: int) -> tuple[Any, Any]:
    return vector(n, 64), ir.VectorType(I1, n)


def prove_lanes_allowed() -> None:
    """Where the lanes are near; those of `each`, which looks at others, are proven there."""
    for n, nbytes in ((1, 8), (2, 1), (4, 8)):
        e = Emitted(
            lambda g, b, args, k=nbytes: g.lanes_allowed(b, *args, k, R), *lanes_operands(n)
        )
        near = next(block for block in e.function.blocks if block.name == "near")
        addr, active = e.operands
        for i in range(n):
            at, on = e.value(addr, i), e.value(active, i) == 1
            outside = e.bad_byte(at, z3.BitVecVal(nbytes, 64), None)
            e.prove(z3.Not(z3.And(e.allows, on, outside)), lane=i)
            bad = e.bad_byte(at, z3.BitVecVal(nbytes, 64), R)
            e.prove(z3.Not(z3.And(e.meaning.reach(near), e.allows, on, bad)), lane=i)
        e.prove_touches()


def prove_place() -> None:
    e = Emitted(lambda g, b, args: g.place(b, args[0]), I64)
    (place,) = e.meaning.pointer(e.result)
    assert place.target is e.mem
    e.prove(place.offset == e.value(e.operands[0]))


def prove_place_again() -> None:
    for nbytes in (1, 2, 4, 8, PAGE):
        e = Emitted(lambda g, b, args, n=nbytes: g.place_again(b, args[0], n), I64)
        (place,) = e.meaning.pointer(e.result)
        addr = e.value(e.operands[0])
        assert place.target is e.mem
        e.prove(z3.ULE(place.offset, e.size - nbytes))
        e.prove(z3.Implies(z3.ULE(addr, e.size - nbytes), place.offset == addr))


def prove_places() -> None:
    n = 4
    for everything in (False, True):
        e = Emitted(
            lambda g, b, args, a=everything: g.places(b, *args, all_active=a), *lanes_operands(n)
        )
        addr, active = e.operands
        for i, pointer in enumerate(e.result):
            for place in e.meaning.pointer(pointer):
                if place.target is e.mem:
                    e.prove(place.offset == e.value(addr, i))
                else:
                    assert isinstance(place.target, insns.AllocaInstr)
                    assert bytes_of(place.target.allocated_type) == 8
                    assert not everything
                    e.prove(z3.Implies(place.when, e.value(active, i) == 0))


def prove_each() -> None:
    """Where a lane is visited, all of its bytes may be accessed."""
    for lanes, nbytes in ((True, 1), (True, 8), (False, 1), (False, 4)):
        _prove_visits(lanes, nbytes)


def _prove_visits(lanes: bool, nbytes: int) -> None:
    visited: list[tuple[Any, Any]] = []

    def emit(g: GuestMemory, b: Any, args: list[Any]) -> Any:
        return g.each(b, *args, nbytes, W, lambda index, host: visited.append((b.block, host)))

    first, mask = lanes_operands(4)
    e = Emitted(emit, first if lanes else I64, mask)
    ((block, host),) = visited
    (place,) = e.meaning.pointer(host)
    assert place.target is e.mem
    bad = e.bad_byte(place.offset, z3.BitVecVal(nbytes, 64), W)
    e.prove(z3.Not(bad), block)
    e.prove_touches()


PROOFS: dict[str, Callable[[], None]] = {
    "permission": prove_permission,
    "_permission_inside": prove_permission_inside,
    "inside": prove_inside,
    "allowed": prove_allowed,
    "run_allowed": prove_run_allowed,
    "lanes_allowed": prove_lanes_allowed,
    "place": prove_place,
    "place_again": prove_place_again,
    "places": prove_places,
    "each": prove_each,
}


@pytest.mark.parametrize("name", FORMS_ADDRESS)
def test_what_is_allowed_lies_in_the_guest(name: str) -> None:
    assert name in PROOFS, f"{name} forms addresses: write its proof"
    PROOFS[name]()


def test_each_proof_is_of_a_function() -> None:
    assert PROOFS.keys() == FORMS_ADDRESS.keys()


def test_a_check_that_wraps_is_found() -> None:
    """The proofs see what they are for: a sum over the end of the address space."""

    def wraps(g: GuestMemory, b: Any, args: list[Any]) -> Any:
        end = b.add(args[0], I64(7))
        return b.icmp_unsigned("<", end, g._size)

    e = Emitted(wraps, I64)
    bad = e.bad_byte(e.value(e.operands[0]), z3.BitVecVal(8, 64), None)
    assert e.meaning.counterexample(e.end, z3.Not(z3.And(e.allows, bad))) is not None


# -- that nothing else names the places

PLACES = frozenset({"_data", "_perm", "_size"})
BUILDERS = ("GuestMemory", "RegionMemory", "GuestSpace")


def lowering_files() -> Iterator[Path]:
    yield from sorted((ROOT / "rvsim" / "ir" / "llvm").glob("*.py"))
    yield from sorted((ROOT / "rvsim" / "engine" / "jit").rglob("*.py"))


def unmarked_uses(tree: ast.Module) -> Iterator[int]:
    """Lines that name where guest memory lies, but for marked functions and constructors."""
    allowed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            marks = {ast.unparse(d) for d in node.decorator_list}
            if "forms_address" in marks or node.name == "__init__":
                allowed |= set(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PLACES and node not in allowed:
            yield node.lineno


def loose_pointers(tree: ast.Module) -> Iterator[int]:
    """Lines that use what a memory is built from for anything else."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(ast.walk(function))
        calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) in BUILDERS]
        given = {a.id for c in calls for a in c.args[:2] if isinstance(a, ast.Name)}
        names = given & set(_own_arguments(nodes))
        fine = {id(a) for c in calls for a in c.args}
        for loop in nodes:
            if isinstance(loop, ast.For) and "add_attribute" in ast.unparse(loop.body[0]):
                fine |= {id(n) for n in ast.walk(loop.iter)}
        for node in nodes:
            used = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            if used and node.id in names and id(node) not in fine:
                yield node.lineno


def _own_arguments(nodes: list[ast.AST]) -> Iterator[str]:
    """Names that are given to the arguments of the LLVM function, but for its state's."""
    for node in nodes:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".args"):
            names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            yield from (name for name in names if name != "base")


def test_only_marked_functions_name_the_places() -> None:
    found = []
    for path in lowering_files():
        tree = ast.parse(path.read_text("utf-8"))
        lines = [*unmarked_uses(tree), *loose_pointers(tree)]
        found += [f"{path.relative_to(ROOT)}:{line}" for line in lines]
    assert not found, (
        "these lines form addresses of guest memory by themselves; use or add a function of"
        f" rvsim/ir/llvm/bounds.py: {found}"
    )


def test_the_rule_sees_what_it_forbids() -> None:
    raw = "def f(self, b):\n    return at(b, self._data, 0)"
    loose = (
        "def f(function):\n    data, perm = function.args\n    m = GuestMemory(data, perm)\n"
        "    at(b, data, 1)"
    )
    assert list(unmarked_uses(ast.parse(raw))) == [2]
    assert list(loose_pointers(ast.parse(loose))) == [4]


# -- whole regions


@dataclass(frozen=True)
class Region:
    """One instruction, or a few, compiled for a mode."""

    body: tuple[Step, ...]
    mode: Mode
    config: Config

    def __str__(self) -> str:
        return f"{'; '.join(str(s) for s in self.body)} in {self.mode}"


def lowered(region: Region) -> Any:
    """The module of the region; None where the interpreter has to execute it."""
    bare = Bare(assemble([*region.body, step("ebreak")]), region.config)
    plan = discover(bare.interp, TEXT, region.mode)
    if sum(len(block.steps) for block in plan.blocks.values()) < len(region.body):
        return None
    module = new_module("proof")
    lower_region(module, "region", plan, region.config, {})
    return module, bare.state.buffer.nbytes


def prove_region(region: Region, *, every_lane: bool) -> bool:
    """That no load or store leaves its object; whether there is a region at all."""
    made = lowered(region)
    if made is None:
        return False
    module, state_bytes = made
    function = module.globals["region"]
    meaning = Meaning(function)
    state, mem, perm, size, table = function.args
    assume_memory(meaning, meaning.value(size), perm)
    objects = {
        id(mem): meaning.value(size),
        id(perm): z3.LShR(meaning.value(size), 12) + 1,
        id(state): z3.BitVecVal(state_bytes, 64),
        id(table): z3.BitVecVal(ENTRY_BYTES << TABLE_BITS, 64),
    }
    touched_guest = 0
    for touch in meaning.touches():
        touched_guest += touch.place.target is mem
        if every_lane or not _in_the_middle(touch, meaning):
            found = escape(meaning, touch, objects)
            assert found is None, f"{region}\n{touch.insn}\n{found}"
    for block, empty in meaning.bases:
        found = meaning.counterexample(block, z3.Not(empty))
        assert found is None, f"{region}\na loop of no rounds: {found}"
    return touched_guest > 0


def _in_the_middle(touch: Touch, meaning: Meaning) -> bool:
    """Whether it is one of many lanes that the same lines of the compiler make."""
    return touch.place.lane is not None and touch.place.lane not in (0, 1, 5)


@cache
def config(vlen: int, misaligned: bool) -> Config:
    return Config(EXTENSIONS, vlen=vlen, misaligned_vector=misaligned)


SCALAR_UNITS = frozenset({"load", "store", "amo", "fload", "fstore", "cache"})


def memory_insns() -> list[Insn]:
    """All that access memory."""
    kinds = ("vload", "vstore")
    return [i for i in isa().insns if i.unit.value in SCALAR_UNITS
            or i.unit.value.startswith(kinds)]  # fmt: skip


VTYPES = ("e8,m1", "e64,m1", "e32,m2", "e16,mf2", "e8,m8", "e64,m8", "e32,m4")


def regions(insn: Insn, tries: int) -> Iterator[Region]:
    """Modes and fields of one instruction, by a seed of its name."""
    rng = random.Random(insn.name)
    for number in range(tries):
        # All vtypes come up in turn; the first ones are tried of every instruction.
        vtype = VType.parse(f"{VTYPES[(number + rng.randrange(7)) % 7]},tu,mu")
        vlen = rng.choice((128, 256))
        fixed = {"rs1": 9, "rs2": 10, "rd": 11}
        fields = (
            vector_fields(rng, insn, vtype, **fixed)
            if insn.unit.is_vector
            else random_fields(rng, insn, **fixed)
        )
        mode = Mode(vtype, rng.choice(("full", "vl")))
        yield Region((Step(insn.name, fields),), mode, config(vlen, rng.random() < 0.7))


def prove_insn(insn: Insn, *, wanted: int, tries: int, every_lane: bool) -> int:
    proven = 0
    for region in regions(insn, tries):
        proven += prove_region(region, every_lane=every_lane)
        if proven == wanted:
            break
    return proven


SAMPLE = """
    lb ld fld sb c.sw amoadd.w lr.w sc.d cbo.zero vle8.v vle32ff.v vse16.v vsse8.v vloxei64.v
    vsuxei64.v vlm.v vs8r.v vlseg3e16.v vsoxseg4ei8.v
"""


@pytest.mark.parametrize("name", SAMPLE.split())
def test_regions_of_some_instructions_stay_in_their_objects(name: str) -> None:
    insn = isa().by_name[name]
    assert insn in memory_insns()
    assert prove_insn(insn, wanted=1, tries=12, every_lane=False), "never compiled"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(32))
def test_regions_of_all_instructions_stay_in_their_objects(part: int) -> None:
    insns_of_part = memory_insns()[part::32]
    proven = {i.name: prove_insn(i, wanted=1, tries=30, every_lane=False) for i in insns_of_part}
    missing = {name for name, count in proven.items() if not count}
    assert not {m for m in missing if not m.startswith("prefetch")}, missing


SEQUENCES: tuple[tuple[Step, ...], ...] = (
    # One check for several accesses through a base.
    (step("ld", rd=6, rs1=9, imm=-8), step("ld", rd=7, rs1=9, imm=2040)),
    (step("sw", rs1=9, rs2=7, imm=16), step("ld", rd=9, rs1=9, imm=0),
     step("sb", rs1=9, rs2=7, imm=3)),
    # A store under a condition, which vouches for no other.
    (step("sc.w", rd=6, rs1=9, rs2=7, aq=0, rl=0), step("sw", rs1=9, rs2=7, imm=0)),
    (step("sw", rs1=9, rs2=7, imm=8), step("sc.w", rd=6, rs1=9, rs2=7, aq=0, rl=0),
     step("sw", rs1=9, rs2=7, imm=0)),
    (step("lr.d", rd=6, rs1=9, aq=0, rl=0), step("ld", rd=7, rs1=9, imm=-16)),
)  # fmt: skip


@pytest.mark.parametrize("body", SEQUENCES)
def test_accesses_that_share_a_check_stay_inside(body: tuple[Step, ...]) -> None:
    mode = Mode(VType.parse("e8,m1,tu,mu"), "vl")
    assert prove_region(Region(body, mode, config(256, True)), every_lane=True)
