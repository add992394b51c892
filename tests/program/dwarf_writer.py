"""Line number units of DWARF 2 to 5, written by hand from the specification."""

from __future__ import annotations

import struct

OPCODE_LENGTHS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
END_SEQUENCE = bytes([0, 1, 1])
# Abbreviation 1: a compile unit (0x11) without children; stmt_list as an offset, comp_dir as text.
ABBREV = bytes([1, 0x11, 0, 0x10, 0x17, 0x1B, 0x08, 0, 0, 0])
OLD_TABLES = b"inc\0/abs\0\0" + b"a.c\0\0\0\0" + b"b.h\0\1\0\0" + b"c.h\0\2\0\0" + b"\0"
# Directories: a path as text.  Files: a path as text, and a directory as LEB128.
NEW_TABLES = b"\1\1\x08\3/build\0inc\0/abs\0" + b"\2\1\x08\2\x0b\3a.c\0\0b.h\0\1c.h\0\2"


def set_address(addr: int) -> bytes:
    return bytes([0, 9, 2]) + struct.pack("<Q", addr)


def special(advance: int, step: int) -> bytes:
    """DWARF 5, 6.2.5.1, with line_base -3, line_range 12 and opcode_base 13."""
    return bytes([(step + 3) + 12 * advance + 13])


def with_length(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def line_unit(version: int, tables: bytes, program: bytes) -> bytes:
    """DWARF 5, 6.2.4, for instructions of 2 bytes and the numbers that `special` assumes."""
    operations = b"\1" if version >= 4 else b""
    fixed = bytes([2]) + operations + bytes([1, 0xFD, 12, 13]) + OPCODE_LENGTHS
    sizes = b"\x08\0" if version == 5 else b""
    return with_length(struct.pack("<H", version) + sizes + with_length(fixed + tables) + program)


def info_unit(version: int, offset: int = 0, comp_dir: bytes = b"/build") -> bytes:
    die = b"\1" + struct.pack("<I", offset) + comp_dir + b"\0"
    head = b"\1\x08" + bytes(4) if version == 5 else bytes(4) + b"\x08"
    return with_length(struct.pack("<H", version) + head + die)
