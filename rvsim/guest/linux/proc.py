"""The files of ``/proc``, made from what the process and its profile are when they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np

from rvsim.guest.elf import Image
from rvsim.guest.linux.clock import SECOND, Clock
from rvsim.guest.linux.cpu import Cpu
from rvsim.guest.linux.descriptors import FileTable
from rvsim.guest.linux.errno import ENOENT, CallError
from rvsim.guest.linux.file_nodes import Magic
from rvsim.guest.linux.grants import FileTree
from rvsim.guest.linux.made import Made
from rvsim.guest.linux.mappings import Mappings, Span
from rvsim.guest.linux.nodes import Directory, Link, Node, Text, folder, text
from rvsim.guest.linux.settings import Settings
from rvsim.guest.linux.signals import SIG_IGN, Signals
from rvsim.guest.linux.spots import Mount, guest_path
from rvsim.guest.linux.stack import Stack, Started
from rvsim.guest.linux.status import USER_ID, status_of
from rvsim.guest.linux.system import (
    CLOCK_TICKS,
    LIMITS,
    PARENT_ID,
    PROCESS_ID,
    RLIMIT_SIGPENDING,
    UNAME,
    UNLIMITED,
)
from rvsim.hart.memory import LOWEST_FREE, PAGE, Memory, R, W, X

_NAME_COLUMN: Final = 73
"""Where ``/proc/self/maps`` has the names."""

_LIMIT_NAMES: Final = (
    ("cpu time", "seconds"), ("file size", "bytes"), ("data size", "bytes"),
    ("stack size", "bytes"), ("core file size", "bytes"), ("resident set", "bytes"),
    ("processes", "processes"), ("open files", "files"), ("locked memory", "bytes"),
    ("address space", "bytes"), ("file locks", "locks"), ("pending signals", "signals"),
    ("msgqueue size", "bytes"), ("nice priority", ""), ("realtime priority", ""),
    ("realtime timeout", "us"),
)  # fmt: skip
"""The resources of `LIMITS` in their order, and their units."""

_BOOT_ID: Final = b"72767369-6d00-4000-8000-000000000000\n"


class ShownProcess(Protocol):
    """What ``/proc`` needs to know of the process."""

    memory: Memory
    image: Image
    mappings: Mappings
    stack: Stack
    started: Started
    brk_start: int
    clock: Clock
    signals: Signals
    limits: dict[int, tuple[int, int]]
    settings: Settings
    umask: int
    thread_name: bytes
    tree: FileTree
    files: FileTable

    def moving_spans(self) -> list[Span]:
        """The areas of memory whose size changes."""


def proc(process: ShownProcess, cpu: Cpu) -> Directory:
    """The folder ``/proc``, with one process in it."""
    own = _own(process)
    pid = str(PROCESS_ID)

    def entries() -> dict[bytes, Node]:
        return {pid.encode(): own, **fixed}

    fixed: dict[bytes, Node] = {
        b"self": Link(pid.encode),
        b"thread-self": Link(f"{pid}/task/{pid}".encode),
        b"cpuinfo": Text(cpu.cpuinfo),
        b"meminfo": Text(lambda: _meminfo(process)),
        b"stat": Text(lambda: _machine_stat(process)),
        b"uptime": Text(lambda: _uptime(process)),
        b"loadavg": text(f"0.00 0.00 0.00 1/1 {pid}"),
        b"version": text(f"{UNAME[0]} version {UNAME[2]} ({UNAME[1]}) {UNAME[3]}"),
        b"filesystems": text("nodev\tproc\nnodev\tsysfs\nnodev\tdevtmpfs"),
        b"mounts": Link(lambda: b"self/mounts"),
        b"sys": _settings(),
    }
    return Directory(entries)


def _settings() -> Directory:
    """What ``/proc/sys`` has that programs read."""
    random = folder(boot_id=Text(lambda: _BOOT_ID), entropy_avail=text(256), poolsize=text(256))
    kernel = folder(
        ostype=text(UNAME[0]),
        osrelease=text(UNAME[2]),
        hostname=text(UNAME[1]),
        version=text(UNAME[3]),
        domainname=text(UNAME[5]),
        pid_max=text(32768),
        ngroups_max=text(65536),
        cap_last_cap=text(40),
        randomize_va_space=text(0),
        perf_event_paranoid=text(2),
        perf_user_access=text(1),
        random=random,
    )
    memory = folder(
        overcommit_memory=text(0), max_map_count=text(65530), mmap_min_addr=text(LOWEST_FREE)
    )
    return folder(kernel=kernel, vm=memory, fs=folder(nr_open=text(1048576)))


# The process


def _own(process: ShownProcess) -> Directory:
    files: dict[str, Callable[[], bytes]] = {
        "auxv": lambda: process.started.auxv,
        "cmdline": lambda: _memory_of(process, process.started.arguments),
        "environ": lambda: _memory_of(process, process.started.environment),
        "comm": lambda: process.thread_name + b"\n",
        "maps": lambda: maps(process),
        "stat": lambda: _stat(process),
        "statm": lambda: _statm(process),
        "status": lambda: _status(process),
        "mounts": lambda: _mounts(process),
        "limits": lambda: _limits(process),
    }
    own: dict[bytes, Node] = {name.encode(): Text(make) for name, make in files.items()}
    own |= {
        b"exe": Magic(lambda: _executable(process).name, lambda: _executable(process)),
        b"cwd": Magic(lambda: guest_path(process.tree.cwd.name()), lambda: process.tree.cwd),
        b"root": Link(lambda: b"/"),
        b"fd": Directory(lambda: open_files(process)),
    }
    thread = Directory(lambda: own)  # the only thread is the process
    task = Directory(lambda: {str(PROCESS_ID).encode(): thread})
    return Directory(lambda: {**own, b"task": task})


def open_files(process: ShownProcess) -> dict[bytes, Node]:
    """A link for each descriptor."""

    def link(fd: int) -> Node:
        return Magic(lambda: process.files.any(fd).shown_name(), lambda: process.files.any(fd))

    return {str(fd).encode(): link(fd) for fd in process.files.numbers()}


def _executable(process: ShownProcess) -> Made:
    """The program's file as it was when it was loaded, whatever its name leads to by now."""
    source = process.image.source
    if source is None:
        raise CallError(ENOENT)
    content = source.content
    return Made(lambda: content, 0, name=source.path, status=status_of(source.status))


