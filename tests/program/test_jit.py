"""The JIT ends where the reference engine ends: state, memory, counters, trap and output."""

from __future__ import annotations

import random

import pytest

from rvsim.config import Config, Reserved
from rvsim.engine.jit.engine import Jit
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.machine import Machine
from rvsim.profiles import make_config
from rvsim.toolchain import build_kernel
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, Step, assemble, load_upper, step
from tests.program.test_fuzz import any_insn, mutated_insn, vector_insn

pytestmark = pytest.mark.compiled

E8M1, E16M2, E32M1 = (VType.parse(t).encode() for t in ("e8,m1,ta", "e16,m2,ta,ma", "e32,m1"))
CONFIG = make_config("generic-rv64gcv")

Outcome = tuple[Trap | None, bytes, bytes]


def start(code: bytes, config: Config, seed: int, text_perm: int = R | X) -> Bare:
    """A hart before `code`, with random registers, of which two in three point at random data."""
    bare = Bare(code, config, text_perm=text_perm)
    rng = random.Random(seed)
    bare.memory.write(DATA, rng.randbytes(DATA_SIZE))
    for i in range(1, 32):
        bare.state.x[i] = DATA + rng.randrange(DATA_SIZE) if i % 3 else rng.getrandbits(64)
    bare.state.vfile[:] = memoryview(rng.randbytes(bare.state.vfile.size))
    return bare


def outcome(
    code: bytes,
    max_insns: int,
    *,
    threshold: int | None,
    config: Config = CONFIG,
    text_perm: int = R | X,
    seed: int = 0,
) -> tuple[Outcome, int]:
    """Trap, registers and data after a run; and how many regions were compiled."""
    bare = start(code, config, seed, text_perm)
    jit = None
    if threshold is not None:
        jit = bare.interp.jit = Jit(bare.interp, threshold)
    trap = bare.run(max_insns)
    state, memory = bare.snapshot()
    return (trap, state, memory), 0 if jit is None else len(jit.regions)


def assert_same(code: bytes, max_insns: int, **options: object) -> int:
    expected, _ = outcome(code, max_insns, threshold=None, **options)  # type: ignore[arg-type]
    got, regions = outcome(code, max_insns, threshold=1, **options)  # type: ignore[arg-type]
    assert got == expected
    return regions


def loop(rounds: int, body: list[Step], vtypei: int = E8M1) -> bytes:
    """`body` in a loop that x8 counts down, with x9 and x10 at the data."""
    size = sum(s.length for s in body)
    return assemble(
        [
            load_upper(9, DATA),
            load_upper(10, DATA + PAGE),
            step("addi", rd=8, rs1=0, imm=rounds),
            step("vsetvli", rd=5, rs1=0, vtypei=vtypei),
            *body,
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-(size + 4)),
            step("ebreak"),
        ]
    )


SCALAR = [
    step("lw", rd=6, rs1=9, imm=8),
    step("mul", rd=7, rs1=6, rs2=8),
    step("sd", rs1=10, rs2=7, imm=16),
    step("addi", rd=9, rs1=9, imm=4),
    step("div", rd=11, rs1=7, rs2=6),
]
VECTOR = [
    step("vle8.v", vm=1, rs1=9, vd=8),
    step("vwmacc.vx", vm=1, rs1=8, vs2=8, vd=16),
    step("vmslt.vx", vm=1, vs2=8, rs1=8, vd=0),
    step("vadd.vi", vm=0, vs2=8, imm=3, vd=10),
    step("vslidedown.vi", vm=1, vs2=10, uimm=3, vd=11),
    step("vredsum.vs", vm=0, vs2=10, vs1=11, vd=12),
    step("vse8.v", vm=0, rs1=10, vs3=10),
    step("addi", rd=9, rs1=9, imm=5),
]
STRIP = [
    step("vsetvli", rd=5, rs1=8, vtypei=E16M2),
    step("vle16.v", vm=1, rs1=9, vd=8),
    step("vsadd.vv", vm=1, vs2=8, vs1=16, vd=16),
    step("vsetvli", rd=0, rs1=8, vtypei=E8M1),
    step("vnclipu.wi", vm=1, vs2=16, uimm=2, vd=4),
    step("vse8.v", vm=1, rs1=10, vs3=4),
]
BODIES = {"scalar": SCALAR, "vector": VECTOR, "strip": STRIP}


