"""Limits are exact, runs repeat, counters count, and traps stop where they happen."""

from __future__ import annotations

import time
from itertools import count

import pytest

from rvsim.hart.memory import PAGE
from rvsim.hart.traps import Trap
from rvsim.insn.base.csrs import CSRS
from rvsim.machine import LIMIT_REACHED, Machine, RunResult
from rvsim.toolchain import build_kernel
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, Step, assemble, load_upper, step
from tests.program.elf_writer import write_elf

CSR = {csr.name: csr.number for csr in CSRS.values()}
A0, A1, A2, A7 = 10, 11, 12, 17
SYS_WRITE, SYS_EXIT = 64, 93
MEMORY_SIZE = 1 << 20
E8M1, E32M2, E8M8 = (VType.parse(text).encode() for text in ("e8,m1", "e32,m2,ta", "e8,m8,ta,ma"))


def system_call(number: int, *arguments: int) -> list[Step]:
    loads = [
        step("addi", rd=A0 + n, rs1=0, imm=value)
        if abs(value) < 2048
        else load_upper(A0 + n, value)
        for n, value in enumerate(arguments)
    ]
    return [*loads, step("addi", rd=A7, rs1=0, imm=number), step("ecall")]


def read_csr(rd: int, name: str) -> Step:
    return step("csrrs", rd=rd, csr=CSR[name], rs1=0)


def add(rd: int, imm: int = 1) -> Step:
    return step("addi", rd=rd, rs1=rd, imm=imm)


def load(steps: list[Step], **options: object) -> Machine:
    machine = Machine(memory_size=MEMORY_SIZE, **options)  # type: ignore[arg-type]
    text = assemble(steps)
    machine.load(write_elf(text, b"text".ljust(PAGE, b"."), text_addr=TEXT, data_addr=DATA))
    return machine


VARIED = [
    load_upper(9, DATA),
    step("addi", rd=8, rs1=0, imm=3),
    step("vsetvli", rd=5, rs1=0, vtypei=E32M2),  # loop
    step("vle32.v", vm=1, rs1=9, vd=4),
    step("vadd.vx", vm=1, vs2=4, rs1=8, vd=4),
    *system_call(SYS_WRITE, 1, DATA, 4),  # leaves no vector state
    step("vsetivli", rd=5, uimm=5, vtypei=E8M1),
    step("vadd.vi", vm=1, vs2=4, imm=1, vd=4),
    read_csr(6, "instret"),
    step("sd", rs1=9, rs2=6, imm=64),
    step("csrrwi", rd=0, csr=CSR["vstart"], uimm=2),
    step("vadd.vi", vm=1, vs2=4, imm=1, vd=4),
    read_csr(7, "cycle"),
    step("fence.i", rd=0, rs1=0, imm=0),
    add(8, -1),
    step("bne", rs1=8, rs2=0, imm=-4 * 17),
    *system_call(SYS_EXIT, 7),
]
"""Blocks of all kinds, three times round, then the end with exit code 7."""


def mapped_memory(machine: Machine) -> bytes:
    pages = machine.memory.data.reshape(-1, PAGE)
    return pages[machine.memory.held_pages()].tobytes()


def everything(machine: Machine) -> tuple[bytes, bytes]:
    return machine.state.snapshot(), mapped_memory(machine)


@pytest.mark.parametrize("agnostic", ["undisturbed", "random:3"])
def test_max_insns_stops_after_exactly_so_many_with_the_state_of_single_steps(
    agnostic: str,
) -> None:
    stepped = load(VARIED, agnostic=agnostic)
    total = 0
    while True:
        limited = load(VARIED, agnostic=agnostic)
        result = limited.run(max_insns=total)
        assert (result.reason, result.exit_code) == ("max_insns", LIMIT_REACHED)
        assert result.instret == total
        assert everything(limited) == everything(stepped)
        ended = stepped.step()
        if ended is not None:
            break
        total += 1
    assert (ended.reason, ended.exit_code, ended.instret) == ("exit", 7, total)
    assert total == 2 + 3 * 17 + 2
    assert ended.stdout == b"text" * 3


@pytest.mark.parametrize("chunk", [2, 3, 7, 1000])
def test_runs_in_pieces_end_as_one_run(chunk: int) -> None:
    whole, pieces = load(VARIED), load(VARIED)
    expected = whole.run()
    while (result := pieces.run(max_insns=chunk)).reason == "max_insns":
        pass
    assert (result.reason, result.exit_code, result.stdout) == ("exit", 7, expected.stdout)
    assert everything(pieces) == everything(whole)


def test_a_limit_of_nothing_executes_nothing() -> None:
    machine = load(VARIED)
    before = everything(machine)
    assert machine.run(max_insns=0).instret == 0
    assert everything(machine) == before


