"""Bytes that a guest's instructions moved, counted in the state's words by either engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.hart.state import SLOT, State

Array = npt.NDArray[Any]
Names = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes by kind of access; inactive and faulting elements move none."""

    scalar_read: int = 0
    scalar_written: int = 0
    vector_read: int = 0
    vector_written: int = 0

    @staticmethod
    def of(state: State) -> Traffic:
        """What a run with statistics has counted so far."""
        kinds = ("scalar_read", "scalar_written", "vector_read", "vector_written")
        return Traffic(*(state[kind] for kind in kinds))


def counting(names: Mapping[str, Any], state: State) -> Names:
    """The memory accesses among the reference engine's `names`, each counted."""
    words = state.words
    counted: Names = {}
    for size in (1, 2, 4, 8):
        counted[f"load{size}"] = _load(names[f"load{size}"], size, words)
        counted[f"store{size}"] = _store(names[f"store{size}"], size, words)
    for name in ("load_run", "load_at"):
        counted[name] = _load_lanes(names[name], words)
    for name in ("store_run", "store_at"):
        counted[name] = _store_lanes(names[name], words)
    return counted


def _load(load: Callable[[int], int], size: int, words: memoryview) -> Callable[[int], int]:
    slot = SLOT["scalar_read"]

    def counted(addr: int) -> int:
        value = load(addr)
        words[slot] += size
        return value

    return counted


def _store(
    store: Callable[[int, int], None], size: int, words: memoryview
) -> Callable[[int, int], None]:
    slot = SLOT["scalar_written"]

    def counted(addr: int, value: int) -> None:
        store(addr, value)
        words[slot] += size

    return counted


def _load_lanes(load: Callable[..., tuple[Array, int]], words: memoryview) -> Callable[..., Any]:
    slot = SLOT["vector_read"]

    def counted(place: Any, active: Array | None, *rest: Any) -> tuple[Array, int]:
        values, fault = load(place, active, *rest)
        words[slot] += _accessed(active, fault) * values.itemsize
        return values, fault

    return counted


def _store_lanes(store: Callable[..., int], words: memoryview) -> Callable[..., int]:
    slot = SLOT["vector_written"]

    def counted(place: Any, values: Array, active: Array | None) -> int:
        fault = store(place, values, active)
        words[slot] += _accessed(active, fault) * values.itemsize
        return fault

    return counted


def _accessed(active: Array | None, fault: int) -> int:
    return fault if active is None else int(np.count_nonzero(active[:fault]))
