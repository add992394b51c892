"""Types of C, as a kernel's interface has them: what debug information or `ctypes` says.

Sizes, offsets and alignments are in bytes, of the lp64d calling convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

FloatFormat = Literal["f16", "bf16", "f32", "f64", "f128"]


@dataclass(frozen=True, slots=True)
class Void:
    """No value; behind a pointer, anything."""

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
    """A member of a structure; a bit field also has its first bit and its width."""

    name: str
    type: Type
    offset: int
    bit_offset: int | None = None
    bit_size: int | None = None


@dataclass(slots=True, eq=False)
class Structure:
    """A structure or union; its `fields` may point to structures of the same type."""

    name: str
    size: int
    alignment: int
    fields: tuple[Field, ...] = field(default=(), repr=False)
    is_union: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """A type of vector registers, such as ``vint32m2_t``; a mask has an `sew` of 1 bit.

    `lmul_log2` is that of each of the `fields`, of which tuples have more than one.  It takes as
    many bytes as VLEN says: `size` is 0.
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
LONG: Final = Integer("long", 8, True)
DOUBLE: Final = Float("double", 8, "f64")
