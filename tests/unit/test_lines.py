"""Line tables: units written by hand, with the rows that DWARF gives them, and damaged ones."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.guest.lines import Lines
from tests.program.dwarf_writer import (
    ABBREV,
    ADVANCE_LINE,
    ADVANCE_PC,
    CONST_ADD_PC,
    COPY,
    END_SEQUENCE,
    FIXED_ADVANCE_PC,
    NEW_TABLES,
    OLD_TABLES,
    SET_FILE,
    info_unit,
    line_unit,
    set_address,
    special,
)
from tests.work import at_most


def lines_of(info: bytes, line: bytes, **options) -> Lines:
    sections = {".debug_info": info, ".debug_abbrev": ABBREV, ".debug_line": line}
    return Lines(lambda name: sections.get(name, b""), **options)


def program(first_file: int) -> bytes:
    return b"".join(
        [
            set_address(0x10000),
            bytes([SET_FILE, first_file, ADVANCE_LINE, 4, COPY]),  # line 5
            special(advance=2, step=1),  # 4 bytes on, line 6
            bytes([SET_FILE, first_file + 1, ADVANCE_PC, 3, COPY]),  # 6 bytes on
            bytes([SET_FILE, first_file + 2, CONST_ADD_PC, ADVANCE_LINE, 0x7F, COPY]),
            # (255 - 13) // 12 = 20 instructions of 2 bytes on, one line back
            bytes([FIXED_ADVANCE_PC]) + struct.pack("<H", 8) + END_SEQUENCE,
        ]
    )


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_each_version_gives_the_rows_that_its_program_says(version: int):
    tables, first = (NEW_TABLES, 0) if version == 5 else (OLD_TABLES, 1)
    lines = lines_of(info_unit(version), line_unit(version, tables, program(first)))
    assert lines.line(0xFFFF) is None
    assert lines.line(0x10000) == lines.line(0x10003) == ("/build/a.c", 5)
    assert lines.line(0x10004) == lines.line(0x10009) == ("/build/a.c", 6)
    assert lines.line(0x1000A) == lines.line(0x10031) == ("/build/inc/b.h", 6)
    assert lines.line(0x10032) == lines.line(0x10039) == ("/abs/c.h", 5)
    assert lines.line(0x1003A) is None


def test_relative_compiler_directories_stay_relative():
    tables = NEW_TABLES.replace(b"/build", b".")
    lines = lines_of(info_unit(5, comp_dir=b"."), line_unit(5, tables, program(0)))
    assert lines.line(0x10000) == ("./a.c", 5)
    assert lines.line(0x1000A) == ("./inc/b.h", 6)


def test_the_bias_is_added_and_dropped_functions_are_not_shown():
    dropped = program(1) + set_address(0) + bytes([COPY]) + special(9, 0) + END_SEQUENCE
    lines = lines_of(
        info_unit(4),
        line_unit(4, OLD_TABLES, dropped),
        is_code=lambda addr: addr >= 0x50000,
        bias=0x40000,
    )
    assert lines.line(0x50000) == ("/build/a.c", 5)
    assert lines.line(0x40000) is None


def test_units_that_share_a_line_table_are_read_once_and_others_all():
    first = line_unit(4, OLD_TABLES, program(1))
    second = line_unit(4, OLD_TABLES, set_address(0x20000) + program(1)[11:])
    info = info_unit(4) + info_unit(4, comp_dir=b"/other") + info_unit(4, len(first), b"/third")
    lines = lines_of(info, first + second)
    assert lines.line(0x10000) == ("/build/a.c", 5)
    assert lines.line(0x20000) == ("/third/a.c", 5)


def test_a_later_sequence_ends_an_earlier_one_that_it_overlaps():
    later = set_address(0x10004) + bytes([ADVANCE_LINE, 40, COPY]) + special(1, 0) + END_SEQUENCE
    lines = lines_of(info_unit(4), line_unit(4, OLD_TABLES, program(1) + later))
    assert lines.line(0x10003) == ("/build/a.c", 5)
    assert lines.line(0x10005) == ("/build/a.c", 41)
    assert lines.line(0x1000A) is None


def test_a_damaged_unit_loses_its_own_lines_only():
    damaged = line_unit(4, OLD_TABLES, program(1)[:-3])  # no end_sequence
    backwards = line_unit(4, OLD_TABLES, program(1)[:-3] + set_address(4) + END_SEQUENCE)
    good = line_unit(4, OLD_TABLES, program(1))
    for bad in (damaged, backwards, line_unit(6, OLD_TABLES, b""), bytes(40), b"\xff" * 40):
        lines = lines_of(info_unit(4) + info_unit(4, len(bad)), bad + good)
        assert lines.line(0x10000) == ("/build/a.c", 5)
    assert lines_of(info_unit(4), damaged).line(0x10000) is None


def test_a_file_without_a_name_is_a_question_mark():
    lines = lines_of(info_unit(4), line_unit(4, OLD_TABLES, program(3)))
    assert lines.line(0x10000) == ("/abs/c.h", 5)
    assert lines.line(0x1000A) == ("?", 6)


ENDLESS = {
    "directories without bytes": line_unit(5, b"\0" + b"\xff" * 9 + b"\1", b""),
    "files without bytes": line_unit(5, b"\1\1\x08\0\0" + b"\xff" * 9 + b"\1", b""),
    "a long number": line_unit(5, b"\1" + b"\xff" * (4 << 20), b""),
    "a long name": line_unit(4, b"x" * (1 << 20), b""),
    "many entries": line_unit(4, b"\0\0", b"\1" * (1 << 16)),
    "no operation": line_unit(4, b"\0\0", b"\0" * (1 << 18)),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_damage_costs_little(what: str):
    lines = lines_of(info_unit(5), ENDLESS[what])
    with at_most(4_000_000):
        assert lines.line(0) is None


@given(st.binary(max_size=80))
def test_no_bytes_in_a_section_are_an_error(content: bytes):
    for header in (b"", struct.pack("<IH", len(content) + 2, 4), b"\xff" * 4):
        Lines(lambda name, table=header + content: table).line(5)
        lines_of(info_unit(4), header + content).line(5)


FLIPS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4)


@given(version=st.sampled_from([4, 5]), info=FLIPS, abbrev=FLIPS, line=FLIPS)
def test_damaged_units_only_lose_lines(version: int, info, abbrev, line):
    tables = NEW_TABLES if version == 5 else OLD_TABLES
    sections = {
        ".debug_info": (info_unit(version), info),
        ".debug_abbrev": (ABBREV, abbrev),
        ".debug_line": (line_unit(version, tables, program(1)), line),
    }
    damaged = {}
    for name, (content, flips) in sections.items():
        changed = bytearray(content)
        for position, value in flips:
            changed[position % len(changed)] = value
        damaged[name] = bytes(changed)
    Lines(lambda name: damaged.get(name, b"")).line(0x10000)


# Which programs are run

PLACED = bytes([1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0, 0])
"""A compile unit with stmt_list, low_pc as an address, high_pc as a length."""
LISTED = bytes([1, 0x11, 0, 0x10, 0x17, 0x55, 0x17, 0x11, 0x01, 0, 0, 0])
"""With stmt_list, ranges as an offset, and low_pc as their base."""


def placed_unit(offset: int, *rest: bytes) -> bytes:
    die = b"\1" + struct.pack("<I", offset) + b"".join(rest)
    return struct.pack("<IH", 7 + len(die), 4) + bytes(4) + b"\x08" + die


def placed(addr: int) -> bytes:
    return line_unit(4, OLD_TABLES, set_address(addr) + program(1)[11:])


def test_only_the_program_of_the_unit_that_has_the_address_is_run():
    first, second = placed(0x10000), placed(0x20000)
    broken = b"\xff" * len(first)
    sections = {
        ".debug_info": placed_unit(0, struct.pack("<QQ", 0x10000, 0x100))
        + placed_unit(len(first), struct.pack("<QQ", 0x20000, 0x100)),
        ".debug_abbrev": PLACED,
        ".debug_line": broken + second,
    }
    asked: list[str] = []

    def section(name: str) -> bytes:
        asked.append(name)
        return sections.get(name, b"")

    lines = Lines(section)
    assert lines.line(0x20000) == ("a.c", 5)
    assert asked.count(".debug_line") == 2  # for its header and its code: once each
    assert lines.line(0x10000) is None
    assert lines.line(0x30000) is None
    sections[".debug_line"] = first + second
    assert Lines(section, bias=0x1000).line(0x11000) == ("a.c", 5)


def test_units_may_list_their_ranges():
    line = placed(0x10000)
    info = placed_unit(0, struct.pack("<IQ", 0, 0x10000))
    ranges = struct.pack("<6Q", 0, 0x10, 0x20, 0x30, 0, 0)
    sections = {".debug_info": info, ".debug_abbrev": LISTED, ".debug_ranges": ranges}
    lines = Lines(lambda name: (sections | {".debug_line": line}).get(name, b""))
    assert lines.line(0x10000) == ("a.c", 5)
    assert lines.line(0x10010) is None
    assert lines.line(0x10020) == ("inc/b.h", 6)
