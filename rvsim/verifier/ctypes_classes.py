"""Classes of `ctypes` for the types of a guest program: what its structures look like in Python.

A class has the guest's layout, whatever the host's is.  Pointers are addresses in guest memory, so
they are plain numbers here.
"""

from __future__ import annotations

import ctypes
import types
from typing import Any, Final

from rvsim.guest.c_types import (
    Array,
    Enumeration,
    Field,
    Float,
    Function,
    Integer,
    Pointer,
    Structure,
    Type,
    Void,
)
from rvsim.verifier.scalars import decode_number, encode_number

_INTEGERS: Final[dict[tuple[int, bool], Any]] = {
    **{(1, True): ctypes.c_int8, (2, True): ctypes.c_int16},
    **{(4, True): ctypes.c_int32, (8, True): ctypes.c_int64},
    **{(1, False): ctypes.c_uint8, (2, False): ctypes.c_uint16},
    **{(4, False): ctypes.c_uint32, (8, False): ctypes.c_uint64},
}
_BY_NAME: Final[dict[str, Any]] = {
    **{"_Bool": ctypes.c_bool, "bool": ctypes.c_bool, "char": ctypes.c_char}
}
_FLOATS: Final[dict[str, Any]] = {
    **{"f32": ctypes.c_float, "f64": ctypes.c_double},
    **{"f16": ctypes.c_uint16, "bf16": ctypes.c_uint16},
}
_RESERVED: Final = frozenset(
    f"_{name}_" for name in ("fields", "anonymous", "pack", "align", "layout", "swappedbytes")
) | {"c_names", "c_type"}
"""What the body of a class says of itself."""

_WIDEST: Final = 8
"""Bytes of the widest integer that `ctypes` has."""

_MOST_BYTES: Final = 1 << 30


def class_of(type: Type) -> Any:
    """The class of `ctypes` for a type; None for void, as `restype` has it.

    A number that `ctypes` has no class for is its bits, or bytes; as a field of a structure it is
    a Python value all the same.

    Raises TypeError for a type that has none.

    >>> class_of(Array(Integer("int", 4, True), 3)).__name__
    'c_int_Array_3'
    """
    match type:
        case Void():
            return None
        case Pointer() | Function():
            return ctypes.c_uint64
        case Integer() | Enumeration():
            found = _BY_NAME.get(type.name) or _INTEGERS.get((type.size, type.signed))
            return found or ctypes.c_uint8 * type.size
        case Float():
            return _FLOATS.get(type.format) or ctypes.c_uint8 * type.size
        case Array():
            _check_size(type)
            return class_of(type.element) * (type.count or 0)
        case Structure():
            if type.python_class is None:
                type.python_class = _make(type)
            return type.python_class
    raise TypeError(f"{type.name} has no class of ctypes: it is in registers only")


def _check_size(type: Type) -> None:
    if type.size > _MOST_BYTES:
        raise ValueError(f"{type.name} has {type.size} bytes, too many for a value in Python")


class _ByName:
    """Fields by their C names, in order: also those that `ctypes` does not know as fields."""

    c_names: tuple[str, ...]
    c_type: Structure

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) > len(self.c_names):
            raise TypeError(f"{self.c_type.name} has {len(self.c_names)} fields")
        for name, value in (*zip(self.c_names, values, strict=False), *named.items()):
            if name not in self.c_names and not hasattr(self, name):
                fields = ", ".join(self.c_names)
                raise TypeError(f"{self.c_type.name} has no field {name!r}, it has {fields}")
            setattr(self, name, value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.c_names)
        return f"{self.c_type.name}({fields})"


class _OtherField:
    """A field whose value `ctypes` cannot give: bits at any place, or a format that it lacks."""

    def __init__(self, name: str, field: Field) -> None:
        assert isinstance(field.type, Integer | Enumeration | Float)
        self._name, self._type, self._offset = name, field.type, field.offset
        self._shift = field.bit_offset or 0
        self._bits = 8 * field.type.size if field.bit_size is None else field.bit_size
        self._bytes = (self._shift + self._bits + 7) // 8

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = self._all(instance) >> self._shift & (1 << self._bits) - 1
        if getattr(self._type, "signed", False) and value >> self._bits - 1:
            value += (1 << 8 * self._type.size) - (1 << self._bits)
        return decode_number(self._type, value.to_bytes(self._type.size, "little"))

    def __set__(self, instance: Any, value: Any) -> None:
        number = int.from_bytes(encode_number(self._name, value, self._type), "little")
        mask = (1 << self._bits) - 1 << self._shift
        changed = (self._all(instance) & ~mask) | (number << self._shift & mask)
        content = changed.to_bytes(self._bytes, "little")
        ctypes.memmove(ctypes.addressof(instance) + self._offset, content, self._bytes)

    def _all(self, instance: Any) -> int:
        content = ctypes.string_at(ctypes.addressof(instance) + self._offset, self._bytes)
        return int.from_bytes(content, "little")


