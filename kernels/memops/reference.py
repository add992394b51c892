"""NumPy reference of memops: the checksum that main.c must print.

Run it to see the value, or import `checksum`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

RUNTIME = runpy.run_path(str(Path(__file__).parents[1] / "runtime" / "reference.py"))
fill, fnv1a = RUNTIME["fill"], RUNTIME["fnv1a"]

SIZES = (0, 1, 7, 16, 33, 100, 290)
LMULS = (1, 2, 4, 8)
LIMIT, NEEDLE = 100, 0x5A
NOT_FOUND = (1 << 64) - 1
TABLE = np.frombuffer(bytes.fromhex("8198adbfcfddeaf6 010d192635455971"), dtype=np.uint8)


def source() -> np.ndarray:
    """The input of all operations, without the byte that `find` looks for."""
    data = fill(max(SIZES) + 1, 1).copy()
    data[data == NEEDLE] += 1
    return data


def numbers(*values: int) -> bytes:
    """Values as the checksum takes them, 64 bits each."""
    return np.array(values, dtype="<u8").tobytes()


def copy(src: np.ndarray, lmul: int) -> bytes:
    """What `copy` of main.c feeds into the checksum; likewise below."""
    return src.tobytes()


def set_(src: np.ndarray, lmul: int) -> bytes:
    return np.full(src.size, src.size % 256, dtype=np.uint8).tobytes()


def find(src: np.ndarray, lmul: int) -> bytes:
    return numbers(NOT_FOUND, NOT_FOUND, src.size, src.size // 2)


def transpose(src: np.ndarray, lmul: int) -> bytes:
    fields = 8 // lmul
    rows = src.size // fields
    return src[: rows * fields].reshape(rows, fields).T.tobytes()


def lookup(src: np.ndarray, lmul: int) -> bytes:
    return TABLE[src % TABLE.size].tobytes()


def compact(src: np.ndarray, lmul: int) -> bytes:
    kept = src[src < LIMIT]
    return numbers(kept.size) + kept.tobytes()


def checksum() -> int:
    """The number on the last line of `memops.elf`."""
    data = source()
    return fnv1a(
        b"".join(
            operation(data[:size], lmul)
            for operation in (copy, set_, find, transpose, lookup, compact)
            for lmul in LMULS
            if not (operation is transpose and lmul == 8)
            for size in SIZES
        )
    )


if __name__ == "__main__":
    print(f"{checksum():#018x}")
