"""A Linux process: its stack as the kernel hands it over, and the dispatch of its system calls.

Everything is deterministic: random bytes, user ids and layout are fixed, clocks show what the
constructor's `now_ns` says.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO, Final

from rvsim.elf import Image
from rvsim.errors import RvsimError
from rvsim.linux import calls as _calls  # noqa: F401  (fills the table)
from rvsim.linux.names import NAMES
from rvsim.linux.table import CALLS, ENOSYS, ProcessExit
from rvsim.mem import PAGE, Memory, R, W
from rvsim.state import State

Sink = BinaryIO | Callable[[bytes], object]
"""Where the guest's output goes: a binary stream, or a function that takes the bytes."""

STACK_SIZE: Final = 8 << 20
STACK_GAP: Final = 0x10000
"""Room above the stack that stays unmapped."""

_RANDOM_BYTES: Final = b"rvsim AT_RANDOM!"
_USER_ID: Final = 1000
_CLOCK_TICKS: Final = 100
_AT_NULL, _AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_PAGESZ, _AT_BASE, _AT_FLAGS = 0, 3, 4, 5, 6, 7, 8
_AT_ENTRY, _AT_UID, _AT_EUID, _AT_GID, _AT_EGID, _AT_HWCAP, _AT_CLKTCK = 9, 11, 12, 13, 14, 16, 17
_AT_SECURE, _AT_RANDOM, _AT_EXECFN = 23, 25, 31
_MASK: Final = (1 << 64) - 1
_SP, _A0, _A7 = 2, 10, 17


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

    `note` gets a line for each system call that isn't there, `strace` a line for every call.
    """

    def __init__(
        self,
        memory: Memory,
        image: Image,
        *,
        argv: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        hwcap: int = 0,
        stdout: Sink = lambda output: None,
        stderr: Sink = lambda output: None,
        now_ns: Callable[[], int] = lambda: 0,
        note: Callable[[str], object] = lambda line: None,
        strace: Callable[[str], object] | None = None,
    ) -> None:
        self.memory = memory
        self.image = image
        self.outputs = {1: _writer(stdout), 2: _writer(stderr)}
        self.now_ns = now_ns
        self.brk_start = -(-image.data_end // PAGE) * PAGE
        self.brk = self.brk_start
        self._note = note
        self._strace = strace
        self._noted: set[int] = set()
        top = self._map_stack()
        self.initial_sp = self._fill_stack(top, list(argv) or [image.name], env or {}, hwcap)

    def _map_stack(self) -> int:
        """Map the stack and its guard page near the end of memory, a smaller one in a small space.

        `mmap_top` is where anonymous mappings begin and grow down.
        """
        memory = self.memory
        self.stack_size = min(STACK_SIZE, memory.size // 4 // PAGE * PAGE)
        guard = memory.find_free(PAGE + self.stack_size, memory.size - STACK_GAP)
        if guard is None or not self.stack_size:
            raise RvsimError(
                f"no room for a stack of {self.stack_size:#x} bytes in the guest's memory"
                f" of {memory.size:#x} bytes",
                hint="give it more memory",
            )
        memory.map(guard, PAGE, 0)
        memory.map(guard + PAGE, self.stack_size, R | W)
        self.mmap_top = guard
        return guard + PAGE + self.stack_size

    def _fill_stack(self, top: int, argv: Sequence[str], env: Mapping[str, str], hwcap: int) -> int:
        """Write what a program finds at its start (argc, argv, envp, auxv), and return its sp."""
        arguments = [os.fsencode(a) for a in argv]
        variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        block = bytearray()
        offsets = []
        for text in (*arguments, *variables, os.fsencode(self.image.name)):
            offsets.append(len(block))
            block += text + b"\0"
        random_offset = len(block)
        block += _RANDOM_BYTES
        base = top - 8 - len(block)
        pointers = [base + offset for offset in offsets]
        words = [
            len(arguments),
            *pointers[: len(arguments)],
            0,
            *pointers[len(arguments) : -1],
            0,
            *self._auxiliary_vector(hwcap, base + random_offset, pointers[-1]),
        ]
        sp = (base - 8 * len(words)) & ~15
        if sp < self.mmap_top + PAGE + self.stack_size // 2:
            raise RvsimError(
                f"arguments and environment of {top - sp} bytes do not fit on the stack"
            )
        self.memory.write(sp, struct.pack(f"<{len(words)}Q", *words))
        self.memory.write(base, bytes(block))
        return sp

    def _auxiliary_vector(self, hwcap: int, random_addr: int, name_addr: int) -> list[int]:
        image = self.image
        entries = {
            _AT_PHDR: image.phdr_addr,
            _AT_PHENT: image.phdr_entsize,
            _AT_PHNUM: image.phdr_num,
            _AT_PAGESZ: PAGE,
            _AT_BASE: 0,
            _AT_FLAGS: 0,
            _AT_ENTRY: image.entry,
            _AT_UID: _USER_ID,
            _AT_EUID: _USER_ID,
            _AT_GID: _USER_ID,
            _AT_EGID: _USER_ID,
            _AT_HWCAP: hwcap,
            _AT_CLKTCK: _CLOCK_TICKS,
            _AT_SECURE: 0,
            _AT_RANDOM: random_addr,
            _AT_EXECFN: name_addr,
            _AT_NULL: 0,
        }
        return [word for entry in entries.items() for word in entry]

    def start(self, state: State) -> None:
        """Set the pc and the stack pointer for the first instruction."""
        state["pc"] = self.image.entry
        state.x[_SP] = self.initial_sp

    def syscall(self, state: State) -> None:
        """Carry out the call that a7 and a0 to a5 ask for; the result goes to a0.

        Raises `ProcessExit` if it ends the process.
        """
        number = state.x[_A7]
        call = CALLS.get(number)
        if call is None:
            self._name_once(number)
            result = ENOSYS
            if self._strace:
                self._strace(f"{NAMES.get(number, f'syscall {number}')}() = -ENOSYS")
        else:
            arguments = call.arguments(state.x[_A0 : _A0 + 6].tolist())
            try:
                result = call.run(self, *arguments)
            except ProcessExit:
                if self._strace:
                    self._strace(call.text(arguments, None))
                raise
            if self._strace:
                self._strace(call.text(arguments, result))
        state.x[_A0] = result & _MASK

    def _name_once(self, number: int) -> None:
        if number not in self._noted:
            self._noted.add(number)
            name = f" ({NAMES[number]})" if number in NAMES else ""
            self._note(f"unknown system call {number}{name}: ENOSYS")

    # What the calls do with guest memory

    def put(self, addr: int, content: bytes) -> bool:
        """Store where the guest may write; whether it may."""
        allowed = self.memory.span_ok(addr, len(content), W)
        if allowed:
            self.memory.write(addr, content)
        return allowed


def _writer(sink: Sink) -> Callable[[bytes], object]:
    return sink if callable(sink) else sink.write
