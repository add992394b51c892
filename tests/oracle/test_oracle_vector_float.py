"""Vector floating-point rows against hand-worked values and the rules of the specification."""

import pytest

from tests.oracle.element import ROWS, execute
from tests.oracle.float_exact import DZ, NV, NX, OF, UF
from tests.oracle.float_registers import boxed
from tests.oracle.samples import E8, E16, E32, E64, M1, MA, MF2, TA, get, new_state, put
from tests.oracle.state import OracleTrap
from tests.oracle.test_oracle_float import INF_S, MINUS_ZERO_S, NAN, ONE, SNAN_S, f32, f64

OPERANDS = {"vd": 4, "vs1": 8, "vs2": 12, "fs1": 1, "rs1": 1, "fd": 2, "vm": 1}


def run(name, vs2, vs1=(), vd=(), *, vtype=E32, widths=(32, 32, 32), vm=1, frm=0, **choices):
    """Elements of `widths` (vs2, vs1, vd) in place; `vs1` is fs1 too; returns the state."""
    state = new_state(vtype=vtype, vl=len(vs2), **choices)
    state.frm = frm
    for reg, width, values in zip((12, 8, 4), widths, (vs2, vs1, vd), strict=True):
        put(state, reg, width, *values)
    if vs1:
        state.f[1] = boxed(vs1[0], widths[1])
    execute(name, state, {**OPERANDS, "vm": vm})
    return state


def result(name, vs2, vs1=(), vd=(), **options):
    """The elements of vd and the flags."""
    state = run(name, vs2, vs1, vd, **options)
    return get(state, 4, options.get("widths", (0, 0, 32))[2], len(vs2)), state.fflags


@pytest.mark.parametrize("form", ["vv", "vf"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vfmacc", 16),
        ("vfnmacc", -16),
        ("vfmsac", -4),
        ("vfnmsac", 4),
        ("vfmadd", 23),
        ("vfnmadd", -23),
        ("vfmsub", 17),
        ("vfnmsub", -17),
    ],
)
def test_signs_of_multiply_add_case_c13(name, expected, form):
    for vtype, width, bits in ((E32, 32, f32), (E64, 64, f64)):
        vd = [bits(10)]
        widths = (width,) * 3
        assert result(f"{name}.{form}", [bits(3)], [bits(2)], vd, vtype=vtype, widths=widths) == (
            [bits(expected)],
            0,
        )
    if "acc" in name or "sac" in name:
        wide = name.replace("vf", "vfw")
        assert result(
            f"{wide}.{form}", [0x4200], [0x4000], [f32(10)], vtype=E16, widths=(16, 16, 32)
        ) == ([f32(expected)], 0)


def test_reduction_order_case_c14():
    values = [f32(v) for v in (1e8, 1, -1e8, 1)]
    for name in ("vfredosum.vs", "vfredusum.vs"):
        state = run(name, values, [0])
        assert (get(state, 4, 32, 1), state.fflags) == ([f32(1)], NX)
    state = run("vfwredosum.vs", values, [0, 0], widths=(32, 64, 64))
    assert (get(state, 4, 64, 1), state.fflags) == ([f64(2)], 0)


def test_reductions_with_no_active_element_keep_the_scalar():
    """V 14.3: no addition, so neither a canonical NaN nor a flag."""
    for name in ("vfredosum.vs", "vfredusum.vs", "vfredmin.vs", "vfredmax.vs"):
        state = run(name, [f32(1)] * 3, [SNAN_S], [7] * 8, vm=0, vtype=E32 | TA, agnostic="ones")
        assert get(state, 4, 32, 8) == [SNAN_S] + [0xFFFFFFFF] * 7
        assert state.fflags == 0
    state = run("vfredosum.vs", [], [SNAN_S], [7])
    assert get(state, 4, 32, 1) == [7]


