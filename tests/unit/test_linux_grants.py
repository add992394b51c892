"""Granted folders: what a guest reaches, and every way that must not lead out of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rvsim.errors import RvsimError
from rvsim.guest.linux import Grant
from rvsim.guest.linux.errno import (
    EACCES,
    EBUSY,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    EROFS,
    EXDEV,
    CallError,
)
from rvsim.guest.linux.opening import open_place
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import AT_FDCWD, DATA, Guest

SECRET = b"nobody may read this"
WRONLY, RDWR, CREAT, EXCL, TRUNC = 1, 2, 0o100, 0o200, 0o1000
DIRECTORY, NOFOLLOW = 0o200000, 0o400000
REMOVEDIR = 0x200


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A granted folder ``in`` with a file and a folder, and a secret beside it."""
    inside = tmp_path / "in"
    (inside / "sub").mkdir(parents=True)
    (inside / "file").write_bytes(b"content")
    (inside / "sub" / "deep").write_bytes(b"deep")
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "in2").mkdir()
    (tmp_path / "in2" / "secret").write_bytes(SECRET)
    return tmp_path


@pytest.fixture
def guest(host: Path) -> Guest:
    """``in`` is /data, to write."""
    return Guest(dirs=[Grant(str(host / "in"), "/data", writable=True)])


def listed(guest: Guest, path: str) -> list[str]:
    """The names in a folder, without the two that all have."""
    found = guest.entries(guest.open(path, DIRECTORY))
    assert [name for name, _ in found[:2]] == [".", ".."]
    return [name for name, _ in found[2:]]


def reads(guest: Guest, path: str) -> bytes | int:
    fd = guest.open(path)
    return fd if fd < 0 else guest.read(fd)


# The grant itself


def test_a_granted_file_is_read_under_its_guest_name(guest: Guest):
    assert reads(guest, "/data/file") == b"content"
    assert reads(guest, "//data/./sub//deep") == b"deep"
    assert reads(guest, "/data/sub/../file") == b"content"
    assert reads(guest, "/data/absent") == ENOENT
    assert reads(guest, "/data/absent/file") == ENOENT
    assert reads(guest, "/data/file/") == ENOTDIR
    assert reads(guest, "/data/file/x") == ENOTDIR
    assert reads(guest, "/data/file/..") == ENOTDIR


def test_without_a_guest_name_a_folder_keeps_the_hosts(host: Path):
    guest = Guest(dirs=[Grant(str(host / "in"))])
    assert reads(guest, f"{host}/in/file") == b"content"
    assert reads(guest, f"{host}/secret") == ENOENT


