"""The sections of an ELF file, read by pyelftools: debug information, symbols, attributes.

Nothing here is needed to run the program, so nothing here fails: what is damaged isn't known.
Importing this module imports pyelftools, so `rvsim.elf` and `rvsim.lines` do it late.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import RISCVAttributesSection, Section, SymbolTableSection

from rvsim.printable import printable
from rvsim.symbols import FUNC, NOTYPE, OBJECT, Symbol

DAMAGE: Final = (
    *(ELFError, DWARFError, ConstructError, struct.error, zlib.error),
    *(ValueError, LookupError, ArithmeticError, AssertionError, NotImplementedError),
    *(AttributeError, TypeError),  # a field or a string that should be there and is not
    *(MemoryError, StopIteration),
)
"""What pyelftools raises when the bytes are not what they claim to be."""

_SYMBOL: Final = np.dtype("<u4, u1, u1, <u2, <u8, <u8")  # name, info, other, shndx, value, size
_SHF_ALLOC: Final = 2
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_STT_GNU_IFUNC: Final = 10
_KINDS: Final = {NOTYPE: NOTYPE, OBJECT: OBJECT, FUNC: FUNC, _STT_GNU_IFUNC: FUNC}
_MOST_SECTIONS: Final = 4096
_MOST_READS: Final = 200_000
_LARGEST_SECTION: Final = 1 << 30
_LONGEST_NAME: Final = 4096


class Reader(io.BytesIO):
    """Bytes for pyelftools to parse, with an end to its patience: `ValueError` when it is reached.

    pyelftools follows damaged lengths and links as long as there are bytes to read, some of them in
    circles, and takes square time for a number of a million digits.
    """

    def __init__(self, data: bytes, reads: int) -> None:
        super().__init__(data)
        self._reads_left = reads
        self._run = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes; neither endless in number nor all of one endless number or name."""
        data = super().read(size)
        self._reads_left -= 1
        self._run = self._run + 1 if size == 1 and data >= b"\x80" else 0
        if self._reads_left < 0 or self._run > _LONGEST_NAME:
            raise ValueError("damaged tables have no end")
        return data


def open_elf(data: bytes) -> ELFFile:
    """The ELF file with its header parsed; one of `DAMAGE` if that is none."""
    return ELFFile(Reader(data, _MOST_READS))


class Sections:
    """The sections of an ELF file; none at all if their table is bad."""

    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf

    @cached_property
    def _all(self) -> list[Section]:
        try:
            number = self._elf.num_sections()
            return list(self._elf.iter_sections()) if number <= _MOST_SECTIONS else []
        except DAMAGE:
            return []

    def content(self, name: str) -> bytes:
        """The bytes of a section, expanded if they are compressed; none if there is no such one."""
        section = next((s for s in self._all if s.name == name), None)
        try:
            return _content(section) if section else b""
        except DAMAGE:
            return b""

    def symbols(self, bias: int) -> Iterator[Symbol]:
        """The symbols that have an address in the guest or are plain numbers."""
        tables = [s for s in self._all if isinstance(s, SymbolTableSection)]
        tables.sort(key=lambda s: s["sh_type"] != "SHT_SYMTAB")
        try:
            yield from self._symbols_of(tables[0], bias) if tables else ()
        except DAMAGE:
            return

    def _symbols_of(self, table: SymbolTableSection, bias: int) -> Iterator[Symbol]:
        """Through NumPy: pyelftools takes 20 µs for each entry, and programs have thousands."""
        content, strings = _content(table), _content(table.stringtable)
        ends = {
            i: s["sh_addr"] + s["sh_size"]
            for i, s in enumerate(self._all)
            if s["sh_flags"] & _SHF_ALLOC
        }
        number = len(content) // _SYMBOL.itemsize
        for name, info, _, shndx, value, size in np.frombuffer(content, _SYMBOL, number).tolist():
            kind = _KINDS.get(info & 15)
            if kind is None or shndx == _SHN_UNDEF:
                continue
            if shndx == _SHN_ABS:
                yield Symbol(_text(strings, name), value, value, kind, info >> 4)
            elif shndx in ends:
                end = value + size if size else ends[shndx]
                yield Symbol(
                    _text(strings, name), value + bias, end + bias, kind, info >> 4, size > 0
                )

    def arch(self) -> str | None:
        """``Tag_RISCV_arch`` of the file (psABI, "Attributes"), such as ``rv64i2p1_m2p0``."""
        attributes = next((s for s in self._all if isinstance(s, RISCVAttributesSection)), None)
        try:
            return _arch(attributes) if attributes else None
        except DAMAGE:
            return None


def _content(section: Section) -> bytes:
    is_empty = section["sh_type"] == "SHT_NOBITS" or section.data_size > _LARGEST_SECTION
    return b"" if is_empty else section.data()


def _text(strings: bytes, start: int) -> str:
    end = strings.find(0, start, start + _LONGEST_NAME)
    return printable(strings[start:end]) if end >= 0 else ""


def _arch(attributes: RISCVAttributesSection) -> str | None:
    """Search the attributes of the whole file, which come first, of the first (only) vendor."""
    vendor = next(attributes.iter_subsections())
    whole_file = next(vendor.iter_subsubsections())
    if vendor["vendor_name"] != "riscv" or whole_file.header.tag != "TAG_FILE":
        return None
    found = next(whole_file.iter_attributes("TAG_ARCH"), None)
    return printable(found.value) if found else None
