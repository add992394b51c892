"""What scalar definitions say beyond the oracle's reach: profiles and assembly names."""

from rvsim.config import Config
from rvsim.insn.isa import isa
from rvsim.insn.registry import Context
from rvsim.ir.statements import RaiseTrap


def test_a_jump_needs_four_byte_alignment_without_compressed_instructions() -> None:
    jal = isa().by_name["jal"]
    for extensions, traps in (({"i"}, True), ({"i", "zca"}, False), ({"i", "c"}, False)):
        traced = jal.trace(Context(jal, Config(frozenset(extensions)), {"rd=0": 0}))
        causes = [s.cause for s in traced.statements() if isinstance(s, RaiseTrap)]
        assert causes == ([0] if traps else []), extensions


def test_atomics_are_written_with_their_ordering() -> None:
    amoadd = isa().by_name["amoadd.w"]
    texts = [amoadd.mnemonic({"aq": aq, "rl": rl}) for aq in (0, 1) for rl in (0, 1)]
    assert texts == ["amoadd.w", "amoadd.w.rl", "amoadd.w.aq", "amoadd.w.aqrl"]


def test_zcb_forms_need_the_extension_of_their_expansion() -> None:
    multiply = isa().by_name["c.mul"]
    assert not multiply.is_in(Config(frozenset({"zcb"})))
    assert multiply.is_in(Config(frozenset({"zcb", "zmmul"})))
