"""Hand-derived cycles of loops, one for each reason that the model can name.

Each loop ends in ``addi s0, s0, -1; bnez s0``, which pair with what stands around them; a taken
branch that was predicted costs nothing, so that it may pair with the first instruction of a round.
"""

from __future__ import annotations

import pytest

from rvsim.cost import load_core
from rvsim.machine import Machine
from tests.cost.loops import assemble, time_round

E8M1 = "vsetvli t0, x0, e8, m1, ta, ma"


def test_two_instructions_issue_in_a_cycle() -> None:
    round_ = time_round("add t0, t1, t2; add t3, t4, t5; add t6, t1, t2; add a1, t1, t2")
    assert (round_.cycles, round_.stalls) == (3, {"issue": 3})


def test_a_result_of_a_cycle_is_not_used_in_it() -> None:
    """bnez add1 | add2 | add3 | add4 | add5 | add6 addi: two pairs, so two rounds of issue."""
    round_ = time_round("add t0, t0, t1;" * 6)
    assert round_.cycles == 6
    assert round_.stalls == {"issue": 2, "raw:alu": 4}


def test_the_same_register_is_written_once_a_cycle() -> None:
    """As a chain, though nothing is read."""
    round_ = time_round("add t0, t1, t2;" * 6)
    assert round_.cycles == 6
    assert round_.stalls == {"issue": 2, "pair": 4}


def test_multiplications_take_three_cycles_each() -> None:
    """mul1 . . mul2 addi | bnez . mul1: bnez takes one of the six cycles."""
    round_ = time_round("mul t0, t1, t2; mul t3, t1, t2")
    assert round_.cycles == 6
    assert round_.stalls == {"issue": 1, "unit:mul": 5}


def test_a_multiplication_is_used_after_five() -> None:
    round_ = time_round("mul t0, t0, t2; mul t0, t0, t2")
    assert round_.cycles == 10
    assert round_.stalls == {"issue": 1, "raw:mul": 9}


@pytest.mark.parametrize(("load", "wait"), [("ld", 1), ("lwu", 1), ("lb", 2), ("lhu", 2)])
def test_a_load_is_used_after_two_and_a_part_of_a_word_after_three(load: str, wait: int) -> None:
    """ld . add+addi bnez; the next ld goes with bnez."""
    round_ = time_round(f"{load} t0, 0(s1); add t1, t0, t0")
    assert round_.cycles == 2 + wait
    assert round_.stalls == {"issue": 2, "raw:load": wait}


@pytest.mark.parametrize(
    ("insn", "cycles"),
    [
        ("sh1add t0, t0, t1", 2),
        ("add.uw t0, t0, t1", 2),
        ("cpop t0, t0", 2),
        ("mulw t0, t0, t1", 3),
        ("mulh t0, t0, t1", 6),
        ("fmadd.s fa0, fa0, fa1, fa2", 5),
        ("fmadd.d fa0, fa0, fa1, fa2", 6),
        ("fsgnj.d fa0, fa0, fa1", 5),
        ("fdiv.h fa0, fa0, fa1", 12),
        ("amoadd.d t0, t0, (s1)", 12),
        ("lr.d t0, (s1); sc.d t1, t0, (s1)", 16),
    ],
)
def test_a_chain_takes_its_latency(insn: str, cycles: int) -> None:
    """Eight in a row; what closes the loop goes beside them."""
    extensions = ".option arch, +zba, +zbb, +zfh;"
    assert time_round(extensions + f"{insn};" * 8).cycles == 8 * cycles


def test_a_comparison_of_floats_and_a_conversion() -> None:
    """Six cycles into the integer register, and four back."""
    assert time_round("feq.d t0, fa0, fa1; fcvt.d.l fa0, t0;" * 4).cycles == 4 * 10


@pytest.mark.parametrize(
    ("insn", "dividend", "divisor", "cycles"),
    [
        ("divu", (1 << 64) - 1, 1, 20),
        ("div", -(1 << 63), 1, 20),
        ("divw", (1 << 31) - 1, 1, 12),
        ("rem", 100, 13, 5),
        ("remu", 7, 100, 4),
        ("div", 1, 0, 4),
    ],
)
def test_a_division_takes_a_cycle_for_four_bits_of_the_quotient(
    insn: str, dividend: int, divisor: int, cycles: int
) -> None:
    """And four.  A quotient may have as many bits as the dividend is longer, and one."""
    round_ = time_round(f"{insn} t2, t0, t1;" * 8, f"li t0, {dividend}; li t1, {divisor}")
    assert round_.cycles == 8 * cycles


