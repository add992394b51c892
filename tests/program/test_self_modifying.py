"""Code that stores over code, without ``fence.i``: the next fetch sees it, on both engines."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable

import pytest

from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.engine import Jit
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.machine import Machine
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, TEXT, Bare, Step, assemble, load_upper, step
from tests.program.elf_writer import write_elf

pytestmark = pytest.mark.compiled

A0, A1, A2, A3, T0, T1 = 10, 11, 12, 13, 5, 6
E8M1 = VType.parse("e8,m1,ta,ma").encode()
EBREAK = step("ebreak")
NOP = step("addi", rd=0, rs1=0, imm=0)
ENGINES = ("numpy", "jit")


def add(amount: int) -> Step:
    return step("addi", rd=A2, rs1=A2, imm=amount)


def branch_back(body: Iterable[Step]) -> Step:
    """To the start of `body`, while the counter in t1 is not 0."""
    return step("bne", rs1=T1, rs2=0, imm=-sum(s.length for s in body))


def hart(engine: str, code: bytes, *data: Step) -> Bare:
    """A hart before `code`, which it may write; a0 at its start, a1 at `data`, also in v4."""
    bare = Bare(code, text_perm=R | W | X)
    bare.state.x[A0], bare.state.x[A1] = TEXT, DATA
    content = assemble(data)
    bare.memory.write(DATA, content)
    bare.state["vtype"], bare.state["vl"] = E8M1, len(content)
    bare.state.v[4][: len(content)] = memoryview(content)
    if engine == "jit":
        bare.interp.jit = Jit(bare.interp, threshold=1)
    return bare


def executed(bare: Bare) -> int:
    return sum(count for _, _, count, _ in bare.interp.executions())


TARGET = 20
STORES = {
    "sb": [step("lb", rd=T0, rs1=A1, imm=3), step("sb", rs1=A0, rs2=T0, imm=TARGET + 3)],
    "sh": [step("lh", rd=T0, rs1=A1, imm=2), step("sh", rs1=A0, rs2=T0, imm=TARGET + 2)],
    "sw": [step("lw", rd=T0, rs1=A1, imm=0), step("sw", rs1=A0, rs2=T0, imm=TARGET)],
    "amoswap.w": [
        step("lw", rd=T0, rs1=A1, imm=0),
        step("addi", rd=A3, rs1=A0, imm=TARGET),
        step("amoswap.w", rd=0, rs1=A3, rs2=T0, aq=0, rl=0),
    ],
    "sc.w": [
        step("lw", rd=T0, rs1=A1, imm=0),
        step("addi", rd=A3, rs1=A0, imm=TARGET),
        step("lr.w", rd=0, rs1=A3, aq=0, rl=0),
        step("sc.w", rd=0, rs1=A3, rs2=T0, aq=0, rl=0),
    ],
    "vse8.v": [step("addi", rd=A3, rs1=A0, imm=TARGET), step("vse8.v", vs3=4, rs1=A3, vm=1)],
    "vsse8.v": [
        step("addi", rd=A3, rs1=A0, imm=TARGET),
        step("addi", rd=T0, rs1=0, imm=1),
        step("vsse8.v", vs3=4, rs1=A3, rs2=T0, vm=1),
    ],
}
"""Stores of ``addi a2, a2, 65`` over ``addi a2, a2, 1``: all of it, or the bytes that differ."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", STORES)
def test_a_store_over_the_next_instruction_takes_effect_at_once(engine: str, name: str) -> None:
    store = STORES[name]
    program = [*[NOP] * (TARGET // 4 - len(store)), *store, add(1), add(2), EBREAK]
    bare = hart(engine, assemble(program), add(65))
    assert bare.run(100) == Trap(3, TEXT + TARGET + 8, TEXT + TARGET + 8, "breakpoint")
    assert bare.state.x[A2] == 65 + 2
    assert bare.state["vstart"] == 0
    assert bare.state["instret"] == executed(bare) == 7
    assert [d.word for d in bare.interp.recent(2)] == [add(65).word, add(2).word]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_instruction_that_stores_over_itself_has_its_effect_once(engine: str) -> None:
    program = [step("lw", rd=T0, rs1=A1, imm=0), step("sw", rs1=A0, rs2=T0, imm=4)]
    back = step("jal", rd=0, imm=-4)
    bare = hart(engine, assemble([*program, back]), add(1))
    assert bare.run(2 + 7 * 2) is None
    assert bare.state.x[A2] == 7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("limit", [*range(3, 30), 2000])
def test_a_loop_counts_in_turns_by_what_it_stores_over_itself(engine: str, limit: int) -> None:
    """The loop swaps its own ``addi`` with another one, each time round."""
    body = [
        add(1),
        step("lw", rd=T0, rs1=A1, imm=0),
        step("amoswap.w", rd=T0, rs1=A0, rs2=T0, aq=0, rl=0),
        step("sw", rs1=A1, rs2=T0, imm=0),
    ]
    bare = hart(engine, assemble([*body, step("jal", rd=0, imm=-16)]), add(100))
    assert bare.run(limit) is None
    rounds = -(-limit // 5)
    assert bare.state.x[A2] == rounds // 2 * 101 + rounds % 2
    assert bare.state["instret"] == executed(bare) == limit
    assert bare.memory.code.changes == (limit + 2) // 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_that_a_region_holds_but_that_has_not_run_can_be_changed(engine: str) -> None:
    """The loop counts down to 0 and falls into a block behind it, changed in the last round."""
    body = [
        step("addi", rd=T1, rs1=T1, imm=-1),
        step("bne", rs1=T1, rs2=0, imm=8),
        step("sw", rs1=A0, rs2=T0, imm=16),
    ]
    program = [*body, branch_back(body), add(1), EBREAK]
    bare = hart(engine, assemble(program))
    bare.state.x[T0], bare.state.x[T1] = add(65).word, 50
    trap = bare.run(1000)
    assert trap is not None
    assert trap.cause == 3
    assert bare.state.x[A2] == 65
    assert bare.memory.code.changes == (engine == "jit")


RETURN = step("jalr", rd=0, rs1=1, imm=0)
FUNCTION = [add(1), RETURN]
CALLER = [
    step("jalr", rd=1, rs1=A0, imm=0),
    step("vse8.v", vs3=4, rs1=A3, vm=1),
    step("addi", rd=T1, rs1=T1, imm=-1),
]


def with_function(engine: str, at: int, *data: Step) -> Bare:
    """A hart that calls the function at `at` and stores `data` at a3, five times."""
    bare = hart(engine, assemble([*CALLER, branch_back(CALLER), EBREAK]), *data)
    bare.memory.map(at // PAGE * PAGE, PAGE, R | W | X)
    bare.memory.write(at, assemble(FUNCTION))
    bare.state.x[A0], bare.state.x[T1] = at, 5
    return bare


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_store_from_data_into_code_completes(engine: str) -> None:
    page = TEXT + 4 * PAGE
    bare = with_function(engine, page, NOP, NOP, add(65))
    bare.memory.map(page - PAGE, PAGE, R | W)
    bare.state.x[A3] = page - 8
    trap = bare.run(1000)
    assert trap is not None
    assert (trap.cause, bare.state["vstart"]) == (3, 0)
    assert bare.state.x[A2] == 1 + 4 * 65
    assert bare.memory.read(page - 8, 12) == assemble([NOP, NOP, add(65)])
    assert bare.state["instret"] == 5 * 6
    assert engine == "jit" or executed(bare) == 5 * 6


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_store_through_code_traps_where_memory_ends(engine: str) -> None:
    end = TEXT + 5 * PAGE
    bare = with_function(engine, end - 8, add(65), RETURN, NOP)
    bare.state.x[A3] = end - 8
    for amount in (1, 65):
        bare.state.x[A2], bare.state["vstart"], bare.state["pc"] = 0, 0, TEXT
        trap = bare.run(1000)
        assert trap is not None
        assert (trap.cause, trap.pc, trap.tval) == (15, TEXT + 4, end)
        assert (bare.state["vstart"], bare.state.x[A2]) == (8, amount)


@pytest.mark.parametrize("engine", ENGINES)
def test_data_beside_code_leaves_the_code_decoded(engine: str) -> None:
    """Bare-metal images often have all in one writable page; the code must stay decoded."""
    body = [
        step("ld", rd=T0, rs1=A0, imm=1024),
        step("addi", rd=T0, rs1=T0, imm=3),
        step("sd", rs1=A0, rs2=T0, imm=1024),
        step("vse8.v", vs3=4, rs1=A3, vm=1),
        step("addi", rd=T1, rs1=T1, imm=-1),
    ]
    bare = hart(engine, assemble([*body, branch_back(body), EBREAK]), *[NOP] * 4)
    bare.state.x[T1], bare.state.x[A3] = 10_000, TEXT + 2048
    bare.memory.write(TEXT + 1024, bytes(8))
    assert bare.run(60_000) is None
    assert bare.memory.load8(TEXT + 1024) == 30_000
    assert bare.memory.code.changes == 0
    assert len(list(bare.interp.executions())) < 30


@pytest.mark.parametrize("engine", ENGINES)
def test_zeroing_a_cache_block_of_code_is_seen(engine: str) -> None:
    bare = hart(engine, assemble([step("cbo.zero", rs1=A0), NOP]))
    assert bare.run(10) == Trap(2, TEXT + 4, 0, "no instruction has the encoding 0x0000")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_host_may_write_code_between_runs(engine: str) -> None:
    """As a debugger does, also where the guest itself could not."""
    body = [add(1)]
    bare = hart(engine, assemble([*body, step("jal", rd=0, imm=-4)]))
    bare.memory.protect(TEXT, PAGE, R | X)
    assert bare.run(200) is None
    bare.memory.write(TEXT, add(65).code)
    assert bare.run(200) is None
    assert bare.state.x[A2] == 100 + 100 * 65


def random_stores(rng: random.Random) -> bytes:
    """A loop of adds and of stores of other adds, of 2 and of 4 bytes, to random places in it."""
    body: list[Step] = []
    for _ in range(12):
        value = step("lw", rd=T0, rs1=A1, imm=4 * rng.randrange(8))
        store = step("sw", rs1=A0, rs2=T0, imm=4 * rng.randrange(20))
        body += rng.choice(
            [[add(rng.randrange(99))], [value, store], [step("c.addi", rd=A3, imm=1)] * 2]
        )
    return assemble([*body, step("jal", rd=0, imm=-sum(s.length for s in body))])


def forgetful_run(bare: Bare, count: int) -> Trap | None:
    """Run with a new interpreter for each instruction: nothing decoded is kept."""
    trap = None
    for _ in range(count):
        bare.memory.code.listeners.clear()
        trap, _ = Interpreter(bare.config, bare.state, bare.memory).run(1)
        if trap is not None:
            break
    return trap


@pytest.mark.parametrize("seed", range(12))
def test_random_stores_into_a_loop_are_seen_as_if_nothing_decoded_were_kept(seed: int) -> None:
    outcomes = []
    for engine in ("forgetful", *ENGINES):
        rng = random.Random(seed)
        values = [rng.choice([add(n), step("addi", rd=A3, rs1=A2, imm=n)]) for n in range(8)]
        bare = hart(engine, random_stores(rng), *values)
        trap = forgetful_run(bare, 500) if engine == "forgetful" else bare.run(500)
        outcomes.append((trap, *bare.snapshot(), bare.memory.read(TEXT, PAGE)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


SYS_READ, SYS_EXIT, SYS_MPROTECT = 63, 93, 226
ROUNDS = 300
CODE = TEXT + PAGE


def in_rounds(*changing: Step) -> bytes:
    """A program that calls FUNCTION in its second page, then changes it, and so on; exit code 0."""
    body = [
        load_upper(A0, CODE),
        step("jalr", rd=1, rs1=A0, imm=0),
        *changing,
        step("addi", rd=T1, rs1=T1, imm=-1),
    ]
    end = [step("addi", rd=A0, rs1=0, imm=0), *call(SYS_EXIT)]
    start = [*protect(R | W | X), step("addi", rd=T1, rs1=0, imm=ROUNDS)]
    program = [*start, *body, branch_back(body), *end]
    return assemble(program).ljust(PAGE, b"\0") + assemble(FUNCTION)


def call(number: int) -> list[Step]:
    return [step("addi", rd=17, rs1=0, imm=number), step("ecall")]


def protect(perm: int) -> list[Step]:
    """``mprotect(CODE, PAGE, perm)``: R, W and X are PROT_READ, PROT_WRITE and PROT_EXEC."""
    arguments = [load_upper(A0, CODE), load_upper(11, PAGE), step("addi", rd=12, rs1=0, imm=perm)]
    return [*keep(A2), *arguments, *call(SYS_MPROTECT), *restore(A2)]


def keep(register: int) -> list[Step]:
    return [step("addi", rd=28, rs1=register, imm=0)]


def restore(register: int) -> list[Step]:
    return [step("addi", rd=register, rs1=28, imm=0)]


def run_rounds(engine: str, program: bytes, stdin: bytes = b"") -> Machine:
    machine = Machine(engine=engine, memory_size=1 << 22)
    elf = write_elf(program, add(65).code, text_addr=TEXT, data_addr=DATA)
    machine.load(elf, stdin=io.BytesIO(stdin))
    result = machine.run(max_insns=100 * ROUNDS)
    assert (result.reason, result.exit_code) == ("exit", 0)
    return machine


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_read_into_code_is_executed(engine: str) -> None:
    read = [
        *keep(A2),
        step("addi", rd=11, rs1=A0, imm=0),
        step("addi", rd=A0, rs1=0, imm=0),
        step("addi", rd=12, rs1=0, imm=4),
        *call(SYS_READ),
        *restore(A2),
    ]
    codes = assemble(add(n) for n in range(2, ROUNDS + 1))
    machine = run_rounds(engine, in_rounds(*read), codes)
    assert machine.state.x[A2] == sum(range(1, ROUNDS + 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_code_that_is_protected_while_it_changes_is_executed(engine: str) -> None:
    """As compilers in guests do: writable to be written, then executable and not writable."""
    change = [
        *protect(R | W),
        load_upper(A0, CODE),
        load_upper(A1, DATA),
        step("lw", rd=T0, rs1=A1, imm=0),
        step("sw", rs1=A0, rs2=T0, imm=0),
        *protect(R | X),
    ]
    machine = run_rounds(engine, in_rounds(*change))
    assert machine.state.x[A2] == 1 + (ROUNDS - 1) * 65
