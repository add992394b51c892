"""A machine that nobody holds goes, with its hundreds of gigabytes of address space."""

from __future__ import annotations

import gc
import weakref

import pytest

from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.program.bare_images import build


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "numpy"},
        {"cache": False},
        {"cost": "x60"},
        {"cost": "x60", "trace": True, "engine": "numpy"},
        {"statistics": True},
    ],
    ids=str,
)
def test_a_machine_is_freed(options: dict[str, object]) -> None:
    machine = Machine(**options)
    machine.load(build_kernel("gemm_tile_s8"))
    machine.run(max_insns=3000)
    memory, machine_itself = weakref.ref(machine.memory), weakref.ref(machine)
    del machine
    gc.collect()
    assert (memory(), machine_itself()) == (None, None)


def test_one_on_bare_metal_is_freed_too() -> None:

    machine = Machine("generic-rv64gcv")
    machine.load(build("1: j 1b"))
    machine.run(max_insns=100)
    machine_itself = weakref.ref(machine)
    del machine
    gc.collect()
    assert machine_itself() is None
