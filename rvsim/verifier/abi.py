"""The calling convention lp64d of the RISC-V ELF psABI: where arguments and results are in a call.

`plan_of` decides for a function once; its `Plan` then only moves bytes.  Nothing here knows Python
values or a machine: a value is the bytes that it has in memory.  Not told by debug information, and
so not known: bit fields without a name, and which classes of C++ are passed by reference always.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rvsim.guest.c_types import (
    Enumeration,
    Function,
    Integer,
    Type,
    Vector,
    alignment_of,
)
from rvsim.hart.words import WORD_MASK
from rvsim.verifier.flattening import Leaf, float_parts
from rvsim.verifier.locations import (
    SP,
    STACK_ALIGNMENT,
    WORD_BYTES,
    Location,
    Placement,
    Reader,
    Registers,
    ValuePiece,
    VectorFields,
)

_A0: Final = 10
_ADDRESS: Final = Integer("address", 8, False)
_FA0: Final = 10
_ARGUMENT_REGISTERS: Final = 8
_V8: Final = 8
_V24: Final = 24


class Plan:
    """Where the arguments and the result of a function are, on a hart with one VLEN."""

    def __init__(self, function: Function, variadic: Sequence[Type], vlen: int) -> None:
        self.result = _Assignment(vlen).add(function.result)
        first = _Assignment(vlen)
        self._hidden = first.add(_ADDRESS) if self.result.alignment else None
        named = [first.add(p.type) for p in function.parameters]
        self.arguments = (*named, *(first.add(type, is_named=False) for type in variadic))
        self._stack_bytes = first.stack_bytes
        self._sizes = [place.size for place in self.arguments]
        whole = [(k, _whole_register(place)) for k, place in enumerate(self.arguments)]
        self._words = [(k, piece.number, piece.signed) for k, piece in whole if piece]
        self._others = [(k, self.arguments[k]) for k, piece in whole if not piece]

    def place(self, values: Sequence[bytes], top: int) -> Placement:
        """What has to be where for a call with these values, one for each parameter.

        The call's stack grows from address `top` down: copies of what is passed by reference and
        room for the result come first, and then the arguments that no registers are left for.
        `top` is a multiple of 16.

        Raises ValueError if the values are not as many and as long as the types are.
        """
        self._check(values, top)
        placement = Placement({SP: top})
        for k, number, signed in self._words:
            placement.x[number] = int.from_bytes(values[k], "little", signed=signed) & WORD_MASK
        if self._others or self._hidden:
            self._place_others(values, placement)
        return placement

    def _check(self, values: Sequence[bytes], top: int) -> None:
        if top % STACK_ALIGNMENT:
            raise ValueError(f"top is {top:#x}, not a multiple of {STACK_ALIGNMENT}")
        sizes = list(map(len, values))
        if sizes != self._sizes and not self._fit(sizes):
            raise ValueError(f"values have {sizes} bytes, the types {self._sizes}")

    def _fit(self, sizes: list[int]) -> bool:
        """Whether sizes are those of the types; vectors may be shorter than their registers."""
        return len(sizes) == len(self._sizes) and all(
            size == place.size or (size < place.size and place.vector)
            for size, place in zip(sizes, self.arguments, strict=True)
        )

    def _place_others(self, values: Sequence[bytes], placement: Placement) -> None:
        room, sent = placement.x[SP], dict[int, bytes]()
        if self._hidden:
            assert self.result.alignment
            room = room - self.result.held_bytes & -self.result.alignment
            placement.result_address = room
        for k, location in self._others:
            sent[k] = location.spread(values[k])
            if location.alignment:
                room = room - location.held_bytes & -location.alignment
                placement.memory.append((room, sent[k]))
                sent[k] = room.to_bytes(WORD_BYTES, "little")
        placement.x[SP] = room - self._stack_bytes & -STACK_ALIGNMENT
        if self._hidden and placement.result_address is not None:
            self._hidden.put(placement.result_address.to_bytes(WORD_BYTES, "little"), placement)
        for k, location in self._others:
            location.put(sent[k], placement)

    def returned(self, registers: Registers, read: Reader, address: int | None = None) -> bytes:
        """The result when the function has returned; `address` is the placement's of the result."""
        if self.result.alignment is None:
            return self.result.get(registers, read)
        if address is None:
            raise ValueError("the result is in memory: say at which address")
        return read(address, self.result.size)

    def taken(self, registers: Registers, read: Reader) -> list[bytes]:
        """The arguments, as the called function finds them at its first instruction."""
        found = []
        for location in self.arguments:
            value = location.get(registers, read)
            if location.alignment:
                address = int.from_bytes(value, "little")
                value = location.gather(read(address, location.held_bytes))
            found.append(value)
        return found

    def give(self, value: bytes, registers: Registers) -> Placement:
        """What a function with this result puts where; `registers` are those at its start."""
        placement = Placement({})
        if self._hidden:
            placement.memory.append((int(registers.x[_A0]), value))
        else:
            self.result.put(self.result.spread(value), placement)
        return placement