def test_an_atomic_operation_waits_for_its_data() -> None:
    """Three products of five cycles, and then the twelve."""
    assert time_round("mul t0, t0, t0;" * 3 + "amoswap.d t0, t0, (s1)").cycles == 27


def test_one_memory_instruction_a_cycle() -> None:
    """bnez ld1 | ld2 | ld3 | ld4 addi: after a full cycle there is nothing to pair."""
    round_ = time_round("ld t0, 0(s1); ld t1, 8(s1); ld t2, 16(s1); ld t3, 24(s1)")
    assert round_.cycles == 4
    assert round_.stalls == {"issue": 2, "pair": 2}


@pytest.mark.parametrize(("lmul", "cycles"), [("m1", 4), ("m2", 4), ("m4", 5), ("m8", 8)])
def test_chaining(lmul: str, cycles: int) -> None:
    """vadd on itself, register by register: 3, and 1 for the old destination, 2 at m4.

    At m8 the unit itself takes eight cycles.  Once the queue is full, each round waits for one.
    """
    round_ = time_round("vadd.vv v8, v8, v24", f"vsetvli t0, x0, e8, {lmul}, ta, ma")
    assert round_.cycles == cycles
    assert round_.stalls.keys() <= {"issue", "unit:vector" if lmul == "m8" else "raw:valu"}


def test_one_vector_instruction_a_cycle() -> None:
    body = "".join(f"vadd.vv v{8 + i}, v16, v24;" for i in range(6))
    round_ = time_round(body, E8M1)
    assert (round_.cycles, round_.stalls) == (6, {"issue": 6})


def test_the_vector_unit_is_one() -> None:
    """Eight two-cycle operations in a row, of which the queue takes two."""
    body = "".join(f"vand.vv v{8 + i}, v16, v24;" for i in range(8))
    round_ = time_round(body, E8M1)
    assert round_.cycles == 16
    assert round_.stalls == {"issue": 8, "unit:vector": 8}


def test_masked_operations_of_two_units_take_twice_as_long() -> None:
    plain = "".join(f"vadd.vv v{8 + i}, v16, v24;" for i in range(8))
    assert time_round(plain, E8M1).cycles == 8
    assert time_round(plain.replace("v24", "v24, v0.t"), E8M1).cycles == 16


def test_vmadot_accumulates_in_six_cycles() -> None:
    assert time_round("smt.vmadot v2, v0, v1; smt.vmadot v2, v0, v1", E8M1).cycles == 12


def test_six_accumulators_of_vmadot() -> None:
    body = "".join(f"smt.vmadot v{2 * i + 2}, v0, v1;" for i in range(6))
    round_ = time_round(body, E8M1)
    assert (round_.cycles, round_.stalls) == (6, {"issue": 6})


def test_a_load_waits_for_readers_of_its_destination() -> None:
    """vadd begins 3 after the load and has read v8 3 later: the next load waits for that."""
    round_ = time_round("vle8.v v8, (s1); vadd.vv v9, v8, v8", E8M1)
    assert round_.stalls["war"] >= 3


def test_vset_is_used_after_five() -> None:
    round_ = time_round("vsetvli t0, a0, e8, m1, ta, ma; sub a1, a1, t0", "li a0, 32")
    assert round_.cycles == 6
    assert round_.stalls == {"issue": 2, "raw:vset": 4}


def test_a_vector_instruction_waits_for_vset() -> None:
    body = "vsetvli t0, a0, e8, m1, ta, ma; vadd.vv v8, v16, v24"
    round_ = time_round(body, "li a0, 32")
    assert round_.stalls["vsetvl"] == 3


def test_a_load_waits_for_stores() -> None:
    """16 beats stored; no more than 7 may be left when the load begins."""
    body = "vse8.v v8, (s1); vle8.v v16, (s1)"
    round_ = time_round(body, "vsetvli t0, x0, e8, m8, ta, ma")
    assert round_.stalls["store"] >= 9


