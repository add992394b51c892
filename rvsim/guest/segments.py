"""The loadable segments of an executable, and how they come into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rvsim.hart.memory import PAGE, Memory, R, W, X


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that the file puts at `addr`; what `size` has more than `file_size` is zero."""

    addr: int
    size: int
    offset: int
    file_size: int
    perm: int

    @property
    def start(self) -> int:
        """The page in which it begins."""
        return self.addr // PAGE * PAGE

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.addr + self.size

    @property
    def file_end(self) -> int:
        """The first address after what the file has of it."""
        return self.addr + self.file_size

    @property
    def is_aligned(self) -> bool:
        """Whether pages of the file can be pages of memory: mmap answers EINVAL otherwise."""
        return not self.file_size or (self.addr - self.offset) % PAGE == 0


def place_as_linux(data: bytes, segments: Sequence[Segment], memory: Memory) -> None:
    """Map one after the other, as Linux 6.6 does (fs/binfmt_elf.c, `elf_load`).

    Pages of the file are mapped whole, so that what stands beside a segment is seen too, and a page
    that two segments share is that of the later one.  After the file's bytes a writable page is
    zero to its end; the pages after that can be written, whatever the segment says.
    """
    view = memoryview(data)  # whose parts are no copies
    for s in segments:
        zero_start = s.start
        if s.file_size:
            zero_start = _page_up(s.file_end)
            memory.map(s.start, zero_start - s.start, s.perm)
            first = s.offset - (s.addr - s.start)
            memory.write(s.start, view[first : first + zero_start - s.start])
            if s.size > s.file_size and s.perm & W:
                memory.write(s.file_end, bytes(zero_start - s.file_end))
        if zero_start < s.end:
            memory.map(zero_start, s.end - zero_start, R | W | s.perm & X)


def place_on_bare_metal(data: bytes, segments: Sequence[Segment], memory: Memory) -> None:
    """Put segments, none of them over another, where neither pages nor permissions matter."""
    mapped_end = 0
    view = memoryview(data)
    for s in sorted(segments, key=lambda s: s.addr):
        start = max(s.start, mapped_end)
        if start < s.end:
            memory.map(start, s.end - start, s.perm)
            mapped_end = _page_up(s.end)
        memory.write(s.addr, view[s.offset : s.offset + s.file_size])


def _page_up(addr: int) -> int:
    return -(-addr // PAGE) * PAGE
