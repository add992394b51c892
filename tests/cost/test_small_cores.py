"""Two cores that differ from the X60 in all they are asked for: cycles by hand, on both engines.

Each loop ends in ``addi s0, s0, -1; bnez s0``; a taken branch that was predicted costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rvsim.cost import Core, describe, load_core
from rvsim.machine import Machine
from rvsim.perf import memory_roofs, unit_roofs
from tests.cost.loops import assemble

CORES = Path(__file__).with_name("cores")
LEAN, WIDE = str(CORES / "lean128.toml"), str(CORES / "wide1024.toml")
VLEN = {LEAN: 128, WIDE: 1024}
E8M1 = "vsetvli t0, x0, e8, m1, ta, ma"

LEAN_LOOPS: Mapping[str, tuple[str, str, int]] = {
    # add | add | addi . bnez: a result of the ALU is used two cycles later
    "single issue": ("add t0, t1, t2; add t3, t4, t5", "", 5),
    "multiplications": ("mul t0, t0, t2; mul t0, t0, t2", "", 2 * 7),
    "busy multiplier": ("mul t0, t1, t2; mul t3, t1, t2; mul t4, t1, t2", "", 3 * 4),
    # ld . . . add | addi . bnez
    "load": ("ld t0, 0(s1); add t1, t0, t0", "", 8),
    # L = 1: two cycles for each
    "vector": ("".join(f"vadd.vv v{8 + i}, v16, v24;" for i in range(4)), E8M1, 4 * 2),
    "chain at m1": ("vadd.vv v8, v8, v24;" * 2, E8M1, 2 * 5),
    "m4": ("vadd.vv v8, v16, v24;" * 2, "vsetvli t0, x0, e8, m4, ta, ma", 2 * 8),
    # vle . . vle | addi . bnez: the unit takes 3, and is free before the loop is closed
    "loads": ("vle8.v v8, (s1); vle8.v v9, (s1)", E8M1, 3 + 4),
    # sixteen bytes from an odd place touch three beats of eight: 2 more for the first of two
    "misaligned": ("vle8.v v8, (s2); vle8.v v9, (s2)", f"addi s2, s1, 4; {E8M1}", 3 + 2 + 4),
    # two parts of 64 bits are full; one is, and one has an element; one has, and one is idle.
    # Four cycles from the last of the unit's to the result, which the next one overwrites
    "division": ("vdivu.vv v8, v16, v24", "vsetivli t0, 4, e32, m1, ta, ma", 5 + 5 + 3),
    "division of 3": ("vdivu.vv v8, v16, v24", "vsetivli t0, 3, e32, m1, ta, ma", 5 + 3 + 3),
    "division of 1": ("vdivu.vv v8, v16, v24", "vsetivli t0, 1, e32, m1, ta, ma", 3 + 2 + 3),
}

WIDE_LOOPS: Mapping[str, tuple[str, str, int]] = {
    "multiplications": ("mul t0, t0, t2; mul t0, t0, t2", "", 2 * 3),
    "vector": ("".join(f"vadd.vv v{8 + i}, v16, v24;" for i in range(4)), E8M1, 4 * 4),
    "chain at m1": ("vadd.vv v8, v8, v24;" * 2, E8M1, 2 * 6),
    "half a register": (
        "".join(f"vadd.vv v{8 + i}, v16, v24;" for i in range(4)),
        "vsetvli t0, x0, e8, mf2, ta, ma", 4 * 2,
    ),
    # nine by its own case; the old destination one before, as on the X60
    "vmul of bytes": ("vmul.vv v8, v8, v24;" * 2, E8M1, 2 * (9 + 1)),
    # five and one, as on the X60, which has a case for 32 bits
    "vmul of words": ("vmul.vv v8, v8, v24;" * 2, "vsetvli t0, x0, e32, m1, ta, ma", 2 * (5 + 1)),
    "loads": ("vle8.v v8, (s1); vle8.v v9, (s1)", E8M1, 2 * 3),
    "loads at m2": ("vle8.v v8, (s1); vle8.v v10, (s1)", "vsetvli t0, x0, e8, m2, ta, ma", 2 * 6),
}  # fmt: skip

ALL = [(core, name) for core, loops in ((LEAN, LEAN_LOOPS), (WIDE, WIDE_LOOPS)) for name in loops]


def loops_of(core: str) -> Mapping[str, tuple[str, str, int]]:
    return LEAN_LOOPS if core == LEAN else WIDE_LOOPS


@cache
def loaded(core: str) -> Core:
    return load_core(core)


def program(core: str) -> Path:
    """All loops of a core one after the other; the rounds of each stand in its data."""
    parts = [
        f"ld s0, {8 * i}(s3); {setup}; fence; .balign 64; 1: {body}; addi s0, s0, -1; bnez s0, 1b;"
        for i, (body, setup, _) in enumerate(loops_of(core).values())
    ]
    return assemble(
        f".globl main\nmain: la s1, data; la s3, rounds\n{chr(10).join(parts)}\nebreak\n"
        ".data\n.balign 4096\ndata: .zero 4096\nrounds: .zero 512"
    )


def run(core: str, rounds: Mapping[str, int], engine: str = "numpy") -> Machine:
    """Each loop for so many rounds, those without a name for one."""
    machine = Machine(cost=loaded(core), vlen=VLEN[core], engine=engine, cache=False)
    machine.load(program(core))
    assert machine.image is not None
    place = machine.image.symbols.address("rounds")
    assert place is not None
    for i, name in enumerate(loops_of(core)):
        machine.memory.write(place + 8 * i, rounds.get(name, 1).to_bytes(8, "little"))
    machine.run()
    assert machine.cost is not None
    assert machine.cost.total == sum(machine.cost.stalls.values())
    return machine


@pytest.mark.parametrize(("core", "name"), ALL, ids=[f"{Path(c).stem}-{name}" for c, name in ALL])
def test_a_round_takes_what_the_file_says(core: str, name: str) -> None:
    few, more = (run(core, {name: rounds}).cycle for rounds in (24, 32))
    assert more - few == 8 * loops_of(core)[name][2]


def division(vlen: int, lmul: str, vl: int) -> int:
    """Cycles of a round of a loop on the X60."""
    source = f""".globl main
    main: lw s0, rounds; vsetivli t0, {vl}, e32, {lmul}, ta, ma
    1: vdivu.vv v8, v16, v24; addi s0, s0, -1; bnez s0, 1b
    ebreak
    .data; rounds: .word 24"""
    cycles = []
    for rounds in (24, 32):
        machine = Machine(cost="x60", vlen=vlen, engine="numpy")
        machine.load(assemble(source))
        assert machine.image is not None
        place = machine.image.symbols.address("rounds")
        assert place is not None
        machine.memory.write(place, rounds.to_bytes(4, "little"))
        cycles.append(machine.run().cycle)
    return cycles[1] - cycles[0]


@pytest.mark.parametrize("vl", [1, 3, 4, 7, 8, 15, 16])
def test_a_longer_register_is_several_of_those_of_the_numbers(vl: int) -> None:
    """The parts that a division goes over are as wide as the datapath, whatever VLEN is."""
    usual = division(256, "m2", vl)
    assert division(512, "m1", vl) == division(1024, "mf2", vl) == division(128, "m4", vl) == usual


@pytest.mark.compiled
@pytest.mark.parametrize("core", [LEAN, WIDE], ids=["lean128", "wide1024"])
def test_compiled_code_takes_the_same(core: str) -> None:
    loops = loops_of(core)
    few, more = (run(core, dict.fromkeys(loops, rounds), "jit").cycle for rounds in (1000, 3000))
    assert more - few == 2000 * sum(cycles for _, _, cycles in loops.values())
    engines = [run(core, dict.fromkeys(loops, 60), engine) for engine in ("numpy", "jit")]
    assert engines[0].cycle == engines[1].cycle
    assert engines[0].cost.stalls == engines[1].cost.stalls  # type: ignore[union-attr]


@pytest.mark.parametrize(("core", "per_tick"), [(LEAN, 100), (WIDE, 100), ("x60", 1600 / 24)])
def test_time_goes_by_the_clock_of_the_core(core: str, per_tick: float) -> None:
    source = """.globl main
    main: li s0, 3000
    1: addi s0, s0, -1; bnez s0, 1b
    csrr a0, cycle; csrr a1, time; csrr a2, cycle; ebreak"""
    machine = Machine(cost=core)
    machine.load(assemble(source))
    machine.run()
    before, ticks, after = machine.state.x[10:13].tolist()
    assert before // per_tick <= ticks <= after // per_tick
    assert ticks >= 30


def test_roofs_are_those_of_the_core() -> None:
    lean, wide = loaded(LEAN), loaded(WIDE)
    assert memory_roofs(lean, 128)[0].rate == 16 / 3
    assert memory_roofs(wide, 1024)[0].rate == 128 / 3
    assert [roof.name for roof in unit_roofs(wide, 1024, [8])] == ["vector e8"]


def test_there_is_no_roof_of_what_is_not_known() -> None:
    lean = loaded(LEAN)
    bare = replace(lean, vector={unit: lean.vector[unit] for unit in ("valu", "vdiv")})
    assert unit_roofs(bare, 128, [8]) == []
    assert [roof.name for roof in memory_roofs(bare, 128)] == ["L2", "DRAM"]


def test_a_number_of_another_core_is_borrowed() -> None:
    found = {name: (value, source, sure) for name, value, source, sure in describe(LEAN)}
    assert found["l2.latency"] == (9, "another test", "derived")
    assert found["l2.size"] == (65536, "test", "guessed")
    value, source, confidence = found["dram.latency"]
    assert value == load_core("x60").dram.latency
    assert source.startswith("core x60: ")
    assert confidence == "borrowed"
    assert found["vector.valu.latency"] == (5, "test", "guessed")
    assert found["vector.vlogic.latency"][2] == "borrowed"


def test_small_cores_are_small() -> None:
    assert all(len(Path(core).read_text("utf-8").splitlines()) <= 80 for core in VLEN)
