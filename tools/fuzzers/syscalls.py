"""Random system calls with hostile arguments: the host neither fails, nor waits, nor swells.

Each case is a process with files of every kind and structures of every shape, and some calls: any
number from 0 to 500, known ones more often, whose arguments are what breaks things (0, -1, the ends
of the address space, of a page, of what is mapped), or what is right but for one field.

    python tools/fuzz.py syscalls --minutes 1

A finding is an exception other than those that end a program, a result that Linux does not give, a
call that computes far past its deadline, a changed file of the host, or a process of the host that
has become far larger.  It is shown with the fewest calls that still show it, and its seed.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import stat
import struct
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rvsim.guest.elf import Image, Segment
from rvsim.guest.linux import BlockedForEver, Grant, LinuxKernel, LinuxProcess, ProcessExit
from rvsim.guest.linux.deadline import CutShort
from rvsim.guest.linux.system import PROCESS_ID
from rvsim.guest.linux.table import CALLS
from rvsim.hart.memory import ADDRESS_SPACE, PAGE, Memory, R, W, X
from rvsim.hart.state import State
from tools.fuzzers import fuzz

SIZE: Final = 64 << 20
DATA: Final = 0x20000
TEXTS: Final = DATA + 4 * PAGE
STRUCTURES: Final = DATA + 8 * PAGE
DATA_END: Final = DATA + 12 * PAGE
READ_ONLY, NO_ACCESS, CODE = 0x40000, 0x41000, 0x42000
M64: Final = (1 << 64) - 1
SECOND: Final = 10**9

NUMBERS: Final = range(501)
LONGEST_CASE: Final = 60
PATIENCE: Final = 0.02
"""Seconds until a call's deadline."""
TOO_LONG: Final = 0.12
"""Seconds of processor time that are a finding: the deadline, and 100 ms."""
TOO_LARGE: Final = 1 << 20
"""KiB by which the host's process may grow: twice as much as is captured and mapped at most."""

PATHS: Final = (
    "/d", "/d/file", "/d/new", "/d/sub", "/d/sub/deep", "/d/up", "/d/out/x", "/d/..", "/d/new/",
    ".", "..", "", "/", "file", "/etc/passwd", "/dev/zero", "/dev/null", "/proc/self/exe",
    "/proc/cpuinfo", "/proc/self/maps", "/sys/devices/system/cpu/online", "/d/" + "x" * 300,
)  # fmt: skip
SCALARS: Final = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 24, 32, 63, 64, 65, 100, 127, 128, 255, 256, 1000, 1023,
    1024, 1025, PAGE - 1, PAGE, PAGE + 1, 1 << 16, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31,
    (1 << 32) - 1, 1 << 32, 1 << 37, 1 << 38, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 63) + 1,
    M64 - PAGE, M64 - 7, M64 - 1, M64, -100 & M64, -1000 & M64, 0xFFFF_FFFF_8000_0000,
)  # fmt: skip
FLAGS: Final = (
    0o100, 0o102, 0o1102, 0o4000, 0o200000, 0o10000000, 0o10400000, 0o2000000, 0o2004000,
    0x22, 0x32, 0x4022, 0x4032, 0x100022, 0x200, 0x100, 0x1000, 1 << 31, 1 << 30,
    128, 137, 256, 393, 1030, 1031,
)  # fmt: skip
ADDRESSES: Final = (
    0, 8, DATA, DATA + 1, DATA + 512, DATA_END - 8, DATA_END - 1, DATA_END, READ_ONLY,
    READ_ONLY + PAGE - 8, NO_ACCESS, NO_ACCESS - 4, CODE, CODE + 4, CODE + PAGE - 16, SIZE - 8,
    SIZE, 1 << 32, 1 << 38, (1 << 63) - 8, 1 << 63, M64 - 7, M64,
)  # fmt: skip
EXTREMES: Final = (0, 1, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, M64)
SHAPES: Final = (
    (0, 1000), (0, SECOND - 1), (5, 0), (1 << 40, 0),  # timespec
    (0, 1000, 0, 1000), (0, 0, 0, 5), (0, 1, 0, 1),  # itimerspec, itimerval
    (0x12340, 0, 0), (1, 0, 0), (0x12340, 0x5000_0004, M64),  # sigaction
    (0,), (M64,), (1 << 39 | 1 << 13,),  # sigset
    (DATA, 64, DATA + 100, 10, READ_ONLY, PAGE, DATA, 0),  # iovec
    (DATA, SIZE, DATA, 12 * PAGE, READ_ONLY, PAGE),
    (0 | 1 << 32, 1 | 4 << 32, 3 | 1 << 32, 7 | 5 << 32),  # pollfd
    (0x8000_0001, 5), (5, 7), (0x4000_0004, 9),  # epoll_event
    (0x55, 0), (STRUCTURES, 8),  # fd_set, and the signals of pselect6
    (DATA, 0, 4096), (7, 40), (7, 14 | 1 << 32),  # stack_t, sigevent
    (40, 0xFFFF_FFFF, 1000 << 32 | 1000, 5),  # siginfo
    (0 | 112 << 32, 0, 0, 0), (0x2008_0522, 0, 0), (0o100, 0o644, 0),  # perf, capget, open_how
)  # fmt: skip
SLOT: Final = 64
"""Bytes between structures."""

