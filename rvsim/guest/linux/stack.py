"""The first stack of a process, as the kernel hands it over: argc, argv, envp, auxv."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rvsim.errors import RvsimError
from rvsim.guest.elf import Image
from rvsim.guest.linux.status import USER_ID
from rvsim.guest.linux.system import CLOCK_TICKS, STACK_SIZE
from rvsim.hart.initial import ZERO, Initial
from rvsim.hart.memory import PAGE, Memory, R, W

STACK_GAP: Final = 0x10000
"""Room above the stack that stays unmapped."""

_RANDOM_BYTES: Final = b"rvsim AT_RANDOM!"
_AT_NULL, _AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_PAGESZ, _AT_BASE, _AT_FLAGS = 0, 3, 4, 5, 6, 7, 8
_AT_ENTRY, _AT_UID, _AT_EUID, _AT_GID, _AT_EGID, _AT_HWCAP, _AT_CLKTCK = 9, 11, 12, 13, 14, 16, 17
_AT_SECURE, _AT_RANDOM, _AT_EXECFN, _AT_MINSIGSTKSZ = 23, 25, 31, 51


@dataclass(frozen=True, slots=True)
class Stack:
    """Where the stack is: its guard page from `guard` on, then `size` bytes up to `top`."""

    guard: int
    size: int

    @property
    def top(self) -> int:
        """The first address above it."""
        return self.guard + PAGE + self.size


def map_stack(memory: Memory) -> Stack:
    """Map the stack and its guard page near the end of memory, a smaller one in a small space."""
    size = min(STACK_SIZE, memory.limit // 4 // PAGE * PAGE)
    guard = memory.find_free(PAGE + size, memory.limit - STACK_GAP)
    if guard is None or not size:
        raise RvsimError(
            f"no room for a stack of {size:#x} bytes in the guest's memory"
            f" of {memory.limit:#x} bytes",
            hint="give it more memory",
        )
    memory.map(guard, PAGE, 0)
    memory.map(guard + PAGE, size, R | W)
    return Stack(guard, size)


@dataclass(frozen=True, slots=True)
class Started:
    """What a program finds on its stack: addresses of its strings, and the auxiliary vector."""

    sp: int
    arguments: range
    environment: range
    auxv: bytes


def fill_stack(
    memory: Memory,
    stack: Stack,
    image: Image,
    loader: Image | None,
    argv: Sequence[str],
    env: Mapping[str, str],
    hwcap: int,
    signal_frame: int,
    initial: Initial = ZERO,
) -> Started:
    """Write what a program finds at its start, and below that what is `initial`.

    The name of its file (AT_EXECFN) is `argv[0]`, which there must be, and not the host's path: how
    long that is would move the stack, and what is in one set of the caches with it.
    """
    arguments = [os.fsencode(a) for a in argv]
    variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    block = bytearray()
    offsets = []
    for text in (*arguments, *variables, arguments[0]):
        offsets.append(len(block))
        block += text + b"\0"
    random_offset = len(block)
    block += _RANDOM_BYTES
    base = stack.top - 8 - len(block)
    pointers = [base + offset for offset in offsets]
    auxv = _auxiliary_vector(image, loader, hwcap, signal_frame, base + random_offset, pointers[-1])
    words = [
        len(arguments),
        *pointers[: len(arguments)],
        0,
        *pointers[len(arguments) : -1],
        0,
        *auxv,
    ]
    sp = (base - 8 * len(words)) & ~15
    if sp < stack.top - stack.size // 2:
        raise RvsimError(
            f"arguments and environment of {stack.top - sp} bytes do not fit on the stack"
        )
    if initial != ZERO:
        below = stack.guard + PAGE
        memory.write(below, initial.octets("stack", sp - below))
    memory.write(sp, struct.pack(f"<{len(words)}Q", *words))
    memory.write(base, bytes(block))
    names = pointers[len(arguments)]  # of the environment, or of the file if it is empty
    return Started(
        sp,
        range(pointers[0], names),
        range(names, pointers[-1]),
        struct.pack(f"<{len(auxv)}Q", *auxv),
    )


def _auxiliary_vector(
    image: Image,
    loader: Image | None,
    hwcap: int,
    signal_frame: int,
    random_addr: int,
    name_addr: int,
) -> list[int]:
    entries = {
        _AT_PHDR: image.phdr_addr,
        _AT_PHENT: image.phdr_entsize,
        _AT_PHNUM: image.phdr_num,
        _AT_PAGESZ: PAGE,
        _AT_BASE: loader.bias if loader else 0,
        _AT_FLAGS: 0,
        _AT_ENTRY: image.entry,
        _AT_UID: USER_ID,
        _AT_EUID: USER_ID,
        _AT_GID: USER_ID,
        _AT_EGID: USER_ID,
        _AT_HWCAP: hwcap,
        _AT_CLKTCK: CLOCK_TICKS,
        _AT_SECURE: 0,
        _AT_RANDOM: random_addr,
        _AT_EXECFN: name_addr,
        _AT_MINSIGSTKSZ: signal_frame,
        _AT_NULL: 0,
    }
    return [word for entry in entries.items() for word in entry]
