"""Runs that stop at addresses: before the instruction there, on both engines, natively between."""

from __future__ import annotations

import pytest

from rvsim.engine.jit.engine import Jit
from rvsim.machine import Machine
from tests.cost.loops import assemble
from tests.program.bare import Bare, step
from tests.program.bare import assemble as words

pytestmark = pytest.mark.compiled

LOOP = """
    .globl main
main: li s0, 3000
outer: li s1, 20
inner: addi s2, s2, 1
    addi s1, s1, -1
    bnez s1, inner
middle: addi s3, s3, 1
    addi s0, s0, -1
    bnez s0, outer
    li a0, 0
    li a7, 93
last: ecall
"""


def machine(engine: str, **options: object) -> Machine:
    made = Machine(engine=engine, cache=False, **options)
    made.load(assemble(LOOP))
    return made


def address(of: Machine, name: str) -> int:
    assert of.image is not None
    found = of.image.symbols.address(name)
    assert found is not None
    return found


@pytest.mark.parametrize("cost", [None, "x60"])
@pytest.mark.parametrize("engine", ["numpy", "jit"])
def test_a_run_stops_before_each_visit_and_ends_as_without(engine: str, cost: str | None) -> None:
    whole = machine(engine, cost=cost).run()
    stopped = machine(engine, cost=cost)
    middle, visits, unseen = address(stopped, "middle"), 0, 0
    while True:
        result = stopped.run(until=[middle])
        if result.reason != "stop":
            break
        visits += 1
        assert (stopped.state["pc"], stopped.state.x[19]) == (middle, visits + unseen - 1)
        if visits == 50:
            stopped.run(max_insns=1000)
            unseen = stopped.state.x[19] - visits
    assert visits + unseen == 3000
    assert (result.exit_code, result.instret, result.cycle) == (0, whole.instret, whole.cycle)


def test_what_lies_between_stops_runs_natively() -> None:
    hart = machine("jit")
    hart.interp.jit = Jit(hart.interp, 1)
    last = address(hart, "last")
    result = hart.run(until=[last])
    assert (result.reason, hart.state["pc"]) == ("stop", last)
    interpreted = sum(count for _, _, count, _ in hart.interp.interpreted())
    assert interpreted * 10 < result.instret


def test_stops_come_and_go_within_native_code() -> None:
    """A region that covers the stop is left, and found again when the stop is gone."""
    hart = machine("jit")
    hart.interp.jit = Jit(hart.interp, 1)
    inner, middle = address(hart, "inner"), address(hart, "middle")
    hart.run(max_insns=30_000)
    for stop in (middle, inner, middle):
        for _ in range(30):
            assert hart.run(until=[stop]).reason == "stop"
            assert hart.state["pc"] == stop
    before = hart.state["instret"]
    assert hart.run(max_insns=30_000).reason == "max_insns"
    assert hart.state["instret"] == before + 30_000
    assert hart.run().exit_code == 0


def test_a_stop_after_a_trap_that_was_handled() -> None:
    """The instruction after a system call; the call itself retires nothing."""
    made = Machine(cache=False)
    made.load(assemble(".globl main\nmain: li a7, 172\ncall: ecall\nafter: li a7, 93\necall"))
    after = address(made, "after")
    assert made.run(until=[after]).reason == "stop"
    assert made.state["pc"] == after
    assert made.run(until=[after]).reason == "exit"


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_of_one_instruction_stops_at_itself(compiled: bool) -> None:
    bare = Bare(words([step("addi", rd=1, rs1=1, imm=1), step("jal", rd=0, imm=0)]))
    if compiled:
        bare.interp.jit = Jit(bare.interp, 1)
    pc = bare.state["pc"] + 4
    bare.interp.stop_at([pc])
    assert bare.interp.run(100) == (None, 99)
    for left in (9, 8):
        assert bare.interp.run(left + 1) == (None, left)
    bare.interp.stop_at([])
    assert bare.interp.run(1000) == (None, 0)


def test_an_observer_ends_the_run() -> None:
    from rvsim.engine.observer import Batches

    made = Machine(cost="x60", cache=False, observers=[Batches(lambda batch: made.stop())])
    made.load(assemble(LOOP))
    result = made.run()
    assert (result.reason, result.exit_code) == ("stop", 0)
    assert 0 < result.instret < 100_000
    assert made.run(max_insns=10).reason in ("max_insns", "stop")