IMAGE: Final = Image(
    name="fuzz",
    entry=DATA,
    bias=0,
    is_pie=False,
    phdr_addr=DATA + 64,
    phdr_num=1,
    phdr_entsize=56,
    segments=(Segment(DATA, DATA_END - DATA, 0, 0, R | W),),
    data_end=DATA_END,
    flags=5,
    arch=None,
)

SystemCall = tuple[int, tuple[int, ...]]


def _text(path: str) -> int:
    return TEXTS + 512 * PATHS.index(path)


def _shape(*words: int) -> int:
    return STRUCTURES + SLOT * SHAPES.index(words)


HERE: Final = -100 & M64
ROOM: Final = DATA + PAGE
FILE, FILE_TO_READ, FOLDER, DEVICE, READER, WRITER, READER_NOW, WRITER_NOW = range(3, 11)
COUNTER, TIMER, EPOLL, SIGNALS, MEMORY = range(11, 16)
_OPENED: Final = (
    (56, HERE, _text("/d/file"), 2), (56, HERE, _text("/d/file"), 0),
    (56, HERE, _text("/d"), 0o200000), (56, HERE, _text("/dev/zero"), 2), (59, DATA, 0),
    (59, DATA, 0o4000), (19, 3, 0o4000), (85, 1, 0o4000), (20, 0),
    (74, M64, _shape(1 << 39 | 1 << 13), 8, 0o4000), (279, _text("file"), 0),
)  # fmt: skip
"""The calls that open the descriptors above."""

