"""What the LLVM rules work on: the function that is being built, and what is known there.

`Lowering` has no rules itself.  The rule modules compute with it; `rvsim.ir.llvm.backend.Lowerer`
is the one with all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rvsim.hart.traps import Cause
from rvsim.ir.known import known
from rvsim.ir.llvm.build import I64, Frame
from rvsim.ir.llvm.memory import GuestMemory
from rvsim.ir.llvm.state import StateAccess
from rvsim.ir.program import NamedOperation
from rvsim.ir.statements import Field, Statement
from rvsim.ir.value import Value

ValueRule = Callable[..., Any]
"""``rule(lowering, node, *operands)`` with the operands as LLVM values."""

StatementRule = Callable[[Any, Any], None]
"""``rule(lowering, statement)``."""


class Lowering:
    """Emits the statements of programs, and the values they need, where builder `b` stands.

    `fields` holds the operand fields; `values` the LLVM value of each node that is known here.
    """

    value_rules: ClassVar[Mapping[str, ValueRule]]
    statement_rules: ClassVar[Mapping[type, StatementRule]]

    def __init__(
        self,
        b: Any,
        frame: Frame,
        state: StateAccess,
        memory: GuestMemory,
        fields: Mapping[str, int],
    ) -> None:
        self.b = b
        self.frame = frame
        self.state = state
        self.memory = memory
        self.fields = fields
        self.values: dict[int, Any] = {}

    def value(self, value: Value) -> Any:
        """The LLVM value of a node; operands first, without recursion into long chains."""
        stack = [value]
        while stack:
            node = stack[-1]
            if id(node) in self.values:
                stack.pop()
                continue
            waiting = [a for a in node.args if id(a) not in self.values]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            args = [self.values[id(a)] for a in node.args]
            self.values[id(node)] = self.value_rules[node.prim](self, node, *args)
            stack.pop()
        return self.values[id(value)]

    def block(self, body: Iterable[Statement]) -> None:
        """Statements up to the first that always traps."""
        for stmt in body:
            if self.b.block.is_terminated:
                return
            self.statement_rules[type(stmt)](self, stmt)

    def call(self, function: NamedOperation, args: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a named operation, here by its definition, in place."""
        outer = dict(self.values)
        self.values.update(zip(map(id, function.params), args, strict=True))
        results = tuple(self.value(r) for r in function.results)
        self.values = outer
        return results

    def index(self, value: Value) -> Any:
        """The index of an array element: a constant where the operand fields tell it."""
        fixed = known(value, self.fields)
        return self.value(value) if fixed is None else I64(fixed)

    def register(self, field: Field) -> int:
        return field if isinstance(field, int) else self.fields[field]

    def require_load(self, addr: Any, nbytes: int) -> None:
        """Trap where so many bytes may not be loaded."""
        allowed = self.memory.may_load(self.b, addr, nbytes)
        self.check(allowed, Cause.LOAD_PAGE_FAULT, addr, "load page fault")

    def require_store(self, addr: Any, nbytes: int) -> None:
        """Trap where so many bytes may not be stored."""
        allowed = self.memory.may_store(self.b, addr, nbytes)
        self.check(allowed, Cause.STORE_PAGE_FAULT, addr, "store page fault")

    def check(self, allowed: Any, cause: int, addr: Any, why: str) -> None:
        """Continue where `allowed` is set, trap elsewhere."""
        go, fault = self.b.append_basic_block("go"), self.b.append_basic_block("fault")
        self.b.cbranch(allowed, go, fault)
        self.b.position_at_end(fault)
        self.state.trap(self.b, cause, addr, why)
        self.b.position_at_end(go)
