"""Which results may be tiny before rounding but not after, by the operands alone.

RISC-V decides UF after rounding (F 11.2).  AArch64 decides it before, so that a result which is
rounded up to the least normal number raises UF there alone.  A guard is the lanes for which that
can't happen; it refuses a few others, small enough to be rare, since it must be cheap.

Sums and roots that are tiny are exact.  A quotient of two significands of p bits is never so near
to 1, but for 1 itself, that it is rounded there: 1 - 1 / (2**p - 1) is the nearest below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rvsim.fp import Format
from rvsim.ir.llvm import build

Guard = Callable[[Any, Sequence[Any]], Any]
"""``guard(b, operands)`` gives a mask, of the patterns of the operands."""


def product_guard(fmt: Format) -> Guard:
    """A product is normal, or zero."""
    return _by_exponents(fmt, fmt.bias + 1)


def fma_guard(fmt: Format) -> Guard:
    """A product is a multiple of the least subnormal number: what is tiny of the sum is exact."""
    return _by_exponents(fmt, fmt.bias + fmt.precision)


def narrowing_guard(source: Format, target: Format) -> Guard:
    """A number isn't in the last step of `target` below its least normal number."""
    least_normal = (1 - target.bias + source.bias) << source.fraction_bits
    step = 1 << source.fraction_bits - target.fraction_bits

    def guard(b: Any, args: Sequence[Any]) -> Any:
        above = _plus(b, _magnitude(b, args[0], source), step - least_normal)
        return b.icmp_unsigned(">=", above, build.filled(above.type, step))

    return guard


def _by_exponents(fmt: Format, least: int) -> Guard:
    """The exponent fields of two normal factors have at least this sum; or a factor is zero."""

    def guard(b: Any, args: Sequence[Any]) -> Any:
        factors = [_magnitude(b, a, fmt) for a in args[:2]]
        i, j = (_exponent(b, m, fmt) for m in factors)
        large = b.icmp_unsigned(">=", b.add(i, j), build.filled(i.type, least))
        one = build.filled(i.type, 1)
        normal = b.and_(b.icmp_unsigned(">=", i, one), b.icmp_unsigned(">=", j, one))
        zero = b.or_(*(_is_zero(b, m) for m in factors))
        return b.or_(b.and_(large, normal), zero)

    return guard


def _magnitude(b: Any, pattern: Any, fmt: Format) -> Any:
    return b.and_(pattern, build.filled(pattern.type, fmt.sign - 1))


def _exponent(b: Any, magnitude: Any, fmt: Format) -> Any:
    """The field of the exponent."""
    return b.lshr(magnitude, build.filled(magnitude.type, fmt.fraction_bits))


def _plus(b: Any, lanes: Any, number: int) -> Any:
    ones = (1 << build.element_type(lanes).width) - 1
    return b.add(lanes, build.filled(lanes.type, number & ones))


def _is_zero(b: Any, magnitude: Any) -> Any:
    return b.icmp_unsigned("==", magnitude, build.filled(magnitude.type, 0))