def _memory_of(process: ShownProcess, span: range) -> bytes:
    memory = process.memory
    return memory.read(span.start, len(span)) if memory.mapped(span.start, len(span)) else b""


def maps(process: ShownProcess) -> bytes:
    """``/proc/self/maps``: a line for each run of pages of one kind."""
    spans = process.mappings.spans(process.memory, process.moving_spans())
    return b"".join(_map_line(span, process.memory.permission(span.start)) for span in spans)


def _map_line(span: Span, perm: int) -> bytes:
    flags = "".join(
        letter if perm & bit else "-" for letter, bit in (("r", R), ("w", W), ("x", X))
    ) + ("s" if span.shared else "p")
    inode, device = span.inode, "00:01" if span.inode else "00:00"
    line = f"{span.start:08x}-{span.end:08x} {flags} {span.offset:08x} {device} {inode}".encode()
    name = span.name.replace(b"\n", b"\\012")
    return (line.ljust(_NAME_COLUMN - 1) + b" " + name if name else line + b" ") + b"\n"


def _mapped_pages(process: ShownProcess) -> int:
    return process.memory.areas.total


def _statm(process: ShownProcess) -> bytes:
    pages = _mapped_pages(process)
    memory = process.memory
    code = int(np.count_nonzero(memory.perm[memory.held_pages()] & X))
    return f"{pages} {pages} 0 {code} 0 {pages - code} 0\n".encode()


def _stat(process: ShownProcess) -> bytes:
    """The fields of proc(5), by their numbers; those that are not here are 0."""
    pending, blocked, ignored, caught = _signal_sets(process)
    pages = _mapped_pages(process)
    fields = {
        4: PARENT_ID, 5: PROCESS_ID, 6: PROCESS_ID, 8: -1,
        14: _ticks(process), 18: 20, 20: 1,
        23: pages * PAGE, 24: pages, 25: (1 << 64) - 1,
        28: process.stack.top, 31: _mask(pending), 32: _mask(blocked),
        33: _mask(ignored), 34: _mask(caught), 38: 17, 47: process.brk_start,
        48: process.started.arguments.start, 49: process.started.arguments.stop,
        50: process.started.environment.start, 51: process.started.environment.stop,
    }  # fmt: skip
    rest = " ".join(str(fields.get(n, 0)) for n in range(4, 53))
    return b"%d (%s) R %s\n" % (PROCESS_ID, process.thread_name, rest.encode())


def _signal_sets(process: ShownProcess) -> tuple[int, int, int, int]:
    """The signals that are pending, blocked, ignored and caught."""
    signals = process.signals
    ignored = sum(1 << n - 1 for n, a in signals.actions.items() if a.handler == SIG_IGN)
    caught = sum(1 << n - 1 for n, a in signals.actions.items() if a.handler > SIG_IGN)
    return signals.pending_bits, signals.mask, ignored, caught


def _mask(signals: int) -> int:
    return signals & 0x7FFF_FFFF  # the file has the first 31 only


