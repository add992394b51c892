"""Open files: reading, writing, positions, descriptors, folders, devices, standard streams."""

from __future__ import annotations

import io
import os
import stat
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from rvsim.guest.elf import ExecutableFile
from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import (
    EACCES,
    EBADF,
    EEXIST,
    EFAULT,
    EINVAL,
    EISDIR,
    ELOOP,
    EMFILE,
    ENODEV,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    ENOTTY,
    ERANGE,
    ESPIPE,
)
from rvsim.hart.memory import PAGE, R
from rvsim.machine import Machine
from tests.cli.programs import elf, exit_with
from tests.unit.linux_guest import AT_FDCWD, DATA, HEAP, IMAGE, PRIVATE, SHARED, Guest

WRONLY, RDWR, CREAT, EXCL, TRUNC, APPEND = 1, 2, 0o100, 0o200, 0o1000, 0o2000
NOFOLLOW = 0o400000
DIRECTORY, CLOEXEC, LARGEFILE = 0o200000, 0o2000000, 0o100000
OUT = DATA + PAGE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(bytes(range(200)))
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.fixture
def guest(folder: Path) -> Guest:
    return Guest(dirs=[Grant(str(folder), "/d", writable=True)])


# Reading and writing


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (0, 0),
        (WRONLY | CREAT | TRUNC, WRONLY),
        (RDWR | CLOEXEC, RDWR),
        (NOFOLLOW | 0o4010000, NOFOLLOW | 0o4010000),  # O_SYNC
        (APPEND | RDWR | 0o4000, APPEND | RDWR | 0o4000),  # O_NONBLOCK
        (DIRECTORY, DIRECTORY),
    ],
)
def test_the_flags_of_an_open_file_are_those_of_its_opening(guest: Guest, flags: int, shown: int):
    """As Linux answers F_GETFL (open(2); on 64 bits each file is a large one)."""
    fd = guest.open("/d/sub" if flags & DIRECTORY else "/d/file", flags)
    assert guest.call(25, fd, 3, 0) == shown | LARGEFILE


def test_the_access_mode_3_is_neither_to_read_nor_to_write(guest: Guest):
    fd = guest.open("/d/file", 3)
    assert (guest.read(fd), guest.put(fd, b"x")) == (EBADF, EBADF)


@pytest.mark.parametrize("name", ["file", "sub", "absent"])
def test_no_folder_is_made_by_opening_it(guest: Guest, name: str):
    assert guest.open(f"/d/{name}", DIRECTORY | CREAT) == EINVAL


def test_a_file_is_read_to_its_end(guest: Guest):
    fd = guest.open("/d/file")
    assert fd == 3
    assert guest.read(fd, 150) == bytes(range(150))
    assert guest.read(fd, 150) == bytes(range(150, 200))
    assert guest.read(fd, 150) == b""
    assert guest.call(57, fd) == 0
    assert guest.read(fd) == EBADF


def test_what_is_written_is_in_the_hosts_file(guest: Guest, folder: Path):
    fd = guest.open("/d/new", CREAT | WRONLY | TRUNC)
    assert guest.put(fd, b"hello ") == 6
    assert guest.put(fd, b"world") == 5
    assert (folder / "new").read_bytes() == b"hello world"
    assert guest.read(fd) == EBADF
    assert guest.put(guest.open("/d/new", WRONLY | APPEND), b"!") == 1
    assert (folder / "new").read_bytes() == b"hello world!"
    assert guest.put(guest.open("/d/new", RDWR | TRUNC), b"x") == 1
    assert (folder / "new").read_bytes() == b"x"


def test_new_files_have_the_mode_less_the_mask(guest: Guest, folder: Path):
    os.umask(before := os.umask(0))
    guest.open("/d/a", CREAT | WRONLY, 0o666)
    assert guest.call(166, 0o077) == 0o022
    guest.open("/d/b", CREAT | WRONLY, 0o777)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o644 & ~before
    assert stat.S_IMODE((folder / "b").stat().st_mode) == 0o700 & ~before


