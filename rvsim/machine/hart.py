"""A hart: what it is, its state, and the engines that run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rvsim.config import ClockRates, Config
from rvsim.engine.interp import Interpreter
from rvsim.engine.observer import INTERPRETED, Need, Observer
from rvsim.errors import RvsimError
from rvsim.hart.initial import Initial
from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.machine.notes import Notes
from rvsim.machine.options import RunOptions
from rvsim.vec.vtype import VILL

if TYPE_CHECKING:
    from rvsim.cost import Core, CostModel
    from rvsim.cost.ring import Ring
    from rvsim.engine.jit.engine import Jit

_FEW: Final = 200_000
"""Instructions with records that take less time in the interpreter than in being compiled."""


class Hart:
    """One hart on the memory that it shares: VLEN, profile, core and engines are its own.

    `config` says what it is, `state` has its registers, `cost` its cost model, if cycles are
    counted, and `interp` the reference engine, which enters compiled code.
    """

    def __init__(
        self, options: RunOptions, memory: Memory, observer: Observer, notes: Notes
    ) -> None:
        self.options = options
        self.memory = memory
        self.cost = None if options.cost is None else _cost_model(options.cost)
        config = _with_clock(options.config(), self.cost)
        records = Need.RECORDS in observer.needs
        self.state = _new_state(config, self.cost, records=records)
        self.state["vtype"] = VILL
        Initial.parse(options.initial).fill(self.state)
        self.interp = Interpreter(
            config, self.state, memory, note=notes.at, observer=observer, cost=self.cost
        )
        self._new_jit = _jit_maker(self.interp, options, observer.needs, notes.once)
        window = observer.window if records else range(0)
        self._recorded = window.stop - window.start
        self.ring: Ring | None = None
        if records and self.cost is not None:
            self.ring = self.cost.make_ring(observer.batch, window.start)
        turns = [(window.start, self.ring), (window.stop, None)] if records else []
        self._turns = [turn for turn in turns if turn[0] > 0]
        """From which instruction on records are made, and none any more."""
        self._begin_anew(self.ring if window.start <= 0 < window.stop else None)

    def _begin_anew(self, ring: Ring | None) -> None:
        """Make records or none from here on, with hot code compiled for that if it pays."""
        few = ring is not None and self._recorded < _FEW
        self.interp.begin_anew(ring, None if few else self._new_jit())

    @property
    def config(self) -> Config:
        """What it is."""
        return self.interp.config

    @config.setter
    def config(self, config: Config) -> None:
        self.interp.config = config

    @property
    def cycle(self) -> int:
        """Cycles so far: of the cost model, or instructions if there is none."""
        return self.state["instret"] if self.cost is None else self.cost.cycle

    def run(self, fuel: int, deadline: float | None = None) -> tuple[Trap | None, int]:
        """As `Interpreter.run` does; records begin and end between two instructions."""
        while self._turns:
            at, ring = self._turns[0]
            part = min(fuel, max(0, at - self.state["instret"]))
            trap, left = self.interp.run(part, deadline)
            fuel -= part - left
            if trap is not None or left or self.state["instret"] < at:
                return trap, fuel
            del self._turns[0]
            self._begin_anew(ring)
            if part and self.state["pc"] in self.interp.stops:
                return None, fuel
        return self.interp.run(fuel, deadline)

    def flush(self) -> None:
        """Hand over the records that there are."""
        if self.ring is not None:
            self.ring.flush()


def _with_clock(config: Config, cost: CostModel | None) -> Config:
    """Time goes by as the core has it whose cycles are counted."""
    if cost is None:
        return config
    clock = cost.core.clock
    return replace(config, rates=ClockRates(clock.frequency, clock.timer))


def _new_state(config: Config, cost: CostModel | None, *, records: bool) -> State:
    if cost is not None:
        return cost.make_state(config.vlen, records=records)
    if records:
        raise RvsimError("there are no times without a cost model", hint='give cost="x60"')
    return State(config.vlen)


def _cost_model(core: str | Core) -> CostModel:
    from rvsim.cost import CostModel, load_core

    return CostModel(load_core(core) if isinstance(core, str) else core)


def _jit_maker(
    interp: Interpreter, options: RunOptions, needs: Need, note: Callable[[str], object]
) -> Callable[[], Jit | None]:
    """Makes compilers, one for each time that code is bound anew; or none, as the needs ask."""
    if options.engine != "jit" or needs & INTERPRETED:
        return lambda: None

    def make() -> Jit:
        from rvsim.engine.jit.cache import region_folder
        from rvsim.engine.jit.engine import Jit

        return Jit(
            interp,
            cache=region_folder() if options.cache else None,
            counts=Need.STATISTICS in needs,
            host=options.host,
            note=note,
        )

    return make
