"""How much address space this process may still take: ``ulimit -v`` limits it."""

from __future__ import annotations

import mmap
import sys

UNLIMITED = 1 << 63


def address_space_left() -> int:
    """Bytes that may still be mapped, as far as the limit on them says."""
    if sys.platform != "linux":
        return UNLIMITED
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return UNLIMITED
    with open("/proc/self/statm", "rb") as file:
        return max(0, limit - int(file.read().split()[0]) * mmap.PAGESIZE)
