"""Native code counts the same cycles as the reference engine, and charges the same places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rvsim.cost import load_core
from rvsim.engine.jit.engine import Jit
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.cost.loops import assemble

pytestmark = pytest.mark.compiled

LOOPS = {
    "scalar": """
        lw t1, 0(s1)
        mul t2, t1, s0
        add t3, t2, t3
        sw t3, 64(s1)
        div t4, t3, s0
        addi s1, s1, 4""",
    "branches": """
        andi t1, s0, 3
        beqz t1, 1f
        xor t2, t2, t1
        j 2f
    1:  addi t2, t2, 1
    2:  sltu t3, t2, s0""",
    "misses": """
        ld t1, 0(s1)
        vsetvli t0, zero, e64, m2, ta, ma
        vle64.v v8, (s1)
        vadd.vi v8, v8, 1
        vse64.v v8, (s1)
        li t2, 4096
        add s1, s1, t2""",
    "strips": """
        vsetvli t0, s0, e16, m2, ta, ma
        vle16.v v8, (s1)
        vwmacc.vx v16, s0, v8
        vmslt.vx v0, v8, s0
        vadd.vv v12, v8, v8, v0.t
        vlse16.v v4, (s1), t0
        vredsum.vs v2, v12, v4
        vmv.x.s t1, v2""",
    "float": """
        vsetvli t0, zero, e32, m1, ta, ma
        fcvt.s.w fa0, s0
        vfmacc.vf v8, fa0, v9
        vfdiv.vv v10, v8, v9
        fadd.s fa1, fa0, fa1""",
}
PROGRAM = """
    .globl main
    main: la s1, data
        li s0, {rounds}
    round: {body}
        addi s0, s0, -1
        bnez s0, round
        ebreak
    .data
    .balign 4096
    data: .zero 262144
"""

NUMBERED = ("sites", "queue_site")
"""Arrays of places by number, which the engines give in another order."""


def measured(elf: Path, threshold: int | None, max_insns: int) -> tuple[dict[str, Any], int]:
    """All that the model knows after a run, and how many regions were compiled."""
    machine = Machine(cost="x60")
    jit = None
    if threshold is not None:
        jit = machine.interp.jit = Jit(machine.interp, threshold)
    machine.load(elf, argv=["program"])
    result = machine.run(max_insns=max_insns)
    cost = machine.cost
    assert cost is not None
    assert sum(cost.stalls.values()) == cost.cycle
    arrays = machine.state.arrays.items()
    found = {name: bytes(array) for name, array in arrays if name not in NUMBERED}
    found |= {"cycle": result.cycle, "instret": result.instret, "sites": list(cost.sites())}
    return found, 0 if jit is None else len(jit.regions)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_leave_the_same_state(name: str) -> None:
    elf = assemble(PROGRAM.format(body=LOOPS[name], rounds=60))
    reference, _ = measured(elf, None, 10_000)
    got, regions = measured(elf, 1, 10_000)
    assert got == reference
    assert regions > 0


def test_the_limit_may_fall_anywhere() -> None:
    elf = assemble(PROGRAM.format(body=LOOPS["branches"], rounds=8))
    for limit in range(10, 45, 9):
        assert measured(elf, 1, limit)[0] == measured(elf, None, limit)[0]


@pytest.mark.parametrize(
    "insn", ["ld t1, 0(s2)", "sd t1, 0(s2)", "vle8.v v8, (s2)", "vs4r.v v8, (s2)"]
)
def test_an_access_around_the_end_of_the_address_space_takes_as_long_as_another(insn: str) -> None:
    """It goes on at 0: that its last line comes before the first is no reason to count for ever."""
    elf = assemble(f"""
    .globl main
    main: la s2, data; li s0, 40; vsetivli t0, 16, e8, m1, ta, ma
    1:  addi s0, s0, -1; bnez s0, 2f; li s2, -3
    2:  {insn}; bgez s2, 1b; ebreak
    .data; .balign 4096
    data: .zero 4096
    """)
    reference, _ = measured(elf, None, 10_000)
    got, regions = measured(elf, 1, 10_000)
    assert got == reference
    assert regions
    assert got["cycle"] < 2000


def test_a_kernel_takes_the_same_cycles() -> None:
    elf = build_kernel("requant_s8")
    reference, _ = measured(elf, None, 60_000)
    got, regions = measured(elf, 300, 60_000)
    assert got == reference
    assert regions > 0


def test_native_code_is_kept_for_cores_of_the_same_numbers(tmp_path: Path) -> None:
    elf = assemble(PROGRAM.format(body=LOOPS["branches"], rounds=60))
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    compiled = []
    for core in ("x60", "x60", load_core("x60", ["branch.mispredict=20"])):
        machine = Machine(cost=core)
        jit = machine.interp.jit = Jit(machine.interp, 1, cache=folder)
        machine.load(elf, argv=["program"])
        cycles = machine.run(max_insns=10_000).cycle
        compiled.append((jit.compiled > 0, cycles))
    assert [was for was, _ in compiled] == [True, False, True]
    assert compiled[0][1] == compiled[1][1] < compiled[2][1]