class _Assignment:
    """Gives registers and places on the stack to one value after another."""

    def __init__(self, vlen: int) -> None:
        self._vlen = vlen
        self._x = self._f = 0
        self._free_vectors = set(range(_V8, _V24))
        self._has_mask = False
        self.stack_bytes = 0

    def add(self, type: Type, *, is_named: bool = True) -> Location:
        """Where the next argument goes; a result goes where it would as the first one."""
        if isinstance(type, Vector):
            return self._vector(type, is_named)
        if not type.size:  # psABI, "Integer Calling Convention": C ignores empty structures
            return Location(0)
        parts = float_parts(type) if is_named else ()
        floats = sum(part.is_float for part in parts)
        if (
            parts
            and self._f + floats <= _ARGUMENT_REGISTERS
            and self._x + len(parts) - floats <= _ARGUMENT_REGISTERS
        ):
            return Location(type.size, tuple(self._part(part) for part in parts))
        return self._integer(type, is_named)

    def _part(self, part: Leaf) -> ValuePiece:
        if part.is_float:
            self._f += 1
            return ValuePiece("f", _FA0 + self._f - 1, part.offset, part.size)
        self._x += 1
        return ValuePiece("x", _A0 + self._x - 1, part.offset, part.size)

    def _integer(self, type: Type, is_named: bool) -> Location:
        """Where its bytes go by the integer convention (psABI, "Integer Calling Convention")."""
        alignment = alignment_of(type)
        if type.size > 2 * WORD_BYTES:
            return Location(type.size, (self._word(0, WORD_BYTES),), alignment)
        if alignment >= 2 * WORD_BYTES:
            if not is_named:
                self._x += self._x % 2
            if self._x >= _ARGUMENT_REGISTERS:
                self.stack_bytes += -self.stack_bytes % STACK_ALIGNMENT
        signed = _extends_sign(type)
        starts = range(0, type.size, WORD_BYTES)
        sizes = [min(WORD_BYTES, type.size - start) for start in starts]
        pieces = [self._word(*each, signed) for each in zip(starts, sizes, strict=True)]
        return Location(type.size, tuple(pieces))

    def _word(self, start: int, size: int, signed: bool = False) -> ValuePiece:
        if self._x < _ARGUMENT_REGISTERS:
            self._x += 1
            return ValuePiece("x", _A0 + self._x - 1, start, size, signed)
        self.stack_bytes += WORD_BYTES
        return ValuePiece("stack", self.stack_bytes - WORD_BYTES, start, size, signed)

    def _vector(self, type: Vector, is_named: bool) -> Location:
        """psABI, "Standard Vector Calling Convention Variant"; variadic ones go by reference."""
        bits = self._vlen << type.lmul_log2 if type.lmul_log2 > 0 else self._vlen >> -type.lmul_log2
        each, register = max(bits // 8, 1), self._vlen // 8
        fields = VectorFields(type.fields, each, max(each, register))
        size = each * type.fields
        first = self._vector_registers(type) if is_named else None
        if first is None:
            address = (self._word(0, WORD_BYTES),)
            return Location(size, address, STACK_ALIGNMENT, fields)
        starts = range(0, fields.number * fields.held, register)
        pieces = [ValuePiece("v", first + n, start, register) for n, start in enumerate(starts)]
        return Location(size, tuple(pieces), vector=fields)

    def _vector_registers(self, type: Vector) -> int | None:
        """The first register of its groups; None if none are left for them."""
        if type.sew == 1 and not self._has_mask:
            self._has_mask = True
            return 0
        lmul = 1 << max(type.lmul_log2, 0)
        for first in range(_V8, _V24, lmul):
            wanted = set(range(first, first + lmul * type.fields))
            if wanted <= self._free_vectors:
                self._free_vectors -= wanted
                return first
        return None


def _extends_sign(type: Type) -> bool:
    """Whether a number fills a register with its sign: also an unsigned one of 32 bits."""
    return isinstance(type, Integer | Enumeration) and (type.signed or type.size == 4)


def _whole_register(location: Location) -> ValuePiece | None:
    """The piece of a value that is in one x register and nowhere else."""
    if len(location.pieces) == 1 and not location.alignment and location.pieces[0].kind == "x":
        return location.pieces[0]
    return None


@lru_cache(maxsize=256)
def plan_of(function: Function, variadic: tuple[Type, ...] = (), *, vlen: int = 128) -> Plan:
    """Where the values of a call are; `variadic` are the types after the parameters.

    `vlen`, in bits, matters to functions with vectors only.

    >>> from rvsim.guest.c_types import DOUBLE, INT, Parameter
    >>> plan = plan_of(Function(DOUBLE, (Parameter("n", INT), Parameter("x", DOUBLE))))
    >>> values = [bytes.fromhex("02000000"), bytes.fromhex("0000000000000040")]
    >>> placement = plan.place(values, top=0x10000)
    >>> placement.x, {n: hex(value) for n, value in placement.f.items()}
    ({2: 65536, 10: 2}, {10: '0x4000000000000000'})
    """
    return Plan(function, variadic, vlen)
