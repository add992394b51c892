"""System calls of signals: what they do, which are blocked, sending them to oneself."""

from __future__ import annotations

import struct

from rvsim.guest.linux.calls.time import timeout
from rvsim.guest.linux.errno import EAGAIN, EFAULT, EINTR, EINVAL, ESRCH, CallError
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.signals import SI_TKILL, SI_USER, SIGKILL, Action, Signal, check_number
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import Addr, Int, Size, syscall

_SET_SIZE = 8
_SIGSTOP = 19
_BLOCK, _UNBLOCK, _SETMASK = 0, 1, 2


def signal_set(process: LinuxProcess, addr: int, size: int) -> int:
    """The set of signals at an address, bit 0 for signal 1."""
    if size != _SET_SIZE:
        raise CallError(EINVAL)
    return int.from_bytes(process.get(addr, _SET_SIZE), "little")


@syscall(134, "rt_sigaction")
def rt_sigaction(process: LinuxProcess, number: Int, new: Addr, old: Addr, size: Size) -> int:
    """Choose what a signal does."""
    if size != _SET_SIZE or (new and number in (SIGKILL, _SIGSTOP)):
        return EINVAL
    before = process.signals.actions.get(check_number(number), Action())
    after = Action(*struct.unpack("<QQQ", process.get(new, 24))) if new else None
    if old:
        process.put(old, struct.pack("<QQQ", before.handler, before.flags, before.mask))
    if after is not None:
        process.signals.act_on(number, after)
    return 0


@syscall(135, "rt_sigprocmask")
def rt_sigprocmask(process: LinuxProcess, how: Int, new: Addr, old: Addr, size: Size) -> int:
    """Block or unblock signals; what was pending arrives at once."""
    signals = process.signals
    before = signals.mask
    if size != _SET_SIZE:
        return EINVAL
    if new:
        bits = signal_set(process, new, size)
        if how not in (_BLOCK, _UNBLOCK, _SETMASK):
            return EINVAL
        signals.set_mask({_BLOCK: before | bits, _UNBLOCK: before & ~bits, _SETMASK: bits}[how])
    if old:
        process.put(old, before.to_bytes(_SET_SIZE, "little"))
    return 0


@syscall(136, "rt_sigpending")
def rt_sigpending(process: LinuxProcess, addr: Addr, size: Size) -> int:
    """Tell which signals wait for being unblocked."""
    if size > _SET_SIZE:
        return EINVAL
    process.put(addr, process.signals.pending_bits.to_bytes(_SET_SIZE, "little")[:size])
    return 0


@syscall(133, "rt_sigsuspend")
def rt_sigsuspend(process: LinuxProcess, addr: Addr, size: Size) -> int:
    """Wait for a signal: one that is pending, or a timer's."""
    with process.signals.masked(signal_set(process, addr, size)):
        process.waiter.wait("rt_sigsuspend waits for a signal that nobody can send")
    return EINTR


@syscall(137, "rt_sigtimedwait")
def rt_sigtimedwait(
    process: LinuxProcess, addr: Addr, info: Addr, duration: Addr, size: Size
) -> int:
    """Take a pending signal; else the time has to run out, or a timer sends one."""
    wanted = signal_set(process, addr, size)
    signals = process.signals
    try:
        why = "rt_sigtimedwait waits for a signal that nobody can send"
        process.waiter.wait(why, until=timeout(process, duration), signals=wanted)
    except CallError as error:
        signal = signals.take(wanted)
        if error.code != EINTR or signal is None:
            raise
        if info:
            process.put(info, signal.info())
        return signal.number
    return EAGAIN


@syscall(132, "sigaltstack")
def sigaltstack(process: LinuxProcess, new: Addr, old: Addr) -> int:
    """Choose the stack of handlers that ask for one."""
    sp = process.sp
    before = process.signals.stack_words(sp)
    if new:
        addr, flags, size = struct.unpack("<Qi4xQ", process.get(new, 24))
        result = process.signals.set_stack(addr, flags, size, process.hart)
        if result:
            return result
    if old:
        process.put(old, struct.pack("<Qi4xQ", *before))
    return 0


@syscall(139, "rt_sigreturn")
def rt_sigreturn(process: LinuxProcess) -> int:
    """Come back from a handler.  `LinuxKernel.syscall` does it: all registers change."""
    return EFAULT


@syscall(129, "kill")
def kill(process: LinuxProcess, pid: Int, number: Int) -> int:
    """Send a signal to oneself, or to one's group; -1 is all others, of whom there are none."""
    if pid not in (PROCESS_ID, 0, -PROCESS_ID):
        return ESRCH
    return _send(process, number, SI_USER)


@syscall(130, "tkill")
def tkill(process: LinuxProcess, tid: Int, number: Int) -> int:
    """Send a signal to the only thread."""
    return tgkill(process, Int(PROCESS_ID), tid, number)


@syscall(131, "tgkill")
def tgkill(process: LinuxProcess, pid: Int, tid: Int, number: Int) -> int:
    """Send a signal to the only thread."""
    if pid <= 0 or tid <= 0:
        return EINVAL
    if pid != PROCESS_ID or tid != PROCESS_ID:
        return ESRCH
    return _send(process, number, SI_TKILL)


def _send(process: LinuxProcess, number: int, code: int) -> int:
    if number:
        process.signals.send(Signal(check_number(number), code))
    return 0


@syscall(138, "rt_sigqueueinfo")
def rt_sigqueueinfo(process: LinuxProcess, pid: Int, number: Int, info: Addr) -> int:
    """Send a signal with a value to oneself."""
    return _send_info(process, number, info) if pid == PROCESS_ID else ESRCH


@syscall(240, "rt_tgsigqueueinfo")
def rt_tgsigqueueinfo(process: LinuxProcess, pid: Int, tid: Int, number: Int, info: Addr) -> int:
    """Send a signal with a value to the only thread."""
    return _send_info(process, number, info) if pid == tid == PROCESS_ID else ESRCH


def _send_info(process: LinuxProcess, number: int, info: int) -> int:
    content = process.get(info, 128)
    (code,) = struct.unpack_from("<i", content, 8)
    if number:
        process.signals.send(Signal(check_number(number), code, content[16:]))
    return 0
