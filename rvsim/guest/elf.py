"""Loads RISC-V ELF executables: static ones, and static position-independent ones at a bias.

pyelftools reads the file; this module decides.  The whole file is checked before the first byte
goes into guest memory; what is wrong with it is an `ElfError` that names the file.  Symbols, lines,
types and attributes are for people: where their tables are damaged, they just aren't known.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from rvsim.errors import RvsimError
from rvsim.guest.debug_types import DebugTypes
from rvsim.guest.lines import Lines
from rvsim.guest.segments import Segment, place_as_linux, place_on_bare_metal
from rvsim.guest.symbols import Symbols
from rvsim.hart.memory import LOWEST_FREE, PAGE, Memory, R, W, X

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

PIE_BASE: Final = 0x400000
"""Where the first page of a position-independent executable goes."""

_OTHER_TYPES: Final = {"ET_REL": "a relocatable object: link it first", "ET_CORE": "a core dump"}
_PF_X, _PF_W, _PF_R = 1, 2, 4
_BIAS_UNIT: Final = 0x10000
_MAGIC: Final = b"\x7fELF"
_HEADER_SIZE: Final = 64
_PHDR_SIZE: Final = 56
_LONGEST_PATH: Final = 4096
_MOST_MAPPED: Final = 2
"""Times the whole memory."""

_MOST_PHDRS: Final = 0x10000 // _PHDR_SIZE  # as on Linux


class ElfError(RvsimError):
    """A file that is no ELF executable that rvsim can load."""


@dataclass(frozen=True, slots=True)
class ExecutableFile:
    """The file that an executable came from, as it was when it was loaded.

    `path` is text to show: nobody opens it, for it may lead elsewhere by now.
    """

    path: bytes
    status: os.stat_result
    content: bytes


@dataclass(frozen=True, slots=True)
class Image:
    """A loaded executable; all addresses are the guest's, with the load bias added.

    `data_end` is the first address after the last segment, where the heap may begin.  `arch` is
    the ``Tag_RISCV_arch`` string of the file's attributes, such as ``rv64i2p1_m2p0``.  `interp`
    names the dynamic loader of a program that needs one.  `symbols`, `lines` and `types` are
    decoded when they are first asked.  `source` is None for an executable given as bytes, and
    `why_unnamed` says why symbols are missing that the file has.
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
    interp: str | None = None
    source: ExecutableFile | None = field(default=None, repr=False, compare=False)
    why_unnamed: str | None = None
    symbols: Symbols = field(default_factory=Symbols, repr=False, compare=False)
    lines: Lines = field(default_factory=Lines, repr=False, compare=False)
    types: DebugTypes = field(default_factory=DebugTypes, repr=False, compare=False)

    @property
    def tohost(self) -> int | None:
        """Where a bare-metal program writes to end; a program without it is one for Linux."""
        return self.symbols.address("tohost")

    def place(self, pc: int) -> str:
        """``0x1000a in main+0x1a (gemm.c:41)``, as far as symbols and lines know."""
        text = f"{pc:#x}"
        symbol = self.symbols.lookup(pc)
        if symbol is not None:
            text += f" in {symbol[0]}+{symbol[1]:#x}"
        line = self.lines.line(pc)
        if line is not None:
            text += f" ({os.path.basename(line[0])}:{line[1]})"
        elif self.lines.why_unknown is not None:
            text += f" (file:line unknown: {self.lines.why_unknown})"
        return text


def load_elf(
    source: str | os.PathLike[str] | bytes,
    memory: Memory,
    *,
    name: str = "<bytes>",
    below: int | None = None,
) -> Image:
    """Put an executable, given by path or as its bytes with a `name`, into memory.

    A position-independent one goes to `PIE_BASE`, or to the highest free place `below` an address.
    Nothing is written if there is an error: `ElfError`, with the file's name and the fault.
    """
    file = None
    if isinstance(source, bytes):
        data = source
    else:
        name = os.fspath(source)
        try:
            file = _read(name)
            data = file.content
        except OSError as error:
            raise ElfError(f"cannot read {name}: {error.strerror}") from None
        except ValueError as error:  # a name that no file can have
            raise ElfError(f"cannot read {name!r}: {error}") from None
    try:
        image = _load(name, data, memory, below)
    except _FaultError as fault:
        raise ElfError(f"{name}: {fault}", hint=fault.hint) from None
    return replace(image, source=file)


