"""The memory hierarchy as subprograms: what a load or store that is not a plain L1 hit costs.

`hit` is the short path, made part of an instruction's program; the rest is invoked where that does
not do.  Times are those of the load/store unit; results are extra cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rvsim import ir
from rvsim.cost.core import Cache, Core
from rvsim.cost.formula import fixed
from rvsim.cost.issue import latest, lose
from rvsim.cost.reasons import FETCH, MEM_DRAM, MEM_L2
from rvsim.cost.state import get, put
from rvsim.ir import Value
from rvsim.ir.trace import Subprogram

_LINE_STEP = fixed(4)
"""Between the lines of one access."""


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


def hit(core: Core, line: Value, time: Value, *, store: bool) -> Value:
    """The short path: whether a line is in L1 and nothing is to be waited for; marks its use."""
    found, place = find(core.l1d, "l1d", line)
    if not store:
        found &= ir.read_array("l1d_arrival", place) == 0
    with ir.when(found):
        ir.write_array("l1d_used", place, time)
        if store:
            ir.write_array("l1d_dirty", place, 1)
    return found


@dataclass(frozen=True)
class Hierarchy:
    """The subprograms of one core."""

    core: Core

    @cached_property
    def load_lines(self) -> Subprogram:
        """Extra cycles of a load of the lines `first` to `last`."""

        def body(first: Value, last: Value, time: Value) -> Value:
            put("extra", 0)
            with ir.repeat(last - first + 1) as i:
                so_far = get("extra")
                extra = ir.invoke(self.load_line, first + i, time + so_far + i * _LINE_STEP)
                put("extra", so_far + extra)
            return get("extra")

        return ir.subprogram("cost_load_lines", "first last time", body)

    @cached_property
    def load_line(self) -> Subprogram:
        """Extra cycles of a load of one line: until it arrives, or none; streams look on."""

        def body(line: Value, time: Value) -> Value:
            found, place = find(self.core.l1d, "l1d", line)
            arrival = ir.read_array("l1d_arrival", place)
            with ir.when(found):
                ir.write_array("l1d_used", place, time)
                ir.write_array("l1d_arrival", place, 0)
            missed = ir.invoke(self.fill, line, time, 0, when=~found)
            arrival = ir.where(found, arrival, missed)
            late = ir.where(ir.lt_u(time, arrival), arrival - time, 0)
            evicted = get("eviction")
            put("eviction", 0)
            ir.invoke(self.look_on, line, time, ir.zext(found, 64))
            return late + evicted

        return ir.subprogram("cost_load_line", "line time", body)

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

    # -- streams

    @cached_property
    def look_on(self) -> Subprogram:
        """A load of a line that it was not hit plainly: streams follow it, or a new one begins."""

        def body(line: Value, time: Value, found: Value) -> None:
            count = self.core.streams.count
            taken, stream, follows = ir.const(0, 1), ir.const(0, 64), ir.const(0, 1)
            turned = ir.const(0, 1)
            for i in range(count):
                at = ir.read_array("stream_line", i)
                active = at != 0
                ahead = at + ir.read_array("stream_step", i)
                fresh = ir.read_array("stream_trained", i) == 0
                same = active & (at == line + 1)
                next_one = active & (ahead == line + 1)
                back = active & fresh & (at == line + 2) & (found == 0)
                mine = (same | next_one | back) & ~taken
                stream = ir.where(mine, i, stream)
                follows |= mine & next_one & ~same
                turned |= mine & back & ~same & ~next_one
                taken |= mine
            ir.invoke(self.begin_stream, line, when=~taken & (found == 0))
            with ir.when(turned):
                ir.write_array("stream_step", stream, -1)
                ir.write_array("stream_line", stream, line + 1)
                ir.write_array("stream_trained", stream, 1)
                ir.write_array("stream_next", stream, line - 1)
            ir.invoke(self.advance, stream, line, time, when=follows)

        return ir.subprogram("cost_look_on", "line time found", body)

    @cached_property
    def begin_stream(self) -> Subprogram:
        def body(line: Value) -> None:
            place = get("next_stream")
            ir.write_array("stream_line", place, line + 1)
            ir.write_array("stream_step", place, 1)
            ir.write_array("stream_trained", place, 0)
            ir.write_array("stream_next", place, line + 1)
            following = place + 1
            put("next_stream", ir.where(following == self.core.streams.count, 0, following))

        return ir.subprogram("cost_begin_stream", "line", body)

    @cached_property
    def advance(self) -> Subprogram:
        """A stream goes on to `line`; once trusted it brings the lines in front of it."""

        def body(stream: Value, line: Value, time: Value) -> None:
            streams = self.core.streams
            ir.write_array("stream_line", stream, line + 1)
            trained = ir.read_array("stream_trained", stream) + 1
            ir.write_array("stream_trained", stream, trained)
            step = ir.read_array("stream_step", stream)
            planned = ir.read_array("stream_next", stream)
            # Not behind the line, in the direction of the stream.
            behind = ir.lt_s((planned - line) * step, 1)
            ir.write_array("stream_next", stream, ir.where(behind, line + step, planned))
            trusted = ~ir.lt_u(trained, streams.train)
            rounds = ir.where(
                trusted, ir.const(max(streams.ahead_l2, streams.ahead_dram) + 1, 64), 0
            )
            put("going", 1)
            with ir.repeat(rounds), ir.when(get("going") != 0):
                ir.invoke(self.prefetch, stream, line, time)

        return ir.subprogram("cost_advance", "stream line time", body)

    @cached_property
    def prefetch(self) -> Subprogram:
        """Bring the next line of a stream, unless it is too far ahead."""

        def body(stream: Value, line: Value, time: Value) -> None:
            streams = self.core.streams
            wanted = ir.read_array("stream_next", stream)
            step = ir.read_array("stream_step", stream)
            far = (wanted - line) * step
            limit = ir.where(
                ir.invoke(self.in_l2, wanted) != 0,
                ir.const(streams.ahead_l2, 64),
                streams.ahead_dram,
            )
            near = ~ir.lt_u(limit, far)
            put("going", ir.zext(near, 64))
            with ir.when(near):
                found, _ = find(self.core.l1d, "l1d", wanted)
                ir.invoke(self.fill, wanted, time, 1, when=~found)
                ir.write_array("stream_next", stream, wanted + step)

        return ir.subprogram("cost_prefetch", "stream line time", body)

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

    # -- stores

    @cached_property
    def store_lines(self) -> Subprogram:
        """Extra cycles of a store to the lines `first` to `last`; ``store_hit``: all were in L1."""

        def body(first: Value, last: Value, time: Value) -> Value:
            put("extra", 0)
            put("store_hit", 1)
            with ir.repeat(last - first + 1) as i:
                so_far = get("extra")
                extra = ir.invoke(self.store_line, first + i, time + so_far + i * _LINE_STEP)
                put("extra", so_far + extra)
            return get("extra")

        return ir.subprogram("cost_store_lines", "first last time", body)

    @cached_property
    def store_line(self) -> Subprogram:
        """One that misses L1 goes on to L2, where stores to one line are gathered."""

        def body(line: Value, time: Value) -> Value:
            l2 = self.core.l2
            found, place = find(self.core.l1d, "l1d", line)
            with ir.when(found):
                ir.write_array("l1d_used", place, time)
                ir.write_array("l1d_dirty", place, 1)
            with ir.when(~found):
                put("store_hit", 0)
            gathered = get("missed_line") == line + 1
            goes = ~found & ~gathered
            with ir.when(goes):
                put("missed_line", line + 1)
                put("store_path_free", latest(get("store_path_free"), time) + fixed(l2.store))
                put("bus_free", latest(get("bus_free"), time) + fixed(l2.store_fill))
            in_l2 = ir.invoke(self.use_l2, line, 1, when=goes)
            written = ir.invoke(self.use_dram, time, 1, when=goes & (in_l2 == 0))
            busy = latest(get("store_path_free"), written)
            allowed = time + fixed(l2.store_slack)
            return ir.where(goes & ir.lt_u(allowed, busy), busy - allowed, 0)

        return ir.subprogram("cost_store_line", "line time", body)

    # -- instructions

    @cached_property
    def fetch(self) -> Subprogram:
        """The line of the next instruction, for the L1I; a miss stops issue."""

        def body(line: Value, site: Value) -> None:
            put("fetch_line", line)
            now = get("now")
            found, place = find(self.core.l1i, "l1i", line)
            at = ir.where(found, place, oldest(self.core.l1i, "l1i", line))
            ir.write_array("l1i_used", at, now)
            ir.write_array("l1i_line", at, line + 1)
            with ir.when(~found):
                lose(fixed(self.core.l1i.miss), FETCH)

        return ir.subprogram("cost_fetch", "line site", body)
