"""The cost programs of a core, and their code for the reference engine; machines share them."""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any, NamedTuple

from rvsim.cost.core import Core
from rvsim.cost.hierarchy import Hierarchy
from rvsim.cost.program import cost_program
from rvsim.insn.registry import Context
from rvsim.ir import Program, Subprogram
from rvsim.ir.numpy.backend import compile_python, compile_subprogram

FUNCTION = "cost"
"""The name of the function that `Code` defines."""


class Code(NamedTuple):
    """Code that defines a function with parameters `params`, and the subprograms that it calls."""

    code: CodeType
    params: tuple[str, ...]
    subprograms: tuple[Subprogram, ...]


class CostLibrary:
    """Makes each cost program of a core, and its code, once."""

    def __init__(self, core: Core) -> None:
        self.hierarchy = Hierarchy(core)
        self._programs: dict[tuple[Any, ...], Program | None] = {}
        self._codes: dict[int, Code] = {}
        """Code by the id of its program; `_programs` keeps the programs alive."""
        self._subprograms: dict[str, CodeType] = {}

    def program(self, context: Context, semantics: Program) -> Program | None:
        """The cost program of an instruction that does `semantics`; None if it has no class."""
        vtype = context.vtype
        shape = (vtype.sew_log2, vtype.lmul_log2) if vtype is not None else None
        statics = tuple(sorted(context.statics.items()))
        key = (context.insn.name, statics, shape, context.config)
        if key not in self._programs:
            self._programs[key] = cost_program(self.hierarchy, context, semantics)
        return self._programs[key]

    def code(self, program: Program, name: str) -> Code:
        """The code of a program of this library, for an instruction of this name."""
        found = self._codes.get(id(program))
        if found is None:
            code = compile(compile_python(program, FUNCTION), f"<cost of {name}>", "exec")
            found = Code(code, program.params(), program.subprograms())
            self._codes[id(program)] = found
        return found

    def subprogram(self, sub: Subprogram) -> CodeType:
        """The code of a subprogram of the hierarchy."""
        found = self._subprograms.get(sub.name)
        if found is None:
            found = compile(compile_subprogram(sub), f"<{sub.name}>", "exec")
            self._subprograms[sub.name] = found
        return found


@cache
def library_of(core: Core) -> CostLibrary:
    """The library of a core; cores with the same numbers share it.

    >>> from rvsim.cost import load_core
    >>> library_of(load_core("x60")) is library_of(load_core("x60"))
    True
    """
    return CostLibrary(core)
