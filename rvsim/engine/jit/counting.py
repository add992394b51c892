"""Lowers statistics of compiled code: adds to counters, and counts the bytes that are moved.

Bytes are added to words of the state (`rvsim.engine.traffic`), as one more effect of an
instruction.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from llvmlite import ir

from rvsim.engine.jit.counters import SYMBOL, starts
from rvsim.engine.jit.discover import BasicBlock, RegionPlan
from rvsim.engine.jit.registers import RegionState
from rvsim.ir import Program
from rvsim.ir.accesses import access_of
from rvsim.ir.llvm.build import I64, PTR, at
from rvsim.ir.statements import If, Statement, Write
from rvsim.ir.types import WORD
from rvsim.ir.value import Value


class CountersLowerer:
    """Makes the counters of a region (`rvsim.engine.jit.counters`) and adds to them."""

    def __init__(self, module: Any, plan: RegionPlan, state: RegionState) -> None:
        self._state = state
        *firsts, size = starts([len(block.steps) for block in plan.blocks.values()])
        self._starts = dict(zip(plan.blocks, firsts, strict=True))
        type_ = ir.ArrayType(I64, size)
        self._words = ir.GlobalVariable(module, type_, SYMBOL)
        self._words.initializer = ir.Constant(type_, None)
        self._words.type = PTR

    def entered(self, b: Any, block: BasicBlock) -> None:
        self._add(b, block, self._starts[block.key])

    def left(self, b: Any, block: BasicBlock, step: int) -> None:
        """The block goes on in the interpreter, from this step."""
        self._add(b, block, self._starts[block.key] + 2 + 2 * step)

    def _add(self, b: Any, block: BasicBlock, index: int) -> None:
        terms = [I64(1)]
        if _sums_vl(block):
            terms.append(self._state.peek(b, "vl"))
        for i, term in enumerate(terms):
            place = at(b, self._words, 8 * (index + i))
            b.store(b.add(b.load(place, typ=I64), term), place)


def _sums_vl(block: BasicBlock) -> bool:
    """Whether anybody asks for its vl, and the mode does not tell."""
    insns = (step.decoded.insn for step in block.steps)
    return block.mode.elements != "full" and any(insn and insn.vector for insn in insns)


# -- bytes moved


def counted_plan(plan: RegionPlan) -> RegionPlan:
    """The plan with instructions that also count the bytes they move."""
    blocks = {
        key: replace(block, steps=[replace(s, program=_counted(s.program)) for s in block.steps])
        for key, block in plan.blocks.items()
    }
    return replace(plan, blocks=blocks)


@lru_cache(maxsize=8192)
def _counted(program: Program) -> Program:
    return Program(_with_traffic(program.body))


def _with_traffic(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Add what a body moves when all of it is done: in a region, no access is done in part."""
    moved: dict[str, Value] = {}
    statements: list[Statement] = []
    for stmt in body:
        if isinstance(stmt, If):
            stmt = replace(stmt, body=_with_traffic(stmt.body))
        statements.append(stmt)
        access = access_of(stmt)
        if access is not None:
            word = f"{'scalar' if access.active is None else 'vector'}_{access.kind}"
            nbytes = access.nbytes
            moved[word] = moved[word] + nbytes if word in moved else nbytes
    for word, nbytes in moved.items():
        # A node of its own, as a word may be added to more than once.
        before = Value(nbytes.graph, "read", (), (word, WORD), WORD)
        statements.append(Write(word, before + nbytes))
    return tuple(statements)
