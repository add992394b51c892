"""Lanes in memory: registers, guest memory and scratch, read and written a strip at a time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I1, I8, I32, I64, PTR, at, vector


def stored_width(width: int) -> int:
    """Bits that a lane takes in memory: masks are packed, other widths have whole bytes.

    >>> [stored_width(w) for w in (1, 3, 8, 24)]
    [1, 8, 8, 32]
    """
    return width if width == 1 else max(8, 1 << (width - 1).bit_length())


@dataclass(frozen=True, slots=True)
class LaneArray:
    """Lanes of `width` bits from `pointer` on.

    Strips begin at a multiple of their number of lanes.  Those of a mask that is not in whole bytes
    may read the byte after it.
    """

    pointer: Any
    width: int

    def load(self, b: Any, start: Any, lanes: int) -> Any:
        """`lanes` lanes from lane `start` (an i64) on."""
        stored = stored_width(self.width)
        if self.width == 1:
            return self._load_bits(b, start, lanes)
        found = b.load(self._at(b, start), typ=vector(lanes, stored), align=1)
        return found if stored == self.width else b.trunc(found, vector(lanes, self.width))

    def store(self, b: Any, start: Any, value: Any) -> None:
        lanes, stored = build.lane_count(value), stored_width(self.width)
        if self.width == 1:
            self._store_bits(b, start, value, lanes)
            return
        if stored != self.width:
            value = b.zext(value, vector(lanes, stored))
        b.store(value, self._at(b, start), align=1)

    def _at(self, b: Any, start: Any) -> Any:
        return at(b, self.pointer, start, ir.IntType(stored_width(self.width)))

    def _load_bits(self, b: Any, start: Any, lanes: int) -> Any:
        where = at(b, self.pointer, b.lshr(start, I64(3)))
        if lanes % 8 == 0:
            word = b.load(where, typ=ir.IntType(lanes), align=1)
        else:
            inside = 8 if 8 % lanes == 0 else -(-(lanes + 7) // 8) * 8
            octets = b.load(where, typ=ir.IntType(inside), align=1)
            shift = build.resized(b, b.and_(start, I64(7)), inside)
            word = b.trunc(b.lshr(octets, shift), ir.IntType(lanes))
        return build.word_mask(b, word)

    def _store_bits(self, b: Any, start: Any, value: Any, lanes: int) -> None:
        where = at(b, self.pointer, b.lshr(start, I64(3)))
        word = build.mask_word(b, value)
        if lanes < 8:
            shift = b.trunc(b.and_(start, I64(7)), I8)
            others = b.xor(b.shl(I8((1 << lanes) - 1), shift), I8(0xFF))
            kept = b.and_(b.load(where, typ=I8), others)
            word = b.or_(kept, b.shl(b.zext(word, I8), shift))
        b.store(word, where, align=1)


class Scratch:
    """Stack memory for arrays of one instruction after the other: each begins with all of it."""

    def __init__(self, entry: Any) -> None:
        self._entry = entry
        self._chunks: list[tuple[int, Any]] = []
        self._taken: set[int] = set()

    def restart(self) -> None:
        """The next instruction: what was there is of no use any more."""
        self._taken.clear()

    def array(self, lanes: int, width: int) -> LaneArray:
        """Room for `lanes` lanes, with undefined contents."""
        nbytes = -(-lanes * stored_width(width) // 8) + 1
        free = [i for i, (size, _) in enumerate(self._chunks)
                if size >= nbytes and i not in self._taken]  # fmt: skip
        if not free:
            slot = self._entry.alloca(ir.ArrayType(I8, nbytes))
            slot.type = PTR
            self._chunks.append((nbytes, slot))
            free = [len(self._chunks) - 1]
        chunk = min(free, key=lambda i: self._chunks[i][0])
        self._taken.add(chunk)
        return LaneArray(self._chunks[chunk][1], width)


def fill_zero(b: Any, array: LaneArray, lanes: int) -> None:
    nbytes = -(-lanes * stored_width(array.width) // 8)
    function = _intrinsic(b, "llvm.memset.p0.i64", [PTR, I8, I64, I1])
    b.call(function, [array.pointer, I8(0), I64(nbytes), I1(0)])


def copy(b: Any, target: LaneArray, source: LaneArray, nbytes: Any) -> None:
    """`nbytes` (an i64) from one array to another that is apart from it."""
    function = _intrinsic(b, "llvm.memcpy.p0.p0.i64", [PTR, PTR, I64, I1])
    b.call(function, [target.pointer, source.pointer, nbytes, I1(0)])


def constant_array(b: Any, octets: bytes) -> Any:
    """The address of read-only bytes in the module of `b`; the same bytes are there once."""
    module, name = b.module, f"table_{hashlib.sha256(octets).hexdigest()[:24]}"
    table = module.globals.get(name)
    if table is None:
        data = ir.Constant(ir.ArrayType(I8, len(octets)), bytearray(octets))
        table = ir.GlobalVariable(module, data.type, name)
        table.initializer = data
        table.global_constant = True
        table.linkage = "internal"
        table.type = PTR
    return table


def _intrinsic(b: Any, name: str, parameters: list[Any]) -> Any:
    found = b.module.globals.get(name)
    if found is None:
        found = ir.Function(b.module, ir.FunctionType(ir.VoidType(), parameters), name)
    return found


def one_lane(b: Any, scalar: Any) -> Any:
    """A scalar as the only lane."""
    none = ir.Constant(ir.VectorType(scalar.type, 1), ir.Undefined)
    return b.insert_element(none, scalar, I32(0))