HEAVY = (
    "vdiv.vv", "vrgather.vv", "vlse8.v", "vluxei8.v", "vlseg8e8.v", "vsuxei8.v", "vcompress.vm",
)  # fmt: skip


def heavy(name: str) -> list[Step]:
    """A slow vector instruction, 60 times round and round, on 4096 lanes where there can be."""
    vtype = VType.parse("e8,m1" if "seg" in name else "e8,m8").encode()
    fields = {"vm": 1, "rs1": A1, "rs2": 0, "vs1": 0, "vs2": 8, "vs3": 16, "vd": 16}
    codes = {code.name for code in step(name).insn.encoding.fields}
    body = [Step(name, {n: v for n, v in fields.items() if n in codes})] * 60
    start = [load_upper(A1, DATA), step("vsetvli", rd=5, rs1=0, vtypei=vtype)]
    return [*start, *body, step("jal", rd=0, imm=-4 * len(body))]


ENDLESS = {
    "jump to itself": [step("jal", rd=0, imm=0)],
    "system calls": [*system_call(SYS_WRITE, 1, DATA, 0), step("jal", rd=0, imm=-20)],
    "fence.i": [step("fence.i", rd=0, rs1=0, imm=0), step("jal", rd=0, imm=-4)],
    "vset": [
        step("vsetivli", rd=5, uimm=5, vtypei=E8M1),
        step("vsetvli", rd=5, rs1=0, vtypei=E32M2),
        step("jal", rd=0, imm=-8),
    ],
    **{name: heavy(name) for name in HEAVY},
}


MOST_BETWEEN_LOOKS = 500
"""Instructions between two looks at the clock: 100 ms, if each is of the slowest."""


