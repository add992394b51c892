"""ELF files whose headers and tables ask for as much work and memory as they can."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

from tests.program.dwarf_writer import (
    ABBREV,
    COPY,
    END_SEQUENCE,
    NEW_TABLES,
    OLD_TABLES,
    SET_FILE,
    info_unit,
    line_unit,
    set_address,
    special,
    with_length,
)
from tests.program.elf_files import (
    ALLOC,
    ATTRIBUTES,
    COMPRESSED,
    EXIT_0,
    NOTE,
    STRTAB,
    SYMTAB,
    TEXT,
    R,
    Section,
    Segment,
    W,
    compressed,
    elf_file,
    symbol,
)

CODE: Final = Segment(TEXT, EXIT_0)
MIB: Final = 1 << 20


def with_debug(line: bytes, info: bytes = b"", abbrev: bytes = ABBREV, **others: bytes) -> bytes:
    """A program with these debug sections, all compressed; `others` are named without .debug_."""
    contents = {"info": info or info_unit(5), "abbrev": abbrev, "line": line, **others}
    return elf_file(
        [CODE],
        [
            Section(f".debug_{name}", compressed(content), flags=COMPRESSED)
            for name, content in contents.items()
        ],
    )


def with_symbols(entries: bytes, strings: bytes) -> bytes:
    return elf_file(
        [CODE],
        [
            Section(".text", EXIT_0, flags=ALLOC, addr=TEXT),
            Section(".symtab", entries, SYMTAB, link=3),
            Section(".strtab", strings, STRTAB),
        ],
    )


def rows(operations: bytes) -> bytes:
    return line_unit(5, NEW_TABLES, set_address(TEXT) + operations + END_SEQUENCE)


def claims(size: int) -> bytes:
    """A line table of 32 MiB whose header says another size."""
    content = compressed(rows(special(0, 0) * (32 * MIB)), claim=size)
    debug = [Section(".debug_info", info_unit(5)), Section(".debug_abbrev", ABBREV)]
    return elf_file([CODE], [*debug, Section(".debug_line", content, flags=COMPRESSED)])


def abbreviation(*attributes: tuple[int, int]) -> bytes:
    """A compile unit without children that has these attributes, in their forms."""
    pairs = b"".join(bytes([name, form]) for name, form in (*attributes, (0, 0)))
    return bytes([1, 0x11, 0]) + pairs + b"\0"


def unit(content: bytes) -> bytes:
    return with_length(struct.pack("<H", 5) + b"\1\x08" + bytes(4) + b"\1" + content)


def header_counts(offset: int, layout: str, value: int) -> bytes:
    content = bytearray(elf_file([CODE], [Section(f".s{i}", b"x") for i in range(4)]))
    struct.pack_into(layout, content, offset, value)
    return bytes(content)


def many_sections() -> bytes:
    """Section number 0 says how many there are, where the header says 0 (gABI, e_shnum)."""
    content = bytearray(elf_file([CODE], [Section(f".s{i}", b"x") for i in range(4)]))
    table = struct.unpack_from("<Q", content, 40)[0]
    struct.pack_into("<H", content, 60, 0)
    struct.pack_into("<Q", content, table + 32, 1 << 40)
    return bytes(content)


def long_names() -> bytes:
    """4,000 sections, all with one name of a megabyte without an end."""
    content = bytearray(elf_file([CODE], [Section("s", b"") for _ in range(4000)]))
    table = struct.unpack_from("<Q", content, 40)[0]
    struct.pack_into("<QQ", content, table + 64 * 4001 + 24, len(content), MIB)
    return bytes(content) + b"n" * MIB


def attribute_parts() -> bytes:
    part = b"\1" + struct.pack("<I", 5)
    vendor = b"riscv\0" + part * 200_000
    return b"A" + struct.pack("<I", 4 + len(vendor)) + vendor


INDIRECT: Final = 0x16
STMT_LIST, RANGES, COMP_DIR, LOW_PC = 0x10, 0x55, 0x1B, 0x11
SEC_OFFSET, BLOCK4, STRING, ADDR = 0x17, 0x04, 0x08, 0x01
FILE_TABLE: Final = b"\1\1\x08\1x\0" + b"\2\1\x08\2\x0b" + b"\xff\xff\x3f" + b"f\0\0" * 0xFFFFF

BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "a row a byte": lambda: with_debug(rows(special(0, 0) * (48 * MIB))),
    "a row a byte, a gigabyte": lambda: claims(1 << 30),
    "no size": lambda: claims(0),
    "empty sequences": lambda: with_debug(rows(END_SEQUENCE * (8 * MIB))),
    "lines that only move": lambda: with_debug(rows(bytes([3, 1]) * (16 * MIB))),
    "long numbers": lambda: with_debug(rows(bytes([3]) + b"\x80" * MIB)),
    "a file for each row": lambda: with_debug(rows(bytes([SET_FILE, 1, COPY]) * (8 * MIB))),
    "units": lambda: with_debug(rows(b""), info_unit(5) * 500_000),
    "units, each with a table": lambda: with_debug(
        rows(special(0, 0) * 1000) * 3000,
        b"".join(info_unit(5, i * len(rows(special(0, 0) * 1000))) for i in range(3000)),
    ),
    "blocks over all units": lambda: with_debug(
        rows(b""),
        unit(struct.pack("<I", 40 * MIB)) * 100_000 + bytes(40 * MIB),
        abbreviation((COMP_DIR, BLOCK4)),
    ),
    "an abbreviation table": lambda: with_debug(
        rows(b""), abbrev=b"".join(bytes([2, 0x11, 0]) + bytes(2) for _ in range(2 * MIB))
    ),
    "an abbreviation of many attributes": lambda: with_debug(
        rows(b""), abbrev=b"\1\x11\0" + b"\x03\x21" * (8 * MIB)
    ),
    "forms that name forms": lambda: with_debug(
        rows(b""), unit(bytes([INDIRECT]) * MIB), abbreviation((STMT_LIST, INDIRECT))
    ),
    "a directory without an end": lambda: with_debug(
        rows(b""), unit(b"d" * (32 * MIB)), abbreviation((COMP_DIR, STRING))
    ),
    "files": lambda: with_debug(line_unit(5, FILE_TABLE, END_SEQUENCE)),
    "old files": lambda: with_debug(
        line_unit(4, b"\0" + b"f\0\0\0\0" * MIB + b"\0", END_SEQUENCE), info_unit(4)
    ),
    "ranges": lambda: with_debug(
        rows(b""),
        with_length(struct.pack("<H", 4) + bytes(4) + b"\x08\1" + bytes(8)),
        abbreviation((STMT_LIST, SEC_OFFSET), (RANGES, SEC_OFFSET)),
        ranges=struct.pack("<QQ", 1, 2) * (2 * MIB),
    ),
    "symbols": lambda: with_symbols(symbol(1, TEXT, 4, 1) * MIB, b"\0f\0"),
    "names that overlap": lambda: with_symbols(
        b"".join(symbol(1 + i % 4000, TEXT, 4, 1) for i in range(200_000)),
        b"\0" + b"n" * 4090 + b"\0",
    ),
    "names without an end": lambda: with_symbols(
        b"".join(symbol(i, TEXT, 4, 1) for i in range(200_000)), b"n" * MIB
    ),
    "sections": many_sections,
    "long section names": long_names,
    "as many sections as fit 16 bits": lambda: header_counts(60, "<H", 0xFEFF),
    "sections of no size": lambda: header_counts(58, "<H", 0),
    "attributes": lambda: elf_file(
        [CODE], [Section(".riscv.attributes", attribute_parts(), ATTRIBUTES)]
    ),
    "notes": lambda: elf_file(
        [CODE, *(Segment(TEXT, EXIT_0, R, kind=NOTE, size=1 << 40) for _ in range(1000))]
    ),
    "the whole memory, over and over": lambda: elf_file(
        [
            *(Segment(0x20000, b"x", R | W, size=(4 << 30) - 0x200000) for _ in range(1168)),
            CODE,
        ]
    ),
    "old tables": lambda: with_debug(
        line_unit(4, OLD_TABLES, bytes([SET_FILE, 0xFF, 0xFF, 0x7F, COPY]) * (4 * MIB)),
        info_unit(4),
    ),
}
"""By what they have too much of."""

MAY_RUN: Final = frozenset(BOMBS) - {"the whole memory, over and over"}
"""Those whose code is in its place at the end."""


def mutations(content: bytes, choose: Callable[[int], int]) -> Iterator[bytes]:
    """Endless files that differ from this one in a few bytes, pieces or its length.

    `choose` gives a number from 0 on and below another one.
    """
    while True:
        changed = bytearray(content)
        for _ in range(1 + choose(6)):
            at = 4 + choose(min(len(changed) + 1, 1 << choose(25) + 1))
            match choose(5):
                case 0:
                    changed[at : at + 1] = bytes([choose(256)])
                case 1:
                    changed[at : at + 8] = struct.pack("<Q", EXTREMES[choose(len(EXTREMES))])
                case 2:
                    changed[at : at + 4] = struct.pack(
                        "<I", EXTREMES[choose(len(EXTREMES))] & 0xFFFFFFFF
                    )
                case 3:
                    source = choose(len(changed) or 1)
                    changed[at : at + 64] = changed[source : source + 64]
                case _:
                    del changed[len(changed) - choose(len(changed) // 8 + 1) :]
        yield bytes(changed)


EXTREMES: Final = (
    0,
    1,
    2,
    8,
    0x1000,
    0x7FFFFFFF,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
