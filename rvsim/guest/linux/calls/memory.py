"""System calls on the address space: the heap, mappings, permissions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rvsim.guest.linux.deadline import CutShort
from rvsim.guest.linux.errno import (
    EACCES,
    EEXIST,
    EFAULT,
    EINVAL,
    ENODEV,
    ENOMEM,
    EPERM,
    CallError,
)
from rvsim.guest.linux.files import OpenFile
from rvsim.guest.linux.mappings import Span
from rvsim.guest.linux.perf import PerfEvent
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.table import Addr, Flags, Int, Size, syscall
from rvsim.hart.memory import ADDRESS_SPACE, LOWEST_FREE, PAGE, R, W, X

_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_MAP_SHARED, _MAP_PRIVATE, _MAP_SHARED_VALIDATE = 1, 2, 3
_MAP_TYPE, _MAP_FIXED, _MAP_ANONYMOUS, _MAP_FIXED_NOREPLACE = 0xF, 0x10, 0x20, 0x10_0000
_MAP_NORESERVE: Final = 0x4000
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2
_MADV_DONTNEED, _MADV_FREE, _MADV_REMOVE, _MADV_DONTNEED_LOCKED = 4, 8, 9, 24
_ADVICE: Final = frozenset(range(26)) - {5, 6, 7}
"""What Linux 6.6 knows, but for that of a privileged user (MADV_HWPOISON)."""

_MS_ASYNC, _MS_INVALIDATE, _MS_SYNC = 1, 2, 4
_PROT_SEM: Final = 8
_CHUNK: Final = 4 << 20
_FREED_AT_ONCE: Final = 64 << 20


@syscall(214, "brk")
def brk(process: LinuxProcess, addr: Addr) -> Addr:
    """Move the end of the heap; the old end if that can't be."""
    old_end, new_end = _page_up(process.brk), _page_up(addr)
    memory = process.memory
    if addr < process.brk_start or new_end > memory.size:
        return Addr(process.brk)
    if new_end > old_end:
        grown = new_end - old_end
        if not memory.is_free(old_end, grown) or not memory.has_room(old_end, grown, R | W):
            return Addr(process.brk)
        memory.map(old_end, grown, R | W)
    elif new_end < old_end:
        _unmap(process, new_end, old_end - new_end)
    process.brk = addr
    return addr


@syscall(215, "munmap")
def munmap(process: LinuxProcess, addr: Addr, length: Size) -> int:
    """Drop whole pages; there need not be any."""
    if addr % PAGE or not length or addr + _page_up(length) > process.memory.size:
        return EINVAL
    _free(process, addr, _page_up(length))
    _unmap(process, addr, _page_up(length))
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
    """Map anonymous memory, or a private copy of a file's bytes."""
    perm = _permission(prot)
    kind = flags & _MAP_TYPE
    if (
        not length
        or kind not in (_MAP_SHARED, _MAP_PRIVATE, _MAP_SHARED_VALIDATE)
        or offset % PAGE
        or offset >> 63
    ):
        return Addr(EINVAL)
    file = None
    if not flags & _MAP_ANONYMOUS:
        file = process.files[fd]
        if isinstance(file, PerfEvent):
            return Addr(_map_event(process, file, addr, length, perm, flags, offset))
        file.check_mappable()
        if kind != _MAP_PRIVATE and perm & W:
            return Addr(ENODEV if file.writable else EACCES)  # writes would have to reach the file
    length = Size(_page_up(length))
    promised = file is None and bool(flags & _MAP_NORESERVE)
    place = _place(process, addr, length, flags)
    _check_room(process, place, length, perm if file is None else R, promised=promised)
    _free(process, place, length)
    _map(process, place, length, perm)
    if file is not None:
        with _undone_if_cut_short(process, place, length):
            _fill(process, place, length, file, offset)
        inode = file.status().inode
        shared = kind != _MAP_PRIVATE
        process.mappings.show(Span(place, place + length, file.name, offset, inode, shared))
    return Addr(place)


def _map_event(
    process: LinuxProcess,
    event: PerfEvent,
    addr: int,
    length: int,
    perm: int,
    flags: int,
    offset: int,
) -> int:
    """Map the page of a performance event, and room for samples, of which there are none."""
    data_pages = _page_up(length) // PAGE - 1
    if flags & _MAP_TYPE != _MAP_SHARED or offset or data_pages & (data_pages - 1) > 0:
        return EINVAL
    length = _page_up(length)
    place = _place(process, addr, length, flags)
    _check_room(process, place, length, perm)
    _map(process, place, length, perm)
    event.map(place, length)
    return place


@contextmanager
def _undone_if_cut_short(process: LinuxProcess, addr: int, length: int) -> Iterator[None]:
    """A mapping goes again if the run ends while it is filled: the call then begins anew."""
    try:
        yield
    except CutShort:
        _unmap(process, addr, length)
        raise