@pytest.mark.parametrize("name", ENDLESS)
def test_timeout_ends_an_endless_loop_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at often enough, and the first look after the limit is the last."""
    machine = load(ENDLESS[name], cpu="generic-rv64gcv", vlen=4096)
    machine.run(max_insns=200)  # generating code is not part of the loop
    looks = count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: float(next(looks)))
        result = machine.run(timeout=5.0)
    assert (result.reason, result.exit_code) == ("timeout", LIMIT_REACHED)
    looked = next(looks)
    assert looked <= 5 + 2  # the start of the clock, and both who run and who reports look again
    assert 0 < result.instret - 200 <= looked * MOST_BETWEEN_LOOKS


@pytest.mark.parametrize("contents", ["ones", "random:1"])
def test_the_same_run_gives_the_same_state_and_memory(contents: str) -> None:
    def run() -> tuple[RunResult, tuple[bytes, bytes]]:
        machine = Machine(agnostic=contents, initial=contents, memory_size=1 << 26)
        machine.load(build_kernel("memops"), argv=["memops"], env={"A": "B"})
        return machine.run(), everything(machine)

    (one, state), (other, same_state) = run(), run()
    assert (one.stdout, one.instret, one.exit_code) == (other.stdout, other.instret, 0)
    assert state == same_state


# Counters


def test_instret_is_what_has_retired_before_the_read() -> None:
    """Also in the middle of straight-line code, and again without anything between."""
    steps = [add(5), read_csr(20, "instret"), read_csr(21, "instret")]
    steps += [add(5), add(5), read_csr(22, "instret"), add(5), read_csr(23, "instret")]
    bare = Bare(assemble(steps))
    bare.run(len(steps))
    assert list(bare.state.x[20:24]) == [1, 2, 5, 7]


def test_instret_does_not_count_system_calls() -> None:
    """Privileged 3.1.11: ecall causes an exception, and so does not retire."""
    machine = load([*system_call(SYS_WRITE, 1, DATA, 0), read_csr(20, "instret")])
    machine.run(max_insns=5)
    assert machine.state.x[20] == 4


def test_cycle_is_instret_without_a_cost_model_and_time_goes_at_24_mhz() -> None:
    """800 cycles at 1.6 GHz are 12 ticks."""
    steps = [add(5)] * 798 + [read_csr(20, "cycle"), add(5)]
    steps += [read_csr(21, "time"), read_csr(22, "cycle")]
    bare = Bare(assemble(steps))
    bare.run(len(steps))
    assert list(bare.state.x[20:23]) == [798, 12, 801]


def test_instret_in_a_loop_is_exact_at_every_turn() -> None:
    """And with a limit in the middle of the loop."""
    steps = [add(5), read_csr(20, "instret"), add(6), step("jal", rd=0, imm=-12)]
    bare = Bare(assemble(steps))
    for turn in range(20):
        bare.run(3)
        assert bare.state.x[20] == 4 * turn + 1
        bare.run(1)


# Precise traps


def faulting(at: int, *, count: int = 10) -> Bare:
    """A block of additions to x5 with one load from address 0 in it."""
    steps = [add(5)] * count
    steps[at] = step("ld", rd=5, rs1=0, imm=0)
    return Bare(assemble(steps))


@pytest.mark.parametrize("at", range(10))
def test_trap_in_the_middle_of_a_block_is_precise(at: int) -> None:
    bare = faulting(at)
    assert bare.run(100) == Trap(13, TEXT + 4 * at, 0, "load page fault")
    assert bare.state["pc"] == TEXT + 4 * at
    assert bare.state["instret"] == bare.state.x[5] == at


@pytest.mark.parametrize("limit", range(10))
def test_limit_before_a_trap_leaves_the_trap_for_later(limit: int) -> None:
    bare = faulting(6)
    trap = bare.run(limit)
    assert (trap is not None) == (limit > 6)
    assert bare.state["instret"] == bare.state.x[5] == min(limit, 6)
    assert bare.run(100) == Trap(13, TEXT + 24, 0, "load page fault")


def test_trap_can_be_mended_and_the_instruction_executed_again() -> None:
    bare = Bare(assemble([add(5), step("ld", rd=6, rs1=7, imm=8), add(5)]))
    bare.memory.store8(DATA + 8, 42)
    assert bare.run(100) is not None
    bare.state.x[7] = DATA
    assert bare.run(2) is None
    assert (bare.state.x[5], bare.state.x[6], bare.state["instret"]) == (2, 42, 3)


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("element", range(1, 9))
def test_vector_access_stops_at_the_element_that_faults(element: int, store: bool) -> None:
    """V 3.7, 17: vstart tells which; what came before it is done, and it can go on from there."""
    access = step("vse32.v", vm=1, rs1=9, vs3=4) if store else step("vle32.v", vm=1, rs1=9, vd=4)
    steps = [add(5), step("vsetvli", rd=0, rs1=8, vtypei=E32M2), add(5), access, add(5)]
    bare = Bare(assemble(steps))
    end = DATA + DATA_SIZE
    bare.state.x[8], bare.state.x[9] = 12, end - 4 * element
    bare.state.v[4:6] = 0x11
    bare.memory.write(end - 4 * element, b"\x22" * 4 * element)
    trap = bare.run(100)
    assert trap is not None
    assert (trap.cause, trap.pc, trap.tval) == (15 if store else 13, TEXT + 12, end)
    state = bare.state
    assert (state["vstart"], state["vl"], state["instret"], state.x[5]) == (element, 12, 3, 2)
    done, left = (b"\x11", b"\x11") if store else (b"\x22", b"\x11")
    assert state.v[4:6].tobytes() == done * 4 * element + left * (64 - 4 * element)
    assert bare.memory.read(end - 4, 4) == (b"\x11" if store else b"\x22") * 4

    state.x[9] -= PAGE  # mend the address: the rest of the access is done, from vstart on
    assert bare.run(2) is None
    assert (state["vstart"], state["instret"], state.x[5]) == (0, 5, 3)


def test_illegal_instruction_in_the_middle_of_a_block() -> None:
    """mtval is the word, also of one that only this vtype makes illegal."""
    odd = step("vadd.vv", vm=1, vs2=1, vs1=2, vd=3)
    steps = [step("vsetvli", rd=0, rs1=0, vtypei=E32M2), add(5), add(5), odd, add(5)]
    bare = Bare(assemble(steps))
    trap = bare.run(100)
    assert trap is not None
    assert (trap.cause, trap.pc, trap.tval) == (2, TEXT + 12, odd.word)
    assert (bare.state["instret"], bare.state.x[5]) == (3, 2)


def test_system_call_in_straight_line_code_changes_only_a0() -> None:
    steps = [add(5), *system_call(SYS_WRITE, 1, DATA, 4), add(5), add(6)]
    machine = load(steps)
    machine.run(max_insns=5)  # up to the ecall, which has not been done
    before = list(machine.state.x)
    assert machine.state["pc"] == TEXT + 20
    result = machine.run(max_insns=2)
    assert result.stdout == b"text"
    before[A0], before[5], before[6] = 4, before[5] + 1, before[6] + 1
    assert list(machine.state.x) == before
    assert result.instret == 7


def test_unhandled_trap_ends_the_run_with_its_signal() -> None:
    result = load([add(5), step("ebreak"), add(5)]).run()
    assert (result.reason, result.exit_code, result.instret) == ("trap", 128 + 5, 1)
    assert result.trap is not None
    assert (result.trap.cause, result.trap.pc) == (3, TEXT + 4)
