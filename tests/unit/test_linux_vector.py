"""Vector state across system calls, as Linux's arch/riscv/include/asm/vector.h says."""

from __future__ import annotations

import pytest

from rvsim.guest.linux import ProcessExit
from tests.unit.linux_guest import Guest

VILL = 1 << 63
GETPID, EXIT, NO_SUCH_CALL = 172, 93, 9999


def in_use(**options: object) -> Guest:
    """A process whose vector unit has state of every kind."""
    guest = Guest(**options)
    state = guest.state
    state["vtype"], state["vl"], state["vstart"], state["vxrm"], state["vxsat"] = 0xC8, 5, 3, 2, 1
    state.vfile[:] = 0x5A
    return guest


@pytest.mark.parametrize("number", [GETPID, NO_SUCH_CALL])
def test_a_call_discards_what_a_vset_and_moves_of_ones_would(number: int) -> None:
    guest = in_use()
    guest.call(number)
    state = guest.state
    assert (state["vtype"], state["vl"], state["vstart"]) == (VILL, 0, 0)
    assert (state["vxrm"], state["vxsat"]) == (2, 1)
    assert (state.vfile == 0xFF).all()


def test_old_kernels_keep_it() -> None:
    guest = in_use(syscall_vector="keep")
    before = guest.state.vfile.tobytes()
    guest.call(GETPID)
    state = guest.state
    assert (state["vtype"], state["vl"], state["vstart"]) == (0xC8, 5, 3)
    assert state.vfile.tobytes() == before


def test_a_unit_that_was_never_used_is_off_and_keeps_its_zeros() -> None:
    guest = Guest()
    guest.call(GETPID)
    assert not guest.state.vfile.any()
    guest.state.vfile[7] = 1  # a whole-register load needs no vtype
    guest.call(GETPID)
    assert (guest.state.vfile == 0xFF).all()


def test_the_last_state_of_a_program_is_left_for_a_look() -> None:
    guest = in_use()
    with pytest.raises(ProcessExit):
        guest.call(EXIT, 0)
    assert (guest.state["vtype"], guest.state["vl"]) == (0xC8, 5)
    assert (guest.state.vfile == 0x5A).all()


def test_the_call_that_took_vtype_away_is_known_until_there_is_one_again() -> None:
    guest = in_use()
    state = guest.state
    for pc in (0x1004, 0x2004):
        state["pc"] = pc
        guest.call(GETPID)
        assert guest.process.vector.missing_vtype(state) == 0x1000  # the second had nothing to take
    state["vtype"] = 0xC8
    assert guest.process.vector.missing_vtype(state) is None
    state.vfile[0] = 0
    state["vtype"] = VILL
    assert guest.process.vector.missing_vtype(state) is None
