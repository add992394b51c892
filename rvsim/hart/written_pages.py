"""Pages that were written after a moment, with the content that they had then."""

from __future__ import annotations

from rvsim.hart.memory import PAGE, Memory
from rvsim.hart.page_rights import PAGE_BITS, PageOwner, W


class WrittenPages(PageOwner):
    """Saves the content of each page at the first store to it, and puts it back.

    Only the first store to a page comes here.  From then on the page is one of `saved`, and every
    `restore` writes it back.  Pages that become memory later are not followed.

    >>> from rvsim.hart.page_rights import R
    >>> memory = Memory(1 << 20)
    >>> memory.map(0x10000, 4 * PAGE, R | W)
    >>> memory.store4(0x10000, 1)
    >>> written = WrittenPages(memory)
    >>> memory.store4(0x10000, 2)
    >>> written.restore()
    >>> memory.load4(0x10000), list(written.saved)
    (1, [16])
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._followed = set(memory.held_pages().tolist())
        self.saved: dict[int, bytes] = {}
        """Content of the pages that have been written, as it was before."""
        for page in self._followed:
            memory.rights.withhold(self, page, W)

    def before_change(self, addr: int, nbytes: int) -> None:
        for page in range(addr >> PAGE_BITS, (addr + nbytes - 1 >> PAGE_BITS) + 1):
            if page in self._followed:
                self._followed.remove(page)
                self.saved[page] = self._content(page)
                self._memory.rights.give_back(self, page)

    def _content(self, page: int) -> bytes:
        return bytes(self._memory.view[page * PAGE : (page + 1) * PAGE])

    def now(self) -> dict[int, bytes]:
        """What the pages that have been written hold now."""
        return {page: self._content(page) for page in self.saved}

    def restore(self) -> None:
        """Put back what all pages held when this was made; code that changes is forgotten."""
        self.put(self.saved)

    def put(self, contents: dict[int, bytes]) -> None:
        """Write whole pages."""
        view = self._memory.view
        for page, content in contents.items():
            start = page * PAGE
            if view[start : start + PAGE] != content:
                self._memory.write(start, content)
