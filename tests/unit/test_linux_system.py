"""Identity, limits, random bytes, extensions, clocks, threads, moved mappings."""

from __future__ import annotations

import struct
import time

import pytest

from rvsim.config import Config
from rvsim.guest.linux import BlockedForEver, hwprobe
from rvsim.guest.linux.errno import (
    EAGAIN,
    EFAULT,
    EINVAL,
    ENOMEM,
    ENOSYS,
    EOPNOTSUPP,
    EPERM,
    ESRCH,
    ETIMEDOUT,
)
from rvsim.hart.memory import MAPPED, PAGE, GuestFault, R, W
from rvsim.profiles import make_config, profile
from tests.unit.linux_guest import DATA, SIZE, Guest

OUT = DATA + PAGE
SECOND = 1_000_000_000


@pytest.fixture
def guest() -> Guest:
    return Guest()


# Identity and limits


def test_ids_are_the_same_everywhere(guest: Guest):
    assert [guest.call(n) for n in (172, 178, 155, 156)] == [1000] * 4
    assert guest.call(173) == 1
    assert [guest.call(n) for n in (174, 175, 176, 177)] == [1000] * 4
    assert guest.call(155, 5) == ESRCH


def test_uname_tells_a_fixed_kernel(guest: Guest):
    assert guest.call(160, OUT) == 0
    fields = [guest.memory.read_cstring(OUT + 65 * i) for i in range(6)]
    assert fields[0] == b"Linux"
    assert fields[2] == b"6.6.0"
    assert fields[4] == b"riscv64"
    assert guest.call(160, 8) == EFAULT


def test_limits_are_told_and_taken(guest: Guest):
    assert guest.call(261, 0, 3, 0, OUT) == 0
    assert guest.memory.load8(OUT) == 8 << 20
    assert guest.call(163, 7, OUT) == 0
    assert struct.unpack("<QQ", guest.memory.read(OUT, 16)) == (1024, 1024)
    guest.memory.write(DATA, struct.pack("<QQ", 100, 200))
    assert guest.call(261, 1000, 7, DATA, OUT) == 0
    assert guest.memory.load8(OUT) == 1024
    assert guest.call(164, 3, DATA) == 0
    assert guest.call(163, 3, OUT) == 0
    assert guest.memory.load8(OUT) == 100
    guest.memory.write(DATA, struct.pack("<QQ", 5000, 5000))
    assert guest.call(164, 7, DATA) == EPERM
    guest.memory.write(DATA, struct.pack("<QQ", 2, 1))
    assert guest.call(164, 7, DATA) == EINVAL
    assert guest.call(261, 0, 16, 0, OUT) == EINVAL
    assert guest.call(261, 5, 3, 0, OUT) == ESRCH


def test_random_bytes_are_the_same_in_each_run():
    def draw() -> bytes:
        guest = Guest()
        assert guest.call(278, OUT, 40, 1) == 40
        assert guest.call(278, OUT + 40, 40, 0) == 40
        return guest.memory.read(OUT, 80)

    first = draw()
    assert first == draw()
    assert first[:40] != first[40:]
    guest = Guest()
    assert guest.call(278, OUT, 1, 8) == EINVAL
    assert guest.call(278, 8, 1, 0) == EFAULT
    addr = guest.mmap(length=3 << 20)
    assert guest.call(278, addr, 3 << 20, 0) == 3 << 20
    assert guest.memory.read(addr + (2 << 20), 64) != bytes(64)


def test_the_threads_name_is_kept(guest: Guest):
    assert guest.call(167, 16, OUT) == 0
    assert guest.memory.read_cstring(OUT) == b"prog.elf"
    assert guest.call(167, 15, guest.text("a name that is too long")) == 0
    assert guest.call(167, 16, OUT) == 0
    assert guest.memory.read_cstring(OUT) == b"a name that is "
    assert guest.call(167, 99, OUT) == EINVAL


def test_sysinfo_tells_the_guests_memory(guest: Guest):
    assert guest.call(179, OUT) == 0
    assert guest.memory.load8(OUT + 32) == SIZE
    assert guest.memory.load2(OUT + 80) == 1
    assert guest.memory.load4(OUT + 104) == 1


# riscv_hwprobe


