"""Some of the tests of compiled code, on hosts with fewer instructions than this one may have.

``RVSIM_HOST=NAME pytest -m compiled`` runs all of them for one host.
"""

from __future__ import annotations

import pytest

from rvsim.host.processor import GENERIC, VARIABLE, usable_hosts
from rvsim.insn.registry import Insn
from tests.isa.test_jit_equals_numpy import INSNS, agree
from tests.program.test_fuzz import fuzz_all
from tests.program.test_jit import compare_loop
from tests.program.test_jit_fuzz import compare

HOSTS = [name for name in ("x86-64-v3", "x86-64-v2") if name in usable_hosts()] or [GENERIC]
STRIDE = 12


@pytest.fixture(params=HOSTS)
def smaller(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, request.param)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("insn", INSNS[::STRIDE], ids=lambda insn: insn.name)
def test_a_compiled_instruction_does_what_the_reference_does(insn: Insn) -> None:
    agree(insn, 1, 4, vlen=256, seed=STRIDE)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("name", ["vaesef.vs", "vaesdm.vv", "vaeskf1.vi", "vaeskf2.vi", "vsm4r.vs"])
def test_a_table_is_looked_up_in_parts(name: str) -> None:
    """S-boxes of 256 bytes; they are compiled where the host can look them up at once."""
    (insn,) = (insn for insn in INSNS if insn.name == name)
    agree(insn, 2, 4, vlen=256, seed=2)


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("name", ["vssub.vx", "vmerge.vvm", "vrol.vv", "vsll.vv", "vfmadd.vv"])
@pytest.mark.parametrize("vlen", [128, 1024])
def test_masks_of_many_lanes_and_shifts_by_lanes(name: str, vlen: int) -> None:
    (insn,) = (insn for insn in INSNS if insn.name == name)
    agree(insn, 3, 4, vlen=vlen, seed=7)


@pytest.mark.usefixtures("smaller")
def test_random_programs_end_the_same() -> None:
    fuzz_all(range(4600, 4700), compare)
    fuzz_all(range(20, 24), compare_loop)
    fuzz_all(range(56, 58), compare_loop)
