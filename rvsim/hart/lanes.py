"""Lane accesses of generated Python to guest memory: runs of elements and scattered elements.

Each returns the index of the first active lane that may not be accessed, or the number of lanes;
lanes from there on, and inactive ones, read 0 and store nothing (`rvsim.ir.prims`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.hart.memory import Memory, R, W

Array = npt.NDArray[Any]


class LaneAccess:
    """Vector loads and stores on one memory.  `active` None means every lane."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._data = memory.data

    def load_run(self, addr: int, active: Array | None, n: int, dtype: Any) -> tuple[Array, int]:
        """`n` consecutive elements from `addr`, which a later store does not change."""
        nbytes = dtype().itemsize
        if self._memory.loads_directly(addr, n * nbytes):
            values = self._data[addr : addr + n * nbytes].view(dtype)
            return values.copy() if active is None else np.where(active, values, dtype(0)), n
        if active is not None:
            used = np.flatnonzero(active)
            if not used.size:
                return np.zeros(n, dtype), n
            first, last = int(used[0]), int(used[-1])
            start, length = addr + first * nbytes, (last - first + 1) * nbytes
            if self._memory.loads_directly(start, length):
                values = np.zeros(n, dtype)
                values[first : last + 1] = self._data[start : start + length].view(dtype)
                values[~active] = 0
                return values, n
        return self.load_at(_consecutive(addr, n, nbytes), active, dtype)

    def load_at(self, addrs: Array, active: Array | None, dtype: Any) -> tuple[Array, int]:
        """Elements at lanes of addresses."""
        nbytes, n = dtype().itemsize, len(addrs)
        if active is None:
            active = np.ones(n, bool)
        fault = self._memory.first_bad(addrs, nbytes, R, active)
        if fault < n:
            active = active & (np.arange(n) < fault)
        return self._memory.load_lanes(addrs, nbytes, active, np.zeros(n, dtype)), fault

    def store_run(self, addr: int, values: Array, active: Array | None) -> int:
        """Consecutive elements from `addr`."""
        n, nbytes = len(values), values.itemsize
        if self._memory.stores_directly(addr, n * nbytes):
            target = self._data[addr : addr + n * nbytes].view(values.dtype)
            if active is None:
                target[:] = values
            else:
                target[active] = values[active]
            return n
        return self.store_at(_consecutive(addr, n, nbytes), values, active)

    def store_at(self, addrs: Array, values: Array, active: Array | None) -> int:
        """Elements at lanes of addresses, in element order."""
        n = len(addrs)
        if active is None:
            active = np.ones(n, bool)
        fault = self._memory.first_bad(addrs, values.itemsize, W, active)
        self._memory.store_lanes(addrs, values, active, fault)
        return fault


def _consecutive(addr: int, n: int, nbytes: int) -> Array:
    return np.uint64(addr) + np.arange(0, n * nbytes, nbytes, dtype=np.uint64)
