"""The smallest ELF that Linux and QEMU run: a header, a text segment and a data segment."""

from __future__ import annotations

import struct

PAGE = 4096
_EHDR, _PHDR = 64, 56
_LOAD = 1
_X, _W, _R = 1, 2, 4
_EXECUTABLE, _RISCV, _FLOAT_ABI_DOUBLE_RVC = 2, 243, 5


def write_elf(text: bytes, data: bytes, *, text_addr: int, data_addr: int) -> bytes:
    """A static RV64 executable that starts at the first byte of `text`.

    Both addresses are starts of pages.  Text may be executed and read, data read and written.
    """
    text_offset = PAGE
    data_offset = text_offset + -(-len(text) // PAGE) * PAGE
    ident = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", _EXECUTABLE, _RISCV, 1, text_addr, _EHDR, 0, _FLOAT_ABI_DOUBLE_RVC,
        _EHDR, _PHDR, 2, 0, 0, 0,
    )  # fmt: skip
    segments = _segment(_R | _X, text_offset, text_addr, len(text)) + _segment(
        _R | _W, data_offset, data_addr, len(data)
    )
    image = (header + segments).ljust(text_offset, b"\0") + text
    return image.ljust(data_offset, b"\0") + data


def _segment(flags: int, offset: int, addr: int, size: int) -> bytes:
    return struct.pack("<IIQQQQQQ", _LOAD, flags, offset, addr, addr, size, size, PAGE)
