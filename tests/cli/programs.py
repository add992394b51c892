"""Small guest programs, made without a compiler."""

from __future__ import annotations

from collections.abc import Iterable

from tests.program.bare import DATA, TEXT, Step, assemble, load_upper, step
from tests.program.elf_writer import write_elf

A0, A1, A2, A7 = 10, 11, 12, 17
EXIT, WRITE = 93, 64


def elf(steps: Iterable[Step], data: bytes = b"") -> bytes:
    """An executable with its code at `TEXT` and `data` at `DATA`."""
    return write_elf(assemble(steps), data or bytes(64), text_addr=TEXT, data_addr=DATA)


def li(rd: int, value: int) -> Step:
    """A small constant."""
    return step("addi", rd=rd, rs1=0, imm=value)


def syscall(number: int) -> list[Step]:
    return [li(A7, number), step("ecall")]


def exit_with(code: int) -> list[Step]:
    return [li(A0, code), *syscall(EXIT)]


def write(fd: int, length: int) -> list[Step]:
    """Writes the start of the data."""
    return [li(A0, fd), load_upper(A1, DATA), li(A2, length), *syscall(WRITE)]


def vset(vtypei: int, avl: int = 31) -> Step:
    return step("vsetivli", rd=0, uimm=avl, vtypei=vtypei)


E8_M1 = 0b11_000_000
"""``e8, m1, ta, ma`` as vtypei."""
E8_M2 = 0b11_000_001
FOREVER = step("jal", rd=0, imm=0)