def _make(type: Structure) -> Any:
    """A class as `ctypes` lays it out if that is right, else one with padding written out."""
    _check_size(type)
    names = _names(type)
    try:
        made = _natural(type, names)
    except (TypeError, ValueError):  # `ctypes` has no such bit fields
        return _padded(type, names)
    return made if _has_layout(made, type, names) else _padded(type, names)


def _names(type: Structure) -> list[str]:
    """Of attributes: those of C, but none that classes of `ctypes` have anyway, and none twice."""
    base = ctypes.Union if type.is_union else ctypes.Structure
    names: list[str] = []
    for number, field in enumerate(type.fields):
        name = field.name or f"_{number}"
        while name in names or name in _RESERVED or hasattr(base, name):
            name = f"_{name.lstrip('_')}_"
        names.append(name)
    return names


def _is_plain(field: Field) -> bool:
    """Whether the field's class gives its value."""
    match field.type:
        case Float(format=format):
            return format in ("f32", "f64")
        case Integer() | Enumeration():
            return field.bit_size is None and field.type.size <= _WIDEST
    return True


def _natural(type: Structure, names: list[str]) -> Any:
    fields: list[Any] = []
    for name, field in zip(names, type.fields, strict=True):
        if field.bit_size is not None:
            fields.append((name, class_of(field.type), field.bit_size))
        else:
            fields.append((_stored(name, field), class_of(field.type)))
    numbers = [not _is_plain(f) and f.bit_size is None for f in type.fields]
    return _class(type, names, fields, numbers)


def _stored(name: str, field: Field) -> str:
    return name if _is_plain(field) else f"_bits_of_{name}"


def _has_layout(made: Any, type: Structure, names: list[str]) -> bool:
    """Whether `ctypes` has put everything where the guest has it."""
    for name, field in zip(names, type.fields, strict=True):
        first = 8 * field.offset + (field.bit_offset or 0)
        if field.bit_size is not None:
            found = getattr(made, name)
            if 8 * found.offset + (found.size & 0xFFFF) != first:
                return False
        elif 8 * getattr(made, _stored(name, field)).offset != first:
            return False
    return bool(
        ctypes.sizeof(made) == type.size and ctypes.alignment(made) == max(type.alignment, 1)
    )


def _padded(type: Structure, names: list[str]) -> Any:
    """With plain fields at their places, and bytes between them that the other ones look at."""
    fields: list[Any] = []
    end = 0
    order = sorted(zip(names, type.fields, strict=True), key=lambda each: each[1].offset)
    for name, field in order:
        if not _is_plain(field):
            continue
        if field.offset > end:
            fields.append((f"_padding_{end}", ctypes.c_uint8 * (field.offset - end)))
        if field.offset < end:
            raise ValueError(f"fields of {type.name} overlap: {name} begins before byte {end}")
        fields.append((name, class_of(field.type)))
        end = 0 if type.is_union else field.offset + field.type.size
    if end < type.size:
        fields.append((f"_padding_{end}", ctypes.c_uint8 * (type.size - end)))
    return _class(type, names, fields, [not _is_plain(f) for f in type.fields], packed=True)


def _class(
    type: Structure, names: list[str], fields: list[Any], numbers: list[bool], packed: bool = False
) -> Any:
    """A class of these fields of `ctypes`, and of those that are `numbers`."""
    members = list(zip(names, type.fields, strict=True))
    body: dict[str, Any] = {
        name: _OtherField(name, f)
        for (name, f), is_one in zip(members, numbers, strict=True)
        if is_one
    }
    nested = [name for name, f in members if not f.name and isinstance(f.type, Structure)]
    body |= {"c_names": tuple(names), "c_type": type, "_anonymous_": nested, "_fields_": fields}
    if packed:
        body |= {"_pack_": 1, "_layout_": "ms"}
    base = ctypes.Union if type.is_union else ctypes.Structure
    return types.new_class(type.name, (_ByName, base), exec_body=lambda space: space.update(body))
