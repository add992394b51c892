"""Caches as arrays, and the fill of an L1 line: TLB, ways of a set, L2 and the memory bus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rvsim import ir
from rvsim.cost.core import Cache, Core, Tlb
from rvsim.cost.formula import fixed
from rvsim.cost.issue import latest
from rvsim.cost.reasons import MEM_DRAM, MEM_L2
from rvsim.cost.state import get, put
from rvsim.ir import Value
from rvsim.ir.program import Subprogram

_SCATTER: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)
"""Odd factors of the generator splitmix64: they make page numbers look random."""

_FIRST_TURN: Final = 1
"""The first turn of a line in L2; 0 is an empty place."""


def find(cache: Cache | Tlb, prefix: str, line: Value) -> tuple[Value, Value]:
    """(whether the line is there, its place; the first place of its set if it is not there).

    Arrays hold line numbers plus 1, so that 0 means no line.
    """
    first = (line & (cache.sets - 1)) * cache.ways
    place, found = first, ir.const(0, 1)
    for way in range(cache.ways):
        here = ir.read_array(f"{prefix}_line", first + way) == line + 1
        found |= here
        place = ir.where(here, first + way, place)
    return found, place


def oldest(cache: Cache | Tlb, prefix: str, line: Value) -> Value:
    """The place of the least recently used line in the set of `line`."""
    first = (line & (cache.sets - 1)) * cache.ways
    place, used = first, ir.read_array(f"{prefix}_used", first)
    for way in range(1, cache.ways):
        other = ir.read_array(f"{prefix}_used", first + way)
        older = ir.lt_u(other, used)
        place, used = ir.where(older, first + way, place), ir.where(older, other, used)
    return place


@dataclass(frozen=True)
class Fills:
    """Subprograms that move lines between the levels of one core."""

    core: Core

    @cached_property
    def fill(self) -> Subprogram:
        """Bring a line into L1; returns the time when it arrives.

        With `later`, the line keeps this time for its first access; `streamed` says that
        a stream brings it.
        """

        def body(line: Value, time: Value, later: Value, streamed: Value) -> Value:
            l2, dram = self.core.l2, self.core.dram
            awaited = later == 0
            walk = ir.invoke(self.translate, line, time)
            begin = ir.where(awaited, latest(time, self._queue_free()) + walk, time)
            in_l2 = ir.invoke(self.use_l2, line, 0, streamed)
            bus = get("bus_free")
            from_dram = ir.invoke(self.use_dram, begin, 0, when=in_l2 == 0)
            bus_start = latest(bus, ir.where(in_l2 == 0, from_dram - fixed(l2.fill), begin))
            busy = ir.where(awaited, fixed(l2.demand), ir.const(fixed(l2.fill), 64))
            put("bus_free", bus_start + busy)
            put("level", ir.where(in_l2 == 0, MEM_DRAM, ir.const(MEM_L2, 64)))
            arrival = ir.where(
                in_l2 == 0,
                latest(from_dram, begin + fixed(dram.latency)),
                bus_start + fixed(l2.latency),
            )
            with ir.when(awaited):
                self._enqueue(arrival)
            place = self._victim(line)
            old = ir.read_array("l1d_line", place)
            dirty = (old != 0) & (ir.read_array("l1d_dirty", place) != 0)
            with ir.when(dirty):
                put("eviction", get("eviction") + fixed(l2.dirty_victim))
                ir.invoke(self.use_l2, old - 1, 1, 0)
            ir.write_array("l1d_line", place, line + 1)
            ir.write_array("l1d_dirty", place, 0)
            ir.write_array("l1d_arrival", place, ir.where(later != 0, arrival, 0))
            return arrival

        return ir.subprogram("cost_fill", "line time later streamed", body)

    def _victim(self, line: Value) -> Value:
        """The place in L1 for a line: the first empty one of its set, else a random one."""
        l1d = self.core.l1d
        first = (line & (l1d.sets - 1)) * l1d.ways
        # The multiplier and increment of the C standard's example of rand.
        chance = (ir.read_array("chance", 0) * 1103515245 + 12345) & 0x7FFFFFFF
        ir.write_array("chance", 0, chance)
        place = first + (ir.shr_u(chance, 16) & (l1d.ways - 1))
        for way in reversed(range(l1d.ways)):
            empty = ir.read_array("l1d_line", first + way) == 0
            place = ir.where(empty, first + way, place)
        return place

    def _queue_free(self) -> Value:
        """When fewer than `l1d.misses` misses are under way."""
        return ir.read_array("missing_until", self.core.l1d.misses - 1)

    def _enqueue(self, arrival: Value) -> None:
        kept = [ir.read_array("missing_until", i) for i in range(self.core.l1d.misses - 1)]
        for i, time in enumerate((arrival, *kept)):
            ir.write_array("missing_until", i, time)

    @cached_property
    def translate(self) -> Subprogram:
        """Cycles to translate the page of a line; the TLB keeps the page."""

        def body(line: Value, time: Value) -> Value:
            tlb = self.core.tlb
            page = ir.shr_u(line, (tlb.page // self.core.l1d.line).bit_length() - 1)
            found, place = find(tlb, "tlb", page)
            at = ir.where(found, place, oldest(tlb, "tlb", page))
            ir.write_array("tlb_line", at, page + 1)
            ir.write_array("tlb_used", at, time)
            return ir.where(found, 0, ir.const(fixed(tlb.walk), 64))

        return ir.subprogram("cost_translate", "line time", body)

    def _l2_set(self, line: Value) -> Value:
        """The first place of the set of a line; the physical address chooses the set."""
        l2, size = self.core.l2, self.core.l1d.line
        sets = l2.size // size // l2.ways
        inside = min(sets, l2.contiguous // size)
        piece = ir.shr_u(line, (l2.contiguous // size).bit_length() - 1)
        scattered = piece * _SCATTER[0]
        scattered = (scattered ^ ir.shr_u(scattered, 30)) * _SCATTER[1]
        frame = ir.shr_u(scattered, 40) * inside
        return ((line & (inside - 1)) | (frame & (sets - 1))) * l2.ways

    @cached_property
    def use_l2(self) -> Subprogram:
        """1 if a line is in L2; else 0, and it replaces the least recently used line.

        Most lines of streams come in as least recently used, so that the next line replaces them:
        a stream over an area larger than L2 leaves a part of it there.
        """

        def body(line: Value, dirty: Value, streamed: Value) -> Value:
            first = self._l2_set(line)
            place, found, used = first, ir.const(0, 1), ir.read_array("l2_used", first)
            for way in range(self.core.l2.ways):
                here = ir.read_array("l2_line", first + way) == line + 1
                other = ir.read_array("l2_used", first + way)
                older = ~found & ir.lt_u(other, used)
                place = ir.where(here | older, first + way, place)
                used = ir.where(older, other, used)
                found |= here
            written = ir.read_array("l2_dirty", place)
            ir.write_array("l2_line", place, line + 1)
            ir.write_array("l2_used", place, self._l2_turn(~found & (streamed != 0)))
            ir.write_array("l2_dirty", place, ir.where(found, written | dirty, dirty))
            return ir.zext(found, 64)

        return ir.subprogram("cost_use_l2", "line dirty streamed", body)

    def _l2_turn(self, passes: Value) -> Value:
        """The turn in which a line of L2 counts as used; one that `passes` counts as the oldest."""
        turn = ir.read_array("l2_turns", 0) + 1
        ir.write_array("l2_turns", 0, turn)
        passed = ir.read_array("l2_turns", 1)
        with ir.when(passes):
            following = passed + 1
            ir.write_array("l2_turns", 1, ir.where(following == self.core.l2.kept, 0, following))
        return ir.where(passes & (passed != 0), _FIRST_TURN, turn)

    @cached_property
    def in_l2(self) -> Subprogram:
        """1 if a line is in L2; L2 does not change."""

        def body(line: Value) -> Value:
            first, found = self._l2_set(line), ir.const(0, 1)
            for way in range(self.core.l2.ways):
                found |= ir.read_array("l2_line", first + way) == line + 1
            return ir.zext(found, 64)

        return ir.subprogram("cost_in_l2", "line", body)

    @cached_property
    def use_dram(self) -> Subprogram:
        """The time when a line has passed the memory bus; `write` is 1 for a written line."""

        def body(time: Value, write: Value) -> Value:
            dram = self.core.dram
            cost = ir.where(write != 0, fixed(dram.write), ir.const(fixed(dram.read), 64))
            turn = ir.where(get("dram_direction") != write, ir.const(fixed(dram.turnaround), 64), 0)
            done = latest(get("dram_free"), time) + cost + turn
            put("dram_direction", write)
            put("dram_free", done)
            return done

        return ir.subprogram("cost_use_dram", "time write", body)
