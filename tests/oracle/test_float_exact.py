"""Exact rational arithmetic against Berkeley SoftFloat, so that it can be believed where there is
no library; and that the library has RISC-V's choices.
"""

import operator

import pytest

from tests.oracle import float_exact as exact
from tests.oracle.float_operands import corners, few_corners, halfway_rows, random_rows, rows_of
from tests.oracle.softfloat import operation

IEEE = ("f16", "f32", "f64")
MODES = (exact.RNE, exact.RTZ, exact.RDN, exact.RUP, exact.RMM)
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "sqrt": 1, "fma": 3}


def some(rows, count):
    return rows[:: max(1, len(rows) // count)]


@pytest.mark.parametrize("name", IEEE)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(name, op):
    arity = ARITHMETIC[op]
    ours = getattr(exact, op)
    library = operation(f"{name}_{op.replace('fma', 'mul_add')}", *[name] * arity)
    rows = some(rows_of(name, arity, few_corners(name), 2000), 400)
    if arity == 3:
        rows += halfway_rows(name, 100)
    for mode in MODES:
        for row in rows:
            assert ours(exact.FORMATS[name], *row, mode) == library(*row, mode), (row, mode)


@pytest.mark.parametrize("name", IEEE)
def test_integers(name):
    binary = exact.FORMATS[name]
    rows = corners(name) + [x for (x,) in random_rows(name, 1, 200)]
    for mode in MODES:
        for integer, width, signed in (
            ("i32", 32, True),
            ("ui32", 32, False),
            ("i64", 64, True),
            ("ui64", 64, False),
        ):
            library = operation(f"{name}_to_{integer}", name)
            back = operation(f"{integer}_to_{name}", integer)
            for x in rows:
                assert exact.to_int(binary, x, width, signed, mode) == library(x, mode), hex(x)
                n = x * 0x10001 & (1 << width) - 1
                assert exact.from_int(binary, n, width, signed, mode) == back(n, mode), hex(n)
        library = operation(f"{name}_round_to_int", name)
        for x in rows:
            assert exact.round_to_integral(binary, x, mode, True) == library(x, mode), hex(x)


@pytest.mark.parametrize(
    ("source", "target"),
    [(s, t) for s in IEEE for t in IEEE if s != t] + [("f32", "bf16"), ("bf16", "f32")],
)
def test_formats(source, target):
    library = operation(f"{source}_to_{target}", source)
    for mode in MODES:
        for (x,) in [(x,) for x in corners(source)] + random_rows(source, 1, 300):
            ours = exact.convert(exact.FORMATS[source], exact.FORMATS[target], x, mode)
            assert ours == library(x, mode), hex(x)


@pytest.mark.parametrize("name", IEEE)
def test_comparisons(name):
    for suffix, relation, signaling in (
        ("eq", operator.eq, False),
        ("eq_signaling", operator.eq, True),
        ("lt", operator.lt, True),
        ("le", operator.le, True),
        ("lt_quiet", operator.lt, False),
    ):
        library = operation(f"{name}_{suffix}", name, name)
        for a, b in rows_of(name, 2, few_corners(name), 300):
            ours = exact.compare(exact.FORMATS[name], a, b, relation, signaling)
            assert ours == library(a, b, 0), (suffix, hex(a), hex(b))


def test_softfloat_has_the_risc_v_specialisation():
    add, to_i32 = operation("f32_add", "f32", "f32"), operation("f32_to_i32", "f32")
    mul = operation("f32_mul", "f32", "f32")
    assert add(0xFFC12345, 0x7FD54321, 0) == (0x7FC00000, 0)
    assert to_i32(0xFFC00000, 0) == (0x7FFFFFFF, exact.NV)
    # Rounds up to the least normal number, and would with an unbounded exponent: not tiny.
    assert mul(0x3F7FFFFF, 0x00800001, exact.RUP) == (0x00800001, exact.NX)
    assert mul(0x00FFFFFF, 0x3F000000, exact.RNE) == (0x00800000, exact.NX | exact.UF)


def test_round_to_odd():
    """V 13.19: an inexact result has its last bit set; an overflow stops at the greatest number."""
    f64, f32 = exact.FORMATS["f64"], exact.FORMATS["f32"]
    one = 0x3FF0000000000000
    assert exact.convert(f64, f32, one + 1, exact.ODD) == (0x3F800001, exact.NX)
    assert exact.convert(f64, f32, one, exact.ODD) == (0x3F800000, 0)
    assert exact.convert(f64, f32, 0x7FEFFFFFFFFFFFFF, exact.ODD) == (
        0x7F7FFFFF,
        exact.OF | exact.NX,
    )
