"""System calls on who the process is, and on how it is scheduled: one user, one hart."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.errno import EACCES, EINVAL, EPERM, ESRCH, CallError
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.status import USER_ID
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall

_KEEP: Final = -1
_PRIO_PROCESS, _PRIO_USER = 0, 2
_NICE_ZERO: Final = 20
"""`getpriority` answers 20 less the nice value, so that errors are apart."""

_OTHER, _FIFO, _ROUND_ROBIN, _BATCH, _IDLE, _DEADLINE = 0, 1, 2, 3, 5, 6
_HIGHEST_PRIORITY: Final = {
    _OTHER: 0,
    _FIFO: 99,
    _ROUND_ROBIN: 99,
    _BATCH: 0,
    _IDLE: 0,
    _DEADLINE: 0,
}
_SCHED_ATTR: Final = 48
_IOPRIO_NONE: Final = 0


def _only_own(*ids: int) -> int:
    """0 for a user who becomes who he is; nobody becomes another."""
    return 0 if all(i in (USER_ID, _KEEP) for i in ids) else EPERM


@syscall(144, "setgid")
def setgid(process: LinuxProcess, group: Int) -> int:
    """Become one's own group."""
    return EINVAL if group == _KEEP else _only_own(group)


@syscall(146, "setuid")
def setuid(process: LinuxProcess, user: Int) -> int:
    """Become oneself."""
    return EINVAL if user == _KEEP else _only_own(user)


@syscall(143, "setregid")
def setregid(process: LinuxProcess, real: Int, effective: Int) -> int:
    """Become one's own group."""
    return _only_own(real, effective)


@syscall(145, "setreuid")
def setreuid(process: LinuxProcess, real: Int, effective: Int) -> int:
    """Become oneself."""
    return _only_own(real, effective)


@syscall(147, "setresuid")
def setresuid(process: LinuxProcess, real: Int, effective: Int, saved: Int) -> int:
    """Become oneself."""
    return _only_own(real, effective, saved)


@syscall(149, "setresgid")
def setresgid(process: LinuxProcess, real: Int, effective: Int, saved: Int) -> int:
    """Become one's own group."""
    return _only_own(real, effective, saved)


@syscall(148, "getresuid")
def getresuid(process: LinuxProcess, real: Addr, effective: Addr, saved: Addr) -> int:
    """The real, effective and saved user, all the same."""
    return _tell_ids(process, real, effective, saved)


@syscall(150, "getresgid")
def getresgid(process: LinuxProcess, real: Addr, effective: Addr, saved: Addr) -> int:
    """The real, effective and saved group, all the same."""
    return _tell_ids(process, real, effective, saved)


def _tell_ids(process: LinuxProcess, *places: int) -> int:
    for addr in places:
        process.put(addr, struct.pack("<I", USER_ID))
    return 0


@syscall(151, "setfsuid")
def setfsuid(process: LinuxProcess, user: Int) -> int:
    """The user that files see, which stays; the call tells the one before."""
    return USER_ID


@syscall(152, "setfsgid")
def setfsgid(process: LinuxProcess, group: Int) -> int:
    """The group that files see, which stays; the call tells the one before."""
    return USER_ID


@syscall(158, "getgroups")
def getgroups(process: LinuxProcess, size: Int, addr: Addr) -> int:
    """The further groups: the user's own."""
    if size < 0:
        return EINVAL
    if size:
        process.put(addr, struct.pack("<I", USER_ID))
    return 1


@syscall(159, "setgroups")
def setgroups(process: LinuxProcess, size: Int, addr: Addr) -> int:
    """Only a privileged user changes groups."""
    return EPERM


def _check_self(pid: int) -> None:
    if pid not in (0, PROCESS_ID):
        raise CallError(ESRCH)


@syscall(154, "setpgid")
def setpgid(process: LinuxProcess, pid: Int, group: Int) -> int:
    """A leader of a session stays in its own group."""
    _check_self(pid)
    return EINVAL if group < 0 else EPERM


@syscall(157, "setsid")
def setsid(process: LinuxProcess) -> int:
    """The process leads a group already, and so can't have a new session."""
    return EPERM


