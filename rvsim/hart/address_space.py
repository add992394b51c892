"""Address space of this process: how much is left, and how to reserve some.

``ulimit -v`` limits it.
"""

from __future__ import annotations

import mmap
import sys
from typing import Final

from rvsim.errors import RvsimError

UNLIMITED: Final = 1 << 63

# Python names MAP_NORESERVE only from 3.13 on; Linux has this value on x86, Arm and RISC-V.
_NORESERVE: Final[int] = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def address_space_left() -> int:
    """Bytes that the limit on address space still leaves."""
    if sys.platform != "linux":
        return UNLIMITED
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return UNLIMITED
    with open("/proc/self/statm", "rb") as file:
        return max(0, limit - int(file.read().split()[0]) * mmap.PAGESIZE)


def reserve(size: int) -> mmap.mmap:
    """Reserve zeros that take no memory until they are touched."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)


def reserve_first(sizes: list[int]) -> tuple[mmap.mmap, int]:
    """Reserve the first of some sizes that the host gives; `RvsimError` if it gives none."""
    for size in sizes:
        try:
            return reserve(size), size
        except (OSError, OverflowError, ValueError) as error:
            why = error
    left, last = address_space_left(), sizes[-1]
    raise RvsimError(
        f"the host cannot reserve {last:#x} bytes of guest memory ({why})",
        hint=f"ulimit -v leaves {left >> 20} MiB: ask for a smaller memory, as in "
        f"--memory {max(left >> 21, 1)}M"
        if left < last
        else "ask for a smaller memory",
    )
