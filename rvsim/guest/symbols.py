"""Names of addresses: the symbol table of an ELF file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

NOTYPE: Final = 0
OBJECT: Final = 1
FUNC: Final = 2
LOCAL: Final = 0
GLOBAL: Final = 1
WEAK: Final = 2

_KIND_ORDER: Final = {FUNC: 0, OBJECT: 1, NOTYPE: 2}
_BINDING_ORDER: Final = {GLOBAL: 0, WEAK: 1, LOCAL: 2}


@dataclass(frozen=True, slots=True)
class Symbol:
    """One named address, and where the code or data it names ends.

    `limit` is the end of its section for a label without a size, and `addr` for an absolute symbol,
    which is a number and names no place.
    """

    name: str
    addr: int
    limit: int
    kind: int = FUNC
    binding: int = GLOBAL
    sized: bool = True

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Sort key: of several names for one address the first is the one to show."""
        return (
            self.addr,
            _KIND_ORDER.get(self.kind, 3),
            _BINDING_ORDER.get(self.binding, 3),
            self.name,
        )


class Symbols:
    """Answers which symbol an address belongs to, and where a name is.

    Takes the symbols from their source at the first question, so that a program that asks none does
    not pay for the decoding.

    >>> symbols = Symbols([Symbol("main", 0x1000, 0x1040), Symbol("$x", 0x1010, 0x1040, NOTYPE)])
    >>> symbols.lookup(0x1014), symbols.lookup(0x1040), hex(symbols.address("main"))
    (('main', 20), None, '0x1000')
    """

    def __init__(self, symbols: Iterable[Symbol] = ()) -> None:
        self._source = symbols

    def lookup(self, addr: int) -> tuple[str, int] | None:
        """The symbol that covers `addr`, and how far into it that is."""
        starts, shown = self._places
        i = bisect_right(starts, addr) - 1
        if i < 0 or addr >= shown[i].limit:
            return None
        return shown[i].name, addr - starts[i]

    def address(self, name: str) -> int | None:
        """Where a name is; a global one is preferred to a local one."""
        found = self._named.get(name)
        return None if found is None else found.addr

    def find(self, name: str) -> Symbol | None:
        """The symbol of a name; a global one is preferred to a local one."""
        return self._named.get(name)

    def extent(self, name: str) -> tuple[int, int] | None:
        """Start and end of what a name stands for; a label without a size ends at the next symbol.

        >>> labels = [Symbol("a", 16, 64, NOTYPE, sized=False), Symbol("b", 24, 64, NOTYPE)]
        >>> Symbols(labels).extent("a"), Symbols(labels).extent("b"), Symbols(labels).extent("c")
        ((16, 24), (24, 64), None)
        """
        found = self._named.get(name)
        if found is None:
            return None
        if found.sized:
            return found.addr, found.limit
        starts, _ = self._places
        following = starts[bisect_right(starts, found.addr) :][:1]
        return found.addr, min([found.limit, *following])

    def names(self) -> list[str]:
        """All of them, in no order."""
        return list(self._named)

    def __len__(self) -> int:
        return len(self._named)

    @cached_property
    def _ordered(self) -> list[Symbol]:
        named = [s for s in self._source if not _is_internal(s.name)]
        self._source = ()
        return sorted(named, key=lambda s: s.order)

    @cached_property
    def _places(self) -> tuple[list[int], list[Symbol]]:
        shown = _without_hidden(self._ordered)
        return [s.addr for s in shown], shown

    @cached_property
    def _named(self) -> dict[str, Symbol]:
        found: dict[str, Symbol] = {}
        for s in sorted(self._ordered, key=lambda s: _BINDING_ORDER.get(s.binding, 3)):
            found.setdefault(s.name, s)
        return found


def _is_internal(name: str) -> bool:
    """Mapping symbols ($x, $d, $xrv64…) and the compiler's local labels (.L0)."""
    return not name or name.startswith(("$", ".L"))


def _without_hidden(ordered: list[Symbol]) -> list[Symbol]:
    """Drop second names of an address, and labels inside a function that has a size."""
    shown: list[Symbol] = []
    function_end = 0
    for s in ordered:
        if s.limit == s.addr or (shown and shown[-1].addr == s.addr):
            continue
        if s.kind == FUNC and s.sized:
            function_end = max(function_end, s.limit)
        elif s.kind == NOTYPE and s.addr < function_end:
            continue
        shown.append(s)
    return shown
