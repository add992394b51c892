"""The prefetcher: streams of lines that loads go along, and the lines brought in front of them."""

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
    """Subprograms of one core's prefetcher.  Lines of streams are kept plus 1: 0 is none."""

    fills: Fills

    @property
    def core(self) -> Core:
        return self.fills.core

    @cached_property
    def look_on(self) -> Subprogram:
        """After a load that was no plain hit: a stream follows it, or a new one begins."""

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
                ir.invoke(self.fills.in_l2, wanted) != 0,
                ir.const(streams.ahead_l2, 64),
                streams.ahead_dram,
            )
            near = ~ir.lt_u(limit, far)
            put("going", ir.zext(near, 64))
            with ir.when(near):
                found, _ = find(self.core.l1d, "l1d", wanted)
                ir.invoke(self.fills.fill, wanted, time, 1, when=~found)
                ir.write_array("stream_next", stream, wanted + step)

        return ir.subprogram("cost_prefetch", "stream line time", body)
