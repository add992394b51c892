"""The oracle against values worked out by hand from the specifications."""

import pytest

from tests.oracle.element import ROWS, execute
from tests.oracle.state import OracleState, OracleTrap

M64 = (1 << 64) - 1
E8, E16, E32, E64 = 0 << 3, 1 << 3, 2 << 3, 3 << 3
M1, M2, M4, M8, MF8, MF4, MF2 = 0, 1, 2, 3, 5, 6, 7
TA, MA = 1 << 6, 1 << 7
VILL = 1 << 63
PAGE = 4096


class PagedMemory:
    """Bytes at `base`; everything else is a page fault at the first bad byte."""

    def __init__(self, base: int = 0x1000, size: int = PAGE) -> None:
        self.base = base
        self.data = bytearray(size)

    def check(self, addr: int, n: int, cause: int) -> int:
        for a in range(addr, addr + n):
            if not self.base <= a < self.base + len(self.data):
                raise OracleTrap(cause, a)
        return addr - self.base

    def read(self, addr: int, n: int) -> bytes:
        start = self.check(addr, n, 13)
        return bytes(self.data[start : start + n])

    def write(self, addr: int, data: bytes) -> None:
        start = self.check(addr, len(data), 15)
        self.data[start : start + len(data)] = data


def new_state(vtype: int = E32 | M1, vl: int = 0, vlen: int = 256, **choices) -> OracleState:
    return OracleState(vlen=vlen, mem=PagedMemory(), vtype=vtype, vl=vl, pc=0x8000, **choices)


def put(state: OracleState, reg: int, width: int, *values: int) -> None:
    for i, value in enumerate(values):
        start = reg * state.vlenb + i * width // 8
        data = (value & ((1 << width) - 1)).to_bytes(width // 8, "little")
        state.v[start : start + width // 8] = data


def get(state: OracleState, reg: int, width: int, n: int, signed: bool = False) -> list[int]:
    start = reg * state.vlenb
    return [
        int.from_bytes(state.v[start + a : start + a + width // 8], "little", signed=signed)
        for a in range(0, n * width // 8, width // 8)
    ]


def scalar(name: str, a: int, b: int = 0, **fields: int) -> int:
    state = new_state()
    state.x[5], state.x[6] = a & M64, b & M64
    execute(name, state, {"rd": 7, "rs1": 5, "rs2": 6, **fields})
    assert state.pc == 0x8004
    return state.x[7]


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


@pytest.mark.parametrize(
    ("vtype", "avl", "policy", "vl"),
    [
        (E8 | M8, 1000, "max", 256),
        (E8 | M8, 258, "half", 129),
        (E8 | M8, 512, "half", 256),
        (E8 | M8, 256, "half", 256),
        (E32 | MF2, 100, "max", 4),
        (E8 | MF8, 100, "max", 4),
        (E64 | MF2, 100, "max", None),
        (E16 | MF8, 100, "max", None),
        (E8 | 4, 100, "max", None),
        (4 << 3, 100, "max", None),
        (1 << 8, 100, "max", None),
    ],
)
def test_vsetvli(vtype, avl, policy, vl):
    state = new_state(vl_policy=policy)
    state.x[1], state.vstart = avl, 3
    execute("vsetvli", state, {"rd": 2, "rs1": 1, "vtypei": vtype})
    expected = (VILL, 0) if vl is None else (vtype, vl)
    assert (state.vtype, state.vl) == expected
    assert (state.x[2], state.vstart) == (state.vl, 0)


def test_vsetvli_of_x0_keeps_vl_only_when_vlmax_stays():
    """CASES C7."""
    state = new_state()
    execute("vsetvli", state, {"rd": 10, "rs1": 0, "vtypei": E8 | M2})
    assert state.vl == 64
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E16 | M4})
    assert (state.vtype, state.vl) == (E16 | M4, 64)
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E8 | M1})
    assert (state.vtype, state.vl) == (VILL, 0)
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E8 | M1})
    assert (state.vtype, state.vl) == (VILL, 0)