_BRIEF, _TIMES, _EVENT = _shape(0, 1000), _shape(0, 1000, 0, 1000), _shape(5, 7)
_VECTORS: Final = _shape(DATA, 64, DATA + 100, 10, READ_ONLY, PAGE, DATA, 0)
_SET, _INFO = _shape(1 << 39 | 1 << 13), _shape(40, 0xFFFF_FFFF, 1000 << 32 | 1000, 5)
_RIGHT: Final = (
    (21, EPOLL, 1, READER, _EVENT), (21, EPOLL, 1, TIMER, _shape(0x8000_0001, 5)),
    (21, EPOLL, 1, COUNTER, _shape(0x4000_0004, 9)), (21, EPOLL, 2, READER, 0),
    (21, EPOLL, 3, COUNTER, _EVENT), (22, EPOLL, ROOM, 8, 5, 0, 8), (22, EPOLL, ROOM, 8, 0),
    (441, EPOLL, ROOM, 8, _BRIEF, _SET, 8), (20, 0), (21, 16, 1, EPOLL, _EVENT),
    (73, _shape(0 | 1 << 32, 1 | 4 << 32, 3 | 1 << 32, 7 | 5 << 32), 4, _BRIEF, 0, 8),
    (72, 10, _shape(0x55, 0), 0, 0, _BRIEF, _shape(STRUCTURES, 8)),
    (63, FILE, ROOM, 100), (63, READER_NOW, ROOM, 100), (63, COUNTER, ROOM, 8),
    (63, TIMER, ROOM, 8), (63, SIGNALS, ROOM, 256), (63, 0, ROOM, 10), (63, DEVICE, ROOM, PAGE),
    (64, FILE, ROOM, 100), (64, WRITER, ROOM, 100), (64, WRITER_NOW, ROOM, 2 * PAGE),
    (64, COUNTER, _BRIEF, 8), (64, MEMORY, ROOM, PAGE), (64, 1, ROOM, 5), (65, FILE, _VECTORS, 2),
    (66, FILE, _VECTORS, 4), (69, FILE, _VECTORS, 2, 10), (70, FILE, _VECTORS, 2, 10),
    (67, FILE, ROOM, 50, 9990), (68, MEMORY, ROOM, 50, 100), (62, FILE, 5, 0), (62, FOLDER, 0, 0),
    (61, FOLDER, ROOM, PAGE), (46, FILE, 5000), (46, MEMORY, 50_000), (47, MEMORY, 0, 0, 100),
    (47, FILE, 0, 0, 100), (71, WRITER, FILE, 0, 100), (71, FILE, MEMORY, _shape(5, 0), 100),
    (285, FILE, 0, MEMORY, 0, 100, 0), (285, FILE, _shape(5, 0), FILE, 0, 100, 0),
    (76, READER, 0, FILE, 0, 10, 0), (76, FILE, 0, WRITER, 0, 10, 0), (77, READER, WRITER_NOW, 9),
    (25, READER, 1031, 1 << 16), (25, FILE, 0, 20), (25, FILE, 4, 0o4000), (25, FILE, 5, ROOM),
    (24, FILE, 20, 0), (23, WRITER), (57, READER), (57, WRITER), (57, EPOLL), (436, 16, 30, 0),
    (86, TIMER, 0, _TIMES, ROOM), (87, TIMER, ROOM), (103, 0, _TIMES, ROOM), (103, 2, _TIMES, 0),
    (102, 0, ROOM), (107, 1, _shape(7, 40), ROOM), (107, 0, 0, ROOM), (110, 0, 0, _TIMES, ROOM),
    (108, 0, ROOM), (109, 0), (111, 0), (101, _BRIEF, ROOM), (115, 1, 1, _BRIEF, ROOM),
    (98, DATA, 0, 0, _BRIEF), (98, DATA, 137, 0, _BRIEF, 0, M64 >> 32), (113, 1, ROOM),
    (134, 40, _shape(0x12340, 0, 0), ROOM, 8), (134, 14, _shape(0x12340, 0x5000_0004, M64), 0, 8),
    (134, 13, _shape(1, 0, 0), 0, 8), (135, 0, _SET, ROOM, 8), (135, 2, _shape(0), 0, 8),
    (136, ROOM, 8), (133, _shape(0), 8), (137, _SET, ROOM, _BRIEF, 8), (132, 0, ROOM),
    (132, _shape(DATA, 0, 4096), 0), (138, PROCESS_ID, 40, _INFO),
    (131, PROCESS_ID, PROCESS_ID, 40), (240, PROCESS_ID, PROCESS_ID, 14, _INFO),
    (129, PROCESS_ID, 40), (139,),
    (222, 0, 3 * PAGE, 3, 0x22, M64, 0), (222, DATA, PAGE, 3, 0x32, M64, 0),
    (222, 0, 1 << 37, 0, 0x4022, M64, 0), (222, 0, 1 << 36, 3, 0x4022, M64, 0),
    (222, 0, 3 * PAGE, 1, 2, FILE, 0), (222, 0, PAGE, 3, 1, MEMORY, 0), (214, DATA_END + 5 * PAGE),
    (215, DATA_END, PAGE), (226, DATA + PAGE, PAGE, 1), (226, CODE, PAGE, 7),
    (216, DATA + 2 * PAGE, PAGE, 2 * PAGE, 1, 0), (216, DATA + 2 * PAGE, PAGE, PAGE, 3, 0x100000),
    (233, DATA, PAGE, 4), (232, DATA, PAGE, ROOM), (227, DATA, PAGE, 4), (228, DATA, PAGE),
    (56, HERE, _text("/d/new"), 0o102, 0o600), (56, FOLDER, _text("file"), 0), (79, HERE,
    _text("/d/sub"), ROOM, 0), (291, HERE, _text("/d/sub"), 0, 0x7FF, ROOM), (48, HERE,
    _text("/d/file"), 4), (78, HERE, _text("/d/up"), ROOM, 100), (35, HERE, _text("/d/new"), 0),
    (34, HERE, _text("/d/new"), 0o755), (276, HERE, _text("/d/file"), HERE, _text("/d/new"), 0),
    (43, _text("/d"), ROOM), (44, FILE, ROOM), (45, _text("/d/file"), 7), (49, _text("/d/sub")),
    (261, 0, 7, 0, ROOM), (261, 0, 11, _shape(5, 7), 0), (278, ROOM, 100, 0), (167, 69, 2),
    (258, _TIMES, 2, 0, 0, 0), (160, ROOM), (179, ROOM), (165, 0, ROOM), (153, ROOM),
    (17, ROOM, 99), (123, 0, 8, ROOM), (122, 0, 8, _EVENT), (275, 0, ROOM, 48, 0),
    (158, 5, ROOM), (90, ROOM, ROOM), (241, _shape(0 | 112 << 32, 0, 0, 0), 0, M64, M64, 0),
    (29, FILE, 0x5401, ROOM),
)  # fmt: skip
"""Calls that do something: hostile are only some of their arguments."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is in memory, and the calls; the seed makes the same case again."""

    seed: int
    structures: tuple[bytes, ...]
    calls: tuple[SystemCall, ...]
    host_time: bool


