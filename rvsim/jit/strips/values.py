"""Values of wide programs: scalars as ever, lanes only as strips inside loops or as arrays.

`StripValues.lanes` computes a strip where the builder stands.  What it needs of scalars and arrays
has to be there: `prepare` computes it, ahead of the loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rvsim.ir import llvm_build as build
from rvsim.ir.llvm_backend import RULES, Lowerer
from rvsim.ir.llvm_build import I64
from rvsim.ir.llvm_elements import ELEMENT_RULES
from rvsim.ir.relane import relaned
from rvsim.ir.trace import Function, Region, inputs
from rvsim.ir.types import Type
from rvsim.ir.value import Value
from rvsim.jit.registers import RegionState
from rvsim.jit.strips import analysis
from rvsim.jit.strips.analysis import is_lanes, lane_number, strip_lanes
from rvsim.jit.strips.arrays import Array, Scratch
from rvsim.jit.strips.folds import ARRAY_RULES, SCALAR_RULES
from rvsim.jit.strips.places import MOVES, NEEDS, PLACES, by_strips
from rvsim.jit.strips.rules import STRIP_RULES

Body = Callable[..., Sequence[Any]]


class StripValues(Lowerer):
    """Computes values of one instruction; `scratch` has room for its arrays."""

    scratch: Scratch
    state: RegionState

    @property
    def vlen(self) -> int:
        return 8 * self.state.vlenb

    def register_pointer(self, register: int) -> Any:
        """Where a vector register lies in memory."""
        return self.state.pointer(self.b, register)

    def restart(self, scratch: Scratch) -> None:
        scratch.restart()
        self.scratch = scratch
        self.arrays: dict[int, Array] = {}
        self.results: dict[int, list[Array]] = {}
        self.loaded: dict[int, Array] = {}
        self.masked: set[int] = set()
        self._memo: dict[tuple[int, int, int], tuple[Any, Any]] = {}
        self._multiples: dict[int, tuple[Any, int]] = {}

    # -- loops

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
        outer = self.values, self.arrays, self.results, self.loaded, self._memo
        self.values, self.arrays = dict(self.values), dict(self.arrays)
        self.results, self.loaded = dict(self.results), dict(self.loaded)
        self._memo = dict(self._memo)
        yield
        self.values, self.arrays, self.results, self.loaded, self._memo = outer

    def strips(self, limit: Any, n: int, size: int) -> Any:
        """The number of strips that hold lanes below `limit`, or all where it is None."""
        if limit is None:
            return n // size
        return self.b.udiv(self.b.add(limit, I64(size - 1)), I64(size))

    def limit(self, mask: Value) -> Any:
        """An i64 from which on no lane of `mask` is set; None if that may be any."""
        found = analysis.bound(mask)
        if found is None:
            return None
        scalar, factor = found
        n = lane_number(mask)
        limit = build.resized(self.b, self.value(scalar), 64)
        limit = build.intrinsic(self.b, "umin", [limit, I64(n // factor)])
        return self.b.mul(limit, I64(factor)) if factor > 1 else limit

    # -- scalars

    def value(self, value: Value) -> Any:
        """The LLVM value of a scalar, or the tuple of several."""
        stack = [value]
        while stack:
            node = stack[-1]
            if id(node) in self.values:
                stack.pop()
                continue
            if any(map(is_lanes, node.args)):
                self.values[id(node)] = SCALAR_RULES[node.prim](self, node)
                continue
            waiting = [a for a in node.args if id(a) not in self.values]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            if node.prim == "for":
                self._hoist(node.attrs[1])
            args = [self.values[id(a)] for a in node.args]
            self.values[id(node)] = RULES[node.prim](self, node, *args)
            stack.pop()
        return self.values[id(value)]

    def _hoist(self, region: Region) -> None:
        """Arrays that the body of a loop looks lanes up in, where they don't depend on it."""
        varying: set[int] = set()
        for node in _postorder(region.results):
            if node.prim == "carried" or any(id(a) in varying for a in inputs(node)):
                varying.add(id(node))
        for node in _postorder(region.results):
            if node.prim == "take" and id(node.args[0]) not in varying:
                self.array(node.args[0])

    # -- lanes

    def lanes(self, node: Value, start: Any, size: int) -> Any:
        """`size` lanes of a value from lane `start` (an i64) on, where `prepare` has been."""
        key = id(node), id(start), size
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = start, self._lanes(node, start, size)
        return found[1]

    def _lanes(self, node: Value, start: Any, size: int) -> Any:
        array = self.in_memory(node)
        if array is not None:
            return array.load(self.b, start, size)
        rule = STRIP_RULES.get(node.prim)
        if rule is not None:
            return rule(self, node, start, size)
        args = [self.lanes(a, start, size) if is_lanes(a) else self.value(a) for a in node.args]
        like = Value(node.trace, node.prim, node.args, node.attrs, Type(node.type.width, size))
        return ELEMENT_RULES[node.prim](self, like, *args)

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

    # -- arrays

    def array(self, node: Value) -> Array:
        """The lanes of a value in memory, put there if they are nowhere yet."""
        return self.in_memory(node) or self.materialise(node)

    def in_memory(self, node: Value) -> Array | None:
        """Where the lanes of a value are already."""
        found = self.arrays.get(id(node))
        if found is None and node.prim in PLACES:
            found = PLACES[node.prim](self, node)
        return found

    def materialise(self, node: Value) -> Array:
        """Copy the lanes of a value into scratch memory."""
        n = lane_number(node)
        if node.prim == "proj" and node.args[0].prim == "call":
            self.call_lanes(node.args[0])
        out = self.scratch.array(n, node.type.width)
        if self.in_memory(node) is None and node.prim in ARRAY_RULES:
            ARRAY_RULES[node.prim](self, node, out)
        else:
            size = strip_lanes(node)
            if node.prim in ("take", "shuffle") and not by_strips(node, size):
                size = 1
            self.prepare(node, size)
            self.fill(out, node, size, None)
        self.arrays[id(node)] = out
        return out

    def fill(self, out: Array, node: Value, size: int, limit: Any) -> None:
        """Store the lanes of a prepared value, up to the strip that `limit` is in."""

        def one(start: Any) -> Sequence[Any]:
            out.store(self.b, start, self.lanes(node, start, size))
            return ()

        self.each(self.strips(limit, lane_number(node), size), size, one)

    # -- named operations

    def call_lanes(self, call: Value) -> None:
        """All results of an operation on lanes, as arrays: it runs once for each strip."""
        if id(call) in self.results:
            return
        function = call.attrs[0]
        lanes = [*filter(is_lanes, call.args), *function.results]
        size, n = min(map(strip_lanes, lanes)), lane_number(lanes[0])
        for argument in call.args:
            self.prepare(argument, size)
        outs = [self.scratch.array(n, r.type.width) for r in function.results]
        small = relaned(function, size)

        def one(start: Any) -> Sequence[Any]:
            args = [self.lanes(a, start, size) if is_lanes(a) else self.value(a)
                    for a in call.args]  # fmt: skip
            for out, result in zip(outs, self.call_strip(small, args), strict=True):
                out.store(self.b, start, result)
            return ()

        self.each(n // size, size, one)
        self.results[id(call)] = outs

    @abstractmethod
    def call_strip(self, function: Function, args: Sequence[Any]) -> tuple[Any, ...]:
        """The results of an operation on the lanes of a strip."""

    # -- what has to be there ahead of a loop

    def prepare(self, node: Value, size: int) -> None:
        """Compute scalars and arrays that strips of `size` lanes of a value take."""
        seen: set[tuple[int, int]] = set()
        stack = [(node, size)]
        while stack:
            item, lanes = stack.pop()
            if (id(item), lanes) in seen:
                continue
            seen.add((id(item), lanes))
            if not is_lanes(item):
                self.value(item)
            elif self.in_memory(item) is None:
                stack += self._needed(item, lanes)

    def _needed(self, node: Value, size: int) -> list[tuple[Value, int]]:
        """Operands to prepare, and their lanes; those that have to be arrays are made."""
        if node.prim in ARRAY_RULES or (node.prim in MOVES and not by_strips(node, size)):
            self.materialise(node)
            return []
        operands = NEEDS[node.prim](self, node, size) if node.prim in NEEDS else None
        return [(a, size) for a in node.args] if operands is None else operands


def _postorder(values: Sequence[Value]) -> Iterator[Value]:
    seen: set[int] = set()
    stack = [(v, False) for v in values]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(a, False) for a in inputs(node)]
