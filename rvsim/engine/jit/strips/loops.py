"""Loops over the strips of a value, and what is known of values while they are built.

The rules of single primitives work on `StripLoops` and ask it for other values, which
`rvsim.engine.jit.strips.values` computes with these rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rvsim.engine.jit.registers import RegionState
from rvsim.engine.jit.strips.analysis import bound, lane_number
from rvsim.engine.jit.strips.arrays import LaneArray, Scratch
from rvsim.ir.llvm import build
from rvsim.ir.llvm.backend import Lowerer
from rvsim.ir.llvm.build import I64
from rvsim.ir.value import Value

Body = Callable[..., Sequence[Any]]
_KNOWN: Final = ("values", "arrays", "partial", "padded", "results", "loaded", "memo")


class StripLoops(Lowerer):
    """Builds the loops of one instruction; `scratch` has room for its arrays.

    `arrays` are lanes that were put into memory; of those in `partial` only lanes below a limit,
    the id of which is there.  `padded` has zeros around the lanes, so many as it says; `results`
    are those of named operations, `loaded` what is loaded, and under a mask if in `masked`.
    """

    scratch: Scratch
    state: RegionState
    require: Callable[[Any], None]
    """As in `RegionMemory`."""

    def restart(self, scratch: Scratch) -> None:
        """Begin an instruction."""
        scratch.restart()
        self.scratch = scratch
        self.arrays: dict[int, LaneArray] = {}
        self.partial: dict[int, int] = {}
        self.padded: dict[int, tuple[LaneArray, int]] = {}
        self.results: dict[int, list[LaneArray]] = {}
        self.loaded: dict[int, LaneArray] = {}
        self.masked: set[int] = set()
        self.memo: dict[tuple[int, int, int], tuple[Any, Any]] = {}
        self._multiples: dict[int, tuple[Any, int]] = {}

    # -- values, which rules ask for

    @abstractmethod
    def lanes(self, node: Value, start: Any, size: int) -> Any:
        """`size` lanes of a value from lane `start` (an i64) on, where `prepare` has been."""

    @abstractmethod
    def array(self, node: Value) -> LaneArray:
        """All lanes of a value in memory, put there if they are nowhere yet."""

    @abstractmethod
    def in_memory(self, node: Value) -> LaneArray | None:
        """Where the lanes of a value are already."""

    @abstractmethod
    def prepare(self, node: Value, size: int, below: Value | None = None) -> None:
        """Compute scalars and arrays that strips of `size` lanes of a value take.

        Lanes from the limit `below` on are of no interest.
        """

    @abstractmethod
    def fill(self, out: LaneArray, node: Value, size: int, limit: Any) -> None:
        """Store the lanes of a prepared value, up to the strip that `limit` is in."""

    @abstractmethod
    def pad(self, node: Value, lanes: int) -> None:
        """A copy of all lanes of a value with at least `lanes` zeros before and after."""

    @abstractmethod
    def call_lanes(self, call: Value) -> None:
        """All results of an operation on lanes, as arrays: it runs once for each strip.

        Where all operands are known to be harmless, results are 0 and no flag is raised.
        """

    # -- places and loops

    @property
    def vlen(self) -> int:
        return 8 * self.state.vlenb

    def register_pointer(self, register: int) -> Any:
        """Where a vector register lies in memory."""
        return self.state.pointer(self.b, register)

    def each(self, count: Any, size: int, body: Body, carried: Sequence[Any] = ()) -> list[Any]:
        """``body(start, *carried)`` for `count` strips of `size` lanes; the values carried.

        `count` is an i64 that may be 0, or an int that is not.
        """
        b = self.b
        top, done = b.append_basic_block("strip"), b.append_basic_block("strips_done")
        before = b.block
        skips = not isinstance(count, int)
        if skips:
            b.cbranch(b.icmp_unsigned("==", count, I64(0)), done, top)
        else:
            count = I64(count)
            b.branch(top)
        b.position_at_end(top)
        index, phis = b.phi(I64), [b.phi(v.type) for v in carried]
        with self.scope():
            results = list(body(b.mul(index, I64(size)) if size > 1 else index, *phis))
        following, last = b.add(index, I64(1)), b.block
        index.add_incoming(I64(0), before)
        index.add_incoming(following, last)
        b.cbranch(b.icmp_unsigned("==", following, count), done, top)
        b.position_at_end(done)
        after = []
        for phi, first, later in zip(phis, carried, results, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, last)
            end = b.phi(phi.type)
            end.add_incoming(later, last)
            if skips:
                end.add_incoming(first, before)
            after.append(end)
        return after

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is computed inside is known inside only."""
        outer = [getattr(self, name) for name in _KNOWN]
        for name, known in zip(_KNOWN, outer, strict=True):
            setattr(self, name, dict(known))
        yield
        for name, known in zip(_KNOWN, outer, strict=True):
            setattr(self, name, known)

    def strips(self, limit: Any, n: int, size: int) -> Any:
        """The number of strips that hold lanes below `limit`, or all where it is None."""
        if limit is None:
            return n // size
        return self.b.udiv(self.b.add(limit, I64(size - 1)), I64(size))

    def limit(self, mask: Value) -> Any:
        """An i64 from which on no lane of `mask` is set; None if that may be any."""
        found = bound(mask)
        if found is None:
            return None
        scalar, factor = found
        limit = self.below(scalar, lane_number(mask) // factor)
        return self.b.mul(limit, I64(factor)) if factor > 1 else limit

    def below(self, scalar: Value | None, n: int) -> Any:
        """The limit that a scalar is to `n` lanes, as an i64; None for none."""
        if scalar is None:
            return None
        limit = build.resized(self.b, self.value(scalar), 64)
        return build.intrinsic(self.b, "umin", [limit, I64(n)])

    # -- positions

    def multiple(self, start: Any, factor: int) -> Any:
        """``start * factor``, remembered as such."""
        if factor == 1:
            return start
        product = self.b.mul(start, I64(factor))
        self._multiples[id(product)] = start, factor
        return product

    def divided(self, start: Any, factor: int) -> Any:
        """``start // factor``; where `start` is known to be a multiple, without a division."""
        origin, known = self._multiples.get(id(start), (None, 0))
        return origin if known == factor else self.b.udiv(start, I64(factor))
