"""Values of Python as bytes of C, and back; what is wrong with a value is said with its name."""

from __future__ import annotations

import ctypes
import math
import re
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.guest.c_types import (
    DOUBLE,
    INT,
    LONG,
    VOID,
    Array,
    Enumeration,
    Field,
    Float,
    Integer,
    Pointer,
    Structure,
    Vector,
)
from rvsim.verifier.ctypes_classes import class_of
from rvsim.verifier.float_bits import from_bf16, from_f128, to_bf16, to_f128
from rvsim.verifier.values import decode, encode

UNSIGNED = Integer("unsigned int", 4, False)
CHAR = Integer("char", 1, False)
BOOL = Integer("_Bool", 1, False)
FLOAT = Float("float", 4, "f32")
HALF = Float("_Float16", 2, "f16")
BF16 = Float("__bf16", 2, "bf16")
QUAD = Float("long double", 16, "f128")
COLOR = Enumeration("color", 4, False, {"RED": 1, "GREEN": 2})
POINT = Structure("point", 8, 4, (Field("x", INT, 0), Field("y", FLOAT, 4)))


@pytest.mark.parametrize(
    ("value", "type", "content"),
    [
        (-1, INT, b"\xff\xff\xff\xff"),
        (np.int16(-2), LONG, b"\xfe" + b"\xff" * 7),
        (np.True_, BOOL, b"\1"),
        (True, INT, b"\1\0\0\0"),
        (ctypes.c_int(5), INT, b"\5\0\0\0"),
        (b"a", CHAR, b"a"),
        ("GREEN", COLOR, b"\2\0\0\0"),
        (7, COLOR, b"\7\0\0\0"),
        (None, Pointer(VOID), bytes(8)),
        (0x1000, Pointer(INT), b"\0\x10" + bytes(6)),
        (0.1, FLOAT, struct.pack("<f", 0.1)),
        (3, DOUBLE, struct.pack("<d", 3)),
        (np.float32(1.5), HALF, b"\0\x3e"),
        (1.0, BF16, b"\x80\x3f"),
        (math.inf, HALF, b"\0\x7c"),
        (-2.0, QUAD, bytes(15) + b"\xc0"),
        (np.array([0x7F800001], np.uint32).view(np.float32)[0], FLOAT, b"\1\0\x80\x7f"),
    ],
)
def test_a_value_becomes_its_bytes(value: object, type: object, content: bytes):
    assert encode("p", value, type) == content  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "type", "error", "text"),
    [
        (
            -1,
            UNSIGNED,
            ValueError,
            "p is -1, negative, but unsigned int is unsigned: pass 4294967295",
        ),
        (1 << 32, UNSIGNED, ValueError, "too wide for unsigned int: it goes from 0 to 4294967295"),
        (1 << 31, INT, ValueError, "from -2147483648 to 2147483647"),
        (2.5, INT, TypeError, "p is 2.5, not an integer (int): pass 2 or 3"),
        (2.0, INT, TypeError, "pass 2"),
        (math.nan, INT, TypeError, "p is nan, not an integer (int): no integer is like it"),
        ("x", INT, TypeError, "p is 'x', not an integer (int): pass an int"),
        (np.zeros(3), INT, TypeError, "arrays go to pointers"),
        (2, BOOL, ValueError, "p is 2, but a _Bool is 0 or 1: pass bool(p)"),
        ("GREN", COLOR, ValueError, "p is 'GREN', no name of color: did you mean 'GREEN'?"),
        (1e39, FLOAT, ValueError, "p is 1e+39, too large for float: pass inf"),
        (70000.0, HALF, ValueError, "too large for _Float16"),
        (3.4e38, BF16, ValueError, "too large for __bf16"),
        (10**400, DOUBLE, ValueError, "too large for double"),
        ("1", DOUBLE, TypeError, "p is '1', not a floating-point number (double): pass a float"),
        (1j, DOUBLE, TypeError, "pass a float"),
        (
            3,
            POINT,
            TypeError,
            "p is 3, not a struct point: make one of program.types['point'](x, y)",
        ),
    ],
)
def test_what_is_wrong_is_said(value: object, type: object, error: type[Exception], text: str):
    with pytest.raises(error, match=re.escape(text)):
        encode("p", value, type)  # type: ignore[arg-type]


def test_bytes_become_values():
    assert decode(INT, b"\xfe\xff\xff\xff") == -2
    assert decode(BOOL, b"\1") is True
    assert decode(COLOR, b"\2\0\0\0") == 2
    assert decode(DOUBLE, struct.pack("<d", 0.1)) == 0.1
    assert decode(VOID, b"") is None
    assert decode(Pointer(INT), b"\0\x10" + bytes(6)) == 0x1000
    half = decode(HALF, b"\0\x3e")
    assert (half, half.dtype) == (1.5, np.float16)
    assert decode(BF16, b"\x80\x3f") == 1.0
    assert decode(QUAD, bytes(15) + b"\xc0") == -2.0
    point = decode(POINT, struct.pack("<if", 3, 0.5))
    assert (point.x, point.y) == (3, 0.5)
    assert list(decode(Array(INT, 2), struct.pack("<2i", 3, 4))) == [3, 4]


def test_structures_are_taken_from_their_class_a_like_one_or_a_record():
    class Mine(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_float))

    class Other(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int), ("z", ctypes.c_float))

    content = struct.pack("<if", 3, 0.5)
    record = np.array((3, 0.5), [("x", "<i4"), ("y", "<f4")])
    for value in (class_of(POINT)(3, 0.5), Mine(3, 0.5), record, record[()]):
        assert encode("p", value, POINT) == content
    with pytest.raises(TypeError, match="p is a Other of other fields, not a struct point"):
        encode("p", Other(), POINT)


def test_vectors_are_arrays_and_masks_arrays_of_bool():
    type = Vector("vuint16m1_t", 16, 0)
    value = np.arange(8, dtype=np.uint16)
    assert (decode(type, encode("v", value, type)) == value).all()
    mask = Vector("vbool8_t", 1, -3)
    bits = np.array([1, 0, 0, 1, 1, 0, 0, 0], np.bool_)
    assert encode("m", bits, mask) == b"\x19"
    assert (decode(mask, b"\x19") == bits).all()
    pair = Vector("vint8m1x2_t", 8, 0, 2)
    assert decode(pair, bytes(range(32))).tolist() == [list(range(16)), list(range(16, 32))]
    with pytest.raises(TypeError, match=r"v is .* but vuint16m1_t takes an array of uint16"):
        encode("v", value.astype(np.int16), type)


@given(st.integers(0, 0xFFFF))
def test_bfloat16_is_the_upper_half_of_a_float(bits: int):
    (value,) = struct.unpack("<f", struct.pack("<I", bits << 16))
    found = from_bf16(bits)
    assert found == value or (math.isnan(found) and math.isnan(value))
    assert math.isnan(found) or to_bf16(found) == bits


@given(st.floats(allow_nan=False, min_value=-3e38, max_value=3e38))
def test_the_nearest_bfloat16_is_taken(value: float):
    bits = to_bf16(value)
    off = abs(Fraction(from_bf16(bits)) - Fraction(value))
    for other in (bits - 1, bits + 1):
        if (other ^ bits) >> 15 == 0 and math.isfinite(from_bf16(other & 0xFFFF)):
            other_off = abs(Fraction(from_bf16(other)) - Fraction(value))
            assert off < other_off or (off == other_off and bits % 2 == 0)


@given(st.floats(allow_nan=False))
def test_binary128_keeps_doubles(value: float):
    assert from_f128(to_f128(value)) == value
