"""Operands and results: patterns of a format outside, work lanes inside."""

from __future__ import annotations

from rvsim import ir
from rvsim.fp.formats import Format
from rvsim.ir import Value


def widened(fmt: Format, pattern: Value, width: int | None = None) -> Value:
    """`pattern` in work lanes, or in lanes of `width` bits."""
    return ir.zext(pattern, width or fmt.work)


def magnitude(fmt: Format, pattern: Value, width: int | None = None) -> Value:
    """`pattern` without its sign, in work lanes or in lanes of `width` bits."""
    return widened(fmt, pattern, width) & (fmt.sign - 1)


def sign(fmt: Format, pattern: Value, width: int | None = None) -> Value:
    """The sign bit of `pattern`, where it stands, in work lanes or in lanes of `width` bits."""
    return widened(fmt, pattern, width) & fmt.sign


def is_negative(fmt: Format, pattern: Value) -> Value:
    """Whether the sign bit is set."""
    return (pattern & fmt.sign) != 0


def result(fmt: Format, pattern: Value, invalid: Value | None = None) -> Value:
    """`pattern` cut to the format, or the canonical NaN where it is `invalid`."""
    if invalid is not None:
        pattern = ir.where(invalid, fmt.nan, pattern)
    return ir.trunc(pattern, fmt.width)
