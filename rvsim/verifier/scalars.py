"""Numbers: from Python's to the bytes of a type of C, and back."""

from __future__ import annotations

import ctypes
import math
import operator
import struct
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from rvsim.errors import did_you_mean
from rvsim.guest.c_types import Enumeration, Float, FloatFormat, Integer
from rvsim.verifier.float_bits import from_bf16, from_f128, to_bf16, to_f128

BOOL: Final = Integer("_Bool", 1, False)
_BOOLS: Final = frozenset({BOOL.name, "bool"})
"""What C and C++ call the type whose only values are 0 and 1."""

_CHAR: Final = "char"

_LONGEST: Final = 60


def encode_number(name: str, value: Any, type: Integer | Enumeration | Float) -> bytes:
    """The bytes of a number, little-endian; `name` is the argument's, for errors.

    Raises TypeError for what is no such number, ValueError for what the type cannot hold.

    >>> encode_number("n", -2, Integer("short", 2, True))
    b'\\xfe\\xff'
    """
    if isinstance(type, Float):
        return _encode_float(name, value, type)
    if value.__class__ is not int:
        value = _as_int(name, value, type)
    if type.name in _BOOLS and value not in (0, 1):
        raise ValueError(f"{name} is {value}, but a {type.name} is 0 or 1: pass bool({name})")
    try:
        content: bytes = value.to_bytes(type.size, "little", signed=type.signed)
    except OverflowError:
        raise ValueError(f"{name} is {shown(value)}, {_why_not(value, type)}") from None
    return content


def decode_number(type: Integer | Enumeration | Float, content: bytes) -> Any:
    """The Python value of a number: int, bool or float, or a NumPy scalar of 16 bits.

    >>> decode_number(Integer("short", 2, True), b"\\xfe\\xff")
    -2
    """
    if isinstance(type, Float):
        return _FROM_BYTES[type.format](content)
    value = int.from_bytes(content, "little", signed=type.signed)
    return bool(value) if type.name in _BOOLS else value


def shown(value: Any) -> str:
    """A value as an error quotes it."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _as_int(name: str, value: Any, type: Integer | Enumeration) -> int:
    if isinstance(value, ctypes._SimpleCData):
        value = value.value
    if isinstance(type, Enumeration) and isinstance(value, str):
        if value not in type.values:
            hint = did_you_mean(value, type.values)
            raise ValueError(f"{name} is {value!r}, no name of {type.name}: {hint}")
        return type.values[value]
    if type.name == _CHAR and isinstance(value, bytes) and len(value) == 1:
        return value[0]
    try:
        return int(value) if isinstance(value, np.bool_) else operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, not {_a(type)}: {_to_int(value)}") from None


def _to_int(value: Any) -> str:
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            return "no integer is like it"
        return f"pass {int(value)} or {math.ceil(value)}" if value % 1 else f"pass {int(value)}"
    if isinstance(value, np.ndarray):
        return "it takes one number, and arrays go to pointers"
    return "pass an int"


def _why_not(value: int, type: Integer | Enumeration) -> str:
    bits = 8 * type.size
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type.signed else (0, (1 << bits) - 1)
    if value < 0 and not type.signed:
        why, hint = f"negative, but {type.name} is unsigned", f"pass {value % (1 << bits)}"
        if value >= -(1 << bits - 1):
            return f"{why}: {hint} for the same bits"
        return f"{why}: it goes from {low} to {high}"
    return f"too wide for {type.name}: it goes from {low} to {high}"


def _a(type: Integer | Enumeration | Float) -> str:
    kind = "a floating-point number" if isinstance(type, Float) else "an integer"
    return f"{kind} ({type.name})"


def _encode_float(name: str, value: Any, type: Float) -> bytes:
    if isinstance(value, np.generic) and _is_format(value.dtype, type.format):
        return value.tobytes()  # with the payload of a NaN
    number = _as_float(name, value, type)
    try:
        content = _TO_BYTES[type.format](number)
    except OverflowError:
        content = None
    if content is None or (
        math.isinf(_FROM_BYTES[type.format](content)) and not math.isinf(number)
    ):
        raise ValueError(
            f"{name} is {shown(value)}, too large for {type.name}: pass inf if you mean infinity"
        )
    return content


def _as_float(name: str, value: Any, type: Float) -> float:
    if isinstance(value, ctypes._SimpleCData):
        value = value.value
    if isinstance(value, int | float | np.number | np.bool_) and not isinstance(
        value, np.complexfloating
    ):
        try:
            return float(value)
        except OverflowError:
            text = f"{name} is {shown(value)}, too large for {type.name}"
            raise ValueError(f"{text}: pass inf if you mean infinity") from None
    if isinstance(value, np.generic) and _is_format(value.dtype, "bf16"):
        return float(value)
    raise TypeError(f"{name} is {shown(value)}, not {_a(type)}: pass a float")


def _is_format(dtype: np.dtype[Any], format: FloatFormat) -> bool:
    return dtype == _DTYPES.get(format) or (format == "bf16" and dtype.name == "bfloat16")


_DTYPES: Final[Mapping[FloatFormat, np.dtype[Any]]] = {
    **{"f16": np.dtype("<f2"), "f32": np.dtype("<f4"), "f64": np.dtype("<f8")}
}


@cache
def bfloat16() -> np.dtype[Any] | None:
    """NumPy's dtype of bfloat16, if the package that has it is installed."""
    try:
        extra_types = import_module("ml_dtypes")
    except ImportError:
        return None
    found: np.dtype[Any] = np.dtype(extra_types.bfloat16)
    return found


_TO_BYTES: Final[Mapping[FloatFormat, Callable[[float], bytes]]] = {
    "f16": struct.Struct("<e").pack,
    "bf16": lambda value: to_bf16(value).to_bytes(2, "little"),
    "f32": struct.Struct("<f").pack,
    "f64": struct.Struct("<d").pack,
    "f128": lambda value: to_f128(value).to_bytes(16, "little"),
}


def _from_bf16(content: bytes) -> Any:
    dtype = bfloat16()
    if dtype is not None:
        return np.frombuffer(content, dtype)[0]
    return np.float32(from_bf16(int.from_bytes(content, "little")))


_FROM_BYTES: Final[Mapping[FloatFormat, Callable[[bytes], Any]]] = {
    "f16": lambda content: np.frombuffer(content, "<f2")[0],
    "bf16": _from_bf16,
    "f32": lambda content: struct.unpack("<f", content)[0],
    "f64": lambda content: struct.unpack("<d", content)[0],
    "f128": lambda content: from_f128(int.from_bytes(content, "little")),
}