def probe(guest: Guest, *keys: int, arguments: tuple[int, ...] = (0, 0, 0)) -> list[tuple]:
    guest.memory.write(OUT, b"".join(struct.pack("<qQ", key, 99) for key in keys))
    assert guest.call(258, OUT, len(keys), *arguments) == 0
    return [struct.unpack("<qQ", guest.memory.read(OUT + 16 * i, 16)) for i in range(len(keys))]


def test_hwprobe_tells_what_the_x60_has():
    guest = Guest(
        probe=hwprobe(make_config(), facts=profile("spacemit-x60").linux, memory_size=SIZE)
    )
    pairs = dict(probe(guest, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12))
    assert (pairs[0], pairs[1]) == (0x710, 0x8000000058000001)
    assert pairs[3] == 1
    assert pairs[4] & 0x7F == 0x7F  # F and D, C, V, Zba, Zbb, Zbs, Zicboz
    has = {name: pairs[4] >> at & 1 for name, at in {"zbc": 7, "zbkx": 10, "zkt": 16}.items()}
    assert has == {"zbc": 1, "zbkx": 0, "zkt": 1}
    assert pairs[4] >> 17 & 1 == 0  # Zvbb
    assert pairs[4] >> 30 & 3 == 3  # Zvfh, Zvfhmin
    assert pairs[4] >> 35 & 1 == 1  # Zicond
    assert pairs[4] >> 37 & 31 == 31  # Zve32x to Zve64d
    assert (pairs[5], pairs[6], pairs[7], pairs[8]) == (3, 64, SIZE - 1, 24_000_000)
    assert (pairs[9], pairs[10], pairs[12]) == (3, 4, 64)


def test_hwprobe_follows_the_profile():
    plain = hwprobe(Config(frozenset("ima")))
    assert (plain[3], plain[4], plain[6], plain[10]) == (1, 0, 0, 4)
    assert 12 not in plain
    generic = hwprobe(make_config("generic-rv64gcv"))
    assert (generic[0], generic[10]) == (0, 3)


def test_hwprobe_marks_unknown_keys_and_checks_its_arguments(guest: Guest):
    guest = Guest(probe=hwprobe(make_config()))
    assert probe(guest, 4, 99, -1, 3)[1:] == [(-1, 0), (-1, 0), (3, 1)]
    guest.memory.write(DATA, bytes([1]))
    assert probe(guest, 3, arguments=(8, DATA, 0)) == [(3, 1)]
    guest.memory.write(DATA, bytes([2]))
    assert guest.call(258, OUT, 1, 8, DATA, 0) == EINVAL
    assert guest.call(258, OUT, 1, 0, 0, 1) == EINVAL
    assert guest.call(258, 8, 1, 0, 0, 0) == EFAULT


def test_flushing_the_instruction_cache_succeeds(guest: Guest):
    assert guest.call(259, 0, 0, 0) == 0
    assert guest.call(259, 0, 0, 1) == 0
    assert guest.call(259, 0, 0, 2) == EINVAL


# Clocks


def test_sleeping_sets_the_model_forward(guest: Guest):
    guest = Guest(now_ns=lambda: 500)
    guest.memory.write(DATA, struct.pack("<qq", 2, 7))
    assert guest.call(101, DATA, 0) == 0
    assert guest.call(115, 1, 0, DATA, 0) == 0
    for clock, expected in ((0, 4 * SECOND + 514), (1, 4 * SECOND + 514), (2, 500)):
        assert guest.call(113, clock, OUT) == 0
        seconds, nanoseconds = struct.unpack("<QQ", guest.memory.read(OUT, 16))
        assert seconds * SECOND + nanoseconds == expected
    guest.memory.write(DATA, struct.pack("<qq", 10, 0))
    assert guest.call(115, 1, 1, DATA, 0) == 0
    assert guest.call(115, 1, 1, DATA, 0) == 0
    assert guest.process.clock.now(1) == 10 * SECOND
    assert guest.call(169, OUT, OUT + 16) == 0
    assert struct.unpack("<QQ", guest.memory.read(OUT, 16)) == (10, 0)
    assert guest.call(153, OUT) == 1000
    assert guest.call(165, 0, OUT) == 0
    assert guest.call(165, 9, OUT) == EINVAL
    assert guest.call(114, 1, OUT) == guest.call(114, 1, 0) == 0
    assert guest.call(114, 99, OUT) == EINVAL


