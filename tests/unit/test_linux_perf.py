"""`perf_event_open`: what it counts, how it is read, and what Linux refuses."""

from __future__ import annotations

import itertools
import struct

import pytest

from rvsim.guest.linux.errno import (
    E2BIG,
    EACCES,
    EBADF,
    EFAULT,
    EINVAL,
    ENODEV,
    ENOENT,
    ENOSPC,
    ENOTTY,
    EOPNOTSUPP,
    ESRCH,
)
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import DATA, HEAP, PRIVATE, SHARED, Guest

OUT = DATA + PAGE
HARDWARE, SOFTWARE = 0, 1
DISABLED, INHERIT, PINNED = 1, 2, 4
EXCLUDE_USER, EXCLUDE_KERNEL, FREQUENCY = 0x10, 0x20, 0x400
ENABLED, RUNNING, ID, GROUP = 1, 2, 4, 8
ENABLE, DISABLE, REFRESH, RESET, TELL_ID = 0x2400, 0x2401, 0x2402, 0x2403, 0x80082407


class Counted:
    """A guest whose cycles and instructions a test sets; its clock is the cycles in ns."""

    def __init__(self, *, user_counters: bool = True) -> None:
        self.cycles, self.instructions = 1000, 500
        self.guest = Guest(
            now_ns=lambda: self.cycles,
            counters={"cycles": lambda: self.cycles, "instructions": lambda: self.instructions},
            user_counters=user_counters,
        )

    def open(
        self,
        config: int = 0,
        kind: int = HARDWARE,
        *,
        group: int = -1,
        options: int = EXCLUDE_KERNEL,
        form: int = 0,
        period: int = 0,
        size: int = 112,
        pid: int = 0,
        cpu: int = -1,
        flags: int = 0,
        tail: bytes = b"",
    ) -> int:
        content = struct.pack("<IIQQQQQ", kind, size, config, period, 0, form, options)
        self.guest.memory.write(DATA, content.ljust(max(size, 64), b"\0") + tail)
        return self.guest.call(241, DATA, pid, cpu, group, flags)

    def read(self, fd: int, count: int = 256) -> list[int]:
        content = self.guest.read(fd, count)
        assert isinstance(content, bytes)
        return list(struct.unpack(f"<{len(content) // 8}Q", content))

    def control(self, fd: int, request: int, argument: int = 0) -> int:
        return self.guest.call(29, fd, request, argument)

    def run(self, cycles: int, instructions: int = 0) -> None:
        self.cycles += cycles
        self.instructions += instructions


@pytest.fixture
def counted() -> Counted:
    return Counted()


# Counting


def test_cycles_and_instructions_are_counted_while_enabled(counted: Counted):
    cycles = counted.open(0, options=EXCLUDE_KERNEL | DISABLED, form=ENABLED | RUNNING)
    instructions = counted.open(1)
    counted.run(100, 60)
    assert counted.read(cycles) == [0, 0, 0]
    assert counted.read(instructions) == [60]
    assert counted.control(cycles, ENABLE) == 0
    counted.run(10, 7)
    assert counted.read(cycles) == [10, 10, 10]
    assert counted.control(cycles, ENABLE) == 0  # it runs already
    counted.run(10, 7)
    assert counted.control(cycles, DISABLE) == 0
    counted.run(1000, 700)
    assert counted.read(cycles) == [20, 20, 20]
    assert counted.read(instructions) == [774]
    assert counted.control(instructions, RESET) == counted.control(cycles, RESET) == 0
    assert counted.read(cycles) == [0, 20, 20]  # the times stay
    counted.run(5, 3)
    assert counted.read(instructions) == [3]


def test_software_events_are_time_and_what_never_happens(counted: Counted):
    events = [counted.open(config, SOFTWARE) for config in range(10)]
    counted.run(123)
    assert [counted.read(fd) for fd in events] == [[123], [123]] + [[0]] * 8


def test_what_excludes_user_mode_counts_nothing(counted: Counted):
    fd = counted.open(options=EXCLUDE_KERNEL | EXCLUDE_USER)
    counted.run(100)
    assert counted.read(fd) == [0]


# Groups


