"""The functions of a program, by number."""

from __future__ import annotations

from typing import NamedTuple

from rvsim.machine import Machine

UNNAMED = "???"


class FunctionName(NamedTuple):
    """A function's name, and the object and source file in which it begins."""

    name: str
    object: str
    file: str


class Functions:
    """Numbers functions in order of appearance.  Code without symbols is one function per object.

    >>> machine = Machine()
    >>> machine.load("traces/saxpy.elf")
    >>> functions = Functions(machine)
    >>> functions.number(0x10011C4), functions.number(0x8), functions.offset(0x10011C4)
    (0, 1, 2)
    >>> functions[0].name, functions[1].object
    ('saxpy', '???')
    """

    def __init__(self, machine: Machine) -> None:
        assert machine.image is not None
        self._image = machine.image
        self._numbers: dict[tuple[bool, int | None], int] = {}
        self._functions: list[FunctionName] = []

    def __getitem__(self, number: int) -> FunctionName:
        return self._functions[number]

    def number(self, pc: int) -> int:
        """The number of the function of an instruction."""
        symbol = self._image.symbols.lookup(pc)
        start = None if symbol is None else pc - symbol[1]
        key = self.is_ours(pc), start
        number = self._numbers.setdefault(key, len(self._functions))
        if number == len(self._functions):
            name = symbol[0] if symbol is not None else UNNAMED
            home = self.line(start) if start is not None else None
            owner = self._image.name if key[0] else UNNAMED
            self._functions.append(FunctionName(name, owner, home[0] if home else UNNAMED))
        return number

    def offset(self, pc: int) -> int | None:
        """The offset of an instruction in its function, in bytes; None without a symbol."""
        symbol = self._image.symbols.lookup(pc)
        return None if symbol is None else symbol[1]

    def is_ours(self, pc: int) -> bool:
        """Whether an address is in the program itself and not in a library."""
        return any(segment.addr <= pc < segment.end for segment in self._image.segments)

    def line(self, pc: int) -> tuple[str, int] | None:
        """The source file and line of an instruction; None if unknown."""
        return self._image.lines.line(pc)

    def address(self, pc: int) -> int:
        """The address of an instruction in its ELF file; for libraries, its pc."""
        return pc - self._image.bias if self.is_ours(pc) else pc
