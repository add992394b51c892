"""The prefetcher: it follows the streams of lines that loads use, and fetches lines ahead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rvsim import ir
from rvsim.cost.caches import Fills, find
from rvsim.cost.core import Core
from rvsim.cost.state import get, put
from rvsim.ir import Value
from rvsim.ir.program import Subprogram


@dataclass(frozen=True)
class PrefetcherPrograms:
    """Subprograms of one core's prefetcher.  Arrays hold line numbers plus 1: 0 is none."""

    fills: Fills

    @property
    def core(self) -> Core:
        return self.fills.core

    @cached_property
    def look_on(self) -> Subprogram:
        """After a load that was no plain hit: a stream goes on to its line, or a new one begins."""

        def body(line: Value, time: Value, found: Value) -> None:
            count = self.core.streams.count
            taken, stream, follows = ir.const(0, 1), ir.const(0, 64), ir.const(0, 1)
            turned = ir.const(0, 1)
            for i in range(count):
                at = ir.read_array("stream_line", i)
                active = at != 0
                distance = (line + 1 - at) * ir.read_array("stream_step", i)
                fresh = ir.read_array("stream_trained", i) == 0
                same = active & (at == line + 1)
                next_one = active & ir.lt_u(distance - 1, self.core.streams.reach)
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
                ir.write_array("stream_near", stream, line - 1)
                ir.write_array("stream_far", stream, line - 1)
            ir.invoke(self.advance, stream, line, time, when=follows)

        return ir.subprogram("cost_look_on", "line time found", body)

    @cached_property
    def begin_stream(self) -> Subprogram:
        def body(line: Value) -> None:
            place = get("next_stream")
            ir.write_array("stream_line", place, line + 1)
            ir.write_array("stream_step", place, 1)
            ir.write_array("stream_trained", place, 0)
            ir.write_array("stream_near", place, line + 1)
            ir.write_array("stream_far", place, line + 1)
            following = place + 1
            put("next_stream", ir.where(following == self.core.streams.count, 0, following))

        return ir.subprogram("cost_begin_stream", "line", body)

    @cached_property
    def advance(self) -> Subprogram:
        """A stream goes on to `line`; a trusted stream fetches lines ahead.

        It fetches lines from DRAM farther ahead than lines from L2.
        """

        def body(stream: Value, line: Value, time: Value) -> None:
            streams = self.core.streams
            ir.write_array("stream_line", stream, line + 1)
            trained = ir.read_array("stream_trained", stream) + 1
            ir.write_array("stream_trained", stream, trained)
            trusted = ~ir.lt_u(trained, streams.train)
            for array, ahead, prefetch in (
                ("stream_far", streams.ahead_dram, self.prefetch_far),
                ("stream_near", streams.ahead_l2, self.prefetch_near),
            ):
                self._catch_up(array, stream, line)
                with ir.repeat(ir.where(trusted, ir.const(ahead, 64), 0)):
                    ir.invoke(prefetch, stream, line, time)

        return ir.subprogram("cost_advance", "stream line time", body)

    def _catch_up(self, array: str, stream: Value, line: Value) -> None:
        """Move the next wanted line to after `line`, in the direction of the stream."""
        step, planned = ir.read_array("stream_step", stream), ir.read_array(array, stream)
        behind = ir.lt_s((planned - line) * step, 1)
        ir.write_array(array, stream, ir.where(behind, line + step, planned))

    def _wanted(self, array: str, ahead: int, stream: Value, line: Value) -> tuple[Value, Value]:
        """(whether a stream wants one more line within `ahead`, which one); then moves on."""
        step, wanted = ir.read_array("stream_step", stream), ir.read_array(array, stream)
        near = ~ir.lt_u(ahead, (wanted - line) * step)
        ir.write_array(array, stream, ir.where(near, wanted + step, wanted))
        return near, wanted

    @cached_property
    def prefetch_near(self) -> Subprogram:
        """Bring the next line of a stream from L2, unless it is too far ahead."""

        def body(stream: Value, line: Value, time: Value) -> None:
            near, wanted = self._wanted("stream_near", self.core.streams.ahead_l2, stream, line)
            found, _ = find(self.core.l1d, "l1d", wanted)
            ir.invoke(self.fills.fill, wanted, time, 1, 1, when=near & ~found)

        return ir.subprogram("cost_prefetch_near", "stream line time", body)

    @cached_property
    def prefetch_far(self) -> Subprogram:
        """Bring the next line of a stream from DRAM, unless it is too far ahead or in L2."""

        def body(stream: Value, line: Value, time: Value) -> None:
            near, wanted = self._wanted("stream_far", self.core.streams.ahead_dram, stream, line)
            in_l2 = ir.invoke(self.fills.in_l2, wanted, when=near)
            found, _ = find(self.core.l1d, "l1d", wanted)
            lacking = near & (in_l2 == 0) & ~found
            ir.invoke(self.fills.fill, wanted, time, 1, 1, when=lacking)

        return ir.subprogram("cost_prefetch_far", "stream line time", body)
