"""Source lines of addresses: the line number tables of DWARF 2 to 5 (DWARF 5, 6.2).

pyelftools reads units and headers, `rvsim.guest.line_program` runs the programs, each when an
address of its unit is asked for.  The lines of a damaged program just aren't known;
`Lines.why_unknown` tells where there are too many of them.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import SEEK_CUR
from typing import IO, TYPE_CHECKING, Any, Final

from rvsim.guest.debug_sections import Section, Span, dwarf_info, spans
from rvsim.guest.file_limits import MOST_DEBUG_READS, MOST_LINE_OPERATIONS, Budget, TooLarge
from rvsim.guest.line_program import LineRows, sequences
from rvsim.hart.words import WORD_MASK
from rvsim.printable import printable

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.dwarf.lineprogram import LineProgram

_USED: Final = frozenset(
    f".debug_{name}"
    for name in ("info", "abbrev", "line", "line_str", "str", "str_offsets", "addr", "ranges")
) | {".debug_rnglists"}


@dataclass(slots=True)
class _LineTable:
    """The line number table of a unit: where it is, and what it says once it was needed."""

    unit: CompileUnit
    offset: int
    names: list[str] = field(default_factory=list)
    rows: LineRows | None = None


class Lines:
    """Finds the source line of an address; decodes on the first question.

    `section` gives the content of a named debug section: empty if there is none, `TooLarge` if it
    is not expanded.  `is_code` tells the addresses that the file occupies from those of functions
    that the linker has dropped.
    """

    def __init__(
        self,
        section: Section = lambda name: b"",
        is_code: Callable[[int], bool] = lambda addr: True,
        bias: int = 0,
    ) -> None:
        self._section = section
        self._is_code = is_code
        self._bias = bias
        self._operations = Budget(
            MOST_LINE_OPERATIONS, f"debug info larger than {MOST_LINE_OPERATIONS:,} line operations"
        )
        self._reads = Budget(
            MOST_DEBUG_READS, f"debug info larger than {MOST_DEBUG_READS:,} fields"
        )
        self.why_unknown: str | None = None
        """Why lines are not known that the file may have, as far as they were asked for."""

    def line(self, addr: int) -> tuple[str, int] | None:
        """The source file and line that the instruction at `addr` came from."""
        for table in self._tables_for(addr - self._bias & WORD_MASK):
            found = self._rows(table).find(addr)
            if found is not None:
                file, line = found
                return table.names[file] if file < len(table.names) else "?", line
        return None

    def _tables_for(self, addr: int) -> Iterator[_LineTable]:
        """Of the unit that says that it has the address, and of all that do not say what they have.

        The linker leaves functions that it drops at addresses that are no code.
        """
        spans, others = self._units
        i = bisect_right(spans, addr, key=lambda span: span[0][0]) - 1
        if i >= 0 and addr < spans[i][0][1]:
            yield spans[i][1]
        yield from others

    @cached_property
    def _units(self) -> tuple[list[tuple[Span, _LineTable]], list[_LineTable]]:
        """The tables by the spans of their units, in order, and those whose units name none."""
        from rvsim.guest.sections import DAMAGE

        tables: dict[int, _LineTable] = {}
        by_span: list[tuple[Span, _LineTable]] = []
        others: list[_LineTable] = []
        with suppress(*DAMAGE):
            for unit in self._info.iter_CUs():
                with suppress(*DAMAGE):
                    offset = unit.get_top_DIE().attributes["DW_AT_stmt_list"].value
                    table = tables.setdefault(offset, _LineTable(unit, offset))
                    found = spans(self._info, unit)
                    by_span += [(span, table) for span in found]
                    if not found and table not in others:
                        others.append(table)
        self._look_at_reads()
        return sorted(by_span, key=lambda span: span[0]), others

    @cached_property
    def _info(self) -> DWARFInfo:
        """pyelftools' view of the debug sections, read with one budget."""
        return dwarf_info(self._content, _USED, self._reads)

    def _content(self, name: str) -> bytes:
        try:
            return self._section(name)
        except TooLarge as too_large:
            self.why_unknown = str(too_large)
            return b""

    def _rows(self, table: _LineTable) -> LineRows:
        """What a table says of addresses in memory; nothing if it is damaged, or too long."""
        from rvsim.guest.sections import DAMAGE

        if table.rows is None:
            table.rows = LineRows()
            with suppress(*DAMAGE):
                program, table.names = _program(self._info, table)
                table.rows = self._run(program)
            self._look_at_reads()
        return table.rows

    def _run(self, program: LineProgram) -> LineRows:
        code = self._content(".debug_line")[
            program.program_start_offset : program.program_end_offset
        ]
        found: list[LineRows] = []
        try:
            for rows in sequences(code, _header(program), self._operations):
                rows.move(self._bias)
                if self._is_code(rows.addresses[0]):
                    found.append(rows)
        except TooLarge as too_large:
            self.why_unknown = str(too_large)
        except (IndexError, ValueError):  # what came before is right
            pass
        merged = LineRows()
        for rows in sorted(found, key=lambda rows: rows.addresses[0]):
            merged.put_after(rows)
        return merged

    def _look_at_reads(self) -> None:
        if self._reads.is_overdrawn:
            self.why_unknown = self._reads.text


def _header(program: LineProgram) -> Mapping[str, Any]:
    """The header of a program; before DWARF 4 all places have one operation."""
    header = {name: program.header[name] for name in program.header}
    return {"maximum_operations_per_instruction": 1} | header


def _program(info: DWARFInfo, table: _LineTable) -> tuple[LineProgram, list[str]]:
    """The line number program of a unit, and the names of its files."""
    assert info.debug_line_sec
    _check_tables(table.unit, info.debug_line_sec.stream, table.offset)
    program = info.line_program_for_CU(table.unit)
    assert program
    comp_dir = table.unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
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


def _text(path: object) -> str:
    return printable(path) if isinstance(path, bytes) else ""