@pytest.mark.parametrize("timespec", [(-1, 0), (0, -1), (0, SECOND), (0, 1 << 62)])
def test_times_that_are_none_are_refused(guest: Guest, timespec: tuple[int, int]):
    guest.memory.write(DATA, struct.pack("<qq", *timespec))
    assert guest.call(101, DATA, 0) == EINVAL
    assert guest.call(115, 1, 0, DATA, 0) == EINVAL
    assert guest.call(101, 8, 0) == EFAULT
    assert guest.call(115, 2, 0, DATA, 0) == EINVAL


def test_host_time_is_the_hosts():
    guest = Guest(host_time=True)
    before = time.time()
    assert guest.call(113, 0, OUT) == 0
    assert before - 1 <= guest.memory.load8(OUT) <= time.time() + 1
    guest.memory.write(DATA, struct.pack("<qq", 0, 20_000_000))
    start = time.monotonic()
    assert guest.call(101, DATA, 0) == 0
    assert time.monotonic() - start >= 0.02


# Threads


def test_an_uncontended_futex_never_waits(guest: Guest):
    guest.memory.store4(OUT, 7)
    assert guest.call(98, OUT, 128, 8, 0) == EAGAIN
    assert guest.call(98, OUT, 129, 1) == 0
    assert guest.call(98, OUT, 10, 1) == 0
    assert guest.call(98, OUT, 5, 1) == ENOSYS
    assert guest.call(98, OUT + 1, 0, 7, 0) == EINVAL
    assert guest.call(98, 8, 0, 7, 0) == EFAULT


def test_waiting_on_a_futex_ends_by_time_or_never(guest: Guest):
    guest.memory.store4(OUT, -5 % (1 << 32))
    guest.memory.write(DATA, struct.pack("<qq", 3, 0))
    assert guest.call(98, OUT, 0, -5, DATA) == ETIMEDOUT
    assert guest.call(98, OUT, 9, -5, DATA) == ETIMEDOUT
    assert guest.process.clock.now(1) == 3 * SECOND
    with pytest.raises(BlockedForEver, match=f"futex {OUT:#x} has no second thread"):
        guest.call(98, OUT, 128, -5, 0)


def test_there_is_one_hart(guest: Guest):
    assert guest.call(123, 0, 128, OUT) == 8
    assert guest.memory.load8(OUT) == 1
    assert guest.call(123, 0, 4, OUT) == EINVAL
    assert guest.call(123, 5, 128, OUT) == ESRCH
    assert guest.call(122, 0, 8, OUT) == 0
    guest.memory.store8(OUT, 2)
    assert guest.call(122, 0, 8, OUT) == EINVAL
    assert guest.call(168, OUT, OUT + 4, 0) == 0
    assert guest.memory.load8(OUT) == 0
    assert guest.call(124) == 0


def test_start_up_calls_of_libraries_are_answered(guest: Guest):
    assert guest.call(96, OUT) == 1000
    assert guest.call(99, OUT, 24) == 0
    assert guest.call(99, OUT, 23) == EINVAL
    assert guest.call(293, OUT, 32, 0, 0) == ENOSYS
    assert guest.notes == []


# mremap, madvise, msync


def test_a_mapping_shrinks_and_grows_where_it_is(guest: Guest):
    addr = guest.mmap(0x800000, 4 * PAGE)
    guest.memory.store1(addr, 1)
    assert guest.call(216, addr, 4 * PAGE, PAGE, 0) == addr
    with pytest.raises(GuestFault):
        guest.memory.load1(addr + PAGE)
    assert guest.call(216, addr, PAGE, 2 * PAGE + 1, 0) == addr
    assert guest.memory.load1(addr) == 1
    assert guest.memory.load1(addr + 2 * PAGE) == 0


