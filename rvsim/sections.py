"""The section table of an ELF file: debug information, symbols, attributes.

Nothing here is needed to run the program, so nothing here fails: what is damaged is left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from rvsim.symbols import FUNC, NOTYPE, OBJECT, Symbol


def _record(fields: str) -> np.dtype[np.void]:
    return np.dtype([(name, f"<{kind}") for name, kind in (f.split(":") for f in fields.split())])


_SECTION: Final = _record(
    "name:u4 type:u4 flags:u8 addr:u8 offset:u8 size:u8 link:u4 info:u4 align:u8 entsize:u8"
)
_SYMBOL: Final = _record("name:u4 info:u1 other:u1 shndx:u2 value:u8 size:u8")
_SHT_SYMTAB, _SHT_NOBITS, _SHT_DYNSYM = 2, 8, 11
_SHT_RISCV_ATTRIBUTES: Final = 0x70000003
_SHF_ALLOC, _SHF_COMPRESSED = 2, 0x800
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_STT_GNU_IFUNC: Final = 10
_KINDS: Final = {NOTYPE: NOTYPE, OBJECT: OBJECT, FUNC: FUNC, _STT_GNU_IFUNC: FUNC}
_TAG_FILE, _TAG_ARCH = 1, 5
_LONGEST_NAME: Final = 4096
_LARGEST_EXPANSION: Final = 1 << 30


class Sections:
    """The sections of the ELF file `data`, as its header describes the table; none if it is bad."""

    def __init__(self, data: bytes, offset: int, entsize: int, number: int, names: int) -> None:
        self._data = data
        fits = entsize == _SECTION.itemsize and offset + number * entsize <= len(data)
        self._table: npt.NDArray[np.void] = np.frombuffer(
            data if fits else b"", _SECTION, number if fits else 0, offset if fits else 0
        )
        strings = self._bytes(names)
        self._by_name: dict[str, int] = {}
        for i in range(1, len(self._table)):
            self._by_name.setdefault(_text(strings, int(self._table[i]["name"])), i)

    def content(self, name: str) -> bytes:
        """The bytes of a section, expanded if they are compressed; none if there is no such one."""
        i = self._by_name.get(name)
        if i is None:
            return b""
        content = self._bytes(i)
        if not int(self._table[i]["flags"]) & _SHF_COMPRESSED:
            return content
        is_zlib, size = content[:4] == b"\1\0\0\0", int.from_bytes(content[8:16], "little")
        if not is_zlib or len(content) < 24 or size > _LARGEST_EXPANSION:
            return b""
        try:
            return zlib.decompressobj().decompress(content[24:], size or 1)
        except zlib.error:
            return b""

    def symbols(self, bias: int) -> Iterator[Symbol]:
        """The symbols that have an address in the guest or are plain numbers."""
        for wanted in (_SHT_SYMTAB, _SHT_DYNSYM):
            for i in np.flatnonzero(self._table["type"] == wanted):
                yield from self._symbols_of(int(i), bias)
                return

    def _symbols_of(self, table: int, bias: int) -> Iterator[Symbol]:
        content = self._bytes(table)
        strings = self._bytes(int(self._table[table]["link"]))
        limits = {
            i: int(section["addr"]) + int(section["size"])
            for i, section in enumerate(self._table)
            if int(section["flags"]) & _SHF_ALLOC
        }
        number = len(content) // _SYMBOL.itemsize
        for name, info, _, shndx, value, size in np.frombuffer(content, _SYMBOL, number).tolist():
            kind = _KINDS.get(info & 15)
            if kind is None or shndx == _SHN_UNDEF:
                continue
            if shndx == _SHN_ABS:
                yield Symbol(_text(strings, name), value, value, kind, info >> 4)
            elif shndx in limits:
                limit = value + size if size else limits[shndx]
                yield Symbol(
                    _text(strings, name), value + bias, limit + bias, kind, info >> 4, size > 0
                )

    def arch(self) -> str | None:
        """``Tag_RISCV_arch`` of the file (psABI, "Attributes"), such as ``rv64i2p1_m2p0``."""
        for i in np.flatnonzero(self._table["type"] == _SHT_RISCV_ATTRIBUTES):
            return _arch(self._bytes(int(i)))
        return None

    def _bytes(self, i: int) -> bytes:
        if not i < len(self._table) or self._table[i]["type"] == _SHT_NOBITS:
            return b""
        offset, size = int(self._table[i]["offset"]), int(self._table[i]["size"])
        return self._data[offset : offset + size] if offset + size <= len(self._data) else b""


def _text(strings: bytes, start: int) -> str:
    end = strings.find(0, start, start + _LONGEST_NAME)
    return strings[start:end].decode("utf-8", "replace") if end >= 0 else ""


def _arch(content: bytes) -> str | None:
    """Search the attributes of the whole file in the first (only) vendor's subsection."""
    pos = content.find(b"riscv\0") + 6
    if content[:1] != b"A" or pos != 11 or content[pos : pos + 1] != bytes([_TAG_FILE]):
        return None
    pos += 5  # the tag and the length of its subsection
    while pos < len(content):
        tag, pos = _uleb(content, pos)
        if tag % 2 == 0:
            _, pos = _uleb(content, pos)
            continue
        end = content.find(0, pos)
        if end < 0:
            return None
        if tag == _TAG_ARCH:
            return content[pos:end].decode("utf-8", "replace")
        pos = end + 1
    return None


def _uleb(content: bytes, pos: int) -> tuple[int, int]:
    """The 64-bit number at `pos` and where it ends; bytes past the end read as zero."""
    value = shift = 0
    while pos < len(content):
        value |= (content[pos] & 0x7F) << shift
        shift = min(shift + 7, 63)
        pos += 1
        if content[pos - 1] < 0x80:
            break
    return value, pos
