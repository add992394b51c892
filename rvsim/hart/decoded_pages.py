"""Which bytes of guest memory were decoded, so that a change of them is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim.hart.page_rights import PAGE_BITS, PageOwner, PageRights, W

_PAGE: Final = 1 << PAGE_BITS


class CodeMap(PageOwner):
    """For each page, which halfwords hold decoded instructions, as the bits of an int.

    Whoever keeps decoded code appends to `listeners`: each is called with a page whose code is out
    of date, after the map has forgotten it.  `changes` counts those pages.

    >>> code = CodeMap(PageRights(0x100))
    >>> code.listeners.append(lambda page: print(f"page {page:#x}"))
    >>> code.mark(0x10ffe, 4)
    >>> code.overlaps(0x10f00, 0xfe), code.overlaps(0x11001, 1), code.overlaps(0x11002, 8)
    (False, True, False)
    >>> code.drop(0x11)
    page 0x11
    >>> code.pages(0, 0x100)
    [16]
    """

    def __init__(self, rights: PageRights) -> None:
        self._rights = rights
        self._halfwords: dict[int, int] = {}
        self.listeners: list[Callable[[int], None]] = []
        self.changes = 0

    def mark(self, addr: int, nbytes: int) -> None:
        """Note an instruction: stores to its pages come here first."""
        for page, bits in _parts(addr, nbytes):
            if page not in self._halfwords:
                self._rights.withhold(self, page, W)
            self._halfwords[page] = self._halfwords.get(page, 0) | bits

    def before_change(self, addr: int, nbytes: int) -> None:
        """Have all listeners forget pages whose decoded bytes change."""
        for page in self.overlapped(addr, nbytes):
            self.drop(page)

    def overlapped(self, addr: int, nbytes: int) -> list[int]:
        """The pages in which the span has decoded bytes."""
        marks = self._halfwords
        if not marks or nbytes <= 0:
            return []
        return [page for page, bits in _parts(addr, nbytes) if marks.get(page, 0) & bits]

    def overlaps(self, addr: int, nbytes: int) -> bool:
        """Whether any byte of the span is part of a decoded instruction."""
        return bool(self.overlapped(addr, nbytes))

    def pages(self, start: int, stop: int) -> list[int]:
        """The pages with decoded code among those of a range."""
        return [page for page in self._halfwords if start <= page < stop]

    def drop(self, page: int) -> None:
        """Forget a page, and have all listeners forget it."""
        del self._halfwords[page]
        self._rights.give_back(self, page)
        self.changes += 1
        for listener in self.listeners:
            listener(page)


def _parts(addr: int, nbytes: int) -> list[tuple[int, int]]:
    """(page, bits of the halfwords) for each page that a span touches."""
    parts = []
    end = addr + nbytes
    while addr < end:
        page, offset = addr >> PAGE_BITS, addr & _PAGE - 1
        stop = min(end - (page << PAGE_BITS), _PAGE)
        first, last = offset >> 1, (stop - 1) >> 1
        parts.append((page, ((1 << last - first + 1) - 1) << first))
        addr = (page + 1) << PAGE_BITS
    return parts
