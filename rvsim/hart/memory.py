"""Guest memory: one flat, lazily backed space with one permission byte per 4 KiB page.

The space is as large as that of a Linux process (`ADDRESS_SPACE`), if the host can reserve it.
Address space is not memory: pages that may be accessed are memory, and count against `limit`.
Other mapped pages are *promised*: they count from their first access on, if there is room.

Every guest access checks ``addr <= size - n`` and the permission of its first and last page, here
and in compiled code, which reads both through their raw addresses.  A refused access raises
`GuestFault`; misuse by the host program raises `RvsimError`.

Code is coherent: a page with decoded instructions loses its *direct* write permission.  A store to
it then comes here; it is carried out, and what was decoded from its bytes is forgotten.
"""

from __future__ import annotations

import mmap
import sys
from typing import Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.hart.address_space import address_space_left, reserve_first
from rvsim.hart.areas import Areas
from rvsim.hart.decoded_pages import CodeMap
from rvsim.hart.guest_fault import Access, GuestFault
from rvsim.hart.page_rights import PAGE_BITS, PageRights, R, W, X, span_has

PAGE: Final = 1 << PAGE_BITS
MAPPED: Final = 0x80
"""Marks a page that may hold data, also when nothing may touch it now; 8 to 0x40 are spare."""

ADDRESS_SPACE: Final = 1 << 38
"""What a process may map under Sv39, as Linux has it."""

LOWEST_FREE: Final = 0x10000
"""Linux's vm.mmap_min_addr: a process has nothing below it, so small integers are no pointers.

Bare metal has memory there too."""

__all__ = ["ADDRESS_SPACE", "LOWEST_FREE", "MAPPED", "PAGE", "PAGE_BITS", "GuestFault", "Memory"]
__all__ += ["Access", "R", "W", "X"]

Bytes = npt.NDArray[np.uint8]
Addresses = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Lanes = npt.NDArray[np.unsignedinteger]

_LANE_TYPES: Final = (np.dtype("u1"), np.dtype("u2"), np.dtype("u4"), np.dtype("u8"))
_PROMISE_KEPT: Final = 512
"""Pages that a first access makes memory of: the 2 MiB around it, if they are promised."""


