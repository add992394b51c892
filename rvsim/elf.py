"""Loads RISC-V ELF executables: static ones, and static position-independent ones at a bias.

The whole file is checked before the first byte goes into guest memory; what is wrong with it is an
`ElfError` that names the file.  Symbols, lines and attributes are for people: where their tables
are damaged, they just aren't known.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from rvsim.errors import RvsimError
from rvsim.lines import Lines
from rvsim.mem import PAGE, Memory, R, W, X
from rvsim.sections import Sections
from rvsim.symbols import Symbols

PIE_BASE: Final = 0x400000
"""Where the first page of a position-independent executable goes."""

_ET_EXEC, _ET_DYN = 2, 3
_OTHER_TYPES: Final = {1: "a relocatable object: link it first", 4: "a core dump"}
_EM_RISCV: Final = 243
_PT_LOAD, _PT_INTERP, _PT_PHDR = 1, 3, 6
_PF_X, _PF_W, _PF_R = 1, 2, 4
_BIAS_UNIT: Final = 0x10000
_HEADER: Final = struct.Struct("<16x2HI3QI6H")
_PROGRAM_HEADER: Final = struct.Struct("<2I6Q")


class ElfError(RvsimError):
    """A file that is no ELF executable that rvsim can load."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that the file puts at `addr`; what `size` has more than `file_size` is zero."""

    addr: int
    size: int
    offset: int
    file_size: int
    perm: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.addr + self.size


@dataclass(frozen=True, slots=True)
class Image:
    """A loaded executable; all addresses are the guest's, with the load bias added.

    `data_end` is the first address after the last segment, where the heap may begin.  `arch` is
    the ``Tag_RISCV_arch`` string of the file's attributes, such as ``rv64i2p1_m2p0``.  `interp`
    will name the dynamic loader of programs that need one.
    """

    name: str
    entry: int
    bias: int
    is_pie: bool
    phdr_addr: int
    phdr_num: int
    phdr_entsize: int
    segments: tuple[Segment, ...]
    data_end: int
    flags: int
    arch: str | None
    tohost: int | None
    interp: str | None = None
    symbols: Symbols = field(default_factory=Symbols, repr=False, compare=False)
    lines: Lines = field(default_factory=Lines, repr=False, compare=False)


class _Header(NamedTuple):
    """The ELF header after the 16 bytes of identification."""

    type: int
    machine: int
    version: int
    entry: int
    phoff: int
    shoff: int
    flags: int
    ehsize: int
    phentsize: int
    phnum: int
    shentsize: int
    shnum: int
    shstrndx: int


class _ProgramHeader(NamedTuple):
    """One segment, or one note about the program."""

    type: int
    flags: int
    offset: int
    vaddr: int
    paddr: int
    filesz: int
    memsz: int
    align: int


def load_elf(source: str | os.PathLike[str] | bytes, memory: Memory) -> Image:
    """Put an executable, given by path or as its bytes, into memory.

    Nothing is written if there is an error: `ElfError`, with the file's name and the fault.
    """
    if isinstance(source, bytes):
        name, data = "<bytes>", source
    else:
        name = os.fspath(source)
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise ElfError(f"cannot read {name}: {error.strerror}") from None
        except ValueError as error:  # a name that no file can have
            raise ElfError(f"cannot read {name!r}: {error}") from None
    try:
        return _load(name, data, memory)
    except _FaultError as fault:
        raise ElfError(f"{name}: {fault}", hint=fault.hint) from None


