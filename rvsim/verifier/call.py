"""What a call was, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from rvsim.guest.c_types import Function, Type
from rvsim.verifier.area import Extent, Stray
from rvsim.verifier.arguments import Argument
from rvsim.verifier.conditions import PLAIN_ENTRY, Entry
from rvsim.verifier.sharing import Groups


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer into the guest: `offset` bytes into the array of an argument, if it is into one.

    >>> int(Address(0x1000_0004, "dst", 4))
    268435460
    """

    value: int
    argument: str | None = None
    offset: int | None = None

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0


@dataclass(frozen=True, slots=True)
class PointerTo:
    """The value of a pointer parameter: the array of so many arguments before it."""

    argument: int


Value = bytes | PointerTo
"""Of one parameter: the bytes of its C type, or an array that it points to."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that a call depends on but memory, so that it can be made again on any machine.

    `values` are those of the parameters, and after them of the types that are `variadic`.  `names`
    are those of the parameters that the `arguments` are passed for.
    """

    name: str
    address: int
    type: Function
    variadic: tuple[Type, ...]
    values: tuple[Value, ...]
    arguments: tuple[Argument, ...]
    extents: tuple[Extent, ...]
    groups: Groups
    names: tuple[str, ...]
    callbacks: tuple[tuple[Any, Function], ...]
    max_insns: int
    entry: Entry = PLAIN_ENTRY
    """What registers that hold no arguments hold."""


@dataclass(frozen=True, slots=True)
class Times:
    """What a call took on a core."""

    cycles: int
    stalls: Mapping[str, float]


@dataclass(slots=True, eq=False)
class Call:
    """One call of a kernel that has returned: its value, and what it took.

    `int(call)` and `float(call)` are those of `value`.  `instructions` counts those of the guest.
    `arrays` has what the kernel left in each array argument, by the name of the parameter.
    """

    request: Request = field(repr=False)
    value: Any
    instructions: int
    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    strays: Sequence[Stray] = field(default=(), repr=False)
    """Bytes around the arrays that the kernel has changed."""
    stdout: bytes = field(default=b"", repr=False)
    """What the kernel has printed."""
    times: Callable[[], Times] | None = field(default=None, repr=False)
    """Makes the call again where cycles are counted."""
    _times: Times | None = field(default=None, repr=False)

    @property
    def cycles(self) -> int:
        """Cycles of the program's core, with the caches as the program's start leaves them.

        The call is made again for them, on a machine that counts them.  Raises `RvsimError` for a
        CPU without a core, and for a program that has made a system call in an earlier call.
        """
        return self._timed.cycles

    @property
    def stalls(self) -> Mapping[str, float]:
        """Cycles by the reason for which they passed; they add up to `cycles`."""
        return self._timed.stalls

    @property
    def _timed(self) -> Times:
        if self._times is None:
            assert self.times is not None
            self._times = self.times()
        return self._times

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        raise TypeError("a call is neither true nor false: compare call.value, or an array")