def test_a_group_runs_with_its_leader_and_is_read_at_once(counted: Counted):
    form = GROUP | ENABLED | RUNNING | ID
    leader = counted.open(0, options=EXCLUDE_KERNEL | DISABLED, form=form)
    member = counted.open(1, group=leader, form=ID)
    stopped = counted.open(1, group=leader, options=EXCLUDE_KERNEL | DISABLED)
    counted.run(50, 40)
    assert counted.control(leader, ENABLE) == 0
    counted.run(10, 4)
    assert counted.read(leader) == [3, 10, 10, 10, 1, 4, 2, 0, 3]
    assert counted.read(member) == [4, 2]
    assert counted.control(stopped, ENABLE) == 0
    counted.run(1, 2)
    assert counted.control(member, DISABLE, 1) == 0  # the flag means the group
    counted.run(500, 500)
    assert counted.read(leader) == [3, 11, 11, 11, 1, 6, 2, 2, 3]
    assert counted.control(leader, RESET, 1) == 0
    assert counted.read(leader)[3::2] == [0, 0, 0]


def test_members_of_a_leader_that_is_closed_count_on_alone(counted: Counted):
    leader = counted.open(0, options=EXCLUDE_KERNEL | DISABLED)
    member = counted.open(1, group=leader, form=GROUP)
    counted.run(5, 5)
    assert counted.read(member) == [2, 0, 0]
    assert counted.guest.call(57, leader) == 0
    counted.run(5, 5)
    assert counted.read(member) == [1, 5]
    second = counted.open(1, group=member)
    assert counted.guest.call(57, second) == 0
    assert counted.read(member) == [1, 5]


# Reading and control


def test_every_format_has_its_fields(counted: Counted):
    """perf_event_open(2): value, times, id, lost; of a group the number, times, then pairs."""
    for bits in itertools.product((0, 1), repeat=5):
        enabled, running, number, group, lost = bits
        form = sum(bit << i for i, bit in enumerate(bits))
        fd = counted.open(form=form)
        counted.run(7)
        words = counted.read(fd)
        assert len(words) == group + 1 + enabled + running + number + lost
        assert words[group + (enabled + running if group else 0)] == 7
        assert counted.guest.read(fd, 8 * len(words) - 1) == ENOSPC
        assert counted.guest.call(57, fd) == 0


def test_control_tells_the_id_and_refuses_the_rest(counted: Counted):
    fd, other = counted.open(form=ID), counted.open()
    assert counted.control(fd, TELL_ID, OUT) == 0
    assert counted.guest.memory.load8(OUT) == counted.read(fd)[1]
    assert counted.control(other, TELL_ID, OUT) == 0
    assert counted.guest.memory.load8(OUT) != counted.read(fd)[1]
    assert counted.control(fd, TELL_ID, 8) == EFAULT
    assert counted.control(fd, REFRESH, 1) == EINVAL
    assert counted.control(fd, 0x5401, OUT) == ENOTTY
    assert counted.guest.put(fd, b"x") == EBADF
    assert counted.guest.readlink(f"/proc/self/fd/{fd}") == b"anon_inode:[perf_event]"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"options": 0}, EACCES),
        ({"kind": SOFTWARE, "options": 0}, EACCES),
        ({"pid": -1}, EINVAL),
        ({"pid": -1, "cpu": 0}, EACCES),
        ({"pid": 77}, ESRCH),
        ({"cpu": 1}, ENODEV),
        ({"flags": 16}, EINVAL),
        ({"flags": 4}, EINVAL),
        ({"form": 32}, EINVAL),
        ({"form": GROUP, "options": EXCLUDE_KERNEL | INHERIT}, EINVAL),
        ({"config": 3}, ENOENT),  # cache misses: the model has no such counter
        ({"config": 99}, ENOENT),
        ({"kind": SOFTWARE, "config": 99}, ENOENT),
        ({"kind": 3}, ENOENT),
        ({"kind": 4}, ENOENT),
        ({"kind": 77}, ENOENT),
        ({"group": 1}, EBADF),
        ({"group": 99}, EBADF),
        ({"size": 32}, E2BIG),
        ({"size": 8192}, E2BIG),
        ({"period": 1000}, EOPNOTSUPP),
        ({"period": 1000, "options": EXCLUDE_KERNEL | FREQUENCY}, EOPNOTSUPP),
    ],
)
def test_what_linux_or_the_model_refuses(counted: Counted, wrong: dict[str, int], error: int):
    assert counted.open(**wrong) == error
    sampling = ["perf_event_open: sampling is not modelled, events only count"]
    assert counted.guest.notes == (sampling if error == EOPNOTSUPP else [])


