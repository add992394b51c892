"""Bare metal as an environment: machine mode's handler, and the host at the end of ``tohost``."""

from __future__ import annotations

from dataclasses import replace

from rvsim.config import MACHINE
from rvsim.guest.bare import BareMetal, HostExit
from rvsim.hart.traps import Trap
from rvsim.machine.environment import Ending, Environment
from rvsim.machine.hart import Hart


class BareEnvironment(Environment):
    """Runs an image that has a ``tohost`` symbol, in machine mode."""

    def __init__(self, bare: BareMetal) -> None:
        self.bare = bare

    def start(self, hart: Hart) -> None:
        extensions = hart.config.extensions | {MACHINE}
        hart.config = replace(hart.config, extensions=extensions)
        self.bare.start(hart.state)

    def shows(self, trap: Trap) -> bool:
        return not self.bare.is_message(trap)

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        """A message to the host is one instruction more; any other trap is the handler's."""
        if self.bare.is_message(trap):
            with self.bare.page_open():
                inner = hart.interp.again()
            try:
                self.bare.serve()
            except HostExit as ended:
                return Ending("exit", ended.code)
            if inner is None:
                return None
            trap = inner
        return None if self.bare.enter_handler(trap, hart.state) else Ending.killed(trap)

    def explain(self, hart: Hart, trap: Trap) -> str | None:
        return self.bare.unhandled(trap, hart.state)
