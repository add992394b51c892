"""Random vector programs under rvsim and QEMU: the same memory, registers and CSRs at the end.

Where the specification leaves a choice, both are told to make the same one; `KEPT_BY_QEMU` lists
where QEMU does not.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from rvsim.config import Config, VlPolicy
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.vector_programs import (
    Program,
    legal_block,
    make_element_group_program,
    make_fault_only_first_program,
    make_program,
    output_differences,
    random_vtype,
    vector_insns,
)
from tests.qemu import require_qemu

pytestmark = pytest.mark.qemu

CPU = "generic-rv64gcv"
VLENS = (128, 256, 512, 1024)
BLOCKS = 60
LIMIT = 10_000


@pytest.fixture(autouse=True)
def _qemu() -> None:
    require_qemu()


@dataclass(frozen=True)
class Variant:
    """The same choices for both machines."""

    name: str
    qemu: str = ""
    agnostic: Literal["undisturbed", "ones"] = "undisturbed"
    vl_policy: VlPolicy = "max"

    def config(self, vlen: int) -> Config:
        return make_config(CPU, vlen=vlen, agnostic=self.agnostic, vl_policy=self.vl_policy)


UNDISTURBED = Variant("undisturbed")
ONES = Variant("ones", ",rvv_ta_all_1s=true,rvv_ma_all_1s=true", agnostic="ones")
HALF = Variant("half", ",rvv_vl_half_avl=true", vl_policy="half")

variants = pytest.mark.parametrize("variant", [UNDISTURBED, ONES, HALF], ids=lambda v: v.name)
vlens = pytest.mark.parametrize("vlen", VLENS)


@dataclass(frozen=True)
class Kept:
    """An instruction whose tail QEMU leaves alone though told to make agnostic elements ones.

    The specification lets an implementation choose so for each element (V 3.4.3); rvsim fills.
    """

    name: str
    why: str


KEPT_BY_QEMU = (
    Kept("vmv.s.x", "V 16.1: elements past 0 are tail; QEMU writes element 0 only"),
    Kept("vfmv.s.f", "V 16.2: the same"),
)
_KEPT = frozenset(kept.name for kept in KEPT_BY_QEMU)


def program(variant: Variant, vlen: int, seed: int, blocks: int = BLOCKS) -> Program:
    def allowed(insn: Insn, vtype: VType) -> bool:
        return not (variant is ONES and vtype.vta and insn.name in _KEPT)

    return make_program(variant.config(vlen), seed, blocks, allowed)


def element_group_program(variant: Variant, vlen: int, seed: int) -> Program:
    def allowed(insn: Insn, vtype: VType) -> bool:
        # Zvknh asks only that LMUL * VLEN holds an element group; QEMU refuses LMUL below 1.
        return insn.unit is not Unit.VSHA2 or vtype.lmul_log2 >= 0

    return make_element_group_program(variant.config(vlen), seed, BLOCKS, allowed)


def run_rvsim(elf: bytes, variant: Variant, vlen: int) -> bytes:
    """What the program wrote, or how else it ended."""
    machine = Machine(
        CPU,
        vlen=vlen,
        agnostic=variant.agnostic,
        vl_policy=variant.vl_policy,
        memory_size=1 << 26,
    )
    machine.load(elf)
    result = machine.run(max_insns=LIMIT)
    if (result.reason, result.exit_code) != ("exit", 0):
        return f"rvsim ended by {result.trap or result.reason}".encode()
    return result.stdout


def run_qemu(elf: bytes, variant: Variant, vlen: int, folder: Path) -> bytes:
    """What the program wrote, or how else it ended."""
    path = folder / "program.elf"
    path.write_bytes(elf)
    path.chmod(0o755)
    done = subprocess.run(
        [require_qemu(), "-cpu", f"max,vlen={vlen}{variant.qemu}", str(path)],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        return f"QEMU ended with {done.returncode}: ".encode() + done.stderr
    return done.stdout


def first_difference(made: Program, variant: Variant, folder: Path) -> Iterator[str]:
    """The first block after which the two machines differ, and what then differs."""
    vlen = made.config.vlen
    for count in range(1, len(made.blocks) + 1):
        elf = made.elf(count)
        ours, theirs = run_rvsim(elf, variant, vlen), run_qemu(elf, variant, vlen, folder)
        if ours == theirs:
            continue
        done = made.blocks[:count]
        vset = next((b for b in reversed(done) if b[-1].name.startswith("vset")), ())
        yield f"VLEN {vlen}, {variant.name}, seed {made.seed}, after block {count}:"
        yield from (f"  {s}" for s in (*vset, *(done[-1] if done[-1] is not vset else ())))
        for step in vset[-1:]:
            yield f"  vtype {VType.decode(step.fields.get('vtypei', 0))}"
        yield "rvsim | QEMU"
        yield from output_differences(made.config, ours, theirs)
        return
    yield "the difference is gone when the program is written out earlier"


def assert_same(made: Program, variant: Variant, folder: Path) -> None:
    elf, vlen = made.elf(), made.config.vlen
    if run_rvsim(elf, variant, vlen) != run_qemu(elf, variant, vlen, folder):
        pytest.fail("\n".join(first_difference(made, variant, folder)), pytrace=False)


@pytest.mark.parametrize("part", range(2))
@variants
@vlens
def test_random_programs_end_as_in_qemu(
    vlen: int, variant: Variant, part: int, tmp_path: Path
) -> None:
    for seed in range(9 * part, 9 * part + 9):
        assert_same(program(variant, vlen, seed), variant, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@variants
@vlens
def test_many_random_programs_end_as_in_qemu(
    vlen: int, variant: Variant, part: int, tmp_path: Path
) -> None:
    first = 1000 + 25 * part
    for seed in range(first, first + 25):
        assert_same(program(variant, vlen, seed), variant, tmp_path)


@variants
@vlens
def test_vector_cryptography_ends_as_in_qemu(vlen: int, variant: Variant, tmp_path: Path) -> None:
    for seed in range(5):
        assert_same(element_group_program(variant, vlen, seed), variant, tmp_path)


@pytest.mark.slow
@variants
@vlens
def test_much_vector_cryptography_ends_as_in_qemu(
    vlen: int, variant: Variant, tmp_path: Path
) -> None:
    for seed in range(1000, 1050):
        assert_same(element_group_program(variant, vlen, seed), variant, tmp_path)


@variants
@vlens
def test_fault_only_first_loads_stop_where_qemu_stops(
    vlen: int, variant: Variant, tmp_path: Path
) -> None:
    for seed in range(3):
        made = make_fault_only_first_program(variant.config(vlen), seed, 20)
        assert_same(made, variant, tmp_path)


def test_every_standard_vector_instruction_can_be_generated() -> None:
    """What the generator cannot make legal would never be compared."""
    rng, config = random.Random(1), UNDISTURBED.config(256)
    missing = {insn.name for insns in vector_insns().values() for insn in insns}
    for _ in range(100):
        vtype = random_vtype(rng, config)
        missing -= {n for n in missing if legal_block(rng, config, vtype, isa().by_name[n])}
    assert not missing
