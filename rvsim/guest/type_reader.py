"""Types as DWARF describes them (DWARF 5, 5), one entry at a time.

`rvsim.guest.debug_types` finds the entries.  What is damaged raises one of `sections.DAMAGE`.
Importing this module imports pyelftools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from elftools.common.exceptions import DWARFError
from elftools.dwarf.die import DIE

from rvsim.guest.c_types import (
    DOUBLE,
    FLOAT,
    LONG_DOUBLE,
    VOID,
    Array,
    Enumeration,
    Field,
    Float,
    FloatFormat,
    Function,
    Integer,
    Parameter,
    Pointer,
    Structure,
    Type,
    Vector,
    alignment_of,
    complex_of,
)
from rvsim.guest.debug_sections import entries_in, origin_with, text_of
from rvsim.guest.file_limits import DEEPEST_TYPE, Budget
from rvsim.guest.sections import DAMAGE

_POINTERS: Final = frozenset(
    f"DW_TAG_{name}_type" for name in ("pointer", "reference", "rvalue_reference")
)
_QUALIFIERS: Final = frozenset(
    f"DW_TAG_{name}_type" for name in ("const", "volatile", "restrict", "atomic", "immutable")
)
_STRUCTURES: Final = frozenset(
    f"DW_TAG_{name}_type" for name in ("structure", "class", "union", "interface")
)
_NOT_TYPES_OF_THEIR_OWN: Final = _QUALIFIERS | {"DW_TAG_typedef", "DW_TAG_array_type"}
_ATE_BOOLEAN, _ATE_COMPLEX_FLOAT, _ATE_FLOAT, _ATE_SIGNED, _ATE_SIGNED_CHAR = 2, 3, 4, 5, 6
_BY_REFERENCE: Final = 4
"""Calling convention of a structure (DWARF 5, 5.7.1.1)."""

_FORMATS: Final[dict[int, FloatFormat]] = {2: "f16", 4: "f32", 8: "f64", 16: "f128"}
_PARTS: Final = {2 * part.size: part for part in (FLOAT, DOUBLE, LONG_DOUBLE)}
"""Of complex numbers, by the size of the whole."""

_MOST_BYTES: Final = 1 << 48
_NO_BOUND: Final = {(1 << bits) - 1 for bits in (8, 16, 32, 64)} | {-1}
"""Upper bounds of arrays that have none."""

_SCALABLE: Final = Vector("vector", 0, 0)
"""Before a typedef has said what it is."""

_RVV: Final = re.compile(
    r"(?:__rvv_|v)(?P<kind>int|uint|float|bfloat|bool)(?P<sew>\d+)"
    r"(?:m(?P<fraction>f?)(?P<lmul>\d))?(?:x(?P<fields>\d))?_t"
)


class TypeReader:
    """Makes types of entries: the same type of the same entry.

    Structures that only pointers lead to get their fields in `finish`, so that a chain of them may
    be as long as it likes.
    """

    def __init__(self, reads: Budget) -> None:
        self._reads = reads
        self._known: dict[int, Type] = {}
        self._without_fields: dict[int, DIE] = {}
        self._declared: set[int] = set()
        self._by_reference: set[int] = set()
        """Structures, as identities, that C++ always passes by reference."""

        self._depth = 0

    def finish(self) -> None:
        """Give all structures their fields; one whose fields are damaged has none."""
        while self._without_fields:
            with suppress(*DAMAGE):
                self.read(next(iter(self._without_fields.values())))

    def of(self, entry: DIE) -> Type:
        """The type that an entry says it has: void if it says none."""
        return self.read(entry.get_DIE_from_attribute("DW_AT_type")) if _has_type(entry) else VOID

    def read(self, entry: DIE) -> Type:
        """The type that an entry is."""
        found = self._known.get(entry.offset)
        is_shell = self._without_fields.pop(entry.offset, None) is not None
        if found is None or is_shell:
            self._depth += 1
            try:
                if self._depth > DEEPEST_TYPE:
                    raise DWARFError("types within types without end")
                found = self._known[entry.offset] = self._read(entry)
            finally:
                self._depth -= 1
        return found

    def _read(self, entry: DIE) -> Type:
        tag = entry.tag
        if tag == "DW_TAG_base_type":
            return _base(entry)
        if tag == "DW_TAG_typedef":
            return self._typedef(entry)
        if tag in _QUALIFIERS:
            return self.of(entry)
        if tag in _POINTERS:
            return self._pointer(entry)
        if tag == "DW_TAG_array_type":
            return self._array(entry)
        if tag == "DW_TAG_enumeration_type":
            return self._enumeration(entry)
        if tag == "DW_TAG_subroutine_type":
            return self.function(entry)
        if tag in _STRUCTURES:
            return self._structure(entry)
        if tag == "DW_TAG_unspecified_type":
            return VOID
        raise DWARFError(f"no type: {tag}")

    def _pointer(self, pointer: DIE) -> Pointer:
        """It is const if what it points to is, or each element of that."""
        entry, tags, name = pointer, set[str](), ""
        for _ in range(DEEPEST_TYPE):
            if not _has_type(entry):
                break
            entry = entry.get_DIE_from_attribute("DW_AT_type")
            if entry.tag in _STRUCTURES and "DW_TAG_array_type" not in tags:
                return Pointer(self._shell(entry, name), "DW_TAG_const_type" in tags)
            tags.add(str(entry.tag))
            name = text_of(entry) if entry.tag == "DW_TAG_typedef" else name
            if entry.tag not in _NOT_TYPES_OF_THEIR_OWN:
                break
        return Pointer(self.of(pointer), "DW_TAG_const_type" in tags)

    def _shell(self, entry: DIE, name: str) -> Type:
        """A structure whose fields nobody needs yet; without a name of its own it gets this one."""
        if entry.offset not in self._known:
            self._known[entry.offset] = self._new(entry, name)
            self._without_fields[entry.offset] = entry
        return self._known[entry.offset]

    def _typedef(self, entry: DIE) -> Type:
        """What it stands for; a structure or enumeration without a name gets this one."""
        name = text_of(entry)
        found = self.of(entry)
        rvv = _RVV.fullmatch(name)
        if isinstance(found, Vector) and rvv:
            return _vector(name, rvv)
        if isinstance(found, Structure) and not found.name:
            found.name = name
        elif isinstance(found, Enumeration) and not found.name:
            return replace(found, name=name)
        return found

    def _array(self, entry: DIE) -> Type:
        element = self.of(entry)
        counts = [_count(each) for each in self._children(entry, "DW_TAG_subrange_type")]
        is_vector = "DW_AT_GNU_vector" in entry.attributes
        if is_vector and counts == [None]:
            return _SCALABLE
        inner, *outer = reversed(counts or [None])
        found = Array(element, inner)
        for count in outer:
            found = Array(found, count)
        if found.size > _MOST_BYTES:
            raise DWARFError(f"an array of {found.size} bytes")
        return _fixed_vector(found, element) if is_vector else found

    def _enumeration(self, entry: DIE) -> Enumeration:
        values = {
            text_of(each): _number(each, "DW_AT_const_value")
            for each in self._children(entry, "DW_TAG_enumerator")
        }
        base = self.of(entry)
        signed = base.signed if isinstance(base, Integer) else min(values.values(), default=0) < 0
        return Enumeration(text_of(entry), _number(entry, "DW_AT_byte_size"), signed, values)

    def function(self, entry: DIE) -> Function:
        """What a subprogram or a type of functions takes and returns."""
        found = []
        for number, each in enumerate(self._children(entry, "DW_TAG_formal_parameter"), start=1):
            found.append(
                Parameter(text_of(each) or f"argument {number}", self._passed(each, must=True))
            )
        is_variadic = any(self._children(entry, "DW_TAG_unspecified_parameters"))
        result = self._passed(origin_with(entry, "DW_AT_type"))
        of = text_of(origin_with(entry, "DW_AT_name")) or "function"
        return Function(result, tuple(found), is_variadic, of)

    def _passed(self, entry: DIE, *, must: bool = False) -> Type:
        """The type of a parameter or result; only results may have none."""
        found = self._said(entry) if must or _has_type(entry) else VOID
        if id(found) in self._by_reference:
            raise DWARFError(f"{found.name} is passed as C++ says")
        return found

    def _said(self, entry: DIE) -> Type:
        """The type of what has a value of it."""
        if not _has_type(entry):
            raise DWARFError(f"no type of {text_of(entry)}")
        found = part = self.of(entry)
        while isinstance(part, Array):
            part = part.element
        if id(part) in self._declared:
            raise DWARFError(f"{part.name} is only declared")
        return found

    def _children(self, entry: DIE, *tags: str) -> Iterator[DIE]:
        return (child for child in entries_in(entry, self._reads) if child.tag in tags)

    def _new(self, entry: DIE, name: str = "") -> Structure:
        """A structure without fields."""
        is_union, is_declared = entry.tag == "DW_TAG_union_type", _is_declared(entry)
        size = 0 if is_declared else _number(entry, "DW_AT_byte_size")
        made = Structure(text_of(entry) or name, size, 1, is_union=is_union)
        convention = entry.attributes.get("DW_AT_calling_convention")
        if is_declared:
            self._declared.add(id(made))
        if convention is not None and convention.value == _BY_REFERENCE:
            self._by_reference.add(id(made))
        return made

    def _structure(self, entry: DIE) -> Structure:
        found = self._known.get(entry.offset)
        made = found if isinstance(found, Structure) else self._new(entry)
        self._known[entry.offset] = made
        if _is_declared(entry):
            return made
        members = [
            m for m in self._children(entry, "DW_TAG_member", "DW_TAG_inheritance") if _is_in(m)
        ]
        fields = tuple(self._field(member, made.size) for member in members)
        made.fields = fields
        if _contains(made, made):
            made.fields = ()
            raise DWARFError(f"{made.name} contains itself")
        asked = [_number(m, "DW_AT_alignment") for m in (entry, *members) if _is_aligned(m)]
        made.alignment = max([_alignment(made), *asked])
        return made

    def _field(self, entry: DIE, size: int) -> Field:
        name = text_of(entry) if entry.tag == "DW_TAG_member" else ""
        kind = self._said(entry)
        bits = entry.attributes.get("DW_AT_bit_size")
        if bits is not None:
            first, end = _first_bit(entry, kind), 8 * size
            found = Field(name, kind, first // 8, first % 8, bits.value)
            if not 0 < bits.value <= 8 * kind.size or first + bits.value > end:
                raise DWARFError(f"bits of {name} are outside")
            return found
        offset = _number(entry, "DW_AT_data_member_location", 0)
        if offset + kind.size > size:
            raise DWARFError(f"{name} is outside")
        return Field(name, kind, offset)


def _is_declared(entry: DIE) -> bool:
    return "DW_AT_declaration" in entry.attributes


def _has_type(entry: DIE) -> bool:
    return "DW_AT_type" in entry.attributes


def _number(entry: DIE, name: str, default: int | None = None) -> int:
    """An attribute that is a size, an offset or a value."""
    found = entry.attributes.get(name)
    value = default if found is None else found.value
    if not isinstance(value, int) or abs(value) > _MOST_BYTES << 16:
        raise DWARFError(f"{name} of {entry.tag} is {value!r}")
    if name != "DW_AT_const_value" and not 0 <= value <= _MOST_BYTES:
        raise DWARFError(f"{name} of {entry.tag} is {value}")
    return value


def _base(entry: DIE) -> Type:
    """DWARF 5, 5.1 and 7.8."""
    name, size = text_of(entry), _number(entry, "DW_AT_byte_size")
    encoding = _number(entry, "DW_AT_encoding")
    if encoding == _ATE_FLOAT:
        return _float(name, size)
    if encoding == _ATE_COMPLEX_FLOAT:
        return complex_of(_PARTS[size])
    if not 0 < size <= 16:
        raise DWARFError(f"{name} of {size} bytes")
    if encoding == _ATE_BOOLEAN:
        return Integer(name, size, False)
    return Integer(name, size, encoding in (_ATE_SIGNED, _ATE_SIGNED_CHAR))


def _float(name: str, size: int) -> Float:
    if size not in _FORMATS:
        raise DWARFError(f"{name} of {size} bytes")
    is_bfloat = size == 2 and "bf" in name
    return Float(name, size, "bf16" if is_bfloat else _FORMATS[size])


def _count(entry: DIE) -> int | None:
    """Elements of a dimension, if that is a number (DWARF 5, 5.13)."""
    if "DW_AT_count" in entry.attributes:
        count = entry.attributes["DW_AT_count"].value
        return count if isinstance(count, int) and 0 <= count <= _MOST_BYTES else None
    bound = entry.attributes.get("DW_AT_upper_bound")
    if bound is None or not isinstance(bound.value, int) or "ref" in bound.form:
        return None
    return None if bound.value in _NO_BOUND else _number(entry, "DW_AT_upper_bound") + 1


def _fixed_vector(array: Array, element: Type) -> Structure:
    """One of GCC's: passed as a structure of its size, and never in floating-point registers."""
    size = 1 << (array.size - 1).bit_length() if array.size else 0
    name = f"{element.name} vector"
    return Structure(name, size, max(size, 1), (Field("elements", array, 0),), is_union=True)


