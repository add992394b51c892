"""System calls of threads, of which there is one: nobody else can wake it or take its locks."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.calls.time import timespec
from rvsim.guest.linux.errno import (
    EAGAIN,
    ECHILD,
    EINTR,
    EINVAL,
    ENOSYS,
    ERESTARTSYS,
    ESRCH,
    ETIMEDOUT,
    CallError,
)
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall

_CPU_SET: Final = struct.pack("<Q", 1)
_WAIT, _WAKE, _WAIT_BITSET, _WAKE_BITSET = 0, 1, 9, 10
_FUTEX_PRIVATE, _FUTEX_REALTIME = 128, 256
_REALTIME, _MONOTONIC = 0, 1
_MEMBARRIERS: Final = 0x7F
"""MEMBARRIER_CMD_GLOBAL to REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: one bit each."""


@syscall(96, "set_tid_address")
def set_tid_address(process: LinuxProcess, addr: Addr) -> int:
    """Tell the thread's id; nobody waits for the thread's end at `addr`."""
    return PROCESS_ID


@syscall(99, "set_robust_list")
def set_robust_list(process: LinuxProcess, addr: Addr, length: Size) -> int:
    """Note the locks to free when a thread dies: nobody would see it."""
    return 0 if length == 24 else EINVAL


@syscall(293, "rseq")
def rseq(process: LinuxProcess, addr: Addr, length: Size, flags: Int, signature: Int) -> int:
    """Restartable sequences, which libraries do without on older kernels too."""
    return ENOSYS


@syscall(98, "futex")
def futex(
    process: LinuxProcess, addr: Addr, operation: Int, value: Int, duration: Addr, second: Addr
) -> int:
    """Wait while a word has a value, or wake who waits: there is no second thread that could."""
    command = operation & ~(_FUTEX_PRIVATE | _FUTEX_REALTIME)
    if addr % 4:
        return EINVAL
    (word,) = struct.unpack("<i", process.get(addr, 4))
    if command in (_WAKE, _WAKE_BITSET):
        return 0
    if command not in (_WAIT, _WAIT_BITSET):
        return ENOSYS
    if word != value:
        return EAGAIN
    until = None
    if duration:
        until = process.clock.now(_MONOTONIC) + timespec(process, duration)
        if command == _WAIT_BITSET:  # a point in time, not a duration
            until -= process.clock.now(_REALTIME if operation & _FUTEX_REALTIME else _MONOTONIC)
    try:
        why = f"futex {addr:#x} has no second thread to wake the only one"
        process.waiter.wait(why, until=until)
    except CallError as error:
        return ERESTARTSYS if error.code == EINTR and not duration else error.code
    return ETIMEDOUT


@syscall(124, "sched_yield")
def sched_yield(process: LinuxProcess) -> int:
    """Let others run: there are none."""
    return 0


@syscall(123, "sched_getaffinity")
def sched_getaffinity(process: LinuxProcess, pid: Int, size: Size, addr: Addr) -> int:
    """One hart; the result is the size of the kernel's set."""
    if pid not in (0, PROCESS_ID):
        return ESRCH
    if size < len(_CPU_SET) or size % 8:
        return EINVAL
    process.put(addr, _CPU_SET)
    return len(_CPU_SET)


@syscall(122, "sched_setaffinity")
def sched_setaffinity(process: LinuxProcess, pid: Int, size: Size, addr: Addr) -> int:
    """Stay on the one hart; EINVAL if it is not among those asked for."""
    if pid not in (0, PROCESS_ID):
        return ESRCH
    mask = process.get(addr, min(size, 8))
    return 0 if mask and mask[0] & 1 else EINVAL


@syscall(168, "getcpu")
def getcpu(process: LinuxProcess, cpu: Addr, node: Addr, cache: Addr) -> int:
    """Hart 0 of node 0."""
    for addr in (cpu, node):
        if addr:
            process.put(addr, bytes(4))
    return 0


@syscall(283, "membarrier")
def membarrier(process: LinuxProcess, command: Int, flags: Flags, cpu: Int) -> int:
    """No barrier is ever missing with one thread."""
    if flags or command < 0 or command & ~_MEMBARRIERS or command.bit_count() > 1:
        return EINVAL
    return 0 if command else _MEMBARRIERS


@syscall(95, "waitid")
def waitid(
    process: LinuxProcess, kind: Int, which: Int, info: Addr, options: Flags, usage: Addr
) -> int:
    """There are no children to wait for."""
    return ECHILD


@syscall(260, "wait4")
def wait4(process: LinuxProcess, pid: Int, status: Addr, options: Flags, usage: Addr) -> int:
    """There are no children to wait for."""
    return ECHILD
