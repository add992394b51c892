"""Pointers and lengths of system calls that reach over the end of memory or of all addresses.

A call may do less than it was asked, or say EFAULT; it touches nothing but the bytes that the guest
has from the pointer on, and never ends the run.
"""

from __future__ import annotations

import struct

import pytest

from rvsim.hart.memory import PAGE, R, W
from tests.unit.linux_guest import DATA, Guest

SIZE = 1 << 20
EFAULT, EINVAL = -14, -22
LAST = SIZE - PAGE
M64 = (1 << 64) - 1
LENGTHS = (1, 8, 16, PAGE, SIZE, 1 << 31, 1 << 63, M64 - 7, M64)
POINTERS = (SIZE - 8, SIZE - 1, SIZE, 1 << 38, 1 << 63, M64 - PAGE, M64 - 15, M64 - 7, M64, 8)

WRITE, READ, PREAD, PWRITE, WRITEV, READV = 64, 63, 67, 68, 66, 65
GETRANDOM, GETCWD = 278, 17


@pytest.fixture
def guest() -> Guest:
    guest = Guest(SIZE)
    guest.memory.map(LAST, PAGE, R | W)
    guest.memory.write(LAST, b"x" * PAGE)
    return guest


def room(pointer: int) -> int:
    """Bytes that the guest has from there on."""
    return SIZE - pointer if LAST <= pointer < SIZE else 0


def without_last_page(guest: Guest) -> bytes:
    return bytes(guest.memory.view[:LAST])


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_buffer_that_ends_after_the_memory(guest: Guest, pointer: int, length: int) -> None:
    before = without_last_page(guest)
    for number, arguments in (
        (WRITE, (1, pointer, length)),
        (READ, (0, pointer, length)),
        (PREAD, (0, pointer, length, 0)),
        (GETRANDOM, (pointer, length, 0)),
        (GETCWD, (pointer, length)),
    ):
        result = guest.call(number, *arguments)
        assert result <= min(room(pointer), length), number
    assert without_last_page(guest) == before
    assert len(b"".join(guest.out)) <= min(room(pointer), length)


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("length", [1, 16, PAGE, M64 - 7])
def test_parts_of_a_vector_that_wrap_around(guest: Guest, pointer: int, length: int) -> None:
    guest.memory.write(DATA, struct.pack("<4Q", LAST, 4, pointer, length))
    before = without_last_page(guest)
    for number in (WRITEV, READV):
        result = guest.call(number, 1 if number == WRITEV else 0, DATA, 2)
        assert result <= 4 + min(room(pointer), length)
    assert without_last_page(guest) == before


@pytest.mark.parametrize("pointer", [M64 - 15, M64, SIZE - 4, SIZE, 1 << 63])
def test_vectors_and_structures_at_the_end_of_all_addresses(guest: Guest, pointer: int) -> None:
    """Arrays of pointers, structures and strings that are themselves out of reach."""
    before = without_last_page(guest)
    for number, arguments in (
        (WRITEV, (1, pointer, 2)),
        (READV, (0, pointer, 1024)),
        (113, (0, pointer)),  # clock_gettime
        (160, (pointer,)),  # uname
        (179, (pointer,)),  # sysinfo
        (80, (1, pointer)),  # fstat
        (56, (-100, pointer, 0, 0)),  # openat
        (78, (-100, pointer, pointer, 64)),  # readlinkat
        (134, (10, pointer, pointer, 8)),  # rt_sigaction
        (135, (0, pointer, pointer, 8)),  # rt_sigprocmask
    ):
        assert guest.call(number, *arguments) in (EFAULT, EINVAL), number
    assert without_last_page(guest) == before


@pytest.mark.parametrize("addr", [M64 - PAGE + 1, 1 << 63, SIZE - PAGE, SIZE, 1 << 38])
@pytest.mark.parametrize("length", [PAGE, 2 * PAGE, SIZE, 1 << 63, M64 - PAGE + 2, M64])
def test_mappings_that_wrap_around(guest: Guest, addr: int, length: int) -> None:
    """munmap, mprotect, madvise, mremap and fixed mmap: what is not in memory is refused."""
    inside = addr + length <= SIZE
    for number, arguments in (
        (226, (addr, length, 3)),
        (233, (addr, length, 4)),
        (216, (addr, length, PAGE, 0, 0)),
        (222, (addr, length, 3, 0x32, M64, 0)),
        (215, (addr, length)),
    ):
        result = guest.call(number, *arguments)
        assert result in (0, addr) if inside else -4096 < result < 0, number
