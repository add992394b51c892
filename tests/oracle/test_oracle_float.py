"""Scalar floating-point rows against hand-worked values of the specification and its examples."""

import struct

import pytest

from tests.oracle.element import execute
from tests.oracle.float_exact import DZ, NV, NX, OF, UF
from tests.oracle.float_registers import boxed
from tests.oracle.samples import M64, new_state
from tests.oracle.state import OracleState, OracleTrap

NAN = {"h": 0x7E00, "s": 0x7FC00000, "d": 0x7FF8000000000000}
ONE = {"h": 0x3C00, "s": 0x3F800000, "d": 0x3FF0000000000000}
WIDTH = {"h": 16, "s": 32, "d": 64}
SNAN_S, INF_S, MINUS_ZERO_S = 0x7F800001, 0x7F800000, 0x80000000


def f32(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def f64(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def run(name: str, *patterns: int, width: int = 32, rm: int = 0, frm: int = 0) -> OracleState:
    """Run `name` with boxed operands in f1, f2, f3; results go to f8 and x8."""
    state = new_state()
    for reg, bits in enumerate(patterns, 1):
        state.f[reg] = boxed(bits, width)
    state.frm = frm
    execute(name, state, {"fd": 8, "rd": 8, "fs1": 1, "fs2": 2, "fs3": 3, "rm": rm})
    return state


def result(name: str, *patterns: int, width: int = 32, rm: int = 0) -> tuple[int, int]:
    """The low bits of f8, which must be boxed, and the flags."""
    state = run(name, *patterns, width=width, rm=rm)
    low = state.f[8] & (1 << width) - 1
    assert state.f[8] == boxed(low, width)
    return low, state.fflags


def test_signs_of_the_fused_forms():
    """F 6: 2 * 3 and 10."""
    values = [f32(v) for v in (2, 3, 10)]
    for name, expected in (("fmadd", 16), ("fmsub", -4), ("fnmsub", 4), ("fnmadd", -16)):
        assert result(f"{name}.s", *values) == (f32(expected), 0)


@pytest.mark.parametrize(
    ("name", "operands", "expected", "flags"),
    [
        ("fadd.s", (f32(1), f32(2**-30)), f32(1), NX),
        ("fsub.s", (INF_S, INF_S), NAN["s"], NV),
        ("fmul.s", (f32(2**-126), f32(0.5)), 0x00400000, 0),
        ("fmul.s", (0x00000001, f32(0.5)), 0, UF | NX),
        ("fmul.s", (0x7F7FFFFF, f32(2)), INF_S, OF | NX),
        ("fdiv.s", (f32(-1), 0), 0xFF800000, DZ),
        ("fdiv.s", (0, 0), NAN["s"], NV),
        ("fsqrt.s", (f32(-4),), NAN["s"], NV),
        ("fsqrt.s", (MINUS_ZERO_S,), MINUS_ZERO_S, 0),
        ("fmadd.s", (INF_S, 0, NAN["s"]), NAN["s"], NV),
        ("fadd.s", (0xFFC12345, f32(1)), NAN["s"], 0),
        ("fadd.s", (SNAN_S, f32(1)), NAN["s"], NV),
        ("fmin.s", (0, MINUS_ZERO_S), MINUS_ZERO_S, 0),
        ("fmax.s", (MINUS_ZERO_S, 0), 0, 0),
        ("fmin.s", (SNAN_S, f32(7)), f32(7), NV),
        ("fmax.s", (0xFFC12345, 0xFFC12345), NAN["s"], 0),
        ("fminm.s", (0xFFC12345, f32(7)), NAN["s"], 0),
        ("fsgnj.s", (SNAN_S, MINUS_ZERO_S), SNAN_S | 1 << 31, 0),
        ("fsgnjn.s", (f32(1), f32(1)), f32(-1), 0),
        ("fsgnjx.s", (f32(-1), f32(-1)), f32(1), 0),
        ("fround.s", (f32(-0.5),), MINUS_ZERO_S, 0),
        ("froundnx.s", (f32(2.5),), f32(2), NX),
        ("fround.s", (SNAN_S,), NAN["s"], NV),
    ],
)
def test_values_and_flags(name, operands, expected, flags):
    assert result(name, *operands) == (expected, flags)


def test_tininess_is_detected_after_rounding():
    """F 2: half a unit below the least normal number is tiny, although it rounds up to that one;
    2**-23 units below it is not, as 24 bits without a least exponent round up as well."""
    assert result("fmul.s", f32(2**-126), 0x3F7FFFFF) == (0x00800000, UF | NX)
    assert result("fmul.s", 0x007FFFFF, f32(1 + 2**-23)) == (0x00800000, NX)
    assert result("fmul.s", f32(2**-126), 0x3F7FFFFE) == (0x007FFFFF, 0)


@pytest.mark.parametrize("letter", "hsd")
def test_rounding_modes(letter):
    """2.5 and -2.5 in rne, rtz, rdn, rup, rmm, as static field and through frm."""
    for value, expected in ((2.5, [2, 2, 2, 3, 3]), (-2.5, [-2, -2, -3, -2, -3])):
        bits = {"h": int.from_bytes(struct.pack("<e", value), "little"),
                "s": f32(value), "d": f64(value)}[letter]  # fmt: skip
        for mode, integer in enumerate(expected):
            for rm, frm in ((mode, 7), (7, mode)):
                state = run(f"fcvt.w.{letter}", bits, width=WIDTH[letter], rm=rm, frm=frm)
                assert (state.x[8], state.fflags) == (integer & M64, NX)


@pytest.mark.parametrize(("rm", "frm"), [(5, 0), (6, 0), (7, 5), (7, 6), (7, 7)])
def test_reserved_modes_trap(rm, frm):
    """F 2: exact conversions check their field as the others do."""
    for name in ("fadd.s", "fmadd.d", "fcvt.d.s", "fcvt.d.w", "fround.h"):
        with pytest.raises(OracleTrap) as caught:
            run(name, 0, 0, 0, rm=rm, frm=frm)
        assert caught.value.cause == 2
    assert run("fmin.s", 0, 0, frm=7).fflags == 0


def test_badly_boxed_operands_are_nan():
    """D 2"""
    state = new_state()
    state.f[1] = f32(1)
    state.f[2] = boxed(f32(1), 32)
    fields = {"fd": 8, "rd": 8, "fs1": 1, "fs2": 2, "rm": 0}
    execute("fadd.s", state, fields)
    assert (state.f[8], state.fflags) == (boxed(NAN["s"], 32), 0)
    execute("fsgnj.s", state, fields)
    assert state.f[8] == boxed(NAN["s"], 32)
    execute("fclass.s", state, fields)
    assert state.x[8] == 1 << 9
    execute("fcvt.w.s", state, fields)
    assert (state.x[8], state.fflags) == (0x7FFFFFFF, NV)
    execute("fmv.x.w", state, fields)
    assert state.x[8] == f32(1)
    execute("fcvt.d.h", state, {**fields, "fs1": 2})
    assert state.f[8] == NAN["d"]


@pytest.mark.parametrize(
    ("name", "value", "expected", "flags"),
    [
        ("fcvt.w.s", f32(-3e9), -(2**31), NV),
        ("fcvt.wu.s", f32(-1), 0, NV),
        ("fcvt.wu.s", f32(-0.9), 0, NX),
        ("fcvt.wu.s", f32(3e9), 3000000000 - 2**32, 0),
        ("fcvt.wu.s", NAN["s"], -1, NV),
        ("fcvt.l.s", 0xFFC00000, 2**63 - 1, NV),
        ("fcvt.l.s", 0xFF800000, -(2**63), NV),
        ("fcvt.lu.s", INF_S, -1, NV),
        ("fclass.s", 0xFF800000, 1, 0),
        ("fclass.s", 0x80000001, 1 << 2, 0),
        ("fclass.s", MINUS_ZERO_S, 1 << 3, 0),
        ("fclass.s", f32(1), 1 << 6, 0),
        ("fclass.s", SNAN_S, 1 << 8, 0),
    ],
)
def test_results_in_integer_registers(name, value, expected, flags):
    state = run(name, value, rm=1)
    assert (state.x[8], state.fflags) == (expected & M64, flags)


def test_compares():
    """F 8: flt and fle raise NV for quiet NaNs, feq and the Zfa forms for signaling ones only."""
    for name, one_two, two_two, quiet in (
        ("feq", 0, 1, 0),
        ("flt", 1, 0, NV),
        ("fle", 1, 1, NV),
        ("fltq", 1, 0, 0),
        ("fleq", 1, 1, 0),
    ):
        assert run(f"{name}.s", f32(1), f32(2)).x[8] == one_two
        assert run(f"{name}.s", f32(2), f32(2)).x[8] == two_two
        state = run(f"{name}.s", NAN["s"], f32(2))
        assert (state.x[8], state.fflags) == (0, quiet)
        assert run(f"{name}.s", SNAN_S, f32(2)).fflags == NV
    assert run("feq.s", 0, MINUS_ZERO_S).x[8] == 1
    assert run("flt.s", 0xFF800000, 0xFF7FFFFF).x[8] == 1


def test_conversions_between_formats():
    state = run("fcvt.bf16.s", 0x3F808000)
    assert (state.f[8], state.fflags) == (boxed(0x3F80, 16), NX)
    assert run("fcvt.bf16.s", 0x3F818000).f[8] == boxed(0x3F82, 16)
    assert run("fcvt.bf16.s", SNAN_S).f[8] == boxed(0x7FC0, 16)
    assert run("fcvt.s.bf16", 0x3F81, width=16).f[8] == boxed(0x3F810000, 32)
    state = run("fcvt.h.d", f64(65520), width=64)
    assert (state.f[8], state.fflags) == (boxed(0x7C00, 16), OF | NX)
    state = run("fcvt.h.s", f32(2**-25))
    assert (state.f[8], state.fflags) == (boxed(0, 16), UF | NX)
    assert run("fcvt.d.s", SNAN_S).fflags == NV


def test_fcvtmod():
    """Zfa: the low bits of the integer, and the flags of fcvt.w.d."""
    for value, expected, flags in (
        (f64(2**32 + 5), 5, NV),
        (f64(2**31), -(2**31), NV),
        (f64(-1.5), -1, NX),
        (f64(-(2.0**40) - 3), -3, NV),
        (f64(float("inf")), 0, NV),
        (f64(2.0**1000), 0, NV),
    ):
        state = run("fcvtmod.w.d", value, width=64, rm=1)
        assert (state.x[8], state.fflags) == (expected & M64, flags)


def test_load_immediate():
    """Zfa: the table, which is in order but for its first and last entries."""
    state = new_state()
    values = []
    for uimm in range(32):
        execute("fli.d", state, {"fd": 8, "uimm": uimm})
        values.append(struct.unpack("<d", state.f[8].to_bytes(8, "little"))[0])
    assert values[:10] == [
        -1.0, 2.0**-1022, 2.0**-16, 2.0**-15, 2.0**-8, 2.0**-7, 0.0625, 0.125, 0.25, 0.3125,
    ]  # fmt: skip
    assert values[10:21] == [0.375, 0.4375, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 1.75, 2]
    assert values[21:31] == [2.5, 3, 4, 8, 16, 128, 256, 32768, 65536, float("inf")]
    assert state.f[8] == NAN["d"]
    for uimm, half in ((1, 0x0400), (2, 0x0100), (3, 0x0200), (28, 0x7800), (29, 0x7C00)):
        execute("fli.h", state, {"fd": 8, "uimm": uimm})
        assert state.f[8] == boxed(half, 16)


def test_loads_stores_and_moves():
    state = new_state()
    state.mem.data[8:16] = bytes.fromhex("0001020304050687")
    state.x[2] = state.x[9] = 0x1000
    for name, low, width in (("flh", 0x0100, 16), ("flw", 0x03020100, 32)):
        execute(name, state, {"fd": 1, "rs1": 9, "imm": 8})
        assert state.f[1] == boxed(low, width)
    for name in ("fld", "c.fld", "c.fldsp"):
        state.f[1] = 0
        execute(name, state, {"fd": 1, "rs1": 9, "imm": 8})
        assert state.f[1] == 0x8706050403020100
    for name, size in (("fsh", 2), ("fsw", 4), ("fsd", 8), ("c.fsd", 8), ("c.fsdsp", 8)):
        state.mem.data[16:24] = bytes(8)
        execute(name, state, {"fs2": 1, "rs1": 9, "imm": 16})
        expected = bytes(state.mem.data[8 : 8 + size]) + bytes(8 - size)
        assert bytes(state.mem.data[16:24]) == expected
    execute("fmv.x.d", state, {"rd": 5, "fs1": 1})
    assert state.x[5] == state.f[1]
    state.x[5] = 0x80008000
    for letter, width in (("h", 16), ("w", 32), ("d", 64)):
        execute(f"fmv.{letter}.x", state, {"fd": 3, "rs1": 5})
        assert state.f[3] == boxed(0x80008000 & (1 << width) - 1, width)
    execute("fmv.h.x", state, {"fd": 3, "rs1": 5})
    execute("fmv.x.h", state, {"rd": 6, "fs1": 3})
    assert state.x[6] == -0x8000 & M64


def test_flags_accrue_in_the_csr():
    state = new_state()
    state.csr |= {1: NV, 2: 1, 3: 0}
    state.f[1], state.f[2] = f64(1), f64(3)
    execute("fdiv.d", state, {"fd": 3, "fs1": 1, "fs2": 2, "rm": 7})
    execute("csrrs", state, {"rd": 5, "csr": 3, "rs1": 0})
    assert (state.x[5], state.f[3]) == (1 << 5 | NV | NX, f64(1 / 3))
