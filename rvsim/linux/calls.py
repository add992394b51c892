"""The system calls of a freestanding program: output, exit, memory, time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rvsim.linux.table import (
    EBADF,
    EEXIST,
    EFAULT,
    EINVAL,
    ENODEV,
    ENOMEM,
    EPERM,
    Addr,
    Flags,
    Int,
    ProcessExit,
    Size,
    syscall,
)
from rvsim.mem import LOWEST_FREE, PAGE, R, W, X

if TYPE_CHECKING:
    from rvsim.linux.process import LinuxProcess

_LARGEST_WRITE: Final = 0x7FFF_F000
_CHUNK: Final = 1 << 20
_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_MAP_TYPES: Final = (1, 2)  # MAP_SHARED and MAP_PRIVATE: the same without a second process
_MAP_TYPE, _MAP_FIXED, _MAP_ANONYMOUS, _MAP_FIXED_NOREPLACE = 0xF, 0x10, 0x20, 0x10_0000
_CLOCKS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 11)  # CLOCK_REALTIME to CLOCK_BOOTTIME, CLOCK_TAI
_STANDARD_FDS: Final = (0, 1, 2)


@syscall(64, "write")
def write(process: LinuxProcess, fd: Int, addr: Addr, count: Size) -> int:
    """Pass output on; like Linux at most 2 GiB less a page at once."""
    output = process.outputs.get(fd)
    if output is None:
        return EBADF
    count = Size(min(count, _LARGEST_WRITE))
    if not process.memory.span_ok(addr, count, R):
        return EFAULT
    for start in range(addr, addr + count, _CHUNK):
        output(process.memory.read(start, min(_CHUNK, addr + count - start)))
    return count


@syscall(93, "exit")
def exit_(process: LinuxProcess, code: Int) -> int:
    """End the only thread, and so the process."""
    raise ProcessExit(code & 0xFF)


@syscall(94, "exit_group")
def exit_group(process: LinuxProcess, code: Int) -> int:
    """End the process."""
    raise ProcessExit(code & 0xFF)


@syscall(113, "clock_gettime")
def clock_gettime(process: LinuxProcess, clock: Int, timespec: Addr) -> int:
    """Tell the model's time, which is the same on every clock and begins at 0."""
    if clock not in _CLOCKS:
        return EINVAL
    seconds, nanoseconds = divmod(process.now_ns(), 1_000_000_000)
    content = seconds.to_bytes(8, "little") + nanoseconds.to_bytes(8, "little")
    return 0 if process.put(timespec, content) else EFAULT


@syscall(214, "brk")
def brk(process: LinuxProcess, addr: Addr) -> Addr:
    """Move the end of the heap; the old end if that can't be."""
    old_end, new_end = _page_up(process.brk), _page_up(addr)
    if addr < process.brk_start or new_end > process.memory.size:
        return Addr(process.brk)
    if new_end > old_end:
        if process.memory.perm[old_end // PAGE : new_end // PAGE].any():
            return Addr(process.brk)
        process.memory.map(old_end, new_end - old_end, R | W)
    elif new_end < old_end:
        process.memory.unmap(new_end, old_end - new_end)
    process.brk = addr
    return addr


@syscall(215, "munmap")
def munmap(process: LinuxProcess, addr: Addr, length: Size) -> int:
    """Drop whole pages; there need not be any."""
    if addr % PAGE or not length or addr + _page_up(length) > process.memory.size:
        return EINVAL
    process.memory.unmap(addr, length)
    return 0


@syscall(222, "mmap")
def mmap(
    process: LinuxProcess,
    addr: Addr,
    length: Size,
    prot: Flags,
    flags: Flags,
    fd: Int,
    offset: Size,
) -> Addr:
    """Map anonymous memory; there are no files to map."""
    perm = _permission(prot)
    if not length or perm is None or flags & _MAP_TYPE not in _MAP_TYPES or offset % PAGE:
        return Addr(EINVAL)
    if not flags & _MAP_ANONYMOUS:
        return Addr(ENODEV if fd in _STANDARD_FDS else EBADF)
    length = Size(_page_up(length))
    if length > process.memory.size:
        return Addr(ENOMEM)
    if flags & (_MAP_FIXED | _MAP_FIXED_NOREPLACE):
        return _map_fixed(process, addr, length, perm, replace=not flags & _MAP_FIXED_NOREPLACE)
    place: int | None = addr // PAGE * PAGE
    if not _is_free(process, addr // PAGE * PAGE, length):
        place = process.memory.find_free(length, process.mmap_top)
    if place is None:
        return Addr(ENOMEM)
    process.memory.map(place, length, perm)
    return Addr(place)


def _map_fixed(
    process: LinuxProcess, addr: Addr, length: Size, perm: int, *, replace: bool
) -> Addr:
    if addr % PAGE:
        return Addr(EINVAL)
    if addr + length > process.memory.size:
        return Addr(ENOMEM)
    if addr < LOWEST_FREE:
        return Addr(EPERM)
    if not replace and not _is_free(process, addr, length):
        return Addr(EEXIST)
    process.memory.map(addr, length, perm)
    return addr


@syscall(226, "mprotect")
def mprotect(process: LinuxProcess, addr: Addr, length: Size, prot: Flags) -> int:
    """Change the permissions of whole pages."""
    perm = _permission(prot)
    if addr % PAGE or perm is None:
        return EINVAL
    if not length:
        return 0
    if not process.memory.mapped(addr, length):
        return ENOMEM
    process.memory.protect(addr, length, perm)
    return 0


def _page_up(length: int) -> int:
    return -(-length // PAGE) * PAGE


def _permission(prot: int) -> int | None:
    """PROT_READ, PROT_WRITE and PROT_EXEC as page permissions; on RISC-V, writable is readable."""
    if prot & ~(_PROT_READ | _PROT_WRITE | _PROT_EXEC):
        return None
    read = R * bool(prot & (_PROT_READ | _PROT_WRITE))
    return read | W * bool(prot & _PROT_WRITE) | X * bool(prot & _PROT_EXEC)


def _is_free(process: LinuxProcess, addr: int, length: int) -> bool:
    """Whether a mapping may go there without replacing another."""
    memory = process.memory
    inside = addr >= LOWEST_FREE and addr + length <= memory.size
    return inside and not memory.perm[addr // PAGE : (addr + length) // PAGE].any()