def test_positions_move_and_are_checked(guest: Guest):
    fd = guest.open("/d/file", RDWR)
    assert guest.call(62, fd, 10, 0) == 10
    assert guest.read(fd, 2) == bytes([10, 11])
    assert guest.call(62, fd, -2, 1) == 10
    assert guest.call(62, fd, -1, 2) == 199
    assert guest.call(62, fd, -1, 0) == EINVAL
    assert guest.call(62, fd, 0, 9) == EINVAL
    assert guest.call(67, fd, OUT, 3, 50) == 3
    assert guest.memory.read(OUT, 3) == bytes([50, 51, 52])
    assert guest.call(68, fd, OUT, 3, 0) == 3
    assert guest.call(67, fd, OUT, 4, 0) == 4
    assert guest.memory.read(OUT, 4) == bytes([50, 51, 52, 3])
    assert guest.call(62, fd, 0, 1) == 199
    assert guest.call(67, fd, OUT, 1, -1) == EINVAL
    assert guest.call(68, fd, OUT, 1, -1) == EINVAL


def test_a_long_read_needs_room_for_what_there_is_only(guest: Guest):
    fd = guest.open("/d/file")
    last = HEAP - 100
    assert guest.call(63, fd, last, 1 << 40) == 100
    assert guest.memory.read(last, 100) == bytes(range(100))
    assert guest.call(63, fd, HEAP, 1) == EFAULT
    guest.memory.protect(DATA + PAGE, PAGE, R)
    assert guest.call(63, fd, last, 1) == EFAULT
    assert guest.call(63, fd, 0, 0) == 0


def test_vectors_are_one_transfer(guest: Guest, folder: Path):
    vectors = struct.pack("<6Q", OUT, 3, 0, 0, OUT + 10, 4)
    guest.memory.write(DATA, vectors)
    guest.memory.write(OUT, b"abc.......defg")
    assert guest.call(66, 1, DATA, 3) == 7
    assert guest.out == [b"abcdefg"]
    fd = guest.open("/d/file")
    guest.memory.write(DATA, vectors)
    assert guest.call(65, fd, DATA, 3) == 7
    assert guest.memory.read(OUT, 14) == bytes([0, 1, 2]) + b"......." + bytes([3, 4, 5, 6])
    assert guest.call(66, 1, DATA, 0) == 0
    assert guest.call(66, 1, DATA, -1) == EINVAL
    assert guest.call(66, 1, DATA, 1025) == EINVAL
    assert guest.call(66, 1, 8, 1) == EFAULT
    assert guest.call(66, 9, DATA, 1) == EBADF
    guest.memory.write(DATA, struct.pack("<4Q", OUT, 3, 8, 1))
    assert guest.call(66, 1, DATA, 2) == EFAULT
    guest.memory.write(DATA, struct.pack("<2Q", OUT, 1 << 63))
    assert guest.call(66, 1, DATA, 1) == EINVAL


def test_a_long_vector_is_written_whole(guest: Guest):
    addr = guest.mmap(0, 3 << 20)
    guest.memory.write(addr, bytes(i % 251 for i in range(3 << 20)))
    guest.memory.write(DATA, struct.pack("<4Q", addr, 1 << 20, addr + (1 << 20), 2 << 20))
    assert guest.call(66, 1, DATA, 2) == 3 << 20
    assert b"".join(guest.out) == guest.memory.read(addr, 3 << 20)


def test_a_file_changes_its_size(guest: Guest, folder: Path):
    fd = guest.open("/d/file", RDWR)
    assert guest.call(46, fd, 5) == 0
    assert guest.call(45, guest.text("/d/file"), 3) == 0
    assert (folder / "file").read_bytes() == bytes([0, 1, 2])
    assert guest.call(46, fd, 6) == 0
    assert (folder / "file").read_bytes() == bytes([0, 1, 2, 0, 0, 0])
    assert guest.call(46, fd, -1) == EINVAL
    assert guest.call(46, guest.open("/d/file"), 1) == EINVAL
    assert guest.call(46, 1, 1) == EINVAL
    assert guest.call(45, guest.text("/d/sub"), 3) == EISDIR
    assert guest.call(82, fd) == guest.call(83, fd) == 0
    assert guest.call(82, 1) == EINVAL


