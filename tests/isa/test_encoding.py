"""Every encoding: decode(encode(fields)) = fields, and no two instructions share a word."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim.insn.encoding import Encoding
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from tests.isa.fields import legal_fields

REFINEMENTS = {
    ("fence.tso", "fence"),
    ("pause", "fence"),
    ("prefetch.i", "ori"),
    ("prefetch.r", "ori"),
    ("prefetch.w", "ori"),
    ("zext.h", "packw"),
    ("c.nop", "c.addi"),
}
"""(A, B): A fixes more bits and takes some of B's words; each is a hint or a name for B's case."""


@pytest.mark.parametrize("insn", isa().insns, ids=lambda insn: insn.name)
def test_words_decode_to_what_was_encoded(insn: Insn) -> None:
    @settings(max_examples=8)
    @given(legal_fields(insn))
    def check(fields: dict[str, int]) -> None:
        word = insn.encoding.encode(fields)
        assert word < 1 << 8 * insn.length
        assert (word & 3 == 3) == (insn.length == 4)
        assert insn.encoding.decode(word) == fields
        found = isa().find(word)
        assert found is insn or (found is not None and (found.name, insn.name) in REFINEMENTS)

    check()


def _excludes(a: Encoding, b: Encoding) -> bool:
    """Whether the fixed bits of `a` give a field of `b` a value that `b` leaves out."""
    for name, value in b.excluded:
        field = b.field(name)
        bits = sum((1 << s.width) - 1 << s.lo for s in field.slices)
        if a.mask & bits == bits and field.extract(a.match) == value:
            return True
    return False


def _overlap(a: Encoding, b: Encoding) -> bool:
    if a.length != b.length or (a.match ^ b.match) & a.mask & b.mask:
        return False
    return not _excludes(a, b) and not _excludes(b, a)


def test_no_two_encodings_overlap_but_for_the_listed_refinements() -> None:
    found = set()
    for pair in combinations(isa().insns, 2):
        if _overlap(pair[0].encoding, pair[1].encoding):
            special, general = sorted(pair, key=lambda i: -i.encoding.mask.bit_count())
            found.add((special.name, general.name))
            masks = special.encoding.mask, general.encoding.mask
            assert masks[0] & masks[1] == masks[1] != masks[0], f"{special.name}, {general.name}"
    assert found == REFINEMENTS


@given(st.integers(0, (1 << 32) - 1))
@settings(max_examples=500)
def test_any_word_that_decodes_encodes_to_itself(word: int) -> None:
    word = word if word & 3 == 3 else word & 0xFFFF
    insn = isa().find(word)
    if insn is not None:
        assert insn.encoding.encode(insn.encoding.decode(word)) == word


def test_compressed_words_decode_and_encode_to_themselves() -> None:
    for word in range(1 << 16):
        insn = isa().find(word) if word & 3 != 3 else None
        if insn is not None:
            assert insn.encoding.encode(insn.encoding.decode(word)) == word


@pytest.mark.parametrize(
    ("word", "what"),
    [
        (0x0000, "all zeros"),
        (0x0004, "c.addi4spn with immediate 0"),
        (0x2001, "c.addiw with rd = x0"),
        (0x6081, "c.lui with immediate 0"),
        (0x6101, "c.addi16sp with immediate 0"),
        (0x4002, "c.lwsp with rd = x0"),
        (0x6002, "c.ldsp with rd = x0"),
        (0x8002, "c.jr with rs1 = x0"),
        (0x9C79, "reserved beside c.not"),
        (0x9C7D, "reserved beside c.not"),
        (0xFFFFFFFF, "all ones"),
    ],
)
def test_reserved_words_are_no_instruction(word: int, what: str) -> None:
    assert isa().find(word) is None, what


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (0x0001, "c.nop"),
        (0x0005, "c.addi"),  # a HINT: rd = x0
        (0x4005, "c.li"),  # a HINT: rd = x0
        (0x6005, "c.lui"),  # a HINT: rd = x0
        (0x800A, "c.mv"),  # a HINT: rd = x0
        (0x900A, "c.add"),  # a HINT: rd = x0
        (0x0002, "c.slli"),  # a HINT: rd = x0, shamt = 0
        (0x9002, "c.ebreak"),
        (0x6105, "c.addi16sp"),
        (0x0100000F, "pause"),
        (0x8330000F, "fence.tso"),
        (0x0FF0000F, "fence"),
        (0x00006013, "prefetch.i"),
        (0x0000E013, "prefetch.i"),
        (0x00206013, "ori"),
    ],
)
def test_hints_and_refinements_decode(word: int, name: str) -> None:
    insn = isa().find(word)
    assert insn is not None
    assert insn.name == name
