"""The cost model of one machine: its state, its counters per instruction, and its totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from rvsim.cost.core import Core
from rvsim.cost.formula import CYCLE
from rvsim.cost.library import FUNCTION, Code, library_of
from rvsim.cost.program import extra_fields
from rvsim.cost.reasons import BRANCH, REASONS
from rvsim.cost.ring import Listener, Ring, ring_words
from rvsim.cost.state import EPOCH, SITES, array_lengths, reset, word_index
from rvsim.errors import RvsimError
from rvsim.hart.state import RING, State
from rvsim.hart.words import WORD_MASK
from rvsim.insn.decode import Decoded, decode, length_of
from rvsim.insn.registry import Context
from rvsim.ir import Program, Subprogram

Call = Callable[[], None]


class CostModel:
    """The timing of one machine.

    `unknown` counts, by mnemonic, the places of instructions for whose class the core has no
    numbers.  If there is one, `total` is None.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.unknown: dict[str, int] = {}
        self._sites: dict[int, int] = {}
        self._pcs: dict[int, int] = {}
        self._library = library_of(core)
        self._functions: dict[int, Callable[..., None]] = {}
        """The Python function of each cost program, by the program's id."""
        self._names: dict[str, Any] = {}
        self._state: State | None = None
        self._initial: dict[str, bytes] = {}

    # -- on a machine

    def make_state(self, vlen: int, *, records: bool = False) -> State:
        """A hart's state that has room for the model's state and, with `records`, for records."""
        ring = {RING: ring_words()} if records else {}
        state = State(vlen, array_lengths(self.core) | ring)
        self._state = state
        self._names = {f"a_{name}": array for name, array in state.arrays.items()}
        self._names["s"] = state.words
        reset(state.arrays)
        self._initial = {n: bytes(a) for n, a in state.arrays.items() if n not in ("sites", RING)}
        return state

    def make_ring(self, listener: Listener, retired: int) -> Ring:
        """The ring of records, which starts after `retired` instructions.

        The state must have been made with `records`.
        """

        def decoded(pc: int, word: int) -> Decoded:
            return decode(word, length_of(word), pc)

        return Ring(
            self.state, decode=decoded, pc_of=self.pc_of, listener=listener, retired=retired
        )

    def reset(self) -> None:
        """Empty the pipelines and the caches, and set the counters to 0."""
        for name, content in self._initial.items():
            self.state.arrays[name].cast("B")[:] = content
        counters = self.state.arrays["sites"]
        for site in self._sites.values():
            for i in range(site * len(REASONS), (site + 1) * len(REASONS)):
                counters[i] = 0

    def touch(self, address: int, size: int, *, store: bool) -> None:
        """Bring `size` bytes at `address` into the caches, without taking time."""
        arrays = self.state.arrays
        times = bytes(arrays["core"])
        hierarchy = self._library.hierarchy
        sub = hierarchy.store_lines if store else hierarchy.load_lines
        self._define_subprograms((*sub.program.subprograms(), sub))
        line = self.core.l1d.line
        first, last = address // line, (address + max(size, 1) - 1) // line
        whole = (0, 0) if store else ()
        self._names[sub.name](first, last, *whole, arrays["core"][word_index("now")])
        arrays["core"].cast("B")[:] = times
        arrays["l1d_arrival"].cast("B")[:] = bytes(8 * len(arrays["l1d_arrival"]))

    def forget_branches(self, history: int) -> None:
        """Replace the history of branches: each bit of `history` is the outcome of one branch."""
        kept = history & ((1 << self.core.branch.history) - 1)
        self.state.arrays["core"][word_index("history")] = kept

    @property
    def state(self) -> State:
        assert self._state is not None, "make_state comes first"
        return self._state

    def bind(
        self,
        context: Context,
        fields: Mapping[str, int],
        pc: int,
        semantics: Program,
        names: Mapping[str, Any],
    ) -> Call | None:
        """The call that times the instruction at `pc`.  It runs before the instruction executes.

        `names` are the globals of the engine's generated code.
        """
        program = self.program(context, semantics)
        if program is None:
            self.unknown[context.insn.name] = self.unknown.get(context.insn.name, 0) + 1
            return None
        code = self._library.code(program, context.insn.name)
        function = self._functions.get(id(program))
        if function is None:
            function = self._functions[id(program)] = self._define(code, names)
        known = self.fields(context, fields, pc)
        return partial(function, *(known[p] for p in code.params))

    def program(self, context: Context, semantics: Program) -> Program | None:
        """The cost program of an instruction that does `semantics`; None if it has no class.

        It runs before the semantics, with `fields` for operands.
        """
        return self._library.program(context, semantics)

    def fields(self, context: Context, fields: Mapping[str, int], pc: int) -> dict[str, int]:
        """The operand fields of the cost program of the instruction at `pc`."""
        extra = extra_fields(self.core, context, fields, pc, self.site(pc))
        return {n: v & WORD_MASK for n, v in {**fields, **extra, "pc": pc}.items()}

    def _define(self, code: Code, names: Mapping[str, Any]) -> Callable[..., None]:
        self._define_subprograms(code.subprograms)
        for name, value in names.items():
            self._names.setdefault(name, value)
        exec(code.code, self._names)
        function: Callable[..., None] = self._names.pop(FUNCTION)
        return function

    def _define_subprograms(self, subprograms: Iterable[Subprogram]) -> None:
        for sub in subprograms:
            if sub.name not in self._names:
                exec(self._library.subprogram(sub), self._names)

    # -- results

    def site(self, pc: int) -> int:
        """The number of the counters for the instruction at `pc`; `RvsimError` if none are free."""
        found = self._sites.get(pc)
        if found is None:
            if len(self._sites) == SITES:
                raise RvsimError(f"the cost model counts at most {SITES} different instructions")
            found = _home(pc)
            while found in self._pcs:
                found = (found + 1) % SITES
            self._sites[pc] = found
            self._pcs[found] = pc
        return found

    def is_at_home(self, pc: int) -> bool:
        """Whether the instruction has its default counters, as in most runs of its program."""
        return self.site(pc) == _home(pc)

    def pc_of(self, site: int) -> int:
        """The address of the instruction that has these counters."""
        return self._pcs[site]

    @property
    def cycle(self) -> int:
        """The cycle in which the last instruction issued, from 0."""
        now: int = self.state.arrays["core"][word_index("now")]
        return (now - EPOCH) // CYCLE

    @property
    def total(self) -> int | None:
        """`cycle`; None if an instruction was unknown."""
        return None if self.unknown else self.cycle

    @property
    def stalls(self) -> dict[str, float]:
        """Cycles by reason, for the reasons that occur.  Their sum is `cycle`."""
        total = [0] * len(REASONS)
        for counts in self._counters().values():
            total = [a + b for a, b in zip(total, counts, strict=True)]
        return _named(total)

    @property
    def mispredictions(self) -> int:
        """Branches and jumps that were predicted wrongly."""
        return round(self.stalls.get(REASONS[BRANCH], 0) / self.core.branch.mispredict)

    def sites(self) -> Iterator[tuple[int, dict[str, float]]]:
        """(pc, cycles by reason) of each instruction that cost cycles, sorted by address."""
        for pc, counts in sorted(self._counters().items()):
            if any(counts):
                yield pc, _named(counts)

    def _counters(self) -> dict[int, list[int]]:
        n, counters = len(REASONS), self.state.arrays["sites"]
        return {pc: counters[s * n : (s + 1) * n].tolist() for pc, s in self._sites.items()}


def _home(pc: int) -> int:
    """The default counters of the instruction at `pc`.  It gets others if these are taken."""
    return (pc >> 1) % SITES


def _named(counts: list[int]) -> dict[str, float]:
    return {name: n / CYCLE for name, n in zip(REASONS, counts, strict=True) if n}
