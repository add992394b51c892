"""Linux processes: the stack at the start, and each system call with its errors."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.errors import RvsimError
from rvsim.guest.linux import BlockedForEver, LinuxProcess, ProcessExit, hwcap
from rvsim.guest.linux.names import NAMES
from rvsim.guest.linux.process import STACK_SIZE
from rvsim.guest.linux.table import CALLS, syscall
from rvsim.hart.memory import LOWEST_FREE, MAPPED, PAGE, GuestFault, Memory, R, W, X
from tests.unit.linux_guest import (
    ANONYMOUS,
    DATA,
    ENTRY,
    FIXED,
    FIXED_NOREPLACE,
    HEAP,
    IMAGE,
    PRIVATE,
    SHARED,
    SIZE,
    Guest,
)

EPERM, EBADF, ENOMEM, EFAULT, EEXIST, ENODEV, EINVAL, ENOSYS = -1, -9, -12, -14, -17, -19, -22, -38


@pytest.fixture
def guest() -> Guest:
    return Guest()


def stack_words(guest: Guest) -> tuple[list[bytes], list[bytes], dict[int, int]]:
    """argv, envp and the auxiliary vector, read as a C library reads them."""
    addr = guest.state.x[2]
    memory = guest.memory

    def strings(addr: int) -> tuple[list[bytes], int]:
        found = []
        while pointer := memory.load8(addr):
            found.append(memory.read_cstring(pointer))
            addr += 8
        return found, addr + 8

    argc = memory.load8(addr)
    argv, addr = strings(addr + 8)
    assert len(argv) == argc
    envp, addr = strings(addr)
    vector: dict[int, int] = {}
    while (kind := memory.load8(addr)) != 0:
        assert kind not in vector
        vector[kind] = memory.load8(addr + 8)
        addr += 16
    return argv, envp, vector


# The start


def test_a_process_starts_at_its_entry_with_an_aligned_stack(guest: Guest):
    assert guest.state["pc"] == ENTRY
    assert guest.state.x[2] % 16 == 0
    assert [i for i in range(32) if guest.state.x[i]] == [2]


def test_arguments_environment_and_auxiliary_vector_are_on_the_stack():
    guest = Guest(
        argv=["prog", "--n", "größer"], env={"A": "1", "LANG": "C"}, hwcap=hwcap("imafdcv")
    )
    argv, envp, vector = stack_words(guest)
    assert argv == [b"prog", b"--n", "größer".encode()]
    assert envp == [b"A=1", b"LANG=C"]
    assert guest.memory.read(vector.pop(25), 16) == b"rvsim AT_RANDOM!"
    assert guest.memory.read_cstring(vector.pop(31)) == b"prog"
    assert vector == {
        3: DATA + 64,  # AT_PHDR
        4: 56,  # AT_PHENT
        5: 3,  # AT_PHNUM
        6: PAGE,  # AT_PAGESZ
        7: 0,  # AT_BASE
        8: 0,  # AT_FLAGS
        9: ENTRY,  # AT_ENTRY
        11: 1000,  # AT_UID
        12: 1000,  # AT_EUID
        13: 1000,  # AT_GID
        14: 1000,  # AT_EGID
        16: 0x20112D,  # AT_HWCAP: a c d f i m v
        17: 100,  # AT_CLKTCK
        23: 0,  # AT_SECURE
        51: 2176,  # AT_MINSIGSTKSZ at VLEN 256
    }


def test_a_program_without_arguments_has_its_name(guest: Guest):
    assert stack_words(guest)[:2] == ([b"prog.elf"], [])


def test_where_the_file_is_on_the_host_does_not_move_the_stack():
    places = [replace(IMAGE, name=name) for name in ("a.elf", "/home/somebody/.cache/rvsim/a.elf")]
    guests = [Guest(image=image, argv=["a.elf"]) for image in places]
    words = [guest.memory.read(guest.state.x[2], 256) for guest in guests]
    assert guests[0].state.x[2] == guests[1].state.x[2]
    assert words[0] == words[1]


def test_only_single_letter_extensions_have_a_hwcap_bit():
    assert hwcap(["I", "m", "zba", "xsmtvdot", "v"]) == 1 << 8 | 1 << 12 | 1 << 21


@given(st.lists(st.text("aß€", max_size=20), max_size=9))
def test_the_stack_is_aligned_for_any_arguments(argv: list[str]):
    guest = Guest(argv=argv)
    assert guest.state.x[2] % 16 == 0
    assert stack_words(guest)[0] == [a.encode() for a in argv or ["prog.elf"]]


@pytest.mark.parametrize(
    ("size", "stack"), [(4 << 30, STACK_SIZE), (32 << 20, STACK_SIZE), (1 << 20, 1 << 18)]
)
def test_the_stack_has_a_guard_page_and_fits_the_memory(size: int, stack: int):
    guest = Guest(size)
    sp = guest.state.x[2]
    bottom = guest.process.mmap_top + PAGE
    assert bottom + stack > sp > bottom
    assert bottom + stack < size
    guest.memory.store8(bottom, 1)
    with pytest.raises(GuestFault):
        guest.memory.store1(bottom - 1, 1)
    assert guest.memory.mapped(bottom - PAGE, PAGE)


def test_a_stack_that_cannot_be_is_named():
    full = Memory(1 << 20)
    full.map(LOWEST_FREE, (1 << 20) - LOWEST_FREE - (1 << 18), R)
    with pytest.raises(RvsimError, match=r"no room for a stack of .*: give it more memory"):
        LinuxProcess(full, IMAGE)
    with pytest.raises(RvsimError, match=r"arguments and environment of .* do not fit"):
        Guest(argv=["x" * STACK_SIZE])
    with pytest.raises(RvsimError, match=r"arguments and environment of .* do not fit"):
        Guest(argv=[""] * STACK_SIZE)


# Output and exit


def test_write_passes_bytes_to_its_sink():
    out, err = io.BytesIO(), io.BytesIO()
    guest = Guest(stdout=out, stderr=err.write)
    guest.memory.write(DATA, b"hello\0world")
    assert guest.write(1, DATA, 11) == 11
    assert guest.write(2, DATA + 6, 2) == 2
    assert (out.getvalue(), err.getvalue()) == (b"hello\0world", b"wo")


def test_write_answers_errors_and_writes_nothing(guest: Guest):
    for fd in (0, 3, -1, 1 << 31):
        assert guest.write(fd, DATA, 1) == EBADF
    for addr in (0, DATA + 2 * PAGE, DATA + 2 * PAGE - 3, (1 << 64) - 1, SIZE - 2):
        assert guest.write(1, addr, 4) == EFAULT
    assert guest.write(1, DATA, 1 << 63) == EFAULT
    assert guest.write(1, 0, 0) == 0
    assert guest.out == []


def test_write_needs_readable_memory(guest: Guest):
    guest.memory.protect(DATA, PAGE, X)
    assert guest.write(1, DATA, 1) == EFAULT


def test_a_long_write_comes_in_order(guest: Guest):
    length = (2 << 20) + 5
    addr = guest.mmap(0, length)
    guest.memory.write(addr, bytes(i % 251 for i in range(length)))
    assert guest.write(1, addr, length) == length
    assert b"".join(guest.out) == guest.memory.read(addr, length)
    assert len(guest.out) > 1


def test_a_file_descriptor_is_a_c_int(guest: Guest):
    guest.memory.write(DATA, b"x")
    assert guest.write(1 | 5 << 32, DATA, 1) == 1


@pytest.mark.parametrize("number", [93, 94])
@pytest.mark.parametrize(("status", "code"), [(0, 0), (7, 7), (256 + 3, 3), (-1, 255)])
def test_exit_ends_with_the_low_eight_bits(guest: Guest, number: int, status: int, code: int):
    with pytest.raises(ProcessExit) as end:
        guest.call(number, status)
    assert end.value.code == code


# Memory


def test_the_heap_starts_at_the_page_after_the_data_and_grows(guest: Guest):
    assert guest.brk(0) == HEAP
    assert guest.brk(HEAP + 10) == HEAP + 10
    guest.memory.store8(HEAP + PAGE - 8, 1)
    with pytest.raises(GuestFault):
        guest.memory.load1(HEAP + PAGE)
    assert guest.brk(HEAP + 3 * PAGE) == HEAP + 3 * PAGE
    assert guest.memory.load8(HEAP + PAGE - 8) == 1
    guest.memory.store8(HEAP + 2 * PAGE, 1)
    assert guest.brk(HEAP + PAGE) == HEAP + PAGE
    with pytest.raises(GuestFault):
        guest.memory.load1(HEAP + PAGE)
    assert guest.brk(HEAP + 3 * PAGE) == HEAP + 3 * PAGE
    assert guest.memory.load8(HEAP + 2 * PAGE) == 0


def test_the_heap_stays_where_it_is_if_it_cannot_move(guest: Guest):
    end = guest.brk(HEAP + PAGE)
    blocker = guest.mmap(HEAP + 3 * PAGE)
    assert blocker == HEAP + 3 * PAGE
    for addr in (HEAP - 1, blocker + 1, SIZE, SIZE + 1, (1 << 64) - 1):
        assert guest.brk(addr) == end
    assert guest.brk(blocker) == blocker


def test_anonymous_mappings_read_zero_below_the_stack(guest: Guest):
    first = guest.mmap(length=PAGE + 1)
    second = guest.mmap(length=PAGE, flags=SHARED | ANONYMOUS, prot=1)
    assert first + 2 * PAGE == guest.process.mmap_top
    assert second + PAGE == first
    guest.memory.store8(first + PAGE, 5)
    with pytest.raises(GuestFault):
        guest.memory.store1(second, 1)
    assert guest.munmap(first, PAGE + 1) == 0
    with pytest.raises(GuestFault):
        guest.memory.load1(first)
    assert guest.mmap(length=2 * PAGE) == first
    assert guest.memory.load8(first + PAGE) == 0


def test_a_hint_is_taken_where_it_is_free(guest: Guest):
    assert guest.mmap(0x800123) == 0x800000
    assert guest.mmap(0x800000) == guest.process.mmap_top - PAGE
    assert guest.mmap(PAGE) == guest.process.mmap_top - 2 * PAGE


def test_a_fixed_mapping_replaces_unless_it_must_not(guest: Guest):
    guest.memory.store8(DATA, 9)
    assert guest.mmap(DATA, flags=PRIVATE | ANONYMOUS | FIXED_NOREPLACE) == EEXIST
    assert guest.memory.load8(DATA) == 9
    assert guest.mmap(DATA, flags=PRIVATE | ANONYMOUS | FIXED, prot=1) == DATA
    assert guest.memory.load8(DATA) == 0
    assert guest.mmap(0x900000, flags=PRIVATE | ANONYMOUS | FIXED_NOREPLACE) == 0x900000


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"length": 0}, EINVAL),
        ({"flags": ANONYMOUS}, EINVAL),
        ({"offset": 1}, EINVAL),
        ({"length": SIZE + 1}, ENOMEM),
        ({"length": SIZE}, ENOMEM),
        ({"length": (1 << 64) - 1}, ENOMEM),
        ({"flags": PRIVATE, "fd": 1}, ENODEV),
        ({"flags": PRIVATE, "fd": 3}, EBADF),
        ({"flags": PRIVATE, "fd": -1}, EBADF),
        ({"addr": 1, "flags": PRIVATE | ANONYMOUS | FIXED}, EINVAL),
        ({"addr": 0, "flags": PRIVATE | ANONYMOUS | FIXED}, EPERM),
        ({"addr": SIZE, "flags": PRIVATE | ANONYMOUS | FIXED}, ENOMEM),
        ({"addr": -PAGE, "flags": PRIVATE | ANONYMOUS | FIXED}, ENOMEM),
    ],
)
def test_impossible_mappings_answer_their_error(guest: Guest, arguments, error: int):
    before = guest.memory.perm.copy()
    assert guest.mmap(**arguments) == error
    assert (guest.memory.perm == before).all()


def test_munmap_answers_errors(guest: Guest):
    assert guest.munmap(DATA + 1, PAGE) == EINVAL
    assert guest.munmap(DATA, 0) == EINVAL
    assert guest.munmap(DATA, SIZE) == EINVAL
    assert guest.munmap(-PAGE, PAGE) == EINVAL
    assert guest.munmap(DATA, (1 << 64) - 1) == EINVAL
    assert guest.munmap(0x800000, PAGE) == 0
    assert guest.memory.mapped(DATA, 2 * PAGE)


def test_mprotect_changes_permissions_or_answers_errors(guest: Guest):
    page = DATA // PAGE
    for prot, perm in ((0, 0), (1, R), (2, R | W), (4, X), (7, R | W | X)):
        assert guest.mprotect(DATA, 1, prot) == 0
        assert guest.memory.perm[page] == MAPPED | perm
        assert guest.memory.perm[page + 1] == MAPPED | R | W
    assert guest.mprotect(DATA + 1, PAGE, 1) == EINVAL
    assert guest.mprotect(DATA, PAGE, 16) == EINVAL
    assert guest.mprotect(DATA, PAGE, 8 | 7) == 0  # PROT_SEM
    assert guest.memory.perm[page] == MAPPED | R | W | X
    assert guest.mprotect(DATA, 0, 1) == 0
    assert guest.mprotect(DATA, 3 * PAGE, 1) == ENOMEM
    assert guest.mprotect(SIZE, PAGE, 1) == ENOMEM
    assert guest.mprotect(DATA, (1 << 64) - 1, 1) == ENOMEM


# Time


def test_clocks_show_the_model_time():
    guest = Guest(now_ns=lambda: 3_000_000_017)
    for clock in (0, 1, 4):
        assert guest.call(113, clock, DATA) == 0
        assert struct.unpack("<QQ", guest.memory.read(DATA, 16)) == (3, 17)
    assert guest.call(113, 99, DATA) == EINVAL
    assert guest.call(113, -1, DATA) == EINVAL
    assert guest.call(113, 0, 0) == EFAULT
    guest.memory.protect(DATA, PAGE, R)
    assert guest.call(113, 0, DATA) == EFAULT


# The table


def test_an_unknown_call_is_named_once(guest: Guest):
    for number in (220, 4000, 220, 4000, (1 << 64) - 1):
        assert guest.call(number) == ENOSYS
    assert guest.notes == [
        "unknown system call 220 (clone): ENOSYS",
        "unknown system call 4000: ENOSYS",
        "unknown system call 18446744073709551615: ENOSYS",
    ]


def test_strace_shows_each_call_on_one_line():
    lines: list[str] = []
    guest = Guest(strace=lines.append)
    guest.write(1, DATA, 5)
    guest.write(-1, DATA, 5)
    guest.brk(0)
    guest.mmap(0, PAGE, 3, PRIVATE | ANONYMOUS, -1, 0)
    guest.mmap(0, 0)
    guest.call(113, 1, DATA)
    guest.call(220)
    guest.call(4000)
    with pytest.raises(ProcessExit):
        guest.call(94, 1)
    assert lines == [
        "write(1, 0x20000, 5) = 5",
        "write(-1, 0x20000, 5) = -EBADF",
        "brk(0x0) = 0x22000",
        f"mmap(0x0, 4096, 0x3, 0x22, -1, 0) = {guest.process.mmap_top - PAGE:#x}",
        "mmap(0x0, 0, 0x3, 0x22, -1, 0) = -EINVAL",
        "clock_gettime(1, 0x20000) = 0",
        "clone() = -ENOSYS",
        "syscall 4000() = -ENOSYS",
        "exit_group(1) = ?",
    ]


def test_the_table_agrees_with_the_names():
    assert {number: call.name for number, call in CALLS.items()} == {
        number: NAMES[number] for number in CALLS
    }
    assert (NAMES[0], NAMES[40], NAMES[259], NAMES[424]) == (
        "io_setup",
        "mount",
        "riscv_flush_icache",
        "pidfd_send_signal",
    )


def test_a_call_is_entered_once_and_with_known_types():
    def untyped(process: LinuxProcess, number: int) -> int:
        return number

    def write(process: LinuxProcess) -> int:
        return 0

    enter: tuple[tuple[int, Callable[..., int]], ...] = ((5000, untyped), (64, write))
    for number, run in enter:
        with pytest.raises(TypeError, match=f"system call {number}"):
            syscall(number, run.__name__)(run)
    assert 5000 not in CALLS


@given(
    number=st.sampled_from(sorted(CALLS)),
    arguments=st.lists(
        st.one_of(
            st.integers(0, (1 << 64) - 1),
            st.sampled_from(
                [0, 1, 3, 0x22, 0x32, DATA, PAGE, HEAP, LOWEST_FREE, SIZE - PAGE, SIZE]
            ),
        ),
        min_size=6,
        max_size=6,
    ),
)
def test_no_arguments_make_the_host_fail(number: int, arguments: list[int]):
    try:
        result = Guest().call(number, *arguments)
    except (ProcessExit, BlockedForEver):
        return
    assert -4096 < result <= SIZE


def test_the_same_calls_give_the_same_memory():
    def run() -> bytes:
        guest = Guest(argv=["a", "b"], env={"X": "y"})
        guest.brk(HEAP + 100)
        addr = guest.mmap(length=5 * PAGE)
        guest.call(113, 0, addr)
        return guest.memory.data.tobytes() + guest.memory.perm.tobytes() + guest.state.snapshot()

    assert run() == run()
