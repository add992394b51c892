"""The table of system calls: a call is one function with the decorator `syscall`.

The types of its parameters say how it reads its registers, and how a trace of the calls prints
them.  It returns its result, or an error by its negative number or as a `CallError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NewType, TypeVar

from rvsim.guest.linux.errno import ERROR_NAMES
from rvsim.hart.memory import GuestFault
from rvsim.printable import printable

if TYPE_CHECKING:
    from rvsim.hart.memory import Memory

Addr = NewType("Addr", int)
"""A guest address: unsigned 64 bits, printed in hexadecimal."""
Text = NewType("Text", int)
"""A guest address of a C string, which is printed."""
Flags = NewType("Flags", int)
"""A set of bits: unsigned 64 bits, printed in hexadecimal."""
Mode = NewType("Mode", int)
"""Permissions and type of a file: the low 16 bits, as Linux's ``umode_t``."""
Size = NewType("Size", int)
"""A number of bytes: unsigned 64 bits."""
Int = NewType("Int", int)
"""A C ``int``: the low 32 bits of the register, signed."""
Long = NewType("Long", int)
"""A C ``long``: signed 64 bits."""

_LONGEST_TEXT: Final = 80


class ProcessExit(Exception):
    """The guest has ended, with an exit code of 0 to 255; by a signal, that is 128 + signal."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class BlockedForEver(Exception):
    """The guest waits for what nobody can do: there is no second thread or process."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _int(value: int) -> int:
    return ((value & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000


def _long(value: int) -> int:
    return (value ^ 1 << 63) - (1 << 63)


def _mode(value: int) -> int:
    return value & 0xFFFF


def _same(value: int) -> int:
    return value


def _hex(value: int, memory: Memory) -> str:
    return hex(value)


def _decimal(value: int, memory: Memory) -> str:
    return str(value)


def _text(value: int, memory: Memory) -> str:
    try:
        text = memory.read_cstring(value, _LONGEST_TEXT + 1)
    except GuestFault:
        return hex(value)
    body = printable(text[:_LONGEST_TEXT]).replace('"', '\\"')
    return f'"{body}"' + "..." * (len(text) > _LONGEST_TEXT)


_READERS: Final[dict[str, tuple[Callable[[int], int], Callable[[int, Memory], str]]]] = {
    "Addr": (_same, _hex),
    "Text": (_same, _text),
    "Flags": (_same, _hex),
    "Mode": (_mode, _hex),
    "Size": (_same, _decimal),
    "Int": (_int, _decimal),
    "Long": (_long, _decimal),
}


@dataclass(frozen=True, slots=True)
class SystemCall:
    """One system call: its function, and the types of its parameters and result."""

    name: str
    run: Callable[..., int]
    kinds: tuple[str, ...]
    result: str

    def arguments(self, registers: list[int]) -> list[int]:
        """The values of the parameters, read from a0 to a5."""
        return [_READERS[k][0](value) for k, value in zip(self.kinds, registers, strict=False)]

    def shown(self, arguments: list[int], memory: Memory) -> str:
        """The call with its arguments, as strace writes it."""
        pairs = zip(self.kinds, arguments, strict=True)
        return f"{self.name}({', '.join(_READERS[k][1](value, memory) for k, value in pairs)})"

    def answer(self, result: int | None) -> str:
        """The result as strace writes it; None if the call does not return."""
        if result is None:
            return "?"
        if result in ERROR_NAMES:
            return f"-{ERROR_NAMES[result]}"
        return hex(result) if self.result == "Addr" else str(result)


CALLS: Final[dict[int, SystemCall]] = {}
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
        CALLS[number] = SystemCall(name, run, kinds, signature.return_annotation)
        return run

    return enter
