"""Source lines of addresses: the line number programs of DWARF 2 to 5 (DWARF 5, 6.2).

pyelftools runs the programs; this module sorts what they say.  The lines of a damaged program just
aren't known.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from inspect import signature
from io import SEEK_CUR
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, Final

from rvsim.printable import printable

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.dwarf.lineprogram import LineProgram

Row = tuple[int, str, int]
"""Address, file and line; line 0 stands for "no source here", also where a sequence ends."""

_MASK: Final = (1 << 64) - 1
_FEWEST_READS: Final = 1_000_000


class Lines:
    """Finds the source line of an address; decodes on the first question.

    `section` gives the content of a named debug section (empty if there is none), `is_code` tells
    the addresses that the file occupies from those of functions that the linker has dropped.
    """

    def __init__(
        self,
        section: Callable[[str], bytes] = lambda name: b"",
        is_code: Callable[[int], bool] = lambda addr: True,
        bias: int = 0,
    ) -> None:
        self._section = section
        self._is_code = is_code
        self._bias = bias

    def line(self, addr: int) -> tuple[str, int] | None:
        """The source file and line that the instruction at `addr` came from."""
        starts, rows = self._table
        i = bisect_right(starts, addr) - 1
        if i < 0 or rows[i][2] <= 0:
            return None
        return rows[i][1:]

    @cached_property
    def _table(self) -> tuple[list[int], list[Row]]:
        sequences = [
            [((addr + self._bias) & _MASK, file, line) for addr, file, line in sequence]
            for sequence in _sequences(self._section)
        ]
        rows: list[Row] = []
        for sequence in sorted(s for s in sequences if self._is_code(s[0][0])):
            # Where two sequences overlap, the later one's start ends the earlier one.
            while rows and rows[-1][0] >= sequence[0][0]:
                rows.pop()
            rows += sequence
        return [row[0] for row in rows], rows


def _sequences(section: Callable[[str], bytes]) -> list[list[Row]]:
    """The rows of all units, each sequence in rising order and closed by a row with line 0."""
    from rvsim.sections import DAMAGE

    info = _dwarf_info(section)
    found: list[list[Row]] = []
    done: set[int] = set()
    with suppress(*DAMAGE):
        for unit in info.iter_CUs():
            with suppress(*DAMAGE):
                attributes = unit.get_top_DIE().attributes
                offset = attributes["DW_AT_stmt_list"].value
                if offset not in done:
                    done.add(offset)
                    found += _run(*_program(info, unit, offset))
    return found


def _dwarf_info(section: Callable[[str], bytes]) -> DWARFInfo:
    """pyelftools' view of the debug sections, each read through a `Reader`."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    from rvsim.sections import Reader

    descriptors = {}
    for parameter in signature(DWARFInfo).parameters:  # debug_info_sec for .debug_info, and so on
        name = "." + parameter.removesuffix("_sec")
        if parameter.endswith("_sec"):
            data = section(name)
            reader = Reader(data, _FEWEST_READS + 8 * len(data))
            descriptors[parameter] = (
                DebugSectionDescriptor(reader, name, 0, len(data), 0) if data else None
            )
    return DWARFInfo(DwarfConfig(True, "RISC-V", 8), **descriptors)


def _program(info: DWARFInfo, unit: CompileUnit, offset: int) -> tuple[LineProgram, list[str]]:
    """The line number program of a unit, and the names of its files."""
    assert info.debug_line_sec
    _check_tables(unit, info.debug_line_sec.stream, offset)
    program = info.line_program_for_CU(unit)
    assert program
    comp_dir = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    return program, _file_names(program, _text(comp_dir.value) if comp_dir else "")


def _check_tables(unit: CompileUnit, stream: IO[bytes], offset: int) -> None:
    """Refuse tables of entries that take no bytes: pyelftools makes as many as the header claims.

    What comes before the tables of directories and files is in DWARF 5, 6.2.4.
    """
    from elftools.common.exceptions import DWARFError
    from elftools.dwarf.enums import DW_FORM_raw2name

    structs = unit.structs
    byte, number = structs.the_Dwarf_uint8, structs.the_Dwarf_uleb128
    stream.seek(offset + structs.initial_length_field_size())
    version = structs.the_Dwarf_uint16.parse_stream(stream)
    if not 2 <= version <= 5:
        raise DWARFError(f"version {version}")
    if version < 5:
        return
    stream.seek(2 + structs.dwarf_format // 8 + 5, SEEK_CUR)
    stream.seek(byte.parse_stream(stream) - 1, SEEK_CUR)
    for _ in ("directories", "files"):
        codes = [number.parse_stream(stream) for _ in range(2 * byte.parse_stream(stream))]
        forms: list[Any] = [structs.Dwarf_dw_form[DW_FORM_raw2name[code]] for code in codes[1::2]]
        count = number.parse_stream(stream)
        if count and not forms:
            raise DWARFError("entries without bytes")
        for _ in range(count):
            for form in forms:
                form.parse_stream(stream)


def _file_names(program: LineProgram, comp_dir: str) -> list[str]:
    """The paths by file number, as far as the compiler wrote them; none has number 0 before 5."""
    directories = [_text(path) for path in program["include_directory"]]
    is_old = program["version"] < 5
    if is_old:
        directories.insert(0, comp_dir)
    names = ["?"] if is_old else []
    for file in program["file_entry"]:
        directory = directories[file.dir_index] if file.dir_index else ""
        names.append(posixpath.join(directories[0], directory, _text(file.name)))
    return names


def _run(program: LineProgram, names: list[str]) -> Iterator[list[Row]]:
    """The sequences of a line number program; those that go backwards are damaged."""
    rows: list[Row] = []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        file = names[state.file] if state.file < len(names) else "?"
        rows.append((state.address, file, 0 if state.end_sequence else state.line))
        if state.end_sequence:
            if all(a[0] <= b[0] for a, b in pairwise(rows)):
                yield rows
            rows = []


def _text(path: object) -> str:
    return printable(path) if isinstance(path, bytes) else ""
