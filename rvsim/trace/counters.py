"""Counters of a run: instructions by class, vector instructions by mnemonic, memory traffic.

Executions come from the engines' own block counts; only memory bytes are counted during the run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from rvsim.engine.traffic import Traffic
from rvsim.machine import Machine


@dataclass(slots=True)
class VectorUse:
    """Executions of one vector instruction, with the sums of `vl` and of `use` (vl / VLMAX)."""

    executions: int = 0
    vl: int = 0
    use: float = 0.0
    uses_vl: bool = True

    @property
    def average_vl(self) -> float | None:
        """The average vl; None for instructions that do not depend on vl."""
        return self.vl / self.executions if self.uses_vl else None

    @property
    def average_use(self) -> float | None:
        """The average of vl / VLMAX, 1 for full vectors; None if vl does not matter."""
        return self.use / self.executions if self.uses_vl else None


@dataclass(slots=True)
class Counts:
    """The counts of a run.

    `not_compiled` counts, by name, frequent instructions that the JIT left to the reference engine.
    """

    instret: int
    by_unit: Counter[str] = field(default_factory=Counter)
    vector: dict[str, VectorUse] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    not_compiled: Counter[str] = field(default_factory=Counter)

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
            "not_compiled": dict(self.not_compiled.most_common()),
        }

    def vector_by_executions(self) -> list[tuple[str, VectorUse]]:
        return sorted(self.vector.items(), key=lambda item: (-item[1].executions, item[0]))


def counts(machine: Machine) -> Counts:
    """The counts of a run, from a machine with statistics."""
    found = Counts(machine.state["instret"], traffic=Traffic.of(machine.state))
    if machine.interp.jit is not None:
        found.not_compiled = machine.interp.jit.not_compiled()
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
