"""A call as an environment: the function returns to an address where nothing is mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim.hart.traps import Cause, Trap
from rvsim.machine import Ending, Environment, Hart

_CALLS: Final = (Cause.ENVIRONMENT_CALL_FROM_U_MODE, Cause.ENVIRONMENT_CALL_FROM_M_MODE)

Callback = Callable[[Hart], None]
"""Runs where the guest has called it: it puts its result into registers."""


class CallEnvironment(Environment):
    """Runs one function in the surroundings that its program has been started in.

    The function `has_returned` when it jumps to `back`.  Addresses of `callbacks` are functions
    of Python that the guest may call.  `system_calls` counts those that it made.
    """

    def __init__(self, around: Environment, back: int) -> None:
        self.around = around
        self.process = around.process
        self.back = back
        self.callbacks: dict[int, Callback] = {}
        self.has_returned = False
        self.system_calls = 0

    def begin(self, deadline: float | None) -> None:
        self.has_returned = False
        self.system_calls = 0
        self.around.begin(deadline)

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        if trap.pc == self.back:
            self.has_returned = True
            return Ending("exit", 0)
        callback = self.callbacks.get(trap.pc)
        if callback is not None:
            callback(hart)
            hart.state["pc"] = hart.state.x[1]
            return None
        if trap.cause in _CALLS:
            self.system_calls += 1
        return self.around.trapped(hart, trap)

    def shows(self, trap: Trap) -> bool:
        is_ours = trap.pc == self.back or trap.pc in self.callbacks
        return not is_ours and self.around.shows(trap)

    def pause(self, hart: Hart) -> tuple[int | None, float | None]:
        return self.around.pause(hart)

    def between(self, hart: Hart) -> Ending | None:
        return self.around.between(hart)

    def no_way_out(self) -> str | None:
        return self.around.no_way_out()

    def explain(self, hart: Hart, trap: Trap) -> str | None:
        return self.around.explain(hart, trap)
