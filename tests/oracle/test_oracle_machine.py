"""Hand-derived cases of machine mode."""

import pytest

from tests.oracle.element import execute
from tests.oracle.machine import (
    CYCLE,
    INSTRET,
    MACHINE,
    MCOUNTEREN,
    MEPC,
    MINSTRET,
    MSCRATCH,
    MSTATUS,
    USER,
)
from tests.oracle.samples import new_state
from tests.oracle.state import OracleTrap


@pytest.mark.parametrize(
    ("before", "after", "mode"),
    [
        (0x80, 0x88, USER),
        (0x1880, 0x88, MACHINE),
        (0x1808, 0x80, MACHINE),
        (0x20000, 0x80, USER),  # MPRV ends in user mode
        (0x21800, 0x20080, MACHINE),
    ],
)
def test_mret(before, after, mode):
    state = new_state(privilege=MACHINE, csr={MSTATUS: before, MEPC: 0x123456})
    execute("mret", state, {})
    assert (state.csr[MSTATUS], state.privilege, state.pc) == (after, mode, 0x123456)


def test_user_mode_has_no_mret_no_machine_csr_and_counters_that_are_enabled():
    state = new_state(csr={MSTATUS: 0, MEPC: 0, MSCRATCH: 1, MCOUNTEREN: 1, CYCLE: 7, INSTRET: 8})
    for name, csr in (("mret", 0), ("csrrs", MSCRATCH), ("csrrs", INSTRET), ("csrrs", 0xF14)):
        with pytest.raises(OracleTrap, match="cause 2"):
            execute(name, state, {"rd": 1, "rs1": 0, "csr": csr})
    execute("csrrs", state, {"rd": 1, "rs1": 0, "csr": CYCLE})
    assert state.x[1] == 7


def test_a_counter_reads_what_was_written_in_the_next_instruction():
    state = new_state(privilege=MACHINE, csr={INSTRET: 8})
    state.x[2] = 100
    execute("csrrw", state, {"rd": 1, "rs1": 2, "csr": MINSTRET})
    assert (state.x[1], state.csr[INSTRET] + 1) == (8, 100)


def test_mstatus_keeps_what_is_legal():
    state = new_state(privilege=MACHINE, csr={MSTATUS: 0})
    for written, kept in (
        (0, 2 << 32),
        (0x1000, 2 << 32),  # MPP = 2 is no mode
        (0x1888, 2 << 32 | 0x1888),
        (0x2200, 1 << 63 | 2 << 32 | 0x6600),
    ):
        state.x[2] = written
        execute("csrrw", state, {"rd": 0, "rs1": 2, "csr": MSTATUS})
        assert state.csr[MSTATUS] == kept
