"""A Linux process without a processor: its registers are set by hand, and it calls the kernel."""

from __future__ import annotations

import struct
from typing import Any

from rvsim.config import NO_FACTS, ClockRates
from rvsim.guest.elf import Image, Segment
from rvsim.guest.linux import Cpu, LinuxKernel, LinuxProcess
from rvsim.hart.memory import PAGE, Memory, R, W
from rvsim.hart.state import State

SIZE = 64 << 20
DATA = 0x20000
ENTRY = 0x20010
IMAGE = Image(
    name="prog.elf",
    entry=ENTRY,
    bias=0,
    is_pie=False,
    phdr_addr=DATA + 64,
    phdr_num=3,
    phdr_entsize=56,
    segments=(Segment(DATA, PAGE + 8, 0, 0, R | W),),
    data_end=DATA + PAGE + 8,
    flags=5,
    arch=None,
)
HEAP = DATA + 2 * PAGE
ANONYMOUS, FIXED, FIXED_NOREPLACE, PRIVATE, SHARED = 0x20, 0x10, 0x100000, 2, 1
AT_FDCWD = -100
K1_RATES = ClockRates(frequency=1_600_000_000, timer=24_000_000)


class Guest:
    """A process, its memory and registers, and what it said."""

    def __init__(self, size: int = SIZE, vlen: int = 256, space: int = 0, **options: Any) -> None:
        self.memory = Memory(size, space=space)
        self.memory.map(DATA, 2 * PAGE, R | W)
        self.out: list[bytes] = []
        self.notes: list[str] = []
        cpu = Cpu(frozenset(), NO_FACTS, vlen // 8, K1_RATES)
        options = {"cpu": cpu, "stdout": self.out.append, "note": self.notes.append} | options
        strace = options.pop("strace", None)
        self.process = LinuxProcess(self.memory, options.pop("image", IMAGE), **options)
        self.kernel = LinuxKernel(self.process, strace)
        self.state = State(vlen)
        self.state["vtype"] = 1 << 63
        self.process.start(self.state)

    def call(self, number: int, *arguments: int) -> int:
        """Carry out a system call; the result as a signed number."""
        self.state.x[17] = number
        for i, value in enumerate(arguments):
            self.state.x[10 + i] = value % (1 << 64)
        self.kernel.syscall(self.state)
        result = self.state.x[10]
        return result - (1 << 64) if result >> 63 else result

    def write(self, fd: int, addr: int, count: int) -> int:
        return self.call(64, fd, addr, count)

    def brk(self, addr: int) -> int:
        return self.call(214, addr)

    def munmap(self, addr: int, length: int) -> int:
        return self.call(215, addr, length)

    def mmap(
        self,
        addr: int = 0,
        length: int = PAGE,
        prot: int = 3,
        flags: int = PRIVATE | ANONYMOUS,
        fd: int = -1,
        offset: int = 0,
    ) -> int:
        return self.call(222, addr, length, prot, flags, fd, offset)

    def mprotect(self, addr: int, length: int, prot: int) -> int:
        return self.call(226, addr, length, prot)

    # Names of files go to the start of the data, what is read or told to its second page.

    def text(self, path: str | bytes, addr: int = DATA) -> int:
        content = path if isinstance(path, bytes) else path.encode()
        self.memory.write(addr, content + b"\0")
        return addr

    def open(self, path: str | bytes, flags: int = 0, mode: int = 0o644, at: int = AT_FDCWD) -> int:
        return self.call(56, at, self.text(path), flags, mode)

    def read(self, fd: int, count: int = 256) -> bytes | int:
        done = self.call(63, fd, DATA + PAGE, count)
        return done if done < 0 else self.memory.read(DATA + PAGE, done)

    def put(self, fd: int, content: bytes) -> int:
        self.memory.write(DATA + PAGE, content)
        return self.write(fd, DATA + PAGE, len(content))

    def stat(self, path: str | bytes, flags: int = 0) -> int:
        return self.call(79, AT_FDCWD, self.text(path), DATA + PAGE, flags)

    def readlink(self, path: str | bytes) -> bytes | int:
        done = self.call(78, AT_FDCWD, self.text(path), DATA + PAGE, 256)
        return done if done < 0 else self.memory.read(DATA + PAGE, done)

    def unlink(self, path: str | bytes, flags: int = 0) -> int:
        return self.call(35, AT_FDCWD, self.text(path), flags)

    def mkdir(self, path: str | bytes) -> int:
        return self.call(34, AT_FDCWD, self.text(path), 0o755)

    def rename(self, old: str | bytes, new: str | bytes, flags: int = 0) -> int:
        to = self.text(new, DATA + 1024)
        return self.call(276, AT_FDCWD, self.text(old), AT_FDCWD, to, flags)

    def entries(self, fd: int, count: int = 4096) -> list[tuple[str, int]]:
        """(name, type) of the entries of an open folder from its position on."""
        found = []
        out = DATA + PAGE
        while (total := self.call(61, fd, out, count)) > 0:
            at = out
            while at < out + total:
                _, _, length, kind = struct.unpack("<QqHB", self.memory.read(at, 19))
                assert length % 8 == 0
                found.append((self.memory.read_cstring(at + 19).decode(), kind))
                at += length
        assert total == 0
        return found