def test_loads_wait_for_their_unit() -> None:
    round_ = time_round("vle8.v v8, (s1); vle8.v v16, (s1)", "vsetvli t0, x0, e8, m8, ta, ma")
    assert round_.cycles == 32
    assert round_.stalls == {"issue": 2, "unit:lsu": 30}


def test_a_misprediction() -> None:
    """A jump to a register that goes elsewhere each time."""
    indirect = "andi t0, s0, 1; slli t0, t0, 2; la t1, 1f; add t1, t1, t0; jr t1; 1: nop; nop;"
    assert time_round(".option norvc;" + indirect).stalls["branch"] == 9


def test_outcomes_before_a_branch_predict_it() -> None:
    """Taken in every other round, which its own counter would get wrong half of the time."""
    assert "branch" not in time_round("andi t0, s0, 1; bnez t0, 1f; nop; 1:").stalls


def test_a_line_that_missed_l1() -> None:
    """Every round goes to a line of its own, of one set: none is there yet."""
    body = "ld t0, 0(s1); add s1, s1, a0; add t1, t0, t0"
    assert time_round(body, "li a0, 1 << 10").stalls["mem:dram"] >= 340


@pytest.mark.parametrize(("lines", "least", "most"), [(4, 342, 360), (8, 682, 720)])
def test_no_more_than_four_lines_are_waited_for_at_once(lines: int, least: int, most: int) -> None:
    """Loads from lines of their own, too far apart for a stream: the fifth waits for the first."""
    loads = "".join(f"ld a{i}, {i * 192}(s1);" for i in range(lines))
    body = f"addi s1, s1, 1536; {loads} add t0, a{lines - 1}, zero"
    round_ = time_round(body, core=load_core("x60", ["tlb.walk=0"]))
    assert least <= round_.cycles <= most


def test_a_pointer_in_l2_comes_after_39_cycles() -> None:
    """Eight lines of four sets of an L1 of 1 KB, which keeps one of each."""
    chain = "add t1, t0, a1; sd t1, 0(t0); mv t0, t1;" * 7
    setup = f"mv t0, s1; li a1, 256; {chain} sd s1, 0(t0); mv t0, s1"
    core = load_core("x60", ["l1d.size=1K", "l1d.ways=1"])
    round_ = time_round("ld t0, 0(t0);" * 8, setup, core=core)
    assert round_.cycles == 8 * 39
    assert round_.stalls["mem:l2"] >= 8 * 37


def test_l1_keeps_a_part_of_twice_its_size() -> None:
    """A line survives seven of chance: 39 cycles but for the fifth or so that hit, not none."""
    chain = "add t1, t0, a1; sd t1, 0(t0); mv t0, t1;" * 7
    setup = f"mv t0, s1; li a1, 256; {chain} sd s1, 0(t0); mv t0, s1"
    core = load_core("x60", ["l1d.size=1K"])
    cycles = time_round("ld t0, 0(t0);" * 8 * 32, setup, core=core).cycles / (8 * 32)
    assert 39 - 0.25 * 37 < cycles < 39 - 0.1 * 37


@pytest.mark.parametrize(("distance", "waits"), [(64, False), (128, False), (192, True)])
def test_a_stream_goes_on_with_every_other_line(distance: int, waits: bool) -> None:
    body = f"ld t0, 0(s1); addi s1, s1, {distance}; add t1, t0, t0; {'mul t2, t2, t2;' * 80}"
    assert (time_round(body).stalls.get("mem:dram", 0) > 300) == waits


