"""A Linux process: what it starts with, and what the kernel knows about it.

Everything is deterministic: random bytes, user ids and layout are fixed, clocks show what the
constructor's `now_ns` says (or the host's time, if that is asked for).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import BinaryIO, Final

from rvsim.config import NO_FACTS, SyscallVector
from rvsim.guest.elf import Image
from rvsim.guest.linux.clock import Clock, HostClock, ModelClock
from rvsim.guest.linux.cpu import Cpu
from rvsim.guest.linux.deadline import Deadline
from rvsim.guest.linux.descriptors import FileTable
from rvsim.guest.linux.errno import EFAULT, CallError
from rvsim.guest.linux.grants import FileTree, Grant
from rvsim.guest.linux.loader import load_loader, looks_like_library, missing_library
from rvsim.guest.linux.mappings import Mappings, Span
from rvsim.guest.linux.memory_file import Quota
from rvsim.guest.linux.nodes import folder
from rvsim.guest.linux.perf import Counters
from rvsim.guest.linux.proc import proc
from rvsim.guest.linux.random_bytes import RandomBytes
from rvsim.guest.linux.settings import Settings
from rvsim.guest.linux.signals import Signals, frame_size
from rvsim.guest.linux.stack import fill_stack, map_stack
from rvsim.guest.linux.streams import Input, Output
from rvsim.guest.linux.sysfs import dev, sys
from rvsim.guest.linux.system import LIMITS, RLIMIT_NOFILE, RLIMIT_SIGPENDING, STACK_SIZE, VECTOR_ON
from rvsim.guest.linux.timers import SignalTimers
from rvsim.guest.linux.vector import VectorInCalls
from rvsim.guest.linux.waiting import Waiter
from rvsim.hart.areas import Areas
from rvsim.hart.initial import ZERO, Initial
from rvsim.hart.memory import ADDRESS_SPACE, PAGE, Memory, R, W
from rvsim.hart.state import State
from rvsim.printable import printable

__all__ = ["STACK_SIZE", "LinuxProcess", "Sink", "hwcap"]

Sink = BinaryIO | Callable[[bytes], object]
"""Where the guest's output goes: a binary stream, or a function that takes the bytes."""

_SP, _A0 = 2, 10
_MOST_SAID: Final = 64
_LOADER_FAILED: Final = 127
_LONGEST_PATH: Final = 4096
_SYSTEM_FOLDERS: Final = (b"/dev/", b"/etc/", b"/lib", b"/proc/", b"/sys/", b"/usr/", b"/var/")
"""Where libraries look for files that need not be there: that they aren't is no news."""

_MOST_REFUSALS: Final = 5
"""Paths outside the grants that are named."""

_PLAIN_CPU: Final = Cpu(frozenset("ima"), NO_FACTS)


def hwcap(extensions: Iterable[str]) -> int:
    """AT_HWCAP: one bit for each extension whose name is a single letter.

    >>> hwcap(["i", "m", "zba"]) == 1 << 8 | 1 << 12
    True
    """
    return sum(
        1 << ord(name) - ord("a") for name in {e.lower() for e in extensions} if name[1:] == ""
    )


