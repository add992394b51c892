"""Open folders and the working directory: they stay the same folder when names change.

The expectations are the kernel's: `test_the_host_agrees` asks it the same questions.
"""

from __future__ import annotations

import gc
import os
import resource
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import EBUSY, ENOENT
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import AT_FDCWD, DATA, Guest

DIRECTORY, CREAT, WRONLY, REMOVEDIR = 0o200000, 0o100, 1, 0x200
MKDIR, UNLINK, CHDIR, FCHDIR, GETCWD = 34, 35, 49, 50, 17


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "in" / "a" / "b").mkdir(parents=True)
    (tmp_path / "in" / "other").mkdir()
    (tmp_path / "in" / "a" / "file").write_bytes(b"a's")
    (tmp_path / "in" / "other" / "file").write_bytes(b"other's")
    (tmp_path / "secret").write_bytes(b"secret")
    return tmp_path


@pytest.fixture
def guest(host: Path) -> Guest:
    return Guest(dirs=[Grant(str(host / "in"), "/d", writable=True)])


def content(guest: Guest, path: str, at: int = AT_FDCWD) -> bytes | int:
    fd = guest.open(path, at=at)
    return fd if fd < 0 else guest.read(fd)


def cwd(guest: Guest) -> str | int:
    done = guest.call(GETCWD, DATA + PAGE, 256)
    return done if done < 0 else guest.memory.read_cstring(DATA + PAGE).decode()


def test_an_open_folder_that_is_renamed_stays_itself(guest: Guest, host: Path):
    fd = guest.open("/d/a", DIRECTORY)
    assert guest.rename("/d/a", "/d/other/renamed") == 0
    assert guest.mkdir("/d/a") == 0
    assert content(guest, "file", fd) == b"a's"
    assert content(guest, "../file", fd) == b"other's"
    assert guest.open("new", CREAT | WRONLY, at=fd) >= 0
    assert (host / "in" / "other" / "renamed" / "new").exists()
    assert guest.call(MKDIR, fd, guest.text("sub"), 0o755) == 0
    assert [name for name, _ in guest.entries(fd)] == [".", "..", "b", "file", "new", "sub"]
    assert guest.readlink(f"/proc/self/fd/{fd}") == b"/d/other/renamed"
    assert guest.call(UNLINK, fd, guest.text("new"), 0) == 0
    assert sorted(os.listdir(host / "in" / "a")) == []


def test_the_working_directory_that_is_renamed_stays_itself(guest: Guest):
    assert guest.call(CHDIR, guest.text("/d/a/b")) == 0
    assert cwd(guest) == "/d/a/b"
    assert guest.rename("/d/a", "/d/z") == 0
    assert cwd(guest) == "/d/z/b"
    assert content(guest, "../file") == b"a's"
    assert guest.readlink("/proc/self/cwd") == b"/d/z/b"
    assert guest.rename("/d/z/b", "/d/other/b") == 0
    assert cwd(guest) == "/d/other/b"
    assert content(guest, "../file") == b"other's"


def test_a_working_directory_that_is_removed_has_no_name(guest: Guest):
    assert guest.call(CHDIR, guest.text("/d/a/b")) == 0
    assert guest.unlink("/d/a/b", REMOVEDIR) == 0
    assert cwd(guest) == ENOENT
    assert guest.open("new", CREAT | WRONLY) == ENOENT
    assert guest.call(CHDIR, guest.text("/d")) == 0
    assert cwd(guest) == "/d"


def test_the_host_agrees(host: Path, monkeypatch: pytest.MonkeyPatch):
    """What the tests above expect of Linux, from the kernel that they run on."""
    monkeypatch.chdir(host / "in")
    fd = os.open("a", os.O_RDONLY | os.O_DIRECTORY)
    os.rename("a", "other/renamed")
    assert os.stat("file", dir_fd=fd).st_size == 3
    assert os.stat("../file", dir_fd=fd).st_size == 7
    os.chdir("other/renamed/b")
    os.rename("../../renamed", "../../../z")
    assert os.getcwd() == str(host / "in" / "z" / "b")
    os.rmdir(host / "in" / "z" / "b")
    with pytest.raises(FileNotFoundError):
        os.getcwd()
    with pytest.raises(FileNotFoundError):
        os.mkdir("new")
    os.close(fd)