def _check_room(
    process: LinuxProcess, addr: int, length: int, perm: int, *, promised: bool = False
) -> None:
    """ENOMEM for what would be more memory than there is, if that is not only promised."""
    if not promised and not process.memory.has_room(addr, length, perm):
        raise CallError(ENOMEM)


def _place(process: LinuxProcess, addr: int, length: int, flags: int) -> int:
    """Where a mapping goes: at a fixed address, at the hint, or below the others."""
    if flags & (_MAP_FIXED | _MAP_FIXED_NOREPLACE):
        if addr % PAGE:
            raise CallError(EINVAL)
        if addr + length > process.memory.size:
            raise CallError(ENOMEM)
        if addr < LOWEST_FREE:
            raise CallError(EPERM)
        if flags & _MAP_FIXED_NOREPLACE and not _is_free(process, addr, length):
            raise CallError(EEXIST)
        return addr
    hint = addr // PAGE * PAGE
    place = hint if _is_free(process, hint, length) else None
    if place is None:
        place = process.memory.find_free(length, process.mmap_top)
    if place is None:
        if process.memory.size < ADDRESS_SPACE:
            process.small_space()
        raise CallError(ENOMEM)
    return place


@syscall(226, "mprotect")
def mprotect(process: LinuxProcess, addr: Addr, length: Size, prot: Flags) -> int:
    """Change the permissions of whole pages."""
    if addr % PAGE or prot & ~(_PROT_READ | _PROT_WRITE | _PROT_EXEC | _PROT_SEM):
        return EINVAL
    if not length:
        return 0
    perm = _permission(prot)
    if not process.memory.mapped(addr, length):
        return ENOMEM
    _check_room(process, addr, length, perm)
    process.memory.protect(addr, length, perm)
    return 0


@syscall(216, "mremap")
def mremap(
    process: LinuxProcess, old: Addr, old_length: Size, new_length: Size, flags: Flags, new: Addr
) -> Addr:
    """Resize a mapping where it is, or move it to where there is room."""
    if flags & ~(_MREMAP_MAYMOVE | _MREMAP_FIXED) or old % PAGE or not old_length or not new_length:
        return Addr(EINVAL)
    if flags & _MREMAP_FIXED and (not flags & _MREMAP_MAYMOVE or new % PAGE):
        return Addr(EINVAL)
    memory = process.memory
    if max(old_length, new_length) > memory.size:
        return Addr(ENOMEM)
    before, after = _page_up(old_length), _page_up(new_length)
    if not memory.mapped(old, before):
        return Addr(EFAULT)
    if not flags & _MREMAP_FIXED:
        if after <= before:
            if after < before:
                _unmap(process, old + after, before - after)
            return old
        if _is_free(process, old + before, after - before):
            _grow(process, old + before, after - before, old + before - PAGE)
            return old
        if not flags & _MREMAP_MAYMOVE:
            return Addr(ENOMEM)
        return Addr(_move(process, old, before, after, _place(process, 0, after, 0)))
    target = _place(process, new, after, _MAP_FIXED)
    if target < old + before and old < target + after:
        return Addr(EINVAL)
    return Addr(_move(process, old, before, after, target))


def _grow(process: LinuxProcess, addr: int, length: int, last: int) -> None:
    """Map more pages like the last one of a mapping."""
    memory = process.memory
    perm = memory.permission(last)
    _check_room(process, addr, length, perm, promised=memory.is_promised(last))
    _map(process, addr, length, perm)


