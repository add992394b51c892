"""Accesses of compiled code at the borders of pages, and which of them the interpreter never sees.

The data area ends in a page that isn't mapped; the last page of the guest's memory is mapped too.
"""

from __future__ import annotations

import random

import pytest

from rvsim.engine.jit.discover import RegionPlan
from rvsim.engine.jit.engine import Jit
from rvsim.engine.jit.native import Native
from rvsim.hart.memory import PAGE, R, W
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, Step, assemble, step

pytestmark = pytest.mark.compiled

CONFIG = make_config("generic-rv64gcv", vlen=256)
END = DATA + DATA_SIZE
TOP = 1 << 20
ROUNDS = 12
VTYPES = {f"e{sew},m{lmul}": VType.parse(f"e{sew},m{lmul},tu,mu") for sew in (8, 16, 32, 64)
          for lmul in (1, 2)}  # fmt: skip


def program(body: list[Step], vtype: VType) -> bytes:
    """`body` with vl of x11, in a loop that x8 counts down."""
    size = sum(s.length for s in body) + 4
    return assemble(
        [
            step("vsetvli", rd=5, rs1=11, vtypei=vtype.encode()),
            *body,
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-(size + 4)),
            step("ebreak"),
        ]
    )


class Pair:
    """A program in both engines, run from as many states as one likes."""

    def __init__(self, body: list[Step], vtype: VType) -> None:
        code = program(body, vtype)
        self.reference, self.compiled = (Bare(code, CONFIG, memory_size=TOP) for _ in range(2))
        for bare in (self.reference, self.compiled):
            bare.memory.map(TOP - PAGE, PAGE, R | W)
        self.jit = self.compiled.interp.jit = Jit(self.compiled.interp, 1)
        self.entries: list[int] = []
        self.jit.compile = self._compile_and_count  # type: ignore[method-assign]

    def _compile_and_count(self, plan: RegionPlan) -> Native:
        native = Jit.compile(self.jit, plan)
        run = native.run

        def counted(fuel: int) -> int:
            self.entries.append(run(fuel))
            return self.entries[-1]

        native.run = counted
        return native

    def assert_same(self, x: dict[int, int], v: dict[int, bytes] | None = None) -> int:
        """Both end alike; how often native code was entered, first of all or after an exit."""
        self.entries.clear()
        ends = []
        for bare in (self.reference, self.compiled):
            prepare(bare, x, v or {})
            trap = bare.run(100_000)
            ends.append((trap, *bare.snapshot(), bare.memory.read(TOP - PAGE, PAGE)))
        assert ends[0] == ends[1]
        assert self.jit.regions
        return len(self.entries)


def prepare(bare: Bare, x: dict[int, int], v: dict[int, bytes]) -> None:
    rng = random.Random(1)
    bare.memory.write(DATA, rng.randbytes(DATA_SIZE))
    bare.memory.write(TOP - PAGE, rng.randbytes(PAGE))
    state = bare.state
    state.buffer[:] = 0
    state["vtype"], state["pc"] = 1 << 63, TEXT
    state.vfile[:] = memoryview(rng.randbytes(state.vfile.size))
    for register, value in {8: ROUNDS, **x}.items():
        state.x[register] = value % (1 << 64)
    for register, content in v.items():
        start = register * state.vlenb
        state.vfile[start : start + len(content)] = memoryview(content)


def access(name: str, **fields: int) -> Step:
    data = "vs3" if name.startswith("vs") else "vd"
    return step(name, rs1=9, **{"vm": 1, data: 4, **fields})


INCREMENT = step("vadd.vi", vm=1, vs2=4, imm=1, vd=4)


