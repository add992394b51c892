"""A run that is interrupted stops between instructions."""

from __future__ import annotations

import pytest

from rvsim.engine.jit.engine import Jit
from tests.program.bare import Bare, assemble, step


@pytest.mark.parametrize("compiled", [False, True])
def test_a_noted_interrupt_ends_an_endless_loop(compiled: bool) -> None:
    bare = Bare(assemble([step("jal", rd=0, imm=0)]))
    if compiled:
        bare.interp.jit = Jit(bare.interp, 1)
    bare.run(100)
    bare.interp.interrupted = True
    trap, left = bare.interp.run(1 << 62)
    assert trap is None
    assert bare.state["instret"] == 100 + (1 << 62) - left
    assert bare.interp.run(10) == (None, 0)