@syscall(140, "setpriority")
def setpriority(process: LinuxProcess, which: Int, who: Int, nice: Int) -> int:
    """Be nicer; only a privileged user gets less nice."""
    _check_priority(which, who)
    nice = Int(max(-20, min(nice, 19)))
    if nice < process.nice:
        return EACCES
    process.nice = nice
    return 0


@syscall(141, "getpriority")
def getpriority(process: LinuxProcess, which: Int, who: Int) -> int:
    """20 less the nice value."""
    _check_priority(which, who)
    return _NICE_ZERO - process.nice


def _check_priority(which: int, who: int) -> None:
    if not _PRIO_PROCESS <= which <= _PRIO_USER:
        raise CallError(EINVAL)
    if who not in (0, USER_ID if which == _PRIO_USER else PROCESS_ID):
        raise CallError(ESRCH)


# Scheduling


@syscall(119, "sched_setscheduler")
def sched_setscheduler(process: LinuxProcess, pid: Int, policy: Int, param: Addr) -> int:
    """Only the usual policies, as for a user without privileges."""
    if pid < 0 or policy < 0:
        return EINVAL
    (priority,) = struct.unpack("<i", process.get(param, 4))
    _check_self(pid)
    if policy not in _HIGHEST_PRIORITY or not 0 <= priority <= _HIGHEST_PRIORITY[policy]:
        return EINVAL
    return 0 if policy in (_OTHER, _BATCH, _IDLE) else EPERM


@syscall(120, "sched_getscheduler")
def sched_getscheduler(process: LinuxProcess, pid: Int) -> int:
    """SCHED_OTHER."""
    if pid < 0:
        return EINVAL
    _check_self(pid)
    return _OTHER


@syscall(118, "sched_setparam")
def sched_setparam(process: LinuxProcess, pid: Int, param: Addr) -> int:
    """The usual policy knows the priority 0 only."""
    if pid < 0:
        return EINVAL
    _check_self(pid)
    return EINVAL if struct.unpack("<i", process.get(param, 4))[0] else 0


@syscall(121, "sched_getparam")
def sched_getparam(process: LinuxProcess, pid: Int, param: Addr) -> int:
    """Priority 0."""
    if pid < 0 or not param:
        return EINVAL
    _check_self(pid)
    process.put(param, bytes(4))
    return 0


@syscall(125, "sched_get_priority_max")
def sched_get_priority_max(process: LinuxProcess, policy: Int) -> int:
    """The highest priority of a policy."""
    return _HIGHEST_PRIORITY.get(policy, EINVAL)


@syscall(126, "sched_get_priority_min")
def sched_get_priority_min(process: LinuxProcess, policy: Int) -> int:
    """The lowest priority of a policy."""
    highest = _HIGHEST_PRIORITY.get(policy, EINVAL)
    return min(highest, 1)


@syscall(127, "sched_rr_get_interval")
def sched_rr_get_interval(process: LinuxProcess, pid: Int, addr: Addr) -> int:
    """How long a turn takes: 4 ms, though nobody else has one."""
    if pid < 0:
        return EINVAL
    _check_self(pid)
    process.put(addr, struct.pack("<QQ", 0, 4_000_000))
    return 0


@syscall(275, "sched_getattr")
def sched_getattr(process: LinuxProcess, pid: Int, addr: Addr, size: Size, flags: Flags) -> int:
    """The usual policy, and how nice the process is."""
    if pid < 0 or flags or not _SCHED_ATTR <= size & 0xFFFF_FFFF <= 4096:
        return EINVAL
    _check_self(pid)
    content = struct.pack("<IIQiI", _SCHED_ATTR, _OTHER, 0, process.nice, 0)
    process.put(addr, content.ljust(_SCHED_ATTR, b"\0"))
    return 0


@syscall(31, "ioprio_get")
def ioprio_get(process: LinuxProcess, which: Int, who: Int) -> int:
    """No priority of its own."""
    if not 1 <= which <= 3:
        return EINVAL
    return _IOPRIO_NONE


@syscall(30, "ioprio_set")
def ioprio_set(process: LinuxProcess, which: Int, who: Int, value: Int) -> int:
    """Nobody else reads or writes: a priority changes nothing."""
    return 0 if 1 <= which <= 3 else EINVAL
