"""What ran, how often, with which vl, and the bytes it moved: the same counts on both engines."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.engine import Jit
from rvsim.engine.observer import Statistics
from rvsim.engine.traffic import Traffic
from rvsim.hart.memory import PAGE
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from rvsim.trace.counters import counts
from tests.program.bare import TEXT, Bare, assemble, step
from tests.program.test_jit import BODIES, CONFIG, E8M1, E16M2, E32M1, loop, retiring, start
from tests.program.test_self_modifying import A3, add, with_function

pytestmark = pytest.mark.compiled

Counted = tuple[Counter[tuple[object, ...]], Traffic]


def executed(interp: Interpreter) -> Counter[tuple[object, ...]]:
    """Executions, and sums of vl where an instruction depends on it, by place and vtype."""
    found: Counter[tuple[object, ...]] = Counter()
    for d, mode, count, vl_sum in interp.executions():
        found["executed", d.pc, d.word, mode.vtype] += count
        if d.insn is not None and d.insn.vector:
            found["vl", d.pc, d.word, mode.vtype] += vl_sum
    return found


def run_counted(
    bare: Bare, max_insns: int, *, compiled: bool, cache: Path | None = None
) -> Counted:
    bare.interp = Interpreter(bare.config, bare.state, bare.memory, observer=Statistics())
    if compiled:
        bare.interp.jit = Jit(bare.interp, threshold=1, counts=True, cache=cache)
    bare.run(max_insns)
    found = executed(bare.interp)
    total = sum(n for (kind, *_), n in found.items() if kind == "executed")
    assert total == bare.state["instret"]
    return found, Traffic.of(bare.state)


def assert_same_counts(code: bytes, max_insns: int, seed: int = 0) -> Counted:
    expected, got = (
        run_counted(start(code, CONFIG, seed), max_insns, compiled=compiled)
        for compiled in (False, True)
    )
    assert got == expected
    return got


@pytest.mark.parametrize("name", BODIES)
def test_loops_count_the_same(name: str) -> None:
    _, traffic = assert_same_counts(loop(50, BODIES[name]), 100_000)
    assert traffic != Traffic()


@pytest.mark.parametrize("name", BODIES)
def test_limits_count_the_same(name: str) -> None:
    code = loop(5, BODIES[name])
    for limit in range(0, 60, 7):
        assert_same_counts(code, limit)


def test_a_block_that_is_left_counts_what_it_has_done() -> None:
    """The load faults in the tenth round, in the middle of the block."""
    body = [
        step("vadd.vi", vm=1, vs2=8, imm=3, vd=10),
        step("lb", rd=6, rs1=10, imm=0),
        step("addi", rd=10, rs1=10, imm=1200),
    ]
    found, traffic = assert_same_counts(loop(100, body), 1000)
    by_word = Counter({word: n for (kind, _, word, _), n in found.items() if kind == "executed"})
    assert [by_word[s.word] for s in body] == [12, 11, 11]
    assert traffic == Traffic(scalar_read=11)


ATOMICS = [
    step("lr.w", rd=6, rs1=9, aq=0, rl=0),
    step("sc.w", rd=7, rs1=9, rs2=6, aq=0, rl=0),
    step("sc.w", rd=7, rs1=9, rs2=6, aq=0, rl=0),  # without a reservation it stores nothing
    step("amoadd.d", rd=7, rs1=9, rs2=6, aq=0, rl=0),
    step("cbo.zero", rs1=10),
]


def test_conditional_stores_count_when_they_store() -> None:
    _, traffic = assert_same_counts(loop(20, ATOMICS), 10_000)
    assert (traffic.scalar_read, traffic.scalar_written) == (20 * 4, 20 * (4 + 8))
    assert (traffic.vector_read, traffic.vector_written) == (20 * 8, 20 * 64)


@pytest.mark.parametrize("seed", range(40))
def test_loops_of_random_instructions_count_the_same(seed: int) -> None:
    rng = random.Random(seed)
    head = assemble(
        [step("vsetivli", rd=5, uimm=rng.randrange(1, 32), vtypei=rng.choice((E8M1, E16M2, E32M1)))]
    )
    body = b"".join(retiring(rng, head, seed) for _ in range(8))
    assert_same_counts(head + body + step("jal", rd=0, imm=-len(body)).code, 100, seed)


@pytest.mark.parametrize(
    ("name", "vlen"), [("gemm_tile_s8", 128), ("gemm_tile_ime", 256), ("memops", 256)]
)
def test_kernels_count_the_same(name: str, vlen: int) -> None:
    found = []
    for engine in ("numpy", "jit"):
        machine = Machine(vlen=vlen, engine=engine, statistics=True)
        jit = machine.interp.jit
        if isinstance(jit, Jit):
            jit.threshold = 50
        machine.load(build_kernel(name))
        machine.run(max_insns=1_000_000)
        found.append((executed(machine.interp), counts(machine).as_json()))
    assert found[0] == found[1]
    assert isinstance(jit, Jit)
    assert jit.regions


def test_code_that_changed_keeps_its_counts() -> None:
    """A function is called, and changed by a vector store, in five rounds."""
    found = []
    for compiled in (False, True):
        bare = with_function("numpy", TEXT + 4 * PAGE, add(65))
        bare.state.x[A3] = TEXT + 4 * PAGE
        found.append(run_counted(bare, 1000, compiled=compiled))
    assert found[0] == found[1]
    assert found[0][1] == Traffic(vector_written=5 * 4)


def test_code_that_was_kept_counts_the_same(tmp_path: Path) -> None:
    """What was compiled without counters is no use to a run that counts."""
    code = loop(50, BODIES["strip"])
    uncounted = start(code, CONFIG, 0)
    uncounted.interp.jit = Jit(uncounted.interp, threshold=1, cache=tmp_path)
    uncounted.run(100_000)
    found, loaded = [], []
    for _ in range(2):
        bare = start(code, CONFIG, 0)
        found.append(run_counted(bare, 100_000, compiled=True, cache=tmp_path))
        assert isinstance(bare.interp.jit, Jit)
        loaded.append(bare.interp.jit.loaded)
    assert found[0] == found[1] == run_counted(start(code, CONFIG, 0), 100_000, compiled=False)
    assert loaded[0] == 0 < loaded[1]


def test_compiled_code_counts_only_if_asked() -> None:
    bare = start(loop(50, BODIES["scalar"]), CONFIG, 0)
    bare.interp.jit = Jit(bare.interp, threshold=1)
    bare.run(100_000)
    assert list(bare.interp.executions()) == list(bare.interp.interpreted())
    assert Traffic.of(bare.state) == Traffic()
