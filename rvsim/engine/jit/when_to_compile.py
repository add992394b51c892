"""When compiling pays: what it takes, and what interpreting takes, both in scalar instructions.

They are estimated, not measured, so that the same run compiles the same regions.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from rvsim.engine.block import Block
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.discover import RegionPlan
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit

THRESHOLD: Final = 2000
"""Runs of scalar code in the interpreter that take as long as compiling it."""

PATIENCE: Final = 4
"""So many times more for a block that stands in the middle of a region already."""

WARM: Final = 8
"""A block that ran a part of the threshold as small as this is compiled along with a hot one."""

_START: Final = 100
"""LLVM takes as long to be loaded and begin as to compile so many scalar instructions."""


class _Costs(NamedTuple):
    """Of one instruction: an execution by the interpreter, and the compilation."""

    interpreting: int
    compiling: int


_SCALAR: Final = _Costs(1, 1)
_VECTOR: Final = _Costs(8, 2)
_FLOAT: Final = _Costs(40, 4)
_MATRIX: Final = _Costs(30, 8)
_FLOAT_SUM: Final = _Costs(1000, 6)  # element by element: 16 of them at LMUL 1 and SEW 16


def break_even(insns: Collection[Insn], threshold: int = THRESHOLD) -> int:
    """Runs after which interpreting has taken as long as compiling would.

    >>> from rvsim.insn.isa import isa
    >>> [break_even([isa().by_name[name]]) for name in ("addi", "vadd.vv", "vfadd.vv")]
    [2000, 500, 200]
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


def starting_pays(interp: Interpreter, block: Block, threshold: int = THRESHOLD) -> bool:
    """Whether the program, or this hot block alone, took as long as LLVM takes to begin."""
    insns = [d.insn for d in block.decoded if d.insn is not None]
    took = max(interp.state["instret"], block.runs * _interpreting(insns))
    return took >= threshold * _START


def _interpreting(insns: Collection[Insn]) -> int:
    return sum(_costs(insn).interpreting for insn in insns)


def _compiling(insns: Collection[Insn]) -> int:
    return sum(_costs(insn).compiling for insn in insns)


def _costs(insn: Insn) -> _Costs:
    if not insn.unit.is_vector:
        return _SCALAR
    if insn.unit is Unit.VMADOT:
        return _MATRIX
    if not insn.unit.is_float:
        return _VECTOR
    return _FLOAT_SUM if insn.unit.is_reduction else _FLOAT
