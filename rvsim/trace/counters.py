"""Counters of a run: instructions by class, vector instructions by mnemonic, memory traffic.

What ran comes from the engine's own block counts; only memory bytes are counted as they go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.interp import namespace
from rvsim.machine import Machine

Array = npt.NDArray[Any]
NamesHook = Callable[[Machine], Mapping[str, Any]]


@dataclass(slots=True)
class Traffic:
    """Bytes that the guest's instructions moved; inactive and faulting elements move none."""

    scalar_read: int = 0
    scalar_written: int = 0
    vector_read: int = 0
    vector_written: int = 0

    def hook(self, other: NamesHook | None = None) -> NamesHook:
        """The `names` argument of a `Machine`; `other` is one that listens as well."""

        def names(machine: Machine) -> dict[str, Any]:
            others = dict(other(machine)) if other is not None else {}
            accesses = namespace(machine.state, machine.memory) | others
            return others | self.names(accesses)

        return names

    def names(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """The memory accesses among an engine's `names`, each counted."""
        counted: dict[str, Any] = {}
        for size in (1, 2, 4, 8):
            counted[f"load{size}"] = self._load(names[f"load{size}"], size)
            counted[f"store{size}"] = self._store(names[f"store{size}"], size)
        for name in ("load_run", "load_at"):
            counted[name] = self._load_lanes(names[name])
        for name in ("store_run", "store_at"):
            counted[name] = self._store_lanes(names[name])
        return counted

    def _load(self, load: Callable[[int], int], size: int) -> Callable[[int], int]:
        def counted(addr: int) -> int:
            self.scalar_read += size
            return load(addr)

        return counted

    def _store(self, store: Callable[[int, int], None], size: int) -> Callable[[int, int], None]:
        def counted(addr: int, value: int) -> None:
            self.scalar_written += size
            store(addr, value)

        return counted

    def _load_lanes(self, load: Callable[..., tuple[Array, int]]) -> Callable[..., Any]:
        def counted(place: Any, active: Array | None, *rest: Any) -> tuple[Array, int]:
            values, fault = load(place, active, *rest)
            self.vector_read += _accessed(active, fault) * values.itemsize
            return values, fault

        return counted

    def _store_lanes(self, store: Callable[..., int]) -> Callable[..., int]:
        def counted(place: Any, values: Array, active: Array | None) -> int:
            fault = store(place, values, active)
            self.vector_written += _accessed(active, fault) * values.itemsize
            return fault

        return counted


def _accessed(active: Array | None, fault: int) -> int:
    return fault if active is None else int(np.count_nonzero(active[:fault]))


@dataclass(slots=True)
class VectorUse:
    """Executions of one vector instruction; `vl` and `use` (vl / VLMAX) are sums over them."""

    executions: int = 0
    vl: int = 0
    use: float = 0.0
    uses_vl: bool = True

    @property
    def average_vl(self) -> float | None:
        """Elements; None for instructions that do not depend on vl."""
        return self.vl / self.executions if self.uses_vl else None

    @property
    def average_use(self) -> float | None:
        """vl / VLMAX, 1 for full vectors."""
        return self.use / self.executions if self.uses_vl else None


@dataclass(slots=True)
class Counts:
    """What a run did."""

    instret: int
    by_unit: Counter[str] = field(default_factory=Counter)
    vector: dict[str, VectorUse] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)

    def as_json(self) -> dict[str, Any]:
        """The counts as plain data for `--json`, the most frequent first."""
        return {
            "instret": self.instret,
            "classes": dict(self.by_unit.most_common()),
            "vector": {
                name: {
                    "executions": use.executions,
                    "average_vl": use.average_vl,
                    "average_use": use.average_use,
                }
                for name, use in self.vector_by_executions()
            },
            "memory_bytes": asdict(self.traffic),
        }

    def vector_by_executions(self) -> list[tuple[str, VectorUse]]:
        return sorted(self.vector.items(), key=lambda item: (-item[1].executions, item[0]))


def counts(machine: Machine, traffic: Traffic) -> Counts:
    """Sum up the run of a machine whose memory accesses `traffic` has counted."""
    found = Counts(machine.state["instret"], traffic=traffic)
    for d, mode, executions, vl_sum in machine.interp.executions():
        if d.insn is None:
            continue
        found.by_unit[d.insn.unit.value] += executions
        if not d.insn.unit.is_vector:
            continue
        use = found.vector.setdefault(d.insn.name, VectorUse(uses_vl=d.insn.vector))
        use.executions += executions
        if d.insn.vector and mode.vtype is not None:
            use.vl += vl_sum
            use.use += vl_sum / mode.vtype.vlmax(machine.config.vlen)
    return found
