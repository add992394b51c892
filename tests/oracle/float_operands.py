"""Operands that floating point goes wrong on; patterns as plain ints, always the same ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from tests.oracle.float_exact import FORMATS, Binary

Row = tuple[int, ...]


def _unsigned_corners(fmt: Binary) -> set[int]:
    """Zero, subnormal and normal limits, 1 and its neighbours, powers of two, infinity, NaNs."""
    f, one = fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    quiet = 1 << f - 1
    near_powers = {
        one + (n << f) + ulp
        for n in (-f - 2, -f - 1, -f, -2, -1, 0, 1, 7, 8, 15, 16, f, f + 1, 31, 32, 63, 64)
        for ulp in (-1, 0, 1)
        if 0 < one + (n << f) < fmt.inf
    }
    subnormal = {1, 2, 3, quiet, quiet - 1, (1 << f) - 1, 1 << f, (1 << f) + 1, 2 << f}
    halves = {one + quiet, one + quiet + (1 << f), one + quiet - 1}
    great = {fmt.inf - 1, fmt.inf - 2, fmt.inf - (1 << f), fmt.inf - quiet}
    nans = {fmt.inf | 1, fmt.inf | quiet - 1, fmt.nan, fmt.nan | 1, fmt.sign - 1}
    return {0, fmt.inf} | near_powers | subnormal | halves | great | nans


def corners(name: str) -> list[int]:
    """Some 80 to 130 patterns, half of them negative."""
    fmt = FORMATS[name]
    positive = sorted(_unsigned_corners(fmt))
    return positive + [p | fmt.sign for p in positive]


def few_corners(name: str) -> list[int]:
    """A score of them, for triples and slow oracles."""
    fmt = FORMATS[name]
    one, least = fmt.bias << fmt.fraction_bits, 1 << fmt.fraction_bits
    positive = [0, 1, least - 1, least, one - 1, one, one + 1, fmt.inf - 1, fmt.inf, fmt.nan]
    return [*positive, fmt.inf | 1, *(p | fmt.sign for p in positive)]


def _exponent(fmt: Binary, dice: random.Random) -> int:
    greatest = (1 << fmt.exponent_bits) - 1
    return dice.choice((dice.randint(0, greatest), dice.randint(0, 2), fmt.bias,
                        fmt.bias + dice.randint(-3, 3), greatest - dice.randint(1, 2)))  # fmt: skip


def _pattern(fmt: Binary, dice: random.Random, exponent: int) -> int:
    """A pattern with this exponent, clamped, and a fraction that is often sparse or nearly full."""
    f = fmt.fraction_bits
    sparse = 1 << dice.randrange(f) | dice.getrandbits(1)
    fraction = dice.choice((dice.getrandbits(f), sparse, (1 << f) - sparse & (1 << f) - 1, 0))
    exponent = min(max(exponent, 0), (1 << fmt.exponent_bits) - 2)
    return dice.getrandbits(1) * fmt.sign | exponent << f | fraction


def random_rows(name: str, arity: int, count: int) -> list[Row]:
    """Rows whose exponents are often such that terms overlap, cancel, or just miss each other."""
    fmt, dice = FORMATS[name], random.Random(f"{name}/{arity}")
    rows = []
    for _ in range(count):
        exponents = [_exponent(fmt, dice) for _ in range(arity)]
        reach = dice.randint(-fmt.fraction_bits - 4, fmt.fraction_bits + 4)
        if arity == 2 and dice.random() < 0.6:
            exponents[1] = exponents[0] + dice.choice((reach, dice.randint(-1, 1)))
        if arity == 3 and dice.random() < 0.8:
            product = exponents[0] + exponents[1] - fmt.bias
            exponents[2] = product + dice.choice((reach, dice.randint(-1, 2)))
        row = [_pattern(fmt, dice, e) for e in exponents]
        if dice.random() < 0.15:
            row = [dice.getrandbits(fmt.width) for _ in row]
        rows.append(tuple(row))
    return rows


def halfway_rows(name: str, count: int) -> list[Row]:
    """Products with an addend that leaves them on a tie, or just beside one."""
    fmt, dice = FORMATS[name], random.Random(name)
    f = fmt.fraction_bits
    rows = []
    for _ in range(count):
        a = fmt.bias << f | dice.getrandbits(f)
        b = (fmt.bias + dice.randint(-2, 2)) << f | 1 << dice.randrange(f)
        c = (fmt.bias - dice.choice((f, f + 1, f + 2, 2 * f))) << f | dice.choice((0, 0, 1))
        rows.append((a, b ^ dice.getrandbits(1) * fmt.sign, max(c, 0)))
    return rows


def rows_of(name: str, arity: int, values: Sequence[int], count: int) -> list[Row]:
    """All rows of these values, and `count` random ones."""
    return [*itertools.product(values, repeat=arity), *random_rows(name, arity, count)]


def integers(width: int, count: int) -> list[Row]:
    """Corners and random numbers of `width` bits."""
    dice = random.Random(width)
    ones = (1 << width) - 1
    found = {0, ones}
    for n in range(width):
        found |= {1 << n, (1 << n) - 1, (1 << n) + 1, ones << n, (ones << n) + 1, 3 << n >> 1}
    found |= {dice.getrandbits(width) >> dice.randrange(width) for _ in range(count)}
    return [(n & ones,) for n in sorted(found)]
