"""Back end "text": a program as a formula that people read, in the manifest and `rvsim explain`.

Lanes are written as if they were one number, ``i`` being the lane number; a sign stands on the
operator that has one (``<u``, ``>>s``, ``*hsu``).  Registers and CSRs on a right-hand side are
those before the instruction, whatever stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim.ir.prims import check_complete
from rvsim.ir.program import Program
from rvsim.ir.statements import check_statement_rules
from rvsim.ir.text.effects import EFFECT_RULES, STATEMENT_RULES
from rvsim.ir.text.values import VALUE_RULES
from rvsim.ir.text.writer import FormulaText, ValueRule

RULES: Final[dict[str, ValueRule]] = {**VALUE_RULES, **EFFECT_RULES}

check_complete("text", RULES)
check_statement_rules("text", STATEMENT_RULES)


class FormulaWriter(FormulaText):
    """Writes with the rules of all primitives and statements."""

    value_rules = RULES
    statement_rules = STATEMENT_RULES


def formula(
    program: Program, *, fields: Mapping[str, int] | None = None, separator: str = "; "
) -> str:
    """The statements of a program; `fields` puts registers and immediates in for their names.

    >>> from rvsim import ir
    >>> with ir.Trace() as t:
    ...     ir.write_x("rd", ir.read_x("rs1") + ir.param("imm"))
    >>> formula(t.finish())
    'x[rd] = x[rs1] + imm'
    >>> formula(t.finish(), fields={"rd": 10, "rs1": 2, "imm": -16})
    'x10 = x2 - 16'
    """
    writer = FormulaWriter(program, fields or {})
    writer.block(program.body)
    return separator.join(writer.lines)
