"""Values of Python as the bytes of a type of C, and back: what calls pass and what they return."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

import numpy as np

from rvsim.guest.c_types import (
    Array,
    Enumeration,
    Float,
    Function,
    Integer,
    Pointer,
    Structure,
    Type,
    Vector,
)
from rvsim.verifier.ctypes_classes import class_of
from rvsim.verifier.python_types import type_from
from rvsim.verifier.scalars import bfloat16, decode_number, encode_number, shown

_ADDRESS: Final = Integer("address", 8, False)


def encode(name: str, value: Any, type: Type) -> bytes:
    """The bytes that a value has as an argument of a type; `name` is the argument's, for errors.

    Raises TypeError for a value of the wrong kind, ValueError for one that the type cannot hold.

    >>> encode("scale", 0.5, Float("float", 4, "f32")).hex()
    '0000003f'
    """
    match type:
        case Integer() | Enumeration() | Float():
            return encode_number(name, value, type)
        case Pointer() | Function():
            return encode_number(name, 0 if value is None else value, _ADDRESS)
        case Structure():
            return _structure(name, value, type)
        case Vector():
            return _vector(name, value, type)
        case Array():
            return _array(name, value, type)
    raise TypeError(f"{name} has the type {type.name}, which has no values")


def decode(type: Type, content: bytes) -> Any:
    """The value that the bytes of a type are; a pointer is a number, void is None.

    >>> decode(Float("float", 4, "f32"), bytes.fromhex("0000003f"))
    0.5
    """
    match type:
        case Integer() | Enumeration() | Float():
            return decode_number(type, content)
        case Pointer() | Function():
            return int.from_bytes(content, "little")
        case Structure() | Array():
            return class_of(type).from_buffer_copy(content)
        case Vector():
            return _elements(type, content)
    return None


def _structure(name: str, value: Any, type: Structure) -> bytes:
    made = type.python_class
    if made is not None and isinstance(value, made):
        return bytes(value)
    if isinstance(value, ctypes.Structure | ctypes.Union):
        if _is_alike(type_from(value.__class__), type):
            return bytes(value)
        what = f"a {value.__class__.__name__} of other fields"
    elif isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.ndim == 0):
        if _is_alike(type_from(value.dtype), type):
            return value.tobytes()
        what = f"a record with {value.dtype}"
    else:
        what = shown(value)
    kind = "union" if type.is_union else "struct"
    fields = ", ".join(f.name for f in type.fields)
    raise TypeError(
        f"{name} is {what}, not a {kind} {type.name}: make one of"
        f" program.types[{type.name!r}]({fields})"
    )


def _is_alike(one: Type, other: Type) -> bool:
    """Whether two structures have the same fields at the same places."""
    if not isinstance(one, Structure) or not isinstance(other, Structure):
        return False
    return one.size == other.size and [
        (f.name, f.offset, f.bit_offset, f.bit_size, f.type.size) for f in one.fields
    ] == [(f.name, f.offset, f.bit_offset, f.bit_size, f.type.size) for f in other.fields]


def _array(name: str, value: Any, type: Array) -> bytes:
    content = bytes(value) if isinstance(value, ctypes.Array | np.ndarray | bytes) else None
    if content is None or len(content) != type.size:
        raise TypeError(f"{name} is {shown(value)}, not an array of {type.size} bytes")
    return content


_MASK: Final = np.dtype(np.bool_)


def _dtype(type: Vector) -> np.dtype[Any]:
    if type.sew == 1:
        return _MASK
    kind = re.sub(r"^(__rvv_|v)|\d.*", "", type.name)  # vuint8m1_t: uint
    if kind == "bfloat":
        return bfloat16() or np.dtype("<u2")
    return np.dtype(f"<{dict(int='i', uint='u', float='f')[kind]}{type.sew // 8}")


def _vector(name: str, value: Any, type: Vector) -> bytes:
    """Elements of all its fields, one after another; bits of a mask, the first one lowest."""
    dtype = _dtype(type)
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise TypeError(f"{name} is {shown(value)}, but {type.name} takes an array of {dtype}")
    if dtype == _MASK:
        return np.packbits(value.ravel(), bitorder="little").tobytes()
    return value.tobytes()


def _elements(type: Vector, content: bytes) -> Any:
    if type.sew == 1:
        return np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little").astype(_MASK)
    elements = np.frombuffer(content, _dtype(type))
    return elements.reshape(type.fields, -1) if type.fields > 1 else elements