# Standard streams


def test_standard_input_comes_from_its_source():
    guest = Guest(stdin=io.BytesIO(b"line\nmore"))
    assert guest.read(0, 5) == b"line\n"
    assert guest.read(0, 100) == b"more"
    assert guest.read(0) == b""
    assert guest.put(0, b"x") == EBADF
    assert guest.read(1) == EBADF
    assert Guest().read(0) == b""


def test_streams_are_pipes_to_the_guest(guest: Guest):
    for fd in (0, 1, 2):
        assert guest.call(62, fd, 0, 1) == ESPIPE
        assert guest.call(80, fd, OUT) == 0
        assert guest.memory.load4(OUT + 16) & 0o170000 == 0o010000
        for request in (0x5401, 0x5413):
            assert guest.call(29, fd, request, OUT) == ENOTTY
        assert guest.mmap(fd=fd, flags=PRIVATE) == ENODEV
    assert guest.call(67, 0, OUT, 1, 0) == ESPIPE
    assert guest.call(68, 1, OUT, 1, 0) == ESPIPE
    assert guest.call(29, 77, 0x5401, OUT) == EBADF


# Descriptors


def test_descriptors_are_the_lowest_free_ones(guest: Guest):
    assert [guest.open("/d/file") for _ in range(3)] == [3, 4, 5]
    assert guest.call(57, 4) == 0
    assert guest.call(57, 4) == EBADF
    assert guest.call(23, 1) == 4
    assert guest.call(23, 99) == EBADF
    assert guest.call(57, 0) == 0
    assert guest.open("/d/file") == 0


def test_copies_share_the_position_and_the_file(guest: Guest):
    fd = guest.open("/d/file")
    other = guest.call(23, fd)
    assert guest.read(fd, 2) == bytes([0, 1])
    assert guest.read(other, 2) == bytes([2, 3])
    guest.call(57, fd)
    assert guest.read(other, 2) == bytes([4, 5])
    assert guest.call(24, other, 1, 0) == 1
    assert guest.read(1, 2) == bytes([6, 7])
    assert guest.put(1, b"lost") == EBADF
    assert guest.out == []
    assert guest.call(24, 1, 1, 0) == EINVAL
    assert guest.call(24, 1, 5, 1) == EINVAL
    assert guest.call(24, 1, 5000, 0) == EBADF
    assert guest.call(24, 99, 5, 0) == EBADF


def test_fcntl_knows_flags_and_copies(guest: Guest):
    fd = guest.open("/d/file", RDWR | CLOEXEC)
    assert guest.call(25, fd, 1, 0) == 1
    assert guest.call(25, fd, 2, 0) == 0
    assert guest.call(25, fd, 1, 0) == 0
    assert guest.call(25, fd, 3, 0) == RDWR | LARGEFILE
    assert guest.call(25, fd, 4, RDWR | 0o4000) == 0
    assert guest.call(25, fd, 3, 0) == RDWR | LARGEFILE | 0o4000
    assert guest.call(25, fd, 0, 10) == 10
    assert guest.call(25, fd, 1030, 10) == 11
    assert guest.call(25, 11, 1, 0) == 1
    assert guest.call(25, fd, 0, 5000) == EINVAL
    assert guest.call(25, fd, 6, OUT) == 0
    assert guest.call(25, fd, 5, OUT) == 0
    assert guest.memory.load2(OUT) == 2
    assert guest.call(25, fd, 99, 0) == EINVAL
    assert guest.call(25, 99, 1, 0) == EBADF


def test_too_many_files_are_refused_and_leak_nothing(guest: Guest):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    while (fd := guest.open("/d/file")) >= 0:
        pass
    assert fd == EMFILE
    guest.process.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