class _FaultError(Exception):
    """What is wrong with the file, whose name only `load_elf` knows."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


def _load(name: str, data: bytes, memory: Memory) -> Image:
    header = _checked_header(data)
    program_headers = _program_headers(data, header)
    bias = _bias(header, program_headers)
    segments = _segments(data, program_headers, bias)
    _check_place(segments, memory)
    entry = header.entry + bias
    if not any(s.perm & X and s.addr <= entry < s.end for s in segments):
        raise _FaultError(f"its entry point {entry:#x} is not in an executable segment")
    sections = Sections(data, header.shoff, header.shentsize, header.shnum, header.shstrndx)
    symbols = Symbols(sections.symbols(bias))
    image = Image(
        name=name,
        entry=entry,
        bias=bias,
        is_pie=header.type == _ET_DYN,
        phdr_addr=_phdr_addr(header, program_headers, bias),
        phdr_num=header.phnum,
        phdr_entsize=header.phentsize,
        segments=segments,
        data_end=segments[-1].end,
        flags=header.flags,
        arch=sections.arch(),
        tohost=symbols.address("tohost"),
        symbols=symbols,
        lines=Lines(
            sections.content, lambda addr: any(s.addr <= addr < s.end for s in segments), bias
        ),
    )
    _place(data, segments, memory)
    return image


def _checked_header(data: bytes) -> _Header:
    if data[:4] != b"\x7fELF":
        raise _FaultError("not an ELF file")
    if len(data) < _HEADER.size:
        raise _FaultError(f"truncated: {len(data)} bytes are less than an ELF header")
    if data[4] != 2:
        raise _FaultError("a 32-bit ELF file, rvsim runs RV64" if data[4] == 1 else "bad ELF class")
    if data[5] != 1:
        raise _FaultError("a big-endian ELF file" if data[5] == 2 else "bad ELF data encoding")
    header = _Header(*_HEADER.unpack_from(data))
    if header.machine != _EM_RISCV:
        raise _FaultError(f"for machine {header.machine}, not for RISC-V ({_EM_RISCV})")
    if header.type not in (_ET_EXEC, _ET_DYN):
        raise _FaultError(_OTHER_TYPES.get(header.type, f"of unknown ELF type {header.type}"))
    return header


def _program_headers(data: bytes, header: _Header) -> list[_ProgramHeader]:
    size = _PROGRAM_HEADER.size
    if header.phnum and header.phentsize != size:
        raise _FaultError(f"its program headers have {header.phentsize} bytes each, not {size}")
    end = header.phoff + header.phnum * size
    if end > len(data):
        raise _FaultError(f"truncated: program headers end at byte {end}, the file at {len(data)}")
    found = [_ProgramHeader(*p) for p in _PROGRAM_HEADER.iter_unpack(data[header.phoff : end])]
    for p in found:
        if p.type == _PT_INTERP:
            loader = data[p.offset : p.offset + min(p.filesz, 256)].rstrip(b"\0")
            raise _FaultError(
                f"needs the dynamic loader {loader.decode('utf-8', 'replace')},"
                " and dynamic executables are not supported yet",
                hint="link it with -static",
            )
    if not any(p.type == _PT_LOAD and p.memsz for p in found):
        raise _FaultError("no loadable segment")
    return found


def _bias(header: _Header, program_headers: list[_ProgramHeader]) -> int:
    if header.type != _ET_DYN:
        return 0
    lowest = min(p.vaddr for p in program_headers if p.type == _PT_LOAD and p.memsz)
    return PIE_BASE - lowest // _BIAS_UNIT * _BIAS_UNIT


def _segments(data: bytes, program_headers: list[_ProgramHeader], bias: int) -> tuple[Segment, ...]:
    """The loadable segments in order of address, each inside the file and none over another."""
    segments = []
    for p in program_headers:
        if p.type != _PT_LOAD or not p.memsz:
            continue
        if p.filesz > p.memsz:
            raise _FaultError(f"its segment at {p.vaddr:#x} has more bytes in the file than memory")
        if p.offset + p.filesz > len(data):
            raise _FaultError(
                f"truncated: its segment at {p.vaddr:#x} ends at byte {p.offset + p.filesz},"
                f" the file at {len(data)}"
            )
        # As on Linux, what can be written can be read.
        perm = R * bool(p.flags & (_PF_R | _PF_W)) | W * bool(p.flags & _PF_W)
        perm |= X * bool(p.flags & _PF_X)
        segments.append(Segment(p.vaddr + bias, p.memsz, p.offset, p.filesz, perm))
    segments.sort(key=lambda s: s.addr)
    for low, high in pairwise(segments):
        if low.end > high.addr:
            raise _FaultError(f"its segments at {low.addr:#x} and {high.addr:#x} overlap")
    return tuple(segments)


def _check_place(segments: tuple[Segment, ...], memory: Memory) -> None:
    for s in segments:
        if s.addr < 0 or s.end > memory.size:
            raise _FaultError(
                f"its segment {s.addr:#x} to {s.end:#x} is outside the guest's memory"
                f" of {memory.size:#x} bytes"
            )
        if memory.perm[s.addr // PAGE : -(-s.end // PAGE)].any():
            raise _FaultError(f"its segment at {s.addr:#x} is where memory is already in use")


def _phdr_addr(header: _Header, program_headers: list[_ProgramHeader], bias: int) -> int:
    """Where the program finds its own program headers; 0 if no segment holds them."""
    for p in program_headers:
        if p.type == _PT_PHDR:
            return p.vaddr + bias
        if p.type == _PT_LOAD and p.offset <= header.phoff < p.offset + p.filesz:
            return p.vaddr + bias + header.phoff - p.offset
    return 0


def _place(data: bytes, segments: tuple[Segment, ...], memory: Memory) -> None:
    """Map and fill; a page that two segments share has the permissions of both."""
    mapped_end = 0
    for s in segments:
        start = s.addr // PAGE * PAGE
        if start < mapped_end:
            shared = int(memory.perm[start // PAGE]) & (R | W | X)
            memory.protect(start, PAGE, shared | s.perm)
            start = mapped_end
        if start < s.end:
            memory.map(start, s.end - start, s.perm)
            mapped_end = -(-s.end // PAGE) * PAGE
        memory.write(s.addr, data[s.offset : s.offset + s.file_size])
