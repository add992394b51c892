"""Back end "numpy": a program as generated Python source.

Scalars are Python ints in [0, 2^width), lanes are unsigned NumPy arrays, masks are bool arrays.
A splat stays a Python int as long as it can: NumPy adds an int to an array of any width without
widening it, and a one-element array addition costs ten times a Python one.  Constants beside lanes
are arrays of no dimensions, made once.

The source is a function of the operand fields (`rd`, `imm`, …), after the constants and host
operations that it uses.  It finds the state and memory of one machine in its globals, which
`rvsim.engine.interp.namespace` provides; a named array is the global ``a_<name>``.
"""

from __future__ import annotations

from typing import Final

from rvsim.ir.numpy.effects import EFFECT_RULES, STATEMENT_RULES
from rvsim.ir.numpy.elements import ELEMENT_RULES
from rvsim.ir.numpy.emitter import Emitter, ValueRule
from rvsim.ir.numpy.lanes import LANE_RULES
from rvsim.ir.prims import check_complete
from rvsim.ir.program import Program, Subprogram
from rvsim.ir.statements import check_statement_rules

RULES: Final[dict[str, ValueRule]] = {**ELEMENT_RULES, **LANE_RULES, **EFFECT_RULES}

check_complete("numpy", RULES)
check_statement_rules("numpy", STATEMENT_RULES)


class PythonEmitter(Emitter):
    """Emits with the rules of all primitives and statements."""

    value_rules = RULES
    statement_rules = STATEMENT_RULES


def compile_python(
    program: Program,
    name: str = "insn",
    *,
    zero: frozenset[str] = frozenset(),
    events: bool = False,
    host: bool = True,
) -> str:
    """Source of a function `name` of the program's operand fields.

    `zero` names destination fields that are x0, whose writes are dropped.  With `events`, register
    writes call ``log_x(register)``, ``log_v(register, count)`` and ``log_csr(name)``.  With `host`,
    operations of `rvsim.ir.numpy.host` are tried first; callers turn NumPy's floating-point
    warnings off.
    """
    emitter = PythonEmitter(program, zero, events, host)
    emitter.block(program.body)
    made_once = "".join(f"{name} = {text}\n" for name, text in emitter.made_once.items())
    body = "\n".join(emitter.lines) or "    pass"
    return f"{made_once}def {name}({', '.join(program.params())}):\n{body}\n"


def compile_subprogram(sub: Subprogram) -> str:
    """Source of the function of a subprogram, named as it is."""
    emitter = PythonEmitter(sub.program, frozenset(), events=False, results=(sub.result,))
    emitter.block(sub.program.body)
    emitter.line(f"return {emitter.expr(sub.result)}")
    body = "\n".join(emitter.lines)
    return f"def {sub.name}({', '.join(sub.params)}):\n{body}\n"