@pytest.mark.parametrize("name", BODIES)
def test_loops_end_in_the_same_state(name: str) -> None:
    assert assert_same(loop(50, BODIES[name]), 100_000) > 0


@pytest.mark.parametrize("name", BODIES)
def test_every_limit_ends_in_the_same_state(name: str) -> None:
    code = loop(4, BODIES[name])
    for limit in range(60) if name == "scalar" else range(3, 60, 8):
        assert_same(code, limit)


def test_logic_under_a_mask_keeps_its_operands_apart() -> None:
    """LLVM 22 exchanges operands of a masked vpternlog; the signs would become magnitudes."""
    code = assemble(
        [
            step("vsetivli", rd=5, uimm=10, vtypei=VType.parse("e32,m4,ta,ma").encode()),
            step("vfsgnj.vv", vm=0, vs2=8, vs1=16, vd=8),
            step("jal", rd=0, imm=-4),
        ]
    )
    config = make_config("generic-rv64gcv", vlen=128)
    assert assert_same(code, 20, config=config) > 0


def test_a_fault_in_compiled_code_is_precise() -> None:
    body = [step("vle8.v", vm=1, rs1=10, vd=8), step("addi", rd=10, rs1=10, imm=61)]
    assert assert_same(loop(1000, body), 100_000) > 0
    body = [step("lb", rd=6, rs1=10, imm=0), step("addi", rd=10, rs1=10, imm=509)]
    assert assert_same(loop(1000, body), 100_000) > 0


def test_a_region_runs_calls_and_returns() -> None:
    code = assemble(
        [
            step("addi", rd=8, rs1=0, imm=40),
            step("jal", rd=1, imm=16),  # to the function
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-8),
            step("ebreak"),
            step("add", rd=7, rs1=7, rs2=8),
            step("jalr", rd=0, rs1=1, imm=0),
        ]
    )
    assert assert_same(code, 100_000) > 0


def test_code_that_was_changed_is_executed_after_fence_i() -> None:
    """The loop overwrites its own addi, 1 by 2, and must count differently from then on."""
    patch = step("addi", rd=7, rs1=7, imm=2).word
    body = [
        step("addi", rd=7, rs1=7, imm=1),
        step("sw", rs1=12, rs2=13, imm=0),
        step("fence.i", imm=0, rs1=0, rd=0),
    ]
    head = [
        load_upper(12, TEXT),
        step("addi", rd=12, rs1=12, imm=28),
        step("lui", rd=13, uimm=(patch + 0x800) >> 12),
        step("addi", rd=13, rs1=13, imm=(patch & 0xFFF ^ 0x800) - 0x800),
    ]
    code = assemble(head) + loop(20, body)
    assert_same(code, 10_000, text_perm=R | W | X)


@pytest.mark.parametrize(
    ("name", "vlen", "agnostic"),
    [
        ("gemm_tile_s8", 128, "undisturbed"),
        ("gemm_tile_ime", 256, "ones"),
        ("memops", 256, "undisturbed"),
    ],
)
def test_kernels_print_and_count_the_same(name: str, vlen: int, agnostic: str) -> None:
    results = []
    for engine in ("numpy", "jit"):
        machine = Machine(vlen=vlen, agnostic=agnostic, engine=engine)
        machine.load(build_kernel(name))
        result = machine.run(max_insns=2_000_000)
        results.append((result.reason, result.stdout, result.instret, machine.state.snapshot()))
    assert results[0] == results[1]


def retiring(rng: random.Random, head: bytes, seed: int) -> bytes:
    """A random instruction that retires behind `head`, and goes on to the next."""
    kinds = (any_insn, mutated_insn, vector_insn, vector_insn)
    while True:
        code = rng.choice(kinds)(rng)
        bare = start(head + code, CONFIG, seed)
        if bare.run(2) is None and bare.state["pc"] == TEXT + len(head + code):
            return code


