"""Links, permissions, owners, times and extended attributes, where a grant is one to write."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import (
    EEXIST,
    EINVAL,
    ENOENT,
    EOPNOTSUPP,
    EPERM,
    EROFS,
    EXDEV,
)
from tests.unit.linux_guest import AT_FDCWD, DATA, Guest

NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
OTHER = DATA + 1024
NOFOLLOW, EMPTY_PATH = 0x100, 0x1000
FCHMODAT2 = 452
SYMLINKAT, LINKAT, MKNODAT, FCHMOD, FCHMODAT, FCHOWNAT, FCHOWN, UTIMENSAT = (
    *(36, 37, 33, 52, 53, 54, 55, 88),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("w", "r"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"secret")
    return tmp_path


@pytest.fixture
def guest(folder: Path) -> Guest:
    return Guest(
        dirs=[Grant(str(folder / "w"), "/w", writable=True), Grant(str(folder / "r"), "/r")]
    )


def symlink(guest: Guest, text: str, path: str) -> int:
    return guest.call(SYMLINKAT, guest.text(text), AT_FDCWD, guest.text(path, OTHER))


def link(guest: Guest, old: str, new: str, flags: int = 0) -> int:
    to = guest.text(new, OTHER)
    return guest.call(LINKAT, AT_FDCWD, guest.text(old), AT_FDCWD, to, flags)


def chmod(guest: Guest, path: str, mode: int) -> int:
    return guest.call(FCHMODAT, AT_FDCWD, guest.text(path), mode)


def chmod2(guest: Guest, path: str, mode: int, flags: int, dirfd: int = AT_FDCWD) -> int:
    return guest.call(FCHMODAT2, dirfd, guest.text(path), mode, flags)


def set_times(guest: Guest, path: str, *words: int, flags: int = 0) -> int:
    guest.memory.write(OTHER, struct.pack("<4q", *words))
    return guest.call(UTIMENSAT, AT_FDCWD, guest.text(path), OTHER, flags)


def test_a_symbolic_link_is_followed_in_the_guests_tree_alone(guest: Guest, folder: Path):
    assert symlink(guest, "file", "/w/near") == 0
    assert guest.read(guest.open("/w/near")) == b"content"
    assert symlink(guest, f"{folder}/secret", "/w/out") == 0
    assert guest.open("/w/out") == ENOENT
    assert guest.readlink("/w/out") == os.fsencode(folder / "secret")
    assert chmod(guest, "/w/out", 0o600) == ENOENT
    assert symlink(guest, "x", "/w/near") == EEXIST
    assert symlink(guest, "", "/w/none") == ENOENT
    assert symlink(guest, "x", "/r/none") == EROFS
    assert symlink(guest, "x", "/none") < 0


def test_a_file_gets_one_more_name_within_its_grant(guest: Guest, folder: Path):
    assert link(guest, "/w/file", "/w/twin") == 0
    assert (folder / "w/twin").samefile(folder / "w/file")
    assert link(guest, "/w/file", "/w/twin") == EEXIST
    assert link(guest, "/r/file", "/w/other") == EXDEV
    assert link(guest, "/w/file", "/r/other") == EXDEV
    assert link(guest, "/r/file", "/r/other") == EROFS
    assert link(guest, "/w", "/w/folder") == EPERM
    symlink(guest, "file", "/w/soft")
    assert link(guest, "/w/soft", "/w/soft-twin") == 0
    assert (folder / "w/soft-twin").is_symlink()
    assert link(guest, "/w/soft", "/w/followed", 0x400) == 0
    assert (folder / "w/followed").samefile(folder / "w/file")


def test_only_files_are_made_by_mknod(guest: Guest, folder: Path):
    def make(path: str, mode: int) -> int:
        return guest.call(MKNODAT, AT_FDCWD, guest.text(path), mode, 0)

    assert make("/w/made", stat.S_IFREG | 0o640) == 0
    assert stat.S_IMODE((folder / "w/made").stat().st_mode) & 0o640 == 0o640
    assert make("/w/made", stat.S_IFREG) == EEXIST
    for kind in (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK):
        assert make("/w/device", kind | 0o600) == EPERM
    assert make("/r/made", 0) == EROFS


def test_permissions_change_but_for_those_of_another_user(guest: Guest, folder: Path):
    assert chmod(guest, "/w/file", 0o6750) == 0
    assert stat.S_IMODE((folder / "w/file").stat().st_mode) == 0o750
    assert chmod(guest, "/r/file", 0o600) == EROFS
    assert chmod(guest, "/dev/null", 0o600) == EPERM
    fd = guest.open("/w/file")
    assert guest.call(FCHMOD, fd, 0o4600) == 0
    assert stat.S_IMODE((folder / "w/file").stat().st_mode) == 0o600
    assert guest.call(FCHMOD, guest.open("/r/file"), 0o600) == EROFS
    assert guest.call(FCHMOD, 1, 0o600) == EPERM
    assert guest.call(FCHMOD, guest.open("/w"), 0o700) == 0


def test_a_file_stays_its_owners(guest: Guest):
    path = guest.text("/w/file")
    assert guest.call(FCHOWNAT, AT_FDCWD, path, 1000, -1, 0) == 0
    assert guest.call(FCHOWNAT, AT_FDCWD, path, 0, 0, 0) == EPERM
    fd = guest.open("/w/file")
    assert guest.call(FCHOWN, fd, -1, 1000) == 0
    assert guest.call(FCHOWN, fd, 0, -1) == EPERM


def test_times_are_set_kept_or_now(guest: Guest, folder: Path):
    path = folder / "w/file"
    assert set_times(guest, "/w/file", 5, 6, 1_000_000_000, 7) == 0
    assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == (5_000_000_006, 10**18 + 7)
    assert set_times(guest, "/w/file", 0, OMIT, 2, 0) == 0
    assert (path.stat().st_atime_ns, path.stat().st_mtime_ns) == (5_000_000_006, 2_000_000_000)
    assert set_times(guest, "/w/file", 0, NOW, 0, NOW) == 0
    assert path.stat().st_mtime_ns > 10**18 + 7
    fd = guest.open("/w/file")
    guest.memory.write(OTHER, struct.pack("<4q", 1, 0, 3, 0))
    assert guest.call(UTIMENSAT, fd, 0, OTHER, 0) == 0
    assert path.stat().st_mtime_ns == 3_000_000_000
    symlink(guest, "file", "/w/soft")
    assert set_times(guest, "/w/soft", 4, 0, 4, 0, flags=NOFOLLOW) == 0
    assert path.stat().st_mtime_ns == 3_000_000_000
    assert (folder / "w/soft").lstat().st_mtime_ns == 4_000_000_000


def test_times_that_are_none_are_refused(guest: Guest):
    assert set_times(guest, "/w/file", 1 << 62, 0, -1 << 63, 0) == 0  # Linux takes the nearest
    assert set_times(guest, "/w/file", 0, -1, 0, 0) == EINVAL
    assert set_times(guest, "/w/file", 0, 10**9, 0, 0) == EINVAL
    assert set_times(guest, "/w/file", 0, 0, 0, 0, flags=1) == EINVAL
    assert set_times(guest, "/r/file", 0, 0, 0, 0) == EROFS


@pytest.mark.parametrize("follow", [0, 1])
def test_no_file_has_extended_attributes(guest: Guest, follow: int):
    path, name = guest.text("/w/file"), guest.text("user.x", OTHER)
    for number in (5, 8, 14):
        assert guest.call(number + follow, path, name, DATA, 8, 0) == EOPNOTSUPP
        assert guest.call(number + follow, guest.text("/w/absent"), name, DATA, 8, 0) == ENOENT
        guest.text("/w/file")
    assert guest.call(11 + follow, path, DATA, 8) == 0
    fd = guest.open("/w/file")
    assert [guest.call(n, fd, name, DATA, 8, 0) for n in (7, 10, 16)] == [EOPNOTSUPP] * 3
    assert guest.call(13, fd, DATA, 8) == 0


def test_fchmodat2_is_for_names_and_for_open_files(guest: Guest, folder: Path) -> None:
    """fchmodat2 of Linux 6.6: a link has no permissions, and an empty path is the descriptor."""
    file = folder / "w" / "file"
    assert chmod2(guest, "/w/file", 0o600, NOFOLLOW) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert symlink(guest, "file", "/w/link") == 0
    assert chmod2(guest, "/w/link", 0o777, NOFOLLOW) == EOPNOTSUPP
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert chmod2(guest, "/w/link", 0o640, 0) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    fd = guest.open("/w/file")
    assert chmod2(guest, "", 0o644, EMPTY_PATH, fd) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert chmod2(guest, "", 0o644, 0, fd) == ENOENT
    assert chmod2(guest, "/w/file", 0o644, 1) == EINVAL
    assert chmod2(guest, "/r/file", 0o644, NOFOLLOW) == EROFS


def test_an_open_file_is_changed_by_its_magic_link(guest: Guest, folder: Path) -> None:
    """What /proc/self/fd/N leads to is the open file, whatever has its name by now."""
    file, moved = folder / "w" / "file", folder / "w" / "moved"
    link = f"/proc/self/fd/{guest.open('/w/file')}"
    file.rename(moved)
    file.symlink_to(folder / "secret")
    secret = os.stat(folder / "secret")
    assert chmod(guest, link, 0o600) == 0
    assert stat.S_IMODE(moved.stat().st_mode) == 0o600
    guest.memory.write(DATA + 2048, struct.pack("<4q", 5, 0, 7, 0))
    assert guest.call(UTIMENSAT, AT_FDCWD, guest.text(link), DATA + 2048, 0) == 0
    assert (moved.stat().st_atime, moved.stat().st_mtime) == (5, 7)
    assert guest.call(FCHOWNAT, AT_FDCWD, guest.text(link), 1000, 1000, 0) == 0
    assert os.stat(folder / "secret") == secret
    to_read = f"/proc/self/fd/{guest.open('/r/file')}"
    assert chmod(guest, to_read, 0o600) == EROFS
    assert chmod(guest, "/proc/self/fd/0", 0o600) == EPERM
    assert guest.call(FCHOWNAT, AT_FDCWD, guest.text(""), 1000, 1000, 0) == ENOENT