def test_narrowing_case_c11():
    state = new_state(vtype=E16 | MF2, vl=4)
    put(state, 2, 32, 300, -300, 40000, 128)
    put(state, 10, 32, 0xFFFFFFFF)
    for name, vd in (("vnsrl.wi", 4), ("vnclip.wi", 6)):
        execute(name, state, {"vd": vd, "vs2": 2, "imm": 0, "vm": 1})
    execute("vnclipu.wi", state, {"vd": 11, "vs2": 10, "imm": 0, "vm": 1})
    state.vtype = E8 | MF4
    execute("vnsrl.wi", state, {"vd": 5, "vs2": 4, "imm": 0, "vm": 1})
    execute("vnclip.wi", state, {"vd": 7, "vs2": 6, "imm": 0, "vm": 1})
    execute("vnclipu.wi", state, {"vd": 12, "vs2": 11, "imm": 0, "vm": 1})
    assert get(state, 5, 8, 4, signed=True) == [44, -44, 64, -128]
    assert get(state, 7, 8, 4, signed=True) == [127, -128, 127, 127]
    assert get(state, 12, 8, 1) == [255]
    assert state.vxsat == 1


def test_rounding_twice_case_c11():
    state = new_state(vtype=E32, vl=1)
    put(state, 1, 32, 120)
    execute("vssra.vi", state, {"vd": 2, "vs2": 1, "imm": 8, "vm": 1})
    execute("vssra.vi", state, {"vd": 3, "vs2": 1, "imm": 4, "vm": 1})
    execute("vssra.vi", state, {"vd": 3, "vs2": 3, "imm": 4, "vm": 1})
    assert (get(state, 2, 32, 1), get(state, 3, 32, 1)) == ([0], [1])


@pytest.mark.parametrize("name", ["vssra.vi", "vnclip.wi"])
@pytest.mark.parametrize(
    ("value", "by_mode"),
    [(5, [3, 2, 2, 3]), (7, [4, 4, 3, 3]), (-5, [-2, -2, -3, -3]), (-7, [-3, -4, -4, -3])],
)
def test_rounding_modes_case_c12(name, value, by_mode):
    for vxrm, expected in enumerate(by_mode):
        state = new_state(vtype=E16, vl=1, vxrm=vxrm)
        put(state, 2, 16 if name == "vssra.vi" else 32, value)
        execute(name, state, {"vd": 4, "vs2": 2, "imm": 1, "vm": 1})
        assert get(state, 4, 16, 1, signed=True) == [expected]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("smt.vmadot", 1024),
        ("smt.vmadotu", 261120),
        ("smt.vmadotsu", -261120),
        ("smt.vmadotus", -1024),
    ],
)
def test_ime_signs_case_c15(name, expected):
    state = new_state(vtype=E8 | M1, vl=32)
    put(state, 1, 8, *[0x80] * 32)
    put(state, 2, 8, *[0xFF] * 32)
    execute(name, state, {"vd": 4, "vs1": 1, "vs2": 2})
    assert get(state, 4, 32, 16, signed=True) == [expected] * 16