def _read(name: str) -> ExecutableFile:
    with open(name, "rb", buffering=0) as file:  # a buffer would make a copy of the whole
        status = os.fstat(file.fileno())
        # Devices have no end: only what may be an ELF file is read as a whole.
        content = file.read(len(_MAGIC))
        if content == _MAGIC and file.seekable():
            file.seek(0)
            content = file.readall()
        elif content == _MAGIC:
            content += file.readall()
        return ExecutableFile(os.fsencode(os.path.realpath(name)), status, content)


class _FaultError(Exception):
    """What is wrong with the file, whose name only `load_elf` knows."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


def _load(name: str, data: bytes, memory: Memory, below: int | None) -> Image:
    # Only here, so that what loads no program does not wait for the import of pyelftools.
    from rvsim.guest.sections import Sections

    elf = _checked_elf(data)
    program_headers = _program_headers(data, elf)
    bias = _bias(elf, program_headers, memory, below)
    segments = _segments(data, program_headers, bias)
    _check_place(segments, memory)
    entry = elf["e_entry"] + bias
    sections = Sections(elf)
    symbols = Symbols(sections.symbols(bias))
    is_bare = symbols.address("tohost") is not None
    (_check_apart if is_bare else _check_pages)(segments)
    # Bare metal knows no permissions, and the linker script of riscv-tests gives wrong ones.
    need = 0 if is_bare else X
    if not any(s.perm & need == need and s.addr <= entry < s.end for s in segments):
        raise _FaultError(f"its entry point {entry:#x} is not in an executable segment")
    image = Image(
        name=name,
        entry=entry,
        bias=bias,
        is_pie=elf["e_type"] == "ET_DYN",
        phdr_addr=_phdr_addr(elf["e_phoff"], program_headers, bias),
        phdr_num=len(program_headers),
        phdr_entsize=_PHDR_SIZE,
        segments=segments,
        data_end=max(s.end for s in segments),
        flags=elf["e_flags"],
        arch=sections.arch(),
        interp=_interp(data, program_headers),
        why_unnamed=sections.why_unnamed,
        symbols=symbols,
        lines=Lines(
            sections.content, lambda addr: any(s.addr <= addr < s.end for s in segments), bias
        ),
        types=DebugTypes(sections.content, bias),
    )
    (place_on_bare_metal if is_bare else place_as_linux)(data, segments, memory)
    return image


def _checked_elf(data: bytes) -> ELFFile:
    from rvsim.guest.sections import DAMAGE, open_elf

    if data[: len(_MAGIC)] != _MAGIC:
        raise _FaultError("not an ELF file")
    if len(data) < _HEADER_SIZE:
        raise _FaultError(f"truncated: {len(data)} bytes are less than an ELF header")
    try:
        elf = open_elf(data)
    except DAMAGE as error:
        raise _FaultError(f"its ELF header is damaged: {error}") from None
    if elf.elfclass != 64:
        raise _FaultError("a 32-bit ELF file, rvsim runs RV64")
    if not elf.little_endian:
        raise _FaultError("a big-endian ELF file")
    if elf["e_machine"] != "EM_RISCV":
        raise _FaultError(f"for machine {elf['e_machine']}, not for RISC-V")
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
        raise _FaultError(_OTHER_TYPES.get(elf["e_type"], f"of unknown ELF type {elf['e_type']}"))
    return elf


def _program_headers(data: bytes, elf: ELFFile) -> list[Any]:
    """The program headers as pyelftools' records, with fields ``p_type``, ``p_vaddr`` and so on."""
    start, number, size = elf["e_phoff"], elf["e_phnum"], elf["e_phentsize"]
    if number and size != _PHDR_SIZE:
        raise _FaultError(f"its program headers have {size} bytes each, not {_PHDR_SIZE}")
    if number > _MOST_PHDRS:
        raise _FaultError(f"its {number} program headers are more than {_MOST_PHDRS}")
    end = start + number * _PHDR_SIZE
    if end > len(data):
        raise _FaultError(f"truncated: program headers end at byte {end}, the file at {len(data)}")
    # Not `iter_segments`, which reads the section table too when there is a PT_DYNAMIC.
    elf.stream.seek(start)
    found = [elf.structs.Elf_Phdr.parse_stream(elf.stream) for _ in range(number)]
    if not any(_is_loaded(p) for p in found):
        raise _FaultError("no loadable segment")
    return found


def _is_loaded(p: Any) -> bool:
    return bool(p.p_type == "PT_LOAD" and p.p_memsz)


