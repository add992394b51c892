"""The calls of a run, followed from one function to the next.

The executing function is always the one at the top of the stack.  Three things change it: a call,
which writes a link register; a return to the return address of a call under way; and a move: a
jump, a branch, a fall into the next function, a trap, or a return from a trap.

- A move to the first instruction of a function is a call without its own return (a tail call, a
  signal handler): it ends with the call from which it was made.
- If that function is under way in the same call already, the move is a loop back to it.  But a trap
  always begins a new call.
- A move into the middle of a function under way goes back to it: longjmp, the end of a handler,
  cold code that the compiler has put elsewhere.
- A move into code without symbols counts as a move to a first instruction.
- A return from the function in which a trace begins reveals an earlier call.
- If instructions are left out (a region of interest), a call may lead through other functions.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from rvsim.trace.flow import Flow

_MAY_RETURN: Final = (Flow.INDIRECT, Flow.RETURN)


class PlacedInsn(NamedTuple):
    """An instruction: its function, its flow, and the address after it."""

    pc: int
    function: int
    flow: Flow
    after: int
    begins: bool = False
    """Whether it is the first instruction of its function."""
    named: bool = True
    """False for code without symbols, where `function` stands for any number of functions."""


class Edge(NamedTuple):
    """All calls from one place to another.

    `site_again` and `target_again` say that the calling or called function was under way already.
    Callgrind names it ``f'2``, so that calls of ``f`` itself cost at most the whole run.
    """

    site: int
    site_again: bool
    target: int
    target_again: bool


_TOGETHER: Final = -1
"""Instead of a return address: the call ends together with the frame below."""
_SOMEWHERE: Final = -2
"""Instead of a return address: it is not known."""


class _OpenCall(NamedTuple):
    """A function under way, the number of the edge that led to it, and its return address."""

    function: int
    edge: int = -1
    back: int = _TOGETHER


Share = tuple[int, int]
"""The number of an edge, and 1 or -1: whether to add a charge to its costs or subtract it."""


class Calls:
    """A shadow of the program's stack of calls.

    The cost of a call is the difference of two sums of all costs so far, at its end and at its
    beginning.  `entries` has these as (edge, moment, 1 or -1); the caller has the sums.

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
        """The number of frames of each function."""
        self._awaited: defaultdict[int, int] = defaultdict(int)
        """The number of frames with each return address."""
        self._ended: dict[int, tuple[int, int]] = {}
        """For each function, its last ended call: the edge, and the calling function."""
        self._from_the_start = True
        self._begin(first)

    @property
    def again(self) -> bool:
        """Whether the executing function is under way more than once."""
        return self._under_way[self._frames[-1].function] > 1

    def arrive(self, moment: int, last: PlacedInsn, here: PlacedInsn, gap: bool = False) -> None:
        """`here` executes after `last`, directly or after a `gap` of omitted instructions.

        Call this for calls and returns, for gaps, and whenever the function changes.  An indirect
        jump within a function needs no call: it is a jump table.
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
        """End all calls under way."""
        self._unwind(moment, 1)

    def charge(self, function: int) -> tuple[bool, list[Share]]:
        """The shares of a charge to a function that does not execute: a caller, or one that ended.

        Also says whether the function was under way more than once.  Normally a charge counts for
        all calls under way; this one counts only for the calls that led to the function.
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
        """Go to another function by neither a call nor a return."""
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
        """The number of frames up to the last one of a function; 0 if it has none."""
        depth = len(self._frames) if self._under_way[function] else 0
        while depth and self._frames[depth - 1].function != function:
            depth -= 1
        return depth

    def _depth_in_call(self, function: int) -> int:
        """The same, but 0 if that frame does not end together with the top frame."""
        for depth in range(len(self._frames), 0, -1):
            frame = self._frames[depth - 1]
            if frame.function == function:
                return depth
            if frame.back != _TOGETHER:
                break
        return 0

    def _return(self, moment: int, pc: int) -> None:
        """End the last call that returns to `pc`, and the calls in it."""
        while self._pop(moment).back != pc:
            pass

    def _unwind(self, moment: int, depth: int) -> None:
        """End the calls above the lowest `depth` frames."""
        while len(self._frames) > depth:
            self._pop(moment)

    def _call_beside(self, moment: int, here: PlacedInsn) -> None:
        """End the last call, and begin one beside it: omitted code made both."""
        frame = self._pop(moment)
        while frame.back == _TOGETHER:
            frame = self._pop(moment)
        self._call(moment, self.edges[frame.edge].site, here, frame.back)

    def _end_first(self, moment: int, here: PlacedInsn) -> None:
        """The first function returns to its caller, which the trace has not seen before."""
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
        """The number of frames that do not end together with the one below."""
        return len(self._frames) - 1 - self._awaited[_TOGETHER]

    def _begin(self, here: PlacedInsn) -> None:
        """Begin with `here`, and with no calls under way."""
        self._first = here  # its caller is not in the trace
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