def make_case(seed: int) -> Case:
    """The case of a seed: the first ones try every hostile value in each argument of each call."""
    if 0 < seed <= 6 * len(_SWEPT):
        return Case(seed, tuple(map(_packed, SHAPES)), _sweep(seed - 1), host_time=False)
    draw = random.Random(seed)
    structures = []
    for shape in SHAPES:
        words = list(shape)
        if draw.random() < 0.3:
            words[draw.randrange(len(words))] = draw.choice(SCALARS + EXTREMES)
        structures.append(_packed(words))
    hostility = draw.choice((0.1, 0.5, 0.9))
    calls = tuple(_call(draw, hostility) for _ in range(draw.randint(1, LONGEST_CASE)))
    return Case(seed, tuple(structures), calls, host_time=draw.random() < 0.1)


def _packed(words: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(words)}Q", *words)


def _sweep(index: int) -> tuple[SystemCall, ...]:
    """One argument of one call with each hostile value."""
    number, *fitting = _SWEPT[index // 6]
    fitting += [0] * (6 - len(fitting))
    calls = []
    for value in sorted({*EXTREMES, *SCALARS, *ADDRESSES}):
        fitting[index % 6] = value
        calls.append((number, tuple(fitting)))
    return tuple(calls)


def _call(draw: random.Random, hostility: float) -> SystemCall:
    if draw.random() < 0.5:
        number, *fitting = draw.choice(_RIGHT)
        fitting += [0] * (6 - len(fitting))
        if FILE <= fitting[0] <= MEMORY and draw.random() < 0.3:
            fitting[0] = draw.randint(FILE, MEMORY)
    else:
        number = draw.choice(_KNOWN) if draw.random() < 0.95 else draw.choice(NUMBERS)
        kinds = CALLS[number].kinds if number in CALLS else ()
        fitting = [_fitting(draw, kind) for kind in (*kinds, *("Flags",) * (6 - len(kinds)))]
    if draw.random() < hostility:
        used = max((i for i, value in enumerate(fitting) if value), default=0)
        for _ in range(draw.choice((1, 1, 1, 2, 6))):
            hostile = draw.choice((EXTREMES, SCALARS, ADDRESSES))
            fitting[draw.randint(0, min(5, used + 1))] = draw.choice(hostile)
    return number, tuple(fitting)


def _fitting(draw: random.Random, kind: str) -> int:
    """A value that a parameter of a kind may well have."""
    match kind:
        case "Text":
            return TEXTS + 512 * draw.randrange(len(PATHS))
        case "Addr":
            structure = STRUCTURES + SLOT * draw.randrange(len(SHAPES))
            return draw.choice((structure, structure, structure, 0, DATA, DATA + PAGE, CODE))
        case "Int":  # descriptors, numbers of signals and of commands, and the process
            return draw.choice((*range(16), *range(16), M64, PROCESS_ID))
        case "Size" | "Long":
            return draw.choice((0, 1, 2, 8, 8, 16, 24, 48, 64, 100, 128, PAGE, 3 * PAGE))
        case _:
            return draw.choice((0, 0, 0, 1, 2, 3, 4, draw.choice(FLAGS)))


# A call that ends the program would end most cases: those of `exit` and `exit_group` are rare.
_KNOWN: Final = [number for number in sorted(CALLS) if number not in (93, 94)]
_SWEPT: Final = (*_RIGHT, *((number,) for number in _KNOWN if number not in {r[0] for r in _RIGHT}))


_CONTENTS: Final = {"file": b"0123456789" * 1000, "sub/deep": b"deep"}
_LINKS: Final = ("up", "out")
_NAMES: Final = {"sub", *_LINKS, *_CONTENTS}


class Host:
    """The folder that a guest may change, in one that it may not."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        (self.root / "secret").write_text("secret")
        self.granted = self.root / "in"

    def fill(self) -> None:
        """Have the granted folder as each case finds it."""
        if self._has_its_kinds():
            for name, content in _CONTENTS.items():
                path = self.granted / name
                if path.stat().st_size != len(content) or path.read_bytes() != content:
                    path.write_bytes(content)
            return
        shutil.rmtree(self.granted, ignore_errors=True)
        (self.granted / "sub").mkdir(parents=True)
        for name, content in _CONTENTS.items():
            (self.granted / name).write_bytes(content)
        (self.granted / "up").symlink_to("..")
        (self.granted / "out").symlink_to(self.root)

    def _has_its_kinds(self) -> bool:
        """Whether each name is there and what it was: a case may rename one over another."""
        if not self.granted.exists() or self._names() != _NAMES:
            return False
        modes = {name: (self.granted / name).lstat().st_mode for name in _NAMES}
        links = {name for name, mode in modes.items() if stat.S_ISLNK(mode)}
        files = {name for name, mode in modes.items() if stat.S_ISREG(mode)}
        return links == set(_LINKS) and files == set(_CONTENTS)

    def _names(self) -> set[str]:
        return {str(path.relative_to(self.granted)) for path in self.granted.rglob("*")}

    def is_unharmed(self) -> bool:
        """Whether all outside of the granted folder is as it was."""
        names = sorted(path.name for path in self.root.iterdir())
        return names == ["in", "secret"] and (self.root / "secret").read_text() == "secret"

    def remove(self) -> None:
        shutil.rmtree(self.root)


class Guest:
    """A process whose registers are set by hand."""

    def __init__(self, case: Case, host: Host) -> None:
        memory = self.memory = Memory(SIZE, space=ADDRESS_SPACE)
        memory.map(DATA, DATA_END - DATA, R | W)
        memory.map(READ_ONLY, PAGE, R)
        memory.map(NO_ACCESS, PAGE, 0)
        memory.map(CODE, PAGE, R | W | X)
        memory.mark_code(CODE, 4)
        for i, path in enumerate(PATHS):
            memory.write(TEXTS + 512 * i, path.encode() + b"\0")
        for i, content in enumerate(case.structures):
            memory.write(STRUCTURES + SLOT * i, content)
        reader, self._writer = os.pipe()
        os.write(self._writer, b"input")
        self._stdin = open(reader, "rb")  # noqa: SIM115
        self.process = LinuxProcess(
            memory,
            IMAGE,
            hwcap=1 << 21,
            stdin=self._stdin,
            dirs=[Grant(str(host.granted), "/d", writable=True)],
            host_time=case.host_time,
        )
        self._kernel = LinuxKernel(self.process)
        self.state = State(256)
        self.process.start(self.state)
        self._open_files()

    def _open_files(self) -> None:
        """Descriptors 3 to 15: files, a folder, a device, and everything that waits."""
        for number, *arguments in _OPENED:
            self.call(number, arguments)

    def call(self, number: int, arguments: Sequence[int]) -> int:
        """The result of a call, signed."""
        state = self.state
        state.x[17] = number
        for i, value in enumerate(arguments):
            state.x[10 + i] = value
        self.process.deadline.at = time.monotonic() + PATIENCE
        self._kernel.syscall(state)
        result = state.x[10]
        return result - (1 << 64) if result >> 63 else result

    def close(self) -> None:
        self.process.close()
        self._stdin.close()
        os.close(self._writer)


def finding(case: Case, host: Host) -> str | None:
    """What went wrong with a case, if anything did."""
    host.fill()
    guest = Guest(case, host)
    try:
        for number, arguments in case.calls:
            found = _one(guest, number, arguments)
            if found:
                return f"{shown((number, arguments))}: {found}"
            if found == "":
                guest.close()
                guest = Guest(case, host)
    finally:
        guest.close()
    return None if host.is_unharmed() else "a file outside of the granted folder has changed"


def _one(guest: Guest, number: int, arguments: tuple[int, ...]) -> str | None:
    """What went wrong with a call; nothing, as a text, if it has ended the program."""
    start = time.thread_time()
    ended = None
    try:
        before = guest.state["pc"]
        result = guest.call(number, arguments)
        handled = guest.state["pc"] != before
        if not handled and number != 139 and not result > -4096:
            return f"the result {result} is neither an error nor a number"
    except CutShort:
        pass
    except (ProcessExit, BlockedForEver):
        ended = ""
    except Exception:
        return traceback.format_exc()
    took = time.thread_time() - start
    return ended if took <= TOO_LONG else f"takes {took:.2f} s of processor time"


def shown(call: SystemCall) -> str:
    """The call as a trace shows it, with all six registers."""
    number, arguments = call
    name = CALLS[number].name if number in CALLS else f"syscall {number}"
    return f"{name}({', '.join(map(hex, arguments))})"


def shrunk(case: Case, host: Host) -> Case:
    """The case without the calls that its finding does not need."""
    calls = list(case.calls)
    for i in reversed(range(len(calls))):
        fewer = Case(case.seed, case.structures, tuple(calls[:i] + calls[i + 1 :]), case.host_time)
        if finding(fewer, host) is not None:
            del calls[i]
    return Case(case.seed, case.structures, tuple(calls), case.host_time)


class Finding(Exception):
    """What went wrong with a case, and the calls that show it."""

    def __init__(self, case: Case, found: str) -> None:
        super().__init__("\n".join([found.rstrip(), *(f"    {shown(c)}" for c in case.calls)]))


class SystemCalls:
    """Tries the cases of seeds, in a folder of its own."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def one(self, seed: int) -> None:
        """Raise a `Finding` if there is one."""
        case = make_case(seed)
        found = finding(case, self._host)
        if found is not None:
            raise Finding(shrunk(case, self._host), found)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._size
        if grown > TOO_LARGE:
            raise Finding(case, f"the host's process has grown by {grown >> 10} MiB")


def main(arguments: Sequence[str]) -> int:
    host = Host()
    try:
        description = (__doc__ or "").splitlines()[0]
        return fuzz("syscalls", description, SystemCalls(host).one, arguments)
    finally:
        host.remove()
