"""Encoding patterns: the bits of an instruction as the manual draws them, high end first.

``"0000001 rs2 rs1 100 rd 0110011"``: literal bits and field names.  A field without brackets has
its usual width (5 for a register); ``imm[12|10:5]`` holds those bits of the field; ``rd'`` is the
three-bit register field of compressed instructions (x8-x15); ``imm`` is signed, ``uimm`` is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

_WIDTHS: Final = {
    "csr": 12, "shamt": 6, "vm": 1, "aq": 1, "rl": 1, "nf": 3, "rm": 3, "fm": 4, "pred": 4,
    "succ": 4,
}  # fmt: skip
_SIGNED: Final = frozenset({"imm"})


@dataclass(frozen=True, slots=True)
class Slice:
    """Bits [lo, lo + width) of the instruction are bits [at, at + width) of the field."""

    lo: int
    width: int
    at: int


@dataclass(frozen=True, slots=True)
class FieldCode:
    """Where a field's bits are.  `compact` registers are stored less 8."""

    name: str
    slices: tuple[Slice, ...]
    signed: bool
    compact: bool

    @property
    def width(self) -> int:
        """Bits of the field's value, implied low zeros included."""
        return max(s.at + s.width for s in self.slices)

    @property
    def step(self) -> int:
        """Legal values are multiples of this."""
        return 1 << min(s.at for s in self.slices)

    def extract(self, word: int) -> int:
        value = 0
        for s in self.slices:
            value |= (word >> s.lo & (1 << s.width) - 1) << s.at
        if self.signed and value >> (self.width - 1):
            value -= 1 << self.width
        return value + 8 if self.compact else value

    def insert(self, value: int) -> int:
        """The field's bits in place; ValueError when the value does not fit."""
        raw = value - 8 if self.compact else value
        half = 1 << self.width - 1
        low, high = (-half, half) if self.signed else (0, 2 * half)
        covered = sum((1 << s.width) - 1 << s.at for s in self.slices)
        if not low <= raw < high or raw & ~covered & (1 << self.width) - 1:
            raise ValueError(f"{self.name} = {value} does not fit the encoding")
        return sum((raw >> s.at & (1 << s.width) - 1) << s.lo for s in self.slices)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A parsed pattern: fixed bits (`mask`, `match`), fields, length in bytes.

    >>> e = Encoding.parse("0000001 rs2 rs1 100 rd 0110011")
    >>> hex(e.mask), hex(e.match), e.encode({"rd": 1, "rs1": 2, "rs2": 3})
    ('0xfe00707f', '0x2004033', 36782259)
    >>> e.decode(36782259)
    {'rs2': 3, 'rs1': 2, 'rd': 1}
    """

    pattern: str
    mask: int
    match: int
    length: int
    fields: tuple[FieldCode, ...]
    excluded: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def parse(pattern: str, unless: str = "") -> Encoding:
        """From pattern text; `unless` lists values that belong to others: ``"rd=0 rd=2"``."""
        mask = match = 0
        pieces: dict[str, list[Slice]] = {}
        compact: set[str] = set()
        sizes = [(token, *_token_size(token)) for token in pattern.split()]
        position = sum(size for _, size, _ in sizes)
        length = position // 8
        if position not in (16, 32):
            raise ValueError(f"pattern has {position} bits: {pattern}")
        for token, size, ranges in sizes:
            position -= size
            if not ranges:
                mask |= (1 << size) - 1 << position
                match |= int(token, 2) << position
                continue
            name = token.split("[")[0].rstrip("'")
            if "'" in token:
                compact.add(name)
            lo = position + size
            for high, low in ranges:
                lo -= high - low + 1
                pieces.setdefault(name, []).append(Slice(lo, high - low + 1, low))
        fields = tuple(
            FieldCode(name, tuple(s), name in _SIGNED, name in compact)
            for name, s in pieces.items()
        )
        excluded = tuple((n, int(v)) for n, v in (item.split("=") for item in unless.split()))
        return Encoding(pattern, mask, match, length, fields, excluded)

    def matches(self, word: int) -> bool:
        return word & self.mask == self.match and not any(
            self.field(name).extract(word) == value for name, value in self.excluded
        )

    @property
    def field_names(self) -> frozenset[str]:
        return frozenset(f.name for f in self.fields)

    def field(self, name: str) -> FieldCode:
        return next(f for f in self.fields if f.name == name)

    def decode(self, word: int) -> dict[str, int]:
        return {f.name: f.extract(word) for f in self.fields}

    def encode(self, values: Mapping[str, int]) -> int:
        """The instruction word; ValueError for a missing, unfit or excluded value."""
        word = self.match
        for f in self.fields:
            if f.name not in values:
                raise ValueError(f"no value for {f.name}")
            if (f.name, values[f.name]) in self.excluded:
                raise ValueError(f"{f.name} = {values[f.name]} belongs to another instruction")
            word |= f.insert(values[f.name])
        return word


@cache
def _token_size(token: str) -> tuple[int, list[tuple[int, int]]]:
    """Bits of a pattern token, and for a field its (high, low) bit ranges."""
    if re.fullmatch("[01]+", token):
        return len(token), []
    match = re.fullmatch(r"([a-z]\w*)('?)(?:\[([\d:|]+)\])?", token)
    if match is None:
        raise ValueError(f"bad token {token!r} in a pattern")
    name, prime, ranges = match.groups()
    if ranges is None:
        width = 3 if prime else _WIDTHS.get(name, 5)
        return width, [(width - 1, 0)]
    pairs = []
    for part in ranges.split("|"):
        high, _, low = part.partition(":")
        pairs.append((int(high), int(low or high)))
    return sum(high - low + 1 for high, low in pairs), pairs
