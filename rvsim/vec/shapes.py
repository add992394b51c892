"""The loop around an element body: which elements are active, and what the others become (V 5.4).

A shape knows vl, vstart, mask and policies; the body knows one element.  When a trace knows that
vstart is 0 and vl is VLMAX, masks that would be constant are never made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from rvsim import ir
from rvsim.config import Config
from rvsim.ir import Value
from rvsim.ir.statements import Field
from rvsim.vec.vtype import VType

Known = Literal["full", "vl", "vstart"]

LANE_BITS: Final = 16
"""Width of lane numbers in masks: VLMAX stays below 2^16 up to VLEN 32768."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The element sets of one vector instruction over `n` body lanes.

    `known` as in `Context.elements`; `evl` overrides vl (whole registers, mask loads), and
    `updates` whether anything is written at all (`has_body`).
    """

    config: Config
    vtype: VType | None
    known: Known
    n: int
    masked: bool
    evl: Value | None = None
    updates: Value | None = None

    # -- element sets

    def vl(self) -> Value:
        return ir.read("vl") if self.evl is None else self.evl

    def _lane_limit(self, value: Value) -> Value:
        """A count as a lane number; counts past the lanes are as good as the number of lanes."""
        return ir.splat(ir.trunc(ir.min_u(value, self.n), LANE_BITS), self.n)

    @property
    def whole(self) -> bool:
        """Every body lane lies in [vstart, vl)."""
        if self.evl is None:
            return self.known == "full"
        return self.known != "vstart" and self.evl.const == self.n

    def body(self) -> Value:
        """Elements in [vstart, vl), as a mask."""
        if self.whole:
            return ir.const(1, ir.mask(self.n))
        lane = ir.iota(self.n, LANE_BITS)
        inside = ir.lt_u(lane, self._lane_limit(self.vl()))
        return inside if self.known != "vstart" else ~self.prestart() & inside

    def prestart(self) -> Value:
        return ir.lt_u(ir.iota(self.n, LANE_BITS), self._lane_limit(ir.read("vstart")))

    def enabled(self) -> Value:
        """Mask register bits, or all ones for an unmasked instruction."""
        return ir.read_mask(0, self.n) if self.masked else ir.const(1, ir.mask(self.n))

    def active(self) -> Value:
        """Body elements that the mask enables."""
        if not self.masked:
            return self.body()
        return self.enabled() if self.whole else self.body() & self.enabled()

    def has_body(self) -> Value:
        """Whether vstart < vl: where not, no element of any kind is written (V 5.4)."""
        if self.updates is not None:
            return self.updates
        if self.whole:
            return ir.const(1, 1)
        start = ir.read("vstart") if self.known == "vstart" else ir.const(0, 64)
        return ir.lt_u(start, self.vl())

    # -- writing

    def write(
        self,
        field: Field,
        result: Value,
        active: Value | None = None,
        *,
        reg_offset: int = 0,
        keep: Value | None = None,
        tail: bool = True,
    ) -> None:
        """Write active elements to a register group, the others as policy says.

        `active` overrides the active set, and body elements in `keep` are left alone whatever the
        policy (slides); without `tail` the tail is left alone (traps).
        """
        n, width = self.n, result.type.width
        old = ir.read_v(field, n, width, reg_offset)
        merged = ir.where(self.active() if active is None else active, result, old)
        vtype = self.vtype
        if self.config.agnostic != "undisturbed" and vtype is not None:
            tail &= vtype.vta
            merged = self._apply_policy(field, reg_offset, merged, vtype.vma, tail, keep)
            if tail:
                self._fill_past_group(field, reg_offset, n * width // 8)
        ir.write_v(field, merged, reg_offset)

    def _apply_policy(
        self,
        field: Field,
        reg_offset: int,
        merged: Value,
        vma: bool,
        tail: bool,
        keep: Value | None,
    ) -> Value:
        n, width = self.n, merged.type.width
        fill = self.fill(field, reg_offset, 0, n, width)
        if vma and self.masked:
            inactive = self.body() & ~self.enabled()
            merged = ir.where(inactive if keep is None else inactive & ~keep, fill, merged)
        if tail and not self.whole:
            behind = ~ir.lt_u(ir.iota(n, LANE_BITS), self._lane_limit(self.vl()))
            merged = ir.where(behind & ir.splat(self.has_body(), n), fill, merged)
        return merged

    def _fill_past_group(self, field: Field, reg_offset: int, used_bytes: int) -> None:
        """The rest of the register when LMUL < 1 is tail as well (V 5.4)."""
        rest = self.config.vlenb - used_bytes
        if rest > 0:
            whole = ir.read_v(field, self.config.vlenb, 8, reg_offset)
            old = ir.shuffle(whole, range(used_bytes, self.config.vlenb))
            fill = self.fill(field, reg_offset, used_bytes, rest, 8)
            ir.write_v(field, ir.where(self.has_body(), fill, old), reg_offset, used_bytes)

    def write_mask(self, field: Field, result: Value, active: Value | None = None) -> None:
        """Write mask bits; the tail of a mask is agnostic whatever vta says (V 5.4)."""
        padded = -(-self.n // 8) * 8
        everything = self.config.agnostic != "undisturbed"
        total = self.config.vlen if everything else padded
        old = ir.read_mask(field, total)
        lanes = ir.head(old, self.n)
        merged = ir.where(self.active() if active is None else active, result, lanes)
        if everything and self.vtype is not None and self.masked and self.vtype.vma:
            inactive = self.body() & ~self.enabled()
            merged = ir.where(inactive, self._mask_fill(field, self.n), merged)
        if total > self.n:
            merged = ir.concat(merged, ir.shuffle(old, range(self.n, total)))
        if everything:
            limit = ir.splat(ir.trunc(ir.min_u(self.vl(), total), 32), total)
            tail = ~ir.lt_u(ir.iota(total, 32), limit) & ir.splat(self.has_body(), total)
            merged = ir.where(tail, self._mask_fill(field, total), merged)
        ir.write_mask(field, merged)

    def write_scalar(self, field: Field, element: Value) -> None:
        """Write element 0 of a register; the others are tail (reductions, vmv.s.x)."""
        width = element.type.width
        n = self.config.vlen // width
        old = ir.read_v(field, n, width)
        result = ir.insert(old, 0, element)
        if self.config.agnostic != "undisturbed" and self.vtype is not None and self.vtype.vta:
            result = ir.insert(self.fill(field, 0, 0, n, width), 0, element)
        has_body = self.has_body()
        if has_body.const == 1:
            ir.write_v(field, result)
        else:
            ir.write_v(field, ir.where(has_body, result, old))

    def done(self) -> None:
        """Every vector instruction leaves vstart at 0 (V 3.7)."""
        if self.known == "vstart":
            ir.write("vstart", 0)

    # -- agnostic values

    def fill(self, field: Field, reg_offset: int, byte_offset: int, n: int, width: int) -> Value:
        """What agnostic elements become: ones, or a hash of seed, instret, register and byte."""
        if self.config.agnostic == "ones":
            return ir.const(-1, ir.lanes(n, width))
        nbytes = n * width // 8
        number = ir.const(field, 64) if isinstance(field, int) else ir.param(field)
        position = (number + reg_offset) * self.config.vlenb + byte_offset
        key = ir.read("instret") * 0x9E3779B97F4A7C15 + self.config.seed * 0xD1B54A32D192ED03
        words = -(-nbytes // 8)
        mixed = ir.iota(words, 64) * 8 + ir.splat(position ^ key, words)
        for multiplier, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
            mixed = (mixed ^ ir.shr_u(mixed, shift)) * multiplier
        octets = ir.bitcast(mixed ^ ir.shr_u(mixed, 31), ir.lanes(words * 8, 8))
        return ir.bitcast(ir.head(octets, nbytes), ir.lanes(n, width))

    def _mask_fill(self, field: Field, n: int) -> Value:
        octets = self.fill(field, 0, 0, -(-n // 8), 8)
        return ir.head(ir.bitcast(octets, ir.mask(-(-n // 8) * 8)), n)