def test_reductions_read_active_elements_only():
    state = new_state(vtype=E32, vl=4)
    put(state, 0, 8, 0b1011)
    put(state, 8, 32, NAN["s"])
    put(state, 12, 32, f32(3), MINUS_ZERO_S, SNAN_S, f32(-2))
    for name, expected in (("vfredmin.vs", f32(-2)), ("vfredmax.vs", f32(3))):
        execute(name, state, {**OPERANDS, "vm": 0})
        assert (get(state, 4, 32, 1), state.fflags) == ([expected], 0)
    execute("vfredmax.vs", state, OPERANDS)
    assert (get(state, 4, 32, 1), state.fflags) == ([f32(3)], NV)
    state.vstart = 1
    with pytest.raises(OracleTrap):
        execute("vfredusum.vs", state, OPERANDS)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected", "flags"),
    [
        ("vfsub", f32(5), f32(3), f32(2), 0),
        ("vfrsub", f32(5), f32(3), f32(-2), 0),
        ("vfdiv", f32(1), f32(0), INF_S, DZ),
        ("vfrdiv", f32(2), f32(1), f32(0.5), 0),
        ("vfmul", f32(2**-100), f32(2**-60), 0, UF | NX),
        ("vfmin", SNAN_S, f32(7), f32(7), NV),
        ("vfmax", MINUS_ZERO_S, 0, 0, 0),
        ("vfsgnj", SNAN_S, MINUS_ZERO_S, SNAN_S | 1 << 31, 0),
        ("vfsgnjn", f32(2), f32(1), f32(-2), 0),
        ("vfsgnjx", f32(-2), f32(-1), f32(2), 0),
    ],
)
def test_operand_order(name, a, b, expected, flags):
    for form in ("vv", "vf"):
        if f"{name}.{form}" in ROWS:
            assert result(f"{name}.{form}", [a], [b]) == ([expected], flags)


def test_compares():
    """V 13.13: vs2 is the left operand; the ordered ones raise NV for quiet NaNs."""
    values = [f32(1), f32(2), f32(3), NAN["s"]]
    for name, mask, flags in (
        ("vmfeq", 0b0010, 0),
        ("vmfne", 0b1101, 0),
        ("vmflt", 0b0001, NV),
        ("vmfle", 0b0011, NV),
        ("vmfgt", 0b0100, NV),
        ("vmfge", 0b0110, NV),
    ):
        for form in ("vv", "vf"):
            if f"{name}.{form}" in ROWS:
                state = run(f"{name}.{form}", values, [f32(2)] * 4, [0])
                assert (get(state, 4, 8, 1)[0], state.fflags) == (mask, flags)
    assert run("vmfne.vv", [SNAN_S], [SNAN_S]).fflags == NV


def test_widening():
    options = {"vtype": E16 | MF2, "widths": (16, 16, 32)}
    assert result("vfwadd.vv", [0x7BFF], [0x7BFF], **options) == ([f32(131008)], 0)
    assert result("vfwmul.vf", [0x0001], [0x0001], **options) == ([f32(2**-48)], 0)
    assert result("vfwsub.vv", [0x7C01], [0x3C00], **options) == ([NAN["s"]], NV)
    options["widths"] = (32, 16, 32)
    assert result("vfwsub.wv", [f32(2**-48)], [0x3C00], **options) == ([f32(-1)], NX)
    assert result("vfwadd.wf", [SNAN_S], [0x3C00], **options) == ([NAN["s"]], NV)


def test_bf16():
    options = {"vtype": E16 | MF2, "widths": (16, 16, 32)}
    assert result("vfwmaccbf16.vf", [0x4040], [0x4000], [f32(10)], **options) == ([f32(16)], 0)
    assert result("vfwmaccbf16.vv", [0x7F81], [0x4000], [0], **options) == ([NAN["s"]], NV)
    assert result("vfwcvtbf16.f.f.v", [0x3F81], **options) == ([0x3F810000], 0)
    options["widths"] = (32, 16, 16)
    values = [0x3F808000, 0x3F818000, SNAN_S, 0x7F7FFFFF]
    assert result("vfncvtbf16.f.f.w", values, **options) == (
        [0x3F80, 0x3F82, 0x7FC0, 0x7F80],
        NX | NV | OF,
    )
    for name in ("vfwmaccbf16.vv", "vfwcvtbf16.f.f.v", "vfncvtbf16.f.f.w"):
        with pytest.raises(OracleTrap):
            run(name, [0], vtype=E32 | MF2)


