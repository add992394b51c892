"""Where an executable may begin: its lowest segment, and its first instruction."""

from __future__ import annotations

import pytest

from rvsim.guest.elf import ElfError
from rvsim.machine import Machine
from tests.program.elf_files import (
    ALLOC,
    EXIT_0,
    STRTAB,
    SYMTAB,
    TEXT,
    R,
    Section,
    Segment,
    W,
    elf_file,
    symbol,
)

CODE = Segment(TEXT, EXIT_0)
DATA = 0x20000
LETTERS = b"a" * 64
LOWEST = 0x10000
"""vm.mmap_min_addr: what is below is nobody's, whoever asks (mmap(2), "EPERM")."""


@pytest.mark.parametrize("addr", [0, 0x1000, LOWEST - 0x1000, LOWEST - 8])
@pytest.mark.parametrize("content", [LETTERS, b""], ids=["of the file", "zeros"])
def test_a_segment_in_the_lowest_pages_is_refused(addr: int, content: bytes) -> None:
    data = Segment(addr, content, R | W, size=len(LETTERS))
    machine = Machine(memory_size=1 << 26)
    rule = rf"segment at {addr:#x} begins below 0x10000.*vm\.mmap_min_addr.*SIGSEGV"
    with pytest.raises(ElfError, match=rule) as error:
        machine.load(elf_file([CODE, data]))
    assert "0x10000 or higher" in str(error.value)
    assert not machine.memory.perm.any()


def test_bare_metal_has_its_lowest_pages() -> None:
    """The image has a symbol tohost, and no Linux below it."""
    names = Section(".strtab", b"\0tohost\0", STRTAB)
    entries = bytes(24) + symbol(1, DATA, 8, 1)
    content = elf_file(
        [CODE, Segment(0x1000, LETTERS, R | W), Segment(DATA, bytes(8), R | W)],
        [
            Section(".data", bytes(8), flags=ALLOC, addr=DATA),
            Section(".symtab", entries, SYMTAB, link=3),
            names,
        ],
    )
    machine = Machine(memory_size=1 << 26)
    machine.load(content)
    assert machine.memory.read(0x1000, len(LETTERS)) == LETTERS


@pytest.mark.parametrize(
    ("isa", "entry", "start"),
    [
        ("rv64imac", TEXT + 1, TEXT),
        ("rv64imac", TEXT + 2, TEXT + 2),
        ("rv64imac", TEXT + 7, TEXT + 6),
        ("rv64ima", TEXT + 2, TEXT),
        ("rv64ima", TEXT + 7, TEXT + 4),
        ("rv64ima", TEXT + 8, TEXT + 8),
    ],
)
def test_a_program_starts_where_sepc_can_point(isa: str, entry: int, start: int) -> None:
    """Its lowest bit is always 0, and without C the lowest two are (Privileged 12.1.7)."""
    notes: list[str] = []
    machine = Machine(isa=isa, memory_size=1 << 26, note=notes.append)
    machine.load(elf_file([CODE], entry=entry))
    assert machine.state["pc"] == start
    told = f"the entry point {entry:#x} is no multiple of {4 if isa == 'rv64ima' else 2}"
    assert any(told in note for note in notes) == (start != entry)
