"""CSR accesses: the table, and why an access is refused."""

from dataclasses import replace

import pytest

from rvsim.config import Config
from rvsim.insn.base.csrs import CSRS, note, refusal
from rvsim.insn.isa import isa
from rvsim.insn.registry import Context
from rvsim.ir.program import Program
from rvsim.ir.statements import RaiseTrap

PROFILE = Config(frozenset({"i", "zicsr", "zicntr", "v"}), vlen=256)


def program(name: str, csr: int, *, rs1: int = 1, config: Config = PROFILE) -> Program:
    insn = isa().by_name[name]
    return insn.trace(Context(insn, config, {"csr": csr, "rs1=0": int(rs1 == 0)}))


def trap_of(program: Program) -> str | None:
    traps = [s for s in program.statements() if isinstance(s, RaiseTrap)]
    assert all(t.cause == 2 for t in traps)
    return traps[0].why if traps else None


def test_numbers_say_which_registers_are_read_only() -> None:
    for number, csr in CSRS.items():
        assert csr.number == number
        assert (csr.write is None) == (number >> 10 == 3), csr.name


def test_names_are_distinct() -> None:
    assert len({csr.name for csr in CSRS.values()}) == len(CSRS)


def test_writing_a_read_only_register_names_it() -> None:
    assert trap_of(program("csrrw", 0xC20)) == "CSR vl is read-only"
    assert trap_of(program("csrrs", 0xC20)) == "CSR vl is read-only"
    assert trap_of(program("csrrs", 0xC20, rs1=0)) is None


def test_an_unknown_register_is_named_by_number() -> None:
    assert trap_of(program("csrrs", 0x123, rs1=0)) == "there is no CSR 0x123"


def test_a_register_of_a_missing_extension_names_the_extension() -> None:
    assert trap_of(program("csrrs", 0xC03)) == "CSR hpmcounter3 needs the extension zihpm"
    assert refusal(PROFILE, 0x003, writes=False) == "CSR fcsr needs the extension f"


@pytest.mark.parametrize("name", ["csrrs", "csrrc"])
def test_set_and_clear_with_x0_do_not_write(name: str) -> None:
    assert program(name, 0x00F, rs1=0).writes() == frozenset()
    assert program(name, 0x00F).writes() == {"vxrm", "vxsat"}


def test_every_register_reads_and_writes_under_a_full_profile() -> None:
    full = Config(frozenset(e for csr in CSRS.values() for e in csr.extensions))
    for csr in CSRS.values():
        name = "csrrs" if csr.write is None else "csrrw"
        traced = program(name, csr.number, rs1=0, config=full)
        assert not [s for s in traced.body if isinstance(s, RaiseTrap)], csr.name


def test_user_mode_profiles_have_no_register_of_machine_mode() -> None:
    text = "CSR mstatus is for machine mode, which only an image with a tohost symbol runs in"
    assert refusal(PROFILE, 0x300, writes=False) == text
    assert {csr.name for csr in CSRS.values() if csr.privileged} == {
        csr.name for csr in CSRS.values() if csr.extensions == ("machine",)
    }


ZIHPM = replace(PROFILE, extensions=PROFILE.extensions | {"zihpm"})


@pytest.mark.parametrize("number", range(0xC00, 0xC20))
def test_linux_hides_all_counters_but_time(number: int) -> None:
    """Linux 6.6 sets scounteren to TM alone; machine mode reads all, and those of events are 0."""
    strict = replace(ZIHPM, user_counters="trap")
    why = f"Linux hides {CSRS[number].name} from user mode (Privileged, scounteren)"
    assert refusal(strict, number, writes=False) == (None if number == 0xC01 else why)
    assert refusal(ZIHPM, number, writes=False) == (None if number < 0xC03 else why)
    assert (note(ZIHPM, number) is not None) == (number in (0xC00, 0xC02))
    assert note(strict, number) is None, "the trap says it"
    bare = replace(strict, extensions=strict.extensions | {"machine"})
    assert refusal(bare, number, writes=False) is None
    assert note(bare, number) is None


def test_only_machine_mode_makes_a_trap_of_privilege() -> None:
    machine = Config(PROFILE.extensions | {"machine"})
    assert trap_of(program("csrrs", 0xC02, rs1=0)) is None
    assert trap_of(program("csrrs", 0xC02, rs1=0, config=machine)) == (
        "mcounteren hides instret from user mode"
    )
    assert trap_of(program("csrrw", 0x340, config=machine)) == "CSR mscratch is for machine mode"
