"""What a profile has to say, by the rules and one instruction at a time: for small runs only.

Each charge is added to its place, and to every call on the way to the function that is charged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Costs = Counter[str]
Kind = Literal["other", "call", "return", "indirect"]
Named = tuple[str, bool]
"""The name of a function, and whether it was under way before."""


@dataclass(frozen=True)
class Code:
    """An instruction: `offset` is its distance from the beginning of its function."""

    pc: int
    function: str
    offset: int
    kind: Kind
    length: int = 4

    @property
    def named(self) -> bool:
        return self.function != "???"


@dataclass(frozen=True)
class Row:
    """An instruction that executed, and its cycles; `gap` if something before it is left out."""

    code: Code
    slot: int = 1
    fetch: int = 0
    wait: int = 0
    reason: str = "pair"
    charged: int | None = None
    """The pc that the wait is charged to, if it is another one."""
    lost: int = 0
    gap: bool = False
    trapped: bool = False

    def charges(self) -> list[tuple[int, str, int]]:
        """(pc, reason, cycles) of all that it was charged."""
        pc = self.code.pc
        charged = pc if self.charged is None else self.charged
        own = [(pc, "issue", self.slot), (pc, "fetch", self.fetch), (pc, "branch", self.lost)]
        return [*own, (charged, self.reason, self.wait)]


@dataclass(frozen=True)
class Call:
    caller: Named
    site: int
    callee: Named
    target: int


@dataclass
class Frame:
    """A function under way; `ends` is an address, or says with what it ends."""

    named: Named
    call: Call | None = None
    ends: int | Literal["with the one below", "somewhere"] = "with the one below"

    @property
    def function(self) -> str:
        return self.named[0]


@dataclass
class Model:
    """`functions` tells the function of a pc."""

    functions: dict[int, str]
    own: defaultdict[tuple[Named, int], Costs] = field(default_factory=lambda: defaultdict(Costs))
    calls: defaultdict[Call, Costs] = field(default_factory=lambda: defaultdict(Costs))
    counts: Counter[Call] = field(default_factory=Counter)
    stack: list[Frame] = field(default_factory=list)
    total: Costs = field(default_factory=Costs)
    first: int = 0
    whole: bool = True
    """Whether nothing has been left out so far."""
    lately: dict[str, tuple[Call, str]] = field(default_factory=dict)
    """How a function was called that has ended since, and by whom."""

    def run(self, rows: Iterable[Row]) -> Model:
        last: Row | None = None
        for row in rows:
            if last is None:
                self.restart(row.code)
            else:
                self.whole &= not row.gap
                self.step(last.code, "trap" if last.trapped else last.code.kind, row.code, row.gap)
            self.pay(row)
            last = row
        return self

    # -- what happens

    def step(self, last: Code, kind: str, here: Code, gap: bool) -> None:
        inside = here.named and here.offset > 0
        if kind == "call":
            back_in_one = gap and self.runs(here.function) and (inside or not here.named)
            if here.pc != last.pc + last.length and not back_in_one:
                self.enter(last.pc, here, last.pc + last.length)
                return
        elif gap or kind == "return" or (kind == "indirect" and here.function != self.top.function):
            if any(frame.ends == here.pc for frame in self.stack):
                while self.leave().ends != here.pc:
                    pass
            elif gap and kind == "return" and here.named and here.offset == 0 and self.is_called():
                while (frame := self.leave()).ends == "with the one below":
                    pass
                assert frame.call is not None
                self.enter(frame.call.site, here, frame.ends)
        if here.function == self.top.function:
            return
        loops = kind != "trap" and here.function in self.together()
        if self.runs(here.function) if inside else loops:
            while self.top.function != here.function:
                self.leave()
        elif kind == "return" and not self.is_called() and (inside or not here.named):
            self.underflow(here)
        elif len(self.stack) > 1 or (here.named and here.offset == 0 and not gap):
            self.enter(last.pc, here, "somewhere" if kind == "trap" else "with the one below")
        else:
            self.restart(here)

    def underflow(self, here: Code) -> None:
        while len(self.stack) > 1:
            self.leave()
        first, begun = self.top.function, self.first
        self.restart(here)
        if self.whole:
            call = Call((here.function, False), here.pc, (first, False), begun)
            self.calls[call] += self.total
            self.counts[call] += 1
            self.lately[first] = call, here.function

    # -- the stack

    @property
    def top(self) -> Frame:
        return self.stack[-1]

    def runs(self, function: str) -> bool:
        return any(frame.function == function for frame in self.stack)

    def is_called(self) -> bool:
        return any(frame.ends != "with the one below" for frame in self.stack)

    def together(self) -> list[str]:
        """The functions that end at once with the one that executes."""
        found = []
        for frame in reversed(self.stack):
            found.append(frame.function)
            if frame.ends != "with the one below":
                break
        return found

    def enter(
        self, site: int, here: Code, ends: int | Literal["with the one below", "somewhere"]
    ) -> None:
        named = here.function, self.runs(here.function)
        call = Call(self.top.named, site, named, here.pc)
        self.stack.append(Frame(named, call, ends))
        self.counts[call] += 1
        self.calls[call] += Costs()

    def leave(self) -> Frame:
        frame = self.stack.pop()
        assert frame.call is not None
        self.lately[frame.function] = frame.call, self.top.function
        return frame

    def restart(self, here: Code) -> None:
        self.first = here.pc
        self.stack = [Frame((here.function, False))]

    # -- costs

    def pay(self, row: Row) -> None:
        paid = [(row.code.pc, "Instructions", int(not row.trapped))]
        for pc, reason, cycles in row.charges():
            paid += [(pc, reason, cycles), (pc, "Cycles", cycles)]
        for pc, event, amount in paid:
            named, way = self.way_to(self.functions[pc])
            self.total[event] += amount
            self.own[named, pc][event] += amount
            for call in way:
                self.calls[call][event] += amount

    def way_to(self, function: str) -> tuple[Named, list[Call]]:
        """The calls that led to a function that is charged."""
        frames, lately = list(self.stack), []
        if function != self.top.function:
            caller = function
            while not self.runs(caller):
                if caller not in self.lately or self.lately[caller][0] in lately:
                    return (function, False), [f.call for f in frames if f.call is not None]
                call, caller = self.lately[caller]
                lately.append(call)
            while frames[-1].function != caller:
                frames.pop()
        named = lately[0].callee if lately else frames[-1].named
        return named, [f.call for f in frames if f.call is not None] + lately