def _move(process: LinuxProcess, old: int, before: int, after: int, target: int) -> int:
    memory = process.memory
    kept = min(before, after)
    held = memory.holding(old, kept)
    if sum(length for _, length in held) > memory.left + memory.held(target, kept):
        raise CallError(ENOMEM)
    if after > kept:
        _grow(process, target + kept, after - kept, old + before - PAGE)
    _map(process, target, kept, 0)
    memory.take_over(target, kept, old)
    by = target - old
    with _undone_if_cut_short(process, target, after):
        for start, length in held:
            for at in range(start, start + length, _CHUNK):
                process.deadline.check()
                part = min(_CHUNK, start + length - at)
                memory.write(at + by, memory.read(at, part))
    for first, stop in process.file_pages.parts(old // PAGE, (old + kept) // PAGE):
        process.file_pages.add(first + by // PAGE, stop + by // PAGE)
    process.mappings.move(old, old + kept, target)
    _unmap(process, old, before)
    return target


@syscall(233, "madvise")
def madvise(process: LinuxProcess, addr: Addr, length: Size, advice: Int) -> int:
    """Zero anonymous pages that aren't needed any more; other advice changes nothing."""
    length = Size(_page_up(length))
    if addr % PAGE or advice not in _ADVICE:
        return EINVAL
    if not length:
        return 0
    if not process.memory.mapped(addr, length):
        return ENOMEM
    if advice == _MADV_REMOVE:
        return EINVAL
    if advice == _MADV_FREE and _shows_file(process, addr, length):
        return EINVAL
    if advice in (_MADV_DONTNEED, _MADV_DONTNEED_LOCKED, _MADV_FREE):
        _zero(process, addr, length)
    return 0


def _shows_file(process: LinuxProcess, addr: int, length: int) -> bool:
    return any(process.file_pages.parts(addr // PAGE, (addr + length) // PAGE))


def _zero(process: LinuxProcess, addr: int, length: int) -> None:
    """Zero anonymous pages; those of a file keep the bytes that a new look would give them."""
    for start, stop in process.file_pages.gaps(addr // PAGE, (addr + length) // PAGE):
        _free(process, start * PAGE, (stop - start) * PAGE)


def _free(process: LinuxProcess, addr: int, length: int) -> None:
    """Zero pages and give their memory back; `CutShort` leaves some for when it begins anew."""
    for start, size in process.memory.holding(addr, length):
        for done in range(0, size, _FREED_AT_ONCE):
            process.deadline.check()
            process.memory.zero(start + done, min(_FREED_AT_ONCE, size - done))


@syscall(227, "msync")
def msync(process: LinuxProcess, addr: Addr, length: Size, flags: Flags) -> int:
    """Nothing to write back: no mapping of a file is shared to write."""
    if addr % PAGE or flags & ~(_MS_ASYNC | _MS_INVALIDATE | _MS_SYNC):
        return EINVAL
    if flags & _MS_ASYNC and flags & _MS_SYNC:
        return EINVAL
    return 0 if process.memory.mapped(addr, length) else ENOMEM


@syscall(232, "mincore")
def mincore(process: LinuxProcess, addr: Addr, length: Size, out: Addr) -> int:
    """All that is mapped is in memory."""
    if addr % PAGE:
        return EINVAL
    if not process.memory.mapped(addr, length):
        return ENOMEM
    process.put(out, b"\1" * (_page_up(length) // PAGE))
    return 0


def _lock(process: LinuxProcess, addr: int, length: int) -> int:
    start = addr // PAGE * PAGE
    return 0 if process.memory.mapped(start, _page_up(addr + length - start)) else ENOMEM


@syscall(228, "mlock")
def mlock(process: LinuxProcess, addr: Addr, length: Size) -> int:
    """Nothing is ever paged out."""
    return _lock(process, addr, length)


@syscall(284, "mlock2")
def mlock2(process: LinuxProcess, addr: Addr, length: Size, flags: Flags) -> int:
    """As mlock."""
    return EINVAL if flags & ~1 else _lock(process, addr, length)


@syscall(229, "munlock")
def munlock(process: LinuxProcess, addr: Addr, length: Size) -> int:
    """As mlock: nothing changes."""
    return _lock(process, addr, length)


@syscall(230, "mlockall")
def mlockall(process: LinuxProcess, flags: Flags) -> int:
    """Nothing is ever paged out."""
    return 0 if flags and not flags & ~7 and flags != 4 else EINVAL


@syscall(231, "munlockall")
def munlockall(process: LinuxProcess) -> int:
    """As mlockall: nothing changes."""
    return 0


def _page_up(length: int) -> int:
    return -(-length // PAGE) * PAGE


def _permission(prot: int) -> int:
    """PROT_READ, PROT_WRITE and PROT_EXEC as page permissions; on RISC-V, writable is readable.

    Other bits mean nothing to mmap, which takes them.
    """
    read = R * bool(prot & (_PROT_READ | _PROT_WRITE))
    return read | W * bool(prot & _PROT_WRITE) | X * bool(prot & _PROT_EXEC)


def _is_free(process: LinuxProcess, addr: int, length: int) -> bool:
    """Whether a mapping may go there without replacing another."""
    return addr >= LOWEST_FREE and process.memory.is_free(addr, length)


def _map(process: LinuxProcess, addr: int, length: int, perm: int) -> None:
    """Replace what is there; what there is no memory for is promised."""
    _unmap(process, addr, length)
    memory = process.memory
    fits = memory.has_room(addr, length, perm)
    memory.map(addr, length, perm if fits else 0)
    if not fits:
        memory.promise(addr, length, perm)


def _unmap(process: LinuxProcess, addr: int, length: int) -> None:
    _forget(process, addr, length)
    process.memory.unmap(addr, length)


def _forget(process: LinuxProcess, addr: int, length: int) -> None:
    """Pages that go are no file's any more."""
    process.file_pages.remove(addr // PAGE, (addr + length) // PAGE)
    process.mappings.forget(addr, addr + length)


def _fill(process: LinuxProcess, addr: int, length: int, file: OpenFile, offset: int) -> None:
    """Copy a file's bytes; nobody may touch the pages past its end (Linux: SIGBUS)."""
    done = 0
    while done < length:
        process.deadline.check()
        part = file.read(min(_CHUNK, length - done), offset + done)
        if not part:
            break
        process.memory.write(addr + done, part)
        done += len(part)
    filled = _page_up(done)
    process.file_pages.add(addr // PAGE, (addr + filled) // PAGE)
    if filled < length:
        process.memory.protect(addr + filled, length - filled, 0)
