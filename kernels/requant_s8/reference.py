"""NumPy reference of requant_s8: the checksum that main.c must print.

Run it to see the value, or import `checksum`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill, fill_f32, fnv1a = RUNTIME["fill"], RUNTIME["fill_f32"], RUNTIME["fnv1a"]

SIZES = (0, 1, 7, 16, 33, 150)
ZERO_POINTS = (0, 3, -128, 127)
SPECIALS = [
    *(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997),
    *(126.5, 127.49, 127.5, -128.5, -128.51, -129.5, -0.0),
    *(32767.5, -32768.5, 2147483648.0, -2147483648.0, 1e30, -1e30, 1e-45),
    *(-1e-45, 2.0**-126, 8388607.5, 0.50000006, 1e-7, -3.9999),
    *(np.inf, -np.inf, np.nan),
]
SPECIAL_SUMS = (0, 1, -1, 2**31 - 1, -(2**31), 16777217, -16777219, 33554433)


def quantise(scaled: np.ndarray, zero_point: int) -> bytes:
    """Rounds `scaled`, float32, adds and saturates; NaN is taken for +infinity."""
    whole = np.rint(np.nan_to_num(scaled, nan=np.inf).clip(-1000, 1000))
    return np.clip(whole + zero_point, -128, 127).astype(np.int8).tobytes()


def outputs() -> list[bytes]:
    """All outputs of main.c, in its order."""
    n = max(SIZES)
    x = fill_f32(n, 1) * np.float32(150)
    scales = (fill_f32(n, 2) + np.float32(1)) * np.float32(0.002)
    sums = fill(4 * n, 3).view("<i4") >> 15
    sums[: len(SPECIAL_SUMS)] = SPECIAL_SUMS
    scaled_sums = sums.astype(np.float32) * scales

    results = []
    for size in SIZES:
        results.append(quantise(x[:size] * np.float32(0.9), 0))
        results.append(quantise(scaled_sums[:size], 0))
    for zero_point in ZERO_POINTS:
        results.append(quantise(x[:40] * np.float32(1.5), zero_point))
        results.append(quantise(scaled_sums[:40], zero_point))
    results.append(quantise(np.array(SPECIALS, np.float32), 0))
    return results


def checksum() -> int:
    """The number on the last line of `requant_s8.elf`."""
    return fnv1a(b"".join(outputs()))


if __name__ == "__main__":
    print(f"{checksum():#018x}")