@pytest.mark.parametrize(("kept", "least", "most"), [(1, 0, 0), (5, 0.7, 0.8)])
def test_a_stream_finds_in_l2_what_stayed(kept: int, least: float, most: float) -> None:
    """Twice L2 is written from end to end: what a second run begins with is mostly there."""
    core = load_core("x60", [f"l2.kept={kept}", "l2.size=64K"])
    machine = Machine(cost=core, engine="numpy")
    assert machine.cost is not None
    start, size = 0x10000, core.l2.size
    machine.cost.touch(start, 2 * size, store=True)
    front = range(start // 64, (start + size) // 64)
    there = {line - 1 for line in machine.state.arrays["l2_line"]} & set(front)
    assert least <= len(there) / len(front) <= most


def test_stores_are_written_in_order() -> None:
    """Four beats to L1 and a line to L2: 1.2 cycles a beat and then 7, not both at once."""
    setup = "vsetvli t0, x0, e8, m2, ta, ma; lb t1, 0(s1); addi s2, s1, 64"
    core = load_core("x60", ["dram.write=0", "dram.turnaround=0"])
    body = "vse8.v v8, (s1); vse8.v v10, (s2); addi s2, s2, 64;"
    cycles = time_round(body * 16, setup, core=core).cycles / 16
    assert cycles == pytest.approx(4 * 1.2 + 7, rel=0.05)


def test_a_store_hits_in_part() -> None:
    """128 bytes, of which the first half is in L1: as the two halves one after the other."""
    setup = """vsetvli t0, x0, e8, m4, ta, ma; mv s2, s1; mv t1, s1; li t2, 240
        1: lb t3, 0(t1); addi t1, t1, 128; addi t2, t2, -1; bnez t2, 1b"""
    alone = ["streams.ahead_l2=0", "streams.ahead_dram=0", "dram.write=0", "dram.turnaround=0"]
    body = "vse8.v v8, (s2); addi s2, s2, 128;"
    cycles = time_round(body * 16, setup, core=load_core("x60", alone)).cycles / 16
    assert cycles == pytest.approx(4 * 1.2 + 7, rel=0.05)


def test_a_page_that_the_tlb_does_not_hold() -> None:
    """Four pages in turn, all in L2; with a TLB of two, each walks for 60 cycles."""
    chain = "add t1, t0, a1; sd t1, 0(t0); mv t0, t1;" * 3
    setup = f"mv t0, s1; li a1, 4096; {chain} sd s1, 0(t0); mv t0, s1"
    for entries, walk in ((4, 0), (2, 60)):
        numbers = ["l1d.size=1K", "l1d.ways=1", f"tlb.entries={entries}", "tlb.ways=1"]
        round_ = time_round("ld t0, 0(t0);" * 4, setup, core=load_core("x60", numbers))
        assert round_.cycles == 4 * (39 + walk)


def test_branches_without_a_pattern_do_not_spoil_those_of_others() -> None:
    """Two hundred that go the rarer way in one of eight rounds: not many more are missed."""
    draw = "mul t0, t0, a0; add t0, t0, a1; srli t1, t0, 61;"
    both = f"{draw} beqz t1, 1f; nop; 1: {draw} bnez t1, 1f; nop; 1:"
    source = f""".globl main; main: li a0, 6364136223846793005; li a1, 1442695040888963407
        li s0, 40
        2: {both * 100}; addi s0, s0, -1; beqz s0, 3f; j 2b; 3: ebreak"""
    machine = Machine(cost="x60", engine="numpy")
    machine.load(assemble(source))
    machine.run()
    assert machine.cost is not None
    assert machine.cost.stalls["branch"] / 9 < 0.185 * 200 * 40


def test_a_line_that_was_asked_for() -> None:
    """As before, but each round asks for the line of the next one, and does enough meanwhile."""
    body = f""".option arch, +zicbop; prefetch.r 0(a2); ld t0, 0(s1); add s1, s1, a0
        add a2, a2, a0; add t1, t0, t0; {"mul t2, t2, t2;" * 80}"""
    hinted = time_round(body, "li a0, 1 << 10; add a2, s1, a0")
    assert hinted.stalls.get("mem:dram", 0) < 100


def test_code_that_is_fetched() -> None:
    machine = time_round("nop").machine
    assert machine.cost is not None
    assert machine.cost.stalls["fetch"] >= 14


def test_a_csr_access_waits_for_all_that_is_under_way() -> None:
    """vmul.vv on e64 has its result after 4 and 7 cycles."""
    body = "vmul.vv v8, v16, v24; csrr t1, cycle"
    round_ = time_round(body, "vsetvli t0, x0, e64, m1, ta, ma")
    assert round_.stalls["drain"] >= 9