@pytest.mark.parametrize(
    ("name", "vtype", "widths", "value", "expected", "flags"),
    [
        ("vfcvt.x.f.v", E32, (32, 32), f32(2.5), 2, NX),
        ("vfcvt.rtz.x.f.v", E32, (32, 32), f32(-2.75), -2, NX),
        ("vfcvt.xu.f.v", E32, (32, 32), f32(-1), 0, NV),
        ("vfcvt.rtz.xu.f.v", E32, (32, 32), NAN["s"], -1, NV),
        ("vfcvt.f.xu.v", E32, (32, 32), 0xFFFFFFFF, f32(2**32), NX),
        ("vfcvt.f.x.v", E16, (16, 16), -1, 0xBC00, 0),
        ("vfwcvt.x.f.v", E16, (16, 32), 0xFC00, -(2**31), NV),
        ("vfwcvt.rtz.xu.f.v", E32, (32, 64), f32(1.5), 1, NX),
        ("vfwcvt.f.x.v", E8, (8, 16), -128, 0xD800, 0),
        ("vfwcvt.f.xu.v", E32, (32, 64), 0xFFFFFFFF, f64(2**32 - 1), 0),
        ("vfwcvt.f.f.v", E16, (16, 32), 0x0001, f32(2**-24), 0),
        ("vfncvt.x.f.w", E8, (16, 8), 0x5800, 127, NV),
        ("vfncvt.rtz.x.f.w", E8, (16, 8), 0xD808, -128, NV),
        ("vfncvt.xu.f.w", E16, (32, 16), f32(65535.5), 65535, NV),
        ("vfncvt.f.xu.w", E16, (32, 16), 65520, 0x7C00, OF | NX),
        ("vfncvt.f.x.w", E32, (64, 32), -(2**63), f32(-(2.0**63)), 0),
        ("vfncvt.f.f.w", E16, (32, 16), f32(65520), 0x7C00, OF | NX),
        ("vfncvt.rod.f.f.w", E16, (32, 16), f32(65520), 0x7BFF, NX),
        ("vfncvt.rod.f.f.w", E16, (32, 16), f32(-65536), 0xFBFF, OF | NX),
        ("vfncvt.rod.f.f.w", E32, (64, 32), f64(1 + 2**-40), ONE["s"] | 1, NX),
        ("vfncvt.rod.f.f.w", E32, (64, 32), f64(-(2.0**-1000)), 0x80000001, UF | NX),
        ("vfclass.v", E16, (16, 16), 0x7C01, 1 << 8, 0),
        ("vfsqrt.v", E16, (16, 16), 0x4400, 0x4000, 0),
    ],
)
def test_conversions_and_unary(name, vtype, widths, value, expected, flags):
    source, target = widths
    options = {"vtype": vtype | MF2, "widths": (source, source, target)}
    assert result(name, [value], **options) == ([expected & (1 << target) - 1], flags)


def test_estimates():
    """V 13.9, 13.10: the worked examples beside the tables, and what leaves the range."""
    for name, value, expected, flags in (
        ("vfrsqrt7.v", 0x00718ABC, 0x5F080000, 0),
        ("vfrec7.v", 0x00718ABC, 0x7E900000, 0),
        ("vfrsqrt7.v", MINUS_ZERO_S, 0xFF800000, DZ),
        ("vfrsqrt7.v", f32(-1), NAN["s"], NV),
        ("vfrsqrt7.v", INF_S, 0, 0),
        ("vfrec7.v", 0xFF800000, MINUS_ZERO_S, 0),
        ("vfrec7.v", 0x00000001, INF_S, OF | NX),
        ("vfrec7.v", 0x7F765432, 0x00214000, 0),
    ):
        assert result(name, [value]) == ([expected], flags)
    assert result("vfrec7.v", [0x80000001], frm=1)[0] == [0xFF7FFFFF]
    assert result("vfrec7.v", [0x80000001], frm=2)[0] == [0xFF800000]
    assert result("vfrec7.v", [0x80000001], frm=3)[0] == [0xFF7FFFFF]


