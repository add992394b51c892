"""The constants that `fli` loads (Zfa 1)."""

from __future__ import annotations

from typing import Final

from rvsim.fp import Format

# Zfa 1  The constants of fli: by index; 1 is the least normal number of the format.
CONSTANTS: Final = (
    -1.0, None, 2.0**-16, 2.0**-15, 2.0**-8, 2.0**-7, 0.0625, 0.125, 0.25, 0.3125, 0.375, 0.4375,
    0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 8.0, 16.0, 128.0, 256.0,
    2.0**15, 2.0**16, float("inf"), float("nan"),
)  # fmt: skip


def pattern(value: float | None, fmt: Format) -> int:
    """The bits of a constant in a format that may hold it as a subnormal number or not at all."""
    if value is None:
        return fmt.implicit  # least positive normal
    if value != value:
        return fmt.nan
    sign = fmt.sign if value < 0 else 0
    magnitude = abs(value)
    if magnitude == float("inf"):
        return fmt.infinity
    mantissa, exponent = _split(magnitude)
    biased = exponent + fmt.bias
    if biased <= 0:  # subnormal: 2^-16 and 2^-15 as halves
        return sign | int(magnitude * 2.0 ** (fmt.bias - 1 + fmt.fraction_bits))
    if biased >= (1 << fmt.exponent_bits) - 1:  # 2^16 as a half
        return sign | fmt.infinity
    return sign | biased << fmt.fraction_bits | int((mantissa - 1) * fmt.implicit)


def _split(magnitude: float) -> tuple[float, int]:
    """1 <= mantissa < 2 and the exponent."""
    exponent = 0
    while magnitude >= 2:
        magnitude, exponent = magnitude / 2, exponent + 1
    while magnitude < 1:
        magnitude, exponent = magnitude * 2, exponent - 1
    return magnitude, exponent
