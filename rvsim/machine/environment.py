"""What surrounds a program: it starts a hart, answers its traps, and says when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rvsim.guest.linux import signal_number
from rvsim.hart.traps import Trap

if TYPE_CHECKING:
    from rvsim.guest.linux import LinuxProcess
    from rvsim.machine.hart import Hart

Reason = Literal["exit", "trap", "max_insns", "timeout", "stop"]

LIMIT_REACHED: Final = 124
"""The exit code of a run that a limit has ended, as ``timeout`` has it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended; the exit code is what a shell would see."""

    reason: Reason
    exit_code: int
    trap: Trap | None = None

    @staticmethod
    def killed(trap: Trap) -> Ending:
        """By a trap that nothing handles: as Linux has it, by the signal for it."""
        return Ending("trap", 128 + signal_number(trap.cause), trap)


class Environment:
    """What a hart runs in; a subclass has Linux, bare metal, or a call from Python.

    Whatever comes here, the hart stands between two instructions.
    """

    process: LinuxProcess | None = None
    """The process that runs, if it runs on Linux."""

    def start(self, hart: Hart) -> None:
        """Set registers for the first instruction."""

    def begin(self, deadline: float | None) -> None:
        """A run begins, which has to end at `deadline`, in seconds of `time.monotonic`."""

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        """An instruction has trapped; None if the hart goes on from where its pc is now."""
        return Ending.killed(trap)

    def shows(self, trap: Trap) -> bool:
        """Whether the program sees it as a trap: observers are told of these alone."""
        return True

    def pause(self, hart: Hart) -> tuple[int | None, float | None]:
        """How far the hart may run before `between`: in instructions, or to a moment."""
        return None, None

    def between(self, hart: Hart) -> Ending | None:
        """The hart stands still for a moment, perhaps because `pause` asked for it."""
        return None

    def no_way_out(self) -> str | None:
        """Why a program that has reached a limit could not end, if it could not."""
        return None

    def explain(self, hart: Hart, trap: Trap) -> str | None:
        """Why nothing here could handle a trap, if that is known."""
        return None


NOWHERE: Final = Environment()
"""Of a machine that no program has been loaded into."""