def test_relative_names_start_in_the_hosts_folder_where_a_grant_reaches_it(
    host: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(host)
    guest = Guest(dirs=[Grant("in")])
    assert reads(guest, "in/file") == b"content"
    assert reads(guest, "secret") == ENOENT
    assert guest.call(17, DATA, 4096) == len(str(host)) + 1
    assert guest.memory.read_cstring(DATA) == os.fsencode(host)
    monkeypatch.chdir(host / "in")
    assert reads(Guest(dirs=[Grant(".")]), "file") == b"content"
    elsewhere = Guest(dirs=[Grant(".", "/data")])
    assert elsewhere.call(17, DATA, 4096) == 2
    assert elsewhere.memory.read_cstring(DATA) == b"/"
    assert reads(elsewhere, "data/file") == b"content"


def test_nothing_is_granted_by_default(host: Path):
    guest = Guest()
    for path in ("/etc/passwd", f"{host}/secret", "file", "../file", "/proc/self/mem", "/proc/1"):
        assert reads(guest, path) == ENOENT
        assert guest.stat(path) == guest.readlink(path) == ENOENT
        assert guest.call(48, AT_FDCWD, guest.text(path), 0) == ENOENT
    for path in ("/", ".", ".."):
        assert reads(guest, path) == EISDIR
    said = "no --dir grants {}, so for the program it does not exist"
    assert guest.notes == [said.format(path) for path in (f"{host}/secret", "file", "../file")]


def test_what_may_not_be_changed_is_told_from_what_is_not_there(host: Path):
    guest = Guest(dirs=[Grant(str(host / "in"), "/data")])
    assert guest.open("/data/file", WRONLY) == EROFS
    assert guest.open("/new", CREAT | WRONLY) == EACCES
    assert guest.open("/proc/new", CREAT | WRONLY) == EACCES
    assert guest.open("/proc/version", WRONLY) == EACCES
    assert guest.open("/nowhere/new", CREAT | WRONLY) == ENOENT
    assert guest.mkdir("/nowhere/new") == ENOENT
    assert guest.unlink("/proc/version") == EACCES


def test_few_paths_outside_are_named(guest: Guest):
    for i in range(100):
        assert reads(guest, f"/home/user/module{i}.pm") == ENOENT
        assert reads(guest, f"/usr/share/perl/module{i}.pm") == ENOENT
    assert len(guest.notes) == 5
    assert guest.notes[-1].endswith("; further paths are not named (--strace shows all)")


@pytest.mark.parametrize(
    ("text", "grant"),
    [
        ("data", Grant("data")),
        ("data:rw", Grant("data", writable=True)),
        ("data:ro", Grant("data")),
        ("data:/d", Grant("data", "/d")),
        ("data:/d:rw", Grant("data", "/d", writable=True)),
        ("rw", Grant("rw")),
    ],
)
def test_a_grant_is_written_host_guest_access(text: str, grant: Grant):
    assert Grant.parse(text) == grant


def test_bad_grants_are_named(host: Path):
    for text in ("", ":rw", "a::rw", "a:b:c", "a:b:c:rw"):
        with pytest.raises(RvsimError, match=r"is not understood: write HOST\[:GUEST\]\[:rw\]"):
            Grant.parse(text)
    for folder in (host / "absent", host / "secret"):
        with pytest.raises(RvsimError, match=r"--dir: cannot use the folder .*: name a folder"):
            Guest(dirs=[Grant(str(folder))])
    for guest in ("relative", "/a/../b"):
        with pytest.raises(RvsimError, match="is not an absolute path"):
            Guest(dirs=[Grant(str(host), guest)])
    with pytest.raises(RvsimError, match="two folders are to be /d for the guest"):
        Guest(dirs=[Grant(str(host), "/d"), Grant(str(host), "/d/")])
    with pytest.raises(RvsimError, match="-L: cannot use the folder"):
        Guest(sysroot=str(host / "absent"))


def test_the_longest_grant_wins(host: Path):
    guest = Guest(
        dirs=[
            Grant(str(host / "in"), "/d", writable=True),
            Grant(str(host / "in2"), "/d/sub"),
        ]
    )
    assert reads(guest, "/d/sub/secret") == SECRET
    assert reads(guest, "/d/sub/deep") == ENOENT
    assert reads(guest, "/d/sub/../file") == b"content"
    assert guest.open("/d/new", CREAT | WRONLY) >= 0
    assert guest.open("/d/sub/new", CREAT | WRONLY) == EROFS


# Ways out


def test_dot_dot_does_not_leave_the_grant(guest: Guest):
    for path in (
        "/data/../secret",
        "/data/sub/../../secret",
        "/data/../in2/secret",
        "/../data/../secret",
        "/data/../../../../../../etc/passwd",
    ):
        assert reads(guest, path) == ENOENT
    assert reads(guest, "/../../data/file") == b"content"
    fd = guest.open("/data/sub", DIRECTORY)
    assert guest.open("../file", at=fd) >= 0
    assert guest.open("../../secret", at=fd) == ENOENT
    assert guest.open("../../../../../../../../etc/passwd", at=fd) == ENOENT


@pytest.mark.parametrize("target", ["/etc/passwd", "/nowhere/x", "../in2/secret"])
def test_a_link_out_of_the_grant_leads_nowhere(guest: Guest, host: Path, target: str):
    (host / "in" / "link").symlink_to(target)
    (host / "in" / "sub" / "again").symlink_to("../link")
    for path in ("/data/link", "/data/sub/again", "/data/link/"):
        assert reads(guest, path) == ENOENT
        assert guest.open(path, RDWR | CREAT) < 0
        assert guest.stat(path) == ENOENT
    assert reads(guest, "/data/link") == ENOENT
    assert guest.readlink("/data/link") == os.fsencode(target)
    assert guest.call(45, guest.text("/data/link"), 0) == ENOENT
    assert (host / "secret").read_bytes() == SECRET


def test_an_absolute_link_to_the_grants_own_host_path_is_a_guest_path(host: Path):
    (host / "in" / "link").symlink_to(host / "in" / "file")
    assert reads(Guest(dirs=[Grant(str(host / "in"), "/data")]), "/data/link") == ENOENT
    assert reads(Guest(dirs=[Grant(str(host / "in"))]), f"{host}/in/link") == b"content"


def test_a_linked_folder_out_of_the_grant_leads_nowhere(guest: Guest, host: Path):
    (host / "in" / "up").symlink_to("..")
    (host / "in" / "root").symlink_to("/")
    (host / "in" / "other").symlink_to(host / "in2")
    for path in ("/data/up/secret", "/data/root/etc/passwd", "/data/other/secret"):
        assert reads(guest, path) == ENOENT
    assert listed(guest, "/data/up") == listed(guest, "/")
    assert guest.open("/data/other/new", CREAT | WRONLY) == ENOENT
    assert guest.mkdir("/data/other/new") == ENOENT
    assert guest.unlink("/data/other/secret") == ENOENT
    assert guest.rename("/data/file", "/data/other/file") == ENOENT
    assert guest.rename("/data/other/secret", "/data/mine") == ENOENT
    assert sorted(os.listdir(host / "in2")) == ["secret"]


def test_links_within_the_grant_are_followed(guest: Guest, host: Path):
    (host / "in" / "folder").symlink_to("sub")
    (host / "in" / "absolute").symlink_to("/data/sub/deep")
    (host / "in" / "sub" / "back").symlink_to("../file")
    assert reads(guest, "/data/folder/deep") == b"deep"
    assert reads(guest, "/data/absolute") == b"deep"
    assert reads(guest, "/data/folder/back") == b"content"
    assert reads(guest, "/data/folder/../file") == b"content"
    assert guest.open("/data/absolute", NOFOLLOW) == ELOOP
    assert guest.open("/data/folder", NOFOLLOW | DIRECTORY) == ENOTDIR
    assert guest.open("/data/new", CREAT | WRONLY | EXCL) >= 0
    assert guest.open("/data/absolute", CREAT | WRONLY | EXCL) == EEXIST


def test_a_dangling_link_makes_its_target_inside_only(guest: Guest, host: Path):
    (host / "in" / "good").symlink_to("made")
    (host / "in" / "bad").symlink_to("../made")
    assert guest.open("/data/good", CREAT | WRONLY) >= 0
    assert guest.open("/data/bad", CREAT | WRONLY) == EACCES  # in the guest's root
    assert (host / "in" / "made").exists()
    assert not (host / "made").exists()


def test_endless_links_end(guest: Guest, host: Path):
    (host / "in" / "a").symlink_to("b")
    (host / "in" / "b").symlink_to("a")
    (host / "in" / "self").symlink_to("self/self/self/self")
    assert reads(guest, "/data/a") == ELOOP
    assert reads(guest, "/data/self") == ELOOP


def test_proc_is_no_way_in(guest: Guest, host: Path):
    fd = guest.open("/data/sub", DIRECTORY)
    assert reads(guest, f"/proc/self/fd/{fd}/../file") == b"content"
    for path in (
        f"/proc/self/fd/{fd}/../../secret",
        f"/proc/self/fd/{fd}/../../../../../../etc/passwd",
        f"/proc/self/fd/{fd + 5}",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/etc/passwd",
        "/proc/self/exe",
        "/dev/fd/../../etc/passwd",
        "/dev/mem",
    ):
        assert reads(guest, path) == ENOENT
    assert reads(guest, "/dev/null/../../etc/passwd") == ENOTDIR
    assert reads(guest, "/proc/self/fd/0/x") == ENOTDIR


def test_even_a_granted_proc_gives_no_magic_links(host: Path):
    guest = Guest(dirs=[Grant("/proc/self", "/p")])
    assert reads(guest, "/p/root/etc/passwd") == ENOENT
    assert reads(guest, "/p/cwd/x") == ENOENT
    with open(host / "secret", "rb") as secret:
        assert reads(guest, f"/p/fd/{secret.fileno()}") == ENOENT


def test_a_folder_swapped_for_a_link_is_not_entered(guest: Guest, host: Path):
    """The host's names change between the walk and the opening."""
    tree = guest.process.tree
    (host / "in2" / "deep").write_bytes(SECRET)
    with tree.find(b"/data/sub/deep") as deep, tree.find(b"/data/sub") as sub:
        (host / "in" / "sub").rename(host / "in" / "moved")
        (host / "in" / "sub").symlink_to(host / "in2")
        file = open_place(tree, deep, 0, 0)
        assert file.read(10) == b"deep"
        file.close()
        (host / "in" / "moved" / "deep").unlink()
        (host / "in" / "moved" / "deep").symlink_to(host / "secret")
        for place in (deep, sub):
            with pytest.raises(CallError) as refused:
                open_place(tree, place, 0, 0)
            assert refused.value.code in (ENOTDIR, ELOOP)


def test_the_grant_stays_the_same_folder_when_the_host_renames_it(guest: Guest, host: Path):
    (host / "in").rename(host / "old")
    (host / "in").symlink_to("in2")
    assert reads(guest, "/data/file") == b"content"
    assert reads(guest, "/data/secret") == ENOENT


def test_renaming_a_link_over_a_name_moves_the_link_itself(guest: Guest, host: Path):
    (host / "in" / "link").symlink_to("../secret")
    assert guest.rename("/data/link", "/data/file") == 0
    assert reads(guest, "/data/file") == ENOENT
    assert guest.rename("/data/sub/deep", "/data/file") == 0
    assert reads(guest, "/data/file") == b"deep"
    assert (host / "secret").read_bytes() == SECRET
    assert guest.rename("/data/file", "/data/../in2/file") == ENOENT
    assert guest.rename("/data/sub", "/data/../gone") == EACCES


def test_the_granted_folder_itself_stays(guest: Guest, host: Path):
    assert guest.unlink("/data", REMOVEDIR) == EBUSY
    assert guest.rename("/data", "/data/sub/x") == EBUSY
    assert guest.rename("/data/sub", "/data") == EBUSY
    assert guest.mkdir("/data") == EEXIST
    assert (host / "in").is_dir()


def test_only_regular_files_and_folders_open(guest: Guest, host: Path):
    """A pipe would stop rvsim until somebody writes to it."""
    os.mkfifo(host / "in" / "pipe")
    assert guest.open("/data/pipe") == EACCES
    assert guest.open("/data/pipe", WRONLY) < 0
    if os.path.exists("/dev/null"):
        assert reads(Guest(dirs=[Grant("/dev", "/d")]), "/d/null") == EACCES


def test_names_with_odd_bytes(guest: Guest, host: Path):
    assert guest.open(b"/data/" + b"x" * 300) == ENAMETOOLONG
    assert guest.open(b"/data" + b"/." * 3000) == ENAMETOOLONG
    assert guest.open(b"") == ENOENT
    assert guest.open(b"/data/\xff\xfe\n", CREAT | WRONLY) >= 0
    assert os.listdir(os.fsencode(host / "in")).count(b"\xff\xfe\n") == 1


PIECES = ["..", ".", "", "data", "sub", "file", "deep", "up", "root", "loop", "secret", "etc"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(["/", "", "/data/"]))
def test_no_path_reads_what_is_outside(host: Path, pieces: list[str], start: str):
    for name, target in (("up", ".."), ("root", "/"), ("loop", "sub/../..")):
        if not (host / "in" / name).is_symlink():
            (host / "in" / name).symlink_to(target)
    guest = Guest(dirs=[Grant(str(host / "in"), "/data")])
    content = reads(guest, start + "/".join(pieces))
    assert content in (EACCES, ENOENT, ENOTDIR, EISDIR, ELOOP, b"content", b"deep")
    guest.process.close()


# Reading only


def test_a_grant_to_read_refuses_every_change(host: Path):
    guest = Guest(dirs=[Grant(str(host / "in"), "/data")])
    before = sorted(p.relative_to(host) for p in host.rglob("*"))
    assert guest.open("/data/file", WRONLY) == EROFS
    assert guest.open("/data/file", RDWR) == EROFS
    assert guest.open("/data/file", TRUNC) == EROFS
    assert guest.open("/data/new", CREAT | WRONLY) == EROFS
    assert guest.open("/data/new", CREAT) == EROFS
    assert guest.open("/data/file", CREAT) >= 0
    assert guest.open("/data/absent", WRONLY) == ENOENT
    assert guest.mkdir("/data/new") == EROFS
    assert guest.unlink("/data/file") == EROFS
    assert guest.unlink("/data/sub", REMOVEDIR) == EROFS
    assert guest.rename("/data/file", "/data/new") == EROFS
    assert guest.call(45, guest.text("/data/file"), 0) == EROFS
    assert guest.call(48, AT_FDCWD, guest.text("/data/file"), 2) == EROFS
    assert guest.call(48, AT_FDCWD, guest.text("/data/file"), 4) == 0
    assert sorted(p.relative_to(host) for p in host.rglob("*")) == before
    assert (host / "in" / "file").read_bytes() == b"content"


def test_a_rename_needs_both_folders_to_write(host: Path):
    guest = Guest(
        dirs=[Grant(str(host / "in"), "/rw", writable=True), Grant(str(host / "in2"), "/ro")]
    )
    assert guest.rename("/rw/file", "/ro/file") == EROFS
    assert guest.rename("/ro/secret", "/rw/secret") == EROFS


def test_nothing_moves_from_one_grant_to_another(host: Path):
    """As between two mounts of Linux; programs copy instead."""
    guest = Guest(
        dirs=[
            Grant(str(host / "in"), "/a", writable=True),
            Grant(str(host / "in2"), "/b", writable=True),
        ]
    )
    assert guest.rename("/a/file", "/b/file") == EXDEV
    assert guest.rename("/a/file", "/a/sub/file") == 0


# What lies above a grant


def test_folders_above_a_grant_show_what_the_guest_may_see(guest: Guest):
    assert guest.stat("/") == 0
    assert guest.memory.load4(DATA + PAGE + 16) & 0o170000 == 0o040000
    assert listed(guest, "/") == ["data", "dev", "proc", "sys"]
    assert guest.readlink("/data") == EINVAL
    assert guest.readlink("/") == EINVAL
    assert guest.mkdir("/other") == EACCES
    assert guest.call(49, guest.text("/")) == 0
    assert reads(guest, "data/file") == b"content"


# A system root


def test_a_sysroots_files_stand_for_absolute_paths(host: Path):
    (host / "root" / "lib").mkdir(parents=True)
    (host / "root" / "lib" / "libx.so.1.2").write_bytes(b"library")
    (host / "root" / "lib" / "libx.so.1").symlink_to("/lib/libx.so.1.2")
    (host / "root" / "lib64").symlink_to("lib")
    (host / "root" / "out").symlink_to("../secret")
    guest = Guest(sysroot=str(host / "root"), dirs=[Grant(str(host / "in"), "/data")])
    assert reads(guest, "/lib/libx.so.1") == b"library"
    assert reads(guest, "/lib64/libx.so.1") == b"library"
    assert reads(guest, "/data/file") == b"content"
    assert reads(guest, "/out") == ENOENT
    assert reads(guest, "/etc/passwd") == ENOENT
    assert guest.open("/lib/new", CREAT | WRONLY) in (EROFS, EACCES)
    assert guest.open("/lib/libx.so.1", WRONLY) == EROFS


def test_what_a_sysroot_lacks_comes_from_a_grant_of_the_whole_tree(host: Path):
    (host / "root").mkdir()
    (host / "root" / "file").write_bytes(b"sysroot's")
    guest = Guest(sysroot=str(host / "root"), dirs=[Grant(str(host / "in"), "/")])
    assert reads(guest, "/file") == b"sysroot's"
    assert reads(guest, "/sub/deep") == b"deep"
    assert reads(guest, "/absent") == ENOENT
