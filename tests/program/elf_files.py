"""ELF files with any headers, sections and symbols, right ones and wrong ones.

`tests.program.elf_writer` has the smallest right one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

EXECUTABLE, SHARED = 2, 3
LOAD, NOTE = 1, 4
X, W, R = 1, 2, 4
PROGBITS, SYMTAB, STRTAB, ATTRIBUTES = 1, 2, 3, 0x70000003
ALLOC, EXECINSTR, COMPRESSED = 2, 4, 0x800
GLOBAL_FUNCTION = 0x12
ZLIB, ZSTD = 1, 2
TEXT = 0x10000
"""Where `Segment`s of code in tests go."""

EXIT_0 = struct.pack("<3I", 0x00000513, 0x05D00893, 0x00000073)
"""li a0, 0; li a7, 93; ecall"""

_EHDR, _PHDR, _SHDR = 64, 56, 64


@dataclass(frozen=True)
class Segment:
    """A program header, and what stands in the file for it; by default at its address mod 4096."""

    addr: int
    content: bytes
    flags: int = R | X
    size: int | None = None
    kind: int = LOAD
    shift: int = 0
    """Bytes that p_offset is off."""


@dataclass(frozen=True)
class Section:
    """A section header and its content."""

    name: str | bytes
    content: bytes
    kind: int = PROGBITS
    flags: int = 0
    addr: int = 0
    link: int = 0


def symbol(name: int, addr: int, size: int, section: int, info: int = GLOBAL_FUNCTION) -> bytes:
    """An entry of a symbol table, with the place of its name in the strings."""
    return struct.pack("<I2BHQQ", name, info, 0, section, addr, size)


def compressed(content: bytes, claim: int | None = None) -> bytes:
    """The content of a section with the flag `COMPRESSED`, whose header may claim any size."""
    size = len(content) if claim is None else claim
    return struct.pack("<IIQQ", ZLIB, 0, size, 1) + zlib.compress(content, 9)


def attributes(arch: str) -> bytes:
    """A section .riscv.attributes that names extensions (psABI, "Attributes")."""
    tags = bytes([5]) + arch.encode() + b"\0"
    file = bytes([1]) + struct.pack("<I", 5 + len(tags)) + tags
    vendor = b"riscv\0" + file
    return b"A" + struct.pack("<I", 4 + len(vendor)) + vendor


def elf_file(
    segments: Sequence[Segment],
    sections: Sequence[Section] = (),
    *,
    entry: int = TEXT,
    kind: int = EXECUTABLE,
) -> bytes:
    """An RV64 file; the section of section names comes last, its number is the last one."""
    content = bytearray(_EHDR + _PHDR * len(segments))
    program_headers = b""
    for s in segments:
        content += bytes((s.addr - len(content)) % 4096)
        size = len(s.content) if s.size is None else s.size
        program_headers += struct.pack(
            "<2I6Q",
            *(s.kind, s.flags, len(content) + s.shift, s.addr, s.addr, len(s.content), size, 4096),
        )
        content += s.content
    names = [s.name.encode() if isinstance(s.name, str) else s.name for s in sections]
    strings = b"\0" + b"".join(name + b"\0" for name in names) + b".shstrtab\0"
    own = Section(".shstrtab", strings, STRTAB)
    headers = bytes(_SHDR)
    at = 1
    for s, name in zip([*sections, own], [*names, b".shstrtab"], strict=True):
        headers += struct.pack(
            "<2I4Q2I2Q",
            *(at, s.kind, s.flags, s.addr, len(content), len(s.content), s.link, 0, 1),
            24 if s.kind == SYMTAB else 0,
        )
        content += s.content
        at += len(name) + 1
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    number = len(sections) + 2
    header = ident + struct.pack(
        "<2HI3QI6H",
        *(kind, 243, 1, entry, _EHDR, len(content), 5),
        *(_EHDR, _PHDR, len(segments), _SHDR, number, number - 1),
    )
    content[: _EHDR + len(program_headers)] = header + program_headers
    return bytes(content + headers)
