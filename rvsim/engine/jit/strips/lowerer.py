"""Instructions with wide register groups: loops over strips, so that code size doesn't grow.

Vector registers of such instructions stay in the state's memory.  A write goes strip by strip, and
not past the strip that vl is in where the tail is left alone.  Registers that are still to be read
are never overwritten: then the result, or what a later statement reads, is an array first.
All that may leave the region comes before the first change of state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rvsim.engine.jit.strips import analysis
from rvsim.engine.jit.strips.analysis import is_lanes, lane_number, strip_lanes
from rvsim.engine.jit.strips.arrays import LaneArray, copy
from rvsim.engine.jit.strips.memory import load_lanes, store_lanes
from rvsim.engine.jit.strips.values import StripValues
from rvsim.ir.llvm.build import I64
from rvsim.ir.statements import If, Let, Statement, WriteMask, WriteV
from rvsim.ir.value import Value


class StripLowerer(StripValues):
    """Lowers the statements of wide programs."""

    def block(self, body: Iterable[Statement], after: Sequence[Statement] = ()) -> None:
        """Statements up to the first that always traps; `after` are those after the block."""
        pending = list(body)
        while pending and not self.b.block.is_terminated:
            stmt = pending.pop(0)
            self._keep(stmt, (*pending, *after))
            match stmt:
                case Let(value):
                    self._let(value)
                case WriteV() | WriteMask():
                    self._write(stmt)
                case If():
                    self._if(stmt, (*pending, *after))
                case _:
                    self.statement_rules[type(stmt)](self, stmt)

    def _let(self, value: Value) -> None:
        if value.prim == "load_lanes":
            load_lanes(self, value)
        elif value.prim == "store_lanes":
            store_lanes(self, value)
        elif is_lanes(value):
            self.prepare(value, strip_lanes(value))
        else:
            self.value(value)

    def _if(self, stmt: If, after: Sequence[Statement]) -> None:
        condition = analysis.known(stmt.cond)
        if condition is not None:
            if condition:
                self.block(stmt.body, after)
        elif analysis.leaves_region(stmt):
            self.require(self.b.not_(self.value(stmt.cond)))
        else:
            cond = self.value(stmt.cond)
            then, behind = self.b.append_basic_block("then"), self.b.append_basic_block("behind")
            self.b.cbranch(cond, then, behind)
            self.b.position_at_end(then)
            with self.scope():
                self.block(stmt.body, after)
            self.b.branch(behind)
            self.b.position_at_end(behind)

    # -- registers that are read later

    def _keep(self, stmt: Statement, later: Sequence[Statement]) -> None:
        """Copy what later statements read of the registers that `stmt` writes."""
        writes = (s for s in analysis.lowered([stmt]) if isinstance(s, WriteV | WriteMask))
        spans = [self._written_bits(s) for s in writes]
        if not spans:
            return
        for value in analysis.used_by(later):
            if is_lanes(value) and id(value) not in self.arrays:
                reads = [read for read, _ in self._reads(value)]
                if any(_meet(read, span) for read in reads for span in spans):
                    self.materialise(value)

    def _written_bits(self, stmt: WriteV | WriteMask) -> range:
        """The bits of the register file that are written."""
        first = self.register(stmt.field) * self.vlen
        if isinstance(stmt, WriteV):
            first += stmt.reg_offset * self.vlen + 8 * stmt.byte_offset
        return range(first, first + stmt.value.type.total_bits)

    def _reads(self, value: Value) -> Iterator[tuple[range, bool]]:
        """Bits of the register file that the strips of a value read, and whether in their order.

        In order: a strip reads only what lies where the strip does in the whole.
        """
        stack = [(value, True)]
        seen: set[tuple[int, bool]] = set()
        while stack:
            node, in_order = stack.pop()
            if id(node) in self.arrays or (id(node), in_order) in seen:
                continue
            seen.add((id(node), in_order))
            if node.prim in ("read_v", "read_mask"):
                field, offset = node.attrs[0], node.attrs[1] if node.prim == "read_v" else 0
                first = (self.register(field) + offset) * self.vlen
                yield range(first, first + node.type.total_bits), in_order
                continue
            in_order &= node.prim not in _MOVES
            stack += [(a, in_order) for a in self._operands(node) if is_lanes(a)]

    def _operands(self, node: Value) -> Sequence[Value]:
        """Those whose lanes are still to be read."""
        source = node.args[0] if node.args else node
        if node.prim == "proj":
            if source.prim == "load_lanes":
                return source.args[1:]
            return () if id(source) in self.results else source.args
        slides = node.prim == "take" and analysis.slide(node) is not None
        return node.args[1:] if slides and id(source) in self.padded else node.args

    # -- vector register writes

    def _write(self, stmt: WriteV | WriteMask) -> None:
        value, span = stmt.value, self._written_bits(stmt)
        register, offset = divmod(span.start, self.vlen)
        pointer = self.state.pointer(self.b, register, offset // 8)
        target = LaneArray(pointer, value.type.width)
        size = strip_lanes(value)
        self.prepare(value, size)
        below = self._changed_below(stmt)
        limit = self.below(below, lane_number(value))
        if self._overwrites(value, span, size):
            source = self.materialise(value, below)
            nbytes = I64(len(span) // 8)
            if limit is not None:
                count = self.strips(limit, lane_number(value), size)
                nbytes = self.b.lshr(self.b.mul(count, I64(size * value.type.width)), I64(3))
            copy(self.b, target, source, nbytes)
        else:
            self.fill(target, value, size, limit)

    def _changed_below(self, stmt: WriteV | WriteMask) -> Value | None:
        """A limit from which on lanes keep what they hold; None if that is not known."""
        value = stmt.value
        if value.prim != "where" or not is_lanes(value.args[0]):
            return None
        old = value.args[2]
        if isinstance(stmt, WriteMask):
            same = old.prim == "read_mask" and old.attrs[0] == stmt.field
        else:
            same = old.prim == "read_v" and old.attrs[:2] == (stmt.field, stmt.reg_offset)
            same = same and stmt.byte_offset == 0
        scalar, factor = analysis.bound(value.args[0]) or (None, 1)
        return scalar if same and factor == 1 and id(old) not in self.arrays else None

    def _overwrites(self, value: Value, span: range, size: int) -> bool:
        """Whether strips in their order write what later ones still read."""
        strips = lane_number(value) // size
        for read, in_order in self._reads(value):
            if not _meet(read, span):
                continue
            if not in_order:
                return True
            written, taken = len(span) // strips, len(read) // strips
            for done in range(1, strips):
                ahead = range(read.start + done * taken, read.stop)
                if _meet(ahead, range(span.start, span.start + done * written)):
                    return True
        return False


_MOVES: Final = frozenset({"take", "shuffle", "concat", "group_sum", "compress", "prefix_count"})


def _meet(a: range, b: range) -> bool:
    return a.start < b.stop and b.start < a.stop
