"""The files of /proc, /sys and /dev, which the kernel makes from the profile and the process."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rvsim.guest.linux import Cpu, Grant
from rvsim.guest.linux.errno import EACCES, EINVAL, ENODEV, ENOENT, ENOTDIR
from rvsim.guest.linux.grants import FileTree
from rvsim.guest.linux.mappings import Mappings, Span
from rvsim.guest.linux.opening import open_place
from rvsim.guest.linux.system import LIMITS, RLIMIT_SIGPENDING
from rvsim.hart.memory import PAGE, Memory, R, W
from rvsim.machine import Machine
from rvsim.profiles import make_config, profile
from tests.cli.programs import elf, exit_with
from tests.unit.linux_guest import AT_FDCWD, DATA, HEAP, PRIVATE, Guest

OUT = DATA + PAGE
DIRECTORY, WRONLY, RDWR = 0o200000, 1, 2

# As boards print it under Linux 6.6; Zbkc, Zicbop and what is no extension to the kernel are not.
K1_ISA = (
    "rv64imafdcv_zicbom_zicboz_zicntr_zicond_zicsr_zifencei_zihintpause_zihpm_zfh_zfhmin_zca_zcd"
    "_zba_zbb_zbc_zbs_zkt_zve32f_zve32x_zve64d_zve64f_zve64x_zvfh_zvfhmin_zvkt"
    "_sscofpmf_sstc_svinval_svnapot_svpbmt"
)


def cpu(name: str) -> Cpu:
    return Cpu(make_config(name).extensions, profile(name).linux)


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    (tmp_path / "file").write_bytes(b"content")
    return Guest(
        cpu=cpu("spacemit-x60"),
        argv=["prog", "two words"],
        env={"A": "1"},
        dirs=[Grant(str(tmp_path), "/d x", writable=True)],
    )


def text(guest: Guest, path: str) -> str:
    fd = guest.open(path)
    assert fd >= 0, (path, fd)
    content = b""
    while part := guest.read(fd, 1000):
        assert isinstance(part, bytes)
        content += part
    guest.call(57, fd)
    return content.decode()


def fields(guest: Guest, path: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text(guest, path).splitlines() if line)
    return {name.strip(): value.strip() for name, _, value in pairs}


# The processor


def test_cpuinfo_is_the_k1s(guest: Guest):
    assert fields(guest, "/proc/cpuinfo") == {
        "processor": "0",
        "hart": "0",
        "model name": "Spacemit(R) X60",
        "isa": K1_ISA,
        "mmu": "sv39",
        "uarch": "spacemit,x60",
        "mvendorid": "0x710",
        "marchid": "0x8000000058000001",
        "mimpid": "0x1000000049772200",
    }


def test_another_profile_has_its_own_values():
    found = fields(Guest(cpu=cpu("generic-rv64gcv")), "/proc/cpuinfo")
    assert found["mvendorid"] == found["marchid"] == "0x0"
    assert found["uarch"] == "rvsim,generic-rv64gcv"
    assert "model name" not in found
    assert "_zvbb" in found["isa"]
    assert "_sstc" not in found["isa"]


def test_one_hart_is_there(guest: Guest):
    cpus = "/sys/devices/system/cpu"
    for name in ("online", "possible", "present", "cpu0/topology/core_id"):
        assert text(guest, f"{cpus}/{name}") == "0\n"
    assert text(guest, f"{cpus}/kernel_max") == "63\n"
    assert text(guest, f"{cpus}/offline") == "\n"
    assert guest.stat(f"{cpus}/cpu1") == ENOENT
    names = [name for name, _ in guest.entries(guest.open(cpus, DIRECTORY))]
    assert {"cpu0", "online"} < set(names)
    assert names == sorted(names)
    assert text(guest, "/proc/self/status").count("Cpus_allowed_list:\t0\n") == 1
    assert len([n for n in text(guest, "/proc/stat").splitlines() if n.startswith("cpu")]) == 2


def test_the_caches_are_the_k1s():
    """As the device tree of Linux has them: 32 KiB of 4 ways each, 512 KiB of 16 ways."""
    machine = Machine(vlen=256)
    machine.load(elf(exit_with(0)))
    assert machine.process is not None
    tree, found = machine.process.tree, []
    for index in range(3):
        names = ("level", "type", "size", "ways_of_associativity", "number_of_sets")
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
        found.append([content(tree, f"{folder}/{name}") for name in names])
    assert found == [
        ["1", "Instruction", "32K", "4", "128"],
        ["1", "Data", "32K", "4", "128"],
        ["2", "Unified", "512K", "16", "512"],
    ]


def content(tree: FileTree, path: str) -> str:
    with tree.find(path.encode()) as place:
        file = open_place(tree, place, 0, 0)
    return file.read(100).decode().strip()


def test_unknown_caches_are_not_there():
    guest = Guest(cpu=cpu("generic-rv64gcv"))
    assert guest.stat("/sys/devices/system/cpu/cpu0/cache") == ENOENT
    assert guest.stat("/sys/devices/system/cpu/cpu0/topology") == 0


# The process


def test_the_auxiliary_vector_is_the_stacks(guest: Guest):
    fd = guest.open("/proc/self/auxv")
    vector = guest.read(fd, 4096)
    addr = guest.state.x[2]
    while guest.memory.load8(addr) or guest.memory.load8(addr - 8):  # the two lists end with 0
        addr += 8
    at = addr
    zeros = 0
    at = guest.state.x[2] + 8
    while zeros < 2:
        zeros += guest.memory.load8(at) == 0
        at += 8
    assert isinstance(vector, bytes)
    assert vector == guest.memory.read(at, len(vector))
    assert struct.unpack_from("<QQ", vector, len(vector) - 16) == (0, 0)


def test_the_process_describes_itself(guest: Guest):
    assert text(guest, "/proc/self/cmdline") == "prog\0two words\0"
    assert text(guest, "/proc/1000/environ") == "A=1\0"
    assert text(guest, "/proc/self/comm") == "prog.elf\n"
    status = fields(guest, "/proc/self/status")
    assert (status["Pid"], status["PPid"], status["Threads"]) == ("1000", "1", "1")
    numbers = text(guest, "/proc/self/stat").split()
    assert len(numbers) == 52
    assert numbers[:4] == ["1000", "(prog.elf)", "R", "1"]
    assert int(numbers[23]) == int(text(guest, "/proc/self/statm").split()[0])
    assert numbers[47] == str(guest.process.started.arguments.start)
    assert text(guest, "/proc/self/task/1000/comm") == "prog.elf\n"


def test_what_was_set_shows(guest: Guest):
    guest.call(166, 0o77)
    guest.memory.write(DATA, struct.pack("<QQQ", 0x30000, 0, 0))
    guest.call(134, 10, DATA, 0, 8)
    guest.memory.write(DATA, struct.pack("<QQQ", 1, 0, 0))
    guest.call(134, 13, DATA, 0, 8)
    guest.memory.write(DATA, struct.pack("<Q", 1 << 14))
    guest.call(135, 0, DATA, 0, 8)
    guest.call(129, 1000, 15)
    status = fields(guest, "/proc/self/status")
    assert status["Umask"] == "0077"
    assert int(status["SigCgt"], 16) == 1 << 9
    assert int(status["SigIgn"], 16) == 1 << 12
    assert int(status["SigBlk"], 16) == int(status["ShdPnd"], 16) == 1 << 14
    assert status["SigQ"] == f"1/{LIMITS[RLIMIT_SIGPENDING][0]}"
    assert text(guest, "/proc/self/mounts").splitlines()[-1] == "grant /d\\040x grant rw 0 0"


def test_maps_follow_the_mappings(guest: Guest):
    def lines() -> list[str]:
        return [" ".join(line.split()) for line in text(guest, "/proc/self/maps").splitlines()]

    stack = guest.process.stack
    assert f"{stack.guard + PAGE:08x}-{stack.top:08x} rw-p 00000000 00:00 0 [stack]" in lines()
    assert f"{DATA:08x}-{HEAP:08x} rw-p 00000000 00:00 0" in lines()
    guest.brk(HEAP + PAGE + 5)
    assert f"{HEAP:08x}-{HEAP + 2 * PAGE:08x} rw-p 00000000 00:00 0 [heap]" in lines()
    fd = guest.open("/d x/file")
    inode = struct.unpack("<QQ", stat_of(guest, fd)[:16])[1]
    addr = guest.mmap(0x200000, PAGE, 1, PRIVATE, fd, 0)
    assert f"{addr:08x}-{addr + PAGE:08x} r--p 00000000 00:01 {inode} /d x/file" in lines()
    guest.mprotect(addr, PAGE, 0)
    assert f"{addr:08x}-{addr + PAGE:08x} ---p 00000000 00:01 {inode} /d x/file" in lines()
    guest.munmap(addr, PAGE)
    assert not any(line.endswith("/d x/file") for line in lines())


def stat_of(guest: Guest, fd: int) -> bytes:
    assert guest.call(80, fd, OUT) == 0
    return guest.memory.read(OUT, 128)


def test_spans_are_cut_moved_and_forgotten():
    """Against a model: what each page shows."""
    memory = Memory(64 * PAGE)
    memory.map(16 * PAGE, 32 * PAGE, R | W)
    memory.protect(20 * PAGE, PAGE, R)
    mappings = Mappings()

    def shown() -> list[tuple[int, int, bytes, int]]:
        spans = mappings.spans(memory)
        return [(s.start // PAGE, s.end // PAGE, s.name, s.offset // PAGE) for s in spans]

    def show(first: int, stop: int, name: bytes, offset: int) -> None:
        mappings.show(Span(first * PAGE, stop * PAGE, name, offset * PAGE, inode=7))

    show(18, 30, b"a", 2)
    show(22, 24, b"b", 0)
    assert shown() == [
        (16, 18, b"", 0), (18, 20, b"a", 2), (20, 21, b"a", 4), (21, 22, b"a", 5),
        (22, 24, b"b", 0), (24, 30, b"a", 8), (30, 48, b"", 0),
    ]  # fmt: skip
    mappings.move(21 * PAGE, 25 * PAGE, 40 * PAGE)
    mappings.forget(17 * PAGE, 29 * PAGE)
    assert shown() == [
        (16, 20, b"", 0), (20, 21, b"", 0), (21, 29, b"", 0), (29, 30, b"a", 13), (30, 40, b"", 0),
        (40, 41, b"a", 5), (41, 43, b"b", 0), (43, 44, b"a", 8), (44, 48, b"", 0),
    ]  # fmt: skip


# As files


def test_descriptors_are_links_to_what_is_open(guest: Guest):
    fd = guest.open("/d x/file")
    assert guest.readlink(f"/proc/self/fd/{fd}") == b"/d x/file"
    assert guest.readlink("/proc/self/fd/1") == b"pipe:[1]"
    guest.rename("/d x/file", "/d x/moved")
    guest.memory.write(DATA, b"x")
    again = guest.open(f"/proc/self/fd/{fd}", RDWR)
    assert guest.read(again) == b"content"
    assert guest.open("/dev/stdout", WRONLY) >= 0
    assert guest.put(guest.open("/dev/fd/1", WRONLY), b"said") == 4
    assert guest.out == [b"said"]
    assert guest.open("/dev/stdout") == EACCES
    assert guest.readlink("/proc/self") == b"1000"
    names = [name for name, _ in guest.entries(guest.open("/proc/self/fd", DIRECTORY))]
    assert {"0", "1", "2", str(fd)} < set(names)


def test_a_descriptor_of_a_grant_to_read_is_not_opened_to_write(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"content")
    guest = Guest(dirs=[Grant(str(tmp_path), "/d")])
    fd = guest.open("/d/file")
    for flags in (WRONLY, RDWR, 0o1000):
        assert guest.open(f"/proc/self/fd/{fd}", flags) == -30  # EROFS
    assert (tmp_path / "file").read_bytes() == b"content"


def test_they_are_read_anew_from_their_start(guest: Guest):
    fd = guest.open("/proc/self/comm")
    assert guest.read(fd, 4) == b"prog"
    guest.call(167, 15, guest.text("new"))
    assert guest.read(fd) == b".elf\n"
    assert guest.read(fd) == b""
    assert guest.call(62, fd, 0, 0) == 0
    assert guest.read(fd) == b"new\n"
    assert guest.call(62, fd, -1, 0) == EINVAL
    assert guest.mmap(fd=fd, flags=PRIVATE, prot=1) == ENODEV


def test_nobody_changes_them(guest: Guest):
    for path in ("/proc/cpuinfo", "/sys/devices/system/cpu/online"):
        assert guest.open(path, WRONLY) == EACCES
        assert guest.unlink(path) == EACCES
        assert guest.rename(path, "/d x/mine") == EACCES
        assert guest.call(48, AT_FDCWD, guest.text(path), 2) == EACCES
        assert guest.call(48, AT_FDCWD, guest.text(path), 4) == 0
        assert guest.stat(path) == 0
        assert struct.unpack_from("<III", guest.memory.read(OUT + 16, 12))[2] == 0  # the owner
        assert guest.open(f"{path}/x") == ENOTDIR


def test_a_grant_of_everything_leaves_the_kernels_files(tmp_path: Path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_bytes(b"the host's")
    (tmp_path / "proc" / "other").write_bytes(b"the host's")
    whole = Guest(dirs=[Grant(str(tmp_path), "/")])
    assert text(whole, "/proc/cpuinfo").startswith("processor\t: 0\n")
    assert whole.stat("/proc/other") == ENOENT
    one = Guest(dirs=[Grant(str(tmp_path / "proc"), "/proc")])
    assert text(one, "/proc/cpuinfo").startswith("processor\t: 0\n")
    assert text(one, "/proc/other") == "the host's"
