"""Records of instructions: both engines make the same, and what they tell is true.

What was accessed is compared with the accesses themselves, as listeners hear of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rvsim.cost.batch import Batch
from rvsim.cost.ring import BATCH
from rvsim.engine.jit.engine import Jit
from rvsim.engine.observer import Batches
from rvsim.insn.decode import Decoded
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from rvsim.trace.events import Event, EventKind, Recorder
from tests.cost.loops import assemble
from tests.cost.test_regions import LOOPS, PROGRAM

pytestmark = pytest.mark.compiled

ACCESSES = """
    .globl main
main: la s1, data; li s0, 3; li t2, 0x5a; vsetivli t0, 8, e8, m1, ta, ma; vmv.v.x v1, t2
1:  vmv1r.v v0, v1; vid.v v2; vsll.vi v2, v2, 3; vrsub.vi v3, v2, 15
    ld t3, 0(s1); sb t3, 9(s1); flw ft0, 12(s1); fsd ft0, 16(s1); c.addi16sp sp, -16
    c.sdsp t3, 8(sp); c.ldsp t3, 8(sp); c.addi16sp sp, 16
    amoadd.w t4, t2, (s1); amoswap.d t4, t2, (s1); lr.w t4, (s1); sc.w t5, t4, (s1)
    sc.w t5, t4, (s1); cbo.zero (s1)
    vle8.v v8, (s1); vle8.v v8, (s1), v0.t; vse16.v v8, (s1); vse16.v v8, (s1), v0.t
    li t1, -24; addi s2, s1, 1024; vlse32.v v8, (s2), t1; vsse8.v v8, (s2), t1, v0.t
    vluxei8.v v8, (s1), v2, v0.t; vsoxei8.v v8, (s1), v3; vluxei8.v v8, (s1), v3
    vlseg3e8.v v8, (s1), v0.t; vsseg2e8.v v8, (s1); vlsseg2e8.v v8, (s2), t1
    vluxseg2ei8.v v8, (s1), v2, v0.t; vle8ff.v v8, (s1), v0.t; vlm.v v8, (s1); vsm.v v8, (s1)
    vl2re8.v v8, (s1); vs4r.v v8, (s1); vsetivli t0, 0, e8, m1, ta, ma; vle8.v v8, (s1)
    vsetvli t0, zero, e8, m8, ta, ma; vle8.v v8, (s1), v0.t; vse8.v v8, (s1), v0.t
    vmxor.mm v0, v0, v0; vle8.v v8, (s1), v0.t; vsse8.v v8, (s1), t1, v0.t
    li t6, 100; vsetvli t0, t6, e16, m4, ta, ma; vle16.v v8, (s1); vse16.v v8, (s1)
    vsetivli t0, 8, e8, m1, ta, ma; addi s0, s0, -1; bnez s0, 1b; ebreak
    .data; .balign 4096
