"""Every cycle is charged once; the cycle CSR, results and counters tell the same."""

from __future__ import annotations

import pytest

from rvsim.cost import describe, load_core
from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.cost.loops import assemble


@pytest.mark.parametrize("kernel", ["gemm_tile_s8", "gemm_tile_ime", "memops", "softmax_f16"])
def test_charges_add_up_to_the_cycles(kernel: str) -> None:
    machine = Machine(cost="x60")
    machine.load(build_kernel(kernel))
    result = machine.run(max_insns=30_000)
    assert machine.cost is not None
    assert result.cycle == machine.cycle > result.instret / 2
    assert sum(machine.cost.stalls.values()) == result.cycle
    by_place = [sum(reasons.values()) for _, reasons in machine.cost.sites()]
    assert sum(by_place) == result.cycle
    assert machine.cost.unknown == {}
    assert machine.cost.total == result.cycle


def test_the_cycle_csr_is_the_models() -> None:
    """Ten multiplications between two reads: one every three cycles, the last used after five.

    The first of them waits 13 cycles for the read before it.
    """
    source = f".globl main\nmain: csrr a0, cycle\n{'mul t0, t1, t2;' * 10}\ncsrr a1, cycle\nebreak"
    machine = Machine(cost="x60")
    machine.load(assemble(source))
    result = machine.run()
    assert result.x[11] - result.x[10] == 13 + 9 * 3 + 5
    assert result.cycle >= result.x[11]


def test_without_a_model_nothing_is_counted() -> None:
    machine = Machine()
    machine.load(build_kernel("memops"))
    result = machine.run(max_insns=1000)
    assert machine.cost is None
    assert (result.cycle, machine.state.arrays) == (result.instret, {})


def test_an_instruction_without_a_class_is_named() -> None:
    """The X60 has no vector cryptography: there is no number for it."""
    source = ".globl main\nmain: vsetivli t0, 4, e32, m1, ta, ma\nvsm4r.vv v8, v16\nebreak"
    machine = Machine("generic-rv64gcv", cost="x60")
    machine.load(assemble(f".option arch, +zvksed\n{source}"))
    machine.run()
    assert machine.cost is not None
    assert machine.cost.unknown == {"vsm4r.vv": 1}
    assert machine.cost.total is None


def test_other_numbers_give_other_cycles() -> None:
    source = f".globl main\nmain: {'mul t0, t0, t2;' * 10} ebreak"
    cycles = []
    for overrides in ([], ["scalar.mul.latency=9"]):
        machine = Machine(cost=load_core("x60", overrides))
        machine.load(assemble(source))
        cycles.append(machine.run().cycle)
    assert cycles[1] - cycles[0] == 10 * 4


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("l1d.siz=64K", "unknown number 'l1d.siz'", "l1d.size"),
        ("l1d.size=3", "l1d.size = 3 is not a whole number from 1024 to 16777216", None),
        ("l1d.size=48K", "l1d.size = 49152 is not a power of two", None),
        ("l1d.size=big", "l1d.size = 'big' is not a number", "64K"),
        ("l1d.size", "'l1d.size' sets nothing", "l1d.size=64K"),
        ("none.toml", "can't read none.toml", None),
        ("vset.to_vector=-1", "vset.to_vector = -1 is not a number from 0 to 10000", None),
    ],
)
def test_bad_numbers_are_refused_by_name(override: str, message: str, hint: str | None) -> None:
    with pytest.raises(RvsimError, match=message) as caught:
        load_core("x60", [override])
    assert hint is None or hint in (caught.value.hint or "")


def test_every_number_says_where_it_is_from() -> None:
    numbers = list(describe("x60"))
    assert len(numbers) > 100
    for name, _, source, confidence in numbers:
        assert source, name
        assert confidence in ("measured", "derived", "borrowed", "guessed"), name


def test_strided_accesses_touch_only_their_lines() -> None:
    """Four elements 4 KB apart: four lines, and those that the prefetcher may have added."""
    source = """.globl main
    main: la a0, data; li a1, 4096; vsetivli t0, 4, e8, m1, ta, ma; vlse8.v v8, (a0), a1; ebreak
    .data; .balign 4096; data: .zero 32768"""
    machine = Machine(cost="x60")
    machine.load(assemble(source))
    machine.run()
    assert machine.image is not None
    data = machine.image.symbols.address("data")
    assert data is not None
    lines = {(line - 1) * 64 - data for line in machine.state.arrays["l1d_line"] if line}
    assert lines & set(range(0, 32768)) == {0, 4096, 8192, 12288}


def test_a_core_that_there_is_not() -> None:
    with pytest.raises(RvsimError, match="unknown core 'x61'") as caught:
        load_core("x61")
    assert caught.value.hint == "did you mean 'x60'?"
