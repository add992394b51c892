"""The cost program of an instruction: how an execution changes the CostState."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim import ir
from rvsim.cost import lsu, record, scalar, vector, vector_memory
from rvsim.cost.core import Core
from rvsim.cost.facts import Facts
from rvsim.cost.hierarchy import Hierarchy
from rvsim.cost.state import get, put
from rvsim.insn.base.caches import DATA_HINTS
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.ir import Program, Trace

_SERIALISING: Final = frozenset({Unit.CSR, Unit.SYSTEM, Unit.FENCE})


def cost_program(h: Hierarchy, context: Context, program: Program) -> Program | None:
    """The timing of the instruction with semantics `program`; None if its class is unknown.

    It runs before the semantics, on the state before the instruction.  Its parameters are the
    operand fields of the instruction and those of `extra_fields`.
    """
    facts = Facts(context, program)
    if not h.core.knows(facts.unit):
        return None
    with Trace() as trace:
        record.begin()
        line = ir.param("line")
        ir.invoke(h.fetch, line, ir.param("site"), when=line != get("fetch_line"))
        put("fetch_line", line)  # here, where native code sees that the next line is the same
        _time(h, facts)
    return trace.finish()


def _time(h: Hierarchy, facts: Facts) -> None:
    unit, core = facts.unit, h.core
    if unit in core.vector:
        timing = core.vector[unit].at(facts.situation)
        if not facts.is_memory:
            vector.arithmetic(core, facts, timing)
        elif facts.is_store:
            vector_memory.store(h, facts, timing)
        else:
            vector_memory.load(h, facts, timing)
        return
    plain = core.scalar[unit].at(facts.situation)
    if unit is Unit.VSET:
        scalar.vset(core, facts, plain)
    elif unit is Unit.BRANCH:
        scalar.branch(core, facts, plain)
    elif unit is Unit.JUMP:
        scalar.jump(core, facts, plain)
    elif unit is Unit.DIV:
        scalar.division(core, facts, plain)
    elif unit.is_memory:
        lsu.scalar(h, facts, plain)
    elif facts.insn.name in DATA_HINTS:
        lsu.prefetch(h, facts)
    elif unit in _SERIALISING:
        scalar.serialising(core, facts, plain)
    else:
        scalar.arithmetic(core, facts, plain)


_RETURN_ADDRESSES: Final = (1, 5)


def extra_fields(
    core: Core, context: Context, fields: Mapping[str, int], pc: int, site: int
) -> dict[str, int]:
    """The fields of a cost program besides the operand fields: site, line, branch prediction."""
    insn = context.insn
    returns = False
    if insn.unit is Unit.JUMP:
        source, dest = insn.source("rs1"), insn.source("rd")
        link = source if isinstance(source, int) else fields.get(source, 0)
        saved = dest if isinstance(dest, int) else fields.get(dest, 0)
        returns = link in _RETURN_ADDRESSES and saved == 0
    return {
        "site": site,
        "line": pc // core.l1i.line,
        "predictor": (pc >> 1) & (core.branch.entries - 1),
        "backward": int(fields.get("imm", 0) < 0),
        "returns": int(returns),
    }
