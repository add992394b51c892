"""What runtime.c and float.c compute, for the kernels' NumPy references.

The deterministic inputs, the checksum and the errors in units of the last place; and the fused
multiply-add, which NumPy lacks.
"""

from __future__ import annotations

import numpy as np

MASK = (1 << 64) - 1
HASH_INIT = 0xCBF29CE484222325


def fill(n: int, seed: int) -> np.ndarray:
    """The `n` bytes that `rt_fill` writes, as uint8."""
    state = seed ^ 0x9E3779B97F4A7C15
    words = []
    for _ in range(-(-n // 8)):
        state ^= (state << 13) & MASK
        state ^= state >> 7
        state ^= (state << 17) & MASK
        words.append(state)
    return np.array(words, dtype="<u8").view(np.uint8)[:n]


def fnv1a(data: bytes, value: int = HASH_INIT) -> int:
    """FNV-1a with 64 bits, continued from `value`, as `rt_hash` computes it."""
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def fill_f32(n: int, seed: int) -> np.ndarray:
    """The `n` numbers in [-1, 1) that `rt_fill_f32` writes."""
    return (fill(4 * n, seed).view("<i4") >> 8).astype(np.float32) * np.float32(2.0**-23)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c` in float32 with one rounding.

    The product is exact in float64.  Their sum there is rounded to odd, with Knuth's error term, so
    that rounding it again to 24 digits is as good as rounding once (Boldo and Melquiond 2008).
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        product = np.asarray(a, np.float32).astype(np.float64) * np.asarray(b, np.float32)
        addend = np.asarray(c, np.float32).astype(np.float64)
        total = product + addend
        back = total - product
        error = (product - (total - back)) + (addend - back)
        bits = np.atleast_1d(total).view(np.int64)
        to_odd = np.isfinite(error) & (error != 0) & (bits & 1 == 0)
        away = np.where((error > 0) == (total > 0), 1, -1)
        return (bits + np.where(to_odd, away, 0)).view(np.float64).astype(np.float32)


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance of `got`, float16 or float32, from `want`, float64, as `rt_ulps` defines it."""
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(np.where(want == 0, info.smallest_normal, want))
    unit = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = want.astype(got.dtype)
        distance = np.abs(got.astype(np.float64) - want) / unit
    special = ~(np.isfinite(got) & np.isfinite(rounded))
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(special, np.where(same, 0.0, np.inf), distance)
