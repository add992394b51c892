"""O_PATH: a descriptor that stands for a place in the tree and is not open to be used (open(2)).

The expectations are the kernel's: `test_the_host_agrees` asks it the same questions.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import EACCES, EBADF, EINVAL, ELOOP, ENOENT, ENOTDIR, EPERM, EROFS
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import AT_FDCWD, DATA, PRIVATE, Guest

PATH, DIRECTORY, NOFOLLOW, CLOEXEC, LARGEFILE = 0o10000000, 0o200000, 0o400000, 0o2000000, 0o100000
RDWR, CREAT, TRUNC, AT_EMPTY_PATH, POLLNVAL = 2, 0o100, 0o1000, 0x1000, 0x20
OUT = DATA + PAGE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner").write_bytes(b"inner's")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@pytest.fixture
def guest(folder: Path) -> Guest:
    return Guest(dirs=[Grant(str(folder), "/d", writable=True)])


USES: dict[str, Callable[[Guest, int], int]] = {
    "read": lambda g, fd: g.call(63, fd, OUT, 1),
    "write": lambda g, fd: g.call(64, fd, OUT, 1),
    "readv": lambda g, fd: g.call(65, fd, OUT, 0),
    "pread64": lambda g, fd: g.call(67, fd, OUT, 1, 0),
    "pwrite64": lambda g, fd: g.call(68, fd, OUT, 1, 0),
    "lseek": lambda g, fd: g.call(62, fd, 0, 0),
    "getdents64": lambda g, fd: g.call(61, fd, OUT, 1000),
    "ioctl": lambda g, fd: g.call(29, fd, 0x5401, OUT),
    "mmap": lambda g, fd: g.mmap(flags=PRIVATE, fd=fd),
    "ftruncate": lambda g, fd: g.call(46, fd, 0),
    "fallocate": lambda g, fd: g.call(47, fd, 0, 0, 1),
    "fsync": lambda g, fd: g.call(82, fd),
    "syncfs": lambda g, fd: g.call(267, fd),
    "flock": lambda g, fd: g.call(32, fd, 1),
    "fadvise64": lambda g, fd: g.call(223, fd, 0, 0, 0),
    "readahead": lambda g, fd: g.call(213, fd, 0, 1),
    "sync_file_range": lambda g, fd: g.call(84, fd, 0, 0, 0),
    "fchmod": lambda g, fd: g.call(52, fd, 0o600),
    "fchown": lambda g, fd: g.call(55, fd, -1, -1),
    "fgetxattr": lambda g, fd: g.call(10, fd, g.text("user.x"), OUT, 0),
    "futimens": lambda g, fd: g.call(88, fd, 0, 0, 0),
    "sendfile": lambda g, fd: g.call(71, 1, fd, 0, 1),
    "splice": lambda g, fd: g.call(76, fd, 0, 1, 0, 1, 0),
    "F_SETFL": lambda g, fd: g.call(25, fd, 4, 0),
    "F_GETLK": lambda g, fd: g.call(25, fd, 5, OUT),
    "F_GETPIPE_SZ": lambda g, fd: g.call(25, fd, 1032, 0),
    "epoll_ctl": lambda g, fd: g.call(21, g.call(20, 0), 1, fd, OUT),
    "pselect6": lambda g, fd: g.call(72, fd + 1, _set_of(g, fd), 0, 0, 0, 0),
}


def _set_of(guest: Guest, fd: int) -> int:
    guest.memory.write(OUT, (1 << fd).to_bytes(8, "little"))
    return OUT


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("path", ["/d/file", "/d/sub", "/d", "/proc/self/maps", "/dev/zero", "/"])
def test_a_path_is_not_open_to_be_used(guest: Guest, path: str, use: str):
    fd = guest.open(path, PATH)
    assert fd > 2
    assert USES[use](guest, fd) == EBADF


def test_poll_finds_no_open_descriptor(guest: Guest):
    fd = guest.open("/d/file", PATH)
    guest.memory.write(OUT, fd.to_bytes(4, "little") + bytes([1, 0, 0, 0]))
    assert guest.call(73, OUT, 1, 0, 0, 8) == 1
    assert guest.memory.read(OUT + 6, 2) == POLLNVAL.to_bytes(2, "little")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/d/file", stat.S_IFREG),
        ("/d/sub", stat.S_IFDIR),
        ("/d/link", stat.S_IFLNK),
        ("/d/fifo", stat.S_IFIFO),
        ("/proc/self", stat.S_IFLNK),
        ("/proc/self/fd/1", stat.S_IFLNK),
        ("/proc/version", stat.S_IFREG),
        ("/dev/zero", stat.S_IFCHR),
    ],
)
def test_a_path_tells_what_it_stands_for(guest: Guest, path: str, kind: int):
    fd = guest.open(path, PATH | NOFOLLOW)
    assert guest.call(80, fd, OUT) == 0
    assert stat.S_IFMT(guest.memory.load4(OUT + 16)) == kind
    assert guest.call(79, fd, guest.text(""), OUT, AT_EMPTY_PATH) == 0
    assert guest.call(44, fd, OUT) == 0
    copy = guest.call(23, fd)
    assert copy > fd
    assert guest.call(25, copy, 3, 0) == PATH | NOFOLLOW
    assert guest.call(57, fd) == 0
    assert guest.call(80, copy, OUT) == 0
    assert guest.call(57, copy) == 0


def test_flags_that_mean_nothing_to_a_path_are_dropped(guest: Guest, folder: Path):
    assert guest.open("/d/absent", PATH | CREAT | RDWR) == ENOENT
    fd = guest.open("/d/file", PATH | CREAT | TRUNC | RDWR | CLOEXEC)
    assert guest.call(25, fd, 3, 0) == PATH
    assert guest.call(25, fd, 1, 0) == 1
    assert (folder / "file").read_bytes() == b"content"
    assert guest.open("/d/file", PATH | DIRECTORY) == ENOTDIR


def test_names_start_from_a_path(guest: Guest):
    fd = guest.open("/d/sub", PATH | DIRECTORY)
    inner = guest.open("inner", at=fd)
    assert guest.read(inner) == b"inner's"
    assert guest.call(50, fd) == 0
    assert guest.read(guest.open("inner")) == b"inner's"
    assert guest.open("x", at=guest.open("/d/file", PATH)) == ENOTDIR


def test_a_path_is_opened_by_its_magic_link(guest: Guest):
    fd = guest.open("/d/file", PATH)
    assert guest.rename("/d/file", "/d/elsewhere") == 0
    again = guest.open(f"/proc/self/fd/{fd}", RDWR)
    assert guest.read(again) == b"content"
    third = guest.open(f"/proc/self/fd/{fd}", PATH)
    assert guest.call(63, third, OUT, 1) == EBADF
    assert guest.read(guest.open(f"/proc/self/fd/{third}")) == b"content"
    for path, error in (("/d/link", ELOOP), ("/d/fifo", EACCES), ("/proc/self", ELOOP)):
        fd = guest.open(path, PATH | NOFOLLOW)
        assert guest.open(f"/proc/self/fd/{fd}") == error
    fd = guest.open("/dev/zero", PATH)
    assert guest.read(guest.open(f"/proc/self/fd/{fd}"), 4) == bytes(4)
    fd = guest.open("/proc/self/fd/1", PATH)
    assert guest.open(f"/proc/self/fd/{fd}") == EACCES  # a stream to write
    assert guest.put(guest.open(f"/proc/self/fd/{fd}", 1), b"out") == 3
    assert guest.out == [b"out"]


def test_the_text_of_a_link_that_a_path_stands_for(guest: Guest):
    for path, text in (("/d/link", b"file"), ("/proc/self", b"1000")):
        fd = guest.open(path, PATH | NOFOLLOW)
        assert guest.call(78, fd, guest.text(""), OUT, 256) == len(text)
        assert guest.memory.read(OUT, len(text)) == text
    for path in ("/d/file", "/d/sub", "/proc/version"):
        assert guest.call(78, guest.open(path, PATH), guest.text(""), OUT, 256) == ENOENT


def test_what_a_path_stands_for_is_changed_by_an_empty_name(guest: Guest, folder: Path):
    fd, empty = guest.open("/d/file", PATH), guest.text("")
    assert guest.call(452, fd, empty, 0o600, AT_EMPTY_PATH) == 0
    assert stat.S_IMODE((folder / "file").stat().st_mode) == 0o600
    guest.memory.write(OUT, b"".join(n.to_bytes(8, "little") for n in (5, 0, 7, 0)))
    assert guest.call(88, fd, empty, OUT, AT_EMPTY_PATH) == 0
    assert (folder / "file").stat().st_mtime == 7
    assert guest.call(54, fd, empty, -1, 1000, AT_EMPTY_PATH) == 0
    assert guest.call(54, fd, empty, 0, -1, AT_EMPTY_PATH) == EPERM


def test_times_of_the_working_directory_and_of_nothing(guest: Guest, folder: Path):
    """utimensat(2): an empty path is the working directory; no path and no descriptor is EFAULT."""
    assert guest.call(49, guest.text("/d/sub")) == 0
    guest.memory.write(OUT, b"".join(n.to_bytes(8, "little") for n in (5, 0, 7, 0)))
    assert guest.call(88, AT_FDCWD, guest.text(""), OUT, AT_EMPTY_PATH) == 0
    assert (folder / "sub").stat().st_mtime == 7
    assert guest.call(88, AT_FDCWD, 0, OUT, 0) == -14
    assert guest.call(88, guest.open("/d/file"), 0, OUT, 0x100) == EINVAL
    omit = (1 << 30) - 2
    guest.memory.write(OUT, b"".join(n.to_bytes(8, "little") for n in (0, omit, 0, omit)))
    assert guest.call(88, AT_FDCWD, guest.text("/absent"), OUT, 0) == 0


def test_a_path_in_a_grant_to_read_changes_nothing(folder: Path):
    guest = Guest(dirs=[Grant(str(folder), "/d")])
    fd = guest.open("/d/file", PATH)
    assert guest.open(f"/proc/self/fd/{fd}", RDWR) == EROFS
    assert guest.call(452, fd, guest.text(""), 0o600, AT_EMPTY_PATH) == EROFS


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="the host is no Linux")
def test_the_host_agrees(folder: Path):
    fd = os.open(folder / "file", os.O_PATH | os.O_RDWR | os.O_CLOEXEC)
    for use in (
        lambda: os.read(fd, 1),
        lambda: os.write(fd, b"x"),
        lambda: os.lseek(fd, 0, 0),
        lambda: os.ftruncate(fd, 0),
        lambda: os.fsync(fd),
        lambda: os.fchmod(fd, 0o600),
        lambda: os.fchown(fd, -1, -1),
        lambda: fcntl.flock(fd, fcntl.LOCK_SH),
        lambda: fcntl.fcntl(fd, fcntl.F_SETFL, 0),
    ):
        with pytest.raises(OSError, match="Bad file descriptor"):
            use()
    assert fcntl.fcntl(fd, fcntl.F_GETFL) == os.O_PATH
    assert stat.S_ISREG(os.fstat(fd).st_mode)
    link = os.open(folder / "link", os.O_PATH | os.O_NOFOLLOW)
    assert os.readlink("", dir_fd=link) == "file"
    with pytest.raises(OSError, match="symbolic links"):
        os.open(f"/proc/self/fd/{link}", os.O_RDONLY)
    with pytest.raises(FileNotFoundError):
        os.readlink("", dir_fd=fd)
    os.close(fd)
    os.close(link)
