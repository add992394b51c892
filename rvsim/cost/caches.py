"""Caches as arrays, and what brings a line into L1: the ways of a set, L2, and the memory bus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rvsim import ir
from rvsim.cost.core import Cache, Core
from rvsim.cost.formula import fixed
from rvsim.cost.issue import latest
from rvsim.cost.reasons import MEM_DRAM, MEM_L2
from rvsim.cost.state import get, put
from rvsim.ir import Value
from rvsim.ir.trace import Subprogram


def find(cache: Cache, prefix: str, line: Value) -> tuple[Value, Value]:
    """(whether the line is there, its place or that of the first way of its set).

    Lines are kept plus 1, so that 0 is none.
    """
    first = (line & (cache.sets - 1)) * cache.ways
    place, found = first, ir.const(0, 1)
    for way in range(cache.ways):
        here = ir.read_array(f"{prefix}_line", first + way) == line + 1
        found |= here
        place = ir.where(here, first + way, place)
    return found, place


def oldest(cache: Cache, prefix: str, line: Value) -> Value:
    """The place of the line of a set that was used longest ago."""
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
        """Bring a line into L1; returns when it arrives.

        `later` keeps that time with the line, for whoever touches it first.
        """

        def body(line: Value, time: Value, later: Value) -> Value:
            l2, dram = self.core.l2, self.core.dram
            in_l2 = ir.invoke(self.use_l2, line, 0)
            bus = get("bus_free")
            from_dram = ir.invoke(self.use_dram, time, 0, when=in_l2 == 0)
            bus_start = latest(bus, ir.where(in_l2 == 0, from_dram - fixed(l2.fill), time))
            put("bus_free", bus_start + fixed(l2.fill))
            put("level", ir.where(in_l2 == 0, MEM_DRAM, ir.const(MEM_L2, 64)))
            arrival = ir.where(
                in_l2 == 0,
                latest(from_dram, time + fixed(dram.latency)),
                bus_start + fixed(l2.latency),
            )
            place = oldest(self.core.l1d, "l1d", line)
            old = ir.read_array("l1d_line", place)
            dirty = (old != 0) & (ir.read_array("l1d_dirty", place) != 0)
            with ir.when(dirty):
                put("eviction", get("eviction") + fixed(l2.dirty_victim))
                ir.invoke(self.use_l2, old - 1, 1)
            ir.write_array("l1d_line", place, line + 1)
            ir.write_array("l1d_used", place, time)
            ir.write_array("l1d_dirty", place, 0)
            ir.write_array("l1d_arrival", place, ir.where(later != 0, arrival, 0))
            return arrival

        return ir.subprogram("cost_fill", "line time later", body)

    @cached_property
    def use_l2(self) -> Subprogram:
        """1 if a line is in L2, else 0; it is there then, in place of a random one."""

        def body(line: Value, dirty: Value) -> Value:
            ways = self.core.l2.ways
            sets = self.core.l2.size // self.core.l1d.line // ways
            first = (line & (sets - 1)) * ways
            place, found, empty = first, ir.const(0, 1), ir.const(0, 1)
            for way in range(ways):
                held = ir.read_array("l2_line", first + way)
                here = held == line + 1
                free = (held == 0) & ~found & ~empty
                place = ir.where(here | free, first + way, place)
                found |= here
                empty |= free
            with ir.when(~found):
                with ir.when(~empty):
                    # The multiplier and increment of the C standard's example of rand.
                    put("random", (get("random") * 1103515245 + 12345) & 0x7FFFFFFF)
                victim = first + (ir.shr_u(get("random"), 8) & (ways - 1))
                at = ir.where(empty, place, victim)
                ir.write_array("l2_line", at, line + 1)
                ir.write_array("l2_dirty", at, dirty)
            with ir.when(found & (dirty != 0)):
                ir.write_array("l2_dirty", place, 1)
            return ir.zext(found, 64)

        return ir.subprogram("cost_use_l2", "line dirty", body)

    @cached_property
    def in_l2(self) -> Subprogram:
        """1 if a line is in L2, which stays as it is."""

        def body(line: Value) -> Value:
            ways = self.core.l2.ways
            sets = self.core.l2.size // self.core.l1d.line // ways
            first = (line & (sets - 1)) * ways
            found = ir.const(0, 1)
            for way in range(ways):
                found |= ir.read_array("l2_line", first + way) == line + 1
            return ir.zext(found, 64)

        return ir.subprogram("cost_in_l2", "line", body)

    @cached_property
    def use_dram(self) -> Subprogram:
        """When a line has passed the memory bus; `write` is 1 for a line that is written."""

        def body(time: Value, write: Value) -> Value:
            dram = self.core.dram
            cost = ir.where(write != 0, fixed(dram.write), ir.const(fixed(dram.read), 64))
            turn = ir.where(get("dram_direction") != write, ir.const(fixed(dram.turnaround), 64), 0)
            done = latest(get("dram_free"), time) + cost + turn
            put("dram_direction", write)
            put("dram_free", done)
            return done

        return ir.subprogram("cost_use_dram", "time write", body)
