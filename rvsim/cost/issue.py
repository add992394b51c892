"""In-order issue: an instruction waits for all of its conditions, and the wait is charged.

Instructions issue at whole cycles, in order, up to `width` in one cycle.  Of the cycles between an
instruction and the one before it, the part that the width explains is ``issue``.  The rest is
charged to the condition that held longest.  So the charges of a run add up to the cycle of its
last instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rvsim import ir
from rvsim.cost.core import Core
from rvsim.cost.formula import CYCLE
from rvsim.cost.reasons import FETCH, ISSUE, PAIR, REASONS
from rvsim.cost.record import tell
from rvsim.cost.state import get, put
from rvsim.ir import Value

Why = Callable[[], "Value | int"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Issue not before `time`; `why` and `site` give the reason and the site to charge."""

    time: Value
    why: Why
    site: Callable[[], Value] | None = None


def ceil(time: Value) -> Value:
    """The next whole cycle."""
    return (time + (CYCLE - 1)) & -CYCLE


def latest(first: Value, *times: Value) -> Value:
    """The last of several times."""
    for time in times:
        first = ir.max_u(first, time)
    return first


def reason_in(name: str, place: Value) -> Why:
    """A function that reads the reason from an array, called only if an instruction waits."""
    return lambda: ir.read_array(name, place)


def charge(site: Value, why: Value | int, cycles: Value) -> Value:
    """Add cycles to a reason of an instruction; returns the index of its counter."""
    place = site * len(REASONS) + why
    ir.write_array("sites", place, ir.read_array("sites", place) + cycles)
    return place


@dataclass(slots=True)
class Issuer:
    """The issue of one instruction, as part of a trace: `wait` for conditions, then `issue`."""

    core: Core
    vector: bool = False
    memory: bool = False
    conditions: list[Condition] = field(default_factory=list)
    now: Value = field(init=False)
    slots: Value = field(init=False)
    _free: Value = field(init=False)

    def __post_init__(self) -> None:
        self.now = get("now")
        self.slots = get("slots")
        full = ~ir.lt_u(self.slots, self.core.issue.width)
        if self.vector:
            full |= get("vector_at") == self.now
        self._free = ir.where(full, self.now + CYCLE, self.now)
        if self.memory:
            taken = get("memory_at") == self.now
            self.wait(ir.where(taken, self.now + CYCLE, self.now), PAIR)

    def wait(
        self, time: Value, why: Why | Value | int, site: Callable[[], Value] | None = None
    ) -> None:
        """Issue not before `time`, which may be a fraction of a cycle."""
        self.conditions.append(Condition(time, why if callable(why) else lambda: why, site))

    def earliest(self) -> Value:
        """The cycle in which it would issue under the conditions so far."""
        return ceil(latest(self._free, *(c.time for c in self.conditions)))

    def issue(self) -> Value:
        """The cycle in which it issues; charges the wait and takes a slot."""
        time = self.earliest()
        with ir.when(time != self.now):
            self._charge(time)
        put("slots", ir.where(time == self.now, self.slots + 1, 1))
        put("now", time)
        tell(issued=time)
        if self.vector:
            put("vector_at", time)
        if self.memory:
            put("memory_at", time)
        return time

    def _charge(self, time: Value) -> None:
        own = ir.param("site")
        with ir.when(self._free != self.now):
            charge(own, ISSUE, self._free - self.now)
            tell(slot=self._free - self.now)
        with ir.when(time != self._free):
            why, site = ir.const(PAIR, 64), own
            for condition in reversed(self.conditions):
                binds = ceil(condition.time) == time
                why = ir.where(binds, _word(condition.why()), why)
                site = ir.where(binds, condition.site() if condition.site else own, site)
            tell(wait=time - self._free, charged=charge(site, why, time - self._free))


def _word(value: Value | int) -> Value:
    return value if isinstance(value, Value) else ir.const(value, 64)


def took(begun: Value, finished: Value) -> None:
    """Record when the unit began with this instruction, and when its result is ready or stored."""
    tell(begun=begun, finished=finished)


def lose(cycles: Value | int, why: int) -> None:
    """Let nothing issue for `cycles`: before this instruction if `why` is FETCH, else after it."""
    now = get("now")
    lost = _word(cycles)
    charge(ir.param("site"), why, lost)
    if why == FETCH:
        tell(fetch=lost)
    else:
        tell(lost=lost, lost_why=why)
    put("now", now + lost)
    put("slots", 0)
