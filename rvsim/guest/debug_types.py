"""Types of functions, variables and structures from a program's debug information (DWARF 4 and 5).

They are read when they are asked for.  What is damaged isn't known, and `DebugTypes.why_unknown`
tells so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from rvsim.errors import RvsimError, did_you_mean
from rvsim.guest.c_types import Function, Structure, Type
from rvsim.guest.debug_sections import (
    Section,
    Span,
    dwarf_info,
    entries_in,
    origin_with,
    spans,
    text_of,
)
from rvsim.guest.file_limits import MOST_TYPE_READS, Budget, TooLarge
from rvsim.hart.words import WORD_MASK
from rvsim.printable import printable

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE

    from rvsim.guest.type_reader import TypeReader

_USED: Final = frozenset(
    f".debug_{name}"
    for name in ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "ranges")
) | {".debug_rnglists", ".debug_loclists"}
_TYPES: Final = frozenset(
    f"DW_TAG_{name}"
    for name in ("typedef", "structure_type", "class_type", "union_type", "enumeration_type")
)
_NAMES: Final = ("DW_AT_name", "DW_AT_linkage_name", "DW_AT_MIPS_linkage_name")
_DEFINED, _STATIC, _DECLARED = range(3)
_NOCALL: Final = 3
"""Calling convention of a function that has one of its own (DWARF 5, 3.3.1.1)."""

Found = TypeVar("Found")


@dataclass(slots=True)
class _Entries:
    """The entries of a unit by name; of functions, definitions come before declarations."""

    functions: dict[str, DIE] = field(default_factory=dict)
    by_address: dict[int, DIE] = field(default_factory=dict)
    variables: dict[str, DIE] = field(default_factory=dict)
    types: dict[str, DIE] = field(default_factory=dict)


class DebugTypes:
    """Finds the types of names and addresses; reads on the first question.

    `section` gives the content of a named debug section: empty if there is none, `TooLarge` if it
    is not expanded.
    """

    def __init__(self, section: Section = lambda name: b"", bias: int = 0) -> None:
        self._section = section
        self._bias = bias
        self._reads = Budget(MOST_TYPE_READS, f"debug info larger than {MOST_TYPE_READS:,} fields")
        self._scanned: dict[int, _Entries] = {}
        self.why_unknown: str | None = None
        """Why types are not known that the file may have, as far as they were asked for."""

    def function(self, name: str) -> Function | None:
        """The type of a function, by its name in C or its linker's name.

        A definition with external linkage comes first, then one without, then a declaration.  None
        for a function that the compiler has given another interface than the source says.
        """
        found = None
        for unit in self._units:
            entry = unit.functions.get(name)
            if entry is not None and (found is None or _rank(entry) < _rank(found)):
                found = entry
                if _rank(entry) == _DEFINED:
                    break
        return self._function(found) if found is not None else None

    def function_at(self, address: int) -> Function | None:
        """The type of the function that begins at an address.

        It has the name in the source: a symbol of another name there, such as ``f.constprop.0``, is
        a copy of it that may have another interface.
        """
        wanted = address - self._bias & WORD_MASK
        for limits, unit in self._places:
            if not limits or any(low <= wanted < high for low, high in limits):
                entry = self._unit(unit).by_address.get(wanted)
                if entry is not None:
                    return self._function(entry)
        return None

    def variable(self, name: str) -> Type | None:
        """The type of a variable of a file."""
        for unit in self._units:
            if name in unit.variables:
                entry = unit.variables[name]
                return self._read(_type_of_variable, entry)
        return None

    def named(self, name: str) -> Type:
        """The structure, union, enumeration or typedef of a name.

        Raises `RvsimError` if there is none.
        """
        declared: Type | None = None
        for unit in self._units:
            if name in unit.types:
                found = self._read(_type, unit.types[name])
                if found is not None and (not isinstance(found, Structure) or found.size):
                    return found
                declared = declared or found
        if declared is not None:
            return declared
        why = self.why_unknown or did_you_mean(name, self.names(), otherwise="is it built with -g?")
        raise RvsimError(f"no type {name!r} in the debug information", hint=why)

    def names(self) -> list[str]:
        """Names of all types that the program has given one."""
        return sorted({name for unit in self._units for name in unit.types})

    def _function(self, entry: DIE) -> Function | None:
        return self._read(_signature, entry)

    def _read(self, what: Callable[[TypeReader, DIE], Found], entry: DIE) -> Found | None:
        """What an entry says; None if it is damaged."""
        from rvsim.guest.sections import DAMAGE

        try:
            return what(self._reader, entry)
        except DAMAGE as error:
            self._note(error)
            return None
        finally:
            self._reader.finish()

    @cached_property
    def _reader(self) -> TypeReader:
        from rvsim.guest.type_reader import TypeReader

        return TypeReader(self._reads)

    @property
    def _units(self) -> Iterator[_Entries]:
        return (self._unit(unit) for _, unit in self._places)

    @cached_property
    def _places(self) -> list[tuple[list[Span], CompileUnit]]:
        """Units with the addresses that they say they have."""
        from rvsim.guest.sections import DAMAGE

        found = []
        try:
            info = dwarf_info(self._content, _USED, self._reads)
            for unit in info.iter_CUs():
                found.append((spans(info, unit), unit))
        except DAMAGE as error:
            self._note(error)
        return found

    def _unit(self, unit: CompileUnit) -> _Entries:
        from rvsim.guest.sections import DAMAGE

        if unit.cu_offset not in self._scanned:
            found = self._scanned[unit.cu_offset] = _Entries()
            try:
                _scan(unit.get_top_DIE(), found, self._reads)
            except DAMAGE as error:
                self._note(error)
        return self._scanned[unit.cu_offset]

    def _content(self, name: str) -> bytes:
        try:
            return self._section(name)
        except TooLarge as too_large:
            self.why_unknown = str(too_large)
            return b""

    def _note(self, error: BaseException) -> None:
        if self.why_unknown is None:
            why = f"debug info that cannot be used: {error}" if str(error) else "damaged debug info"
            self.why_unknown = self._reads.text if self._reads.is_overdrawn else why


def _scan(top: DIE, unit: _Entries, reads: Budget) -> None:
    """Gather what a unit and the namespaces in it have."""
    for entry in entries_in(top, reads, inside=("DW_TAG_namespace",)):
        if entry.tag == "DW_TAG_subprogram":
            _add_function(entry, unit)
        elif entry.tag == "DW_TAG_variable":
            for name in _names(entry):
                unit.variables.setdefault(name, entry)
        elif entry.tag in _TYPES:
            _add_type(entry, unit)


def _add_function(entry: DIE, unit: _Entries) -> None:
    low = entry.attributes.get("DW_AT_low_pc")
    if low is not None:
        unit.by_address[low.value] = entry
    for name in _names(entry):
        known = unit.functions.get(name)
        if known is None or _rank(entry) < _rank(known):
            unit.functions[name] = entry


def _add_type(entry: DIE, unit: _Entries) -> None:
    name = text_of(entry)
    known = unit.types.get(name)
    if name and (known is None or "DW_AT_declaration" in known.attributes):
        unit.types[name] = entry


def _names(entry: DIE) -> Iterator[str]:
    for attribute in _NAMES:
        found = origin_with(entry, attribute).attributes.get(attribute)
        if found is not None and isinstance(found.value, bytes):
            yield printable(found.value)


def _rank(entry: DIE) -> int:
    """How well a function is the one of its name: the less, the better."""
    if not {"DW_AT_low_pc", "DW_AT_ranges"} & set(entry.attributes):
        return _DECLARED
    is_external = "DW_AT_external" in origin_with(entry, "DW_AT_external").attributes
    return _DEFINED if is_external else _STATIC


def _signature(reader: TypeReader, entry: DIE) -> Function | None:
    """What a function takes and returns, if the compiler has left it at that."""
    convention = entry.attributes.get("DW_AT_calling_convention")
    if convention is not None and convention.value == _NOCALL:
        return None
    if "DW_AT_abstract_origin" in entry.attributes:
        entry = entry.get_DIE_from_attribute("DW_AT_abstract_origin")  # its parameters have types
    return reader.function(entry)


def _type(reader: TypeReader, entry: DIE) -> Type:
    return reader.read(entry)


def _type_of_variable(reader: TypeReader, entry: DIE) -> Type:
    return reader.of(origin_with(entry, "DW_AT_type"))
