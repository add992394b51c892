"""Vector arithmetic and IME against worked examples of the specifications."""

import pytest

from tests.oracle.element import execute
from tests.oracle.samples import E8, E16, E32, M1, M64, MA, MF2, MF4, TA, get, new_state, put
from tests.oracle.state import OracleTrap


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