data: .zero 16384
"""


def recorded(program: Path, max_insns: int, threshold: int | None) -> tuple[list[Batch], int]:
    """The batches of a run, and how many regions were compiled."""
    batches: list[Batch] = []
    machine = Machine(
        cost="x60",
        engine="numpy" if threshold is None else "jit",
        cache=False,
        observers=[Batches(batches.append)],
    )
    if threshold is not None:
        machine.interp.jit = Jit(machine.interp, threshold)
    machine.load(program)
    machine.run(max_insns=max_insns)
    jit = machine.interp.jit
    return batches, 0 if jit is None else len(jit.regions)  # type: ignore[attr-defined]


def assert_equal(ours: Sequence[Batch], theirs: Sequence[Batch]) -> None:
    """The same rows of the same instructions, cut alike; only their numbers are others."""
    assert [len(b.rows) for b in ours] == [len(b.rows) for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert _places(a) == _places(b)
        for name in (name for name in a.rows.dtype.names or () if name != "code"):
            assert np.array_equal(a.rows[name], b.rows[name]), name


def _places(batch: Batch) -> list[tuple[int, int]]:
    return [(batch.code[i].pc, batch.code[i].word) for i in batch.rows["code"].tolist()]


@pytest.mark.parametrize("name", LOOPS)
def test_native_code_makes_the_same_records(name: str) -> None:
    elf = assemble(PROGRAM.format(body=LOOPS[name], rounds=60))
    expected, _ = recorded(elf, 1 << 20, None)
    found, regions = recorded(elf, 1 << 20, 1)
    assert regions
    assert_equal(found, expected)


def test_the_same_of_accesses_of_all_kinds() -> None:
    elf = assemble(ACCESSES)
    expected, _ = recorded(elf, 1 << 20, None)
    found, regions = recorded(elf, 1 << 20, 2)
    assert regions
    assert_equal(found, expected)


def test_batches_are_cut_alike_in_a_long_run() -> None:
    elf = build_kernel("requant_s8")
    expected, _ = recorded(elf, 3 * BATCH + 100, None)
    found, regions = recorded(elf, 3 * BATCH + 100, 100)
    assert regions
    assert [len(batch.rows) for batch in found[:3]] == [BATCH] * 3
    assert_equal(found, expected)


def test_the_engines_take_turns() -> None:
    """The interpreter goes on where native code has left more than a batch."""
    elf = assemble("""
    .globl main
    main: li s1, 4000
    1:  addi s1, s1, -1; xor t0, t0, s1; bnez s1, 1b
        .rept 8000; csrr t1, instret; .endr
        ebreak
    """)
    expected, _ = recorded(elf, 1 << 20, None)
    found, regions = recorded(elf, 1 << 20, 1)
    assert regions
    assert_equal(found, expected)


def test_records_tell_what_was_accessed() -> None:
    heard: list[tuple[int, int]] = []

    def listen(d: Decoded | None, events: Sequence[Event]) -> None:
        accesses = [e for e in events if e.kind in (EventKind.READ, EventKind.WRITE)]
        if any(e.kind == EventKind.READ for e in accesses):
            accesses = [e for e in accesses if e.kind == EventKind.READ]
        lowest = min((e.addr for e in accesses), default=0)
        heard.append((lowest, sum(e.size for e in accesses)))

    batches: list[Batch] = []
    machine = Machine(cost="x60", observers=[Batches(batches.append), Recorder([listen])])
    machine.load(assemble(ACCESSES))
    machine.run()
    told = [pair for b in batches for pair in zip(b.rows["addr"], b.rows["size"], strict=True)]
    names = [d.insn.name for b in batches for d in (b.code[i] for i in b.rows["code"]) if d.insn]
    assert len(heard) == len(told) == len(names)
    for name, ours, theirs in zip(names, told, heard, strict=True):
        assert ours == theirs, name


@pytest.mark.parametrize(
    "window", [range(700, 9000), range(8192, 1 << 40), range(5, 5), range(0), range(-9, 9)]
)
def test_a_range_has_the_records_that_the_whole_run_has(window: range) -> None:
    """Native code without records comes before and behind; counters and cycles are those of all."""
    elf = assemble(PROGRAM.format(body=LOOPS["branches"], rounds=3000))
    machines = []
    for timed_range in (range(1 << 40), window):
        batches: list[Batch] = []
        machine = Machine(
            cost="x60",
            cache=False,
            statistics=True,
            observers=[Batches(batches.append, timed_range)],
        )
        machine.load(elf)
        result = machine.run()
        rows = [(b.code[row["code"]].pc, *row.tolist()) for b in batches for row in b.rows]
        counts = Counter[int]()
        for d, _, count, _ in machine.interp.executions():
            counts[d.pc] += count
        machines.append((rows, result.cycle, result.instret, machine.cost.stalls, counts))  # type: ignore[union-attr]
    (whole, *expected), (part, *found) = machines
    assert found == expected
    number = 1  # instret, behind the pc
    chosen = [row for row in whole if row[number] in window]
    assert [_without_code(row) for row in part] == [_without_code(row) for row in chosen]
    assert bool(part) == bool(window)


@pytest.mark.parametrize("name", ["branches", "misses"])
def test_native_code_takes_turns_with_and_without_records(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever has been compiled when they begin and end, anywhere in a block."""
    monkeypatch.setattr("rvsim.machine.hart._jit_maker", lambda interp, *_: lambda: Jit(interp, 1))
    elf = assemble(PROGRAM.format(body=LOOPS[name], rounds=60))
    (whole,), _ = recorded(elf, 1 << 20, None)
    batches: list[Batch] = []
    machine = Machine(cost="x60", observers=[Batches(batches.append, range(101, 203))])
    machine.load(elf)
    machine.run()
    numbers = whole.rows["instret"]
    assert_equal(batches, [whole.where((numbers >= 101) & (numbers < 203))])
    assert machine.interp.jit.regions  # type: ignore[union-attr]


def test_a_wait_may_be_charged_to_what_came_before_the_records() -> None:
    """For a place in the queue of the vector unit."""
    elf = assemble("""
    .globl main
    main: vsetvli t0, zero, e32, m4, ta, ma
        .irp vd, v8, v12, v16, v20, v24, v28; vdiv.vv \\vd, v0, v4; .endr
        ebreak
    """)
    (whole,), _ = recorded(elf, 100, None)
    charged = whole.rows["charged"].tolist()
    own = [pc for pc, _ in _places(whole)]
    elsewhere = next(i for i, pc in enumerate(charged) if pc != own[i])
    assert charged[elsewhere] not in own[elsewhere:]
    batches: list[Batch] = []
    machine = Machine(cost="x60", observers=[Batches(batches.append, range(elsewhere, 100))])
    machine.load(elf)
    machine.run()
    assert batches[0].rows["charged"].tolist() == charged[elsewhere:]


def _without_code(row: tuple[object, ...]) -> tuple[object, ...]:
    return (*row[:2], *row[3:])