def test_moves_merges_and_slides():
    values = [f32(v) for v in (1, 2, 3, 4)]
    one, new = f32(1), f32(9)
    assert result("vfmv.v.f", values, [new])[0] == [new] * 4
    assert result("vfslide1up.vf", values, [new])[0] == [new, *values[:3]]
    assert result("vfslide1down.vf", values, [new])[0] == [*values[1:], new]
    assert result("vfmv.s.f", values, [new], [one] * 4)[0] == [new, one, one, one]
    state = new_state(vtype=E32, vl=0, vstart=3)
    put(state, 12, 32, SNAN_S)
    execute("vfmv.f.s", state, OPERANDS)
    assert (state.f[2], state.vstart) == (boxed(SNAN_S, 32), 0)
    state.vl = 4
    put(state, 0, 8, 0b0110)
    put(state, 12, 32, *values)
    state.f[1] = new
    execute("vfmerge.vfm", state, {**OPERANDS, "vm": 0})
    assert get(state, 4, 32, 4) == [values[0], NAN["s"], NAN["s"], values[3]]


def test_scalars_must_be_boxed():
    """V 10.1"""
    for name in ("vfadd.vf", "vfmv.v.f", "vfmv.s.f", "vfslide1up.vf", "vfwmaccbf16.vf"):
        state = new_state(vtype=E16, vl=1)
        state.f[1] = 0x3C00
        execute(name, state, OPERANDS)
        expected = NAN["s"] if "bf16" in name else NAN["h"]
        assert get(state, 4, 32, 1)[0] == expected
        assert state.fflags == 0
    state = new_state(vtype=E64, vl=1)
    state.f[1] = f64(1)
    execute("vfadd.vf", state, OPERANDS)
    assert get(state, 4, 64, 1) == [f64(1)]


FLOAT_NAMES = sorted(n for n in ROWS if n.startswith(("vf", "vmf")) and n != "vfirst.m")


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_reserved_frm_traps_always(name):
    """V 13: also for instructions that do not round, and with vl = 0."""
    for frm in (5, 6, 7):
        state = new_state(vtype=E16, vl=0)
        state.frm = frm
        with pytest.raises(OracleTrap) as caught:
            execute(name, state, OPERANDS)
        assert caught.value.cause == 2


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_formats_that_do_not_exist_trap(name):
    """V 10.1: FP operands of 8 or 128 bits; only conversions have integers of 8."""
    state = new_state(vtype=E8)
    if name.startswith(("vfwcvt.f.x", "vfncvt.x", "vfncvt.rtz")):
        execute(name, state, OPERANDS)
    else:
        with pytest.raises(OracleTrap):
            execute(name, state, OPERANDS)
    state.vtype = E64
    if name.startswith(("vfw", "vfncvt")):
        with pytest.raises(OracleTrap):
            execute(name, state, OPERANDS)
    else:
        execute(name, state, OPERANDS)


def test_only_active_elements_raise_flags():
    """V 13.1: a signaling NaN before vstart, masked off, and in the tail."""
    state = new_state(vtype=E32 | M1 | TA | MA, vl=4, vstart=1, agnostic="ones")
    put(state, 0, 8, 0b11011)
    put(state, 12, 32, SNAN_S, f32(1), SNAN_S, f32(2), SNAN_S, *[SNAN_S] * 3)
    put(state, 4, 32, 5)
    execute("vfadd.vv", state, {**OPERANDS, "vm": 0})
    ones = 0xFFFFFFFF
    assert get(state, 4, 32, 8) == [5, f32(1), ones, f32(2), ones, ones, ones, ones]
    assert (state.fflags, state.vstart) == (0, 0)
