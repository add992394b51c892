"""Binary interchange formats: widths, masks and the bit patterns of special values (F 11.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim.ir.float_operation import FormatName


@dataclass(frozen=True, slots=True)
class Format:
    """A format of 1 + `exponent_bits` + `fraction_bits` bits; its patterns are plain ints.

    >>> F32.width, F32.bias, hex(F32.nan), hex(F32.infinity), hex(F32.one)
    (32, 127, '0x7fc00000', '0x7f800000', '0x3f800000')
    >>> [f.work for f in (F16, BF16, F32, F64)]
    [32, 32, 64, 64]
    """

    name: FormatName
    exponent_bits: int
    fraction_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def precision(self) -> int:
        """Bits of a normal significand, the implicit one included."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def largest(self) -> int:
        """The greatest finite magnitude."""
        return self.infinity - 1

    @property
    def implicit(self) -> int:
        """The bit that a normal significand has above its fraction; also the least normal."""
        return 1 << self.fraction_bits

    @property
    def quiet(self) -> int:
        """The bit that tells a quiet NaN from a signaling one."""
        return 1 << (self.fraction_bits - 1)

    @property
    def nan(self) -> int:
        """The canonical NaN: positive, quiet, without payload (F 11.3)."""
        return self.infinity | self.quiet

    @property
    def one(self) -> int:
        return self.bias << self.fraction_bits

    @property
    def work(self) -> int:
        """Width of the lanes that arithmetic runs in.

        It holds a whole product of two significands, except for F64, which takes two of them.
        """
        return 32 if self.width == 16 else 64

    @property
    def top(self) -> int:
        """Position of the leading bit of a normalised significand: two bits stay free above."""
        return self.work - 3


F16: Final = Format("f16", 5, 10)
BF16: Final = Format("bf16", 8, 7)
F32: Final = Format("f32", 8, 23)
F64: Final = Format("f64", 11, 52)
