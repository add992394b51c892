"""Operations that the host's floating point may do: what softfloat is compared with, and how.

A row alone in a call says whether the guard of the operation lets it pass; then all that do go
through it together, in long arrays, which NumPy computes with other code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rvsim import fp
from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.insn.decode import problems
from rvsim.insn.isa import isa
from rvsim.ir.float_operation import FloatOperation, RoundingMode
from rvsim.ir.numpy.backend import compile_python
from rvsim.ir.numpy.host import HOST, PatternsAndFlags
from rvsim.ir.program import Program
from rvsim.profiles import profile
from rvsim.vec.vtype import VType
from tests.isa.float_bench import Bench
from tests.isa.test_softfloat import CASES, IEEE, PYTHON_LANES, Case, Rows, arithmetic, check

PLAIN_ROWS = 600


def operations(program: Program) -> set[FloatOperation]:
    names = (v.attrs[0].name for v in program.values() if v.prim == "call")
    return {name.without_mode(RoundingMode.RNE) for name in names}


def rounding(case: Case, n: int) -> Bench:
    return Bench(case.body, case.sources, case.target, n=n, host=True)


CANDIDATES = [c for c in CASES if operations(rounding(c, 1).program) & HOST.keys()]


class Guard:
    """Counts what the operations of the table refuse and what they compute."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused, self.computed = 0, 0
        for name, operation in HOST.items():
            monkeypatch.setitem(HOST, name, self._counted(operation))

    def _counted(
        self, operation: Callable[..., PatternsAndFlags]
    ) -> Callable[..., PatternsAndFlags]:
        def run(*patterns: Any) -> PatternsAndFlags:
            outcome = operation(*patterns)
            self.refused += outcome is None
            self.computed += outcome is not None
            return outcome

        return run


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Guard:
    return Guard(monkeypatch)


def compare(case: Case, guard: Guard, rows: Rows) -> None:
    """Each row alone, computed or refused; then together all that were not refused."""
    one, many = rounding(case, 1), rounding(case, PYTHON_LANES)
    accepted = []
    for row in rows:
        before = guard.refused
        check(case, one, "numpy", [row], [case.oracle(*row, fp.RNE)], fp.RNE)
        if guard.refused == before:
            accepted.append(row)
    if guard.computed:
        before = guard.refused
        wanted = [case.oracle(*row, fp.RNE) for row in accepted]
        check(case, many, "numpy", accepted, wanted, fp.RNE)
        assert guard.refused == before


@pytest.mark.parametrize("case", CANDIDATES, ids=str)
def test_host_and_softfloat_together(case: Case, guard: Guard) -> None:
    rows = case.rows()
    compare(case, guard, rows[:: max(1, len(rows) // PLAIN_ROWS)])


@pytest.mark.slow
@pytest.mark.parametrize("case", CANDIDATES, ids=str)
def test_all_rows(case: Case, guard: Guard) -> None:
    compare(case, guard, case.rows())


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for n in IEEE for c in arithmetic(n, extra=30_000)], ids=str)
def test_many_random_operands(case: Case, guard: Guard) -> None:
    compare(case, guard, case.rows())


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CANDIDATES if c.sources == (16,)], ids=str)
def test_every_pattern_of_16_bits(case: Case, guard: Guard) -> None:
    compare(case, guard, [(x,) for x in range(1 << 16)])


TRUNCATIONS = [c for c in CANDIDATES if c.id.split("-")[-1].lstrip("u").startswith("i")]


@pytest.mark.parametrize("case", TRUNCATIONS, ids=str)
def test_truncation_to_integers(case: Case, guard: Guard) -> None:
    bench = Bench(case.body, case.sources, case.target, n=1, rm=fp.RTZ, host=True)
    rows = case.rows()
    for row in rows[:: max(1, len(rows) // PLAIN_ROWS)]:
        check(case, bench, "numpy", [row], [case.oracle(*row, fp.RTZ)], fp.RTZ)
    assert bool(guard.computed) == bool(operations(bench.program) & HOST.keys())


# -- when the host may compute


@pytest.mark.parametrize(
    ("operands", "mode", "computed"),
    [
        ([fp.F32.one, 0, 1, fp.F32.largest], fp.RNE, 1),
        ([fp.F32.one, 0, 1, fp.F32.infinity], fp.RNE, 0),
        ([fp.F32.one, 0, 1, fp.F32.nan], fp.RNE, 0),
        ([fp.F32.one, 0, 1, 2], fp.RUP, 0),
    ],
)
def test_one_lane_outside_the_guard_is_enough(
    guard: Guard, operands: list[int], mode: int, computed: int
) -> None:
    case = next(c for c in CASES if c.id == "f32-add")
    bench = rounding(case, 4)
    rows: Rows = [(a, fp.F32.one) for a in operands]
    check(case, bench, "numpy", rows, [case.oracle(*r, mode) for r in rows], mode)
    assert guard.computed == computed


def test_without_host_float_there_is_no_host_operation() -> None:
    program = rounding(next(c for c in CASES if c.id == "f32-add"), 4).program
    assert "host_operation" in compile_python(program)
    assert "host_operation" not in compile_python(program, host=False)


def test_scalars_are_left_to_softfloat() -> None:
    program = rounding(next(c for c in CASES if c.id == "f32-add"), 0).program
    assert "host_operation" not in compile_python(program)


INACTIVE = [0, fp.F32.infinity, fp.F32.nan, 0x7F800001, fp.F32.largest, 1, fp.F32.sign, 0xFFFFFFFF]


@pytest.mark.parametrize(
    "name", ["vfadd.vv", "vfmacc.vv", "vfdiv.vv", "vfsqrt.v", "vfcvt.x.f.v", "vfwcvt.f.f.v"]
)
def test_inactive_elements_neither_keep_the_host_away_nor_raise_flags(
    name: str, guard: Guard
) -> None:
    config = Config(extensions=profile("generic-rv64gcv").extensions)
    state = State(config.vlen)
    interpreter = Interpreter(config, state, Memory(1 << 16))
    state["vtype"], state["vl"] = VType(5, 0, True, True).encode(), 8
    state.vfile[:] = 0
    words = state.vfile.view("u4")
    words[:] = np.resize(np.array(INACTIVE, "u4"), len(words))
    state.vfile[0] = 0b10000000  # v0: the last element only
    words[8:][7::8] = fp.F32.one
    insn = isa().by_name[name]
    fields = {"vd": 8, "vs1": 4, "vs2": 6, "vm": 0}
    compiled = interpreter.binder.compiled(insn, fields, Mode.of(state))
    compiled.function(*(fields[p] for p in compiled.params))
    assert (guard.computed, guard.refused) == (1, 0)
    assert state["fflags"] == 0


# -- the names


def test_names_are_those_of_operations_that_instructions_have() -> None:
    config = Config(extensions=profile("generic-rv64gcv").extensions)
    interpreter = Interpreter(config, State(config.vlen), Memory(1 << 16))
    found: Counter[FloatOperation] = Counter()
    vtypes = [VType(sew_log2, 0, False, False) for sew_log2 in range(3, 7)]
    fields = {"vd": 8, "vs1": 16, "vs2": 24, "fs1": 1, "vm": 1}
    for insn in isa().insns:
        if not insn.vector or not insn.name.startswith("vf"):
            continue
        for vtype in vtypes:
            if problems(insn, fields, vtype, config):
                continue
            found.update(operations(interpreter.binder.program(insn, fields, Mode(vtype, "full"))))
    assert not HOST.keys() - found.keys()