class LinuxProcess:
    """What the kernel knows about the one process that runs `image`.

    The guest reaches files of `dirs` only, and with a `sysroot` those below it, to read.  `note`
    gets a line for each system call that isn't there and each file that is out of reach.  With
    `syscall_vector` "keep" vector state outlives calls, as before 6.5.
    """

    def __init__(
        self,
        memory: Memory,
        image: Image,
        *,
        argv: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        hwcap: int = 0,
        probe: Mapping[int, int] | None = None,
        cpu: Cpu = _PLAIN_CPU,
        stdin: BinaryIO | None = None,
        stdout: Sink = lambda output: None,
        stderr: Sink = lambda output: None,
        dirs: Sequence[Grant] = (),
        sysroot: str | None = None,
        now_ns: Callable[[], int] = lambda: 0,
        counters: Mapping[str, Callable[[], int]] = MappingProxyType({}),
        user_counters: bool = True,
        host_time: bool = False,
        syscall_vector: SyscallVector = "discard",
        initial: Initial = ZERO,
        note: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.memory = memory
        self.image = image
        self.probe = probe or {}
        self.clock: Clock = HostClock() if host_time else ModelClock(now_ns, cpu.rates.frequency)
        self.ticks_per_second = cpu.rates.timer
        """Of the register `time`."""
        self.random = RandomBytes()
        self.limits: dict[int, tuple[int, int]] = dict(LIMITS)
        self.vector = VectorInCalls(syscall_vector)
        self.signals = Signals(memory, lambda: self.limits[RLIMIT_SIGPENDING][0], note, self.vector)
        self.timers = SignalTimers(self.clock, self.signals)
        self.deadline = Deadline()
        self.waiter = Waiter(self.clock, self.signals, self.timers, self.deadline)
        self.umask = 0o022
        self.nice = 0
        self.persona = 0
        self.has_vector = bool(hwcap >> ord("v") - ord("a") & 1)
        self.vector_control = VECTOR_ON
        self.settings = Settings()
        self.quota = Quota(memory.limit)
        self.thread_name = os.path.basename(os.fsencode(image.name))[:15]
        self.file_pages = Areas()
        """Numbers of the pages that show a file."""
        self.sp = 0
        self.hart: State
        """The registers, from the start on."""
        self.note = note
        self._sysroot = sysroot
        self._said: set[str] = set()
        self._refused: set[bytes] = set()
        self._missing: list[bytes] = []
        self.mappings = Mappings()
        self.counters = Counters(
            memory, self.mappings, self.clock.cpu, counters, user_access=user_counters
        )
        itself: LinuxProcess = weakref.proxy(self)  # the tree closes after the process is gone
        kernel = folder(proc=proc(itself, cpu), sys=sys(cpu), dev=dev(self.random))
        self.tree = FileTree(dirs, sysroot=sysroot, kernel=kernel)
        limits = self.limits  # the files close after the process is gone
        self.files = FileTable(lambda: limits[RLIMIT_NOFILE][0])
        self.files.add(Input(stdin, self.deadline, self.clock if host_time else None))
        for sink in (stdout, stderr):
            self.files.add(Output(_writer(sink)))
        self._closing = weakref.finalize(self, _close, self.files, self.tree)
        self.brk_start = -(-image.data_end // PAGE) * PAGE
        self.brk = self.brk_start
        self.stack = map_stack(memory)
        self.mmap_top = self.stack.guard
        """Where mappings begin, and grow down."""
        self.loader = load_loader(image, self.tree, memory, below=self.mmap_top, sysroot=sysroot)
        for loaded in (image, self.loader):
            if loaded is not None:
                self._show_image(loaded)
        self.started = fill_stack(
            memory,
            self.stack,
            image,
            self.loader,
            list(argv) or [image.name],
            env or {},
            hwcap,
            frame_size(cpu.vlenb if self.has_vector else 0),
            initial,
        )

    def start(self, state: State) -> None:
        """Set the pc, the stack pointer and a0 for the first instruction.

        What a0 holds is called by the C library when the program exits, unless it is 0.
        """
        self.hart = state
        self.vector.start(state)
        state["pc"] = (self.loader or self.image).entry
        state.x[_SP], state.x[_A0] = self.started.sp, 0

    def close(self) -> None:
        """Close the host's files; a process that nobody holds any more does it too."""
        self._closing()

    def _show_image(self, image: Image) -> None:
        """Name the pages of a program or its loader after their file."""
        source = image.source
        name = os.fsencode(image.name) if source is None else source.path
        inode = 1 if source is None else source.status.st_ino
        for part in image.segments:
            start, end = part.addr // PAGE * PAGE, part.addr + part.file_size
            if part.file_size:
                offset = part.offset // PAGE * PAGE
                self.mappings.show(Span(start, -(-end // PAGE) * PAGE, name, offset, inode))

    def moving_spans(self) -> list[Span]:
        """The heap and the stack, as large as they are now."""
        heap_end = -(-self.brk // PAGE) * PAGE
        heap = [Span(self.brk_start, heap_end, b"[heap]")] if heap_end > self.brk_start else []
        return [*heap, Span(self.stack.guard + PAGE, self.stack.top, b"[stack]")]

    # What is said on the way

    def note_once(self, text: str) -> None:
        """Pass on what is new; a program that finds ever more to say is heard no longer."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            self.note(text)

    def small_space(self) -> None:
        """Say once that the host's limit, and not the program, is why a mapping has no place."""
        self.note_once(
            f"the host reserves no more than {self.memory.size:#x} bytes of address space for the"
            f" program, Linux has {ADDRESS_SPACE:#x}: see ulimit -v"
        )

    def refused(self, path: bytes) -> None:
        """Say once that no grant covers a path; its name may be that of a library."""
        if looks_like_library(path):
            self._missing.append(path)
        elif path not in self._refused and not path.startswith(_SYSTEM_FOLDERS):
            self._refused.add(path)
            if len(self._refused) > _MOST_REFUSALS:
                return
            text = f"no --dir grants {printable(path)}, so for the program it does not exist"
            if len(self._refused) == _MOST_REFUSALS:
                text += "; further paths are not named (--strace shows all)"
            self.note(text)

    def missing(self, path: bytes) -> None:
        """Note a library that is not there."""
        if looks_like_library(path):
            self._missing.append(path)

    def name_library(self, code: int) -> None:
        """Say which library stopped the dynamic loader, where it looked, and what to do."""
        if self.loader is not None and code == _LOADER_FAILED and self._missing:
            self.note(missing_library(self._missing, self._sysroot))

    # What the calls do with guest memory

    def check(self, addr: int, count: int, need: int) -> None:
        """EFAULT unless the guest may access all the bytes."""
        if self.room(addr, count, need) < count:
            raise CallError(EFAULT)

    def room(self, addr: int, count: int, need: int) -> int:
        """How many of the bytes from `addr` on the guest may access."""
        room = self.memory.span_room(addr, count, need)
        while room < count and self.memory.keep_promise(addr + room, count - room, need):
            room = self.memory.span_room(addr, count, need)
        return room

    def get(self, addr: int, count: int) -> bytes:
        """Bytes that the guest may read; else EFAULT."""
        self.check(addr, count, R)
        return self.memory.read(addr, count) if count else b""

    def put(self, addr: int, content: bytes) -> None:
        """Store where the guest may write; else EFAULT."""
        self.check(addr, len(content), W)
        if content:
            self.memory.write(addr, content)

    def text(self, addr: int) -> bytes:
        """The C string at `addr`, cut where no file name is as long."""
        room = self.room(addr, _LONGEST_PATH, R)
        head, nul, _ = self.get(addr, room).partition(b"\0")
        if not room or (not nul and room < _LONGEST_PATH):
            raise CallError(EFAULT)
        return head


def _close(files: FileTable, tree: FileTree) -> None:
    files.close_all()
    tree.close()


def _writer(sink: Sink) -> Callable[[bytes], object]:
    return sink if callable(sink) else sink.write
