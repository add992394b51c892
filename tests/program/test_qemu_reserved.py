"""What QEMU does where a register is a source with two EEWs, as docs/limitations.md tells it."""

from __future__ import annotations

from pathlib import Path
from signal import SIGILL

import pytest

from rvsim.machine import Machine
from tests.cli.programs import E8_M1, elf, exit_with, vset
from tests.program.bare import Step, step
from tests.qemu import run_qemu

pytestmark = pytest.mark.qemu

CPU = "generic-rv64gcv"
EXECUTED: dict[str, Step] = {
    "comparison": step("vmseq.vv", vd=8, vs2=0, vs1=4, vm=0),
    "carry": step("vadc.vvm", vd=8, vs2=0, vs1=4),
    "reduction": step("vwredsum.vs", vd=2, vs2=30, vs1=30, vm=1),
    "compress": step("vcompress.vm", vd=8, vs2=4, vs1=4),
    "store of v0": step("vse8.v", vs3=0, rs1=2, vm=0),
}
REFUSED: dict[str, Step] = {
    "gather": step("vrgatherei16.vv", vd=8, vs2=4, vs1=4, vm=1),
    "widening": step("vwadd.wv", vd=8, vs2=4, vs1=4, vm=1),
    "mask as data": step("vadd.vv", vd=4, vs2=0, vs1=8, vm=0),
}


@pytest.mark.parametrize("use", [*EXECUTED, *REFUSED])
def test_qemu_refuses_most_sources_with_two_eews(use: str, tmp_path: Path) -> None:
    path = tmp_path / "two_eews.elf"
    insn = EXECUTED.get(use) or REFUSED[use]
    path.write_bytes(elf([vset(E8_M1), insn, *exit_with(0)]))
    path.chmod(0o755)
    assert run_qemu(path, 256).returncode == (0 if use in EXECUTED else -SIGILL)
    for reserved, code in (("trap", 128 + SIGILL), ("allow", 0)):
        machine = Machine(CPU, vlen=256, reserved=reserved, memory_size=1 << 26)
        machine.load(path)
        assert machine.run().exit_code == code
