"""The one exception that rvsim raises for misuse by the host program.

Guest faults are data (`rvsim.machine.Trap`), not exceptions.  An `RvsimError` says what was wrong
in one line, and what to try.  What it quotes of files and of guests is safe to print.
"""

from __future__ import annotations

from typing import ClassVar

from rvsim.printable import printable_lines


class RvsimError(Exception):
    """A request that rvsim cannot carry out: a bad file, option, name or value.

    >>> str(RvsimError("unknown CPU 'x6'", hint="did you mean 'spacemit-x60'?"))
    "unknown CPU 'x6': did you mean 'spacemit-x60'?"
    """

    exit_code: ClassVar[int] = 2
    """What the command line ends with."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = printable_lines(message)
        self.hint = hint and printable_lines(hint)

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message
