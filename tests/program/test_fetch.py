"""What the hart fetches: code that changes, and control flow to where there is no code."""

from __future__ import annotations

import pytest

from rvsim.config import Config
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.machine import Machine
from rvsim.profiles import make_config
from tests.program.bare import DATA, TEXT, Bare, Step, assemble, step
from tests.program.elf_writer import write_elf

A0, A1, A2 = 10, 11, 12
FENCE_I = step("fence.i", rd=0, rs1=0, imm=0)


def run_steps(*steps: Step, text_perm: int = R | X, config: Config | None = None) -> Bare:
    """A machine with this program, and a0 at its start, a1 in the data."""
    bare = Bare(assemble(steps), config, text_perm=text_perm)
    bare.state.x[A0], bare.state.x[A1] = TEXT, DATA
    return bare


def changes_itself(*between: Step) -> Bare:
    """A loop whose first instruction, ``addi a2, a2, 1``, becomes ``addi a2, a2, 100``."""
    new = step("addi", rd=A2, rs1=A2, imm=100)
    loop = (
        step("addi", rd=A2, rs1=A2, imm=1),
        step("lw", rd=5, rs1=A1, imm=0),
        step("sw", rs1=A0, rs2=5, imm=0),
        *between,
    )
    back = step("jal", rd=0, imm=-sum(s.length for s in loop))
    bare = run_steps(*loop, back, text_perm=R | W | X)
    bare.memory.store4(DATA, new.word)
    return bare


def test_fence_i_makes_stores_visible_to_fetches() -> None:
    """Zifencei; the block had run before, so it was decoded."""
    bare = changes_itself(FENCE_I)
    assert bare.run(5) is None
    assert bare.state.x[A2] == 1
    assert bare.run(10) is None
    assert bare.state.x[A2] == 201


def test_without_fence_i_a_store_to_code_is_visible_too() -> None:
    """Zifencei leaves it open; so does QEMU, where code is coherent."""
    bare = changes_itself()
    assert bare.run(40) is None
    assert bare.state.x[A2] == 901


def test_fence_i_in_a_loop_keeps_no_old_blocks() -> None:
    bare = changes_itself(FENCE_I)
    assert bare.run(5000) is None
    executions = list(bare.interp.executions())
    assert sum(count for _, _, count, _ in executions) == 5000
    # the loop of five instructions as it was first, and as it became, however often it was written
    assert len({d.pc for d, *_ in executions}) == 5
    assert len(executions) == 2 * 5
    assert bare.memory.code.changes == 1000


def test_store_to_code_that_is_not_writable_is_a_store_fault() -> None:
    bare = run_steps(step("sw", rs1=A0, rs2=0, imm=0))
    assert bare.run(10) == Trap(15, TEXT, TEXT, "store page fault")


def test_unmapping_code_takes_effect_at_once() -> None:
    """The program is decoded when munmap takes its page away."""
    call = [step("addi", rd=17, rs1=0, imm=215), step("ecall")]
    arguments = [step("lui", rd=A0, uimm=0x10), step("lui", rd=A1, uimm=1)]
    elf = write_elf(assemble([*arguments, *call]), bytes(8), text_addr=TEXT, data_addr=DATA)
    machine = Machine(memory_size=1 << 22)
    machine.load(elf)
    result = machine.run(max_insns=100)
    assert result.trap is not None
    assert (result.trap.cause, result.trap.pc, result.exit_code) == (12, TEXT + 16, 139)


def test_new_code_in_an_old_mapping_is_decoded_again() -> None:
    """mmap with MAP_FIXED over a page that has run: it reads zero, which is no instruction."""
    function = 0x200000
    numbers = {10: function, 11: PAGE, 12: 7, 13: 0x32, 14: -1, 15: 0, 17: 222}
    ret = step("jalr", rd=0, rs1=1, imm=0)
    text = [*call_mmap(numbers), step("lui", rd=5, uimm=function >> 12)]
    text += [step("lui", rd=6, uimm=ret.word + 0x800 >> 12)]
    text += [step("addi", rd=6, rs1=6, imm=(ret.word + 0x800 & 0xFFF) - 0x800)]
    text += [step("sw", rs1=5, rs2=6, imm=0), step("jalr", rd=1, rs1=5, imm=0)]
    text += [*call_mmap(numbers), step("lui", rd=5, uimm=function >> 12)]
    text += [step("jalr", rd=1, rs1=5, imm=0)]
    machine = Machine(memory_size=1 << 22)
    machine.load(write_elf(assemble(text), bytes(8), text_addr=TEXT, data_addr=DATA))
    result = machine.run(max_insns=100)
    assert result.trap is not None
    assert (result.trap.cause, result.trap.pc) == (2, function)


def call_mmap(numbers: dict[int, int]) -> list[Step]:
    loads = []
    for register, value in numbers.items():
        if value >= PAGE:
            loads.append(step("lui", rd=register, uimm=value >> 12))
        else:
            loads.append(step("addi", rd=register, rs1=0, imm=value))
    return [*loads, step("ecall")]


@pytest.mark.parametrize("offset", [0, 2, PAGE - 2])
def test_jump_into_data_is_a_fetch_fault_at_the_target(offset: int) -> None:
    bare = run_steps(step("jalr", rd=1, rs1=A1, imm=0))
    bare.state.x[A1] = DATA + offset
    assert bare.run(10) == Trap(12, DATA + offset, DATA + offset, "instruction fetch")
    assert (bare.state["pc"], bare.state["instret"]) == (DATA + offset, 1)
    assert bare.state.x[1] == TEXT + 4


def test_word_across_the_end_of_code_faults_where_its_second_half_is_missing() -> None:
    bare = Bare(bytes(PAGE))
    bare.memory.write(TEXT + PAGE - 2, step("addi", rd=5, rs1=0, imm=1).code[:2])
    bare.state["pc"] = TEXT + PAGE - 2
    assert bare.run(10) == Trap(12, TEXT + PAGE - 2, TEXT + PAGE, "instruction fetch")


def test_code_runs_off_the_end_of_its_page() -> None:
    bare = Bare(step("c.addi", rd=5, imm=1).code * (PAGE // 2))
    assert bare.run(10_000) == Trap(12, TEXT + PAGE, TEXT + PAGE, "instruction fetch")
    assert bare.state["instret"] == bare.state.x[5] == PAGE // 2


def test_odd_pc_is_a_fetch_fault() -> None:
    """No instruction makes one: jalr clears the lowest bit."""
    bare = run_steps(step("c.nop", imm=0))
    bare.state["pc"] = TEXT + 1
    trap = bare.run(10)
    assert trap is not None
    assert (trap.cause, trap.pc) == (12, TEXT + 1)


@pytest.mark.parametrize("offset", [2, 3])
def test_jump_to_half_a_word_without_compressed_instructions(offset: int) -> None:
    """I 2.5: the jump traps, not its target; mtval is the target, and rd keeps its value."""
    bare = run_steps(step("jalr", rd=1, rs1=A0, imm=offset), config=make_config(isa="rv64im_zicsr"))
    trap = bare.run(10)
    assert trap is not None
    assert (trap.cause, trap.pc, trap.tval) == (0, TEXT, TEXT + 2)
    assert (bare.state["pc"], bare.state["instret"], bare.state.x[1]) == (TEXT, 0, 0)


def test_pc_wraps_around_the_address_space() -> None:
    bare = run_steps(step("jal", rd=0, imm=-TEXT - 4))
    trap = bare.run(10)
    assert trap is not None
    assert (trap.cause, trap.pc) == (12, (1 << 64) - 4)
