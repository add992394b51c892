"""What registers and the unused stack hold before anything wrote them."""

from __future__ import annotations

import pytest

from rvsim.errors import RvsimError
from rvsim.machine import Machine
from tests.cli.programs import A0, elf, exit_with, vset
from tests.program.bare import Step, step

E32_M1 = 0b11_010_000
SP = 2


def started(initial: str, *steps: Step) -> Machine:
    machine = Machine(initial=initial, memory_size=1 << 26)
    machine.load(elf([*steps, *exit_with(0)]))
    return machine


def below_the_stack_pointer(machine: Machine, count: int) -> bytes:
    return machine.memory.read(machine.state.x[SP] - count, count)


@pytest.mark.parametrize(("initial", "octet"), [("zero", 0), ("ones", 0xFF)])
def test_all_registers_and_the_unused_stack_are_filled(initial: str, octet: int) -> None:
    machine = started(initial)
    state, word = machine.state, octet * 0x0101_0101_0101_0101
    kept = {0: 0, SP: state.x[SP], A0: 0}  # x0, and what Linux hands over
    assert list(state.x) == [kept.get(i, word) for i in range(32)]
    assert list(state.f) == [word] * 32
    assert (state.vfile == octet).all()
    assert set(below_the_stack_pointer(machine, 1 << 20)) == {octet}
    assert (state["vtype"], state["vl"], state["frm"], state["fflags"]) == (1 << 63, 0, 0, 0)


def test_random_contents_follow_the_seed() -> None:
    def contents(seed: int) -> tuple[list[int], list[int], bytes, bytes]:
        machine = started(f"random:{seed}")
        state = machine.state
        stack = below_the_stack_pointer(machine, 4096)
        return list(state.x), list(state.f), state.vfile.tobytes(), stack

    one, again, other = contents(1), contents(1), contents(2)
    assert one == again
    assert all(mine != theirs for mine, theirs in zip(one, other, strict=True))
    assert one[0][0] == one[0][A0] == 0
    assert len(set(one[0])) == 31  # x0 and a0 alone are equal
    assert len({*one[1], *(one[2][i : i + 8] for i in range(0, 1024, 8))}) == 32 + 128


@pytest.mark.parametrize(("initial", "difference"), [("zero", 0), ("ones", 0x7FC0_0000)])
def test_a_register_less_itself_is_only_zero_if_it_holds_a_number(
    initial: str, difference: int
) -> None:
    machine = started(initial, vset(E32_M1), step("vfsub.vv", vd=29, vs2=29, vs1=29, vm=1))
    machine.run()
    lanes = machine.state.v[29].view("u4")
    assert lanes.tolist() == [difference] * 8


def test_bad_contents_are_named() -> None:
    with pytest.raises(RvsimError, match="unknown initial contents 'one'"):
        Machine(initial="one")


def test_signal_frames_leave_out_a_vector_unit_that_only_has_its_first_contents() -> None:
    machine = started("random:3")
    assert machine.process is not None
    assert not machine.process.vector.is_used(machine.state)
    machine.state.v[5, 0] ^= 1
    assert machine.process.vector.is_used(machine.state)
