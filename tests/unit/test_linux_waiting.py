"""Calls that wait or take long: the end of the run, waits without end, signals that come."""

from __future__ import annotations

import io
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from rvsim.guest.linux import BlockedForEver, Grant, ProcessExit
from rvsim.guest.linux.deadline import PART, CutShort
from rvsim.guest.linux.errno import EAGAIN, EFAULT, EINTR, EINVAL, EPIPE
from rvsim.guest.linux.system import MOST_QUEUED_SIGNALS
from rvsim.hart.memory import PAGE
from tests.unit.linux_guest import DATA, HEAP, Guest

OUT = DATA + PAGE
PID = 1000
HANDLER = 0x12340
ALRM, USR1, PIPE, RT = 14, 10, 13, 40
RESTART = 0x1000_0000
LONGEST = (1 << 63) - 1
NONBLOCK = 0o4000
READ, WRITE, PPOLL, NANOSLEEP, SETITIMER = 63, 64, 73, 101, 103


@pytest.fixture
def guest() -> Guest:
    return Guest()


def time_is_over(guest: Guest) -> None:
    guest.process.deadline.at = time.monotonic()


def timespec(guest: Guest, seconds: int, nanoseconds: int = 0) -> int:
    guest.memory.write(OUT, struct.pack("<qq", seconds, nanoseconds))
    return OUT


def handle(guest: Guest, number: int, flags: int = 0) -> None:
    guest.memory.write(DATA, struct.pack("<QQQ", HANDLER, flags, 0))
    assert guest.call(134, number, DATA, 0, 8) == 0


def alarm_after(guest: Guest, microseconds: int, every: int = 0) -> None:
    guest.memory.write(DATA, struct.pack("<4q", 0, every, 0, microseconds))
    assert guest.call(SETITIMER, 0, DATA, 0) == 0


def pipe(guest: Guest, flags: int = 0) -> tuple[int, int]:
    assert guest.call(59, DATA, flags) == 0
    reader, writer = struct.unpack("<ii", guest.memory.read(DATA, 8))
    return reader, writer


# The end of the run


@pytest.fixture
def open_pipe() -> Iterator[tuple[BinaryIO, int]]:
    reader, writer = os.pipe()
    with open(reader, "rb") as stream:
        yield stream, writer
    os.close(writer)


def test_a_read_of_the_hosts_pipe_ends_with_the_run(open_pipe: tuple[BinaryIO, int]):
    stream, writer = open_pipe
    guest = Guest(stdin=stream)
    time_is_over(guest)
    with pytest.raises(CutShort):
        guest.read(0)
    os.write(writer, b"late")
    assert guest.read(0) == b"late"


def test_a_read_that_must_not_wait_does_not(open_pipe: tuple[BinaryIO, int]):
    guest = Guest(stdin=open_pipe[0])
    assert guest.call(25, 0, 4, NONBLOCK) == 0
    assert guest.read(0) == EAGAIN


def test_with_the_hosts_time_standard_input_is_ready_when_it_is(open_pipe: tuple[BinaryIO, int]):
    stream, writer = open_pipe
    for host_time, ready in ((False, 1), (True, 0)):
        guest = Guest(stdin=stream, host_time=host_time)
        guest.memory.write(DATA, struct.pack("<iHH", 0, 1, 0))
        assert guest.call(PPOLL, DATA, 1, timespec(guest, 0), 0, 8) == ready
    os.write(writer, b"x")
    guest.memory.write(DATA, struct.pack("<iHH", 0, 1, 0))
    assert guest.call(PPOLL, DATA, 1, 0, 0, 8) == 1


def test_a_sleep_in_the_hosts_time_ends_with_the_run():
    guest = Guest(host_time=True)
    time_is_over(guest)
    with pytest.raises(CutShort):
        guest.call(NANOSLEEP, timespec(guest, 1000), 0)


def test_long_transfers_tell_a_short_count_when_the_time_is_over(guest: Guest):
    length = 32 << 20
    addr = guest.mmap(length=length)
    vectors = guest.mmap(length=PAGE * 4)
    guest.memory.write(vectors, struct.pack("<QQ", addr, length) * 1024)
    time_is_over(guest)
    assert guest.call(66, 1, vectors, 1024) == PART
    assert guest.write(1, addr, length) == PART
    assert guest.call(278, addr, length, 0) == PART
    assert guest.call(READ, guest.open("/dev/zero"), addr, length) == PART


