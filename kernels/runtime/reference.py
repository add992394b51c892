"""The deterministic inputs and the checksum of runtime.c, for the kernels' NumPy references."""

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
