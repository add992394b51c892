"""Proving a kernel against a reference: examples, conditions, and the smallest that fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import hypothesis
from hypothesis import strategies as st

from rvsim.errors import RvsimError
from rvsim.verifier.case import Case, Expected, Reference, ask
from rvsim.verifier.compare import exact
from rvsim.verifier.conditions import CHOICES, Axes, Conditions
from rvsim.verifier.loaded_program import MOST_INSNS
from rvsim.verifier.mismatch import Mismatch, mismatch
from rvsim.verifier.program import Kernel
from rvsim.verifier.saved_cases import save
from rvsim.verifier.strategies import VLENS, together
from rvsim.verifier.trial import Comparison, Expectation, Trial

MIN_RUNS: Final = 20
"""Of each condition that not all examples run under."""

EXAMPLES: Final = 100

Arguments = Mapping[str, Any] | st.SearchStrategy[Case]


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification has done: it found nothing wrong.

    `runs` counts calls by their conditions, `elements` those that were compared.
    """

    kernel: str
    examples: int
    calls: int
    instructions: int
    elements: int
    runs: Mapping[Conditions, int] = field(repr=False)

    def __str__(self) -> str:
        return (
            f"{self.kernel}: {self.examples} examples, {self.calls} calls under {len(self.runs)}"
            f" conditions, {self.elements:,} elements right"
        )


def verify(
    kernel: Kernel,
    reference: Reference,
    arguments: Arguments,
    *,
    vlens: Sequence[int] = VLENS,
    agnostic: Sequence[str] | None = None,
    vl: Sequence[str] | None = None,
    reduction: Sequence[str] | None = None,
    initial: Sequence[str] | None = None,
    frm: Sequence[str] | None = None,
    vxrm: Sequence[str] | None = None,
    entry: Sequence[str] | None = None,
    compare: Comparison = exact,
    expect: Mapping[int, Expectation] | None = None,
    inputs: Collection[str] = (),
    examples: int = EXAMPLES,
    max_insns: int = MOST_INSNS,
    settings: hypothesis.settings | None = None,
) -> Report:
    """Prove that a kernel does what a reference says, for all arguments that can be drawn.

    `arguments` are strategies by the names of the kernel's parameters (`rvsim.strategies`), or a
    strategy of `rvsim.Case` where the reference takes other arguments.  The reference returns the
    arrays that `rvsim.out` marks, in their order, or a dict by name, or changes arrays in place.
    What it leaves alone, the kernel has to leave alone.

    Each example runs at each of `vlens` under the first choice of each axis; the others take turns,
    each at least 20 times: `agnostic`, `vl`, `reduction` and `initial` are policies of the machine,
    `frm` and `vxrm` rounding modes at entry, and with `entry` "random" all registers that hold no
    arguments do.  `expect` has what is right at a VLEN that the kernel is not for: `trap` or
    `returns`.

    The order of `reduction` is an axis only of programs with floating-point sums.

    `settings` are Hypothesis's own, in place of `examples`.

    Raises `Mismatch` with the smallest case that fails, `RvsimError` or TypeError for arguments
    that cannot be passed, and what the reference raises.
    """
    if reduction is None and not kernel.program.has_float_sums:
        reduction = CHOICES["reduction"][:1]
    axes = Axes(
        vlens,
        agnostic=agnostic,
        vl=vl,
        reduction=reduction,
        initial=initial,
        frm=frm,
        vxrm=vxrm,
        entry=entry,
    )
    chosen = settings or hypothesis.settings(max_examples=examples, database=None)
    trial = Trial(kernel, compare, inputs=inputs, expect=expect, max_insns=max_insns)
    return Verification(trial, reference, axes, chosen).run(arguments)


class Verification:
    """One kernel against one reference."""

    def __init__(
        self, trial: Trial, reference: Reference, axes: Axes, settings: hypothesis.settings
    ) -> None:
        self._trial = trial
        self._reference = reference
        self._axes = axes
        self._settings = hypothesis.settings(
            settings,
            deadline=None,
            report_multiple_bugs=False,
            print_blob=False,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        self._examples = 0
        self._runs: Counter[Conditions] = Counter()
        self._last: _Failed | None = None
        self._failed: Conditions | None = None
        """The conditions of the first failure: smaller cases are looked for under them alone."""
        others = len(axes.others)
        self._turns = -(-MIN_RUNS * others // max(1, self._settings.max_examples))
        self._turn = 0

    def run(self, arguments: Arguments) -> Report:
        """Verify; `Mismatch` if it is wrong."""
        parameters = _parameters(self._trial.kernel)
        cases = arguments if isinstance(arguments, st.SearchStrategy) else _drawn(arguments)

        @self._settings
        @hypothesis.given(cases)
        def check(case: Case) -> None:
            self._check(case, parameters)

        try:
            check()
        except Mismatch as found:
            raise self._told(found) from None
        trial = self._trial
        if not trial.elements and not trial.expect:
            raise RvsimError(
                f"nothing of {trial.kernel.name} was verified: no example compared an element",
                hint="draw arrays that are not empty, and have the reference return something",
            )
        return Report(
            trial.kernel.name,
            self._examples,
            trial.calls,
            trial.instructions,
            trial.elements,
            dict(self._runs),
        )

    def _check(self, case: Case, parameters: Sequence[str]) -> None:
        arguments = case.arguments(parameters)
        expected = ask(self._reference, case, arguments, gives=self._trial.gives)
        self._examples += 1
        for conditions in self._next():
            self._runs[conditions] += 1
            failure = self._trial.run(arguments, expected, conditions, self._examples)
            if failure is not None:
                self._failed = conditions
                self._last = _Failed(arguments, expected, self._examples)
                raise mismatch(self._trial.kernel.name, failure, arguments)

    def _next(self) -> list[Conditions]:
        """The conditions of this example."""
        if self._failed is not None:
            return [self._failed]
        others = self._axes.others
        turns = [
            others[(self._turn + n) % len(others)] for n in range(self._turns if others else 0)
        ]
        self._turn += self._turns
        return [*self._axes.always, *turns]

    def _told(self, found: Mismatch) -> Mismatch:
        """The failure with all conditions that the smallest case fails under, and its file."""
        last, trial = self._last, self._trial
        assert last is not None
        every = list(self._axes.all())
        found.fails = [
            conditions
            for conditions in every
            if trial.run(last.arguments, last.expected, conditions, last.seed) is not None
        ]
        found.tried = len(every)
        conditions = found.failure.conditions
        found.__notes__ = []  # Hypothesis's own have every byte of the arrays
        try:
            found.saved = save(trial, last.arguments, last.expected, conditions, last.seed)
        except RvsimError as error:  # the mismatch is what matters
            found.add_note(f"the case is not saved: {error}")
        return found


@dataclass(frozen=True, slots=True)
class _Failed:
    """The last case that failed: the smallest, when Hypothesis has ended."""

    arguments: Mapping[str, Any]
    expected: Expected
    seed: int


def _parameters(kernel: Kernel) -> list[str]:
    if kernel.type is None:
        raise RvsimError(
            f"the parameters of {kernel.name} are not known: it has no debug information",
            hint="build it with -g, or set argtypes",
        )
    return [p.name for p in kernel.type.parameters]


def _drawn(arguments: Mapping[str, Any]) -> st.SearchStrategy[Case]:
    return together(arguments).map(Case)