def _interp(data: bytes, program_headers: list[Any]) -> str | None:
    """The path of the dynamic loader."""
    for p in program_headers:
        if p.p_type == "PT_INTERP":
            path = data[p.p_offset : p.p_offset + min(p.p_filesz, _LONGEST_PATH)]
            return os.fsdecode(path.partition(b"\0")[0])
    return None


def _bias(elf: ELFFile, program_headers: list[Any], memory: Memory, below: int | None) -> int:
    if elf["e_type"] != "ET_DYN":
        return 0
    loaded = [p for p in program_headers if _is_loaded(p)]
    lowest: int = min(p.p_vaddr for p in loaded) // _BIAS_UNIT * _BIAS_UNIT
    if below is None:
        return PIE_BASE - lowest
    size: int = max(p.p_vaddr + p.p_memsz for p in loaded) - lowest
    start = memory.find_free(size + _BIAS_UNIT, below) if size <= memory.limit else None
    if start is None:
        raise _FaultError(f"no room for its {size:#x} bytes in the guest's memory")
    return -(-start // _BIAS_UNIT) * _BIAS_UNIT - lowest


def _segments(data: bytes, program_headers: list[Any], bias: int) -> tuple[Segment, ...]:
    """The loadable segments in the order of the file, each inside it."""
    segments = []
    for p in program_headers:
        if not _is_loaded(p):
            continue
        if p.p_filesz > p.p_memsz:
            raise _FaultError(
                f"its segment at {p.p_vaddr:#x} has more bytes in the file than memory"
            )
        if p.p_offset + p.p_filesz > len(data):
            raise _FaultError(
                f"truncated: its segment at {p.p_vaddr:#x} ends at byte {p.p_offset + p.p_filesz},"
                f" the file at {len(data)}"
            )
        # As on Linux, what can be written can be read.
        perm = R * bool(p.p_flags & (_PF_R | _PF_W)) | W * bool(p.p_flags & _PF_W)
        perm |= X * bool(p.p_flags & _PF_X)
        segments.append(Segment(p.p_vaddr + bias, p.p_memsz, p.p_offset, p.p_filesz, perm))
    return tuple(segments)


def _check_pages(segments: tuple[Segment, ...]) -> None:
    for s in segments:
        if s.start < LOWEST_FREE:
            raise _FaultError(
                f"its segment at {s.addr:#x} begins below {LOWEST_FREE:#x}, where no user maps"
                " anything (vm.mmap_min_addr): Linux ends it with SIGSEGV before it starts",
                hint=f"link it at {LOWEST_FREE:#x} or higher, as with -Wl,-Ttext-segment="
                f"{LOWEST_FREE:#x}; a program for bare metal has a symbol tohost",
            )
        if not s.is_aligned:
            raise _FaultError(
                f"its segment at {s.addr:#x} is at byte {s.offset:#x} of the file, elsewhere in a"
                f" page of {PAGE} bytes: Linux refuses it with EINVAL",
                hint="link it without -n, -N and --nmagic",
            )


def _check_apart(segments: tuple[Segment, ...]) -> None:
    for low, high in pairwise(sorted(segments, key=lambda s: s.addr)):
        if low.end > high.addr:
            raise _FaultError(f"its segments at {low.addr:#x} and {high.addr:#x} overlap")


def _check_place(segments: tuple[Segment, ...], memory: Memory) -> None:
    for s in segments:
        if s.addr < 0 or s.end > memory.limit:
            raise _FaultError(
                f"its segment {s.addr:#x} to {s.end:#x} is outside the guest's memory"
                f" of {memory.limit:#x} bytes"
            )
    if sum(s.end - s.start for s in segments) > _MOST_MAPPED * memory.limit:
        raise _FaultError(f"its {len(segments)} segments lie over each other again and again")
    for s in segments:
        if not memory.is_free(s.addr, s.end - s.addr):
            raise _FaultError(f"its segment at {s.addr:#x} is where memory is already in use")


def _phdr_addr(phoff: int, program_headers: list[Any], bias: int) -> int:
    """Where the program finds its own program headers; 0 if no segment holds them."""
    addr = 0
    for p in program_headers:
        if p.p_type == "PT_PHDR":
            addr = p.p_vaddr + bias
            break
        if p.p_type == "PT_LOAD" and p.p_offset <= phoff < p.p_offset + p.p_filesz:
            addr = p.p_vaddr + bias + phoff - p.p_offset
            break
    return addr
