"""Classes of ctypes for C types, and C types for what users of ctypes and NumPy write."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from rvsim.guest.c_types import (
    DOUBLE,
    INT,
    LONG,
    VOID,
    Array,
    Field,
    Float,
    Function,
    Integer,
    Pointer,
    Structure,
    Vector,
    promoted,
)
from rvsim.verifier.ctypes_classes import class_of
from rvsim.verifier.python_types import type_from, type_of_value

FLOAT = Float("float", 4, "f32")
HALF = Float("_Float16", 2, "f16")
SHORT = Integer("short", 2, True)
UNSIGNED = Integer("unsigned int", 4, False)
INT128 = Integer("__int128", 16, True)


def test_a_structure_has_its_fields_where_the_guest_has_them():
    inner = Structure("inner", 4, 2, (Field("a", SHORT, 0), Field("b", Array(SHORT, 1), 2)))
    fields = (Field("n", LONG, 0), Field("inner", Array(inner, 2), 8), Field("x", FLOAT, 16))
    made = class_of(Structure("s", 24, 8, (*fields, Field("p", Pointer(VOID), 24)), False))
    assert made is not None
    value = class_of(Structure("s", 24, 8, fields))(n=-1, x=0.5)
    value.inner[1].b[0] = 7
    assert bytes(value) == b"\xff" * 8 + bytes(6) + b"\7\0" + b"\0\0\0\x3f" + bytes(4)


def test_a_class_is_made_once():
    type = Structure("s", 4, 4, (Field("n", INT, 0),))
    assert class_of(type) is class_of(type)
    assert type_from(class_of(type)) is type


@pytest.mark.parametrize("offset", [0, 3, 4, 7])
def test_bit_fields_may_be_anywhere(offset: int):
    """`ctypes` puts the first field at bit 0, so other places need a class of our own."""
    fields = (
        Field("a", UNSIGNED, offset // 8, offset % 8, 5),
        Field("b", INT, (offset + 5) // 8, (offset + 5) % 8, 12),
    )
    value = class_of(Structure("s", 4, 4, fields))(a=21, b=-3)
    assert int.from_bytes(bytes(value), "little") == (21 | (-3 & 0xFFF) << 5) << offset
    assert (value.a, value.b) == (21, -3)


def test_packed_structures_and_formats_that_ctypes_lacks():
    fields = (
        *(Field("c", Integer("char", 1, False), 0), Field("n", LONG, 1), Field("h", HALF, 9)),
        *(Field("w", INT128, 11), Field("b", Float("__bf16", 2, "bf16"), 27)),
    )
    made = class_of(Structure("s", 29, 1, fields))
    value = made(b"a", -2, 1.5, -3, 1.0)
    assert bytes(value) == b"a\xfe" + b"\xff" * 7 + b"\0\x3e\xfd" + b"\xff" * 15 + b"\x80\x3f"
    assert (value.c, value.n, value.h, value.w, value.b) == (b"a", -2, 1.5, -3, 1.0)
    assert repr(value) == "s(c=b'a', n=-2, h=np.float16(1.5), w=-3, b=np.float32(1.0))"
    with pytest.raises(ValueError, match=r"h is 100000\.0, too large for _Float16"):
        value.h = 1e5


def test_unions_and_parts_without_a_name():
    union = Structure("", 8, 8, (Field("i", INT, 0), Field("d", DOUBLE, 0)), is_union=True)
    made = class_of(Structure("s", 16, 8, (Field("kind", INT, 0), Field("", union, 8))))
    value = made(kind=1, d=-2.0)
    assert value.d == -2.0
    assert bytes(value)[8:] == bytes(7) + b"\xc0"


def test_names_that_classes_have_already_get_an_underscore():
    fields = tuple(
        Field(name, INT, 4 * n) for n, name in enumerate(["_fields_", "c_type", "x", "x"])
    )
    assert class_of(Structure("s", 16, 4, fields)).c_names == ("_fields__", "_c_type_", "x", "_x_")


def test_a_list_points_to_itself():
    node = Structure("node", 16, 8)
    node.fields = (Field("next", Pointer(node), 0), Field("v", INT, 8))
    assert class_of(node)(next=0x1000, v=3).next == 0x1000


def test_wrong_fields_are_named():
    made = class_of(Structure("s", 4, 4, (Field("n", INT, 0),)))
    with pytest.raises(TypeError, match="s has no field 'm', it has n"):
        made(m=1)
    with pytest.raises(TypeError, match="s has 1 fields"):
        made(1, 2)


def test_what_cannot_be_a_class_says_so():
    with pytest.raises(TypeError, match="vint8m1_t has no class of ctypes"):
        class_of(Vector("vint8m1_t", 8, 0))
    with pytest.raises(ValueError, match="too many for a value in Python"):
        class_of(Array(INT, 1 << 40))
    overlapping = Structure("s", 8, 8, (Field("a", LONG, 0), Field("b", INT, 4)))
    with pytest.raises(ValueError, match="fields of s overlap"):
        class_of(overlapping)


@pytest.mark.parametrize(
    ("written", "type"),
    [
        (None, VOID),
        (int, LONG),
        (float, DOUBLE),
        (bool, Integer("_Bool", 1, False)),
        (ctypes.c_int, INT),
        (ctypes.c_uint32, UNSIGNED),
        (ctypes.c_size_t, Integer("unsigned long", 8, False)),
        (ctypes.c_int8, Integer("signed char", 1, True)),
        (ctypes.c_char, Integer("char", 1, False)),
        (ctypes.c_float, FLOAT),
        (ctypes.c_longdouble, Float("long double", 16, "f128")),
        (ctypes.c_void_p, Pointer(VOID)),
        (ctypes.c_char_p, Pointer(Integer("char", 1, False))),
        (ctypes.POINTER(ctypes.c_float), Pointer(FLOAT)),
        (ctypes.c_int * 3, Array(INT, 3)),
        (np.int16, SHORT),
        (np.dtype(np.float16), HALF),
        (np.dtype((np.int32, (2, 3))), Array(Array(INT, 3), 2)),
        (np.ctypeslib.ndpointer(np.int32), Pointer(INT)),
        (INT, INT),
    ],
)
def test_what_users_write_is_a_type(written: object, type: object):
    assert type_from(written) == type


def test_a_callback_is_a_pointer_to_a_function():
    found = type_from(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p))
    assert isinstance(found, Pointer)
    assert isinstance(found.target, Function)
    assert (found.target.result, [p.type for p in found.target.parameters]) == (
        INT,
        [Pointer(VOID)],
    )


def test_a_structure_of_the_users_is_kept_as_its_class():
    class Base(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int), ("b", ctypes.c_uint, 3))

    class Mine(Base):
        _fields_ = (("y", ctypes.c_double),)

    found = type_from(Mine)
    assert isinstance(found, Structure)
    assert [(f.name, f.offset, f.bit_size) for f in found.fields] == [
        *(("x", 0, None), ("b", 4, 3), ("y", 8, None))
    ]
    assert class_of(found) is Mine
    assert type_from(Mine) is found
    assert type_from(Base) is not found


def test_records_and_complex_numbers_are_structures():
    record = type_from(np.dtype([("a", "<i4"), ("b", "<f8")], align=True))
    assert isinstance(record, Structure)
    assert (record.size, record.alignment, record.fields[1].offset) == (16, 8, 8)
    number = type_from(np.complex64)
    assert isinstance(number, Structure)
    assert [f.type for f in number.fields] == [FLOAT, FLOAT]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("int *", "'int *' is no type: write one of ctypes"),
        (str, "is no type: write one of ctypes"),
        (ctypes.py_object, "py_object is an object of Python"),
        (np.dtype(">i4"), "big-endian"),
        (np.dtype("S3"), "no type of C"),
        (ctypes.c_int.__ctype_be__, "big-endian"),
    ],
)
def test_what_is_no_type_says_so(written: object, text: str):
    with pytest.raises(TypeError, match=re.escape(text)):
        type_from(written)


def test_values_have_types_where_nobody_says_any():
    array = np.zeros(3, np.float32)
    assert type_of_value(array) == Pointer(FLOAT)
    array.flags.writeable = False
    assert type_of_value(array) == Pointer(FLOAT, const=True)
    assert type_of_value(5) == LONG
    assert type_of_value(1 << 63) == Integer("unsigned long", 8, False)
    assert promoted(type_of_value(np.float32(1))) == DOUBLE
    assert promoted(type_of_value(np.int8(1))) == INT
