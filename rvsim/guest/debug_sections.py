"""The debug sections of a file as pyelftools reads them, with an end to what they may cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from inspect import signature
from typing import TYPE_CHECKING, Final

from rvsim.guest.file_limits import Budget
from rvsim.printable import printable

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

Span = tuple[int, int]
Section = Callable[[str], bytes]
"""Gives the content of a named section: empty if there is none, `TooLarge` if it is too long."""

_ORIGINS: Final = ("DW_AT_specification", "DW_AT_abstract_origin")
_MOST_ORIGINS: Final = 4


def dwarf_info(content: Section, used: Collection[str], reads: Budget) -> DWARFInfo:
    """pyelftools' view of the debug sections with the names `used`."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    from rvsim.guest.sections import Reader

    descriptors = {}
    for parameter in signature(DWARFInfo).parameters:  # debug_info_sec for .debug_info …
        name = "." + parameter.removesuffix("_sec")
        if parameter.endswith("_sec"):
            data = content(name) if name in used else b""
            reader = Reader(data, reads)
            descriptors[parameter] = (
                DebugSectionDescriptor(reader, name, 0, len(data), 0) if data else None
            )
    return DWARFInfo(DwarfConfig(True, "RISC-V", 8), **descriptors)


def spans(info: DWARFInfo, unit: CompileUnit) -> list[Span]:
    """The addresses that a unit says it has (DWARF 5, 3.1.1 and 2.17)."""
    from rvsim.guest.sections import DAMAGE

    found: list[Span] = []
    with suppress(*DAMAGE):
        attributes = unit.get_top_DIE().attributes
        low = attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in attributes else 0
        if "DW_AT_ranges" in attributes:
            found += _listed(info, unit, attributes["DW_AT_ranges"].value, low)
        elif "DW_AT_high_pc" in attributes:
            high = attributes["DW_AT_high_pc"]
            found.append((low, high.value + (0 if high.form.startswith("DW_FORM_addr") else low)))
    return found


def _listed(info: DWARFInfo, unit: CompileUnit, offset: int, base: int) -> Iterator[Span]:
    from elftools.dwarf.ranges import BaseAddressEntry

    lists = info.range_lists()
    assert lists is not None
    for entry in lists.get_range_list_at_offset(offset, unit):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            start = 0 if entry.is_absolute else base
            yield start + entry.begin_offset, start + entry.end_offset


def entries_in(parent: DIE, reads: Budget, inside: Collection[str] = ()) -> Iterator[DIE]:
    """The entries directly in another one, and those in parts of it with a tag of `inside`.

    They are read in the order of the file, so that links in it cannot lead in circles.  Each one
    that is passed, also within others, costs one of `reads`.
    """
    if not parent.has_children:
        return
    is_wanted = [True]
    entry = parent
    while is_wanted:
        reads.spend(1)
        entry = parent.cu.get_DIE_from_refaddr(entry.offset + entry.size)
        if entry.is_null():
            is_wanted.pop()
            continue
        if is_wanted[-1]:
            yield entry
        if entry.has_children:
            is_wanted.append(is_wanted[-1] and entry.tag in inside)


def text_of(entry: DIE) -> str:
    """The name of an entry; empty if it has none."""
    name = entry.attributes.get("DW_AT_name")
    return printable(name.value) if name is not None and isinstance(name.value, bytes) else ""


def origin_with(entry: DIE, attribute: str) -> DIE:
    """Which entry has an attribute of this one: itself, a declaration, or what was inlined.

    Itself if none has it.
    """
    found = entry
    for _ in range(_MOST_ORIGINS):
        if attribute in found.attributes:
            return found
        origin = next((name for name in _ORIGINS if name in found.attributes), None)
        if origin is None:
            break
        found = found.get_DIE_from_attribute(origin)
    return entry
