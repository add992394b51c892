"""Back end "llvm": a program as one LLVM function, through llvmlite.

Bits are ``iW``, lanes ``<n x iW>``, masks ``<n x i1>``.  Rules compute on these and reach
registers and guest memory only through `StateAccess` and `GuestMemory`, so that a compiler of
whole regions can use the same rules with registers kept in values.

All values are total: a divisor that the body has ruled out is replaced by 1, because `where`
becomes a `select` and both its sides are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from llvmlite import ir

from rvsim.host.processor import Host
from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I64, PTR, Frame
from rvsim.ir.llvm.effects import EFFECT_RULES, STATEMENT_RULES
from rvsim.ir.llvm.elements import ELEMENT_RULES
from rvsim.ir.llvm.lanes import LANE_RULES
from rvsim.ir.llvm.lowering import Lowering, ValueRule
from rvsim.ir.llvm.memory import GuestMemory
from rvsim.ir.llvm.permute import take
from rvsim.ir.llvm.state import BufferState, StateAccess
from rvsim.ir.prims import check_complete
from rvsim.ir.program import Program, Subprogram
from rvsim.ir.statements import (
    check_statement_rules,
)

SIGNATURE: Final = ir.FunctionType(I64, [PTR, PTR, PTR, I64])
"""``i64 f(ptr state, ptr mem, ptr perm, i64 mem_size)``: 0 retired, 1 trapped."""


RULES: Final[dict[str, ValueRule]] = {
    **ELEMENT_RULES,
    **LANE_RULES,
    "take": take,
    **EFFECT_RULES,
}

check_complete("llvm", RULES)
check_statement_rules("llvm", STATEMENT_RULES)


class Lowerer(Lowering):
    """Lowers with the rules of all primitives and statements."""

    value_rules = RULES
    statement_rules = STATEMENT_RULES


class ModuleBuilder:
    """An LLVM module that grows by one function a program, and the texts of their traps.

    >>> from rvsim.ir import Trace, read_x, write_x
    >>> with Trace() as t:
    ...     write_x("rd", read_x("rs1") + 1)
    >>> builder = ModuleBuilder(vlen=256)
    >>> builder.add(t.finish(), "one", fields={"rd": 5, "rs1": 6})
    >>> [function.name for function in builder.module.functions], builder.whys
    (['one'], [])
    """

    def __init__(
        self, vlen: int, arrays: Mapping[str, int] | None = None, host: Host | None = None
    ) -> None:
        self.vlen = vlen
        self.arrays = arrays or {}
        self.module = build.new_module("rvsim", host)
        self.whys: list[str] = []

    def add(self, program: Program, name: str, *, fields: Mapping[str, int]) -> None:
        """Lower `program` for these values of its operand fields."""
        missing = [f for f in program.params() if f not in fields]
        if missing:
            raise KeyError(f"{name}: no value for the operand fields {', '.join(missing)}")
        function = ir.Function(self.module, SIGNATURE, name)
        state, data, perm, size = function.args
        for pointer in (state, data, perm):
            pointer.add_attribute("noalias")
        entry = ir.IRBuilder(function.append_basic_block("entry"))
        b = ir.IRBuilder(function.append_basic_block("body"))
        frame = Frame(entry)
        lowerer = Lowerer(
            b,
            frame,
            self._state(state),
            GuestMemory(data, perm, size, frame),
            fields,
        )
        lowerer.block(program.body)
        if not b.block.is_terminated:
            b.ret(I64(0))
        entry.branch(function.blocks[1])

    def _state(self, base: Any) -> BufferState:
        return BufferState(base, self.vlen, self.whys, self.arrays, self._subprogram)

    def _subprogram(self, module: Any, sub: Subprogram) -> Any:
        return subprogram_function(module, sub, self._state)


def subprogram_function(
    module: Any, sub: Subprogram, state_at: Callable[[Any], StateAccess]
) -> Any:
    """``i64 f(ptr state, i64 ...)`` of a subprogram, made once a module; it can't trap."""
    known = module.globals.get(sub.name)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(I64, [PTR, *[I64] * len(sub.params)]), sub.name)
    function.attributes.add("noinline")
    base, *args = function.args
    entry = ir.IRBuilder(function.append_basic_block("entry"))
    b = ir.IRBuilder(function.append_basic_block("body"))
    frame = Frame(entry)
    memory = GuestMemory(base, base, I64(0), frame)  # a subprogram reaches no guest memory
    lowerer = Lowerer(b, frame, state_at(base), memory, {})
    given = dict(zip(sub.params, args, strict=True))
    for value in (*sub.program.values(), sub.result):
        if value.prim == "param":
            lowerer.values[id(value)] = given[value.attrs[0]]
    lowerer.block(sub.program.body)
    b.ret(lowerer.value(sub.result))
    entry.branch(function.blocks[1])
    return function


def lower(
    program: Program, name: str, *, fields: Mapping[str, int], vlen: int
) -> tuple[Any, tuple[str, ...]]:
    """One program as a module with one function; and the why texts that `trap_why` counts."""
    builder = ModuleBuilder(vlen)
    builder.add(program, name, fields=fields)
    return builder.module, tuple(builder.whys)
