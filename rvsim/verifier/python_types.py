"""Types of C that Python programs write down: in `ctypes`, NumPy and Python itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rvsim.guest.c_types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    LONG_DOUBLE,
    VOID,
    Array,
    Field,
    Float,
    Function,
    Integer,
    Parameter,
    Pointer,
    Structure,
    Type,
    alignment_of,
    complex_of,
)
from rvsim.verifier.scalars import BOOL, shown

_CHAR: Final = Integer("char", 1, False)
_INTEGERS: Final = {
    **{(1, True): Integer("signed char", 1, True), (1, False): Integer("unsigned char", 1, False)},
    **{(2, True): Integer("short", 2, True), (2, False): Integer("unsigned short", 2, False)},
    **{(4, True): INT, (4, False): Integer("unsigned int", 4, False)},
    **{(8, True): LONG, (8, False): Integer("unsigned long", 8, False)},
}
_FLOATS: Final = {
    **{"float16": Float("_Float16", 2, "f16"), "bfloat16": Float("__bf16", 2, "bf16")},
    **{"float32": FLOAT, "float64": DOUBLE},
}
_OF_CTYPES: Final[dict[str, Type]] = {
    **{"?": BOOL, "c": _CHAR, "u": INT, "f": FLOAT, "d": DOUBLE},
    **{"g": LONG_DOUBLE, "P": Pointer(VOID)},
    **{"z": Pointer(_CHAR), "Z": Pointer(INT)},
}
_CALLBACK: Final = ctypes.CFUNCTYPE(None).__mro__[1]
"""What all types of callbacks are subclasses of."""

_OF_PYTHON: Final[dict[type, Type]] = {bool: BOOL, int: LONG, float: DOUBLE}


def type_from(written: Any) -> Type:
    """The type of C for what a user writes as one: a `ctypes` class, a dtype, int, float or None.

    Raises TypeError if it is none of those.

    >>> type_from(ctypes.POINTER(ctypes.c_float)).target.name, type_from(np.int8).name
    ('float', 'signed char')
    """
    if isinstance(written, Type):
        return written
    if written is None:
        return VOID
    if isinstance(written, np.dtype):
        return _of_dtype(written)
    if isinstance(written, type):
        if written in _OF_PYTHON:
            return _OF_PYTHON[written]
        for base, of_class in _OF_CLASSES:
            if issubclass(written, base):
                return of_class(written)
    raise TypeError(
        f"{shown(written)} is no type: write one of ctypes (c_int, POINTER(c_float)),"
        " a NumPy dtype, int, float or None"
    )


def type_of_value(value: Any) -> Type:
    """The type that a value is passed as where nobody has said which: an array by pointer.

    Raises TypeError if it has none.

    >>> type_of_value(3).name, type_of_value(np.zeros(4, np.int16)).target.name
    ('long', 'short')
    """
    if isinstance(value, np.ndarray):
        return Pointer(_of_dtype(value.dtype), const=not value.flags.writeable)
    if isinstance(value, bytes | bytearray | memoryview):
        return Pointer(_CHAR, const=isinstance(value, bytes))
    if isinstance(value, int) and value >= 1 << 63:
        return _INTEGERS[8, False]
    if value is None:
        return Pointer(VOID)
    return type_from(value.__class__)


def _of_simple(written: Any) -> Type:
    code = written._type_
    if getattr(written, "__ctype_le__", written) is not written:
        raise TypeError(f"{written.__name__} is big-endian: the guest is little-endian")
    if code in _OF_CTYPES:
        return _OF_CTYPES[code]
    if code == "O":
        raise TypeError(f"{written.__name__} is an object of Python: the guest has none")
    return _INTEGERS[ctypes.sizeof(written), code.islower()]


def _of_array(written: Any) -> Type:
    return Array(type_from(written._type_), written._length_)


def _of_pointer(written: Any) -> Type:
    return Pointer(type_from(written._type_))


def _of_callback(written: Any) -> Type:
    types = enumerate(map(type_from, written._argtypes_), start=1)
    parameters = tuple(Parameter(f"argument {number}", each) for number, each in types)
    return Pointer(Function(type_from(written._restype_), parameters))


def _of_structure(written: Any) -> Type:
    """Of a class of `ctypes`, always the same one, so that values come back as that class."""
    if "c_type" not in written.__dict__:
        name = written.__name__
        if hasattr(written, "_swappedbytes_"):
            raise TypeError(f"{name} is big-endian: the guest is little-endian")
        is_union = issubclass(written, ctypes.Union)
        size, alignment = ctypes.sizeof(written), ctypes.alignment(written)
        written.c_type = made = Structure(name, size, alignment, (), is_union, written)
        made.fields = tuple(_field(written, *each) for each in _fields(written))
    found: Structure = written.c_type
    return found


def _fields(written: Any) -> list[Any]:
    """Those of its base classes first."""
    classes = [c for c in reversed(written.__mro__) if "_fields_" in c.__dict__]
    return [each for c in classes for each in c._fields_]


def _field(written: Any, name: str, of: Any, bits: int | None = None) -> Field:
    found = getattr(written, name)
    if bits is None:
        return Field(name, type_from(of), found.offset)
    first = 8 * found.offset + (found.size & 0xFFFF)
    return Field(name, type_from(of), first // 8, first % 8, bits)


def _of_generic(written: Any) -> Type:
    return _of_dtype(np.dtype(written))


def _of_ndpointer(written: Any) -> Type:
    return Pointer(VOID if written._dtype_ is None else _of_dtype(written._dtype_))


def _of_dtype(dtype: np.dtype[Any]) -> Type:
    if dtype.byteorder == ">":
        raise TypeError(f"{dtype} is big-endian: the guest is little-endian")
    if dtype.subdtype is not None:
        element: Type = _of_dtype(dtype.subdtype[0])
        for count in reversed(dtype.shape):
            element = Array(element, count)
        return element
    if dtype.fields is not None:
        return _of_record(dtype)
    if dtype.name in _FLOATS:
        return _FLOATS[dtype.name]
    if dtype.name.startswith("float8"):  # C has no such type: kernels take them as bytes
        return _INTEGERS[1, False]
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        return complex_of(_FLOATS[f"float{4 * dtype.itemsize}"])
    if dtype.kind == "b":
        return BOOL
    if dtype.kind in "iu":
        return _INTEGERS[dtype.itemsize, dtype.kind == "i"]
    raise TypeError(f"{dtype} is no type of C")


def _of_record(dtype: np.dtype[Any]) -> Structure:
    assert dtype.fields is not None
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names or ()]
    made = [Field(name, _of_dtype(each), offset) for name, each, offset in fields]
    alignment = max((alignment_of(f.type) for f in made), default=1) if dtype.isalignedstruct else 1
    return Structure("record", dtype.itemsize, alignment, tuple(made))


_OF_CLASSES: Final[tuple[tuple[type, Callable[[Any], Type]], ...]] = (
    (np.ctypeslib._ndptr, _of_ndpointer),  # a `c_void_p` too
    (ctypes._SimpleCData, _of_simple),
    (ctypes.Array, _of_array),
    (ctypes._Pointer, _of_pointer),
    (_CALLBACK, _of_callback),
    (ctypes.Structure, _of_structure),
    (ctypes.Union, _of_structure),
    (np.generic, _of_generic),
)
"""What a class is a subclass of, and what then gives its type."""