def _ticks(process: ShownProcess) -> int:
    return process.clock.cpu() * CLOCK_TICKS // SECOND


def _status(process: ShownProcess) -> bytes:
    kib = _mapped_pages(process) * PAGE // 1024
    ids = "\t".join([str(USER_ID)] * 4)
    pending, blocked, ignored, caught = _signal_sets(process)
    lines = {
        "Name": process.thread_name.decode("utf-8", "backslashreplace"),
        "Umask": f"{process.umask:04o}",
        "State": "R (running)",
        "Tgid": PROCESS_ID, "Ngid": 0, "Pid": PROCESS_ID, "PPid": PARENT_ID, "TracerPid": 0,
        "Uid": ids, "Gid": ids, "FDSize": 64, "Groups": f"{USER_ID} ",
        "VmPeak": f"{kib:8} kB", "VmSize": f"{kib:8} kB", "VmLck": f"{0:8} kB",
        "VmHWM": f"{kib:8} kB", "VmRSS": f"{kib:8} kB",
        "VmStk": f"{process.stack.size // 1024:8} kB",
        "Threads": 1,
        "SigQ": f"{process.signals.queued}/{process.limits[RLIMIT_SIGPENDING][0]}",
        "SigPnd": f"{0:016x}", "ShdPnd": f"{pending:016x}",
        "SigBlk": f"{blocked:016x}",
        "SigIgn": f"{ignored:016x}", "SigCgt": f"{caught:016x}",
        **{f"Cap{kind}": f"{0:016x}" for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")},
        "NoNewPrivs": int(process.settings.no_new_privileges), "Seccomp": 0,
        "Cpus_allowed": 1, "Cpus_allowed_list": 0,
        "voluntary_ctxt_switches": 0, "nonvoluntary_ctxt_switches": 0,
    }  # fmt: skip
    return "".join(f"{name}:\t{value}\n" for name, value in lines.items()).encode()


def _limits(process: ShownProcess) -> bytes:
    """Soft and hard limit of each resource, with its unit."""
    rows = [("Limit", "Soft Limit", "Hard Limit", "Units")]
    for resource, (name, unit) in enumerate(_LIMIT_NAMES):
        soft, hard = process.limits.get(resource, LIMITS[resource])
        rows.append((f"Max {name}", _limit(soft), _limit(hard), unit))
    return "".join(f"{a:<25} {b:<20} {c:<20} {d:<10}\n" for a, b, c, d in rows).encode()


def _limit(value: int) -> str:
    return "unlimited" if value == UNLIMITED else str(value)


def _mounts(process: ShownProcess) -> bytes:
    own = ["proc /proc proc ro 0 0", "sysfs /sys sysfs ro 0 0", "devtmpfs /dev devtmpfs ro 0 0"]
    granted = [_mount_line(mount) for mount in process.tree.mounts]
    return "".join(f"{line}\n" for line in own + granted).encode("utf-8", "surrogateescape")


def _mount_line(mount: Mount) -> str:
    kind = "sysroot" if mount.sysroot else "grant"
    access = "rw" if mount.writable else "ro"
    return f"{kind} {_escaped(guest_path(mount.parts))} {kind} {access} 0 0"


def _escaped(path: bytes) -> str:
    return (
        "".join(f"\\{byte:03o}" if byte in b" \t\n\\" else chr(byte) for byte in path)
        .encode("latin-1")
        .decode("utf-8", "surrogateescape")
    )


# The machine


def _meminfo(process: ShownProcess) -> bytes:
    total = process.memory.limit // 1024
    free = process.memory.left // 1024
    lines = {"MemTotal": total, "MemFree": free, "MemAvailable": free, "Buffers": 0, "Cached": 0,
             "SwapCached": 0, "SwapTotal": 0, "SwapFree": 0}  # fmt: skip
    return "".join(f"{name + ':':<15} {value:8} kB\n" for name, value in lines.items()).encode()


def _uptime(process: ShownProcess) -> bytes:
    hundredths = process.clock.now(7) * 100 // SECOND
    idle = max(0, hundredths - process.clock.cpu() * 100 // SECOND)
    return f"{_decimal(hundredths)} {_decimal(idle)}\n".encode()


def _decimal(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02}"


def _machine_stat(process: ShownProcess) -> bytes:
    user = _ticks(process)
    idle = max(0, process.clock.now(7) * CLOCK_TICKS // SECOND - user)
    times = f"{user} 0 0 {idle} 0 0 0 0 0 0"
    lines = (f"cpu  {times}", f"cpu0 {times}", "intr 0", "ctxt 0", "btime 0", "processes 1",
             "procs_running 1", "procs_blocked 0")  # fmt: skip
    return "".join(f"{line}\n" for line in lines).encode()
