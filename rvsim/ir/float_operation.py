"""What a floating-point operation is, as a value: definitions give it, and back ends know it.

`rvsim.fp` makes each of its operations a `call` of this name; tables of what hosts compute have
these as keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

Verb = Literal["add", "mul", "fma", "div", "sqrt", "convert", "to_int", "from_int"]
FormatName = Literal["f16", "bf16", "f32", "f64"]


class RoundingMode(IntEnum):
    """Rounding modes by their number in frm (F 2.2).

    `ODD` is that of `vfncvt.rod.f.f.w` (V 13.19), which no `rm` field has.
    """

    RNE = 0
    RTZ = 1
    RDN = 2
    RUP = 3
    RMM = 4
    ODD = 6

    def __repr__(self) -> str:
        """The Python for it, which generated code has."""
        return f"RoundingMode.{self.name}"


@dataclass(frozen=True, slots=True)
class FloatOperation:
    """An operation on patterns of `formats`; a conversion has that of the source first.

    `mode` is None where the mode is an operand.  `width` is that of the integer which `to_int`
    gives, `signed` whether an integer is.

    >>> str(FloatOperation("convert", ("f64", "f16"), RoundingMode.RTZ))
    'f64.f16.convert[rtz]'
    >>> str(FloatOperation("to_int", ("f32",), width=32, signed=True))
    'f32.to_int[32, signed=True]'
    """

    verb: Verb
    formats: tuple[FormatName, ...]
    mode: RoundingMode | None = None
    width: int | None = None
    signed: bool | None = None

    def __str__(self) -> str:
        choices = [
            *([] if self.width is None else [str(self.width)]),
            *([] if self.mode is None else [self.mode.name.lower()]),
            *([] if self.signed is None else [f"signed={self.signed}"]),
        ]
        name = ".".join([*self.formats, self.verb])
        return f"{name}[{', '.join(choices)}]" if choices else name

    def without_mode(self, mode: RoundingMode) -> FloatOperation:
        """The same, in the mode of its surroundings where it names this one."""
        return replace(self, mode=None) if self.mode is mode else self
