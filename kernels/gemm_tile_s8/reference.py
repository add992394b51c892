"""NumPy reference of gemm_tile_s8: the checksum that main.c must print.

Run it to see the value, or import `checksum`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill, fnv1a = RUNTIME["fill"], RUNTIME["fnv1a"]

SHAPES = ((16, 1), (16, 11), (19, 5))  # channels, k
MAX_TOKENS, MAX_K = 8, 256


def product(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`a` [tokens][k] times `w` [channels][k], int8 in, int32 out."""
    return a.astype(np.int32) @ w.astype(np.int32).T


def random_case(tokens: int, channels: int, k: int) -> np.ndarray:
    """The product of the same inputs as `check_random` of main.c."""
    a = fill(tokens * k, 2 * k).view(np.int8).reshape(tokens, k)
    w = fill(channels * k, 2 * k + 1).view(np.int8).reshape(channels, k)
    return product(a, w)


def outputs() -> list[np.ndarray]:
    """All products of main.c, in its order."""
    results = [
        random_case(tokens, channels, k)
        for tokens in range(1, MAX_TOKENS + 1)
        for channels, k in SHAPES
    ]
    results += [random_case(3, 40, 17), random_case(MAX_TOKENS, 16, MAX_K)]
    lowest = np.int8(-128)
    results.append(product(np.full((1, 48), lowest), np.full((16, 48), lowest)))
    return results


def checksum() -> int:
    """The number on the last line of `gemm_tile_s8.elf`."""
    return fnv1a(b"".join(c.astype("<i4").tobytes() for c in outputs()))


if __name__ == "__main__":
    print(f"{checksum():#018x}")
