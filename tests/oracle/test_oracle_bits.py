"""Zvbb and Zvbc rows against values worked out by hand."""

import pytest

from tests.oracle.element import execute
from tests.oracle.samples import E8, E16, E32, E64, get, new_state, put


@pytest.mark.parametrize(
    ("name", "vtype", "width", "source", "expected"),
    [
        ("vbrev.v", E8, 8, [0x01, 0xB0], [0x80, 0x0D]),
        ("vbrev.v", E32, 32, [0x0000_0001, 0x1234_5678], [0x8000_0000, 0x1E6A_2C48]),
        ("vbrev8.v", E32, 32, [0x0000_0001, 0x1234_5678], [0x0000_0080, 0x482C_6A1E]),
        ("vrev8.v", E8, 8, [0x01, 0xB0], [0x01, 0xB0]),
        ("vrev8.v", E32, 32, [0x1234_5678], [0x7856_3412]),
        ("vclz.v", E16, 16, [0, 1, 0x0F00, 0x8000], [16, 15, 4, 0]),
        ("vctz.v", E16, 16, [0, 1, 0x0F00, 0x8000], [16, 0, 8, 15]),
        ("vcpop.v", E64, 64, [0, 0xF0F0, (1 << 64) - 1], [0, 8, 64]),
    ],
)
def test_reversals_and_counts(name, vtype, width, source, expected):
    state = new_state(vtype=vtype, vl=len(source))
    put(state, 2, width, *source)
    execute(name, state, {"vd": 4, "vs2": 2, "vm": 1})
    assert get(state, 4, width, len(source)) == expected


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("vrol.vx", 8, 0x3456_7812),
        ("vrol.vx", 32 + 24, 0x7812_3456),
        ("vror.vx", 4, 0x8123_4567),
        ("vror.vx", 0, 0x1234_5678),
        ("vandn.vx", 0xFFFF_0000, 0x5678),
    ],
)
def test_rotations_take_the_amount_modulo_the_width(name, amount, expected):
    state = new_state(vtype=E32, vl=1)
    state.x[5] = amount
    put(state, 2, 32, 0x1234_5678)
    execute(name, state, {"vd": 4, "vs2": 2, "rs1": 5, "vm": 1})
    assert get(state, 4, 32, 1) == [expected]


def test_widening_shift_has_one_bit_more_of_amount():
    state = new_state(vtype=E8, vl=4)
    put(state, 2, 8, 0xFF, 0xFF, 0xFF, 0x81)
    put(state, 1, 8, 4, 15, 16, 0xF8)
    execute("vwsll.vv", state, {"vd": 4, "vs2": 2, "vs1": 1, "vm": 1})
    assert get(state, 4, 16, 4) == [0x0FF0, 0x8000, 0x00FF, 0x8100]


def test_carryless_product():
    """(x^63 + 1)(x + 1) = x^64 + x^63 + x + 1."""
    state = new_state(vtype=E64, vl=1)
    state.x[5] = 3
    put(state, 2, 64, 1 << 63 | 1)
    for name, expected in (("vclmul.vx", 1 << 63 | 3), ("vclmulh.vx", 1)):
        execute(name, state, {"vd": 4, "vs2": 2, "rs1": 5, "vm": 1})
        assert get(state, 4, 64, 1) == [expected], name
