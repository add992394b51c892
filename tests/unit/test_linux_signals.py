"""Signals to oneself: actions, masks, frames, alternate stacks, faults."""

from __future__ import annotations

import struct

import pytest

from rvsim.guest.linux import BlockedForEver, ProcessExit, hwcap
from rvsim.guest.linux.errno import EAGAIN, EFAULT, EINTR, EINVAL, ENOMEM, EPERM, ESRCH
from rvsim.hart.memory import PAGE, R, X
from tests.unit.linux_guest import DATA, HEAP, Guest

OUT = DATA + PAGE
HANDLER = 0x12340
USR1, USR2, ABRT, KILL, SEGV, CHLD, STOP = 10, 12, 6, 9, 11, 17, 19
PID = 1000
SIGINFO, ONSTACK, NODEFER, RESETHAND = 4, 0x0800_0000, 0x4000_0000, 0x8000_0000
BLOCK, UNBLOCK, SETMASK = 0, 1, 2


def bit(*numbers: int) -> int:
    return sum(1 << number - 1 for number in numbers)


@pytest.fixture
def guest() -> Guest:
    return Guest()


def action(guest: Guest, number: int, handler: int, flags: int = 0, mask: int = 0) -> int:
    guest.memory.write(DATA, struct.pack("<QQQ", handler, flags, mask))
    return guest.call(134, number, DATA, 0, 8)


def mask(guest: Guest, how: int, bits: int) -> int:
    guest.memory.write(DATA, struct.pack("<Q", bits))
    return guest.call(135, how, DATA, 0, 8)


def raise_(guest: Guest, number: int) -> int:
    return guest.call(131, PID, PID, number)


def sigreturn(guest: Guest) -> None:
    guest.state.x[17] = 139
    guest.kernel.syscall(guest.state)


# Default actions


@pytest.mark.parametrize(("number", "code"), [(ABRT, 134), (SEGV, 139), (USR1, 138), (KILL, 137)])
def test_a_signal_without_a_handler_ends_the_process(guest: Guest, number: int, code: int):
    for send in ((129, PID, number), (130, PID, number), (131, PID, PID, number)):
        with pytest.raises(ProcessExit) as end:
            guest.call(*send)
        assert end.value.code == code
    assert guest.notes[0].startswith("the program has ended itself by SIG")


def test_signals_that_mean_nothing_are_ignored(guest: Guest):
    assert raise_(guest, CHLD) == 0
    assert raise_(guest, 0) == 0
    assert action(guest, USR1, 1) == 0
    assert raise_(guest, USR1) == 0
    assert guest.process.signals.pending_bits == 0


def test_nobody_continues_a_stopped_process(guest: Guest):
    with pytest.raises(BlockedForEver, match="SIGSTOP stopped it"):
        raise_(guest, STOP)


def test_others_cannot_be_reached(guest: Guest):
    assert guest.call(129, 1, ABRT) == ESRCH
    assert guest.call(130, 1, ABRT) == ESRCH
    assert guest.call(131, PID, 1, ABRT) == ESRCH
    assert guest.call(129, PID, 65) == EINVAL
    assert guest.call(129, PID, -1) == EINVAL


# Actions


def test_actions_are_told_and_checked(guest: Guest):
    assert action(guest, USR1, HANDLER, SIGINFO, bit(USR2)) == 0
    assert guest.call(134, USR1, 0, OUT, 8) == 0
    assert struct.unpack("<QQQ", guest.memory.read(OUT, 24)) == (HANDLER, SIGINFO, bit(USR2))
    assert guest.call(134, USR2, 0, OUT, 8) == 0
    assert guest.memory.read(OUT, 24) == bytes(24)
    assert action(guest, KILL, HANDLER) == EINVAL
    assert action(guest, STOP, 1) == EINVAL
    assert action(guest, 0, 1) == EINVAL
    assert action(guest, 65, 1) == EINVAL
    assert guest.call(134, USR1, DATA, 0, 16) == EINVAL
    assert guest.call(134, USR1, 8, 0, 8) == EFAULT
    assert guest.call(134, USR1, 0, 8, 8) == EFAULT


# Handlers


