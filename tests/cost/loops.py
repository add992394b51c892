"""Short pieces of assembly, timed by the interpreter with the X60's cost model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rvsim.machine import Machine
from rvsim.toolchain import build, cache_dir

WARM = 12
"""Rounds before the one that is looked at: caches and the branch predictor have settled."""


@dataclass(frozen=True)
class Timed:
    """One round of a loop: its cycles, and what they were charged to."""

    cycles: float
    stalls: dict[str, float]
    machine: Machine


def time_round(body: str, setup: str = "", *, core: object = "x60") -> Timed:
    """Cycles of one round of ``body; addi s0, s0, -1; bnez s0``, after some to warm up."""
    source = f"""
    .globl main
    main: la s1, data
        li s0, {WARM + 3}
        {setup}
        .balign 64
    round: {body}
        addi s0, s0, -1
        bnez s0, round
        ebreak
    .data
    .balign 4096
    data: .zero 32768
    """
    machine = Machine(cost=core, engine="numpy")  # type: ignore[arg-type]
    machine.load(assemble(source))
    assert machine.image is not None
    head = machine.image.symbols.address("round")
    assert head is not None
    for _ in range(WARM + 1):
        _to(machine, head)
    before = machine.cycle, machine.cost.stalls  # type: ignore[union-attr]
    _to(machine, head)
    after = machine.cycle, machine.cost.stalls  # type: ignore[union-attr]
    spent = {k: v - before[1].get(k, 0) for k, v in after[1].items()}
    return Timed(after[0] - before[0], {k: v for k, v in spent.items() if v}, machine)


def _to(machine: Machine, pc: int) -> None:
    machine.step()
    while machine.state["pc"] != pc:
        assert machine.step() is None, "the program ended"


@cache
def assemble(source: str) -> Path:
    """The ELF of assembly with a `main`, kept from run to run."""
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    out = cache_dir() / "tests" / f"{name}.elf"
    if not out.is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        text = out.with_suffix(".S")
        text.write_text(source)
        build([text], out)
    return out
