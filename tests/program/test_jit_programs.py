"""Whole programs with all of their code compiled: both engines end in the same state.

Random programs with loops, branches and calls; every instruction limit of small ones; programs that
run out of their code, jump into data, or nest calls without end; reserved encodings in hot code.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from rvsim.config import Config
from rvsim.engine.jit.engine import Jit
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.insn.decode import decode, problems
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.machine import Machine, RunResult
from rvsim.profiles import make_config
from rvsim.toolchain import build_kernel, kernel_names
from rvsim.vec.vtype import VType
from tests.program.bare import (
    DATA,
    DATA_SIZE,
    TEXT,
    Step,
    assemble,
    load_upper,
    random_fields,
    step,
)
from tests.program.structured_programs import make_program
from tests.program.test_jit import BODIES, CONFIG, loop, start
from tests.program.test_kernels import LIMIT, runs_at
from tools.divergence import Snapshot, differences

pytestmark = pytest.mark.compiled

MACHINES: tuple[dict[str, object], ...] = (
    {"cpu": "generic-rv64gcv", "vlen": 256},
    {"cpu": "generic-rv64gcv", "vlen": 128, "agnostic": "ones", "initial": "ones"},
    {"cpu": "generic-rv64gcv", "vlen": 512, "vl_policy": "half", "initial": "random:1"},
    {"cpu": "spacemit-x60"},
)
MOST_INSNS = 20_000


def run(engine: str, threshold: int, elf: object, options: dict[str, object]) -> RunResult:
    machine = Machine(engine=engine, **options)  # type: ignore[arg-type]
    machine.load(elf)  # type: ignore[arg-type]
    if isinstance(machine.interp.jit, Jit):
        machine.interp.jit.threshold = threshold
    return machine.run(max_insns=LIMIT)


def ends(result: RunResult) -> tuple[object, ...]:
    return (
        result.reason, result.exit_code, result.trap, result.instret, result.stdout, result.stderr
    )  # fmt: skip


def assert_engines_agree(elf: object, options: dict[str, object], threshold: int = 1) -> RunResult:
    expected = run("numpy", threshold, elf, options)
    got = run("jit", threshold, elf, options)
    assert isinstance(got.machine.interp.jit, Jit)
    assert got.machine.interp.jit.regions
    assert differences(expected.machine.interp, got.machine.interp) == []
    assert ends(got) == ends(expected)
    return got


def structured(seed: int) -> None:
    options = MACHINES[seed % len(MACHINES)]
    program = make_program(Machine(**options).config, seed)  # type: ignore[arg-type]
    result = assert_engines_agree(program.elf(), options)
    assert result.reason in ("exit", "trap")


@pytest.mark.parametrize("seed", range(20))
def test_programs_with_loops_branches_and_calls_end_the_same(seed: int) -> None:
    structured(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_programs_with_loops_branches_and_calls_end_the_same(part: int) -> None:
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        structured(seed)


@pytest.mark.parametrize("name", kernel_names())
def test_every_kernel_ends_the_same(name: str) -> None:
    vlen = 128 if runs_at(name, 128) else 256
    assert_engines_agree(build_kernel(name), {"vlen": vlen, "agnostic": "ones"}, threshold=100)


# -- limits


BRANCHES = [
    step("andi", rd=5, rs1=8, imm=1),
    step("beq", rs1=5, rs2=0, imm=12),
    step("jal", rd=1, imm=12),
    step("jal", rd=0, imm=16),
    step("c.addi", rd=7, imm=3),
    step("c.nop", imm=0),
    step("add", rd=7, rs1=7, rs2=8),
    step("c.jr", rs1=1),
    step("c.addi", rd=7, imm=1),
]
"""A function in the middle, called in every second round and run into in the others."""


@pytest.mark.parametrize("body", [*BODIES, "branches"])
def test_every_limit_ends_in_the_same_state(body: str) -> None:
    """With warm code: `limit` is a fuel that native code meets wherever it is then."""
    steps = BODIES.get(body, BRANCHES)
    expected, got = (start(loop(5, steps), CONFIG, seed=1) for _ in range(2))
    begin = Snapshot.of(got.interp)
    got.interp.jit = Jit(got.interp, threshold=1)
    for _ in range(3):
        begin.restore(got.interp)
        assert got.run(MOST_INSNS) is not None
    assert got.interp.jit.regions
    for limit in range(got.state["instret"]):
        begin.restore(got.interp)
        assert got.run(limit) is None
        assert differences(expected.interp, got.interp) == [], f"after {limit} instructions"
        assert expected.run(1) is None


# -- where code ends


def both(
    code: bytes,
    *,
    config: Config = CONFIG,
    at: int = TEXT,
    data_perm: int = R | W,
    stops: int = 1,
    threshold: int = 1,
) -> list[int]:
    """Causes of the traps of a program, on both engines alike; it goes on behind each."""
    harts = [start(bytes(PAGE), config, seed=2) for _ in range(2)]
    harts[1].interp.jit = jit = Jit(harts[1].interp, threshold)
    for bare in harts:
        bare.memory.write(at, code)
        bare.memory.protect(DATA, DATA_SIZE, data_perm)
        bare.state["pc"] = at
    causes = []
    for _ in range(stops):
        expected, got = (bare.run(MOST_INSNS) for bare in harts)
        assert got == expected
        assert differences(harts[0].interp, harts[1].interp) == []
        if got is None:
            break
        causes.append(got.cause)
        for bare in harts:
            bare.state["pc"] = got.pc + 4
    assert jit.regions
    return causes


def hot(body: Sequence[Step], rounds: int = 30) -> bytes:
    """A loop that counts x8 down, behind which the code goes on."""
    back = -sum(s.length for s in body) - 4
    count = [step("addi", rd=8, rs1=8, imm=-1), step("bne", rs1=8, rs2=0, imm=back)]
    return assemble([step("addi", rd=8, rs1=0, imm=rounds), *body, *count])


ADD = step("add", rd=7, rs1=7, rs2=8)


def test_running_off_the_end_of_a_page_of_code_traps_alike() -> None:
    code = hot([ADD])
    assert both(code, at=TEXT + PAGE - len(code)) == [12]


def test_half_an_instruction_at_the_end_of_a_page_traps_alike() -> None:
    code = hot([ADD]) + step("add", rd=7, rs1=7, rs2=8).code[:2]
    assert both(code, at=TEXT + PAGE - len(code)) == [12]


@pytest.mark.parametrize(("perm", "cause"), [(R | W, 12), (R | W | X, 2)])
def test_jumping_into_data_in_the_middle_of_a_hot_loop_traps_alike(perm: int, cause: int) -> None:
    """x10 is the address of an addi, and in the last round that of random data."""
    jump = [
        load_upper(9, DATA),
        step("auipc", rd=10, uimm=0),
        step("addi", rd=10, rs1=10, imm=24),
        step("addi", rd=5, rs1=8, imm=-1),
        step("bne", rs1=5, rs2=0, imm=8),
        step("add", rd=10, rs1=9, rs2=0),
        step("jalr", rd=1, rs1=10, imm=0),
        ADD,
    ]
    assert both(hot(jump), data_perm=perm)[0] in (cause, 13, 15)


def test_calls_without_end_overflow_the_stack_alike() -> None:
    code = assemble(
        [
            load_upper(2, DATA + DATA_SIZE),
            step("addi", rd=2, rs1=2, imm=-16),
            step("sd", rs1=2, rs2=1, imm=8),
            step("jal", rd=1, imm=-8),
        ]
    )
    assert both(code) == [15]


def test_branches_into_the_middle_of_instructions_end_alike() -> None:
    """The immediate of a lui is an addi and a jump over the second half of it."""
    inner = step("c.addi", rd=7, imm=5).word << 16 | 0x3B7  # lui x7
    body = [ADD, step("jal", rd=0, imm=6)]
    code = hot([*body])[:-8] + inner.to_bytes(4, "little")
    code += assemble([step("addi", rd=8, rs1=8, imm=-1), step("bne", rs1=8, rs2=0, imm=-16)])
    assert both(code + step("ebreak").code) == [3]


# -- reserved encodings


VTYPE = VType.parse("e16,m2,ta,ma")


def reserved_word(insn: Insn, config: Config, rng: random.Random) -> int | None:
    """A word of the instruction that may not be executed, or of none near it."""
    for _ in range(20):
        word = insn.encoding.encode(random_fields(rng, insn))
        if insn.length == 4 and rng.random() < 0.3:
            word ^= 1 << rng.randrange(12, 32)
        d = decode(word, insn.length)
        if d.insn is None or problems(d.insn, d.fields, VTYPE, config):
            return word
    return None


def reserved_words(config: Config, part: int, parts: int) -> list[bytes]:
    rng = random.Random(part)
    found = []
    for insn in isa().insns[part::parts]:
        word = reserved_word(insn, config, rng) if insn.length == 4 else None
        if word is not None:
            found.append(word.to_bytes(4, "little"))
    return found


RESERVED_PARTS = 24


@pytest.mark.parametrize("policy", ["trap", "allow"])
@pytest.mark.parametrize("part", range(RESERVED_PARTS))
def test_reserved_encodings_in_a_hot_loop_trap_alike(policy: str, part: int) -> None:
    """Each is reached in one round only, when the loop has been compiled as a whole."""
    config = make_config("generic-rv64gcv", reserved=policy)  # type: ignore[arg-type]
    words = reserved_words(config, part, RESERVED_PARTS)
    rounds = len(words) + 4
    code = assemble(
        [
            step("addi", rd=8, rs1=0, imm=rounds),
            step("vsetvli", rd=5, rs1=0, vtypei=VTYPE.encode()),
        ]
    )
    body = b""
    for number, word in enumerate(words, 1):
        body += step("addi", rd=7, rs1=0, imm=number).code
        body += step("bne", rs1=8, rs2=7, imm=8).code + word
    count = step("addi", rd=8, rs1=8, imm=-1).code
    again = step("bne", rs1=8, rs2=0, imm=-len(body) - 4).code
    causes = both(
        code + body + count + again + step("ebreak").code, config=config, stops=rounds, threshold=3
    )
    assert policy == "allow" or len(causes) >= len(words)
