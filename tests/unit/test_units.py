"""Kinds of units, against the major opcodes of their instructions (RV64, table of opcodes)."""

import re
from collections.abc import Callable

import pytest

from rvsim.insn.base.units_off import unit_off
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit

LOAD, LOAD_FP, STORE, STORE_FP, AMO = 0x03, 0x07, 0x23, 0x27, 0x2F
BRANCH, JALR, JAL = 0x63, 0x67, 0x6F
OP_FP, MADD, MSUB, NMSUB, NMADD = 0x53, 0x43, 0x47, 0x4B, 0x4F
OP_V, OP_VE, CUSTOM_1 = 0x57, 0x77, 0x2B
FLOAT_MEMORY_WIDTHS = (1, 2, 3)  # half, word, double; all others are vector

FULL_SIZE = [insn for insn in isa().insns if insn.length == 4]


def opcode(insn: Insn) -> int:
    return insn.encoding.match & 0x7F


def is_scalar_float(insn: Insn) -> bool:
    if opcode(insn) in (LOAD_FP, STORE_FP):
        return insn.encoding.match >> 12 & 7 in FLOAT_MEMORY_WIDTHS
    return opcode(insn) in (OP_FP, MADD, MSUB, NMSUB, NMADD)


def is_vector(insn: Insn) -> bool:
    if opcode(insn) in (LOAD_FP, STORE_FP):
        return not is_scalar_float(insn)
    return opcode(insn) in (OP_V, OP_VE, CUSTOM_1)


KINDS: dict[str, tuple[Callable[[Unit], bool], Callable[[Insn], bool]]] = {
    "store": (lambda unit: unit.is_store, lambda insn: opcode(insn) in (STORE, STORE_FP)),
    "memory": (
        lambda unit: unit.is_memory,
        lambda insn: opcode(insn) in (LOAD, LOAD_FP, STORE, STORE_FP, AMO),
    ),
    "jump": (lambda unit: unit.is_jump, lambda insn: opcode(insn) in (BRANCH, JAL, JALR)),
    "vector": (lambda unit: unit.is_vector, is_vector),
    "scalar float": (lambda unit: unit.is_float and not unit.is_vector, is_scalar_float),
    "reduction": (
        lambda unit: unit.is_reduction,
        lambda insn: re.match("vf?w?red", insn.name) is not None,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_follow_the_opcode(kind: str) -> None:
    says, expected = KINDS[kind]
    assert [i.name for i in FULL_SIZE if says(i.unit) != expected(i)] == []


def test_compressed_instructions_are_of_the_kinds_of_what_they_expand_to() -> None:
    for insn in isa().insns:
        if insn.expands is not None:
            assert insn.unit is isa().by_name[insn.expands].unit, insn.name


def test_mstatus_fs_turns_off_what_has_to_do_with_floats() -> None:
    """Vector floating-point instructions are those with f in their name (V 13)."""
    for insn in FULL_SIZE:
        vector = re.match(r"vm?f(?!irst)", insn.name) is not None
        floats = vector if insn.unit.is_vector else is_scalar_float(insn)
        assert (unit_off(insn, {}, 1) is not None) == floats, insn.name


@pytest.mark.parametrize(
    ("csr", "off"), [(0x001, 1), (0x003, 1), (0x008, 2), (0xC22, 2), (0x300, 0), (0xC00, 0)]
)
def test_mstatus_turns_the_csrs_of_a_unit_off(csr: int, off: int) -> None:
    read = isa().by_name["csrrs"]
    assert [bit for bit in (1, 2) if unit_off(read, {"csr": csr}, bit)] == ([off] if off else [])


def test_a_unit_is_its_name() -> None:
    assert (Unit.VSET, Unit("vload_unit"), f"{Unit.AMO}") == ("vset", Unit.VLOAD_UNIT, "amo")