@pytest.mark.parametrize("slide", [0, 1, 2, 3])
def test_ime_layout_case_c15(slide):
    state = new_state(vtype=E8 | M1, vl=32)
    put(state, 2, 8, *[m // 8 + 1 if m % 8 == 0 else 0 for m in range(64)])
    put(state, 4, 8, *[n // 8 + 1 if n % 8 == 0 else 0 for n in range(32)])
    put(state, 6, 32, *[M64] * 16)
    execute(f"smt.vmadot{slide or ''}", state, {"vd": 6, "vs1": 2, "vs2": 4})
    expected = [(m + 1 + slide) * (n + 1) - 1 for m in range(4) for n in range(4)]
    assert get(state, 6, 32, 16) == expected


def test_tail_and_mask_policies():
    """V 3.4.3, 5.4: LMUL 1/2, four elements of eight live, element 1 masked off."""
    for agnostic, vta, vma, expected in (
        ("undisturbed", TA, MA, [1, 9, 3, 9, 9, 9, 9, 9]),
        ("ones", 0, 0, [1, 9, 3, 9, 9, 9, 9, 9]),
        ("ones", TA, 0, [1, 9, 3, -1, -1, -1, -1, -1]),
        ("ones", 0, MA, [1, -1, 3, 9, 9, 9, 9, 9]),
    ):
        state = new_state(vtype=E32 | MF2 | vta | vma, vl=3, agnostic=agnostic)
        put(state, 0, 8, 0b101)
        put(state, 1, 32, *[9] * 8)
        put(state, 2, 32, 0, 1, 2, 3)
        execute("vadd.vi", state, {"vd": 1, "vs2": 2, "imm": 1, "vm": 0})
        assert get(state, 1, 32, 8, signed=True) == expected


def test_no_body_elements_means_no_agnostic_writes():
    for vl, vstart in ((0, 0), (2, 2), (2, 5)):
        state = new_state(vtype=E32 | TA | MA, vl=vl, vstart=vstart, agnostic="ones")
        for name, fields in (
            ("vadd.vi", {"imm": 1}),
            ("vmseq.vi", {"imm": 0}),
            ("vslideup.vi", {"imm": 0}),
            ("vle32.v", {"rs1": 0}),
            ("vlm.v", {"rs1": 0}),
            ("vmv.s.x", {"rs1": 0}),
        ):
            state.vstart = vstart if name != "vlm.v" else 1
            execute(name, state, {"vd": 1, "vs2": 2, "vm": 1, **fields})
            assert state.vstart == 0
        assert not any(state.v)


def test_mask_destination_tail_is_always_agnostic():
    state = new_state(vtype=E8, vl=10, agnostic="ones")
    execute("vmsne.vi", state, {"vd": 1, "vs2": 2, "imm": 0, "vm": 1})
    assert get(state, 1, 8, 32) == [0, 0xFC] + [0xFF] * 30
    state.x[1] = 0x1000
    execute("vlm.v", state, {"vd": 1, "rs1": 1})
    assert get(state, 1, 8, 32) == [0, 0] + [0xFF] * 30


def test_vector_integer():
    state = new_state(vtype=E8, vl=2)
    put(state, 1, 8, -128, 100)
    put(state, 2, 8, -1, 3)
    results = {
        "vdiv.vv": [-128, 33],
        "vmulh.vv": [0, 1],
        "vmulhsu.vv": [-128, 1],
        "vmulhu.vv": [127, 1],
        "vsra.vv": [-1, 12],
        "vsadd.vv": [-128, 103],
        "vaadd.vv": [-64, 52],
        "vsmul.vv": [1, 2],
        "vasubu.vv": [-63, 49],
    }
    for name, expected in results.items():
        execute(name, state, {"vd": 3, "vs2": 1, "vs1": 2, "vm": 1})
        assert get(state, 3, 8, 2, signed=True) == expected, name
    assert state.vxsat == 1


def test_signs_of_multiply_add_case_c13():
    for name, expected in (("vmacc", 16), ("vnmsac", 4), ("vmadd", 23), ("vnmsub", -17)):
        state = new_state(vtype=E32, vl=1)
        put(state, 1, 32, 2)
        put(state, 2, 32, 3)
        put(state, 3, 32, 10)
        execute(f"{name}.vv", state, {"vd": 3, "vs1": 1, "vs2": 2, "vm": 1})
        assert get(state, 3, 32, 1, signed=True) == [expected]


def test_widening_mixes_signs():
    for name, expected in (
        ("vwmaccu", 0xFE01),
        ("vwmacc", 1),
        ("vwmaccsu", -255 & 0xFFFF),
        ("vwmaccus", -255 & 0xFFFF),
    ):
        state = new_state(vtype=E8, vl=1)
        state.x[1] = 0xFF
        put(state, 1, 8, 0xFF)
        execute(f"{name}.vx", state, {"vd": 2, "rs1": 1, "vs2": 1, "vm": 1})
        assert get(state, 2, 16, 1) == [expected]
    state = new_state(vtype=E8, vl=1)
    put(state, 2, 16, 1000)
    put(state, 1, 8, -1)
    execute("vwsubu.wv", state, {"vd": 4, "vs2": 2, "vs1": 1, "vm": 1})
    assert get(state, 4, 16, 1) == [745]


def test_carry_and_borrow():
    state = new_state(vtype=E8, vl=3)
    put(state, 0, 8, 0b011)
    put(state, 1, 8, 255, 5, 5)
    execute("vmadc.vim", state, {"vd": 2, "vs2": 1, "imm": 0, "vm": 0})
    execute("vadc.vim", state, {"vd": 3, "vs2": 1, "imm": 0, "vm": 0})
    execute("vmsbc.vvm", state, {"vd": 4, "vs2": 1, "vs1": 1, "vm": 0})
    execute("vmadc.vi", state, {"vd": 5, "vs2": 1, "imm": -5, "vm": 1})
    assert [get(state, r, 8, 1)[0] for r in (2, 4, 5)] == [0b001, 0b011, 0b111]
    assert get(state, 3, 8, 3) == [0, 6, 5]


def test_reductions_take_the_scalar_and_skip_inactive_elements():
    state = new_state(vtype=E8 | TA, vl=3, agnostic="ones")
    put(state, 0, 8, 0b101)
    put(state, 1, 16, 1000)
    put(state, 2, 8, -1, 50, 3)
    execute("vwredsum.vs", state, {"vd": 3, "vs2": 2, "vs1": 1, "vm": 0})
    assert get(state, 3, 16, 3) == [1002, 0xFFFF, 0xFFFF]
    state.vstart = 1
    with pytest.raises(OracleTrap):
        execute("vredsum.vs", state, {"vd": 3, "vs2": 2, "vs1": 1, "vm": 1})
    assert state.vstart == 1


def test_set_before_first_examples():
    """The worked examples of V 15.4 to 15.6, with and without a mask."""
    state = new_state(vtype=E8, vl=8)
    put(state, 0, 8, 0b11000011)
    put(state, 3, 8, 0b10010100)
    for name, unmasked, masked in (
        ("vmsbf.m", 0b00000011, 0b01000011),
        ("vmsif.m", 0b00000111, 0b11000011),
        ("vmsof.m", 0b00000100, 0b10000000),
    ):
        for vm, expected in ((1, unmasked), (0, masked)):
            put(state, 2, 8, 0)
            execute(name, state, {"vd": 2, "vs2": 3, "vm": vm})
            assert get(state, 2, 8, 1) == [expected]


def test_iota_example():
    """The worked example of V 15.8."""
    state = new_state(vtype=E8, vl=8)
    put(state, 0, 8, 0b11101011)
    put(state, 2, 8, 0b10010001)
    execute("viota.m", state, {"vd": 4, "vs2": 2, "vm": 1})
    assert get(state, 4, 8, 8) == [0, 1, 1, 1, 1, 2, 2, 2]
    put(state, 4, 8, 9, 8, 7, 6, 5, 4, 3, 2)
    execute("viota.m", state, {"vd": 4, "vs2": 2, "vm": 0})
    assert get(state, 4, 8, 8) == [0, 1, 7, 1, 5, 1, 1, 1]
    execute("vcpop.m", state, {"rd": 1, "vs2": 2, "vm": 0})
    state.vl = 0
    execute("vfirst.m", state, {"rd": 2, "vs2": 2, "vm": 0})
    assert state.x[1:3] == [2, M64]


def test_compress_example():
    """The worked example of V 16.5."""
    state = new_state(vtype=E8 | MA, vl=9)
    put(state, 0, 8, 0b10100101, 0b1)
    put(state, 1, 8, *range(9))
    put(state, 2, 8, *range(9, 0, -1))
    execute("vcompress.vm", state, {"vd": 2, "vs2": 1, "vs1": 0})
    assert get(state, 2, 8, 9) == [0, 2, 5, 7, 8, 4, 3, 2, 1]


def test_slides_and_gathers():
    state = new_state(vtype=E32 | MF2, vl=3)
    put(state, 1, 32, 10, 11, 12, 13, 14)
    state.x[5] = (1 << 32) | 1
    for name, fields, expected in (
        ("vslideup.vi", {"imm": 1}, [-7, 10, 11]),
        ("vslideup.vx", {"rs1": 5}, [-7, -7, -7]),
        ("vslidedown.vi", {"imm": 2}, [12, 13, 0]),
        ("vslidedown.vx", {"rs1": 5}, [0, 0, 0]),
        ("vslide1up.vx", {"rs1": 5}, [1, 10, 11]),
        ("vslide1down.vx", {"rs1": 5}, [11, 12, 1]),
        ("vrgather.vi", {"imm": 3}, [13, 13, 13]),
        ("vrgather.vx", {"rs1": 5}, [0, 0, 0]),
    ):
        put(state, 2, 32, *[-7] * 4)
        execute(name, state, {"vd": 2, "vs2": 1, "vm": 1, **fields})
        assert get(state, 2, 32, 4, signed=True) == [*expected, -7], name
    put(state, 3, 16, 3, 4, 0)
    execute("vrgatherei16.vv", state, {"vd": 2, "vs2": 1, "vs1": 3, "vm": 1})
    assert get(state, 2, 32, 3) == [13, 0, 10]
    execute("vmv.x.s", state, {"rd": 6, "vs2": 1})
    assert state.x[6] == 10


def test_strided_and_indexed_memory():
    state = new_state(vtype=E16 | M1, vl=3)
    state.mem.data[:16] = bytes(range(16))
    state.x[1], state.x[2] = 0x1008, -4 & M64
    execute("vlse16.v", state, {"vd": 1, "rs1": 1, "rs2": 2, "vm": 1})
    assert get(state, 1, 16, 3) == [0x0908, 0x0504, 0x0100]
    put(state, 2, 8, 0, 6, 3)
    execute("vluxseg2ei8.v", state, {"vd": 4, "rs1": 1, "vs2": 2, "vm": 1})
    assert get(state, 4, 16, 3) == [0x0908, 0x0F0E, 0x0C0B]
    assert get(state, 5, 16, 3) == [0x0B0A, 0, 0x0E0D]
    execute("vsoxei8.v", state, {"vs3": 1, "rs1": 1, "vs2": 2, "vm": 1})
    assert state.mem.data[8:16] == bytes([8, 9, 10, 0, 1, 13, 4, 5])


def test_segment_fields_are_emul_registers_apart():
    state = new_state(vtype=E16 | M2, vl=20)
    state.mem.data[:120] = bytes(range(120))
    state.x[1] = 0x1000
    execute("vlseg3e16.v", state, {"vd": 4, "rs1": 1, "vm": 1})
    assert get(state, 8, 16, 20) == [(6 * i + 5) << 8 | 6 * i + 4 for i in range(20)]
    state.x[1] = 0x1800
    execute("vsseg3e16.v", state, {"vs3": 4, "rs1": 1, "vm": 1})
    assert state.mem.data[0x800 : 0x800 + 120] == bytes(range(120))


def test_a_memory_trap_keeps_what_was_done():
    state = new_state(vtype=E32 | TA, vl=4, agnostic="ones")
    end = 0x1000 + PAGE
    state.x[1] = end - 12
    put(state, 2, 32, 1, 2, 3, 4)
    put(state, 3, 32, 5, 6, 7, 8)
    with pytest.raises(OracleTrap) as caught:
        execute("vsseg2e32.v", state, {"vs3": 2, "rs1": 1, "vm": 1})
    assert (caught.value.cause, caught.value.tval, state.vstart) == (15, end, 1)
    assert state.mem.data[-12:] == bytes([1, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0])
    state.vstart = 0
    put(state, 4, 32, 9, 9, 9, 9, 9)
    put(state, 5, 32, 9, 9, 9, 9, 9)
    with pytest.raises(OracleTrap) as caught:
        execute("vlseg2e32.v", state, {"vd": 4, "rs1": 1, "vm": 1})
    assert (caught.value.cause, caught.value.tval, state.vstart) == (13, end, 1)
    assert get(state, 4, 32, 5) == [1, 9, 9, 9, 9]
    assert get(state, 5, 32, 5) == [5, 9, 9, 9, 9]
    assert state.pc == 0x8000


def test_fault_only_first():
    state = new_state(vtype=E32, vl=5)
    state.mem.data[-8:] = bytes(range(8))
    state.x[1] = 0x1000 + PAGE - 8
    execute("vle32ff.v", state, {"vd": 1, "rs1": 1, "vm": 1})
    assert (state.vl, get(state, 1, 32, 3)) == (2, [0x03020100, 0x07060504, 0])
    state.vl, state.x[1] = 5, 0x1000 + PAGE - 4
    execute("vlseg2e32ff.v", state, {"vd": 1, "rs1": 0, "vm": 0})
    assert state.vl == 5
    with pytest.raises(OracleTrap):
        execute("vlseg2e32ff.v", state, {"vd": 1, "rs1": 1, "vm": 1})
    assert (state.vl, state.vstart) == (5, 0)


def test_misaligned_vector_elements_fault_where_the_core_says_so():
    state = new_state(vtype=E32, vl=2, misaligned_vector_ok=False)
    state.x[1] = 0x1002
    for name, fields, cause in (("vle32.v", {"vd": 1}, 4), ("vse32.v", {"vs3": 1}, 6)):
        with pytest.raises(OracleTrap) as caught:
            execute(name, state, {"rs1": 1, "vm": 1, **fields})
        assert (caught.value.cause, caught.value.tval) == (cause, 0x1002)
    execute("vle8.v", state, {"vd": 1, "rs1": 1, "vm": 1})


def test_whole_registers_ignore_vl_and_honour_vstart():
    state = new_state(vl=0)
    state.mem.data[:128] = bytes(range(128))
    state.x[1], state.vstart = 0x1000, 3
    execute("vl2re32.v", state, {"vd": 2, "rs1": 1})
    assert get(state, 2, 8, 64) == [0] * 12 + list(range(12, 64))
    execute("vmv2r.v", state, {"vd": 6, "vs2": 2})
    state.x[1] = 0x1800
    execute("vs2r.v", state, {"vs3": 6, "rs1": 1})
    assert state.mem.data[0x800:0x840] == bytes(12) + bytes(range(12, 64))


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


FIELDS = {
    **{"rd": 8, "rs1": 9, "rs2": 10, "vd": 8, "vs1": 16, "vs2": 24, "vs3": 8},
    **{"vm": 1, "imm": 4, "shamt": 3, "uimm": 2, "csr": 0x008, "vtypei": E16 | M1},
    **{"aq": 0, "rl": 0},
}


TRAPS = {"ecall", "ebreak", "c.ebreak"}


@pytest.mark.parametrize("name", sorted(ROWS.keys() - TRAPS))
def test_every_row_runs(name):
    width_in_name = ".vf" in name or name.startswith(("vl", "vs"))
    state = new_state(vtype=E64 if width_in_name else E8, vl=3)
    state.x[9] = state.x[2] = 0x1000
    execute(name, state, FIELDS)
    assert state.x[0] == 0
    assert all(0 <= value <= M64 for value in state.x)
    assert len(state.v) == 32 * state.vlenb


def test_a_group_past_v31_is_the_callers_mistake():
    state = new_state(vtype=E32 | M8, vl=64)
    for fields in ({"vd": 28, "vs2": 0}, {"vd": 0, "vs2": 28}):
        with pytest.raises(IndexError):
            execute("vadd.vi", state, {**fields, "imm": 0, "vm": 1})
