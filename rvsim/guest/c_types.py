"""Types of C, as a kernel's interface has them: what debug information or `ctypes` says.

Sizes, offsets and alignments are in bytes, of the lp64d calling convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

FloatFormat = Literal["f16", "bf16", "f32", "f64", "f128"]


@dataclass(frozen=True, slots=True)
class Void:
    """No value; what a pointer to it points to may be anything."""

    name: str = "void"
    size: int = 0


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer, bool and char included; `name` is what C calls it, typedefs followed."""

    name: str
    size: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enum: an integer, and the names of its values."""

    name: str
    size: int
    signed: bool
    values: Mapping[str, int] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point number."""

    name: str
    size: int
    format: FloatFormat


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer; `const` says that what it points to is not written through it."""

    target: Type
    const: bool = False
    name: str = "pointer"
    size: int = 8


@dataclass(frozen=True, slots=True)
class Array:
    """So many elements, or nobody knows how many."""

    element: Type
    count: int | None
    name: str = "array"

    @property
    def size(self) -> int:
        """Of all elements; 0 if their count is not known."""
        return self.element.size * (self.count or 0)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a structure, `offset` bytes from its start.

    A bit field has `bit_size` bits from bit `bit_offset`, 0 to 7, of the byte at `offset` on.
    """

    name: str
    type: Type
    offset: int
    bit_offset: int | None = None
    bit_size: int | None = None


@dataclass(slots=True, eq=False)
class Structure:
    """A structure or union; its `fields` may point to structures of the same type.

    It is equal to itself only.  One that the debug information only declares has no fields and the
    size 0.  `python_class` is the class of `ctypes` that stands for it, once there is one.
    """

    name: str
    size: int
    alignment: int
    fields: tuple[Field, ...] = field(default=(), repr=False)
    is_union: bool = False
    python_class: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """A type of vector registers, such as ``vint32m2_t``.

    Each of its `fields`, of which tuples have more than one, has VLEN * 2^`lmul_log2` / `sew`
    elements, also in a mask: that of ``vbool8_t`` has an `sew` of 1 bit and an `lmul_log2` of -3.
    It takes as many bytes as VLEN says: `size` is 0.
    """

    name: str
    sew: int
    lmul_log2: int
    fields: int = 1
    size: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function takes."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and returns."""

    result: Type
    parameters: tuple[Parameter, ...]
    is_variadic: bool = False
    name: str = "function"
    size: int = 0


Type = Void | Integer | Enumeration | Float | Pointer | Array | Structure | Vector | Function

VOID: Final = Void()
INT: Final = Integer("int", 4, True)
LONG: Final = Integer("long", 8, True)
FLOAT: Final = Float("float", 4, "f32")
DOUBLE: Final = Float("double", 8, "f64")
LONG_DOUBLE: Final = Float("long double", 16, "f128")


def alignment_of(type: Type) -> int:
    """Bytes that addresses of the type are multiples of: at least 1.

    >>> alignment_of(LONG), alignment_of(Array(INT, 5))
    (8, 4)
    """
    while isinstance(type, Array):
        type = type.element
    return type.alignment if isinstance(type, Structure) else max(type.size, 1)


def complex_of(part: Float) -> Structure:
    """The complex numbers of a format: passed as a structure of two (psABI)."""
    fields = (Field("real", part, 0), Field("imag", part, part.size))
    return Structure(f"{part.name} _Complex", 2 * part.size, part.size, fields)


def promoted(type: Type) -> Type:
    """What a variadic argument of the type is passed as: small integers as int, float as double.

    >>> promoted(Integer("unsigned char", 1, False)).name
    'int'
    """
    if isinstance(type, Integer | Enumeration) and type.size < INT.size:
        return INT
    return DOUBLE if isinstance(type, Float) and type.format == "f32" else type
