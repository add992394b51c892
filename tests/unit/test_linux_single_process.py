"""What a single process can ask of Linux about itself, its user and its files without names."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import (
    EACCES,
    EBADF,
    ECHILD,
    EFBIG,
    EINVAL,
    ELOOP,
    ENOENT,
    ENOSPC,
    ENOSYS,
    EPERM,
    ESRCH,
)
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import DATA, Guest

OUT = DATA + PAGE
USER, PID, OTHER = 1000, 1000, 1001
HAS_V = 1 << 21


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    (tmp_path / "file").write_bytes(b"content")
    return Guest(hwcap=HAS_V, dirs=[Grant(str(tmp_path), "/d", writable=True)])


def words(guest: Guest, form: str) -> tuple[int, ...]:
    return struct.unpack(form, guest.memory.read(OUT, struct.calcsize(form)))


@pytest.mark.parametrize(
    ("number", "own", "other"),
    [
        (144, (USER,), (OTHER,)),
        (146, (USER,), (OTHER,)),
        (143, (-1, USER), (USER, OTHER)),
        (145, (USER, -1), (OTHER, -1)),
        (147, (-1, -1, USER), (-1, -1, 0)),
        (149, (USER, USER, USER), (0, 0, 0)),
    ],
)
def test_a_user_becomes_nobody_else(
    guest: Guest, number: int, own: tuple[int, ...], other: tuple[int, ...]
):
    assert guest.call(number, *own) == 0
    assert guest.call(number, *other) == EPERM


def test_the_user_has_one_group(guest: Guest):
    assert guest.call(158, 0, 0) == 1
    assert guest.call(158, 8, OUT) == 1
    assert words(guest, "<I") == (USER,)
    assert guest.call(158, -1, OUT) == EINVAL
    assert guest.call(148, OUT, OUT + 4, OUT + 8) == 0
    assert words(guest, "<III") == (USER, USER, USER)


def test_a_process_gets_nicer_and_not_less_nice(guest: Guest):
    assert guest.call(141, 0, 0) == 20
    assert guest.call(140, 0, 0, 5) == 0
    assert guest.call(140, 0, PID, 100) == 0
    assert guest.call(141, 0, PID) == 1
    assert guest.call(140, 0, 0, 0) == EACCES
    assert guest.call(141, 3, 0) == EINVAL
    assert guest.call(141, 0, 77) == ESRCH


def test_vector_instructions_stay_allowed(guest: Guest):
    on, off = 2, 1
    assert guest.call(167, 70) == on
    assert guest.call(167, 69, off) == EPERM
    assert guest.call(167, 69, off << 2 | 0x10) == 0
    assert guest.call(167, 70) == on | off << 2 | 0x10
    assert guest.call(167, 69, 3) == EINVAL
    assert guest.call(167, 69, 0x20) == EINVAL
    assert Guest(hwcap=0).call(167, 70) == EINVAL


def test_file_systems_are_the_same_on_each_host(guest: Guest):
    assert guest.call(43, guest.text("/d/file"), OUT) == 0
    by_name = words(guest, "<15Q")
    assert guest.call(44, guest.open("/d/file"), OUT) == 0
    assert words(guest, "<15Q") == by_name
    kind, block, blocks, free = by_name[:4]
    assert (kind, block) == (0xEF53, 4096)
    assert 0 < free < blocks
    assert guest.call(43, guest.text("/d/none"), OUT) == ENOENT
    assert guest.call(44, 99, OUT) == EBADF


def test_files_without_a_name_take_no_more_than_the_memory(guest: Guest):
    limit = guest.memory.limit
    fd = guest.call(279, guest.text("name"), 0)
    assert guest.put(fd, b"abc") == 3
    assert guest.call(46, fd, limit + 1) == ENOSPC
    assert guest.call(46, fd, limit) == 0
    second = guest.call(279, guest.text("name"), 1)
    assert guest.put(second, b"x") == ENOSPC
    assert guest.call(57, fd) == 0
    assert guest.put(second, b"x") == 1
    assert guest.call(279, guest.text("n" * 250), 0) == EINVAL


def test_a_file_is_made_longer_and_no_longer_than_linux_can(guest: Guest):
    fd = guest.open("/d/file", 2)
    assert guest.call(47, fd, 0, 100, 50) == 0
    assert guest.call(62, fd, 0, 2) == 150
    assert guest.call(47, fd, 0, 0, 10) == 0
    assert guest.call(62, fd, 0, 2) == 150
    assert guest.call(47, fd, 0, (1 << 63) - 1, 1) == EFBIG


def test_ranges_of_descriptors_close(guest: Guest):
    fds = [guest.call(23, 1) for _ in range(4)]
    assert guest.call(436, fds[1], fds[2], 4) == 0
    assert [guest.call(25, fd, 1) for fd in fds] == [0, 1, 1, 0]
    assert guest.call(436, fds[1], 0xFFFF_FFFF, 0) == 0
    assert [guest.call(25, fd, 1) for fd in fds] == [0, EBADF, EBADF, EBADF]
    assert guest.call(436, 5, 4, 0) == EINVAL


def test_an_epoll_holds_another_but_no_deeper(guest: Guest):
    outer, inner, innermost = (guest.call(20, 0) for _ in range(3))
    guest.memory.write(OUT, struct.pack("<I4xQ", 1, 0))
    assert guest.call(21, outer, 1, inner, OUT) == 0
    assert guest.call(21, inner, 1, innermost, OUT) == ELOOP
    assert guest.call(21, innermost, 1, outer, OUT) == ELOOP
    assert guest.call(21, inner, 1, inner, OUT) == EINVAL


def test_there_is_one_thread_and_no_child(guest: Guest):
    assert guest.call(260, -1, 0, 0, 0) == ECHILD
    assert guest.call(95, 0, 0, 0, 0, 0) == ECHILD
    assert guest.call(220, 0x11, 0, 0, 0, 0) == ENOSYS
    assert guest.notes == ["unknown system call 220 (clone): ENOSYS"]
    commands = guest.call(283, 0, 0, 0)
    assert guest.call(283, commands & -commands, 0, 0) == 0
    assert guest.call(283, 1 << 30, 0, 0) == EINVAL


def test_pages_are_in_memory_and_stay_there(guest: Guest):
    assert guest.call(232, DATA, PAGE + 1, OUT) == 0
    assert guest.memory.read(OUT, 2) == b"\1\1"
    assert guest.call(228, DATA + 5, 8) == 0
    assert guest.call(229, DATA, PAGE) == 0
    assert guest.call(230, 3) == 0
    assert guest.call(230, 0) == EINVAL
