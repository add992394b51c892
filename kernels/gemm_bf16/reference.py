"""NumPy reference of gemm_bf16: the checksum that main.c must print.

Run it to see the value, or import `checksum`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
runtime_fill, fnv1a, fma = RUNTIME["fill"], RUNTIME["fnv1a"], RUNTIME["fma"]

MAX_TOKENS = 6
SPECIALS = (  # the two weights of each channel
    (0x3F80, 0x3B80),
    (0x3F81, 0x3B80),
    (0x3F80, 0x3B81),
    (0x3F81, 0x3B7F),
    (0xBF81, 0xBB80),
    (0x3FFF, 0x3B80),
    (0x7F7F, 0x7B00),
    (0x7F7F, 0x7AFF),
    (0xFF7F, 0xFF7F),
    (0x7F80, 0x3F80),
    (0x7F80, 0xFF80),
    (0x7FC1, 0x3F80),
    (0xFF81, 0x3F80),
    (0x0001, 0x0001),
    (0x0080, 0x8001),
    (0x8000, 0x8000),
    (0x3F80, 0xBF80),
)


def fill(n: int, seed: int) -> np.ndarray:
    """The `n` bf16 numbers of `fill` in main.c, as uint16."""
    return runtime_fill(2 * n, seed).view("<u2") & 0x87FF | 0x3C00


def widen(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32)


def narrow(x: np.ndarray) -> np.ndarray:
    """float32 to bf16, to nearest even, with one NaN."""
    bits = x.view(np.uint32)
    with np.errstate(over="ignore"):
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype("<u2")


def product(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`a` [tokens][k] times `w` [channels][k], bf16 in and out, summed in float32 in order of k."""
    total = np.zeros((len(a), len(w)), np.float32)
    for a_column, w_column in zip(widen(a).T, widen(w).T, strict=True):
        total = fma(a_column[:, None], w_column[None, :], total)
    return narrow(total)


def random_case(tokens: int, channels: int, k: int) -> np.ndarray:
    """The product of the same inputs as `check_random` of main.c."""
    a = fill(tokens * k, 2 * k).reshape(tokens, k)
    w = fill(channels * k, 2 * k + 1).reshape(channels, k)
    return product(a, w)


def outputs() -> list[np.ndarray]:
    """All products of main.c, in its order."""
    results = [
        random_case(tokens, 32 if tokens % 2 == 0 else 35, 3) for tokens in range(1, MAX_TOKENS + 1)
    ]
    results.append(random_case(1, 40, 17))
    results.append(product(np.full((1, 2), 0x3F80, "<u2"), np.array(SPECIALS, "<u2")))
    return results


def checksum() -> int:
    """The number on the last line of `gemm_bf16.elf`."""
    return fnv1a(b"".join(c.tobytes() for c in outputs()))


if __name__ == "__main__":
    print(f"{checksum():#018x}")
