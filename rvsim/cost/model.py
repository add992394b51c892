"""A cost model at work: its state on one machine, the counters of each instruction, and totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from rvsim.cost.caches import Hierarchy
from rvsim.cost.core import Core
from rvsim.cost.formula import CYCLE
from rvsim.cost.program import cost_program, extra_fields
from rvsim.cost.reasons import REASONS
from rvsim.cost.state import EPOCH, SITES, array_lengths, reset, word_index
from rvsim.errors import RvsimError
from rvsim.insn.registry import Context
from rvsim.ir import Program
from rvsim.ir.numpy_backend import compile_python, compile_subprogram
from rvsim.state import State

Call = Callable[[], None]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Compiled:
    code: CodeType
    params: tuple[str, ...]


class CostModel:
    """The timing of one machine.

    `unknown` counts, by mnemonic, the instructions at places that have executed and whose class
    the core has no numbers for: with any of them there is no total.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.hierarchy = Hierarchy(core)
        self.unknown: dict[str, int] = {}
        self._sites: dict[int, int] = {}
        self._compiled: dict[Key, _Compiled | None] = {}
        self._functions: dict[Key, Callable[..., None]] = {}
        self._names: dict[str, Any] = {}
        self._state: State | None = None
        self._initial: dict[str, bytes] = {}

    # -- on a machine

    def make_state(self, vlen: int) -> State:
        """The state of a hart with room for the model's own."""
        state = State(vlen, array_lengths(self.core))
        self._state = state
        self._names = {f"a_{name}": array for name, array in state.arrays.items()}
        self._names["s"] = state.words
        reset(state.arrays)
        self._initial = {n: bytes(a) for n, a in state.arrays.items() if n != "sites"}
        return state

    def reset(self) -> None:
        """Empty pipelines and caches, and counters at 0."""
        for name, content in self._initial.items():
            self.state.arrays[name].cast("B")[:] = content
        counters = self.state.arrays["sites"]
        for site in self._sites.values():
            for i in range(site * len(REASONS), (site + 1) * len(REASONS)):
                counters[i] = 0

    @property
    def state(self) -> State:
        assert self._state is not None, "make_state comes first"
        return self._state

    def bind(
        self,
        context: Context,
        fields: Mapping[str, int],
        pc: int,
        program: Program,
        names: Mapping[str, Any],
    ) -> Call | None:
        """The call that accounts for the instruction at `pc`, to be made before it executes.

        `names` are the globals of the engine's generated code.
        """
        vtype = context.vtype
        shape = (vtype.sew_log2, vtype.lmul_log2) if vtype is not None else None
        key = (context.insn.name, tuple(sorted(context.statics.items())), shape)
        if key not in self._compiled:
            self._compiled[key] = self._compile(context, program, names)
        compiled = self._compiled[key]
        if compiled is None:
            self.unknown[context.insn.name] = self.unknown.get(context.insn.name, 0) + 1
            return None
        function = self._functions[key] = self._functions.get(key) or self._define(compiled.code)
        known = {**fields, **extra_fields(self.core, context, fields, pc, self.site(pc)), "pc": pc}
        arguments = [known[p] & (1 << 64) - 1 for p in compiled.params]
        return lambda: function(*arguments)

    def _compile(
        self, context: Context, program: Program, names: Mapping[str, Any]
    ) -> _Compiled | None:
        timed = cost_program(self.hierarchy, context, program)
        if timed is None:
            return None
        for sub in timed.subprograms():
            if sub.name not in self._names:
                exec(compile_subprogram(sub), self._names)
        for name, value in names.items():
            self._names.setdefault(name, value)
        source = compile_python(timed, "cost")
        return _Compiled(compile(source, f"<cost of {context.insn.name}>", "exec"), timed.params())

    def _define(self, code: CodeType) -> Callable[..., None]:
        exec(code, self._names)
        function: Callable[..., None] = self._names.pop("cost")
        return function

    # -- what it found

    def site(self, pc: int) -> int:
        """The number of the counters of the instruction at `pc`."""
        found = self._sites.get(pc)
        if found is None:
            found = len(self._sites)
            if found == SITES:
                raise RvsimError(f"the cost model counts at most {SITES} different instructions")
            self._sites[pc] = found
        return found

    @property
    def cycle(self) -> int:
        """The cycle in which the last instruction issued, from 0."""
        now: int = self.state.arrays["core"][word_index("now")]
        return (now - EPOCH) // CYCLE

    @property
    def stalls(self) -> dict[str, float]:
        """Cycles by reason, those that occur; their sum is `cycle`."""
        total = [0] * len(REASONS)
        for counts in self._counters().values():
            total = [a + b for a, b in zip(total, counts, strict=True)]
        return _named(total)

    def sites(self) -> Iterator[tuple[int, dict[str, float]]]:
        """(pc, cycles by reason) of each instruction that was charged any, by address."""
        for pc, counts in sorted(self._counters().items()):
            if any(counts):
                yield pc, _named(counts)

    def _counters(self) -> dict[int, list[int]]:
        n, counters = len(REASONS), self.state.arrays["sites"]
        return {pc: counters[s * n : (s + 1) * n].tolist() for pc, s in self._sites.items()}


def _named(counts: list[int]) -> dict[str, float]:
    return {name: n / CYCLE for name, n in zip(REASONS, counts, strict=True) if n}
