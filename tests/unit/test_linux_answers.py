"""What Linux 6.6 answers to arguments that few programs pass: each rule with its manual page.

The answers of memory calls, `F_GETFL` and opening are those of a Linux host asked the same.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import (
    EACCES,
    EBADF,
    EINVAL,
    EMFILE,
    EPERM,
    EROFS,
    ESPIPE,
    ESRCH,
)
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import ANONYMOUS, AT_FDCWD, DATA, HEAP, PRIVATE, Guest

OUT = DATA + PAGE
WRONLY, RDWR, APPEND, DIRECTORY = 1, 2, 0o2000, 0o200000
AT_EACCESS, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = 0x200, 0x100, 0x1000
R_OK, W_OK, X_OK = 4, 2, 1


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "closed").write_bytes(b"")
    (tmp_path / "closed").chmod(0o044)
    (tmp_path / "run").write_bytes(b"")
    (tmp_path / "run").chmod(0o500)
    (tmp_path / "sub").mkdir()
    return Guest(dirs=[Grant(str(tmp_path), "/d", writable=True), Grant(str(tmp_path), "/ro")])


# Memory


@pytest.mark.parametrize("advice", range(30))
def test_advice_is_what_madvise_knows(guest: Guest, advice: int):
    known = advice <= 4 or advice == 8 or 10 <= advice <= 25
    assert guest.call(233, DATA, PAGE, advice) == (0 if known else EINVAL)


@pytest.mark.parametrize("advice", [100, 101, 127, 128, -1])
def test_advice_of_privileged_users_and_none(guest: Guest, advice: int):
    assert guest.call(233, DATA, PAGE, advice) == EINVAL


def test_madvise_frees_no_pages_of_files(guest: Guest):
    """MADV_FREE is for private anonymous pages (madvise(2)); MADV_DONTNEED_LOCKED zeroes them."""
    shown = guest.mmap(flags=PRIVATE, fd=guest.open("/d/file"), prot=1)
    assert guest.call(233, shown, PAGE, 8) == EINVAL
    assert guest.memory.read(shown, 7) == b"content"
    zeroed = guest.mmap(flags=PRIVATE | ANONYMOUS)
    guest.memory.write(zeroed, b"x")
    assert guest.call(233, zeroed, PAGE, 24) == 0
    assert guest.memory.read(zeroed, 1) == b"\0"


@pytest.mark.parametrize("flags", range(10))
def test_msync_is_asynchronous_or_not(guest: Guest, flags: int):
    """msync(2): of the three flags, MS_ASYNC and MS_SYNC exclude each other."""
    assert guest.call(227, DATA, PAGE, flags) == (0 if flags in (0, 1, 2, 3, 4, 6) else EINVAL)


@pytest.mark.parametrize("prot", [8, 0x40, 1 << 24, 1 << 63])
def test_mmap_takes_bits_of_protection_that_mean_nothing(guest: Guest, prot: int):
    assert guest.mmap(prot=prot) > 0
    assert guest.mprotect(DATA, PAGE, prot) == (0 if prot == 8 else EINVAL)


# Files


@pytest.mark.parametrize("at", [1, 3, 100])
def test_what_the_kernel_makes_is_read_from_anywhere(guest: Guest, at: int):
    """The first read need not be at the start: pread, a moved position, a mapping."""
    whole = guest.read(guest.open("/proc/version"))
    assert isinstance(whole, bytes)
    fd = guest.open("/proc/version")
    count = guest.call(67, fd, OUT, 256, at)
    assert guest.memory.read(OUT, count) == whole[at:]
    fd = guest.open("/proc/version")
    assert guest.call(62, fd, at, 0) == at
    assert guest.read(fd) == whole[at:]


@pytest.mark.parametrize(
    ("path", "mode", "answer"),
    [
        ("/d/file", R_OK | W_OK, 0),
        ("/d/file", X_OK, EACCES),
        ("/d/closed", 0, 0),
        ("/d/closed", R_OK, EACCES),
        ("/d/closed", W_OK, EACCES),
        ("/d/run", R_OK | X_OK, 0),
        ("/d/run", W_OK, EACCES),
        ("/d/sub", R_OK | W_OK | X_OK, 0),
        ("/ro/file", R_OK, 0),
        ("/ro/file", W_OK, EROFS),
        ("/proc/version", R_OK, 0),
        ("/proc/version", W_OK, EACCES),
        ("/proc", R_OK | X_OK, 0),
        ("/proc", W_OK, EACCES),
        ("/dev/null", R_OK | W_OK, 0),
        ("/dev/null", X_OK, EACCES),
        ("/proc/self/fd/1", R_OK | W_OK, 0),
        ("/proc/self/fd/1", X_OK, EACCES),
    ],
)
def test_access_goes_by_permissions_and_grants(guest: Guest, path: str, mode: int, answer: int):
    assert guest.call(48, AT_FDCWD, guest.text(path), mode) == answer
    for flags in (0, AT_EACCESS):
        assert guest.call(439, AT_FDCWD, guest.text(path), mode, flags) == answer


@pytest.mark.parametrize("path", ["/d/file", "/ro/file"])
def test_access_to_an_open_file(guest: Guest, path: str):
    fd = guest.open(path)
    answer = EROFS if path.startswith("/ro") else 0
    assert guest.call(439, fd, guest.text(""), W_OK, AT_EMPTY_PATH) == answer
    assert guest.call(48, AT_FDCWD, guest.text(f"/proc/self/fd/{fd}"), W_OK) == answer
    assert guest.call(439, fd, guest.text(""), X_OK, AT_EMPTY_PATH) == EACCES
    assert guest.call(439, AT_FDCWD, guest.text(""), W_OK, AT_EMPTY_PATH) == EACCES  # is /
    assert guest.call(439, fd, guest.text(""), R_OK, 0x2000) == EINVAL
    assert guest.call(439, fd, guest.text(""), 8, AT_EMPTY_PATH) == EINVAL


def test_statx_refuses_what_is_reserved(guest: Guest):
    path = guest.text("/d/file")
    assert guest.call(291, AT_FDCWD, path, 0, 1 << 31, OUT) == EINVAL
    assert guest.call(291, AT_FDCWD, path, 0x6000, 0x7FF, OUT) == EINVAL
    for sync in (0, 0x2000, 0x4000):
        assert guest.call(291, AT_FDCWD, path, sync, 0x7FF, OUT) == 0


def lock(guest: Guest, kind: int, whence: int = 0) -> int:
    guest.memory.write(OUT, struct.pack("<hh4xqqi4x", kind, whence, 0, 0, 0))
    return OUT


def test_locks_want_a_file_that_is_open_for_them(guest: Guest):
    """fcntl_locking(2): EBADF where the file is not open to be read, or written."""
    for flags, shared, exclusive in ((0, 0, EBADF), (WRONLY, EBADF, 0), (RDWR, 0, 0)):
        fd = guest.open("/d/file", flags)
        for command in (6, 7):
            assert guest.call(25, fd, command, lock(guest, 0)) == shared
            assert guest.call(25, fd, command, lock(guest, 1)) == exclusive
            assert guest.call(25, fd, command, lock(guest, 2)) == 0
    assert guest.call(25, fd, 6, lock(guest, 3)) == EINVAL
    assert guest.call(25, fd, 6, lock(guest, 0, whence=3)) == EINVAL
    assert guest.call(25, fd, 6, 8) == -14
    assert guest.call(25, fd, 5, lock(guest, 2)) == EINVAL
    assert guest.call(25, fd, 5, lock(guest, 1)) == 0
    assert guest.memory.load2(OUT) == 2


KINDS = {
    "file": lambda g: g.open("/d/file", RDWR),
    "folder": lambda g: g.open("/d/sub", DIRECTORY),
    "memfd": lambda g: g.call(279, g.text("m"), 0),
    "proc": lambda g: g.open("/proc/version"),
    "device": lambda g: g.open("/dev/zero", RDWR),
    "stream": lambda g: 0,
}


@pytest.mark.parametrize(
    ("kind", "sync_range", "advice", "ahead", "allocate"),
    [
        ("file", 0, 0, 0, 0),
        ("folder", 0, 0, EINVAL, EBADF),
        ("memfd", 0, 0, 0, 0),
        ("proc", 0, 0, 0, EBADF),
        ("device", ESPIPE, 0, EINVAL, -19),
        ("stream", ESPIPE, ESPIPE, EINVAL, EBADF),
    ],
)
def test_what_goes_by_the_kind_of_a_file(
    guest: Guest, kind: str, sync_range: int, advice: int, ahead: int, allocate: int
):
    """sync_file_range(2), posix_fadvise(2), readahead(2), fallocate(2)."""
    fd = KINDS[kind](guest)
    assert guest.call(84, fd, 0, 0, 0) == sync_range
    assert guest.call(223, fd, 0, 0, 0) == advice
    assert guest.call(213, fd, 0, 1) == ahead
    assert guest.call(47, fd, 0, 0, 10) == allocate


def test_splice_does_not_append(guest: Guest):
    guest.call(59, OUT, 0)
    reader, writer = struct.unpack("<ii", guest.memory.read(OUT, 8))
    assert guest.put(writer, b"x") == 1
    assert guest.call(76, reader, 0, guest.open("/d/file", RDWR | APPEND), 0, 1, 0) == EINVAL


# Limits


def test_a_lower_limit_of_descriptors_is_obeyed(guest: Guest):
    """getrlimit(2), RLIMIT_NOFILE: one more than the highest number."""
    guest.memory.write(OUT, struct.pack("<QQ", 5, 6))
    assert guest.call(261, 0, 7, OUT, 0) == 0
    assert [guest.open("/dev/null") for _ in range(3)] == [3, 4, EMFILE]
    assert guest.call(23, 0) == EMFILE
    assert guest.call(24, 0, 5, 0) == EBADF
    assert guest.call(25, 0, 0, 5) == EINVAL
    assert guest.call(73, DATA, 6, 0, 0, 8) == EINVAL
    guest.memory.write(OUT, struct.pack("<QQ", 6, 7))
    assert guest.call(261, 0, 7, OUT, 0) == EPERM  # a hard limit does not rise again
    guest.memory.write(OUT, struct.pack("<QQ", 6, 6))
    assert guest.call(261, 0, 7, OUT, 0) == 0
    assert guest.open("/dev/null") == 5


def test_getrandom_is_of_one_kind_and_gives_all(guest: Guest):
    assert guest.call(278, OUT, 8, 2 | 4) == EINVAL
    length = 40 << 20
    place = guest.mmap(length=length)
    assert guest.call(278, place, length, 0) == length


# Signals, clocks, settings


@pytest.mark.parametrize(
    ("number", "arguments", "answer"),
    [
        (129, (-1, 0), ESRCH),
        (129, (0, 0), 0),
        (130, (0, 0), EINVAL),
        (130, (-5, 0), EINVAL),
        (130, (PROCESS_ID + 1, 0), ESRCH),
        (130, (PROCESS_ID, 0), 0),
        (131, (0, PROCESS_ID, 0), EINVAL),
        (131, (PROCESS_ID, -1, 0), EINVAL),
        (131, (PROCESS_ID + 1, PROCESS_ID, 0), ESRCH),
        (131, (PROCESS_ID, PROCESS_ID, 0), 0),
        (112, (0, OUT), EPERM),
        (112, (2, OUT), EPERM),
        (112, (1, OUT), EINVAL),
        (112, (7, OUT), EINVAL),
        (85, (8, 0), EPERM),
        (85, (9, 0), EPERM),
        (85, (2, 0), EINVAL),
    ],
)
def test_whom_a_call_reaches(guest: Guest, number: int, arguments: tuple[int, ...], answer: int):
    """kill(2), tkill(2), clock_settime(2), timerfd_create(2)."""
    assert guest.call(number, *arguments) == answer


@pytest.mark.parametrize(
    ("get", "put", "first", "value", "refused"),
    [
        (3, 4, 1, 0, 2),  # dumpable
        (30, 29, 50_000, 1234, None),  # timer slack
        (39, 38, 0, 1, 0),  # no new privileges
    ],
)
def test_settings_are_told_as_they_were_set(
    guest: Guest, get: int, put: int, first: int, value: int, refused: int | None
):
    assert guest.call(167, get, 0, 0, 0, 0) == first
    assert guest.call(167, put, value, 0, 0, 0) == 0
    assert guest.call(167, get, 0, 0, 0, 0) == value
    if refused is not None:
        assert guest.call(167, put, refused, 0, 0, 0) == EINVAL


@pytest.mark.parametrize(("get", "put"), [(2, 1), (37, 36)])
def test_settings_that_are_stored(guest: Guest, get: int, put: int):
    assert guest.call(167, put, 1) == 0
    assert guest.call(167, get, HEAP - 8) == 0
    assert guest.memory.load4(HEAP - 8) == 1
    assert guest.call(167, 1, 65) == EINVAL


def test_status_tells_of_no_new_privileges(guest: Guest):
    assert guest.call(167, 38, 1, 1, 0, 0) == EINVAL
    assert guest.call(167, 39, 1, 0, 0, 0) == EINVAL
    assert guest.call(167, 38, 1, 0, 0, 0) == 0
    status = guest.read(guest.open("/proc/self/status"), 2000)
    assert isinstance(status, bytes)
    assert b"\nNoNewPrivs:\t1\n" in status
