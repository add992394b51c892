"""Sections: a file written by hand from the specifications, and attributes that are damaged."""

from __future__ import annotations

import struct

import pytest

from rvsim.guest.elf import load_elf
from rvsim.hart.memory import PAGE, Memory

SIZE = 1 << 20


def handmade(symbols: bytes, strings: bytes, attributes: bytes) -> bytes:
    """A file of four sections, with one segment: 16 bytes of code at 0x10000, and 8 of zeros."""
    code = struct.pack("<4I", 0x13, 0x13, 0x13, 0x6F)
    contents = [b"", code, symbols, strings, attributes]
    offsets = [PAGE + sum(map(len, contents[:i])) for i in range(5)]
    kinds = [(0, 0, 0, 0), (1, 6, 0x10000, 0), (2, 0, 0, 3), (3, 0, 0, 0), (0x70000003, 0, 0, 0)]
    table = b"".join(
        struct.pack("<2I4Q2I2Q", 0, kind, flags, addr, offset, len(content), link, 0, 1, 24)
        for content, offset, (kind, flags, addr, link) in zip(contents, offsets, kinds, strict=True)
    )
    shoff = PAGE + sum(map(len, contents))
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    header = struct.pack("<2HI3QI6H", 2, 243, 1, 0x10004, 64, shoff, 5, 64, 56, 1, 64, 5, 3)
    segment = struct.pack("<2I6Q", 1, 5, PAGE, 0x10000, 0, 16, 24, 1)
    return (ident + header + segment).ljust(PAGE, b"\0") + b"".join([*contents, table])


def with_length(head: bytes, content: bytes) -> bytes:
    """An attributes section's part, whose length counts itself (psABI, "Attributes")."""
    return head + struct.pack("<I", len(head) * (head != b"A") + 4 + len(content)) + content


ARCH = bytes([4, 16, 5]) + b"rv64i2p1_zve32x1p0\0" + bytes([6, 1])
ATTRIBUTES = with_length(b"A", b"riscv\0" + with_length(b"\1", ARCH))


def test_a_file_written_by_hand_is_read_as_the_specification_says():
    symbols = [
        (0, 0, 0, 0, 0),
        (1, 0x12, 1, 0x10000, 8),  # global function
        (5, 0x10, 1, 0x10008, 0),  # global label up to the end of its section
        (9, 0x10, 0xFFF1, 0x10002, 0),  # absolute number
        (11, 0x1A, 1, 0x1000C, 4),  # indirect function
        (1, 0x10, 0, 0, 0),  # not defined here
        (5, 0x13, 1, 0x10000, 0),  # section
    ]
    table = b"".join(
        struct.pack("<I2BHQQ", name, info, 0, shndx, addr, size)
        for name, info, shndx, addr, size in symbols
    )
    memory = Memory(SIZE)
    image = load_elf(handmade(table, b"\0one\0two\0n\0if\0", ATTRIBUTES), memory)
    assert (image.entry, image.data_end, image.flags) == (0x10004, 0x10018, 5)
    assert (image.phdr_addr, image.phdr_num, image.phdr_entsize) == (0, 1, 56)
    assert memory.read(0x10000, 24) == struct.pack("<6I", 0x13, 0x13, 0x13, 0x6F, 0, 0)
    assert image.arch == "rv64i2p1_zve32x1p0"
    assert image.tohost is None
    assert [image.symbols.address(n) for n in ("one", "two", "n", "if")] == [
        *(0x10000, 0x10008, 0x10002, 0x1000C)
    ]
    assert [image.symbols.lookup(0x10000 + i) for i in (0, 7, 8, 11, 12, 15, 16)] == [
        *(("one", 0), ("one", 7), ("two", 0), ("two", 3), ("if", 0), ("if", 3), None)
    ]


@pytest.mark.parametrize(
    "attributes",
    [
        b"",
        b"B" + ATTRIBUTES[1:],
        b"A" + bytes(20),
        b"A" + b"\xff" * 40,
        ATTRIBUTES.replace(b"riscv", b"other"),
        ATTRIBUTES.replace(ARCH, b"\xff" * len(ARCH)),
    ],
)
def test_damaged_attributes_are_not_known(attributes: bytes):
    assert load_elf(handmade(b"", b"", attributes), Memory(SIZE)).arch is None
