"""The guest programs of ``tools/bench.py``: QEMU and both engines print the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rvsim.machine import Machine
from tests.qemu import run_qemu
from tools.benchmarks.programs import PROGRAMS, WORKLOADS, Program

ROUNDS = "3"
FILES = [p for p in PROGRAMS if p.file]


@pytest.mark.qemu
@pytest.mark.parametrize("workload", FILES, ids=lambda p: p.name)
def test_checksums_are_those_of_qemu(workload: Program, tmp_path: Path) -> None:
    elf = workload.build(tmp_path)
    expected = run_qemu(elf, 256, args=[ROUNDS]).stdout
    assert expected.startswith("PASS checksum 0x")
    for engine in ("numpy", "jit"):
        machine = Machine(vlen=256, engine=engine)
        machine.load(elf, argv=[elf.name, ROUNDS])
        result = machine.run(max_insns=10_000_000)
        assert (result.reason, result.stdout.decode()) == ("exit", expected)


def test_every_file_is_measured() -> None:
    assert {p.name for p in WORKLOADS.glob("*.[cS]")} == {p.file for p in FILES}