def test_a_mapping_moves_with_its_bytes_and_permissions(guest: Guest):
    addr = guest.mmap(0x800000, 2 * PAGE)
    guest.mmap(0x802000)
    guest.memory.write(addr, b"first")
    guest.memory.write(addr + PAGE, b"second")
    guest.mprotect(addr, PAGE, 1)
    assert guest.call(216, addr, 2 * PAGE, 4 * PAGE, 0) == ENOMEM
    moved = guest.call(216, addr, 2 * PAGE, 4 * PAGE, 1)
    assert moved > addr
    assert guest.memory.read(moved, 5) == b"first"
    assert guest.memory.read(moved + PAGE, 6) == b"second"
    assert list(guest.memory.perm[moved // PAGE : moved // PAGE + 4]) == [
        MAPPED | R, *[MAPPED | R | W] * 3,
    ]  # fmt: skip
    assert not guest.memory.mapped(addr, 1)
    fixed = guest.call(216, moved, 4 * PAGE, PAGE, 3, 0x900000)
    assert fixed == 0x900000
    assert guest.memory.read(fixed, 5) == b"first"
    assert not guest.memory.mapped(moved, 1)


def test_impossible_moves_answer_their_error(guest: Guest):
    addr = guest.mmap(0x800000, 2 * PAGE)
    assert guest.call(216, addr + 1, PAGE, PAGE, 0) == EINVAL
    assert guest.call(216, addr, PAGE, 0, 0) == EINVAL
    assert guest.call(216, addr, 0, PAGE, 1) == EINVAL
    assert guest.call(216, addr, PAGE, PAGE, 8) == EINVAL
    assert guest.call(216, addr, PAGE, PAGE, 2, 0x900000) == EINVAL
    assert guest.call(216, addr, 2 * PAGE, 2 * PAGE, 3, addr + PAGE) == EINVAL
    assert guest.call(216, addr, 2 * PAGE, 2 * PAGE, 3, 0) == EPERM
    assert guest.call(216, addr, 9 * PAGE, 10 * PAGE, 1) == EFAULT
    assert guest.call(216, addr, 2 * PAGE, SIZE, 1) == ENOMEM
    assert guest.call(216, addr, 1 << 63, 1 << 63, 1) == ENOMEM
    assert guest.memory.mapped(addr, 2 * PAGE)


def test_advice_is_checked(guest: Guest):
    assert guest.call(233, DATA, PAGE, 1) == 0
    assert guest.call(233, DATA + 1, PAGE, 4) == EINVAL
    assert guest.call(233, DATA, 9 * PAGE, 4) == ENOMEM
    assert guest.call(233, DATA, 1 << 63, 4) == ENOMEM
    assert guest.call(233, DATA, PAGE, 9) == EINVAL
    assert guest.call(233, DATA, 0, 4) == 0
    guest.memory.protect(DATA, PAGE, R)
    guest.memory.write(DATA, b"x")
    assert guest.call(233, DATA, PAGE, 4) == 0
    assert guest.memory.load1(DATA) == 0
    assert guest.memory.perm[DATA // PAGE] == MAPPED | R
    assert guest.call(227, DATA, PAGE, 4) == 0
    assert guest.call(227, DATA, 9 * PAGE, 4) == ENOMEM


@pytest.mark.parametrize(
    ("drops", "number", "arguments"),
    [
        (False, 226, (PAGE, 5)),  # mprotect: no longer writable
        (True, 226, (PAGE, 3)),  # mprotect: no longer executable
        (True, 233, (PAGE, 4)),  # madvise: MADV_DONTNEED
        (True, 215, (PAGE,)),  # munmap
        (True, 222, (PAGE, 7, 0x32, -1, 0)),  # mmap: MAP_FIXED
        (True, 216, (PAGE, 2 * PAGE, 3, 0x900000)),  # mremap
        (True, 169, (0,)),  # gettimeofday: a store
    ],
)
def test_calls_that_change_code_drop_what_was_decoded(
    guest: Guest, drops: bool, number: int, arguments: tuple[int, ...]
):
    addr = guest.mmap(0x800000, prot=7)
    dropped: list[int] = []
    guest.memory.code.listeners.append(dropped.append)
    guest.memory.mark_code(addr, 4)
    assert guest.call(number, addr, *arguments) >= 0
    assert dropped == [addr // PAGE] * drops


def test_sleeping_moves_the_time_csr_as_well(guest: Guest):
    guest.memory.write(DATA, struct.pack("<qq", 2, 500_000_000))
    assert guest.call(101, DATA, 0) == 0
    assert guest.state["time_asleep"] == 60_000_000


def test_landlock_is_there_and_off():
    """As in a kernel that was built with it and started without: xz then goes on."""
    assert Guest().call(444, DATA, 8, 0) == EOPNOTSUPP
