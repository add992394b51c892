"""Encoding patterns: what they parse to, and what they refuse."""

import pytest

from rvsim.insn.encoding import Encoding

BRANCH = Encoding.parse("imm[12|10:5] rs2 rs1 000 imm[4:1|11] 1100011")


def test_split_immediate() -> None:
    assert BRANCH.encode({"rs1": 1, "rs2": 2, "imm": -2}) == 0xFE208FE3
    assert BRANCH.decode(0xFE208FE3) == {"rs1": 1, "rs2": 2, "imm": -2}


def test_width_and_step_of_a_field() -> None:
    imm = BRANCH.field("imm")
    assert (imm.width, imm.step, imm.signed) == (13, 2, True)


@pytest.mark.parametrize("imm", [1, 4096, -4098])
def test_immediate_that_does_not_fit(imm: int) -> None:
    with pytest.raises(ValueError, match=f"imm = {imm} does not fit"):
        BRANCH.encode({"rs1": 1, "rs2": 2, "imm": imm})


def test_missing_field() -> None:
    with pytest.raises(ValueError, match="no value for rs2"):
        BRANCH.encode({"rs1": 1, "imm": 0})


def test_compact_registers_are_x8_to_x15() -> None:
    encoding = Encoding.parse("100 0 11 rd' 00 rs2' 01")
    assert encoding.length == 2
    assert encoding.decode(encoding.encode({"rd": 8, "rs2": 15})) == {"rd": 8, "rs2": 15}
    for register in (7, 16):
        with pytest.raises(ValueError, match=f"rd = {register} does not fit"):
            encoding.encode({"rd": register, "rs2": 8})


def test_excluded_values_match_nothing() -> None:
    encoding = Encoding.parse("011 imm[5] rd imm[4:0] 01", "imm=0 rd=2")
    assert encoding.matches(encoding.encode({"rd": 3, "imm": -1}))
    assert not encoding.matches(0x6181)
    for fields in ({"rd": 2, "imm": 1}, {"rd": 3, "imm": 0}):
        with pytest.raises(ValueError, match="belongs to another instruction"):
            encoding.encode(fields)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("0000000 rs2 rs1 000 rd 011001", "31 bits"),
        ("0000000 RS2 rs1 000 rd 0110011", "bad token 'RS2'"),
    ],
)
def test_bad_patterns(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Encoding.parse(pattern)
