"""Programs with register groups of more than 256 bytes: compiled as loops over strips."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rvsim.hart.memory import PAGE
from rvsim.insn.isa import isa
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, Step, assemble, load_upper, step, vector_fields
from tests.program.test_jit import CONFIG, assert_same, loop, start

pytestmark = pytest.mark.compiled

VLENS = (1024, 4096)
E8M1, E8M8, E16M4, E32M8 = (
    VType.parse(text) for text in ("e8,m1,ta,ma", "e8,m8,ta,mu", "e16,m4,tu,ma", "e32,m8,ta,ma")
)

WIDE = [
    step("vle8.v", vm=1, rs1=9, vd=8),
    step("vmslt.vx", vm=1, vs2=8, rs1=8, vd=0),
    step("vadd.vi", vm=0, vs2=8, imm=3, vd=16),
    step("vslidedown.vi", vm=1, vs2=16, uimm=3, vd=24),
    step("vredsum.vs", vm=0, vs2=24, vs1=11, vd=7),
    step("vrgather.vv", vm=1, vs2=8, vs1=24, vd=16),
    step("vse8.v", vm=0, rs1=10, vs3=16),
    step("addi", rd=9, rs1=9, imm=5),
]
WIDE_AND_NARROW = [
    step("vsetvli", rd=5, rs1=8, vtypei=E16M4.encode()),
    step("vle16.v", vm=1, rs1=9, vd=8),
    step("vwmacc.vx", vm=1, rs1=8, vs2=8, vd=16),
    step("vsetvli", rd=0, rs1=8, vtypei=E8M1.encode()),
    step("vadd.vv", vm=1, vs2=16, vs1=9, vd=17),
    step("vslide1up.vx", vm=1, vs2=17, rs1=8, vd=3),
    step("vse8.v", vm=1, rs1=10, vs3=3),
]
BODIES = {"wide": WIDE, "wide and narrow": WIDE_AND_NARROW}


@pytest.mark.parametrize("vlen", VLENS)
@pytest.mark.parametrize("name", BODIES)
def test_loops_end_in_the_same_state(name: str, vlen: int) -> None:
    code = loop(50, BODIES[name], E8M8.encode())
    assert assert_same(code, 100_000, config=replace(CONFIG, vlen=vlen)) > 0


@pytest.mark.parametrize("vlen", VLENS)
@pytest.mark.parametrize("access", ["vle8.v", "vse8.v"])
def test_a_fault_in_a_strip_is_precise(access: str, vlen: int) -> None:
    data = {"vle8.v": "vd", "vse8.v": "vs3"}[access]
    body = [step(access, vm=1, rs1=10, **{data: 8}), step("addi", rd=10, rs1=10, imm=61)]
    code = loop(1000, body, E8M8.encode())
    assert assert_same(code, 100_000, config=replace(CONFIG, vlen=vlen)) > 0


def test_lanes_past_vl_need_no_memory() -> None:
    """The last bytes before an unmapped page, again and again, with vl = 40 of 4096."""
    end = DATA + 4 * PAGE
    code = assemble(
        [
            load_upper(9, end),
            step("addi", rd=9, rs1=9, imm=-40),
            step("addi", rd=8, rs1=0, imm=300),
            step("addi", rd=7, rs1=0, imm=40),
            step("vsetvli", rd=5, rs1=7, vtypei=E8M8.encode()),
            step("vle8.v", vm=1, rs1=9, vd=8),
            step("vadd.vx", vm=1, vs2=8, rs1=8, vd=8),
            step("vse8.v", vm=1, rs1=9, vs3=8),
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-16),
            step("ebreak"),
        ]
    )
    assert assert_same(code, 100_000, config=replace(CONFIG, vlen=4096)) > 0


def any_vector(rng: random.Random, vtype: VType) -> Step:
    insn = rng.choice([i for i in isa().insns if i.vregs and i.unsupported is None])
    return Step(insn.name, vector_fields(rng, insn, vtype, vm=rng.choice((0, 1, 1))))


@pytest.mark.parametrize("seed", range(40))
def test_loops_of_random_instructions_end_the_same(seed: int) -> None:
    rng = random.Random(seed)
    config = replace(CONFIG, vlen=rng.choice(VLENS), agnostic=rng.choice(("undisturbed", "ones")))
    vtype = rng.choice((E8M8, E16M4, E32M8))
    setvl = step("vsetivli", rd=5, uimm=rng.randrange(32), vtypei=vtype.encode())
    body = [rng.choice((setvl, step("vsetvli", rd=5, rs1=0, vtypei=vtype.encode())))]
    while len(body) < 8:
        trial = any_vector(rng, vtype)
        bare = start(assemble([*body, trial]), config, seed)
        if bare.run(len(body) + 1) is None:
            body.append(trial)
    back = step("jal", rd=0, imm=-4 * len(body))
    assert_same(assemble([*body, back]), 100, config=config, seed=seed)


@pytest.mark.parametrize(
    ("name", "vlen"), [("gemm_tile_s8", 4096), ("memops", 1024), ("exp_silu_f32", 2048)]
)
def test_kernels_print_and_count_the_same(name: str, vlen: int) -> None:
    results = []
    for engine in ("numpy", "jit"):
        machine = Machine(vlen=vlen, engine=engine)
        machine.load(build_kernel(name))
        result = machine.run(max_insns=2_000_000)
        results.append((result.reason, result.stdout, result.instret, machine.state.snapshot()))
    assert results[0] == results[1]
