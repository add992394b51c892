"""When compiling pays: what it takes, and what interpreting takes, both in scalar instructions.

They are estimated, not measured, so that the same run compiles the same regions.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rvsim.insn.registry import Insn
from rvsim.interp import Interpreter
from rvsim.jit.discover import RegionPlan

THRESHOLD: Final = 2000
"""Runs of scalar code in the interpreter that take as long as compiling it."""

PATIENCE: Final = 4
"""So many times more for a block that stands in the middle of a region already."""

WARM: Final = 8
"""A block that ran a part of the threshold as small as this is compiled along with a hot one."""

_START: Final = 100
"""LLVM takes as long to be loaded and begin as to compile so many scalar instructions."""


def break_even(insns: Collection[Insn], threshold: int = THRESHOLD) -> int:
    """Runs after which interpreting has taken as long as compiling would.

    >>> from rvsim.insn.isa import isa
    >>> [break_even([isa().by_name[name]]) for name in ("addi", "vadd.vv", "vfadd.vv")]
    [2000, 750, 150]
    """
    return max(1, threshold * _compiling(insns) // max(1, _interpreting(insns)))


def pays(plan: RegionPlan, interp: Interpreter, threshold: int = THRESHOLD) -> bool:
    """Whether interpreting the blocks of a plan has taken as long by now as compiling would."""
    compiling = interpreting = 0
    for (pc, mode), block in plan.blocks.items():
        insns = [s.decoded.insn for s in block.steps if s.decoded.insn is not None]
        compiling += _compiling(insns)
        interpreting += interp.runs_at(pc, mode) * _interpreting(insns)
    return interpreting >= threshold * compiling


def starting_pays(interp: Interpreter, threshold: int = THRESHOLD) -> bool:
    """Whether the program has run for as long as LLVM takes to begin."""
    return interp.state["instret"] >= threshold * _START


def _interpreting(insns: Collection[Insn]) -> int:
    """Of vector code, docs/performance.md has the rates."""
    return sum(_interpreting_one(insn) for insn in insns)


def _interpreting_one(insn: Insn) -> int:
    if not insn.unit.is_vector:
        return 1
    return 40 if insn.unit.startswith("vf") else 8


def _compiling(insns: Collection[Insn]) -> int:
    return sum(3 if insn.unit.is_vector else 1 for insn in insns)
