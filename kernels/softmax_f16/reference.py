"""NumPy reference of softmax_f16: the checksum and the error that main.c must print.

Run it to see them, or import `checksum` and `largest_error`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill_f32, fnv1a, fma, ulps = (RUNTIME[name] for name in ("fill_f32", "fnv1a", "fma", "ulps"))

SIZES = (0, 1, 7, 16, 33, 100)
ZERO, INFINITY, MINUS_INFINITY, NAN = 0x0000, 0x7C00, 0xFC00, 0x7E00
SIGNALING_NAN, HIGHEST, LOWEST = 0xFD01, 0x7BFF, 0xFBFF
SPECIALS = (  # all numbers of a softmax but the second, and the second
    (ZERO, ZERO),
    (ZERO, MINUS_INFINITY),
    (ZERO, HIGHEST),
    (LOWEST, HIGHEST),
    (HIGHEST, HIGHEST),
    (MINUS_INFINITY, ZERO),
    (MINUS_INFINITY, MINUS_INFINITY),
    (ZERO, INFINITY),
    (ZERO, NAN),
    (NAN, ZERO),
    (ZERO, SIGNALING_NAN),
)


def hexadecimal(text: str) -> np.float32:
    return np.float32(float.fromhex(text))


LOG2_E, LN2 = hexadecimal("0x1.715476p+0"), hexadecimal("0x1.62e43p-1")
C2, C3, C4 = map(hexadecimal, ("0x1.0006b6p-1", "0x1.571cc2p-3", "0x1.52259p-5"))
ONE = np.float32(1)


def inputs() -> np.ndarray:
    """The numbers of the first checks, float16."""
    x = fill_f32(max(SIZES), 1)
    return (x * np.where(np.arange(x.size) % 4 == 0, np.float32(16), np.float32(4))).astype("<f2")


def special(bits: int, second: int) -> np.ndarray:
    """The numbers of `check_special` in main.c."""
    x = np.full(9, bits, "<u2")
    x[1] = second
    return x.view("<f2")


def exponential(x: np.ndarray) -> np.ndarray:
    """e^x in float32 with the roundings of softmax.c, for finite `x` <= 0."""
    x = np.maximum(x, np.float32(-20))
    n = np.rint(x * LOG2_E).astype(np.int32)
    r = fma(-LN2, n.astype(np.float32), x)
    total = fma(C4, r, C3)
    for coefficient in (C2, ONE, ONE):
        total = fma(total, r, coefficient)
    return np.ldexp(total, n)


def softmax(x: np.ndarray) -> np.ndarray:
    """What the vector code gives for `x`, float16 in and out."""
    if x.size == 0:
        return x
    wide = x.astype(np.float32)
    largest = np.fmax.reduce(wide)
    if np.isnan(wide).any() or np.isinf(largest):
        return np.full(x.size, np.nan, "<f2")
    exponentials = exponential(wide - largest).astype("<f2")
    total = np.float32(0)
    for number in exponentials.astype(np.float32):  # np.sum would add in pairs
        total = total + number
    return (exponentials.astype(np.float32) * (ONE / total)).astype("<f2")


def largest_error() -> float:
    """The largest error over the inputs, in units of the last place."""
    x = inputs()
    exact = np.exp(x.astype(np.float64) - float(x.max()))
    return float(ulps(softmax(x), exact / exact.sum()).max())


def checksum() -> int:
    """The number on the last line of `softmax_f16.elf`."""
    x = inputs()
    results = [softmax(x[:size]) for size in SIZES]
    results += [softmax(special(*pair)) for pair in SPECIALS]
    return fnv1a(b"".join(result.tobytes() for result in results))


if __name__ == "__main__":
    print(f"{checksum():#018x}")
    print(f"{largest_error():.4f} ulp")