def test_a_folder_that_is_removed_has_no_entries_to_list(guest: Guest):
    """getdents64 answers ENOENT, also where some entries were told before (getdents(2))."""
    listed, fresh = (guest.open("/d/a/b", DIRECTORY) for _ in range(2))
    assert guest.entries(listed) == [(".", 4), ("..", 4)]
    assert guest.unlink("/d/a/b", REMOVEDIR) == 0
    for fd in (listed, fresh):
        assert guest.call(61, fd, DATA + PAGE, 4096) == ENOENT
        assert guest.call(80, fd, DATA + PAGE) == 0


def test_a_folder_that_the_host_moves_out_of_the_grant_has_no_parent(guest: Guest, host: Path):
    """What is in it was granted; what is around it now was not."""
    fd = guest.open("/d/a/b", DIRECTORY)
    (host / "in" / "a").rename(host / "out")
    for path in ("..", "../..", "../../secret", "../../../../../etc/passwd", "../b/../../secret"):
        assert content(guest, path, fd) == ENOENT
    assert guest.readlink(f"/proc/self/fd/{fd}") == ENOENT
    assert guest.call(FCHDIR, fd) == 0
    assert cwd(guest) == ENOENT
    assert content(guest, "../../secret") == ENOENT


def test_a_folder_moved_through_another_grant_leads_out_of_neither(host: Path):
    """Two grants, one in the other: the outer one takes a folder out of the inner one."""
    inner = Grant(str(host / "in" / "a"), "/inner", writable=True)
    guest = Guest(dirs=[Grant(str(host / "in"), "/d", writable=True), inner])
    fd = guest.open("/inner/b", DIRECTORY)
    assert guest.rename("/d/a/b", "/d/b") == 0
    for path in ("..", "../secret", "../../secret", "../../../../../../../../etc/passwd"):
        assert content(guest, path, fd) == ENOENT


def test_what_leads_to_a_grant_stays(host: Path):
    guest = Guest(
        dirs=[
            Grant(str(host / "in"), "/d", writable=True),
            Grant(str(host / "in" / "other"), "/d/a/b/m"),
        ]
    )
    assert content(guest, "/d/a/b/m/file") == b"other's"
    for path in ("/d/a", "/d/a/b", "/d/a/b/m"):
        assert guest.rename(path, "/d/new") == EBUSY
        assert guest.rename("/d/other", path) == EBUSY
        assert guest.unlink(path, REMOVEDIR) == EBUSY
    fd = guest.open("/d/a/b", DIRECTORY)
    assert content(guest, "m/../../file", fd) == b"a's"


def test_names_are_found_from_a_moved_folder_past_grants_below(host: Path):
    """A grant is at a name: a folder that was moved there or away takes nothing with it."""
    guest = Guest(
        dirs=[
            Grant(str(host / "in"), "/d", writable=True),
            Grant(str(host / "in" / "a"), "/d/other/m"),
        ]
    )
    (host / "in" / "x" / "m").mkdir(parents=True)
    fd = guest.open("/d/x/m", DIRECTORY)
    assert guest.rename("/d/x/m", "/d/a/moved") == 0
    assert content(guest, "../file", fd) == b"a's"
    assert content(guest, "../../other/m/file", fd) == b"a's"
    assert content(guest, "../../other/file", fd) == b"other's"


def test_many_open_folders_end_in_an_error_of_the_guest(guest: Guest):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        while (fd := guest.open("/d/a", DIRECTORY)) >= 0:
            pass
        assert fd == -24  # EMFILE
        while (fd := guest.open("/d/a/file")) >= 0:
            pass
        assert fd == -24
    finally:
        guest.process.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nothing_leaks_descriptors(guest: Guest, host: Path):
    (host / "in" / "link").symlink_to("/d/a/../other/absent")
    (host / "in" / "loop").symlink_to("loop")

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    assert guest.call(CHDIR, guest.text("/")) == 0
    gc.collect()  # machines of other tests, which would close theirs meanwhile
    before = descriptors()
    for path in ("/d/a/../other/file", "/d/link", "/d/loop", "/d/a/file/x", "/x", "/proc/self/cwd",
                 "/d/a/", "/d/a/file/", "/proc/self/fd/0", "..", "/d/absent/x"):  # fmt: skip
        fd = guest.open(path)
        if fd >= 0:
            guest.call(57, fd)
        guest.stat(path)
        guest.readlink(path)
        guest.unlink(path + "/absent")
        guest.rename(path, "/d/absent/y")
        guest.call(CHDIR, guest.text(path))
        guest.call(CHDIR, guest.text("/"))
        assert descriptors() == before, path
