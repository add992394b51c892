"""Runs line number programs (DWARF 5, 6.2.5) as far as a budget of operations goes.

A byte of a program may be a row, and a compressed section may hold any number of bytes, so that
what a file asks for has to be counted.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rvsim.guest.file_limits import Budget
from rvsim.hart.words import WORD_MASK

_LARGEST: Final = (1 << 32) - 1
_LONGEST_NUMBER: Final = 32
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_AT_ONCE: Final = 1000
"""Operations between two looks at the budget."""
_SEQUENCE: Final = 5
"""A sequence takes as long as so many operations."""


@dataclass(slots=True)
class LineRows:
    """Addresses with the numbers of their files and lines, each up to the next one's address.

    Line 0 stands for "no source here", also where a sequence ends.
    """

    addresses: array[int] = field(default_factory=lambda: array("Q"))
    files: array[int] = field(default_factory=lambda: array("I"))
    lines: array[int] = field(default_factory=lambda: array("I"))

    def add(self, address: int, file: int, line: int) -> None:
        """One row; what is no line number is no line."""
        self.addresses.append(address & WORD_MASK)
        self.files.append(min(file, _LARGEST))
        self.lines.append(line if 0 <= line <= _LARGEST else 0)

    def move(self, bias: int) -> None:
        """Add to all addresses."""
        if bias:
            self.addresses = array("Q", [addr + bias & WORD_MASK for addr in self.addresses])

    def is_rising(self) -> bool:
        """Whether no row goes back; a damaged program's may."""
        addresses = self.addresses
        return all(map(int.__le__, addresses, addresses[1:]))

    def put_after(self, other: LineRows) -> None:
        """Append rows that begin later than these: where they overlap, these end."""
        while self.addresses and self.addresses[-1] >= other.addresses[0]:
            for column in (self.addresses, self.files, self.lines):
                column.pop()
        self.addresses += other.addresses
        self.files += other.files
        self.lines += other.lines

    def find(self, address: int) -> tuple[int, int] | None:
        """File and line of an address."""
        i = bisect_right(self.addresses, address) - 1
        return (self.files[i], self.lines[i]) if i >= 0 and self.lines[i] else None


def sequences(code: bytes, header: Mapping[str, Any], budget: Budget) -> Iterator[LineRows]:
    """The sequences of a program with its header as pyelftools has it; damaged ones are left out.

    This is one loop over local names, since programs have hundreds of thousands of operations.
    Raises IndexError or ValueError where the bytes are no program, and `TooLarge`.
    """
    advance = _Advance(header)
    opcode_base = header["opcode_base"]
    line_base, line_range = header["line_base"], header["line_range"]
    at, end = 0, len(code)
    rows, address, file, line, index = LineRows(), 0, 1, 1, 0
    spent = 0
    while at < end:
        spent += 1
        if spent == _AT_ONCE:
            budget.spend(spent)
            spent = 0
        opcode = code[at]
        at += 1
        if opcode >= opcode_base:
            adjusted = opcode - opcode_base
            address, index = advance.by(address, index, adjusted // line_range)
            line += line_base + adjusted % line_range
            rows.add(address, file, line)
        elif opcode == 0:
            length, at = _unsigned(code, at)
            kind, following = code[at], at + length
            if kind == _END_SEQUENCE:
                rows.add(address, file, 0)
                budget.spend(_SEQUENCE)
                if rows.is_rising():
                    yield rows
                rows, address, file, line, index = LineRows(), 0, 1, 1, 0
            elif kind == _SET_ADDRESS:
                address, index = int.from_bytes(code[at + 1 : at + 9], "little"), 0
            at = following
        elif opcode == _COPY:
            rows.add(address, file, line)
        elif opcode == _ADVANCE_PC:
            steps, at = _unsigned(code, at)
            address, index = advance.by(address, index, steps)
        elif opcode == _ADVANCE_LINE:
            steps, at = _signed(code, at)
            line += steps
        elif opcode == _SET_FILE:
            file, at = _unsigned(code, at)
        elif opcode == _CONST_ADD_PC:
            address, index = advance.by(address, index, (255 - opcode_base) // line_range)
        elif opcode == _FIXED_ADVANCE_PC:
            address, index = address + int.from_bytes(code[at : at + 2], "little"), 0
            at += 2
        else:
            for _ in range(header["standard_opcode_lengths"][opcode - 1]):
                _, at = _unsigned(code, at)
    budget.spend(spent)


class _Advance:
    """How far an operation advance goes (DWARF 5, 6.2.5.1); RISC-V has one operation a place."""

    __slots__ = ("_bytes", "_operations")

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._bytes: int = header["minimum_instruction_length"]
        self._operations: int = header["maximum_operations_per_instruction"]

    def by(self, address: int, index: int, steps: int) -> tuple[int, int]:
        """Address and index after so many operations."""
        if self._operations == 1:
            return address + self._bytes * steps & WORD_MASK, 0
        insns, index = divmod(index + steps, self._operations)
        return address + self._bytes * insns & WORD_MASK, index


def _unsigned(code: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number (DWARF 5, 7.6), and where it ends."""
    value = shift = 0
    for end in range(at, at + _LONGEST_NUMBER):
        value |= (code[end] & 0x7F) << shift
        shift += 7
        if code[end] < 0x80:
            return value, end + 1
    raise ValueError("a number has no end")


def _signed(code: bytes, at: int) -> tuple[int, int]:
    value, end = _unsigned(code, at)
    bits = 7 * (end - at)
    return value - ((value >> bits - 1) << bits), end
