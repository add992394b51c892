"""Machine mode (Privileged 3): its CSRs on a hart with the modes M and U, `mret` and `wfi`.

Values of writable CSRs are in `OracleState.csr`; those of `ZERO` read 0 whatever is written.
"""

from collections.abc import Mapping

from tests.oracle.bits import M64
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleState, OracleTrap

USER, MACHINE = 0, 3
CYCLE, TIME, INSTRET = 0xC00, 0xC01, 0xC02
MSTATUS, MISA, MENVCFG = 0x300, 0x301, 0x30A
MIE, MTVEC, MCOUNTEREN, MSCRATCH, MEPC, MCAUSE, MTVAL = (
    0x304, 0x305, 0x306, 0x340, 0x341, 0x342, 0x343,
)  # fmt: skip
MCYCLE, MINSTRET = 0xB00, 0xB02
ZERO = frozenset({
    0x180,                                  # satp
    0x302, 0x303,                           # medeleg, mideleg: there is no mode between M and U
    0x320, 0x344,                           # mcountinhibit, mip
    *range(0x323, 0x340), *range(0xB03, 0xB20),  # hardware performance counters
    *range(0x3A0, 0x3B0, 2), *range(0x3B0, 0x3F0),  # pmpcfg, pmpaddr
    *range(0x7A0, 0x7A4),                   # triggers
    *range(0xF11, 0xF16),                   # mvendorid, marchid, mimpid, mhartid, mconfigptr
})  # fmt: skip

KEPT = {
    MIE: 1 << 3 | 1 << 7 | 1 << 11,
    MTVEC: M64 ^ 2,
    MCOUNTEREN: 0xFFFFFFFF,
    MSCRATCH: M64,
    MEPC: M64 ^ 1,
    MCAUSE: M64,
    MTVAL: M64,
}
"""The bits that a write keeps."""

_MIE, _MPIE, _MPRV, _TW = 3, 7, 17, 21


def legal_mstatus(value: int) -> int:
    """3.1.6: MPP is M or U, the units are Off or Dirty, user mode has 64 bits."""
    kept = sum(value & 1 << bit for bit in (_MIE, _MPIE, _MPRV, _TW))
    if value >> 11 & 3 == MACHINE:
        kept |= MACHINE << 11
    for unit in (9, 13):  # VS, FS
        if value >> unit & 3:
            kept |= 3 << unit | 1 << 63
    return kept | 2 << 32


def check_privilege(state: OracleState, csr: int) -> None:
    """Zicsr 1, Privileged 3.1.11: what user mode may not read is an illegal instruction."""
    if state.privilege != USER:
        return
    if csr >> 8 & 3:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    enabled = state.csr.get(MCOUNTEREN, M64)  # a hart without machine mode hides nothing
    if 0xC00 <= csr < 0xC20 and not enabled >> (csr - 0xC00) & 1:
        raise OracleTrap(ILLEGAL_INSTRUCTION)


def read(state: OracleState, csr: int) -> int | None:
    """A CSR that only machine mode has; None for any other."""
    if csr in ZERO:
        return 0
    if csr in (MCYCLE, MINSTRET):
        return state.csr[csr - MCYCLE + CYCLE]
    return None


def write(state: OracleState, csr: int, value: int) -> bool:
    """Whether this was a CSR of machine mode."""
    if csr in ZERO or csr in (MISA, MENVCFG):
        return True
    if csr in (MCYCLE, MINSTRET):
        # 3.1.10: the next instruction reads `value`, when this one has been counted.
        state.csr[csr - MCYCLE + CYCLE] = value - 1 & M64
    elif csr == MSTATUS:
        state.csr[csr] = legal_mstatus(value)
    elif csr in KEPT:
        state.csr[csr] = value & KEPT[csr]
    else:
        return False
    return True


def mret(state: OracleState, fields: Mapping[str, int]) -> None:
    """3.1.6.1: back to MPP, MIE as MPIE says; MPRV ends where the new mode is not M."""
    if state.privilege != MACHINE:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    status = state.csr[MSTATUS]
    state.privilege = status >> 11 & 3
    new = status & ~(1 << _MIE | 3 << 11) | 1 << _MPIE
    if status >> _MPIE & 1:
        new |= 1 << _MIE
    if state.privilege != MACHINE:
        new &= ~(1 << _MPRV)
    state.csr[MSTATUS] = new
    state.next_pc = state.csr[MEPC]


def wfi(state: OracleState, fields: Mapping[str, int]) -> None:
    """3.3.3: may go on at once; TW keeps user mode from waiting."""
    if state.privilege == USER and state.csr.get(MSTATUS, 0) >> _TW & 1:
        raise OracleTrap(ILLEGAL_INSTRUCTION)


ROWS = {"mret": mret, "wfi": wfi}
