"""Every instruction as the JIT compiles it, a region of its own, against the reference engine.

Unlike the back end's own test this has registers in stack slots, whole-span memory checks, and side
exits: where native code refuses, the reference engine executes the instruction, as in a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pytest

from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.discover import RegionPlan, discover
from rvsim.engine.jit.engine import Jit
from rvsim.engine.jit.native import Native
from rvsim.engine.observer import Statistics
from rvsim.hart.memory import PAGE, Memory, R, X
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from tests.harness import MEMORY_SIZE, PAGES
from tests.isa.test_llvm_equals_numpy import Result, assert_equal, vlen_for
from tests.isa.variants import Situation, Variant, supported, variants

pytestmark = pytest.mark.compiled

INSNS = list(supported())
MOVES_BYTES = re.compile("load|store|amo|cache")
ACCESSES = [i for i in INSNS if MOVES_BYTES.search(i.unit) and "segment" not in i.unit]
TEXT = 0x10000
STATES = 6
MANY_VARIANTS, MANY_STATES = 12, 20
TRIES, VAIN_TRIES = 40, 4
"""Variants are made until so many were tried: some are refused, and some instructions always."""

INTERPRETED = frozenset({Unit.SYSTEM, Unit.CSR, Unit.VAES, Unit.VSM4})
"""Classes of which some instructions are never compiled, for what they do or for their tables."""


@cache
def new_memory() -> Memory:
    """The pages of `PAGES`, and one for the code."""
    memory = Memory(MEMORY_SIZE)
    for page, perm in PAGES.items():
        memory.map(page, PAGE, perm)
    memory.map(TEXT, PAGE, R | X)
    return memory


@cache
def engine(config: Config, counts: bool = False) -> Interpreter:
    state, memory = State(config.vlen), new_memory()
    return Interpreter(config, state, memory, observer=Statistics() if counts else None)


@dataclass(frozen=True, slots=True)
class Region:
    """A variant at `TEXT`, and native code for it and nothing else.

    The code looks up where to go on in a table of the JIT, which therefore has to live as long.
    """

    variant: Variant
    native: Native
    jit: Jit

    @property
    def interp(self) -> Interpreter:
        return self.jit.interp

    def reference(self, situation: Situation) -> Result:
        interp = self.interp
        situation.establish(interp.state, interp.memory)
        interp.state["pc"] = TEXT
        trap, _ = interp.run(1)
        return result(interp, trap)

    def compiled(self, situation: Situation) -> Result:
        """One round of what the interpreter does with a block that has native code."""
        interp = self.interp
        situation.establish(interp.state, interp.memory)
        interp.state["pc"] = TEXT
        entered = interp.state.snapshot()
        if self.native.run(1):
            interp.state["instret"] += 1
            return result(interp, None)
        # It may have stored elements and raised flags, as it will again, but changed no register.
        raised, interp.state["fflags"] = interp.state["fflags"], situation.case.fflags
        assert interp.state.snapshot() == entered
        interp.state["fflags"] = raised
        trap, _ = interp.run(1)
        return result(interp, trap)


def result(interp: Interpreter, trap: Trap | None) -> Result:
    trapped = None if trap is None else (trap.cause, trap.tval, trap.why)
    return Result.of(interp.state, interp.memory, trapped)


def enterable(variant: Variant) -> Variant:
    """The states made such as the mode promises: vstart is 0 unless it says otherwise."""
    vstart = {} if variant.elements == "vstart" else {"vstart": 0}
    return replace(
        variant,
        situations=tuple(
            Situation(replace(s.case, pc=TEXT, **vstart), s.words | {"units_off": 0})
            for s in variant.situations
        ),
    )


def region(variant: Variant, counts: bool) -> Region | None:
    """Native code for a variant, where the JIT compiles it."""
    case = variant.case
    interp = engine(case.config, counts)
    word = case.insn.encoding.encode(case.fields)
    interp.memory.write(TEXT, word.to_bytes(case.insn.length, "little"))
    variant.situations[0].establish(interp.state, interp.memory)
    mode = replace(Mode.of(interp.state), elements=variant.elements)
    plan: RegionPlan = discover(interp, TEXT, mode, limit=1)
    if not plan.blocks:
        return None
    jit = Jit(interp, counts=counts)
    return Region(variant, jit.compile(plan), jit)


def regions(
    insn: Insn, count: int, states: int, vlen: int, seed: int, *, counts: bool
) -> Iterator[Region]:
    """The first `count` variants that are compiled, if there are so many."""
    for attempt in range(VAIN_TRIES if insn.unit in INTERPRETED else TRIES):
        (variant,) = variants(insn, 1, states, vlen=vlen, seed=1000 * seed + attempt)
        found = region(enterable(variant), counts)
        if found is not None:
            yield found
            count -= 1
        if not count:
            return


def agree(
    insn: Insn, count: int, states: int, vlen: int, seed: int = 0, *, counts: bool = False
) -> None:
    compiled = 0
    for found in regions(insn, count, states, vlen_for(insn, vlen), seed, counts=counts):
        compiled += 1
        for situation in found.variant.situations:
            expected = found.reference(situation)
            assert_equal(found.variant, situation, expected, found.compiled(situation))
    assert compiled or insn.unit in INTERPRETED, f"{insn.name} is never compiled"


@pytest.mark.parametrize("insn", INSNS, ids=lambda insn: insn.name)
def test_a_compiled_instruction_does_what_the_reference_does(insn: Insn) -> None:
    # Segments are a quarter of all instructions, much alike.
    agree(insn, 1 if "segment" in insn.unit else 2, STATES, vlen=128)


@pytest.mark.parametrize("insn", ACCESSES, ids=lambda insn: insn.name)
def test_a_compiled_access_counts_its_bytes(insn: Insn) -> None:
    """They are part of the state; where native code refuses, it has counted nothing."""
    agree(insn, 1, STATES, vlen=128, seed=1, counts=True)


@pytest.mark.slow
@pytest.mark.parametrize("vlen", [128, 256, 512, 1024])
@pytest.mark.parametrize("insn", INSNS, ids=lambda insn: insn.name)
def test_a_compiled_instruction_does_so_at_length(insn: Insn, vlen: int) -> None:
    agree(insn, MANY_VARIANTS, MANY_STATES, vlen, seed=vlen)


def test_widening_raises_no_flag_before_a_region_is_left() -> None:
    """The host has no RMM: the region must be left before a signalling NaN is converted."""
    agree(isa().by_name["vfwmacc.vv"], 2, 12, vlen=256, seed=4)
