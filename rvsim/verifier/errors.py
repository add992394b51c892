"""What may end a call: exceptions of Python, since the caller is Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rvsim.errors import RvsimError

if TYPE_CHECKING:
    from rvsim.hart.traps import Trap


class CallFailed(RvsimError):
    """A call that did not return; arrays of the caller are as they were before it."""


class CallTrapped(CallFailed):
    """The guest trapped; the message has the rule, the place and the registers that matter."""

    def __init__(self, report: str, trap: Trap) -> None:
        super().__init__(report)
        self.trap = trap

    @property
    def pc(self) -> int:
        """The address of the instruction."""
        return self.trap.pc


class CallLimit(CallFailed):
    """The guest has executed as many instructions as were allowed, and has not returned."""


class CallExited(CallFailed):
    """The guest ended its program, as exit() and abort() do."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.status = exit_code


class Busy(CallFailed):
    """A call from a callback of another call, or from another thread."""