def compare_loop(seed: int) -> None:
    rng = random.Random(seed)
    head = assemble(
        [step("vsetivli", rd=5, uimm=rng.randrange(1, 32), vtypei=rng.choice((E8M1, E16M2, E32M1)))]
    )
    body = b"".join(retiring(rng, head, seed) for _ in range(8))
    assert_same(head + body + step("jal", rd=0, imm=-len(body)).code, 100, seed=seed)


@pytest.mark.parametrize("seed", range(60))
def test_loops_of_random_instructions_end_the_same(seed: int) -> None:
    compare_loop(seed)


def test_a_region_may_hold_several_instructions_that_always_trap() -> None:
    """Code behind the first of them is reached from elsewhere, if at all."""
    code = assemble(
        [
            step("addi", rd=8, rs1=0, imm=9),
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-4),
            step("csrrs", rd=4, csr=0x23F, rs1=31),
            step("csrrw", rd=4, csr=0x50F, rs1=8),
        ]
    )
    assert assert_same(code, 100) > 0


def test_vsetivli_need_not_fill_the_registers_where_vl_may_be_half_of_avl() -> None:
    """V 6.3: AVL = 12 is between VLMAX = 8 and twice that, so that this policy gives 6."""
    e8mf8 = VType.parse("e8,mf8,tu").encode()
    body = [
        step("vsetivli", rd=5, uimm=12, vtypei=e8mf8),
        step("vadd.vv", vm=1, vs2=8, vs1=16, vd=8),
        step("vsetivli", rd=6, uimm=16, vtypei=e8mf8),
        step("vadd.vv", vm=1, vs2=9, vs1=16, vd=9),
    ]
    config = make_config("generic-rv64gcv", vlen=512, vl_policy="half")
    assert assert_same(loop(50, body), 100_000, config=config) > 0


MIXED = [
    step("vsetvli", rd=5, rs1=8, vtypei=E8M1),
    step("vle8.v", vm=1, rs1=9, vd=8),
    step("vsetvli", rd=0, rs1=0, vtypei=E16M2),
    step("vzext.vf2", vm=1, vs2=8, vd=16),
    step("vsetvli", rd=0, rs1=0, vtypei=E8M1),
    step("vnsrl.wi", vm=1, vs2=16, uimm=1, vd=12),
    step("vse8.v", vm=1, rs1=10, vs3=12),
]
"""Widths of one VLMAX; vl is VLMAX as long as x8 is large, and less after that."""


def test_a_change_of_width_that_keeps_vl_is_compiled() -> None:
    bare = start(loop(600, MIXED), CONFIG, 0)
    bare.interp.jit = jit = Jit(bare.interp, 1)
    bare.run(100_000)
    interpreted = sum(count for _, _, count, _ in bare.interp.interpreted())
    assert jit.not_compiled() == {}
    assert interpreted < 100
    assert assert_same(loop(600, MIXED), 100_000) > 0


@pytest.mark.parametrize("reserved", ["trap", "allow"])
def test_a_change_of_vlmax_that_keeps_vl_is_left_to_the_interpreter(reserved: Reserved) -> None:
    """V 6.2: it is reserved; vtype becomes illegal, or vl stays, and there is a note each time."""
    body = [step("vsetvli", rd=5, rs1=0, vtypei=E8M1), step("vsetvli", rd=0, rs1=0, vtypei=E32M1)]
    config = make_config("generic-rv64gcv", reserved=reserved)
    code = loop(20, body)
    assert assert_same(code, 100_000, config=config) > 0
    notes = []
    for threshold in (None, 1):
        bare = start(code, config, 0)
        if threshold is not None:
            bare.interp.jit = Jit(bare.interp, threshold)
        bare.run(100_000)
        notes.append(bare.notes)
    assert notes[0] == notes[1]
    assert len(notes[0]) == 20
