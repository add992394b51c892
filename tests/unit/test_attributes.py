"""Notes on files that were compiled for more than the hart has, and on no others."""

from __future__ import annotations

import pytest

from rvsim.guest.attributes import remarks
from rvsim.machine import Machine
from rvsim.profiles import make_config
from tests.program.elf_files import ATTRIBUTES, EXIT_0, TEXT, Section, Segment, attributes, elf_file

RVA23 = (
    "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_b1p0_v1p0_zic64b1p0_zicbom1p0_zicbop1p0_zicboz1p0_ziccamoa1p0"
    "_ziccif1p0_zicclsm1p0_ziccrse1p0_zicntr2p0_zicond1p0_zicsr2p0_zihintpause2p0_zihpm2p0_zmmul1p0"
    "_za64rs1p0_zaamo1p0_zalrsc1p0_zca1p0_zcd1p0_zba1p0_zbb1p0_zbs1p0_zkt1p0_zve64d1p0_zvl128b1p0"
)
GCC = "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zmmul1p0_zaamo1p0_zca1p0_zcd1p0"


def notes(arch: str, **options) -> list[str]:
    found: list[str] = []
    machine = Machine(memory_size=1 << 26, note=found.append, **options)
    section = Section(".riscv.attributes", attributes(arch), ATTRIBUTES)
    machine.load(elf_file([Segment(TEXT, EXIT_0)], [section]))
    assert machine.run(max_insns=10).exit_code == 0
    return found


def test_a_longer_vlen_is_noted_once_with_attribute_and_vlen():
    (note,) = notes("rv64i2p1_v1p0_zvl128b1p0_zvl256b1p0_zvl512b1p0", vlen=128)
    assert note.startswith("the file's attribute Tag_RISCV_arch has zvl512b")
    assert "with 128: run it with --vlen 512" in note
    assert notes("rv64i2p1_v1p0_zvl256b1p0", vlen=256) == []


def test_extensions_that_the_hart_lacks_are_noted_once():
    (note,) = notes("rv64i2p1_zvbb1p0_zvkb1p0_xother1p0")
    assert "has zvbb, zvkb, xother, which this hart lacks" in note
    assert len(notes("rv64i2p1_v1p0_zba1p0", isa="rv64gc")) == 1


@pytest.mark.parametrize("arch", [GCC, RVA23, "rv64i2p1_svinval1p0_sstc1p0", "", "rv32i", "\x1b"])
@pytest.mark.parametrize("cpu", ["spacemit-x60", "generic-rv64gcv"])
def test_usual_files_give_no_note(arch: str, cpu: str):
    assert notes(arch, cpu=cpu) == []


def test_what_is_implied_is_not_lacking():
    assert list(remarks(GCC, make_config(isa="rv64gc"))) == []
    assert list(remarks("rv64i_b_zvkn_zvl32b", make_config(isa="rv64gcv_zba_zbb_zbs_zvkn"))) == []