def test_attributes_of_another_size(counted: Counted):
    assert counted.open(size=0) >= 0
    assert counted.open(size=64) >= 0
    assert counted.open(size=136) >= 0
    assert counted.open(size=200) >= 0  # newer fields that are 0
    guest = counted.guest
    guest.memory.write(DATA, struct.pack("<IIQQQQQ", 0, 200, 0, 0, 0, 0, EXCLUDE_KERNEL))
    guest.memory.store1(DATA + 180, 1)
    assert guest.call(241, DATA, 0, -1, -1, 0) == E2BIG
    assert guest.memory.load4(DATA + 4) == 136
    assert guest.call(241, HEAP - 8, 0, -1, -1, 0) == EFAULT


def test_groups_do_not_nest(counted: Counted):
    leader = counted.open()
    member = counted.open(group=leader)
    assert counted.open(group=member) == EINVAL
    assert counted.open(group=leader, options=EXCLUDE_KERNEL | PINNED) == EINVAL
    assert counted.open(group=leader, flags=1) >= 0  # PERF_FLAG_FD_NO_GROUP
    assert counted.open(flags=8) >= 0


# The page for user mode


def page_of(counted: Counted, addr: int) -> tuple[int, int, int, int]:
    """Index, offset, capabilities and width, by their places in the kernel's header."""
    memory = counted.guest.memory
    index, offset = struct.unpack("<Iq", memory.read(addr + 12, 12))
    return index, offset, memory.load8(addr + 40), memory.load2(addr + 48)


def shown(counted: Counted, fd: int) -> int:
    return counted.guest.mmap(length=PAGE, prot=1, flags=SHARED, fd=fd)


@pytest.mark.parametrize(("config", "index"), [(0, 1), (1, 3)])
def test_user_mode_counts_with_the_page(counted: Counted, config: int, index: int):
    """The count is the CSR cycle + index - 1, and the offset."""
    fd = counted.open(config)
    counted.run(100, 100)

    def csr() -> int:
        return counted.cycles if index == 1 else counted.instructions

    addr = shown(counted, fd)
    assert page_of(counted, addr) == (index, counted.read(fd)[0] - csr(), 6, 64)
    counted.run(17, 17)
    assert csr() + page_of(counted, addr)[1] == counted.read(fd)[0] == 117
    counted.control(fd, RESET)
    counted.run(2, 2)
    assert csr() + page_of(counted, addr)[1] == counted.read(fd)[0] == 2
    counted.control(fd, DISABLE)
    counted.run(50, 50)
    assert page_of(counted, addr) == (0, 2, 6, 64)
    assert counted.guest.memory.load8(addr + 24) == counted.guest.memory.load8(addr + 32)


@pytest.mark.parametrize(("allowed", "kind"), [(False, HARDWARE), (True, SOFTWARE)])
def test_where_user_mode_may_not_read_the_page_says_so(allowed: bool, kind: int):
    counted = Counted(user_counters=allowed)
    fd = counted.open(0, kind)
    addr = shown(counted, fd)
    counted.run(9)
    counted.control(fd, DISABLE)
    assert page_of(counted, addr) == (0, 9, 2, 0)


def test_a_page_that_was_unmapped_or_moved_is_left_alone(counted: Counted):
    guest = counted.guest
    fd = counted.open()
    addr = shown(counted, fd)
    guest.munmap(addr, PAGE)
    assert guest.mmap(addr, PAGE) == addr
    counted.control(fd, DISABLE)
    assert guest.memory.read(addr, PAGE) == bytes(PAGE)
    second = shown(counted, fd)
    moved = guest.call(216, second, PAGE, PAGE, 3, 0x300000)
    counted.run(5)
    counted.control(fd, ENABLE)
    assert page_of(counted, moved)[0] == 1
    assert any(
        "[perf_event]" in line and line.startswith(f"{moved:08x}")
        for line in read_text(guest, "/proc/self/maps").splitlines()
    )


def read_text(guest: Guest, path: str) -> str:
    content = guest.read(guest.open(path), 4000)
    assert isinstance(content, bytes)
    return content.decode()


def test_what_can_be_mapped(counted: Counted):
    guest = counted.guest
    fd = counted.open()
    assert guest.mmap(length=PAGE, prot=1, flags=PRIVATE, fd=fd) == EINVAL
    assert guest.mmap(length=PAGE, prot=1, flags=SHARED, fd=fd, offset=PAGE) == EINVAL
    assert guest.mmap(length=4 * PAGE, prot=3, flags=SHARED, fd=fd) == EINVAL
    assert guest.mmap(length=5 * PAGE, prot=3, flags=SHARED, fd=fd) > 0