class Memory:
    """The guest's address space, nothing mapped at first: `limit` bytes of it may be memory.

    The space has `size` bytes: `space` if the host reserves so many, else `limit`.

    `perm` holds the permissions of each page.  Compiled code looks at another array, at
    `perm_address`: the same, without W where a page holds decoded code.

    >>> memory = Memory(1 << 20)
    >>> memory.map(0x10000, 4096, R | W)
    >>> memory.store4(0x10ffc, 0xdeadbeef)
    >>> hex(memory.load2(0x10ffe))
    '0xdead'
    >>> memory.load8(0x10ffc)
    Traceback (most recent call last):
    rvsim.hart.guest_fault.GuestFault: load access fault at 0x10ffc
    """

    def __init__(self, limit: int = 4 << 30, *, space: int = 0) -> None:
        if limit <= 0 or limit % PAGE:
            raise RvsimError(f"memory size {limit:#x} is not a positive multiple of {PAGE}")
        self.limit = limit
        # ulimit -v counts what is reserved: LLVM, for one, has to have some too.
        spaces = [space] if space > limit and address_space_left() >= 2 * space else []
        self._mmap, self.size = reserve_first([*spaces, limit])
        size = self.size
        self.areas = Areas()
        """Numbers of the pages that are mapped."""
        self._committed = Areas()
        """Those of them that have been accessible: they may hold data, and count."""
        self._promised: dict[int, Areas] = {}
        """Those that will be accessible, by the permissions that they get then."""
        self.view: memoryview = memoryview(self._mmap)
        self.data: Bytes = np.frombuffer(self._mmap, np.uint8)
        self.rights = PageRights(size // PAGE)
        self._perm, self._direct = self.rights.granted, self.rights.direct
        # `first_bad` clips addresses outside to the page that is never mapped.
        self._perm_clipped: Bytes = np.frombuffer(self._perm, np.uint8)
        self._perm_clipped.flags.writeable = False
        self.perm: Bytes = self._perm_clipped[:-1]
        self.data_address: int = self.data.ctypes.data
        self._direct_pages: Bytes = np.frombuffer(self._direct, np.uint8)
        self.perm_address: int = self._direct_pages.ctypes.data
        # Aligned accesses index these; state.py, too, relies on a little-endian host.
        self._halves = self.view.cast("H")
        self._words = self.view.cast("I")
        self._doubles = self.view.cast("Q")
        self._lanes: dict[int, Lanes] = {t.itemsize: self.data.view(t) for t in _LANE_TYPES}
        self.code = CodeMap(self.rights)
        self._last1, self._last2 = size - 1, size - 2
        self._last4, self._last8 = size - 4, size - 8

    # Management, in whole pages

    def _pages(self, addr: int, length: int) -> slice:
        """The pages of a span that the host program asked for, its length rounded up."""
        if addr < 0 or addr % PAGE:
            raise RvsimError(f"address {addr:#x} is not the start of a page")
        if length <= 0 or addr + length > self.size:
            raise RvsimError(
                f"{length:#x} bytes at {addr:#x} are not inside the guest's {self.size:#x} bytes"
            )
        return slice(addr // PAGE, -(-(addr + length) // PAGE))

    def map(self, addr: int, length: int, perm: int) -> None:
        """Map pages that read zero, replacing what was mapped there."""
        pages = self._pages(addr, length)
        if perm & ~(R | W | X):
            raise RvsimError(f"permission {perm:#x} has bits other than R, W and X")
        self.unmap(addr, length)
        self.areas.add(pages.start, pages.stop)
        self._allow(pages, perm)

    def _allow(self, pages: slice, perm: int) -> None:
        """Give mapped pages a permission; if it is not empty, they count from now on."""
        if perm:
            more = pages.stop - pages.start - self._committed.count(pages.start, pages.stop)
            if more > self.left // PAGE:
                raise RvsimError(
                    f"the guest's memory of {self.limit:#x} bytes is used up",
                    hint="give it more memory",
                )
            self._committed.add(pages.start, pages.stop)
        self._forget_promises(pages)
        self._write(pages, MAPPED | perm)

    def _write(self, pages: slice, byte: int) -> None:
        """Enter a permission for the pages that have been accessible; others have none."""
        for start, stop in self._committed.parts(pages.start, pages.stop):
            self._set_permission(slice(start, stop), byte)

    @property
    def left(self) -> int:
        """How many more bytes may become memory."""
        return self.limit - self._committed.total * PAGE

    def has_room(self, addr: int, length: int, perm: int) -> bool:
        """Whether enough is left to map or protect the pages like that."""
        first, stop = addr // PAGE, -(-(addr + length) // PAGE)
        return not perm or stop - first - self._committed.count(first, stop) <= self.left // PAGE

    def promise(self, addr: int, length: int, perm: int) -> None:
        """Give mapped pages a permission; those that hold nothing get it at their first access."""
        pages = self._pages(addr, length)
        self._forget_promises(pages)
        for start, stop in self._committed.gaps(pages.start, pages.stop):
            self._promised.setdefault(perm, Areas()).add(start, stop)
        self._write(pages, MAPPED | perm)

    def keep_promise(self, addr: int, length: int, need: int) -> bool:
        """Whether some of the pages were promised, and have become accessible: try again."""
        if not self._promised or addr >= self.size:
            return False
        first, stop = addr // PAGE, -(-min(addr + length, self.size) // PAGE)
        around = first - first % _PROMISE_KEPT, stop + -stop % _PROMISE_KEPT
        kept = False
        for perm, areas in self._promised.items():
            if perm & need != need or not areas.parts(first, stop):
                continue
            for wanted in (around, (first, stop)):
                found = areas.parts(*wanted)
                if sum(b - a for a, b in found) <= self.left // PAGE:
                    for start, end in found:
                        self._allow(slice(start, end), perm)
                    kept = True
                    break
        return kept

    def held(self, addr: int, length: int) -> int:
        """How many bytes of a span are memory already."""
        return self._committed.count(addr // PAGE, -(-(addr + length) // PAGE)) * PAGE

    def _forget_promises(self, pages: slice) -> None:
        for areas in self._promised.values():
            areas.remove(pages.start, pages.stop)

    def permission(self, addr: int) -> int:
        """What may be done with a mapped page, now or when its promise is kept."""
        page = addr // PAGE
        promised = (p for p, areas in self._promised.items() if areas.covers(page, page + 1))
        return next(promised, int(self.perm[page]) & (R | W | X))

    def is_promised(self, addr: int) -> bool:
        """Whether an access to the page would make memory of it, if enough were left."""
        page = addr // PAGE
        return any(areas.covers(page, page + 1) for areas in self._promised.values())

    def held_pages(self) -> npt.NDArray[np.intp]:
        """Numbers of all pages that may hold data, in order."""
        runs = [np.arange(a, b) for a, b in self._committed.parts(0, self.size // PAGE)]
        return np.concatenate(runs) if runs else np.zeros(0, np.intp)

    def take_over(self, addr: int, length: int, source: int) -> None:
        """Give mapped pages the permissions, promises and content of those from `source` on."""
        pages, like = self._pages(addr, length), self._pages(source, length)
        by = pages.start - like.start
        for start, stop in self._committed.parts(like.start, like.stop):
            self._committed.add(start + by, stop + by)
            perms = bytes(map(self.rights.mapped, range(start, stop)))
            self._set_permission(slice(start + by, stop + by), perms)
        for areas in self._promised.values():
            for start, stop in areas.parts(like.start, like.stop):
                areas.add(start + by, stop + by)

    def holding(self, addr: int, length: int) -> list[tuple[int, int]]:
        """(address, length) of the pages of a span that may hold data; all others are zero."""
        parts = self._committed.parts(addr // PAGE, -(-(addr + length) // PAGE))
        return [(start * PAGE, (stop - start) * PAGE) for start, stop in parts]

    def _set_permission(self, pages: slice, perms: int | bytes) -> None:
        self.rights.map(pages.start, pages.stop, perms)
        for page in self.code.pages(pages.start, pages.stop):
            if not self.rights.mapped(page) & X:
                self.code.drop(page)

    def unmap(self, addr: int, length: int) -> None:
        """Drop the pages and give their memory back to the host; unmapped ones may be among them.

        Pages without a mapping always hold zeros: that is what makes a later `map` read zero.
        """
        pages = self._pages(addr, length)
        for start, stop in self._committed.parts(pages.start, pages.stop):
            self.zero(start * PAGE, (stop - start) * PAGE)
        self._write(pages, 0)
        self._committed.remove(pages.start, pages.stop)
        self._forget_promises(pages)
        self.areas.remove(pages.start, pages.stop)

    def zero(self, addr: int, length: int) -> None:
        """Zero whole pages, giving their memory back to the host; they keep their permissions."""
        pages = self._pages(addr, length)
        start, stop = pages.start * PAGE, pages.stop * PAGE
        self.rights.tell_change(start, stop - start)
        if sys.platform == "linux" and mmap.PAGESIZE == PAGE:
            self._mmap.madvise(mmap.MADV_DONTNEED, start, stop - start)
        else:
            self.data[start:stop] = 0

    def protect(self, addr: int, length: int, perm: int) -> None:
        """Change the permissions of pages that are all mapped."""
        pages = self._pages(addr, length)
        if perm & ~(R | W | X):
            raise RvsimError(f"permission {perm:#x} has bits other than R, W and X")
        if not self.mapped(addr, length):
            raise RvsimError(f"not all of the {length:#x} bytes at {addr:#x} are mapped")
        self._allow(pages, perm)

    def mapped(self, addr: int, length: int) -> bool:
        """Whether every page of the span exists, whatever its permissions."""
        if addr < 0 or length < 0 or addr + length > self.size:
            return False
        return self.areas.covers(addr // PAGE, -(-(addr + length) // PAGE))

    def is_free(self, addr: int, length: int) -> bool:
        """Whether nothing is mapped in a span that may be."""
        first, stop = addr // PAGE, -(-(addr + length) // PAGE)
        return addr >= 0 and stop * PAGE <= self.size and not self.areas.parts(first, stop)

    def find_free(self, length: int, near: int | None = None) -> int | None:
        """Start of the highest unmapped span that ends at or below `near`, else of the highest.

        Without `near` that is the `limit`, which makes the layout the same in any larger space.

        >>> hex(Memory(1 << 20).find_free(8192))
        '0xfe000'
        """
        needed = -(-length // PAGE)
        if length <= 0:
            raise RvsimError(f"a span of {length} bytes cannot be free")
        first = max(0, min(self.limit if near is None else near, self.size))
        for top in (first, self.limit, self.size):
            page = self.areas.highest_gap(LOWEST_FREE // PAGE, top // PAGE, needed)
            if page is not None:
                return page * PAGE
        return None

    # Code that has been decoded

    def mark_code(self, addr: int, nbytes: int) -> None:
        """Note a decoded instruction: `code.listeners` hear when its bytes change."""
        self.code.mark(addr, nbytes)

    # Access by the host: any mapped page, whatever its permissions

    def read(self, addr: int, n: int) -> bytes:
        """Bytes that the host reads; `GuestFault` where nothing is mapped."""
        if not self.mapped(addr, n):
            raise GuestFault(addr, "load")
        return bytes(self.view[addr : addr + n])

    def write(self, addr: int, content: bytes | memoryview) -> None:
        """Store bytes for the host, in read-only pages too; `GuestFault` if nothing is there."""
        if not self.mapped(addr, len(content)):
            raise GuestFault(addr, "store")
        self.rights.tell_change(addr, len(content))
        first, stop = addr // PAGE, -(-(addr + len(content)) // PAGE)
        if not self._committed.covers(first, stop):  # whoever may not touch a page, it holds data
            self._committed.add(first, stop)
        self.view[addr : addr + len(content)] = content

    def read_cstring(self, addr: int, limit: int = 1 << 16) -> bytes:
        """The bytes before the first NUL, at most `limit` of them."""
        parts = []
        while limit > 0:
            chunk = self.read(addr, min(limit, PAGE - addr % PAGE))
            text, nul, _ = chunk.partition(b"\0")
            parts.append(text)
            if nul:
                break
            addr += len(chunk)
            limit -= len(chunk)
        return b"".join(parts)

    # Checked scalar access by the guest, the interpreter's hot path: `addr` is an unsigned 64-bit
    # number, values are unsigned and fit.  Aligned accesses lie in one page and are one look-up;
    # stores that may not go there directly are told apart in `_store`.

    def _load(self, addr: int, n: int) -> int:
        last = addr + n - 1
        perm = self._perm
        if last >= self.size or not perm[addr >> 12] & perm[last >> 12] & R:
            raise GuestFault(addr, "load")
        self.rights.ask_load(addr, n)
        return int.from_bytes(self._mmap[addr : last + 1], "little")

    def _store(self, addr: int, n: int, value: int) -> None:
        last = addr + n - 1
        perm = self._perm
        if last >= self.size or not perm[addr >> 12] & perm[last >> 12] & W:
            raise GuestFault(addr, "store")
        self.rights.ask_store(addr, n)
        self._mmap[addr : last + 1] = value.to_bytes(n, "little")

    def load1(self, addr: int) -> int:
        """The byte at `addr`."""
        if addr <= self._last1 and self._direct[addr >> 12] & R:
            return self.view[addr]
        return self._load(addr, 1)

    def load2(self, addr: int) -> int:
        """The little-endian halfword at `addr`."""
        if not addr & 1 and addr <= self._last2 and self._direct[addr >> 12] & R:
            return self._halves[addr >> 1]
        return self._load(addr, 2)

    def load4(self, addr: int) -> int:
        """The little-endian word at `addr`."""
        if not addr & 3 and addr <= self._last4 and self._direct[addr >> 12] & R:
            return self._words[addr >> 2]
        return self._load(addr, 4)

    def load8(self, addr: int) -> int:
        """The little-endian doubleword at `addr`."""
        if not addr & 7 and addr <= self._last8 and self._direct[addr >> 12] & R:
            return self._doubles[addr >> 3]
        return self._load(addr, 8)

    def store1(self, addr: int, value: int) -> None:
        """Store one byte."""
        if addr <= self._last1 and self._direct[addr >> 12] & W:
            self.view[addr] = value
        else:
            self._store(addr, 1, value)

    def store2(self, addr: int, value: int) -> None:
        """Store a little-endian halfword."""
        if not addr & 1 and addr <= self._last2 and self._direct[addr >> 12] & W:
            self._halves[addr >> 1] = value
        else:
            self._store(addr, 2, value)

    def store4(self, addr: int, value: int) -> None:
        """Store a little-endian word."""
        if not addr & 3 and addr <= self._last4 and self._direct[addr >> 12] & W:
            self._words[addr >> 2] = value
        else:
            self._store(addr, 4, value)

    def store8(self, addr: int, value: int) -> None:
        """Store a little-endian doubleword."""
        if not addr & 7 and addr <= self._last8 and self._direct[addr >> 12] & W:
            self._doubles[addr >> 3] = value
        else:
            self._store(addr, 8, value)

    def fetch2(self, addr: int) -> int:
        """The instruction parcel at an even address."""
        if not addr & 1 and addr <= self._last2 and self._perm[addr >> 12] & X:
            return self._halves[addr >> 1]
        raise GuestFault(addr, "fetch")

    # Spans and lanes

    def span_ok(self, addr: int, nbytes: int, need: int) -> bool:
        """Whether every page of the span has all permissions in `need`; an empty span has."""
        return span_has(self._perm, addr, nbytes, need)

    def span_room(self, addr: int, nbytes: int, need: int) -> int:
        """How many bytes from `addr` on have all permissions in `need`, at most `nbytes`."""
        if self.span_ok(addr, nbytes, need):
            return nbytes
        first, end = addr >> PAGE_BITS, min(addr + nbytes, self.size)
        pages = self.perm[first : -(-end // PAGE)]
        bad = pages & need != need
        stop = (first + int(bad.argmax())) * PAGE if bad.any() else end
        return max(0, stop - addr)

    def loads_directly(self, addr: int, nbytes: int) -> bool:
        """Whether the guest may load from the span without anybody being asked."""
        return span_has(self._direct, addr, nbytes, R)

    def stores_directly(self, addr: int, nbytes: int) -> bool:
        """Whether the guest may store to the span without anybody being asked."""
        return span_has(self._direct, addr, nbytes, W)

    def first_bad(self, addrs: Addresses, nbytes: int, need: int, active: Mask) -> int:
        """Index of the first active lane that may not access its 1 to 4096 bytes, else the length.

        >>> memory = Memory(1 << 20)
        >>> memory.map(0x10000, 4096, R)
        >>> addrs = np.array([0x10000, 5, 0x10ffc, 0x10ffe], np.uint64)
        >>> memory.first_bad(addrs, 4, R, np.array([True, False, True, True]))
        3
        """
        perm = self._perm_clipped
        has = perm.take((addrs >> 12).view(np.int64), mode="clip")
        if nbytes > 1:  # where the last byte's address wraps around, the first is outside
            has &= perm.take(((addrs + (nbytes - 1)) >> 12).view(np.int64), mode="clip")
        bad = np.flatnonzero(active & (has & need != need))
        return int(bad[0]) if bad.size else len(addrs)

    def load_lanes(self, addrs: Addresses, nbytes: int, active: Mask, old: Lanes) -> Lanes:
        """Gather elements of 1, 2, 4 or 8 bytes; lanes that aren't active keep `old`.

        `first_bad` has allowed the active lanes; addresses of the others may be anything.
        """
        values = old.copy()
        at = addrs[active].view(np.int64)
        if not self._is_direct(at, nbytes, R):
            for addr in at.tolist():
                self.rights.ask_load(addr, nbytes)
        if (at & (nbytes - 1)).any():
            cells = self.data[at[:, None] + np.arange(nbytes)]
            values[active] = cells.view(old.dtype)[:, 0]
        else:
            values[active] = self._lanes[nbytes][at >> (nbytes.bit_length() - 1)]
        return values

    def store_lanes(self, addrs: Addresses, values: Lanes, active: Mask, stop: int) -> None:
        """Scatter the active lanes below `stop` in element order: the last of two writers wins.

        `first_bad` has allowed these lanes; addresses of the others may be anything.
        """
        nbytes = values.itemsize
        chosen = active[:stop]
        at = addrs[:stop][chosen].view(np.int64)
        elements = values[:stop][chosen]
        if not self._is_direct(at, nbytes, W):
            for addr in at.tolist():
                self.rights.ask_store(addr, nbytes)
        if not (at & (nbytes - 1)).any():
            cells, where = self._lanes[nbytes], at >> (nbytes.bit_length() - 1)
        else:
            cells, where = self.data, (at[:, None] + np.arange(nbytes)).reshape(-1)
            elements = elements.view(np.uint8)
        # NumPy promises no order of assignment for a repeated index, so none may be repeated.
        if not (where[1:] > where[:-1]).all():
            where, kept = np.unique(where[::-1], return_index=True)
            elements = elements[::-1][kept]
        cells[where] = elements

    def _is_direct(self, at: npt.NDArray[np.int64], nbytes: int, need: int) -> bool:
        """Whether all accesses may be made without anybody being asked."""
        if need == R and not self.rights.withholds_loads:
            return True
        rights = self._direct_pages[at >> PAGE_BITS]
        if nbytes > 1:
            rights &= self._direct_pages[at + (nbytes - 1) >> PAGE_BITS]
        return bool((rights & need).all())
