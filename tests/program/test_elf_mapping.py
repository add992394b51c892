"""Segments that share pages, overlap or are badly aligned are what QEMU makes of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rvsim.guest.elf import ElfError
from rvsim.machine import Machine
from tests.program.bare import Step, assemble, load_upper, step
from tests.program.elf_files import SHARED, TEXT, R, Segment, W, elf_file
from tests.qemu import require_qemu

pytestmark = pytest.mark.qemu

A0, A1, A2, A7 = 10, 11, 12, 17
PAGE = 4096
DATA = 0x20000
LENGTH = 64


def show(*addresses: int) -> list[Step]:
    """Writes the bytes that are there, and what write() answers if there are none."""
    steps = []
    for addr in addresses:
        steps += [step("addi", rd=A0, rs1=0, imm=1), load_upper(A1, (addr + 0x800) & ~0xFFF)]
        steps += [step("addi", rd=A1, rs1=A1, imm=(addr & 0xFFF ^ 0x800) - 0x800)]
        steps += [step("addi", rd=A2, rs1=0, imm=LENGTH), step("addi", rd=A7, rs1=0, imm=64)]
        steps += [step("ecall")]
    return steps


def store(addr: int) -> list[Step]:
    return [load_upper(A1, addr & ~0xFFF), step("sb", rs1=A1, rs2=A1, imm=addr & 0x7FF)]


def leave() -> list[Step]:
    """Ends with what the last write answered, cut to 8 bits by Linux."""
    return [step("addi", rd=A7, rs1=0, imm=93), step("ecall")]


def code(*parts: list[Step]) -> Segment:
    return Segment(TEXT, assemble(s for part in (*parts, leave()) for s in part))


def text(letter: bytes, length: int = LENGTH) -> bytes:
    return letter * length


SHARED_PAGE = DATA + 0x100
FILES = {
    "a page is that of the later segment: writable": elf_file(
        [
            code(show(SHARED_PAGE), store(SHARED_PAGE)),
            Segment(DATA, text(b"a"), R),
            Segment(SHARED_PAGE, text(b"b"), R | W),
        ]
    ),
    "a page is that of the later segment: read-only": elf_file(
        [
            code(show(SHARED_PAGE), store(DATA)),
            Segment(DATA, text(b"a"), R | W),
            Segment(SHARED_PAGE, text(b"b"), R),
        ]
    ),
    "a page is that of the later segment: not executable": elf_file(
        [code(show(TEXT)), Segment(TEXT + 0x200, text(b"b"), R | W)]
    ),
    "the later one has the page's bytes too": elf_file(
        [
            code(show(DATA, DATA + 64, SHARED_PAGE - 64, SHARED_PAGE)),
            Segment(DATA, text(b"a", 0x180), R | W),
            Segment(SHARED_PAGE, text(b"b"), R | W),
        ]
    ),
    "overlapping segments are mapped in order": elf_file(
        [
            code(show(DATA, DATA + PAGE, DATA + 2 * PAGE, DATA + 3 * PAGE), store(DATA + PAGE)),
            Segment(DATA, text(b"a", 4 * PAGE), R | W),
            Segment(DATA + PAGE, text(b"b", PAGE + 8), R | W),
        ]
    ),
    "a lower segment may come later": elf_file(
        [
            code(show(DATA, DATA + PAGE, DATA + 2 * PAGE)),
            Segment(DATA + PAGE, text(b"a", 2 * PAGE), R | W),
            Segment(DATA, text(b"b", 2 * PAGE), R),
        ]
    ),
    "zeros end the page and go on": elf_file(
        [
            code(show(DATA, DATA + 0x40, DATA + PAGE - 64, DATA + PAGE, DATA + 2 * PAGE)),
            Segment(DATA, text(b"a"), R | W, size=PAGE + 8),
            Segment(DATA + 8 * PAGE + 0x50, text(b"c", 2 * PAGE)),
        ]
    ),
    "without zeros the file goes on to the end of the page": elf_file(
        [
            code(show(DATA, DATA + 0x40, DATA + PAGE - 64)),
            Segment(DATA, text(b"a"), R | W),
            Segment(DATA + 8 * PAGE + 0x50, text(b"c", 2 * PAGE)),
        ]
    ),
    "zeros alone": elf_file(
        [
            code(show(DATA, DATA + 0x10, DATA + PAGE), store(DATA)),
            Segment(DATA + 0x10, b"", R | W, size=8, shift=5),
        ]
    ),
    "bytes before a segment are the file's": elf_file(
        [code(show(TEXT + 0x100)), Segment(TEXT + 3 * PAGE + 0x100, text(b"b"), R)]
    ),
    "the end of one is the page of the next, zeros and all": elf_file(
        [
            code(show(DATA, DATA + PAGE, DATA + PAGE + 0x100)),
            Segment(DATA, text(b"a"), R | W, size=PAGE + 0x100),
            Segment(DATA + PAGE + 0x100, text(b"b"), R | W),
        ]
    ),
}


def under_qemu(content: bytes, path: Path) -> subprocess.CompletedProcess[bytes]:
    path.write_bytes(content)
    path.chmod(0o755)
    return subprocess.run([require_qemu(), str(path)], capture_output=True, check=False)


@pytest.mark.parametrize("what", FILES)
def test_memory_is_as_under_qemu(what: str, tmp_path: Path) -> None:
    path = tmp_path / "prog.elf"
    expected = under_qemu(FILES[what], path)
    machine = Machine(memory_size=1 << 26)
    machine.load(path)
    found = machine.run(max_insns=1000)
    assert found.stdout == expected.stdout
    assert found.exit_code == (expected.returncode if expected.returncode >= 0 else 128 + 11)


@pytest.mark.parametrize("kind", [2, SHARED])
def test_a_file_whose_pages_cannot_be_mapped_is_refused(kind: int, tmp_path: Path) -> None:
    content = elf_file([code(), Segment(DATA, text(b"a"), R, shift=-8)], kind=kind)
    path = tmp_path / "prog.elf"
    expected = under_qemu(content, path)
    assert b"Invalid argument" in expected.stdout + expected.stderr
    with pytest.raises(ElfError, match=r"segment at 0x.* is at byte 0x.* EINVAL.*--nmagic"):
        Machine(memory_size=1 << 26).load(path)
