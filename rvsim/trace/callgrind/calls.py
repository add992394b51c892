"""The calls of a run, followed from one function to the next.

The function that executes is always the one at the top of the stack.  It changes by a call, which
links; by a return to where a call under way comes back to; and by what is named a move here: a
jump, a branch, a fall into the next function, a trap, or a return from one.

- A move to the first instruction of a function is a call that does not return on its own (a tail
  call, a signal handler): it ends with the call in which it was made.
- Where that function is under way in the same call already, the move is a loop back to it.  What a
  trap leads to is a call of its own.
- A move into the middle of a function goes back to it if it is under way: longjmp, the end of a
  handler, code that the compiler has put elsewhere because it is seldom used.
- A move into code without symbols is taken for one to a first instruction.
- A return from the function in which a trace begins tells of a call before it.
- Where instructions are left out (a region of interest), a call may be one by way of others.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from rvsim.trace.flow import Flow

_MAY_RETURN: Final = (Flow.INDIRECT, Flow.RETURN)


class PlacedInsn(NamedTuple):
    """An instruction: its function, how it goes on, and the address after it."""

    pc: int
    function: int
    flow: Flow
    after: int
    begins: bool = False
    """Whether it is the first one of its function."""
    named: bool = True
    """False for code without symbols: "the function" there is any number of functions."""


class Edge(NamedTuple):
    """All calls from one place to another.

    `again` tells calls of, and in, a function that was under way already, which callgrind names
    ``f'2``: so the calls of ``f`` itself cost no more than what has passed.
    """

    site: int
    site_again: bool
    target: int
    target_again: bool


_TOGETHER: Final = -1
"""In place of an address: it ends together with the frame below."""
_SOMEWHERE: Final = -2
"""In place of an address: nobody knows."""


class _OpenCall(NamedTuple):
    """A function under way, the number of the edge that led to it, and where it returns to."""

    function: int
    edge: int = -1
    back: int = _TOGETHER


Share = tuple[int, int]
"""The number of an edge, and 1 or -1: whether a charge is added to its costs, or taken off."""


class Calls:
    """A shadow of the program's stack of calls.

    What a call costs is the difference of two sums of all that has passed, at its end and at its
    beginning.  They are left in `entries` for whoever has the sums: (edge, moment, 1 or -1).

    >>> main = PlacedInsn(0x100, 0, Flow.CALL, 0x104)
    >>> f = PlacedInsn(0x200, 1, Flow.RETURN, 0x204, begins=True)
    >>> calls = Calls(main)
    >>> calls.arrive(0, main, f)
    >>> calls.arrive(1, f, PlacedInsn(0x104, 0, Flow.NEXT, 0x108))
    >>> calls.entries, calls.edges[0].target, calls.counts
    ([(0, 0, -1), (0, 1, 1)], 512, [1])
    """

    def __init__(self, first: PlacedInsn) -> None:
        self.edges: list[Edge] = []
        self.counts: list[int] = []
        """How often each edge was taken."""
        self.entries: list[tuple[int, int, int]] = []
        self._numbers: dict[Edge, int] = {}
        self._frames: list[_OpenCall] = []
        self._under_way: defaultdict[int, int] = defaultdict(int)
        """Frames by function."""
        self._awaited: defaultdict[int, int] = defaultdict(int)
        """Frames by where they return to."""
        self._ended: dict[int, tuple[int, int]] = {}
        """The last call of a function that has ended: its edge, and the function that called."""
        self._from_the_start = True
        self._begin(first)

    @property
    def again(self) -> bool:
        """Whether the function that executes is under way a second time."""
        return self._under_way[self._frames[-1].function] > 1

    def arrive(self, moment: int, last: PlacedInsn, here: PlacedInsn, gap: bool = False) -> None:
        """`here` executes after `last`: at once, or with a gap of what is left out.

        This has to be told of calls and returns, of gaps, and of all that leads to another
        function.  An indirect jump within a function is none of them: it goes by a table.
        """
        if gap:
            self._from_the_start = False
        if last.flow is Flow.CALL:
            goes_on = gap and not here.begins and self._under_way[here.function]
            if here.pc != last.after and not goes_on:
                self._call(moment, last.pc, here, last.after)
                return
        elif gap or last.flow in _MAY_RETURN:
            if self._awaited[here.pc]:
                self._return(moment, here.pc)
            elif gap and last.flow is Flow.RETURN and here.begins and self._calls:
                self._call_beside(moment, here)
        if here.function != self._frames[-1].function:
            self._move(moment, last, here, gap)

    def end(self, moment: int) -> None:
        """What is under way ends here."""
        self._unwind(moment, 1)

    def charge(self, function: int) -> tuple[bool, list[Share]]:
        """Who shares a charge to a function that does not execute: one that called, or has ended.

        Tells whether the function was under way a second time.  What has passed counts for all that
        is under way; here it counts for the calls that led to the function, and not for others.
        """
        path: list[int] = []
        caller = function
        while not self._under_way[caller]:
            if caller not in self._ended or self._ended[caller][0] in path:
                return False, []
            edge, caller = self._ended[caller]
            path.append(edge)
        shares = [(edge, 1) for edge in path]
        for frame in reversed(self._frames):
            if frame.function == caller:
                break
            shares.append((frame.edge, -1))
        again = self.edges[path[0]].target_again if path else self._under_way[function] > 1
        return again, shares

    # -- what happens

    def _move(self, moment: int, last: PlacedInsn, here: PlacedInsn, gap: bool) -> None:
        """To another function by neither a call nor a return of one."""
        if here.named and not here.begins:
            depth = self._depth(here.function)
        else:
            depth = self._depth_in_call(here.function) if last.flow is not Flow.TRAP else 0
        if depth:
            self._unwind(moment, depth)
        elif not here.begins and last.flow is Flow.RETURN and not self._calls:
            self._unwind(moment, 1)
            self._end_first(moment, here)
        elif len(self._frames) > 1 or (here.begins and not gap):
            back = _SOMEWHERE if last.flow is Flow.TRAP else _TOGETHER
            self._call(moment, last.pc, here, back)
        else:
            self._begin(here)

    def _depth(self, function: int) -> int:
        """How many frames there are up to the last one of a function; 0 if there is none."""
        depth = len(self._frames) if self._under_way[function] else 0
        while depth and self._frames[depth - 1].function != function:
            depth -= 1
        return depth

    def _depth_in_call(self, function: int) -> int:
        """The same, but 0 if the frame is not one of those that end together."""
        for depth in range(len(self._frames), 0, -1):
            frame = self._frames[depth - 1]
            if frame.function == function:
                return depth
            if frame.back != _TOGETHER:
                break
        return 0

    def _return(self, moment: int, pc: int) -> None:
        """The last call that returns to `pc` ends, and those in it."""
        while self._pop(moment).back != pc:
            pass

    def _unwind(self, moment: int, depth: int) -> None:
        """What is under way above so many frames ends."""
        while len(self._frames) > depth:
            self._pop(moment)

    def _call_beside(self, moment: int, here: PlacedInsn) -> None:
        """What is left out has called one thing after the other."""
        frame = self._pop(moment)
        while frame.back == _TOGETHER:
            frame = self._pop(moment)
        self._call(moment, self.edges[frame.edge].site, here, frame.back)

    def _end_first(self, moment: int, here: PlacedInsn) -> None:
        """The first function returns to its caller, of which the trace has seen nothing yet."""
        first = self._first
        self._begin(here)
        if not self._from_the_start:
            return
        edge = self._edge(Edge(here.pc, False, first.pc, False))
        self.counts[edge] += 1
        self.entries.append((edge, moment, 1))
        self._ended[first.function] = edge, here.function

    # -- frames

    @property
    def _calls(self) -> int:
        """How many of the frames do not end together with the one below."""
        return len(self._frames) - 1 - self._awaited[_TOGETHER]

    def _begin(self, here: PlacedInsn) -> None:
        """No calls are under way."""
        self._first = here  # of what has no caller that the trace knows
        self._frames = [_OpenCall(here.function)]
        self._under_way.clear()
        self._awaited.clear()
        self._under_way[here.function] = 1

    def _edge(self, edge: Edge) -> int:
        number = self._numbers.get(edge)
        if number is None:
            number = self._numbers[edge] = len(self.edges)
            self.edges.append(edge)
            self.counts.append(0)
        return number

    def _call(self, moment: int, site: int, here: PlacedInsn, back: int = _TOGETHER) -> None:
        again = self._under_way[here.function] > 0
        edge = self._edge(Edge(site, self.again, here.pc, again))
        self.counts[edge] += 1
        self.entries.append((edge, moment, -1))
        self._frames.append(_OpenCall(here.function, edge, back))
        self._under_way[here.function] += 1
        self._awaited[back] += 1

    def _pop(self, moment: int) -> _OpenCall:
        frame = self._frames.pop()
        self.entries.append((frame.edge, moment, 1))
        self._under_way[frame.function] -= 1
        self._awaited[frame.back] -= 1
        self._ended[frame.function] = frame.edge, self._frames[-1].function
        return frame