# What a file is


def test_stat_tells_type_size_and_one_time(guest: Guest, folder: Path):
    os.utime(folder / "file", ns=(1, 5_000_000_007))
    assert guest.stat("/d/file") == 0
    words = struct.unpack("<QQIIIIQQqiiq6q8x", guest.memory.read(OUT, 128))
    device, inode, mode, links, user, group, rdev, _, size, block, _, blocks, *times = words
    assert (device, inode, links, rdev) == (1, (folder / "file").stat().st_ino, 1, 0)
    assert stat.S_ISREG(mode)
    assert (user, group, size, block, blocks) == (1000, 1000, 200, 4096, 1)
    assert times == [5, 7] * 3
    content = guest.memory.read(OUT, 128)
    assert guest.call(80, guest.open("/d/file"), OUT) == 0
    assert guest.memory.read(OUT, 128) == content
    assert guest.call(79, 3, guest.text(""), OUT, 0x1000) == 0
    assert guest.memory.read(OUT, 128) == content
    assert guest.stat("/d/absent") == ENOENT
    assert guest.stat("/d/file", 1) == EINVAL
    assert guest.call(79, AT_FDCWD, guest.text("/d/file"), 8, 0) == EFAULT
    assert guest.call(79, AT_FDCWD, 8, OUT, 0) == EFAULT


def test_statx_tells_the_same(guest: Guest, folder: Path):
    os.utime(folder / "file", ns=(1, 5_000_000_007))
    assert guest.call(291, AT_FDCWD, guest.text("/d/file"), 0, 0x7FF, OUT) == 0
    content = guest.memory.read(OUT, 256)
    mask, block, _, links, user, group, mode = struct.unpack_from("<IIQIIIH", content)
    assert (mask, block, links, user, group) == (0x7FF, 4096, 1, 1000, 1000)
    assert stat.S_ISREG(mode)
    assert struct.unpack_from("<QQQ", content, 32) == ((folder / "file").stat().st_ino, 200, 1)
    for at in (64, 96, 112):
        assert struct.unpack_from("<qI", content, at) == (5, 7)


def test_access_and_readlink_tell_what_could_be_done(guest: Guest, folder: Path):
    (folder / "file").chmod(0o644)
    for mode, result in ((0, 0), (4, 0), (6, 0), (1, -13), (8, EINVAL)):
        assert guest.call(48, AT_FDCWD, guest.text("/d/file"), mode) == result
    assert guest.call(439, AT_FDCWD, guest.text("/d/sub"), 1, 0) == 0
    assert guest.call(48, AT_FDCWD, guest.text("/d/absent"), 0) == ENOENT
    (folder / "link").symlink_to("sub/x")
    assert guest.readlink("/d/link") == b"sub/x"
    assert guest.call(78, AT_FDCWD, guest.text("/d/link"), OUT, 3) == 3
    assert guest.readlink("/d/file") == EINVAL
    assert guest.readlink("/d/absent") == ENOENT
    assert guest.call(78, AT_FDCWD, guest.text("/d/link"), OUT, 0) == EINVAL


# Folders


def test_a_folder_lists_its_entries_in_order(guest: Guest, folder: Path):
    (folder / "a long name of a file").write_bytes(b"")
    (folder / "link").symlink_to("file")
    listed = [
        (".", 4), ("..", 4), ("a long name of a file", 8), ("file", 8), ("link", 10), ("sub", 4),
    ]  # fmt: skip
    fd = guest.open("/d", DIRECTORY)
    assert guest.entries(fd) == listed
    assert guest.entries(fd) == []
    assert guest.call(62, fd, 0, 0) == 0
    assert guest.entries(fd, 48) == listed
    assert guest.call(62, fd, 4, 0) == 4
    assert guest.entries(fd) == listed[4:]
    assert guest.call(62, fd, 0, 0) == 0
    assert guest.call(61, fd, OUT, 10) == EINVAL
    assert guest.call(61, fd, 8, 4096) == EFAULT
    assert guest.call(61, guest.open("/d/file"), OUT, 4096) == ENOTDIR
    assert guest.call(61, 1, OUT, 4096) == ENOTDIR


