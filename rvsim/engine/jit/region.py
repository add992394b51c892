"""A compiled region apart from the process it was made in: object code, and what that is for.

Regions are identified by the pc and the mode they begin with.  A mode is a 16-bit number here and
in compiled code, the same in every process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from rvsim.engine.block import Mode
from rvsim.engine.jit.discover import RegionPlan
from rvsim.hart.memory import Memory, X
from rvsim.vec.shapes import Known
from rvsim.vec.vtype import VType

_KNOWN: Final[tuple[Known, ...]] = ("full", "vl", "vstart")
_LENGTH_BYTES: Final = 4
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def mode_number(mode: Mode) -> int:
    """A number for a mode, never 0, which stands for "unknown".

    >>> from rvsim.vec.vtype import VType
    >>> hex(mode_number(Mode(None, "vl"))), hex(mode_number(Mode(VType(4, 1), "full", 2)))
    ('0x8400', '0xa109')
    """
    vtype = 0 if mode.vtype is None else 0x100 | mode.vtype.encode()
    return 0x8000 | mode.off << 12 | _KNOWN.index(mode.elements) << 10 | vtype


def numbered_mode(number: int) -> Mode:
    """The inverse of `mode_number`.

    >>> numbered_mode(0x8400) == Mode(None, "vl"), hex(mode_number(numbered_mode(0xa109)))
    (True, '0xa109')
    """
    vtype = VType.decode(number & 0xFF) if number & 0x100 else None
    return Mode(vtype, _KNOWN[(number >> 10 & 3) % len(_KNOWN)], number >> 12 & 7)


class Covered(NamedTuple):
    """A block of a region: its code, the mode it begins in, and its number of instructions."""

    pc: int
    end: int
    mode: int
    insns: int

    @property
    def key(self) -> tuple[int, int]:
        return self.pc, self.mode


@dataclass(frozen=True, slots=True)
class CompiledRegion:
    """Object code that is good for as long as the guest's memory holds the code it was made from.

    `blocks` has the entry first; `digest` is that of the bytes of all of them.
    """

    blocks: tuple[Covered, ...]
    digest: str
    code: bytes

    @staticmethod
    def of(plan: RegionPlan, code: bytes) -> CompiledRegion:
        """The region of a plan, for the bytes that were decoded."""
        digest = sha256()
        for block in plan.blocks.values():
            for step in block.steps:
                digest.update(step.decoded.word.to_bytes(step.decoded.length, "little"))
        blocks = tuple(
            Covered(pc, block.end, mode_number(mode), len(block.steps))
            for (pc, mode), block in plan.blocks.items()
        )
        return CompiledRegion(blocks, digest.hexdigest(), code)

    @property
    def entry(self) -> tuple[int, int]:
        """The pc and the mode number that it begins with."""
        return self.blocks[0].key

    def begins_at(self, entry: tuple[int, int]) -> bool:
        """Whether it has this entry; the way into native code has none."""
        return bool(self.blocks) and self.entry == entry

    def touches(self, start: int, stop: int) -> bool:
        """Whether any of the guest's code lies between these addresses."""
        return any(block.pc < stop and block.end > start for block in self.blocks)

    def is_for(self, memory: Memory) -> bool:
        """Whether the guest's code is what it was, and may still be executed."""
        digest = sha256()
        for pc, end, _, _ in self.blocks:
            if not memory.span_ok(pc, end - pc, X):
                return False
            digest.update(memory.view[pc:end])
        return digest.hexdigest() == self.digest

    def to_bytes(self) -> bytes:
        header = json.dumps([self.blocks, self.digest]).encode()
        return len(header).to_bytes(_LENGTH_BYTES, "little") + header + self.code

    @staticmethod
    def from_bytes(content: bytes) -> CompiledRegion:
        """The inverse of `to_bytes`; `ValueError` for what that never makes.

        >>> block = Covered(0x10000, 0x10004, 0x8400, 1)
        >>> region = CompiledRegion((block,), sha256().hexdigest(), b"object")
        >>> CompiledRegion.from_bytes(region.to_bytes()) == region
        True
        """
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        match json.loads(content[_LENGTH_BYTES:start]):
            case [list(blocks), str(digest)] if _DIGEST.fullmatch(digest):
                covered = tuple(_covered(block) for block in blocks)
                return CompiledRegion(covered, digest, content[start:])
        raise ValueError("no region")


def _covered(block: object) -> Covered:
    match block:
        case [int(pc), int(end), int(mode), int(insns)]:
            is_code = 0 <= pc < end < 1 << 64 and 2 * insns <= end - pc <= 4 * insns
            if is_code and 0 <= mode < 1 << 16 and mode_number(numbered_mode(mode)) == mode:
                return Covered(pc, end, mode, insns)
    raise ValueError("no block")
