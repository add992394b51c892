"""The memory hierarchy as subprograms: the cost of loads and stores that are not plain L1 hits.

`hit` is the short path, a part of the instruction's program; it invokes the rest only if it has
to.  Times are those of the load/store unit; results are extra cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rvsim import ir
from rvsim.cost.caches import Fills, find, oldest
from rvsim.cost.core import Core
from rvsim.cost.formula import fixed
from rvsim.cost.issue import latest, lose
from rvsim.cost.reasons import FETCH
from rvsim.cost.state import get, put
from rvsim.cost.streams import PrefetcherPrograms
from rvsim.ir import Value
from rvsim.ir.program import Subprogram


def hit(core: Core, line: Value, *, store: bool) -> Value:
    """The short path: whether a line is in L1 and the access need not wait for it."""
    found, place = find(core.l1d, "l1d", line)
    if not store:
        return found & (ir.read_array("l1d_arrival", place) == 0)
    with ir.when(found):
        ir.write_array("l1d_dirty", place, 1)
    return found


@dataclass(frozen=True)
class Hierarchy:
    """The subprograms of one core's memory."""

    core: Core

    @cached_property
    def fills(self) -> Fills:
        return Fills(self.core)

    @cached_property
    def streams(self) -> PrefetcherPrograms:
        return PrefetcherPrograms(self.fills)

    def _count(self, first: Value, last: Value) -> Value:
        """The number of lines; an access that will trap may wrap around the address space."""
        return (last - first + 1) & ((1 << 64) // self.core.l1d.line - 1)

    @property
    def _line_step(self) -> int:
        """The time from one line of an access to the next."""
        return fixed(self.core.l1d.line / self.core.lsu.beat)

    # -- loads

    @cached_property
    def load_lines(self) -> Subprogram:
        """Extra cycles of a load of the lines `first` to `last`."""

        def body(first: Value, last: Value, time: Value) -> Value:
            put("extra", 0)
            with ir.repeat(self._count(first, last)) as i:
                so_far = get("extra")
                extra = ir.invoke(self.load_line, first + i, time + so_far + i * self._line_step)
                put("extra", so_far + extra)
            return get("extra")

        return ir.subprogram("cost_load_lines", "first last time", body)

    @cached_property
    def load_line(self) -> Subprogram:
        """Extra cycles of a load of one line, until the line arrives.

        The prefetcher sees a line that missed, or the first use of a line fetched ahead.
        """

        def body(line: Value, time: Value) -> Value:
            found, place = find(self.core.l1d, "l1d", line)
            arrival = ir.read_array("l1d_arrival", place)
            fetched_ahead = arrival != 0
            with ir.when(found):
                ir.write_array("l1d_arrival", place, 0)
            missed = ir.invoke(self.fills.fill, line, time, 0, 0, when=~found)
            arrival = ir.where(found, arrival, missed)
            late = ir.where(ir.lt_u(time, arrival), arrival - time, 0)
            evicted = get("eviction")
            put("eviction", 0)
            seen = ~found | fetched_ahead
            ir.invoke(self.streams.look_on, line, time, ir.zext(found, 64), when=seen)
            return late + evicted

        return ir.subprogram("cost_load_line", "line time", body)

    # -- stores

    @cached_property
    def store_lines(self) -> Subprogram:
        """Extra cycles of a store to the lines `first` to `last`.

        It does not write the first `head` bytes and the last `tail` bytes.  ``store_missed``
        counts the bytes that missed L1.
        """

        def body(first: Value, last: Value, head: Value, tail: Value, time: Value) -> Value:
            put("extra", 0)
            put("store_missed", 0)
            with ir.repeat(self._count(first, last)) as i:
                so_far = get("extra")
                nbytes = self.core.l1d.line - ir.where(i == 0, head, 0)
                nbytes -= ir.where(first + i == last, tail, 0)
                begin = time + so_far
                extra = ir.invoke(
                    self.store_line, first + i, nbytes, begin, begin + i * self._line_step
                )
                put("extra", so_far + extra)
            return get("extra")

        return ir.subprogram("cost_store_lines", "first last head tail time", body)

    @cached_property
    def store_line(self) -> Subprogram:
        """Extra cycles of a store to one line.  One that misses L1 goes on to L2.

        Consecutive stores that miss the same line pass once.  A store begins after all earlier
        stores, whether they hit or missed.
        """

        def body(line: Value, nbytes: Value, begin: Value, time: Value) -> Value:
            l2 = self.core.l2
            found, place = find(self.core.l1d, "l1d", line)
            with ir.when(found):
                ir.write_array("l1d_dirty", place, 1)
            with ir.when(~found):
                put("store_missed", get("store_missed") + nbytes)
            gathered = get("missed_line") == line + 1
            streamed = ir.zext(get("missed_line") == line, 64)
            goes = ~found & ~gathered
            with ir.when(goes):
                put("missed_line", line + 1)
                path = latest(get("store_path_free"), get("stored_until"), begin)
                put("store_path_free", path + fixed(l2.store))
                put("bus_free", latest(get("bus_free"), time) + fixed(l2.store_fill))
            in_l2 = ir.invoke(self.fills.use_l2, line, 1, streamed, when=goes)
            written = ir.invoke(self.fills.use_dram, time, 1, when=goes & (in_l2 == 0))
            busy = latest(get("store_path_free"), written)
            allowed = time + fixed(l2.store_slack)
            return ir.where(goes & ir.lt_u(allowed, busy), busy - allowed, 0)

        return ir.subprogram("cost_store_line", "line nbytes begin time", body)

    # -- instructions

    @cached_property
    def fetch(self) -> Subprogram:
        """Look up the line of the next instruction in the L1I; a miss stops issue."""

        def body(line: Value, site: Value) -> None:
            now = get("now")
            found, place = find(self.core.l1i, "l1i", line)
            at = ir.where(found, place, oldest(self.core.l1i, "l1i", line))
            ir.write_array("l1i_used", at, now)
            ir.write_array("l1i_line", at, line + 1)
            with ir.when(~found):
                lose(fixed(self.core.l1i.miss), FETCH)

        return ir.subprogram("cost_fetch", "line site", body)
