"""NumPy reference of gemm_tile_f32: the checksum that main.c must print.

Run it to see the value, or import `checksum`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill_f32, fnv1a, fma = RUNTIME["fill_f32"], RUNTIME["fnv1a"], RUNTIME["fma"]

MAX_TOKENS = 7
CASES = (  # tokens, channels, k, scale
    *((tokens, 32 if tokens % 2 == 0 else 35, 2, 1.0) for tokens in range(1, MAX_TOKENS + 1)),
    (MAX_TOKENS, 32, 64, 1.0),
    (1, 32, 0, 1.0),
    (2, 32, 4, 2.0**-71),
    (2, 32, 4, 1.5 * 2.0**64),
)


def product(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`a` [tokens][k] times `w` [channels][k], one fused multiply-add after the other."""
    total = np.zeros((len(a), len(w)), np.float32)
    for a_column, w_column in zip(a.T, w.T, strict=True):
        total = fma(a_column[:, None], w_column[None, :], total)
    return np.where(np.isnan(total), np.float32(np.nan), total)  # RISC-V has one NaN


def random_case(tokens: int, channels: int, k: int, scale: float) -> np.ndarray:
    """The product of the same inputs as `check_random` of main.c."""
    a = fill_f32(tokens * k, 2 * k) * np.float32(scale)
    w = fill_f32(channels * k, 2 * k + 1) * np.float32(scale)
    return product(a.reshape(tokens, k), w.reshape(channels, k))


def checksum() -> int:
    """The number on the last line of `gemm_tile_f32.elf`."""
    return fnv1a(b"".join(random_case(*case).astype("<f4").tobytes() for case in CASES))


if __name__ == "__main__":
    print(f"{checksum():#018x}")
