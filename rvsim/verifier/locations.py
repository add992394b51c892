"""Where the bytes of one value are during a call: in registers, on the stack, or by an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from rvsim.hart.words import WORD_MASK

SP: Final = 2
WORD_BYTES: Final = 8
STACK_ALIGNMENT: Final = 16

Reader = Callable[[int, int], bytes]
"""Gives the bytes at an address of guest memory, so many."""


class Registers(Protocol):
    """The x, f and v registers of a hart, as `rvsim.hart.state.State` has them.

    `x` and `f` give numbers by register; `v` rows of bytes.
    """

    @property
    def x(self) -> Sequence[int] | Mapping[int, int]: ...
    @property
    def f(self) -> Sequence[int] | Mapping[int, int]: ...
    @property
    def v(self) -> Any: ...


@dataclass(slots=True)
class Placement:
    """What has to be in registers and memory at the first instruction of a function.

    `x` has the stack pointer too.  Registers of `v` have at least these bytes.  `memory` is what
    goes to which address; `result_address` is where the function leaves a result that no registers
    hold.
    """

    x: dict[int, int]
    f: dict[int, int] = field(default_factory=dict)
    v: dict[int, bytes] = field(default_factory=dict)
    memory: list[tuple[int, bytes]] = field(default_factory=list)
    result_address: int | None = None


@dataclass(frozen=True, slots=True)
class ValuePiece:
    """`size` bytes of a value from `start` on, in register `number`, or so far up the stack.

    In an x register a number is `signed` or is not.
    """

    kind: Literal["x", "f", "v", "stack"]
    number: int
    start: int
    size: int
    signed: bool = False


class VectorFields(NamedTuple):
    """Of a vector or tuple: how many fields, and bytes of each, without and with unused ones."""

    number: int
    used: int
    held: int


@dataclass(frozen=True, slots=True)
class Location:
    """Where a value of `size` bytes is.

    With an `alignment` the value is in memory that the caller provides, and the one piece is its
    address.  A vector value has its fields one after another, each of so many elements as fit, or
    fewer.
    """

    size: int
    pieces: tuple[ValuePiece, ...] = ()
    alignment: int | None = None
    vector: VectorFields | None = None

    @property
    def held_bytes(self) -> int:
        """Bytes that the value takes up where it is: each field of vectors has whole registers."""
        return self.vector.number * self.vector.held if self.vector else self.size

    def spread(self, value: bytes) -> bytes:
        """The value as it is in its pieces or in memory."""
        if self.vector is None or self.vector.number == 1:
            return value
        each = len(value) // self.vector.number
        starts = range(0, len(value), each or 1)
        return b"".join(value[i : i + each].ljust(self.vector.held, b"\0") for i in starts)

    def gather(self, content: bytes) -> bytes:
        """The value of what is in its pieces or in memory."""
        if self.vector is None:
            return content
        number, used, held = self.vector
        return b"".join(content[n * held : n * held + used] for n in range(number))

    def put(self, value: bytes, placement: Placement) -> None:
        """Put a value that is spread, or its address if it is in memory, where it belongs."""
        for piece in self.pieces:
            part = value[piece.start : piece.start + piece.size]
            number = piece.number
            match piece.kind:
                case "x":
                    word = int.from_bytes(part, "little", signed=piece.signed)
                    placement.x[number] = word & WORD_MASK
                case "f":
                    placement.f[number] = int.from_bytes(part.ljust(WORD_BYTES, b"\xff"), "little")
                case "v":
                    placement.v[number] = part
                case "stack":
                    word = int.from_bytes(part, "little", signed=piece.signed) & WORD_MASK
                    content = word.to_bytes(WORD_BYTES, "little")
                    placement.memory.append((placement.x[SP] + number, content))

    def get(self, registers: Registers, read: Reader) -> bytes:
        """The value; its address if it is in memory."""
        value = bytearray(WORD_BYTES if self.alignment else self.held_bytes)
        for piece in self.pieces:
            value[piece.start : piece.start + piece.size] = _part(piece, registers, read)
        return bytes(value) if self.alignment else self.gather(bytes(value))


def _part(piece: ValuePiece, registers: Registers, read: Reader) -> bytes:
    match piece.kind:
        case "x":
            word = int(registers.x[piece.number])
        case "f":
            word = int(registers.f[piece.number])
        case "v":
            return bytes(registers.v[piece.number][: piece.size])
        case "stack":
            return read(int(registers.x[SP]) + piece.number, piece.size)
    return word.to_bytes(WORD_BYTES, "little")[: piece.size]
