"""What the pages of the address space show, for ``/proc/self/maps``: files, and named parts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from rvsim.hart.memory import PAGE, Memory


@dataclass(frozen=True, slots=True)
class Span:
    """Pages from `start` up to `end` that show a file from byte `offset` on, or have a name."""

    start: int
    end: int
    name: bytes = b""
    offset: int = 0
    inode: int = 0
    shared: bool = False

    def part(self, start: int, end: int) -> Span:
        """What of it lies between two addresses.

        >>> Span(0x1000, 0x4000, b"/lib", offset=0x2000, inode=7).part(0x2000, 0x9000).offset
        12288
        """
        start, end = max(start, self.start), min(end, self.end)
        moved = self.offset + start - self.start if self.inode else self.offset
        return replace(self, start=start, end=end, offset=moved)


class Mappings:
    """The spans that show something, in order and none over another."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._spans = list(spans)

    def show(self, span: Span) -> None:
        """Let pages show this and nothing else."""
        self.forget(span.start, span.end)
        if span.start < span.end:
            self._spans.insert(self._index(span.start), span)

    def forget(self, start: int, end: int) -> None:
        """Pages that go, or are mapped anew, show nothing."""
        touched = slice(self._index(start), bisect_left(self._spans, end, key=lambda s: s.start))
        old = self._spans[touched]
        parts = (part for s in old for part in (s.part(s.start, start), s.part(end, s.end)))
        self._spans[touched] = [part for part in parts if part.start < part.end]

    def move(self, start: int, end: int, target: int) -> None:
        """Have pages at `target` show what those between two addresses do."""
        by = target - start
        moved = [s.part(start, end) for s in self._spans if s.start < end and s.end > start]
        for span in moved:
            self.show(replace(span, start=span.start + by, end=span.end + by))

    def of_file(self, inode: int) -> list[Span]:
        """Where a file is shown."""
        return [span for span in self._spans if span.inode == inode]

    def _index(self, address: int) -> int:
        """The first span that ends after an address."""
        return bisect_right(self._spans, address, key=lambda s: s.end)

    def spans(self, memory: Memory, moving: Iterable[Span] = ()) -> Iterator[Span]:
        """All mapped pages as runs of the same permissions that show the same.

        `moving` are parts such as the heap, whose bounds change.
        """
        shown = Mappings(self._spans)
        for span in moving:
            shown.show(span)
        for start, end in _runs(memory):
            at = start
            for span in shown._spans[shown._index(start) :]:
                if span.start >= end:
                    break
                part = span.part(start, end)
                if at < part.start:
                    yield Span(at, part.start)
                yield part
                at = part.end
            if at < end:
                yield Span(at, end)


_EDGE: Final = np.full(1, 0xFF, np.uint8)
"""No page has this permission."""


def _runs(memory: Memory) -> Iterator[tuple[int, int]]:
    """Mapped pages next to each other with the same permissions."""
    for start, stop in memory.areas.parts(0, memory.size // PAGE):
        at = start * PAGE
        for held, length in memory.holding(at, stop * PAGE - at):
            if at < held:
                yield at, held
            perms = memory.perm[held // PAGE : (held + length) // PAGE]
            changes = np.flatnonzero(np.diff(perms, prepend=_EDGE, append=_EDGE)) * PAGE
            for first, last in pairwise(changes.tolist()):
                yield held + first, held + last
            at = held + length
        if at < stop * PAGE:
            yield at, stop * PAGE