def test_a_folder_is_no_file(guest: Guest):
    fd = guest.open("/d/sub")
    assert guest.read(fd) == EISDIR
    assert guest.put(fd, b"x") == EBADF
    assert guest.open("/d/sub", WRONLY) == EISDIR
    assert guest.open("/d/sub", CREAT) == EISDIR
    assert guest.open("/d/new/", CREAT | WRONLY) == EISDIR
    assert guest.open("/d/file", DIRECTORY) == ENOTDIR
    assert guest.mmap(fd=fd, flags=PRIVATE) == ENODEV


def test_names_start_from_an_open_folder(guest: Guest):
    fd = guest.open("/d/sub", DIRECTORY)
    made = guest.open("x", CREAT | WRONLY, at=fd)
    assert made >= 0
    assert guest.open("/d/sub/x") >= 0
    assert guest.open("x", at=made) == ENOTDIR
    assert guest.open("x", at=99) == EBADF
    assert guest.call(50, fd) == 0
    assert guest.open("x") >= 0
    assert guest.call(50, made) == ENOTDIR
    assert guest.call(49, guest.text("/d/file")) == ENOTDIR
    assert guest.call(49, guest.text("..")) == 0
    assert guest.call(17, OUT, 3) == 3
    assert guest.memory.read(OUT, 3) == b"/d\0"
    assert guest.call(17, OUT, 2) == ERANGE


def test_files_and_folders_come_and_go(guest: Guest, folder: Path):
    assert guest.mkdir("/d/new") == 0
    assert guest.mkdir("/d/new") == EEXIST
    assert guest.mkdir("/d/file") == EEXIST
    assert guest.mkdir("/d/other/") == 0
    assert guest.mkdir("/d/absent/new") == ENOENT
    guest.open("/d/new/x", CREAT | WRONLY)
    assert guest.unlink("/d/new", 0x200) == ENOTEMPTY
    assert guest.unlink("/d/new") == EISDIR
    assert guest.unlink("/d/new/x", 0x200) == ENOTDIR
    assert guest.unlink("/d/new/x/") == ENOTDIR
    assert guest.unlink("/d/new/x") == 0
    assert guest.unlink("/d/new/x") == ENOENT
    assert guest.unlink("/d/new/.", 0x200) == EINVAL
    assert guest.unlink("/d/new/..") == EISDIR
    assert guest.unlink("/d/new", 0x200) == 0
    assert guest.unlink("/d/file", 1) == EINVAL
    assert guest.rename("/d/file", "/d/sub/moved") == 0
    assert guest.rename("/d/file", "/d/x") == ENOENT
    assert guest.rename("/d/sub/moved", "/d/other", 1) == EEXIST
    assert guest.rename("/d/sub/moved", "/d/z", 2) == EINVAL
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*")) == [
        "other", "sub", "sub/moved",
    ]  # fmt: skip


def test_exclusive_creation_fails_on_what_exists(guest: Guest):
    assert guest.open("/d/file", CREAT | EXCL | WRONLY) == EEXIST
    assert guest.open("/d/new", CREAT | EXCL | WRONLY) >= 0
    assert guest.open("/d", 0o20200000 | RDWR) == -95


# Devices and the executable


def test_simple_devices_need_no_grant():
    def random() -> bytes | int:
        guest = Guest()
        return guest.read(guest.open("/dev/urandom"), 32)

    guest = Guest()
    null = guest.open("/dev/null", RDWR)
    assert guest.read(null) == b""
    assert guest.put(null, b"gone") == 4
    assert guest.read(guest.open("/dev/zero"), 9) == bytes(9)
    assert random() == random()
    assert guest.stat("/dev/null") == 0
    assert guest.call(48, AT_FDCWD, guest.text("/dev/null"), 6) == 0


