"""An environment of one's own: a function of a kernel, called with arrays from Python."""

from __future__ import annotations

import numpy as np
import pytest

from rvsim.hart.memory import R, W
from rvsim.hart.traps import Trap
from rvsim.machine import Ending, Environment, Hart, Machine
from tests.cost.loops import assemble

BACK = 0x1000 - 8  # nothing is mapped there: the function returns into a trap
STACK, ARRAYS = 0x100_0000, 0x200_0000

SUM = """
    .globl main, total
main: ebreak
total: li t0, 0                 # total(int32_t *a, size_t n)
1:  beqz a1, 2f
    lw t1, 0(a0); addw t0, t0, t1; sw t0, 0(a0)
    addi a0, a0, 4; addi a1, a1, -1; j 1b
2:  mv a0, t0
    ret
"""


class Call(Environment):
    """The call of a function: integers go into registers, an array by its address."""

    def __init__(self, function: int, *arguments: int) -> None:
        self.function, self.arguments = function, arguments

    def start(self, hart: Hart) -> None:
        hart.state.x[1], hart.state.x[2], hart.state["pc"] = BACK, STACK, self.function
        for number, argument in enumerate(self.arguments):
            hart.state.x[10 + number] = argument

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        return Ending("exit", 0) if trap.pc == BACK else super().trapped(hart, trap)


@pytest.mark.parametrize("engine", ["numpy", "jit"])
def test_a_function_is_called_with_an_array(engine: str) -> None:
    machine = Machine(engine=engine)  # type: ignore[arg-type]
    machine.load(assemble(SUM))
    machine.memory.map(ARRAYS, 1 << 20, R | W)
    assert machine.image is not None
    function = machine.image.symbols.address("total")
    assert function is not None
    for n in (0, 5, 1000):
        a = np.arange(n, dtype=np.int32)
        machine.memory.write(ARRAYS, a.tobytes())
        machine.enter(Call(function, ARRAYS, n))
        assert machine.run().reason == "exit"
        assert machine.state.x[10] == a.sum()
        back = np.frombuffer(machine.memory.read(ARRAYS, a.nbytes), np.int32)
        assert (back == a.cumsum()).all()


def test_a_trap_within_the_call_is_told() -> None:
    machine = Machine()
    machine.load(assemble(SUM))
    assert machine.image is not None
    machine.enter(Call(machine.image.symbols.address("total") or 0, 8, 1))
    result = machine.run()
    assert result.trap is not None
    assert (result.reason, result.trap.tval) == ("trap", 8)
