"""A row for each instruction: its times, its waits and what it touched."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from rvsim.cost.batch import Batch
from rvsim.cost.rows import ROW_DTYPE, Row, each_row
from rvsim.engine.observer import Batches
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.cli.programs import A0, A1, A2, E8_M1, FOREVER, elf, exit_with, li, vset
from tests.program.bare import DATA, Step, load_upper, step

E32_M1 = 0b11_010_000


def timed(program: object, max_insns: int = 100) -> list[Row]:
    """The rows of a run, which add up to what the cost model says."""
    batches: list[Batch] = []
    machine = Machine(cost="x60", observers=[Batches(batches.append)])
    machine.load(program)  # type: ignore[arg-type]
    result = machine.run(max_insns=max_insns)
    assert machine.cost is not None
    rows = [row for batch in batches for _, row in each_row(batch)]
    assert sum(row.cycles for row in rows) == result.cycle
    assert _charges(rows) == machine.cost.stalls
    by_place = {pc: sum(reasons.values()) for pc, reasons in machine.cost.sites()}
    assert {pc: n for pc, n in _by_place(rows).items() if n} == by_place
    return rows


def _charges(rows: list[Row]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        for _, reason, cycles in row.charges():
            found[reason] += cycles  # type: ignore[assignment]
    return found


def _by_place(rows: list[Row]) -> Counter[int]:
    found: Counter[int] = Counter()
    for row in rows:
        for pc, _, cycles in row.charges():
            found[pc] += cycles  # type: ignore[assignment]
    return found


def steps(*these: Step) -> list[Row]:
    return timed(elf([*these, *exit_with(0)], bytes(64)))


@pytest.mark.parametrize("kernel", ["gemm_tile_ime", "softmax_f16"])
def test_rows_follow_each_other_without_a_gap(kernel: str) -> None:
    rows = timed(build_kernel(kernel), 3000)
    assert len([row for row in rows if not row.trapped]) == 3000
    for row in rows:
        assert row.before <= row.issue <= row.start <= row.done
    for before, after in pairwise(rows):
        assert after.before == before.issue + before.lost


def test_a_result_that_is_waited_for() -> None:
    """A load takes 3 cycles, and the X60 issues two instructions in one."""
    load, use, other = steps(
        load_upper(A1, DATA),
        step("lb", rd=A0, rs1=A1, imm=3),
        step("addi", rd=A2, rs1=A0, imm=0),
        li(5, 1),
    )[1:4]
    assert (load.addr, load.size) == (DATA + 3, 1)
    assert load.done - load.issue > 3  # it misses L1
    assert use.issue == load.done
    assert (use.reason, use.charged) == (b"mem:dram", use.pc)
    assert (other.issue, other.cycles) == (use.issue, 0)


def test_a_vector_instruction_begins_behind_its_operand() -> None:
    first, second = steps(
        vset(E8_M1),
        step("vadd.vv", vm=1, vs2=8, vs1=9, vd=10),
        step("vadd.vv", vm=1, vs2=10, vs1=9, vd=11),
    )[1:3]
    assert second.issue == first.issue + 1
    assert second.start > second.issue
    assert (first.vl, first.vtype) == (31, E8_M1)


def test_an_ecall_has_a_row_but_does_not_retire() -> None:
    *_, last, call = steps()
    assert (last.trapped, call.trapped) == (False, True)
    assert call.instret == last.instret + 1 == 2


def test_an_instruction_that_the_model_does_not_know_takes_no_time() -> None:
    program = elf([vset(E32_M1, avl=4), step("vaesz.vs", vs2=8, vd=12), *exit_with(0)])
    machine = Machine("generic-rv64gcv", isa="rv64gcv_zvkned", cost="x60", trace=True)
    machine.load(program)
    first, second = (Row(*row) for row in machine.run().trace()[:2].tolist())
    assert (second.cycles, second.issue) == (0, first.issue)


def test_a_run_that_is_traced_has_a_row_for_each_instruction() -> None:
    machine = Machine(cost="x60", trace=True)
    machine.load(elf([FOREVER]))
    rows = machine.run(max_insns=5000).trace()
    assert rows["instret"].tolist() == list(range(5000))
    assert sum(rows[name].sum() for name in ("fetch", "slot", "wait", "lost")) == machine.cycle


def test_times_need_a_cost_model() -> None:
    with pytest.raises(RvsimError, match="no times without a cost model"):
        Machine(trace=True)


@pytest.mark.parametrize(
    ("trace", "numbers"),
    [
        (range(5), [0, 1, 2, 3, 4]),
        (range(-3, 2), [0, 1]),
        (range(18, 1 << 70), [18, 19]),
        (range(7, 3), []),
        (range(1 << 70, 1 << 71), []),
    ],
)
def test_any_range_of_a_run(trace: range, numbers: list[int]) -> None:
    machine = Machine(cost="x60", trace=trace)
    machine.load(elf([FOREVER]))
    machine.run(max_insns=15)
    assert machine.run(max_insns=5).trace()["instret"].tolist() == numbers


@pytest.mark.parametrize("trace", [None, 0, 1, (0, 10), slice(0, 10), "all"])
def test_what_is_no_range_is_refused(trace: object) -> None:
    with pytest.raises(RvsimError, match="there is no trace="):
        Machine(cost="x60", trace=trace)  # type: ignore[arg-type]


def test_a_run_that_is_not_traced_says_so() -> None:
    machine = Machine(cost="x60")
    machine.load(elf(exit_with(0)))
    with pytest.raises(RvsimError, match="nothing was traced"):
        machine.run().trace()


def test_rows_as_tables() -> None:
    machine = Machine(cost="x60", trace=range(1000, 2000))
    machine.load(build_kernel("softmax_f16"))
    result = machine.run(max_insns=3000)
    rows, frame, table = (result.trace(form) for form in ("numpy", "pandas", "pyarrow"))  # type: ignore[arg-type]
    assert rows["instret"].tolist() == list(range(1000, 2000))
    for name in rows.dtype.names:
        values = [v.decode() if isinstance(v, bytes) else v for v in rows[name].tolist()]
        assert frame[name].tolist() == values
        assert table[name].to_pylist() == values
    waited = frame.groupby("reason", observed=True)["wait"].sum()
    assert waited["raw:alu"] == rows["wait"][rows["reason"] == b"raw:alu"].sum() > 0


def test_rows_are_a_numpy_record() -> None:
    rows = steps(li(A0, 1))
    table = np.array(rows, ROW_DTYPE)
    assert table.dtype.names == Row._fields
    assert [Row(*values) for values in table.tolist()] == rows
