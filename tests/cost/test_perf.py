"""Profiles, loops and bounds of small programs, against what follows from them by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rvsim.cost import REASONS
from rvsim.guest.symbols import NOTYPE, Symbol, Symbols
from rvsim.machine import Machine
from rvsim.perf import Bounds, Loop, Profile, bounds, find_loops, find_region, profile
from rvsim.perf.groups import GROUPS, group_of
from tests.cli.programs import A0, A1, A2, E8_M1, E8_M2, elf, exit_with, li, vset
from tests.program.bare import DATA, Step, load_upper, step

V1, V2, V4, V8 = 1, 2, 4, 8
VMADOT = step("smt.vmadot", vd=V8, vs1=V1, vs2=V2)
COUNT = (step("addi", rd=A0, rs1=A0, imm=-1), step("bne", rs1=A0, rs2=0, imm=0))


def profile_of(steps: Sequence[Step], engine: str = "jit") -> Profile:
    machine = Machine(cost="x60", statistics=True, engine=engine)
    machine.load(elf([*steps, *exit_with(0)]))
    result = machine.run()
    assert result.exit_code == 0
    found = profile(machine)
    assert found.cycles == machine.cycle
    assert found.instructions == result.instret
    return found


def loop_of(body: Sequence[Step], before: Sequence[Step] = (), rounds: int = 1000) -> Bounds:
    """The bounds of a loop with this body, which counts down a0."""
    size = sum(s.length for s in body) + COUNT[0].length
    back = step("bne", rs1=A0, rs2=0, imm=-size)
    found = profile_of([*before, li(A0, rounds), *body, COUNT[0], back])
    (loop,) = find_loops(found)
    assert loop.iterations == rounds
    return bounds(found.core, loop)


def test_every_reason_is_in_one_group() -> None:
    for reason in REASONS:
        assert group_of(reason) in GROUPS


@pytest.mark.parametrize("engine", ["jit", "numpy"])
def test_lanes_and_multiply_accumulations(engine: str) -> None:
    body = [
        step("vmacc.vv", vd=V8, vs1=V1, vs2=V2, vm=1),
        step("vadd.vv", vd=V4, vs1=V1, vs2=V2, vm=1),
    ]
    found = profile_of([vset(E8_M1, 16), *body], engine)
    assert found.lanes == (32, 64)
    assert found.macs.count == 16
    # 32 a cycle with a full vl, so that 16 take half of one
    assert (found.macs.peak, found.macs.peak_cycles) == (32.0, 0.5)


def test_peak_of_the_matrix_unit() -> None:
    found = profile_of([load_upper(A1, DATA), li(A2, 32),
                        step("vsetvli", rd=0, rs1=A2, vtypei=E8_M1), *[VMADOT] * 10])  # fmt: skip
    assert (found.macs.count, found.macs.peak) == (10 * 4 * 4 * 8, 128.0)


def test_scalar_multiply_add() -> None:
    found = profile_of([step("fmadd.s", fd=1, fs1=2, fs2=3, fs3=4, rm=0)])
    assert (found.macs.count, found.macs.peak) == (1, 1.0)


# -- bounds


def test_issue_width_binds() -> None:
    body = [step("addi", rd=r, rs1=0, imm=1) for r in (11, 12, 13, 14, 15, 16)]
    found = loop_of(body)
    assert found.issue == 4.0  # 8 instructions, two a cycle
    assert found.binding == "issue width"


def test_one_memory_instruction_a_cycle() -> None:
    loads = [step("lw", rd=r, rs1=A1, imm=0) for r in (12, 13, 14, 15)]
    found = loop_of(loads, [load_upper(A1, DATA)])
    assert (found.issue, found.lsu) == (4.0, 4.0)


def test_vector_unit_binds() -> None:
    """Three independent operations with LMUL 2 keep the unit for two cycles each.

    Each waits for its old vd, as always on the X60, but that takes no more than 4 cycles.
    """
    adds = [step("vadd.vv", vd=vd, vs1=2, vs2=4, vm=1) for vd in (8, 10, 12)]
    found = loop_of(adds, [vset(E8_M2)])
    assert found.vector_unit == 6.0
    assert found.binding == "vector unit"


def test_load_store_unit_binds() -> None:
    loads = [step("vle8.v", vd=vd, rs1=A1, vm=1) for vd in (8, 10, 12)]
    found = loop_of(loads, [load_upper(A1, DATA), vset(E8_M2)])
    assert found.lsu == 12.0  # 64 bytes are four beats of 16
    assert found.binding == "load/store unit"


@pytest.mark.parametrize("accumulators", [1, 2, 6, 8])
def test_chain_through_accumulators(accumulators: int) -> None:
    """One accumulates every 6 cycles, however many there are; six or more fill the unit."""
    body = [step("smt.vmadot", vd=8 + 2 * i, vs1=V1, vs2=V2) for i in range(accumulators)]
    found = loop_of(body, [li(A2, 32), step("vsetvli", rd=0, rs1=A2, vtypei=E8_M1)])
    assert found.chain is not None
    assert (found.chain.cycles, found.vector_unit) == (6.0, accumulators)
    expected = "dependences" if accumulators <= 6 else "vector unit"
    assert found.largest == (expected, max(6, accumulators))
    assert found.binding == expected
    assert found.measured == pytest.approx(max(6, accumulators), rel=0.05)


def test_chain_of_several_instructions_is_named() -> None:
    body = [step("mul", rd=A1, rs1=A1, rs2=A2), step("addi", rd=A1, rs1=A1, imm=1)]
    found = loop_of(body)
    assert found.chain is not None
    assert found.chain.cycles == 6.0
    assert sorted(s.insn.name for s in found.chain.links) == ["addi", "mul"]
    assert found.binding == "dependences"


def test_chain_through_a_load() -> None:
    """A pointer to itself: each load waits for the one before it."""
    store = step("sd", rs1=A1, rs2=A1, imm=0)
    found = loop_of([step("ld", rd=A1, rs1=A1, imm=0)], [load_upper(A1, DATA), store])
    assert found.chain is not None
    assert (found.chain.cycles, found.binding) == (2.0, "dependences")


def test_chain_through_a_register_that_is_loaded_again() -> None:
    """A load waits for the store that reads its register: 3 cycles and 1 until the store begins.

    One more is until the store has read the register, half by half.
    """
    copy = [step("vle8.v", vd=1, rs1=A1, vm=1), step("vse8.v", vs3=1, rs1=A2, vm=1)]
    found = loop_of(
        copy, [load_upper(A1, DATA), step("addi", rd=A2, rs1=A1, imm=1024), vset(E8_M1)]
    )
    assert found.chain is not None
    assert (found.chain.cycles, found.lsu) == (5.0, 4.0)
    assert [s.insn.name for s in found.chain.links] == ["vle8.v", "vse8.v"]
    assert found.binding == "dependences"


def test_iterations_that_do_not_overlap() -> None:
    """No chain goes on, but in-order issue waits for each load and each product."""
    body = [step("lw", rd=11, rs1=12, imm=0), step("mul", rd=13, rs1=11, rs2=11),
            step("sw", rs1=12, rs2=13, imm=4)]  # fmt: skip
    found = loop_of(body, [load_upper(12, DATA)])
    assert found.chain is not None
    assert found.chain.cycles == 1.0
    assert found.chain.path == 7.0  # 2 for the load and 5 for the product until the store
    assert found.binding is None


@pytest.mark.parametrize(
    ("measured", "binding"),
    [(7.2, None), (7.3, "load/store unit"), (8.8, "load/store unit"), (8.9, None)],
)
def test_a_bound_binds_within_a_tenth(measured: float, binding: str | None) -> None:
    found = Bounds(measured, issue=4, vector_unit=6, lsu=8, scalar_units=0, chain=None)
    assert (found.largest, found.binding) == (("load/store unit", 8), binding)


def test_a_short_vl_takes_less_than_the_bound() -> None:
    """One element of a half register is divided faster than all of them."""
    body = [step("vfdiv.vv", vd=vd, vs1=1, vs2=2, vm=1) for vd in (8, 10)]
    found = loop_of(body, [vset(E8_M1 | 0b010_000, 1)])
    assert found.measured < found.vector_unit
    assert found.binding is None


# -- loops


def jump(offset: int) -> Step:
    return step("jal", rd=0, imm=offset)


def test_nested_loops() -> None:
    inner = [step("addi", rd=A1, rs1=A1, imm=-1), step("bne", rs1=A1, rs2=0, imm=-4)]
    outer = [li(A1, 5), *inner, step("addi", rd=A0, rs1=A0, imm=-1),
             step("bne", rs1=A0, rs2=0, imm=-16)]  # fmt: skip
    found = find_loops(profile_of([li(A0, 7), *outer]))
    assert [(x.iterations, x.is_innermost, len(x.sites)) for x in found] == [
        (7, False, 5),
        (35, True, 2),
    ]
    assert loops_cycles(found[0]) >= loops_cycles(found[1])


def loops_cycles(loop: Loop) -> float:
    return loop.cycles * loop.iterations


def test_loop_that_is_entered_in_its_middle() -> None:
    """Its first instruction is where it is entered; the code before that comes last."""
    steps = [
        li(A0, 3),
        jump(8),
        step("addi", rd=A1, rs1=A1, imm=1),
        step("addi", rd=A0, rs1=A0, imm=-1),
        step("bne", rs1=A0, rs2=0, imm=-8),
    ]
    (loop,) = find_loops(profile_of(steps))
    assert [s.insn.name for s in loop.sites] == ["addi", "bne", "addi"]
    assert (loop.head - loop.start, loop.iterations) == (4, 3)


def test_branch_back_that_is_never_taken_is_no_loop() -> None:
    steps = [li(A0, 0), step("addi", rd=A1, rs1=A1, imm=1), step("bne", rs1=A0, rs2=0, imm=-4)]
    assert find_loops(profile_of(steps)) == []


def test_loop_that_is_jumped_over_now_and_then() -> None:
    """The first round does, the second runs it twice; by the counts, both might run it once."""
    skip, inner = step("bne", rs1=A1, rs2=0, imm=16), step("bne", rs1=A2, rs2=0, imm=-4)
    steps = [
        li(A0, 2),
        step("addi", rd=A1, rs1=A0, imm=-1),
        skip,
        li(A2, 2),
        step("addi", rd=A2, rs1=A2, imm=-1),
        inner,
        step("addi", rd=A0, rs1=A0, imm=-1),
        step("bne", rs1=A0, rs2=0, imm=-24),
    ]
    found = find_loops(profile_of(steps))
    assert [(x.iterations, x.is_innermost) for x in found] == [(2, False), (2, True)]


def test_branch_forward_is_no_loop() -> None:
    assert find_loops(profile_of([li(A0, 1), step("bne", rs1=A0, rs2=0, imm=8), li(A1, 1)])) == []


# -- regions


def test_region_of_a_label_ends_at_the_next_symbol() -> None:
    labels = [
        Symbol("first", 0x100, 0x200, NOTYPE, sized=False),
        Symbol("second", 0x140, 0x200, NOTYPE, sized=False),
    ]
    symbols = Symbols(labels)
    assert (find_region("first", symbols).start, find_region("first", symbols).end) == (
        0x100,
        0x140,
    )
    assert find_region("second", symbols).end == 0x200


def test_region_does_not_hold_its_end() -> None:
    region = find_region("10-20", Symbols())
    assert [pc in region for pc in (0xF, 0x10, 0x1F, 0x20)] == [False, True, True, False]
