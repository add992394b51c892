"""Rights of pages: what the mapping grants, less what others deny or withhold.

A page has one mapping, and any number of owners that limit its rights.  An owner that *denies* a
right takes it from the guest.  An owner that *withholds* a right leaves it to the guest, but each
access leaves compiled code, and the owner is asked before it is made.  Each owner adds and removes
its own reasons, whatever the others do:

| owner          | reason                             | right                                   |
|----------------|------------------------------------|-----------------------------------------|
| the mapping    | what is mapped (`Memory.protect`)  | grants R, W, X                          |
| decoded code   | what was decoded must be forgotten | withholds W                             |
| dirty tracking | the first store to a page is noted | withholds W                             |
| watchpoint     | accesses are looked at             | withholds R and W                       |
| shadow         | accesses carry definedness along   | withholds R and W                       |
| guard          | accesses trap                      | denies R, W or X                        |
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from typing import Final

import numpy as np

from rvsim.hart import address_space

R: Final = 1
W: Final = 2
X: Final = 4

PAGE_BITS: Final = 12


class PageOwner:
    """An owner that limits rights of pages; addresses and lengths are in bytes.

    The guest's access is made after all owners have been asked.  They may give rights back
    before it.
    """

    def before_load(self, addr: int, nbytes: int) -> None:
        """The guest is about to load from a page whose R is withheld."""

    def before_store(self, addr: int, nbytes: int) -> None:
        """The guest is about to store to a page whose W is withheld."""

    def before_change(self, addr: int, nbytes: int) -> None:
        """Bytes of a page whose W is withheld are about to change, whoever does it."""


Reasons = defaultdict[int, dict[PageOwner, int]]
"""For each page, the rights that each owner has reasons against."""


class PageRights:
    """The rights of `pages` pages; a page that is not mapped has none.

    `granted` has what the guest may do with each page, `direct` what may be done without asking;
    compiled code reads `direct`.  Both have one more byte, for a page that is never mapped.

    >>> rights, watchpoint = PageRights(4), PageOwner()
    >>> rights.map(1, 3, R | W)
    >>> rights.withhold(watchpoint, 2, W)
    >>> list(rights.granted[:4]), list(rights.direct[:4])
    ([0, 3, 3, 0], [0, 3, 1, 0])
    """

    def __init__(self, pages: int) -> None:
        # Mappings of the host are zero without having been touched, which bytearrays are not.
        self.granted = address_space.reserve(pages + 1)
        self.direct = address_space.reserve(pages + 1)
        self._mapped: dict[int, int] = {}
        """What the mapping grants, for pages that an owner denies a right of."""
        self._denied: Reasons = defaultdict(dict)
        self._withheld: Reasons = defaultdict(dict)
        self.withholds_loads = False
        """Whether R has ever been withheld from a page: most machines do not ask about loads."""

    def map(self, start: int, stop: int, rights: int | bytes) -> None:
        """Enter what the mapping grants for a range: the same for all pages, or a byte for each."""
        each = bytes([rights]) * (stop - start) if isinstance(rights, int) else rights
        self.granted[start:stop] = each
        self.direct[start:stop] = each
        for page in _inside(self._denied, start, stop):
            self._mapped[page] = each[page - start]
            self._derive(page)
        for page in _inside(self._withheld, start, stop):
            self._derive(page)

    def mapped(self, page: int) -> int:
        """What the mapping grants, whatever is denied."""
        return self._mapped.get(page, self.granted[page])

    def deny(self, owner: PageOwner, page: int, rights: int) -> None:
        """Take these rights from the guest, and no others for this owner."""
        self._mapped.setdefault(page, self.granted[page])
        self._denied[page][owner] = rights
        self._derive(page)

    def withhold(self, owner: PageOwner, page: int, rights: int) -> None:
        """Have the owner asked before each use of these rights, and of no others."""
        self._withheld[page][owner] = rights
        self.withholds_loads |= bool(rights & R)
        self._derive(page)

    def give_back(self, owner: PageOwner, page: int) -> None:
        """The owner limits the page no longer."""
        for reasons in (self._denied, self._withheld):
            if reasons.get(page, {}).pop(owner, None) is not None and not reasons[page]:
                del reasons[page]
        self._derive(page)
        if page not in self._denied:
            self._mapped.pop(page, None)

    def _derive(self, page: int) -> None:
        granted = self.mapped(page) & ~_union(self._denied, page)
        self.granted[page] = granted
        self.direct[page] = granted & ~_union(self._withheld, page)

    # -- asking: the access is one that is granted, but not directly

    def ask_load(self, addr: int, nbytes: int) -> None:
        """Ask all owners that withhold R from any page of the access."""
        for owner in self._owners(addr, nbytes, R):
            owner.before_load(addr, nbytes)

    def ask_store(self, addr: int, nbytes: int) -> None:
        """Ask all owners that withhold W from any page of the access."""
        for owner in self._owners(addr, nbytes, W):
            owner.before_store(addr, nbytes)
            owner.before_change(addr, nbytes)

    def tell_change(self, addr: int, nbytes: int) -> None:
        """Tell the same owners of bytes that the host is about to change."""
        for owner in self._owners(addr, nbytes, W):
            owner.before_change(addr, nbytes)

    def _owners(self, addr: int, nbytes: int, right: int) -> list[PageOwner]:
        if not self._withheld or nbytes <= 0:
            return []
        start, stop = addr >> PAGE_BITS, (addr + nbytes - 1 >> PAGE_BITS) + 1
        found: dict[PageOwner, None] = {}
        for page in _inside(self._withheld, start, stop):
            found |= {o: None for o, rights in self._withheld[page].items() if rights & right}
        return list(found)


def span_has(rights: mmap.mmap, addr: int, nbytes: int, need: int) -> bool:
    """Whether every page of a span has all rights in `need`; an empty span has.

    `rights` has a byte for each page, and one more at its end.
    """
    if nbytes <= 0:
        return True
    first, last = addr >> PAGE_BITS, addr + nbytes - 1 >> PAGE_BITS
    if last >= len(rights) - 1 or rights[first] & rights[last] & need != need:
        return False
    if last - first < 2:
        return True
    between = np.frombuffer(rights, np.uint8, last - first, first)
    return bool(np.bitwise_and.reduce(between) & need == need)


def _union(reasons: Reasons, page: int) -> int:
    rights = 0
    for each in reasons.get(page, {}).values():
        rights |= each
    return rights


def _inside(reasons: Reasons, start: int, stop: int) -> list[int]:
    """The pages of a range that some owner limits."""
    if stop - start < len(reasons):
        return [page for page in range(start, stop) if page in reasons]
    return [page for page in reasons if start <= page < stop]
