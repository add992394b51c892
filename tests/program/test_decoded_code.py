"""Decoded code has a bound: what is dropped is decoded anew, and the counts of it are kept."""

from __future__ import annotations

from collections import Counter

import pytest

import rvsim.engine.interp
from rvsim.machine import Machine, RunResult
from tests.cli.programs import E8_M1, elf, exit_with, li, vset
from tests.program.bare import DATA, Step, load_upper, step

FEW = 20
CALLED = [step("addi", rd=7, rs1=7, imm=i) for i in range(10)]


def body() -> list[Step]:
    """Straight code, a call, vectors in two modes, a store over code to come, and a trap's end."""
    straight = [step("add", rd=5 + i % 3, rs1=6, rs2=5 + i % 2) for i in range(60)]
    vectors = [
        vset(E8_M1, 7),
        *(step("vadd.vv", vd=1, vs2=1, vs1=2, vm=1) for _ in range(3)),
        vset(E8_M1, 31),
        *(step("vadd.vv", vd=1, vs2=1, vs1=2, vm=1) for _ in range(3)),
    ]
    skip = [step("beq", rs1=5, rs2=6, imm=8), step("addi", rd=8, rs1=8, imm=1)]
    return [*straight, *vectors, *skip, *CALLED]


def program(*last: Step) -> bytes:
    """The body eight times."""
    inside = body()
    return elf(
        [
            li(20, 8),
            step("auipc", rd=21, uimm=0),
            *inside,
            step("addi", rd=20, rs1=20, imm=-1),
            step("beq", rs1=20, rs2=0, imm=8),
            step("jalr", rd=0, rs1=21, imm=4),
            *last,
        ]
    )


def run(content: bytes, **options) -> tuple[RunResult, Counter[tuple[int, int, object]]]:
    machine = Machine(memory_size=1 << 26, cache=False, **options)
    if machine.interp.jit is not None:
        machine.interp.jit.threshold = 1
    machine.load(content)
    result = machine.run()
    counts: Counter[tuple[int, int, object]] = Counter()
    for d, mode, count, vl_sum in machine.interp.executions():
        counts[d.pc, d.word, mode] += count
        counts[d.pc, d.word, (mode, "vl")] += vl_sum if d.insn and d.insn.vector else 0
    return result, counts


OPTIONS = {
    "the reference engine": {"engine": "numpy"},
    "compiled code": {"engine": "jit", "statistics": True},
    "cycles": {"engine": "numpy", "statistics": True, "cost": "x60"},
    "cycles of compiled code": {"engine": "jit", "statistics": True, "cost": "x60"},
}


@pytest.mark.parametrize("what", OPTIONS)
def test_the_results_and_counts_are_the_same(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = program(step("ebreak") if "cycles" in what else step("ecall"), *exit_with(5))
    expected, counts = run(content, **OPTIONS[what])
    monkeypatch.setattr(rvsim.engine.interp, "MOST_DECODED", FEW)
    found, counts_again = run(content, **OPTIONS[what])
    for name in ("reason", "exit_code", "trap", "instret", "cycle", "x", "v"):
        assert getattr(found, name) == getattr(expected, name), name
    assert counts_again == counts
    assert sum(n for key, n in counts.items() if not isinstance(key[2], tuple)) > 600
    if expected.machine.cost is not None:
        assert found.machine.cost.stalls == expected.machine.cost.stalls


def test_no_more_is_kept_than_the_bound_and_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rvsim.engine.interp, "MOST_DECODED", FEW)
    machine = Machine(memory_size=1 << 26, engine="numpy")
    machine.load(program(*exit_with(0)))
    most = 0
    while machine.step(17) is None:
        most = max(most, len(machine.interp._decoded))
    assert FEW <= most <= FEW + 64 + 1


@pytest.mark.parametrize("engine", ["numpy", "jit"])
def test_a_store_into_dropped_code_is_seen(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function in data is called, changed after it has been dropped, and called again."""
    new, old = (step("addi", rd=10, rs1=10, imm=i) for i in (1, 40))
    back = step("jalr", rd=0, rs1=1, imm=0)
    copy = [
        load_upper(5, DATA),
        *(step("lw", rd=6, rs1=5, imm=64), step("sw", rs1=5, rs2=6, imm=0)),
    ]
    other = [step("addi", rd=7, rs1=7, imm=1) for _ in range(100)]
    mprotect = [
        *(load_upper(10, DATA), load_upper(11, 4096), li(12, 7), li(17, 226), step("ecall")),
        li(10, 0),
    ]
    call = [load_upper(5, DATA), step("jalr", rd=1, rs1=5, imm=0)]
    end = [li(17, 93), step("ecall")]
    steps = [*mprotect, *call, *other, *copy, *call, *other, *end]
    data = (old.code + back.code).ljust(64, b"\0") + new.code
    monkeypatch.setattr(rvsim.engine.interp, "MOST_DECODED", FEW)
    result, _ = run(elf(steps, data), engine=engine)
    assert result.exit_code == 41
