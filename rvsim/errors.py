"""The one exception that rvsim raises for misuse by the host program.

Guest faults are data (`rvsim.machine.Trap`), not exceptions.  An `RvsimError` says what was wrong
in one line, and what to try.  What it quotes of files and of guests is safe to print.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar, Final

from rvsim.printable import printable_lines

_FEW: Final = 100
"""Names that a hint can list."""

_ALIKE: Final = 0.6
"""What `difflib` calls the ratio of two names, from which on one may be meant for the other."""


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


def nearest(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The known names that are like this one, the most alike first."""
    return difflib.get_close_matches(name, list(known), n=most, cutoff=_ALIKE)


def did_you_mean(
    name: str, known: Iterable[str], *, most: int = 1, otherwise: str | None = None
) -> str:
    """A hint for a name that is not known: the nearest ones, or else what to do, or all of them.

    >>> did_you_mean("l1d.siz", ["l1d.size", "l2.size"])
    "did you mean 'l1d.size'?"
    >>> did_you_mean("main.elf", ["run", "list"], otherwise="write: rvsim run main.elf")
    'write: rvsim run main.elf'
    """
    names = list(known)
    close = nearest(name, names, most=most)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    if otherwise is not None:
        return otherwise
    if len(names) > _FEW:
        return f"none of the {len(names)} known ones is like it"
    return f"known are {', '.join(sorted(names))}"
