"""Source lines of addresses: the line number programs of DWARF 2 to 5 (DWARF 5, 6.2).

The decoder reads ``.debug_line`` alone, needs no compilation units, and takes time in proportion to
its bytes, whatever they are: a damaged program ends early, and its lines just aren't known.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

Row = tuple[int, str, int]
"""Address, file and line; line 0 stands for "no source here", also where a sequence ends."""

_LONGEST_TEXT: Final = 4096
_MASK: Final = (1 << 64) - 1
# Content types and forms of the DWARF 5 file table (6.2.4.1, 7.5.6).
_LNCT_PATH, _LNCT_DIRECTORY = 1, 2
_FORM_STRING, _FORM_STRP, _FORM_LINE_STRP, _FORM_UDATA = 0x08, 0x0E, 0x1F, 0x0F
_FORM_BLOCK, _FORM_SIZES = 0x09, {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}


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
        strings = {name: self._section(name) for name in (".debug_str", ".debug_line_str")}
        sequences = [
            [((addr + self._bias) & _MASK, file, line) for addr, file, line in sequence]
            for sequence in _sequences(self._section(".debug_line"), strings)
        ]
        rows: list[Row] = []
        for sequence in sorted(s for s in sequences if self._is_code(s[0][0])):
            # Where two sequences overlap, the later one's start ends the earlier one.
            while rows and rows[-1][0] >= sequence[0][0]:
                rows.pop()
            rows += sequence
        return [row[0] for row in rows], rows


class _DamagedError(Exception):
    """The bytes are no line number program."""


class _Cursor:
    """Reads little-endian numbers and strings between two offsets; `_DamagedError` at the end."""

    def __init__(self, data: bytes, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end

    def take(self, n: int) -> bytes:
        start, self.pos = self.pos, self.pos + n
        if self.pos > self.end:
            raise _DamagedError
        return self.data[start : self.pos]

    def u(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def byte(self) -> int:
        pos = self.pos
        if pos >= self.end:
            raise _DamagedError
        self.pos = pos + 1
        return self.data[pos]

    def uleb(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise _DamagedError

    def sleb(self) -> int:
        start = self.pos
        value = self.uleb()
        bits = 7 * (self.pos - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def text(self) -> str:
        stop = self.data.find(0, self.pos, min(self.end, self.pos + _LONGEST_TEXT))
        if stop < 0:
            raise _DamagedError
        start, self.pos = self.pos, stop + 1
        return self.data[start:stop].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Header:
    """What the line number program of one unit starts from (DWARF 5, 6.2.4)."""

    min_insn: int
    line_base: int
    line_range: int
    lengths: bytes
    files: list[str]
    first_file: int

    def file(self, number: int) -> str:
        i = number - self.first_file
        return self.files[i] if 0 <= i < len(self.files) else "?"


def _sequences(data: bytes, strings: Mapping[str, bytes]) -> list[list[Row]]:
    """The rows of all units, each sequence in rising order and closed by a row with line 0."""
    found: list[list[Row]] = []
    pos = 0
    while pos < len(data):
        start = _Cursor(data, pos, len(data))
        pos = len(data)
        try:
            length = start.u(4)
            offset_size = 8 if length == 0xFFFFFFFF else 4
            if offset_size == 8:
                length = start.u(8)
            pos = start.pos + length
            unit = _Cursor(data, start.pos, min(pos, len(data)))
            _run(unit, _read_header(unit, offset_size, strings), found)
        except _DamagedError:
            continue
    return found


def _read_header(unit: _Cursor, offset_size: int, strings: Mapping[str, bytes]) -> _Header:
    version = unit.u(2)
    if not 2 <= version <= 5:
        raise _DamagedError
    if version == 5:
        unit.take(2)  # address and segment selector size
    program = unit.u(offset_size) + unit.pos
    min_insn = unit.byte()
    if version >= 4:
        unit.take(1)  # operations per instruction: 1, RISC-V is no VLIW
    unit.take(1)  # default_is_stmt
    line_base = (unit.byte() ^ 0x80) - 0x80
    line_range = unit.byte()
    opcode_base = unit.byte()
    if not line_range or not opcode_base:
        raise _DamagedError
    lengths = unit.take(opcode_base - 1)
    if version == 5:
        directories = [path for path, _ in _entries(unit, offset_size, strings)]
        files = _entries(unit, offset_size, strings)
    else:
        directories, files = _old_tables(unit)
    unit.pos = program
    names = [_join(directories, directory, name) for name, directory in files]
    return _Header(min_insn, line_base, line_range, lengths, names, 0 if version == 5 else 1)


def _join(directories: list[str], directory: int, name: str) -> str:
    known = directory < len(directories)
    return posixpath.join(directories[directory], name) if known else name


def _old_tables(unit: _Cursor) -> tuple[list[str], list[tuple[str, int]]]:
    """Directories (0 is the compiler's own, which only the unit's DIE names) and files."""
    directories = [""]
    while directory := unit.text():
        directories.append(directory)
    files = []
    while name := unit.text():
        files.append((name, unit.uleb()))
        unit.uleb()  # time of modification
        unit.uleb()  # length
    return directories, files


def _entries(
    unit: _Cursor, offset_size: int, strings: Mapping[str, bytes]
) -> list[tuple[str, int]]:
    """A DWARF 5 table of directories or files: the path and directory index of each entry."""
    formats = [(unit.uleb(), unit.uleb()) for _ in range(unit.byte())]
    count = unit.uleb()
    if count > unit.end - unit.pos:  # an entry has at least one byte
        raise _DamagedError
    entries = []
    for _ in range(count):
        path, directory = "", 0
        for content, form in formats:
            value = _form(unit, form, offset_size, strings)
            if content == _LNCT_PATH and isinstance(value, str):
                path = value
            elif content == _LNCT_DIRECTORY and isinstance(value, int):
                directory = value
        entries.append((path, directory))
    return entries


def _form(unit: _Cursor, form: int, offset_size: int, strings: Mapping[str, bytes]) -> str | int:
    if form in (_FORM_STRP, _FORM_LINE_STRP):
        table = strings[".debug_str" if form == _FORM_STRP else ".debug_line_str"]
        return _Cursor(table, unit.u(offset_size), len(table)).text()
    if form == _FORM_STRING:
        return unit.text()
    if form == _FORM_UDATA:
        return unit.uleb()
    if form == _FORM_BLOCK:
        unit.take(unit.uleb())
        return 0
    if form in _FORM_SIZES:
        return unit.u(_FORM_SIZES[form])
    raise _DamagedError


def _run(unit: _Cursor, header: _Header, found: list[list[Row]]) -> None:
    """Execute a line number program, adding each sequence that it completes (DWARF 5, 6.2.5)."""
    opcode_base = len(header.lengths) + 1
    const_add_pc = (255 - opcode_base) // header.line_range * header.min_insn
    addr, file, line = 0, header.file(1), 1
    rows: list[Row] = []
    while unit.pos < unit.end:
        opcode = unit.byte()
        if opcode >= opcode_base:
            advance, step = divmod(opcode - opcode_base, header.line_range)
            addr += advance * header.min_insn
            line += header.line_base + step
            rows.append((addr, file, line))
        elif opcode == 0:  # extended
            end = unit.uleb() + unit.pos
            code = unit.byte()
            if code == 1:  # end_sequence
                rows.append((addr, file, 0))
                if all(a[0] <= b[0] for a, b in pairwise(rows)):
                    found.append(rows)
                addr, file, line, rows = 0, header.file(1), 1, []
            elif code == 2:  # set_address
                addr = unit.u(end - unit.pos) if unit.pos < end <= unit.pos + 8 else 0
            unit.pos = end
        elif opcode == 1:  # copy
            rows.append((addr, file, line))
        elif opcode == 2:  # advance_pc
            addr += unit.uleb() * header.min_insn
        elif opcode == 3:  # advance_line
            line += unit.sleb()
        elif opcode == 4:  # set_file
            file = header.file(unit.uleb())
        elif opcode == 8:  # const_add_pc
            addr += const_add_pc
        elif opcode == 9:  # fixed_advance_pc
            addr += unit.u(2)
        else:
            for _ in range(header.lengths[opcode - 1]):
                unit.uleb()