def test_the_executable_can_be_read_and_is_named(tmp_path: Path):
    program = tmp_path / "prog"
    program.write_bytes(b"\x7fELF")
    source = ExecutableFile(os.fsencode(program), program.stat(), b"\x7fELF")
    guest = Guest(image=replace(IMAGE, name=str(program), source=source))
    assert guest.readlink("/proc/self/exe") == os.fsencode(program)
    assert guest.read(guest.open("/proc/self/exe")) == b"\x7fELF"
    assert guest.open("/proc/self/exe", WRONLY) == EACCES
    assert guest.open("/proc/self/exe", NOFOLLOW) == ELOOP
    assert guest.stat("/proc/self/exe") == 0
    assert struct.unpack_from("<QQIIIIQQq", guest.memory.read(OUT, 56))[1] == source.status.st_ino
    assert guest.open(str(program)) == ENOENT
    assert Guest().readlink("/proc/self/exe") == ENOENT


def test_the_executable_stays_what_was_loaded_whatever_its_name_leads_to(tmp_path: Path):
    """A guest that may write its own folder puts a link to a secret in its program's place."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"nobody may read this")
    program = tmp_path / "in" / "prog"
    program.write_bytes(elf(exit_with(0)))
    machine = Machine()
    machine.load(program, dirs=[Grant(str(tmp_path / "in"), "/d", writable=True)])
    guest = Guest(image=machine.image, dirs=[Grant(str(tmp_path / "in"), "/d", writable=True)])
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    assert guest.rename("/d/link", "/d/prog") == 0
    assert guest.read(guest.open("/proc/self/exe"), 4) == b"\x7fELF"
    assert guest.stat("/proc/self/exe") == 0
    assert guest.readlink("/proc/self/exe") == os.fsencode(program)


# Mapped files


def test_a_private_mapping_has_the_files_bytes(guest: Guest, folder: Path):
    (folder / "big").write_bytes(bytes(i % 251 for i in range(PAGE + 100)))
    fd = guest.open("/d/big")
    addr = guest.mmap(length=3 * PAGE, fd=fd, flags=PRIVATE)
    assert guest.memory.read(addr, PAGE + 100) == (folder / "big").read_bytes()
    assert guest.memory.read(addr + PAGE + 100, 100) == bytes(100)
    assert not guest.memory.span_ok(addr + 2 * PAGE, 1, R)
    guest.memory.store1(addr, 77)
    assert (folder / "big").read_bytes()[0] == 0
    part = guest.mmap(length=50, fd=fd, flags=PRIVATE, prot=1, offset=PAGE)
    assert guest.memory.load1(part) == PAGE % 251
    assert guest.mmap(length=PAGE, fd=fd, flags=SHARED, prot=1) > 0
    assert guest.mmap(length=PAGE, fd=fd, flags=SHARED, prot=3) == -13
    writable = guest.open("/d/big", RDWR)
    assert guest.mmap(length=PAGE, fd=writable, flags=SHARED, prot=3) == ENODEV
    assert guest.mmap(fd=guest.open("/d/big", WRONLY), flags=PRIVATE) == -13
    assert guest.mmap(fd=99, flags=PRIVATE) == EBADF


def test_advice_zeroes_anonymous_pages_and_keeps_a_files(guest: Guest, folder: Path):
    (folder / "big").write_bytes(b"f" * PAGE)
    addr = guest.mmap(length=3 * PAGE)
    middle = guest.mmap(addr + PAGE, PAGE, 1, PRIVATE | 0x10, guest.open("/d/big"), 0)
    assert middle == addr + PAGE
    guest.memory.write(addr, b"a")
    guest.memory.write(addr + 2 * PAGE, b"b")
    assert guest.call(233, addr, 3 * PAGE, 4) == 0
    assert guest.memory.load1(addr) == guest.memory.load1(addr + 2 * PAGE) == 0
    assert guest.memory.load1(middle) == ord("f")
    guest.memory.store1(addr, 1)
    assert not guest.memory.span_ok(middle, 1, 2)
