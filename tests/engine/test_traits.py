"""Every legal combination of code traits gives the results and cycles of a plain run."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from rvsim.engine.jit.cache import RegionCache
from rvsim.engine.observer import Batches, Observer, Statistics
from rvsim.engine.traits import CodeTraits
from rvsim.machine import Machine
from tests.cost.loops import assemble

pytestmark = pytest.mark.compiled

PROGRAM = """
    .globl main
main: la s1, data; li s0, 300
1:  vsetvli t0, zero, e16, m2, ta, ma
    vle16.v v8, (s1); vadd.vv v10, v8, v10; vse16.v v10, (s1)
    ld t1, 8(s1); addi t1, t1, 3; sd t1, 16(s1); mul t2, t1, s0; add s2, s2, t2
    andi t3, s0, 7; bnez t3, 2f; xor s2, s2, s0
2:  addi s0, s0, -1; bnez s0, 1b
    andi a0, s2, 127; li a7, 93; ecall
    .data; .balign 64
data: .zero 4096
"""

LEGAL = [
    (timing, records, counts)
    for timing, records, counts in product((False, True), repeat=3)
    if timing or not records
]


def run(timing: bool, records: bool, counts: bool, *, engine: str) -> tuple[object, ...]:
    seen: list[int] = []
    observers: list[Observer] = [Statistics()] if counts else []
    if records:
        observers.append(Batches(lambda batch: seen.append(len(batch.rows))))
    machine = Machine(
        engine=engine, cost="x60" if timing else None, cache=False, observers=observers
    )
    machine.load(assemble(PROGRAM))
    jit = machine.interp.jit
    if jit is not None:
        jit.threshold = 1  # type: ignore[attr-defined]
    result = machine.run()
    if records:
        assert sum(seen) == result.instret + 1  # the ecall, too
    assert jit is None or jit.regions  # type: ignore[attr-defined]
    return result.exit_code, result.instret, result.x, result.v, result.cycle if timing else None


@pytest.mark.parametrize(("timing", "records", "counts"), LEGAL)
def test_a_run_is_that_of_plain_code(timing: bool, records: bool, counts: bool) -> None:
    plain = run(False, False, False, engine="numpy")
    timed = run(True, False, False, engine="numpy")
    found = run(timing, records, counts, engine="jit")
    assert found[:4] == plain[:4]
    assert found[4] == (timed[4] if timing else None)


def test_records_without_times_are_illegal() -> None:
    with pytest.raises(ValueError, match="need a core"):
        CodeTraits(records=True)


def test_each_combination_has_a_place_of_its_own_in_the_cache(tmp_path: Path) -> None:
    config = Machine(memory_size=1 << 16).config
    places = {
        RegionCache(tmp_path, config, "source", CodeTraits("x60" if t else "", r, c))._folder
        for t, r, c in LEGAL
    }
    assert len(places) == len(LEGAL)
