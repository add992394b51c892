"""Values of wide programs: scalars as ever, lanes only as strips inside loops or as arrays.

`StripValues.lanes` computes a strip where the builder stands.  What it needs of scalars and arrays
has to be there: `prepare` computes it, ahead of the loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from rvsim.engine.jit.strips import analysis
from rvsim.engine.jit.strips.analysis import is_lanes, lane_number, strip_lanes
from rvsim.engine.jit.strips.arrays import LaneArray, copy, fill_zero
from rvsim.engine.jit.strips.folds import ARRAY_RULES, SCALAR_RULES
from rvsim.engine.jit.strips.loops import StripLoops
from rvsim.engine.jit.strips.places import MOVES, NEEDS, PLACES, by_strips
from rvsim.engine.jit.strips.rules import STRIP_RULES
from rvsim.ir.change_lanes import change_lanes
from rvsim.ir.llvm.build import I64, at
from rvsim.ir.llvm.elements import ELEMENT_RULES
from rvsim.ir.program import LoopBody, NamedOperation, inputs, postorder
from rvsim.ir.types import Type
from rvsim.ir.value import Value


class StripValues(StripLoops):
    """Computes values of one instruction."""

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
            self.values[id(node)] = self.value_rules[node.prim](self, node, *args)
            stack.pop()
        return self.values[id(value)]

    def _hoist(self, body: LoopBody) -> None:
        """Arrays that the body of a loop looks lanes up in, where they don't depend on it."""
        varying: set[int] = set()
        for node in postorder(body.results):
            if node.prim == "carried" or any(id(a) in varying for a in inputs(node)):
                varying.add(id(node))
        for node in postorder(body.results):
            if node.prim == "take" and id(node.args[0]) not in varying:
                self.array(node.args[0])

    # -- lanes

    def lanes(self, node: Value, start: Any, size: int) -> Any:
        """`size` lanes of a value from lane `start` (an i64) on, where `prepare` has been."""
        key = id(node), id(start), size
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = start, self._lanes(node, start, size)
        return found[1]

    def _lanes(self, node: Value, start: Any, size: int) -> Any:
        array = self.in_memory(node)
        if array is not None:
            return array.load(self.b, start, size)
        rule = STRIP_RULES.get(node.prim)
        if rule is not None:
            return rule(self, node, start, size)
        args = [self.lanes(a, start, size) if is_lanes(a) else self.value(a) for a in node.args]
        like = Value(node.graph, node.prim, node.args, node.attrs, Type(node.type.width, size))
        return ELEMENT_RULES[node.prim](self, like, *args)

    # -- arrays

    def array(self, node: Value) -> LaneArray:
        """All lanes of a value in memory, put there if they are nowhere yet."""
        if node.prim == "proj" and node.args[0].prim == "call":
            self.call_lanes(node.args[0])
        found = None if id(node) in self.partial else self.in_memory(node)
        return found or self.materialise(node)

    def in_memory(self, node: Value) -> LaneArray | None:
        """Where the lanes of a value are already."""
        found = self.arrays.get(id(node))
        if found is None and node.prim in PLACES:
            found = PLACES[node.prim](self, node)
        return found

    def materialise(self, node: Value, below: Value | None = None) -> LaneArray:
        """Copy the lanes of a value, or those below a limit, into scratch memory."""
        if self.partial.pop(id(node), None) is not None:
            del self.arrays[id(node)]
        n = lane_number(node)
        limit, out = self.below(below, n), self.scratch.array(n, node.type.width)
        if self.in_memory(node) is None and node.prim in ARRAY_RULES:
            ARRAY_RULES[node.prim](self, node, out, limit)
        else:
            size = strip_lanes(node)
            if node.prim in ("take", "shuffle") and not by_strips(node, size):
                size = 1
            self.prepare(node, size, below)
            self.fill(out, node, size, limit)
        self.arrays[id(node)] = out
        if below is not None:
            self.partial[id(node)] = id(below)
        return out

    def fill(self, out: LaneArray, node: Value, size: int, limit: Any) -> None:
        """Store the lanes of a prepared value, up to the strip that `limit` is in."""

        def one(start: Any) -> Sequence[Any]:
            out.store(self.b, start, self.lanes(node, start, size))
            return ()

        self.each(self.strips(limit, lane_number(node), size), size, one)

    def pad(self, node: Value, lanes: int) -> None:
        """A copy of all lanes of a value with at least `lanes` zeros before and after."""
        if self.padded.get(id(node), (None, 0))[1] >= lanes:
            return
        source, n, width = self.array(node), lane_number(node), node.type.width
        whole, size = self.scratch.array(n + 2 * lanes, width), lanes * width // 8
        inner = LaneArray(at(self.b, whole.pointer, size), width)
        behind = LaneArray(at(self.b, inner.pointer, n * width // 8), width)
        fill_zero(self.b, whole, lanes)
        copy(self.b, inner, source, I64(n * width // 8))
        fill_zero(self.b, behind, lanes)
        self.padded[id(node)] = inner, lanes

    # -- named operations

    def call_lanes(self, call: Value) -> None:
        """All results of an operation on lanes, as arrays: it runs once for each strip.

        Where all operands are known to be harmless, results are 0 and no flag is raised.
        """
        if id(call) in self.results:
            return
        function = call.attrs[0]
        lanes = [*filter(is_lanes, call.args), *function.results]
        size, n = min(map(strip_lanes, lanes)), lane_number(lanes[0])
        for argument in call.args:
            self.prepare(argument, size)
        outs = [self.scratch.array(n, r.type.width) for r in function.results]
        limit = self.below(analysis.harmless_from(call), n)
        if limit is not None:
            for out in outs:
                fill_zero(self.b, out, n)
        small = change_lanes(function, size)

        def one(start: Any) -> Sequence[Any]:
            args = [self.lanes(a, start, size) if is_lanes(a) else self.value(a)
                    for a in call.args]  # fmt: skip
            for out, result in zip(outs, self.call_strip(small, args), strict=True):
                out.store(self.b, start, result)
            return ()

        self.each(self.strips(limit, n, size), size, one)
        self.results[id(call)] = outs

    @abstractmethod
    def call_strip(self, function: NamedOperation, args: Sequence[Any]) -> tuple[Any, ...]:
        """The results of an operation on the lanes of a strip."""

    # -- what has to be there ahead of a loop

    def prepare(self, node: Value, size: int, below: Value | None = None) -> None:
        """Compute scalars and arrays that strips of `size` lanes of a value take.

        Lanes from the limit `below` on are of no interest.
        """
        seen: set[tuple[int, int, int]] = set()
        stack: list[tuple[Value, int, Value | None]] = [(node, size, below)]
        while stack:
            item = stack.pop()
            value, lanes, limit = item
            if (id(value), lanes, id(limit)) in seen:
                continue
            seen.add((id(value), lanes, id(limit)))
            if not is_lanes(value):
                self.value(value)
            elif self.in_memory(value) is None or not self._reaches(value, limit):
                stack += self._needed(*item)

    def _reaches(self, node: Value, below: Value | None) -> bool:
        """Whether the lanes below a limit are among those that an array has."""
        return self.partial.get(id(node), id(below)) == id(below)

    def _needed(
        self, node: Value, size: int, below: Value | None
    ) -> list[tuple[Value, int, Value | None]]:
        """Operands to prepare, and their lanes; those that have to be arrays are made."""
        if node.prim in ARRAY_RULES or (node.prim in MOVES and not by_strips(node, size)):
            self.materialise(node, below)
            return []
        if node.prim in NEEDS:
            return [(a, lanes, None) for a, lanes in NEEDS[node.prim](self, node, size)]
        operands = [(a, size, below) for a in node.args]
        if node.prim == "where" and is_lanes(node.args[0]):
            scalar, factor = analysis.bound(node.args[0]) or (None, 1)
            if scalar is not None and factor == 1:
                operands[1] = node.args[1], size, scalar
        return operands
