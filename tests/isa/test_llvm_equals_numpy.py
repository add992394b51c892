"""Every instruction, lowered by the LLVM back end, against the numpy back end.

Both lower the same program, so this tests nothing but the back ends.  A module, which is verified,
holds functions of one instruction only: LLVM's refusal then names it, and modules are cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.compile import link, object_code
from rvsim.hart.memory import PAGE, GuestFault, Memory
from rvsim.hart.state import SCALARS, State
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.ir.llvm import backend as llvm_backend
from rvsim.ir.llvm.engine import NativeModule, compile_module
from rvsim.ir.numpy.runtime import GuestTrap
from rvsim.ir.program import Program
from tests.harness import M64, PAGES, VECTOR_CSRS, Outcome, arguments, differences, engine, observe
from tests.isa.variants import Situation, Variant, supported, variants

pytestmark = pytest.mark.compiled

INSNS = list(supported())
STATES = 5
MANY_VARIANTS, MANY_STATES = 4, 8
SHOWN = 12
FAULT_CAUSE = {"load": 13, "store": 15}
TRAP_WORDS = ("trap_cause_plus_1", "trap_tval", "trap_why")
OTHER_WORDS = [name for name in SCALARS if name not in (*VECTOR_CSRS, *TRAP_WORDS)]

Trapped = tuple[int, int, str] | None
"""Cause, tval and rule of the trap that a run ended with, if it did."""


@dataclass(frozen=True, slots=True)
class Result:
    """All that a run left behind."""

    trap: Trapped
    snapshot: bytes
    outcome: Outcome
    words: dict[str, int]

    @staticmethod
    def of(state: State, memory: Memory, trap: Trapped) -> Result:
        words = {name: state[name] for name in OTHER_WORDS}
        outcome = observe(state, memory, None)
        return Result(trap, state.snapshot(), outcome, words)


# -- the two back ends


def mode_of(variant: Variant, state: State) -> Mode:
    """What the trace is made for; units that are off refuse instructions, and trace nothing."""
    return replace(Mode.of(state), elements=variant.elements, off=0)


def run_numpy(variant: Variant, situation: Situation, interpreter: Interpreter) -> Result:
    state, memory = interpreter.state, interpreter.memory
    situation.establish(state, memory)
    case = situation.case
    compiled = interpreter.binder.compiled(case.insn, case.fields, mode_of(variant, state))
    trap: Trapped = None
    try:
        compiled.function(*arguments(case, compiled.params))
    except GuestTrap as stop:
        trap = stop.cause, stop.tval, stop.why
    except GuestFault as stop:
        trap = FAULT_CAUSE[stop.access], stop.addr, f"{stop.access} page fault"
    return Result.of(state, memory, trap)


@dataclass(frozen=True, slots=True)
class Native:
    """A function of compiled code, and the texts that it counts the rules of traps by."""

    call: Callable[[State, Memory], int]
    whys: Sequence[str]

    def run(self, situation: Situation, interpreter: Interpreter) -> Result:
        state, memory = interpreter.state, interpreter.memory
        situation.establish(state, memory)
        trap: Trapped = None
        if self.call(state, memory):
            cause_plus_1, tval, why = (state[name] for name in TRAP_WORDS)
            trap = cause_plus_1 - 1, tval, self.whys[why]
        for name in TRAP_WORDS:
            state[name] = 0
        return Result.of(state, memory, trap)


def program_of(variant: Variant) -> Program:
    case = variant.case
    interpreter = engine(case.config)
    variant.situations[0].establish(interpreter.state, interpreter.memory)
    return interpreter.binder.program(case.insn, case.fields, mode_of(variant, interpreter.state))


def add(unit: llvm_backend.ModuleBuilder, variant: Variant, name: str) -> None:
    """Lower a variant; every operand field is an unsigned number of 64 bits."""
    case = variant.case
    fields = {field: value & M64 for field, value in case.fields.items()}
    unit.add(program_of(variant), name, fields=fields | {"pc": case.pc})


def lowered(batch: Sequence[Variant], opt: int) -> list[Native]:
    """The functions of some variants of one VLEN, as one module without optimisation passes."""
    unit = llvm_backend.ModuleBuilder(batch[0].case.vlen)
    for index, variant in enumerate(batch):
        add(unit, variant, f"f{index}")
    compiled = compile_module(unit.module, opt=opt)
    return [Native(compiled.function(f"f{index}"), unit.whys) for index in range(len(batch))]


def optimised(variant: Variant) -> Native:
    """The function as the JIT optimises it: no rule may lean on what LLVM leaves undefined."""
    unit = llvm_backend.ModuleBuilder(variant.case.vlen)
    add(unit, variant, "f")
    library = link(object_code(unit.module), "f")
    return Native(NativeModule(library.tracker, library).function("f"), unit.whys)


# -- comparison


def _differences(situation: Situation, expected: Result, got: Result) -> Iterator[str]:
    if expected.trap != got.trap:
        yield f"trap (cause, tval, why): expected {expected.trap}, got {got.trap}"
    yield from differences(situation.case, expected.outcome, got.outcome)
    for name, want in expected.words.items():
        if want != got.words[name]:
            yield f"{name}: expected {want:#x}, got {got.words[name]:#x}"


def assert_equal(variant: Variant, situation: Situation, expected: Result, got: Result) -> None:
    found = list(_differences(situation, expected, got))
    if found or expected.snapshot != got.snapshot:
        words = "  ".join(f"{name} {value:#x}" for name, value in situation.words.items())
        title = f"[{variant.elements}] {situation.case}\n  {words}"
        raise AssertionError(
            "\n  ".join([title, *(found[:SHOWN] or ["the bytes of the states differ"])])
        )


def agree(variant: Variant, native: Native) -> None:
    """Both back ends do the same in all states, and write nothing outside the mapped pages."""
    interpreter = engine(variant.case.config)
    for situation in variant.situations:
        expected = run_numpy(variant, situation, interpreter)
        assert_equal(variant, situation, expected, native.run(situation, interpreter))
    memory = interpreter.memory
    ends = [0, *(edge for page in PAGES for edge in (page, page + PAGE)), memory.size]
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        assert not memory.data[start:end].any(), f"a write from {start:#x} to {end:#x}"


def vlen_for(insn: Insn, wanted: int) -> int:
    return 256 if insn.unit == Unit.VMADOT else wanted


@pytest.mark.parametrize("insn", INSNS, ids=lambda insn: insn.name)
def test_llvm_equals_numpy(insn: Insn) -> None:
    plain, other = variants(insn, 2, STATES, vlen=vlen_for(insn, 128))
    agree(plain, *lowered([plain], opt=1))
    if "segment" not in insn.unit:  # a quarter of all instructions, much alike and slow to optimise
        agree(other, optimised(other))


@pytest.mark.slow
@pytest.mark.parametrize("vlen", [128, 256])
@pytest.mark.parametrize("insn", INSNS, ids=lambda insn: insn.name)
def test_llvm_equals_numpy_at_length(insn: Insn, vlen: int) -> None:
    batch = variants(insn, MANY_VARIANTS, MANY_STATES, vlen=vlen_for(insn, vlen), seed=vlen)
    for variant, native in zip(batch, lowered(batch, opt=0), strict=True):
        agree(variant, native)
        agree(variant, optimised(variant))
