"""The sections of an ELF file, read by pyelftools: debug information, symbols, attributes.

Nothing here is needed to run the program, so nothing here fails: what is damaged isn't known.
Importing this module imports pyelftools, so `rvsim.guest.elf` and `rvsim.guest.lines` do it late.
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

from rvsim.guest.file_limits import (
    LONGEST_NAME,
    MOST_EXPANDED,
    MOST_HEADER_READS,
    MOST_NAME_BYTES,
    MOST_SECTIONS,
    MOST_SYMBOLS,
    Budget,
    TooLarge,
)
from rvsim.guest.symbols import FUNC, NOTYPE, OBJECT, Symbol
from rvsim.printable import printable

DAMAGE: Final = (
    *(ELFError, DWARFError, ConstructError, struct.error, zlib.error),
    *(ValueError, LookupError, ArithmeticError, AssertionError, NotImplementedError),
    *(AttributeError, TypeError),  # a field or a string that should be there and is not
    *(MemoryError, RecursionError, StopIteration),
)
"""What pyelftools raises when the bytes are not what they claim to be."""

_SYMBOL: Final = np.dtype("<u4, u1, u1, <u2, <u8, <u8")  # name, info, other, shndx, value, size
_SHF_ALLOC: Final = 2
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_STT_GNU_IFUNC: Final = 10
_KINDS: Final = {NOTYPE: NOTYPE, OBJECT: OBJECT, FUNC: FUNC, _STT_GNU_IFUNC: FUNC}
_ZLIB: Final = "ELFCOMPRESS_ZLIB"
_BYTES_A_READ: Final = 1 << 16


class Reader(io.BytesIO):
    """Bytes for pyelftools to parse, with an end to its patience: `ValueError` when it is reached.

    pyelftools follows damaged lengths and links as long as there are bytes to read, some of them in
    circles, and takes square time for a number of a million digits.
    """

    def __init__(self, data: bytes, reads: Budget) -> None:
        super().__init__(data)
        self._reads = reads
        self._run = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes; neither endless in number nor all of one endless number or name."""
        data = super().read(size)
        self._reads.spend(1 + len(data) // _BYTES_A_READ)
        self._run = self._run + 1 if size == 1 and data >= b"\x80" else 0
        if self._run > LONGEST_NAME:
            raise ValueError("a number has no end")
        return data


def open_elf(data: bytes) -> ELFFile:
    """The ELF file with its header parsed; one of `DAMAGE` if that is none."""
    reads = Budget(MOST_HEADER_READS, f"headers larger than {MOST_HEADER_READS:,} fields")
    return ELFFile(Reader(data, reads))


class Sections:
    """The sections of an ELF file; none at all if their table is bad."""

    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf
        self._contents: dict[str, bytes] = {}
        self._expanded = Budget(
            MOST_EXPANDED, f"debug info larger than {MOST_EXPANDED >> 20} MiB once expanded"
        )
        self.why_unnamed: str | None = None
        """Why symbols are not known that the file may have, as far as they were asked for."""

    @cached_property
    def _all(self) -> list[Section]:
        try:
            number = self._elf.num_sections()
            return list(self._elf.iter_sections()) if number <= MOST_SECTIONS else []
        except DAMAGE:
            return []

    def content(self, name: str) -> bytes:
        """The bytes of a section, expanded if they are compressed; none if there is no such one.

        Raises `TooLarge` if expanding it takes too much memory.
        """
        if name not in self._contents:
            section = next((s for s in self._all if s.name == name), None)
            try:
                self._contents[name] = self._content(section) if section else b""
            except TooLarge:
                raise
            except DAMAGE:
                self._contents[name] = b""
        return self._contents[name]

    def _content(self, section: Section) -> bytes:
        if section["sh_type"] == "SHT_NOBITS":
            return b""
        if section.compressed:
            if section._compression_type != _ZLIB:
                raise TooLarge(f"debug info compressed other than by zlib: {section.name}")
            if not section.data_size:
                return b""  # for zlib, no limit
            self._expanded.spend(section.data_size)
        return section.data()

    def symbols(self, bias: int) -> Iterator[Symbol]:
        """The symbols that have an address in the guest or are plain numbers."""
        tables = [s for s in self._all if isinstance(s, SymbolTableSection)]
        tables.sort(key=lambda s: s["sh_type"] != "SHT_SYMTAB")
        try:
            yield from self._symbols_of(tables[0], bias) if tables else ()
        except TooLarge as too_large:
            self.why_unnamed = str(too_large)
        except DAMAGE:
            return

    def _symbols_of(self, table: SymbolTableSection, bias: int) -> Iterator[Symbol]:
        """Through NumPy: pyelftools takes 20 µs for each entry, and programs have thousands."""
        content, strings = self._content(table), self._content(table.stringtable)
        number = len(content) // _SYMBOL.itemsize
        Budget(MOST_SYMBOLS, f"a symbol table of more than {MOST_SYMBOLS:,} entries").spend(number)
        names = Budget(
            MOST_NAME_BYTES, f"symbols with more than {MOST_NAME_BYTES >> 20} MiB of names"
        )
        ends = {
            i: s["sh_addr"] + s["sh_size"]
            for i, s in enumerate(self._all)
            if s["sh_flags"] & _SHF_ALLOC
        }
        for name, info, _, shndx, value, size in np.frombuffer(content, _SYMBOL, number).tolist():
            kind = _KINDS.get(info & 15)
            if kind is None or shndx == _SHN_UNDEF:
                continue
            if shndx != _SHN_ABS and shndx not in ends:
                continue
            text = _text(strings, name)
            names.spend(len(text))
            if shndx == _SHN_ABS:
                yield Symbol(text, value, value, kind, info >> 4)
            else:
                end = value + size if size else ends[shndx]
                yield Symbol(text, value + bias, end + bias, kind, info >> 4, size > 0)

    def arch(self) -> str | None:
        """``Tag_RISCV_arch`` of the file (psABI, "Attributes"), such as ``rv64i2p1_m2p0``."""
        attributes = next((s for s in self._all if isinstance(s, RISCVAttributesSection)), None)
        try:
            return _arch(attributes) if attributes else None
        except DAMAGE:
            return None


def _text(strings: bytes, start: int) -> str:
    end = strings.find(0, start, start + LONGEST_NAME)
    return printable(strings[start:end]) if end >= 0 else ""


def _arch(attributes: RISCVAttributesSection) -> str | None:
    """Search the attributes of the whole file, which come first, of the first (only) vendor."""
    vendor = next(attributes.iter_subsections())
    whole_file = next(vendor.iter_subsubsections())
    if vendor["vendor_name"] != "riscv" or whole_file.header.tag != "TAG_FILE":
        return None
    found = next(whole_file.iter_attributes("TAG_ARCH"), None)
    return printable(found.value) if found else None
