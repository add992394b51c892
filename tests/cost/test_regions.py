"""Native code counts the same cycles as the reference engine, and charges the same places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rvsim.jit.engine import Jit
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel


def measured(elf: Path, engine: str, args: list[str], max_insns: int) -> tuple[Any, ...]:
    machine = Machine(engine=engine, cost="x60")
    if engine == "jit":
        machine.interp.jit = Jit(machine.interp, 1)
    machine.load(elf, argv=["kernel", *args])
    result = machine.run(max_insns=max_insns)
    cost = machine.cost
    assert cost is not None
    assert sum(cost.stalls.values()) == cost.cycle
    return result.instret, result.cycle, result.stdout, cost.stalls, list(cost.sites())


@pytest.mark.parametrize(
    ("kernel", "max_insns"),
    [("gemm_tile_ime", 20_000), ("memops", 40_000), ("exp_silu_f32", 10_000)],
)
def test_kernels_take_the_same_cycles(kernel: str, max_insns: int) -> None:
    elf = build_kernel(kernel)
    reference = measured(elf, "numpy", [], max_insns)
    assert measured(elf, "jit", [], max_insns) == reference


@pytest.mark.parametrize("max_insns", range(2000, 2040, 3))
def test_the_limit_may_fall_anywhere(max_insns: int) -> None:
    elf = build_kernel("requant_s8")
    assert measured(elf, "jit", [], max_insns) == measured(elf, "numpy", [], max_insns)