@pytest.mark.parametrize("name", ["vle8.v", "vse8.v", "vle32.v", "vse32.v", "vlseg2e16.v"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_tail_that_ends_with_the_page_is_accessed_natively(name: str, masked: bool) -> None:
    vtype = VTYPES["e32,m2" if "32" in name else "e16,m1" if "16" in name else "e8,m2"]
    nbytes = vtype.sew // 8 * (2 if "seg2" in name else 1)
    mask = {0: (0b111_0111_0101).to_bytes(32, "little")}  # no lane from 11 on
    pair = Pair([access(name, vm=int(not masked))], vtype)
    for vl in (1, 5, 11, 16):
        used = min(vl, 11) if masked else vl
        for end in (END, TOP):
            entries = pair.assert_same({9: end - used * nbytes, 11: vl}, mask)
            # What reaches past the guest's memory is left to the interpreter, as is a fault.
            assert end == TOP or entries <= 3
            pair.assert_same({9: end - (used - 1) * nbytes, 11: vl}, mask)


@pytest.mark.parametrize(
    ("name", "more"),
    [("vle8.v", {}), ("vse8.v", {}), ("vlse8.v", {"rs2": 12}), ("vsse8.v", {"rs2": 12}),
     ("vluxei8.v", {"vs2": 8})],
)  # fmt: skip
def test_no_lane_is_accessed_nowhere(name: str, more: dict[str, int]) -> None:
    for masked, vl in ((False, 0), (True, 32)):
        pair = Pair([access(name, vm=int(not masked), **more)], VTYPES["e8,m1"])
        for where in (0, END, TOP, TOP - 4, 1 << 40, -1):
            pair.assert_same({9: where, 11: vl, 12: 1 << 50}, {0: bytes(32)})
            assert pair.reference.state.x[8] == 0


STRIDES = (0, 1, -1, 3, -8, 127, PAGE, -PAGE, PAGE - 1, 1 << 40, -(1 << 62))


@pytest.mark.parametrize("vtype", VTYPES)
@pytest.mark.parametrize("name", ["vlse", "vsse"])
def test_strides(name: str, vtype: str) -> None:
    rng = random.Random(vtype)
    body = access(f"{name}{VTYPES[vtype].sew}.v", rs2=12, vm=rng.randrange(2))
    pair = Pair([body, INCREMENT], VTYPES[vtype])
    for stride in STRIDES:
        start = DATA + PAGE + rng.choice((0, 8, PAGE - 4, PAGE // 2))
        pair.assert_same({9: start, 11: rng.randrange(1, 33), 12: stride})


@pytest.mark.parametrize("vtype", VTYPES)
@pytest.mark.parametrize("name", ["vluxei", "vsuxei", "vsoxei"])
def test_indices(name: str, vtype: str) -> None:
    """Near and far ones, equal ones, and lanes at no good address that the mask leaves out."""
    rng = random.Random(vtype + name)
    n, sew = VTYPES[vtype].vlmax(CONFIG.vlen), VTYPES[vtype].sew
    eew = rng.choice([e for e in (8, 16, 32, 64) if n * e <= 8 * CONFIG.vlen])
    pair = Pair([access(f"{name}{eew}.v", vs2=8, vm=0), INCREMENT], VTYPES[vtype])
    for reach in (1, 4, 200, DATA_SIZE - 8, 1 << 40):
        step_bytes = sew // 8 if reach > 200 else 1
        lanes = [rng.randrange(min(reach, 1 << eew)) // step_bytes * step_bytes for _ in range(n)]
        hidden = {i for i in range(n) if i % 3 == 1}
        for lane in hidden:
            lanes[lane] = rng.choice((0, (1 << eew) - 1))
        octets = b"".join(lane.to_bytes(eew // 8, "little") for lane in lanes)
        mask = sum(1 << i for i in range(n) if i not in hidden).to_bytes(32, "little")
        entries = pair.assert_same({9: DATA, 11: n}, {8: octets, 0: mask})
        assert reach > DATA_SIZE or entries <= 3


@pytest.mark.parametrize("name", ["lbu", "lh", "lw", "ld", "sb", "sh", "sw", "sd"])
def test_scalar_accesses_at_every_border(name: str) -> None:
    nbytes = {"b": 1, "h": 2, "w": 4, "d": 8}[name[1]]
    registers = {"rs2": 8} if name[0] == "s" else {"rd": 6}
    pair = Pair([step(name, rs1=9, imm=0, **registers)], VTYPES["e8,m1"])
    areas = [(DATA, END), (TOP - PAGE, TOP)]
    for border in (DATA, DATA + PAGE, END, TOP - PAGE, TOP, 1 << 64):
        for addr in range(border - nbytes - 1, border + 2):
            entries = pair.assert_same({9: addr, 11: 1})
            assert entries <= 3 or not any(a <= addr <= b - nbytes for a, b in areas)
