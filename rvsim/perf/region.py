"""The region of interest: the part of the code whose cycles are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rvsim.errors import RvsimError, did_you_mean
from rvsim.guest.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Region:
    """Addresses from `start` up to, and without, `end`."""

    name: str
    start: int
    end: int

    def __contains__(self, pc: int) -> bool:
        return self.start <= pc < self.end


def find_region(text: str, symbols: Symbols) -> Region:
    """The region of a symbol, or of ``ADDR-ADDR`` in hex, where the end is not included.

    A symbol with a size ends after that size, a label without one at the next symbol.  `RvsimError`
    for an unknown symbol names similar ones.

    >>> find_region("0x1000-0x1040", Symbols())
    Region(name='0x1000-0x1040', start=4096, end=4160)
    """
    addresses = re.fullmatch(r"(?:0x)?([0-9a-f]+)-(?:0x)?([0-9a-f]+)", text, re.IGNORECASE)
    if addresses is not None:
        start, end = int(addresses[1], 16), int(addresses[2], 16)
        if start >= end:
            raise RvsimError(
                f"the region {text} is empty", hint="write START-END, END not included"
            )
        return Region(text, start, end)
    extent = symbols.extent(text)
    if extent is None:
        raise RvsimError(f"there is no symbol {text!r}", hint=_way_out(text, symbols))
    return Region(text, *extent)


def _way_out(name: str, symbols: Symbols) -> str:
    otherwise = "write a function's name, or addresses as in 0x1000-0x1040"
    return did_you_mean(name, symbols.names(), most=3, otherwise=otherwise)