def test_a_handler_gets_a_frame_as_linux_lays_it_out(guest: Guest):
    action(guest, USR1, HANDLER, SIGINFO)
    mask(guest, SETMASK, bit(USR2))
    state = guest.state
    state["pc"] = 0x20FF0
    sp = state.x[2]
    for i in range(18, 32):
        state.x[i] = 0x1111 * i
    for i in range(32):
        state.f[i] = 0xF000 + i
    state["frm"], state["fflags"] = 3, 17
    raise_(guest, USR1)
    frame = state.x[2]
    assert frame % 16 == 0
    assert frame < sp
    assert (state["pc"], state.x[10], state.x[11], state.x[12]) == (
        HANDLER, USR1, frame, frame + 128,
    )  # fmt: skip
    info = guest.memory.read(frame, 128)
    assert struct.unpack_from("<iiixxxxiI", info) == (USR1, 0, -6, PID, 1000)
    assert guest.memory.load8(frame + 128 + 40) == bit(USR2)
    pc, *x = struct.unpack("<32Q", guest.memory.read(frame + 128 + 176, 256))
    assert (pc, x[1], x[9]) == (0x20FF0, sp, 0)
    assert x[17:] == [0x1111 * i for i in range(18, 32)]
    *f, fcsr = struct.unpack("<32QI", guest.memory.read(frame + 128 + 432, 260))
    assert f == [0xF000 + i for i in range(32)]
    assert fcsr == 3 << 5 | 17
    assert guest.memory.read(frame + 1080, 8) == bytes(8)
    assert guest.process.signals.mask == bit(USR1, USR2)
    assert guest.memory.read(state.x[1], 8) == bytes.fromhex("9308b00873000000")
    assert guest.memory.perm[state.x[1] // PAGE] & 7 == R | X


def test_returning_restores_everything(guest: Guest):
    state = guest.state
    state["vtype"], state["vl"], state["vxrm"], state["vxsat"] = 0xC0, 20, 2, 1
    state.vfile[:] = [i % 256 for i in range(len(state.vfile))]
    action(guest, USR1, HANDLER)
    state["pc"] = 0x20FF0
    state["frm"] = 2
    before = state.snapshot()
    raise_(guest, USR1)
    after_call = bytearray(before)
    state.vfile[:] = 0xAA
    state["vtype"], state["vl"], state["vxrm"], state["vxsat"] = 1 << 63, 0, 0, 0
    state["frm"], state["fflags"], state.f[3] = 0, 31, 9
    state.x[8] = 77
    state["pc"] = state.x[1]
    sigreturn(guest)
    assert state.x[10] == 0
    for number, value in ((10, 1000), (11, 1000), (12, USR1), (17, 131)):
        after_call[8 * number : 8 * number + 8] = value.to_bytes(8, "little")
    after_call[80:88] = bytes(8)
    assert state.snapshot() == bytes(after_call)
    assert guest.process.signals.mask == 0


def test_a_handler_may_change_where_it_returns_to(guest: Guest):
    action(guest, USR1, HANDLER)
    raise_(guest, USR1)
    frame = guest.state.x[2]
    guest.memory.store8(frame + 304, 0x4444)
    guest.memory.store8(frame + 304 + 8 * 20, 99)
    sigreturn(guest)
    assert (guest.state["pc"], guest.state.x[20]) == (0x4444, 99)


def test_vector_state_is_in_the_frame_once_it_was_used():
    guest = Guest(syscall_vector="keep")
    action(guest, USR1, HANDLER)
    state = guest.state
    state["vtype"], state["vl"], state["vstart"] = 0xC8, 5, 3
    state.vfile[:] = 0x5A
    raise_(guest, USR1)
    frame = state.x[2]
    magic, size = struct.unpack("<II", guest.memory.read(frame + 1080, 8))
    assert (magic, size) == (0x53465457, 8 + 48 + 32 * 32)
    vstart, vl, vtype, vcsr, vlenb, data = struct.unpack("<6Q", guest.memory.read(frame + 1088, 48))
    assert (vstart, vl, vtype, vcsr, vlenb) == (3, 5, 0xC8, 0, 32)
    assert guest.memory.read(data, 1024) == b"\x5a" * 1024
    assert guest.memory.read(data + 1024, 8) == bytes(8)
    guest.memory.store8(frame + 1088 + 16, 1 << 40)  # a vtype that there isn't
    sigreturn(guest)
    assert (state["vtype"], state["vl"]) == (1 << 63, 0)


def test_a_handler_of_a_call_meets_discarded_vector_state(guest: Guest):
    """Linux discards it at the call, before the signal: so it is in the frame, and comes back."""
    action(guest, USR1, HANDLER)
    state = guest.state
    state["vtype"], state["vl"] = 0xC8, 5
    raise_(guest, USR1)
    assert (state["vtype"], state["vl"], state["vstart"]) == (1 << 63, 0, 0)
    assert guest.memory.read(state.x[2] + 1088 + 8, 16) == struct.pack("<QQ", 0, 1 << 63)
    state["vtype"], state["vl"] = 0xC8, 7
    sigreturn(guest)
    assert (state["vtype"], state["vl"]) == (1 << 63, 0)
    assert (state.vfile == 0xFF).all()


def test_a_handler_of_a_fault_gives_vector_state_back(guest: Guest):
    """A fault is no system call; the return from its handler is one, and restores."""
    action(guest, SEGV, HANDLER)
    state = guest.state
    state["vtype"], state["vl"] = 0xC8, 5
    state.vfile[:] = 0x5A
    assert guest.kernel.fault(13, 0x1000, state)
    guest.call(172)
    assert (state["vtype"], state["vl"]) == (1 << 63, 0)
    sigreturn(guest)
    assert (state["vtype"], state["vl"]) == (0xC8, 5)
    assert (state.vfile == 0x5A).all()


@pytest.mark.parametrize("damage", ["unmapped", "magic", "size", "data"])
def test_a_damaged_frame_ends_the_process(guest: Guest, damage: str):
    action(guest, USR1, HANDLER)
    guest.state["vtype"] = 0xC0
    raise_(guest, USR1)
    frame = guest.state.x[2]
    if damage == "unmapped":
        guest.state.x[2] = 8
    elif damage == "magic":
        guest.memory.store4(frame + 1080, 5)
    elif damage == "size":
        guest.memory.store4(frame + 1084, 4096)
    else:
        guest.memory.store8(frame + 1088 + 40, (1 << 64) - 4)
    with pytest.raises(ProcessExit) as end:
        sigreturn(guest)
    assert end.value.code == 128 + SEGV


def test_no_room_for_a_frame_ends_the_process(guest: Guest):
    action(guest, USR1, HANDLER)
    for sp in (0, 8, 1 << 63, (1 << 64) - 1, HEAP + PAGE):
        guest.state.x[2] = sp
        with pytest.raises(ProcessExit) as end:
            raise_(guest, USR1)
        assert end.value.code == 128 + SEGV


def test_flags_of_an_action(guest: Guest):
    action(guest, USR1, HANDLER, RESETHAND | NODEFER, bit(USR2))
    raise_(guest, USR1)
    assert guest.process.signals.mask == bit(USR2)
    with pytest.raises(ProcessExit):
        raise_(guest, USR1)


# Masks


def test_a_blocked_signal_waits(guest: Guest):
    action(guest, USR1, HANDLER)
    assert mask(guest, BLOCK, bit(USR1, KILL, STOP)) == 0
    guest.state["pc"] = 0x20FF0
    assert raise_(guest, USR1) == raise_(guest, USR1) == 0
    assert guest.state["pc"] == 0x20FF0
    assert guest.call(136, OUT, 8) == 0
    assert guest.memory.load8(OUT) == bit(USR1)
    assert guest.call(135, BLOCK, 0, OUT, 8) == 0
    assert guest.memory.load8(OUT) == bit(USR1)
    mask(guest, UNBLOCK, bit(USR1))
    assert guest.state["pc"] == HANDLER
    sigreturn(guest)
    assert (guest.state["pc"], guest.state.x[10]) == (0x20FF0, 0)
    assert guest.call(136, OUT, 8) == 0
    assert guest.memory.load8(OUT) == 0


def test_bad_masks_are_refused(guest: Guest):
    assert mask(guest, 3, 0) == EINVAL
    assert guest.call(135, BLOCK, DATA, 0, 4) == EINVAL
    assert guest.call(135, BLOCK, 8, 0, 8) == EFAULT
    assert guest.call(136, OUT, 9) == EINVAL


def test_suspend_runs_what_is_pending_under_its_mask(guest: Guest):
    action(guest, USR1, HANDLER)
    mask(guest, SETMASK, bit(USR1))
    raise_(guest, USR1)
    guest.memory.write(DATA, struct.pack("<Q", bit(USR2)))
    guest.state["pc"] = 0x20FF0
    guest.call(133, DATA, 8)
    assert guest.state["pc"] == HANDLER
    assert guest.process.signals.mask == bit(USR1, USR2)
    sigreturn(guest)
    assert guest.process.signals.mask == bit(USR1)
    assert guest.state.x[10] == EINTR % (1 << 64)
    with pytest.raises(BlockedForEver, match="rt_sigsuspend"):
        guest.call(133, DATA, 8)


def test_waiting_takes_a_pending_signal_or_the_time(guest: Guest):
    mask(guest, SETMASK, bit(USR1))
    raise_(guest, USR1)
    guest.memory.write(DATA, struct.pack("<Qqq", bit(USR1), 2, 0))
    assert guest.call(137, DATA, OUT, 0, 8) == USR1
    assert guest.memory.load4(OUT) == USR1
    assert guest.call(137, DATA, OUT, DATA + 8, 8) == EAGAIN
    assert guest.process.clock.now(1) == 2_000_000_000
    with pytest.raises(BlockedForEver, match="rt_sigtimedwait"):
        guest.call(137, DATA, OUT, 0, 8)


# The alternate stack


def test_a_handler_runs_on_the_alternate_stack(guest: Guest):
    stack = guest.mmap(length=16 * PAGE)
    guest.memory.write(DATA, struct.pack("<QixxxxQ", stack, 0, 16 * PAGE))
    assert guest.call(132, DATA, OUT) == 0
    assert struct.unpack("<QixxxxQ", guest.memory.read(OUT, 24)) == (0, 2, 0)
    action(guest, USR1, HANDLER, ONSTACK)
    raise_(guest, USR1)
    assert stack < guest.state.x[2] < stack + 16 * PAGE
    guest.memory.write(DATA, struct.pack("<QixxxxQ", stack, 0, 16 * PAGE))
    assert guest.call(132, DATA, 0) == EPERM  # in use
    assert guest.call(132, 0, OUT) == 0
    assert struct.unpack("<QixxxxQ", guest.memory.read(OUT, 24)) == (stack, 1, 16 * PAGE)
    first = guest.state.x[2]
    action(guest, USR2, HANDLER, ONSTACK)
    raise_(guest, USR2)
    assert stack < guest.state.x[2] < first


def test_alternate_stacks_are_checked(guest: Guest):
    for flags, size, error in ((0, 2047, ENOMEM), (4, 8192, EINVAL), (3, 8192, EINVAL)):
        assert set_stack(guest, HEAP, size, flags) == error
    guest.memory.write(DATA, struct.pack("<QixxxxQ", HEAP, 2, 0))
    assert guest.call(132, DATA, 0) == 0


def set_stack(guest: Guest, start: int, size: int, flags: int = 0) -> int:
    guest.memory.write(DATA, struct.pack("<QixxxxQ", start, flags, size))
    return guest.call(132, DATA, 0)


@pytest.mark.parametrize(
    ("vlen", "smallest"),  # 1,088 bytes, and for vector state 64 and 32 registers
    [(128, 1664), (256, 2176), (512, 3200), (1024, 5248), (4096, 17536)],
)
def test_the_smallest_stack_is_a_frame_of_this_vlen(vlen: int, smallest: int):
    """As Linux: a larger one than the frame, which has vector state once there is some."""
    guest = Guest(vlen=vlen, hwcap=hwcap("imafdcv"))
    assert auxv(guest)[51] == smallest
    assert set_stack(guest, HEAP, 2048) == 0
    guest.state.v[7, 3] = 1
    least = max(2048, smallest + 1)
    assert set_stack(guest, HEAP, least - 1) == ENOMEM
    assert set_stack(guest, HEAP, least) == 0
    stack = guest.mmap(length=8 * PAGE)
    assert set_stack(guest, stack, least + 15) == 0
    action(guest, USR1, HANDLER, ONSTACK)
    raise_(guest, USR1)
    assert stack <= guest.state.x[2]
    assert guest.notes == []


def test_without_vector_registers_a_frame_has_none():
    assert auxv(Guest(hwcap=hwcap("imafdc")))[51] == 1088


def test_a_stack_that_is_too_small_is_named():
    """It was large enough when it was chosen: the program has used the vector unit since."""
    guest = Guest(vlen=4096, hwcap=hwcap("imafdcv"))
    stack = guest.mmap(length=8 * PAGE) + 4 * PAGE
    assert set_stack(guest, stack, 8192) == 0
    guest.state.v[7, 3] = 1
    action(guest, USR1, HANDLER, ONSTACK)
    raise_(guest, USR1)
    assert guest.state.x[2] == stack + 8192 - 17536  # as on Linux, past its end
    assert guest.notes == [
        f"the alternate signal stack of 8192 bytes at {stack:#x} is too small for a signal frame"
        " of 17536 bytes: getauxval(AT_MINSIGSTKSZ) tells how much a frame takes"
    ]


def test_a_second_frame_that_does_not_fit_ends_the_program():
    guest = Guest(vlen=256, hwcap=hwcap("imafdcv"))
    guest.state.v[7, 3] = 1
    stack = guest.mmap(length=8 * PAGE) + 4 * PAGE
    assert set_stack(guest, stack, 4000) == 0
    action(guest, USR1, HANDLER, ONSTACK)
    action(guest, USR2, HANDLER, ONSTACK)
    raise_(guest, USR1)
    with pytest.raises(ProcessExit):
        raise_(guest, USR2)
    assert "is too small for a signal frame of 2176 bytes" in guest.notes[0]
    assert guest.notes[1] == "the program has ended itself by SIGSEGV"


def auxv(guest: Guest) -> dict[int, int]:
    words = guest.process.started.auxv
    return dict(struct.iter_unpack("<QQ", words))


# Faults


@pytest.mark.parametrize(
    ("cause", "tval", "number", "code"),
    [
        (13, 8, SEGV, 1),
        (15, DATA, SEGV, 2),
        (12, 8, SEGV, 1),
        (1, 8, SEGV, 2),
        (5, 8, SEGV, 2),
        (7, 8, SEGV, 2),
        (0, 0x41, 7, 1),
        (11, 0, 4, 4),
        (2, 0xFFFF, 4, 1),
        (3, 0x40, 5, 1),
        (4, 0x41, 7, 1),
        (6, 0x41, 7, 1),
    ],
)
def test_a_fault_goes_to_its_handler(guest: Guest, cause: int, tval: int, number: int, code: int):
    action(guest, number, HANDLER, SIGINFO)
    guest.state["pc"] = 0x20FF0
    assert guest.kernel.fault(cause, tval, guest.state)
    assert guest.state["pc"] == HANDLER
    frame = guest.state.x[2]
    addr = tval if cause in (12, 13, 15) else 0x20FF0  # si_addr, as Linux's traps.c has it
    assert struct.unpack("<iiixxxxQ", guest.memory.read(frame, 24)) == (number, 0, code, addr)
    assert guest.memory.load8(frame + 304) == 0x20FF0


def test_a_fault_without_a_handler_or_blocked_is_a_trap(guest: Guest):
    assert not guest.kernel.fault(13, 8, guest.state)
    action(guest, SEGV, 1)
    assert not guest.kernel.fault(13, 8, guest.state)
    action(guest, SEGV, HANDLER)
    mask(guest, BLOCK, bit(SEGV))
    assert not guest.kernel.fault(13, 8, guest.state)
    mask(guest, UNBLOCK, bit(SEGV))
    guest.state.x[2] = 8
    assert not guest.kernel.fault(13, 8, guest.state)