def _vector(name: str, match: re.Match[str]) -> Vector:
    """The type that a name of the RVV intrinsics stands for."""
    name, sew = "v" + name.removeprefix("__rvv_").removeprefix("v"), int(match["sew"])
    if match["kind"] == "bool":
        return Vector(name, 1, -(sew.bit_length() - 1))
    log2 = int(match["lmul"] or 1).bit_length() - 1
    return Vector(name, sew, -log2 if match["fraction"] else log2, int(match["fields"] or 1))


def _is_in(member: DIE) -> bool:
    """Whether a member has a place in the structure: static ones of C++ do not."""
    return not {"DW_AT_external", "DW_AT_declaration"} & set(member.attributes)


def _is_aligned(entry: DIE) -> bool:
    return "DW_AT_alignment" in entry.attributes


def _first_bit(entry: DIE, kind: Type) -> int:
    """From the start of the structure (DWARF 5, 5.7.6; until DWARF 3, from the other end)."""
    if "DW_AT_data_bit_offset" in entry.attributes:
        return _number(entry, "DW_AT_data_bit_offset")
    unit = 8 * _number(entry, "DW_AT_byte_size", kind.size)
    from_top = _number(entry, "DW_AT_bit_offset", 0) + _number(entry, "DW_AT_bit_size")
    first = 8 * _number(entry, "DW_AT_data_member_location", 0)
    return first + (unit - from_top if "DW_AT_bit_offset" in entry.attributes else 0)


def _alignment(made: Structure) -> int:
    """What its fields need, as far as they have it, and what makes it as large as it is.

    Not all compilers say it.
    """
    found = 1
    for field in made.fields:
        wanted = alignment_of(field.type)
        while wanted > 1 and field.bit_size is None and field.offset % wanted:
            wanted //= 2
        found = max(found, wanted)
    while made.size % found:
        found //= 2
    end = max((_end(field) for field in made.fields), default=0)
    while found < made.size and end + (-end % found) < made.size:
        found *= 2
    return found


def _end(field: Field) -> int:
    if field.bit_size is None:
        return field.offset + field.type.size
    return field.offset + ((field.bit_offset or 0) + field.bit_size + 7) // 8


def _contains(outer: Structure, wanted: Structure) -> bool:
    """Whether a structure is among the parts of another."""
    seen: set[int] = set()
    left: list[Any] = [field.type for field in outer.fields]
    while left:
        part = left.pop()
        while isinstance(part, Array):
            part = part.element
        if part is wanted:
            return True
        if isinstance(part, Structure) and id(part) not in seen:
            seen.add(id(part))
            left += [field.type for field in part.fields]
    return False
