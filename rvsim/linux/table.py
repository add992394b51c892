"""The table of system calls: a call is one function with the decorator `syscall`.

The types of its parameters say how it reads its registers, and how a trace of the calls prints
them.  It returns its result, or one of the negative error numbers below.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NewType, TypeVar

Addr = NewType("Addr", int)
"""A guest address: unsigned 64 bits, printed in hexadecimal."""
Flags = NewType("Flags", int)
"""A set of bits: unsigned 64 bits, printed in hexadecimal."""
Size = NewType("Size", int)
"""A number of bytes: unsigned 64 bits."""
Int = NewType("Int", int)
"""A C ``int``: the low 32 bits of the register, signed."""

EPERM, EBADF, ENOMEM, EFAULT = -1, -9, -12, -14
EEXIST, ENODEV, EINVAL, ENOSYS = -17, -19, -22, -38
ERROR_NAMES: Final = {
    EPERM: "EPERM",
    EBADF: "EBADF",
    ENOMEM: "ENOMEM",
    EFAULT: "EFAULT",
    EEXIST: "EEXIST",
    ENODEV: "ENODEV",
    EINVAL: "EINVAL",
    ENOSYS: "ENOSYS",
}


class ProcessExit(Exception):
    """The guest has ended, with an exit code of 0 to 255."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _signed(value: int) -> int:
    return ((value & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000


def _same(value: int) -> int:
    return value


_READERS: Final[dict[str, tuple[Callable[[int], int], Callable[[int], str]]]] = {
    "Addr": (_same, hex),
    "Flags": (_same, hex),
    "Size": (_same, str),
    "Int": (_signed, str),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One system call: its function, and the types of its parameters and result."""

    name: str
    run: Callable[..., int]
    kinds: tuple[str, ...]
    result: str

    def arguments(self, registers: list[int]) -> list[int]:
        """The values of the parameters, read from a0 to a5."""
        return [_READERS[k][0](value) for k, value in zip(self.kinds, registers, strict=False)]

    def text(self, arguments: list[int], result: int | None) -> str:
        """The call on one line, as strace writes it; no result if it does not return."""
        shown = (_READERS[k][1](value) for k, value in zip(self.kinds, arguments, strict=True))
        if result is None:
            answer = "?"
        elif result in ERROR_NAMES:
            answer = f"-{ERROR_NAMES[result]}"
        else:
            answer = hex(result) if self.result == "Addr" else str(result)
        return f"{self.name}({', '.join(shown)}) = {answer}"


CALLS: Final[dict[int, Call]] = {}
"""The modelled system calls by number; filled at import."""

_Run = TypeVar("_Run", bound=Callable[..., int])


def syscall(number: int, name: str) -> Callable[[_Run], _Run]:
    """Enter a function ``(process, …) -> result`` in the table.

    A parameter of another type than those of this module is an error at import.
    """

    def enter(run: _Run) -> _Run:
        signature = inspect.signature(run)
        kinds = tuple(p.annotation for p in list(signature.parameters.values())[1:])
        unknown = [kind for kind in kinds if kind not in _READERS]
        if unknown or number in CALLS:
            raise TypeError(f"system call {number} ({name}): entered twice or of types {unknown}")
        CALLS[number] = Call(name, run, kinds, signature.return_annotation)
        return run

    return enter
