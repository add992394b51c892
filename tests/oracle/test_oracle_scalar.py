"""Scalar rows against values worked out by hand."""

import pytest

from tests.oracle.element import execute
from tests.oracle.samples import E8, M64, new_state
from tests.oracle.state import OracleTrap


def scalar(name: str, a: int, b: int = 0, **fields: int) -> int:
    state = new_state()
    state.x[5], state.x[6] = a & M64, b & M64
    execute(name, state, {"rd": 7, "rs1": 5, "rs2": 6, **fields})
    assert state.pc == 0x8004
    return state.x[7]


MIN64 = 1 << 63


MIN64 = 1 << 63


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("add", M64, 2, 1),
        ("addw", 0x7FFFFFFF, 1, 0xFFFFFFFF_80000000),
        ("slt", -1, 0, 1),
        ("sltu", -1, 0, 0),
        ("sra", -8, 65, -4),
        ("srlw", -1, 33, 0x7FFFFFFF),
        ("div", 7, 0, -1),
        ("div", MIN64, -1, MIN64),
        ("rem", MIN64, -1, 0),
        ("rem", -7, 2, -1),
        ("remu", 7, 0, 7),
        ("divw", 0x80000000, -1, 0xFFFFFFFF_80000000),
        ("divuw", -1, 0, -1),
        ("remuw", 0x80000005, 0, 0xFFFFFFFF_80000005),
        ("mulh", -1, -1, 0),
        ("mulhu", -1, -1, -2),
        ("mulhsu", -1, -1, -1),
        ("add.uw", -1, 1, 1 << 32),
        ("sh3add", 2, 1, 17),
        ("rol", 1, 65, 2),
        ("rolw", 0x80000000, 1, 1),
        ("rorw", 1, 1, 0xFFFFFFFF_80000000),
        ("clmul", 0b101, 0b11, 0b1111),
        ("clmulh", MIN64, 2, 1),
        ("clmulr", MIN64, 2, 2),
        ("pack", 1, 2, 0x2_00000001),
        ("packw", 1, 0x8000, 0xFFFFFFFF_80000001),
        ("max", -1, 0, 0),
        ("maxu", -1, 0, -1),
        ("bext", 0b100, 2, 1),
        ("czero.eqz", 5, 0, 0),
        ("czero.nez", 5, 0, 5),
    ],
)
def test_scalar_register(name, a, b, expected):
    assert scalar(name, a, b) == expected & M64


def test_scalar_unary_and_immediate():
    assert scalar("clzw", 1) == 31
    assert scalar("ctz", 0) == 64
    assert scalar("orc.b", 0x0100_8000) == 0xFF00_FF00
    assert scalar("brev8", 0x01_80) == 0x80_01
    assert scalar("rev8", 0x12) == 0x12 << 56
    assert scalar("slli.uw", -1, shamt=4) == 0xF_FFFFFFF0
    assert scalar("sltiu", 5, imm=-1) == 1
    assert scalar("lui", 0, imm=0x80000) == 0xFFFFFFFF_80000000
    assert scalar("auipc", 0, imm=0xFFFFF) == 0x7000


def test_jumps_link_the_next_instruction_and_clear_the_lowest_bit():
    state = new_state()
    state.x[1] = 0x2003
    execute("c.jalr", state, {"rs1": 1}, length=2)
    assert (state.pc, state.x[1]) == (0x2002, 0x8002)
    execute("jal", state, {"rd": 0, "imm": -2})
    assert (state.pc, state.x[0]) == (0x2000, 0)
    execute("c.bnez", state, {"rs1": 1, "imm": 16}, length=2)
    assert state.pc == 0x2010
    execute("bltu", state, {"rs1": 1, "rs2": 0, "imm": 16})
    assert state.pc == 0x2014


def test_compressed():
    state = new_state()
    state.x[2] = 0x1100
    execute("c.addi4spn", state, {"rd": 8, "imm": 16}, length=2)
    execute("c.li", state, {"rd": 9, "imm": -2}, length=2)
    execute("c.sw", state, {"rs2": 9, "rs1": 8, "imm": 4}, length=2)
    execute("c.lwsp", state, {"rd": 10, "imm": 20}, length=2)
    execute("c.lhu", state, {"rd": 11, "rs1": 8, "imm": 4}, length=2)
    execute("c.lui", state, {"rd": 12, "imm": 0xFFFE1}, length=2)
    execute("c.not", state, {"rd": 9}, length=2)
    assert state.x[8:13] == [0x1110, 1, M64 - 1, 0xFFFE, 0xFFFFFFFF_FFFE1000]
    assert state.pc == 0x8000 + 14


def test_atomics():
    state = new_state()
    state.x[1], state.x[2] = 0x1000, 5
    execute("lr.w", state, {"rd": 3, "rs1": 1, "aq": 0, "rl": 0})
    execute("sc.w", state, {"rd": 4, "rs1": 1, "rs2": 2, "aq": 0, "rl": 0})
    execute("sc.w", state, {"rd": 5, "rs1": 1, "rs2": 2, "aq": 0, "rl": 0})
    state.x[2] = M64
    execute("amomax.w", state, {"rd": 6, "rs1": 1, "rs2": 2, "aq": 1, "rl": 1})
    execute("amomaxu.w", state, {"rd": 7, "rs1": 1, "rs2": 2, "aq": 1, "rl": 1})
    execute("lw", state, {"rd": 8, "rs1": 1, "imm": 0})
    assert state.x[3:9] == [0, 0, 1, 5, 5, M64]
    state.x[1] = 0x1002
    with pytest.raises(OracleTrap) as caught:
        execute("amoadd.w", state, {"rd": 6, "rs1": 1, "rs2": 2, "aq": 0, "rl": 0})
    assert (caught.value.cause, caught.value.tval) == (6, 0x1002)
    state.x[1] = 0x4000
    with pytest.raises(OracleTrap) as caught:
        execute("amoadd.d", state, {"rd": 6, "rs1": 1, "rs2": 2, "aq": 0, "rl": 0})
    assert (caught.value.cause, caught.value.tval) == (15, 0x4000)


def test_csrs():
    state = new_state(vtype=E8, vl=3)
    state.csr[0xC00] = 77
    state.x[1] = 0b1011
    execute("csrrw", state, {"rd": 2, "csr": 0x00F, "rs1": 1})
    assert (state.vxrm, state.vxsat) == (0b01, 1)
    execute("csrrci", state, {"rd": 3, "csr": 0x009, "uimm": 1})
    execute("csrrs", state, {"rd": 4, "csr": 0xC00, "rs1": 0})
    execute("csrrs", state, {"rd": 5, "csr": 0xC22, "rs1": 0})
    assert (state.x[3:6], state.vxsat) == ([1, 77, 32], 0)
    state.x[1] = 0x101
    execute("csrrw", state, {"rd": 0, "csr": 0x008, "rs1": 1})
    assert state.vstart == 1
    for csr in (0xC20, 0x123):
        with pytest.raises(OracleTrap) as caught:
            execute("csrrs", state, {"rd": 6, "csr": csr, "rs1": 1})
        assert caught.value.cause == 2


def test_system():
    state = new_state()
    for name, cause in (("ecall", 8), ("ebreak", 3), ("c.ebreak", 3)):
        with pytest.raises(OracleTrap) as caught:
            execute(name, state, {})
        assert (caught.value.cause, state.pc) == (cause, 0x8000)
    state.mem.data[:200] = b"x" * 200
    state.x[1] = 0x1047
    execute("cbo.zero", state, {"rs1": 1})
    assert state.mem.data[:200] == b"x" * 64 + bytes(64) + b"x" * 72