def test_a_large_copy_begins_anew_after_the_end_of_the_run(tmp_path: Path):
    (tmp_path / "large").write_bytes(b"x" * (12 << 20))
    guest = Guest(dirs=[Grant(str(tmp_path), "/d")])
    fd = guest.open("/d/large")
    time_is_over(guest)
    before = guest.memory.perm.copy()
    with pytest.raises(CutShort):
        guest.mmap(length=12 << 20, fd=fd, flags=2)
    assert (guest.memory.perm == before).all()
    guest.process.deadline.at = None
    addr = guest.mmap(length=12 << 20, fd=fd, flags=2)
    assert guest.memory.read(addr + (12 << 20) - 1, 1) == b"x"
    time_is_over(guest)
    with pytest.raises(CutShort):
        guest.call(216, addr, 12 << 20, 12 << 20, 3, addr - (24 << 20))
    assert guest.memory.read(addr + (12 << 20) - 1, 1) == b"x"


def test_memory_is_given_back_in_parts(guest: Guest):
    addr = guest.mmap(length=PAGE)
    guest.memory.write(addr, b"data")
    time_is_over(guest)
    for call in ((215, addr, PAGE), (233, addr, PAGE, 4), (222, addr, PAGE, 3, 0x32, -1, 0)):
        with pytest.raises(CutShort):
            guest.call(*call)
        assert guest.memory.mapped(addr, PAGE)
    guest.process.deadline.at = None
    assert guest.munmap(addr, PAGE) == 0


def test_a_call_moves_no_more_than_linux_lets_it():
    guest = Guest(size=4 << 30)
    addr = guest.mmap(length=1 << 30, prot=1)
    vectors = guest.mmap(length=PAGE * 4)
    guest.memory.write(vectors, struct.pack("<QQ", addr, 1 << 30) * 1024)
    null = guest.open("/dev/null", 1)
    assert guest.call(66, null, vectors, 1024) == 0x7FFF_F000
    guest.memory.write(vectors, struct.pack("<QQ", addr, 1 << 63))
    assert guest.call(66, null, vectors, 1) == EINVAL
    guest.memory.write(vectors, struct.pack("<QQ", addr, LONGEST))
    assert guest.call(66, null, vectors, 1) == EFAULT


# Waits without end


