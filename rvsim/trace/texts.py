"""Text of instructions that come again and again."""

from __future__ import annotations

from collections.abc import Callable

from rvsim.decode import Decoded
from rvsim.disasm import disassemble


class Texts:
    """Makes the text of each instruction at its place once, from its disassembly."""

    def __init__(self, make: Callable[[str], str] = str) -> None:
        self._make = make
        self._known: dict[tuple[int, int], str] = {}

    def of(self, d: Decoded) -> str:
        found = self._known.get((d.pc, d.word))
        if found is None:
            found = self._known[d.pc, d.word] = self._make(disassemble(d))
        return found
