"""Bytes of instructions against what the engines count, and roofs of other machines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rvsim.cost import load_core
from rvsim.engine.traffic import Traffic
from rvsim.machine import Machine
from rvsim.perf import memory_roofs, point, profile, unit_roofs
from tests.cli.programs import A0, A1, E8_M1, E8_M2, elf, exit_with, vset
from tests.program.bare import DATA, Step, load_upper, step

V1, V8 = 1, 8

ACCESSES: dict[str, Sequence[Step]] = {
    "lb": [step("lb", rd=A0, rs1=A1, imm=0)],
    "sd": [step("sd", rs1=A1, rs2=A0, imm=0)],
    "flw": [step("flw", fd=1, rs1=A1, imm=4)],
    "vle8": [vset(E8_M2, 31), step("vle8.v", vd=V8, rs1=A1, vm=1)],
    "vle8 of vl 0": [vset(E8_M2, 0), step("vle8.v", vd=V8, rs1=A1, vm=1)],
    "vse16 at e8": [vset(E8_M1, 5), step("vse16.v", vs3=V8, rs1=A1, vm=1)],
    "vlseg3e8": [vset(E8_M1, 7), step("vlseg3e8.v", vd=V8, rs1=A1, vm=1)],
    "vlse32": [vset(E8_M1, 3), step("vlse32.v", vd=V8, rs1=A1, rs2=0, vm=1)],
    "vluxei8": [vset(E8_M1, 9), step("vluxei8.v", vd=V8, rs1=A1, vs2=V1, vm=1)],
    "vl2re8": [step("vl2re8.v", vd=V8, rs1=A1)],
    "vlm": [vset(E8_M1, 16), step("vlm.v", vd=V8, rs1=A1)],
}


@pytest.mark.parametrize("name", ACCESSES)
def test_bytes_are_those_that_the_engine_counts(name: str) -> None:
    machine = Machine(cost="x60", statistics=True)
    machine.load(elf([load_upper(A1, DATA), *ACCESSES[name], *exit_with(0)], bytes(256)))
    assert machine.run().exit_code == 0
    counted = Traffic.of(machine.state)
    total = counted.scalar_read + counted.scalar_written
    total += counted.vector_read + counted.vector_written
    assert point(profile(machine)).moved_bytes == total
    assert total > 0 or name.endswith("of vl 0")


def test_there_is_no_ime_at_another_vlen() -> None:
    """Registers twice as long take twice as many steps: rates stay as they are."""
    core = load_core("x60")
    assert [r.name for r in unit_roofs(core, 512, [16])] == ["vector e16"]
    assert unit_roofs(core, 512, [16]) == unit_roofs(core, 256, [16])[1:]
    assert memory_roofs(core, 512) == memory_roofs(core, 256)


def test_roofs_of_memories_follow_the_numbers_of_the_core() -> None:
    core = load_core("x60", ["l2.fill=8", "dram.read=32"])
    assert [(r.name, r.rate) for r in memory_roofs(core, 256)[1:]] == [("L2", 8.0), ("DRAM", 2.0)]
