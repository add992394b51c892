"""NumPy reference of exp_silu_f32: the checksum and the errors that main.c must print.

Run it to see them, or import `checksum` and `largest_errors`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill_f32, fnv1a, fma, ulps = (RUNTIME[name] for name in ("fill_f32", "fnv1a", "fma", "ulps"))

SIZES = (0, 1, 7, 16, 33, 90)
NARROW = 40
SPECIALS = [
    *(0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345),
    *(0x7F800001, 0xFF812345, 0x00000001, 0x80000001, 0x00800000, 0x807FFFFF),
    *(0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000, 0x3EB17218, 0xBEB17218),
    *(0x42B17217, 0x42B17218, 0xC2AEAC4F, 0xC2AEAC50, 0xC2CFF1B4, 0xC2CFF1B5),
    *(0xC2CE8ECF, 0xC2D80000, 0x33000000, 0xB3000000),
]


def hexadecimal(text: str) -> np.float32:
    return np.float32(float.fromhex(text))


LOG2_E = hexadecimal("0x1.715476p+0")
LN2_HIGH, LN2_LOW = hexadecimal("0x1.62e43p-1"), hexadecimal("-0x1.05c61p-29")
C2, C3, C4 = map(hexadecimal, ("0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558f2p-5"))
C5, C6 = hexadecimal("0x1.1239e4p-7"), hexadecimal("0x1.6a2434p-10")
LOWEST, HIGHEST = np.float32(-110), np.float32(89)
ONE = np.float32(1)


def inputs() -> np.ndarray:
    """Specials, then numbers in [-4, 4), then in [-105, 105)."""
    x = fill_f32(max(SIZES), 1)
    x *= np.where(np.arange(x.size) < NARROW + len(SPECIALS), np.float32(4), np.float32(105))
    x[: len(SPECIALS)] = np.array(SPECIALS, "<u4").view("<f4")
    return x


def scaled_exp(x: np.ndarray, factor: np.ndarray | np.float32) -> np.ndarray:
    """`factor` e^x with the roundings of silu.c."""
    n = np.rint(x * LOG2_E).astype(np.int32)
    multiple = n.astype(np.float32)
    r = fma(-LN2_LOW, multiple, fma(-LN2_HIGH, multiple, x))
    total = fma(C6, r, C5)
    for coefficient in (C4, C3, C2):
        total = fma(total, r, coefficient)
    total = fma(total, r * r, r) + ONE
    half = n >> 1
    return np.ldexp(np.ldexp(total * factor, half), n - half)


def exp(x: np.ndarray) -> np.ndarray:
    return scaled_exp(np.clip(x, LOWEST, HIGHEST), ONE)


def sigmoid(x: np.ndarray) -> np.ndarray:
    z = scaled_exp(np.maximum(-np.abs(x), LOWEST), ONE)
    return np.where(x >= 0, ONE, z) / (ONE + z)


def silu(x: np.ndarray) -> np.ndarray:
    below = np.maximum(-np.abs(x), LOWEST)
    return np.where(x >= 0, x, scaled_exp(below, below)) / (ONE + scaled_exp(below, ONE))


def exact_silu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, -0.0, x / (1 + np.exp(-x)))


FUNCTIONS = {
    "exp": (exp, np.exp),
    "sigmoid": (sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "silu": (silu, exact_silu),
}


def result(name: str, x: np.ndarray) -> np.ndarray:
    """What the vector code gives for `x`."""
    function, _ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        nan = np.isnan(x)
        return np.where(nan, np.float32(np.nan), function(np.where(nan, np.float32(0), x)))


def errors(name: str, x: np.ndarray) -> np.ndarray:
    """The errors of the vector code against the C library, in units of the last place."""
    _, exact = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        return ulps(result(name, x), exact(x.astype(np.float64)))


def largest_errors() -> dict[str, float]:
    """For each function, the largest error over the inputs."""
    x = inputs()
    return {name: float(errors(name, x).max()) for name in FUNCTIONS}


def checksum() -> int:
    """The number on the last line of `exp_silu_f32.elf`."""
    x = inputs()
    return fnv1a(
        b"".join(
            result(name, x)[:size].astype("<f4").tobytes() for name in FUNCTIONS for size in SIZES
        )
    )


if __name__ == "__main__":
    print(f"{checksum():#018x}")
    for name, error in largest_errors().items():
        print(f"{name}: {error:.4f} ulp")