@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        (NANOSLEEP, (OUT, 0)),
        (115, (1, 0, OUT, 0)),
        (115, (0, 1, OUT, 0)),
        (98, (HEAP - 8, 0, 0, OUT)),
        (98, (HEAP - 8, 9, 0, OUT, 0, -1)),
        (PPOLL, (0, 0, OUT, 0, 8)),
        (72, (0, 0, 0, 0, OUT, 0)),
        (137, (DATA, 0, OUT, 8)),
        (22, (3, HEAP - 64, 1, -1, 0, 8)),
    ],
)
@pytest.mark.parametrize("seconds", [LONGEST, LONGEST // 10**9 + 1])
def test_a_wait_of_centuries_has_no_end_and_is_told_as_one(
    guest: Guest, number: int, arguments: tuple[int, ...], seconds: int
):
    assert guest.call(20, 0) == 3
    timespec(guest, seconds, 999_999_999)
    with pytest.raises(BlockedForEver):
        guest.call(number, *arguments)


def test_pause_waits_for_a_signal_and_is_told_so(guest: Guest):
    """The C library makes a ppoll of no files of it."""
    with pytest.raises(BlockedForEver, match="waits for a signal that nobody can send"):
        guest.call(73, 0, 0, 0, 0, 8)


def test_sleeps_that_add_up_to_centuries_have_no_end_either(guest: Guest):
    year = 365 * 86400
    for _ in range(292):
        assert guest.call(NANOSLEEP, timespec(guest, year), 0) == 0
    timespec(guest, year)
    with pytest.raises(BlockedForEver, match="292 years"):
        guest.call(NANOSLEEP, OUT, 0)
    assert guest.call(113, 1, DATA) == 0
    assert struct.unpack("<q", guest.memory.read(DATA, 8))[0] // year == 292


@pytest.mark.parametrize("pair", [(-1, 0), (-LONGEST - 1, 0), (0, -1), (0, 10**9), (0, LONGEST)])
def test_times_that_are_none_are_invalid(guest: Guest, pair: tuple[int, int]):
    timespec(guest, *pair)
    assert guest.call(NANOSLEEP, OUT, 0) == EINVAL
    assert guest.call(PPOLL, 0, 0, OUT, 0, 8) == EINVAL
    assert guest.call(137, DATA, 0, OUT, 8) == EINVAL
    assert guest.call(98, HEAP - 8, 0, 0, OUT) == EINVAL


def test_nobody_else_writes_to_a_pipe_or_reads_it(guest: Guest):
    reader, writer = pipe(guest)
    with pytest.raises(BlockedForEver, match="pipe that nobody else writes to"):
        guest.read(reader)
    addr = guest.mmap(length=1 << 17)
    with pytest.raises(BlockedForEver, match="full pipe that nobody else reads"):
        guest.write(writer, addr, 1 << 17)
    assert guest.call(READ, reader, addr, 1 << 17) == 1 << 16


# Signals that come meanwhile


def test_a_timer_interrupts_a_wait_and_its_handler_sees_the_time(guest: Guest):
    handle(guest, ALRM)
    alarm_after(guest, 1500)
    assert guest.call(NANOSLEEP, timespec(guest, 100), OUT + 64) == ALRM  # a0 of the handler
    assert guest.state["pc"] == HANDLER
    assert struct.unpack("<qq", guest.memory.read(OUT + 64, 16)) == (99, 998_500_000)
    guest.state.x[17] = 139
    guest.kernel.syscall(guest.state)
    assert guest.state.x[10] == EINTR % (1 << 64)


def test_a_handler_may_have_the_call_begin_anew(guest: Guest):
    reader, _ = pipe(guest)
    for flags, back in ((0, 0), (RESTART, -4)):
        handle(guest, ALRM, flags)
        alarm_after(guest, 1)
        guest.state["pc"] = 0x5000
        assert guest.call(READ, reader, OUT, 1) == ALRM
        guest.state.x[17] = 139
        guest.kernel.syscall(guest.state)
        assert guest.state["pc"] == 0x5000 + back
        assert guest.state.x[10] == (reader if flags else EINTR % (1 << 64))


def test_an_alarm_that_is_ignored_interrupts_nothing(guest: Guest):
    guest.memory.write(DATA, struct.pack("<QQQ", 1, 0, 0))
    assert guest.call(134, ALRM, DATA, 0, 8) == 0
    alarm_after(guest, 1, every=1)
    assert guest.call(NANOSLEEP, timespec(guest, 3600 * 24 * 365), 0) == 0


def test_an_alarm_without_a_handler_ends_the_program(guest: Guest):
    alarm_after(guest, 1)
    with pytest.raises(ProcessExit) as end:
        guest.call(NANOSLEEP, timespec(guest, 10), 0)
    assert end.value.code == 128 + ALRM


def test_a_pipe_without_readers_ends_the_program_unless_it_handles_that(guest: Guest):
    reader, writer = pipe(guest)
    assert guest.call(57, reader) == 0
    handle(guest, PIPE)
    assert guest.put(writer, b"x") == PIPE
    guest.state.x[17] = 139
    guest.kernel.syscall(guest.state)
    assert guest.state.x[10] == EPIPE % (1 << 64)
    guest.memory.write(DATA, bytes(24))
    assert guest.call(134, PIPE, DATA, 0, 8) == 0
    with pytest.raises(ProcessExit) as end:
        guest.put(writer, b"x")
    assert end.value.code == 128 + PIPE


def test_queued_signals_have_a_limit_and_come_in_order(guest: Guest):
    handle(guest, RT)
    guest.memory.write(DATA, struct.pack("<Q", 1 << RT - 1))
    assert guest.call(135, 0, DATA, 0, 8) == 0
    guest.memory.write(OUT, struct.pack("<iii4xiiQ", RT, 0, -1, PID, 1000, 0).ljust(128, b"\0"))
    for number in range(MOST_QUEUED_SIGNALS):
        guest.memory.write(OUT + 24, struct.pack("<Q", number))
        assert guest.call(138, PID, RT, OUT) == 0
    assert guest.call(138, PID, RT, OUT) == EAGAIN
    assert guest.call(131, PID, PID, RT) == EAGAIN
    for number in range(100):
        assert guest.call(137, DATA, OUT, 0, 8) == RT
        assert struct.unpack("<Q", guest.memory.read(OUT + 24, 8)) == (number,)


def test_standard_input_in_memory_is_always_ready():
    guest = Guest(stdin=io.BytesIO(b"abc"), host_time=True)
    guest.memory.write(DATA, struct.pack("<iHH", 0, 5, 0))
    assert guest.call(PPOLL, DATA, 1, 0, 0, 8) == 1
    assert struct.unpack("<H", guest.memory.read(DATA + 6, 2)) == (1,)
    assert guest.read(0) == b"abc"
