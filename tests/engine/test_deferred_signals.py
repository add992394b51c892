"""Signals come between instructions: a run that goes on behind one is as if there had been none."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest

from rvsim.host.deferred_signals import InterruptsLater
from rvsim.machine import Machine
from tests.cli.programs import A0, A1, elf
from tests.program.bare import DATA, load_upper, step

BODY = [
    part
    for _ in range(20)
    for part in (step("ld", rd=5, rs1=A1, imm=0), step("mul", rd=A0, rs1=A0, rs2=5))
]
PROGRAM = elf(
    [
        load_upper(A1, DATA),
        *BODY,
        step("jal", rd=0, imm=-4 * len(BODY)),
    ]
)
LIMIT = 100_000


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """A job in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_is_kept_and_a_second_one_is_not() -> None:
    done: list[int] = []

    def work() -> None:
        with InterruptsLater():
            for n in (1, 2):
                signal.raise_signal(signal.SIGINT)
                done.append(n)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_that_go_on_are_called_once() -> None:
    called: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    with InterruptsLater():
        signal.raise_signal(signal.SIGINT)
        assert not called
    assert called == [signal.SIGINT]


@pytest.mark.parametrize("engine", ["numpy", "jit"])
def test_a_run_goes_on_where_it_was_interrupted(engine: str) -> None:
    expected = Machine(engine=engine, cost="x60", trace=True)
    expected.load(PROGRAM)
    end = expected.run(max_insns=LIMIT)
    machine = Machine(engine=engine, cost="x60", trace=True)
    machine.load(PROGRAM)
    before = signal.signal(signal.SIGVTALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    interrupts = 0
    try:
        while True:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)  # of work
            try:
                result = machine.run(max_insns=LIMIT - machine.state["instret"])
                break
            except KeyboardInterrupt:
                interrupts += 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert interrupts
    assert (result.x, result.instret, result.cycle) == (end.x, end.instret, end.cycle)
    assert np.array_equal(result.trace(), end.trace())
