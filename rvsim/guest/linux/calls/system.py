"""System calls about the process and the machine: its end, its identity, limits, extensions."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.calls.io import LARGEST_TRANSFER
from rvsim.guest.linux.clock import SECOND
from rvsim.guest.linux.errno import EINVAL, EOPNOTSUPP, EPERM, ESRCH
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.status import USER_ID
from rvsim.guest.linux.system import LIMITS, PARENT_ID, PROCESS_ID, UNAME
from rvsim.guest.linux.table import Addr, Flags, Int, ProcessExit, Size, syscall
from rvsim.hart.memory import W

_FIELD: Final = 65
_GRND_FLAGS: Final = 7
_GRND_KINDS: Final = 2 | 4
"""GRND_RANDOM and GRND_INSECURE: one or the other."""
_CAPABILITIES_1, _CAPABILITIES_2, _CAPABILITIES_3 = 0x1998_0330, 0x2007_1026, 0x2008_0522


@syscall(93, "exit")
def exit_(process: LinuxProcess, code: Int) -> int:
    """End the only thread, and so the process."""
    raise ProcessExit(code & 0xFF)


@syscall(94, "exit_group")
def exit_group(process: LinuxProcess, code: Int) -> int:
    """End the process."""
    raise ProcessExit(code & 0xFF)


@syscall(172, "getpid")
def getpid(process: LinuxProcess) -> int:
    """The process, always the same."""
    return PROCESS_ID


@syscall(173, "getppid")
def getppid(process: LinuxProcess) -> int:
    """Who started it."""
    return PARENT_ID


@syscall(178, "gettid")
def gettid(process: LinuxProcess) -> int:
    """The only thread, which has the process's number."""
    return PROCESS_ID


@syscall(155, "getpgid")
def getpgid(process: LinuxProcess, pid: Int) -> int:
    """A group of its own."""
    return PROCESS_ID if pid in (0, PROCESS_ID) else ESRCH


@syscall(156, "getsid")
def getsid(process: LinuxProcess, pid: Int) -> int:
    """A session of its own."""
    return PROCESS_ID if pid in (0, PROCESS_ID) else ESRCH


@syscall(174, "getuid")
def getuid(process: LinuxProcess) -> int:
    """The user, the same on each host."""
    return USER_ID


@syscall(175, "geteuid")
def geteuid(process: LinuxProcess) -> int:
    """The user."""
    return USER_ID


@syscall(176, "getgid")
def getgid(process: LinuxProcess) -> int:
    """The user's group."""
    return USER_ID


@syscall(177, "getegid")
def getegid(process: LinuxProcess) -> int:
    """The user's group."""
    return USER_ID


@syscall(160, "uname")
def uname(process: LinuxProcess, addr: Addr) -> int:
    """Tell the kernel's name and release, which are fixed."""
    process.put(addr, b"".join(text.encode().ljust(_FIELD, b"\0") for text in UNAME))
    return 0


@syscall(179, "sysinfo")
def sysinfo(process: LinuxProcess, addr: Addr) -> int:
    """Time since the start, memory, and one process."""
    memory = process.memory
    head = (process.clock.now(1) // SECOND, 0, 0, 0, memory.limit, memory.left)
    content = struct.pack("<10QHH4xQQI", *head, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    process.put(addr, content.ljust(112, b"\0"))
    return 0


@syscall(261, "prlimit64")
def prlimit64(process: LinuxProcess, pid: Int, resource: Int, new: Addr, old: Addr) -> int:
    """Tell a limit, or set it; that of descriptors and that of queued signals are obeyed."""
    if pid not in (0, PROCESS_ID):
        return ESRCH
    if resource not in LIMITS:
        return EINVAL
    if new:
        soft, hard = struct.unpack("<QQ", process.get(new, 16))
        if soft > hard:
            return EINVAL
        if hard > process.limits[resource][1]:
            return EPERM
    if old:
        process.put(old, struct.pack("<QQ", *process.limits[resource]))
    if new:
        process.limits[resource] = soft, hard
    return 0


@syscall(163, "getrlimit")
def getrlimit(process: LinuxProcess, resource: Int, addr: Addr) -> int:
    """Tell a limit."""
    return prlimit64(process, Int(0), resource, Addr(0), addr)


@syscall(164, "setrlimit")
def setrlimit(process: LinuxProcess, resource: Int, addr: Addr) -> int:
    """Take a limit."""
    return prlimit64(process, Int(0), resource, addr, Addr(0))


@syscall(278, "getrandom")
def getrandom(process: LinuxProcess, addr: Addr, count: Size, flags: Flags) -> int:
    """Bytes that are the same in each run."""
    if flags & ~_GRND_FLAGS or flags & _GRND_KINDS == _GRND_KINDS:
        return EINVAL
    count = Size(min(count, LARGEST_TRANSFER))
    process.check(addr, count, W)
    done = 0
    for start, length in process.deadline.parts(count):
        process.put(addr + start, process.random(length))
        done = start + length
    return done


@syscall(92, "personality")
def personality(process: LinuxProcess, persona: Flags) -> int:
    """PER_LINUX; the layout is the same in each run in any case."""
    old = process.persona
    if persona & 0xFFFF_FFFF != 0xFFFF_FFFF:
        process.persona = persona & 0xFFFF_FFFF
    return old


@syscall(90, "capget")
def capget(process: LinuxProcess, header: Addr, data: Addr) -> int:
    """No capabilities, as for any user."""
    version, pid = struct.unpack("<Ii", process.get(header, 8))
    if version not in (_CAPABILITIES_1, _CAPABILITIES_2, _CAPABILITIES_3):
        process.put(header, struct.pack("<I", _CAPABILITIES_3))
        return EINVAL if data else 0
    if pid not in (0, PROCESS_ID):
        return EINVAL if pid < 0 else ESRCH
    if data:
        process.put(data, bytes(12 if version == _CAPABILITIES_1 else 24))
    return 0


@syscall(258, "riscv_hwprobe")
def riscv_hwprobe(
    process: LinuxProcess, pairs: Addr, count: Size, cpu_size: Size, cpus: Addr, flags: Flags
) -> int:
    """Tell what the profile has, key by key; an unknown key becomes -1."""
    if flags or count > 1 << 16:
        return EINVAL
    if cpu_size or cpus:
        mask = process.get(cpus, min(cpu_size, 8))
        if not mask or not mask[0] & 1:
            return EINVAL
    words = struct.unpack(f"<{2 * count}q", process.get(pairs, 16 * count))
    answers = [(key, process.probe[key]) if key in process.probe else (-1, 0) for key in words[::2]]
    process.put(pairs, b"".join(struct.pack("<qQ", *answer) for answer in answers))
    return 0


@syscall(259, "riscv_flush_icache")
def riscv_flush_icache(process: LinuxProcess, start: Addr, end: Addr, flags: Flags) -> int:
    """Code is coherent, so there is nothing to flush."""
    return EINVAL if flags & ~1 else 0


@syscall(444, "landlock_create_ruleset")
def landlock_create_ruleset(process: LinuxProcess, rules: Addr, size: Size, flags: Flags) -> int:
    """A program can't give up rights here, as in a kernel that was started without Landlock."""
    return EOPNOTSUPP
