"""``rvsim explain``: what is said of a word, and that something is said of every instruction."""

from __future__ import annotations

import random

import pytest

from rvsim.cli.explanation import explain_insn, explain_word
from rvsim.insn.decode import decode
from rvsim.insn.isa import isa
from rvsim.profiles import make_config
from tests.cli.conftest import Cli


def test_word(rvsim: Cli) -> None:
    assert rvsim("explain", "0x00880457").out == (
        "0x00880457  vadd.vv v8, v8, v16, v0.t\n"
        "  extension     V\n"
        "  spec          V 11.1\n"
        "  class         valu\n"
        "  encoding      000000 vm vs2 vs1 000 vd 1010111\n"
        "  fields        vm = 0, vs2 = 8, vs1 = 16, vd = 8\n"
        "  under         vtype e8,m1,ta,ma (assumed; choose with --vtype), VLEN 256, VLMAX 32\n"
        "  groups        vd = v8 (EEW 8, EMUL m1), written\n"
        "                vs2 = v8 (EEW 8, EMUL m1), read\n"
        "                vs1 = v16 (EEW 8, EMUL m1), read\n"
        "                v0 = v0 (mask), read\n"
        "  rules         vd is not v0, which holds the mask (V 5.3)\n"
        "  legal vtypes  e8: mf8 to m8; e16: mf4 to m8; e32: mf2 to m8; e64: m1 to m8\n"
        "  legal         yes\n"
        "  does          v8 = where(mask(v0), v8 + v16, v8)\n"
    )


def test_groups_show_the_emul_arithmetic_and_the_rule_that_is_broken(rvsim: Cli) -> None:
    result = rvsim("explain", "0xee442257", "--vtype", "e16,m2", "--vlen", "512")
    lines = [line.strip() for line in result.out.splitlines()]
    assert "under         vtype e16,m2,tu,mu, VLEN 512, VLMAX 64" in lines
    assert (
        "groups        vd = v4-v7 (EEW 32, EMUL m4), EMUL = EEW 32 / SEW 16 * LMUL m2 = m4, written"
        in lines
    )
    assert "vd overlaps a source of another EEW only at the end that V 5.2 allows" in lines
    assert "legal vtypes  none" in lines
    assert any(line.startswith("legal         no: destination vd = v4-v7 ") for line in lines)


def test_vtype_that_makes_it_legal_is_assumed(rvsim: Cli) -> None:
    sext_vf8 = isa().by_name["vsext.vf8"].encoding.encode({"vm": 1, "vs2": 8, "vd": 16})
    out = rvsim("explain", hex(sext_vf8)).out
    assert "under         vtype e64,m1,ta,ma (assumed; choose with --vtype)" in out
    assert "legal vtypes  e64: m1 to m8\n" in out


def test_reserved_use_names_the_way_to_allow_it(rvsim: Cli) -> None:
    two_eews = isa().by_name["vwadd.wv"].encoding.encode({"vm": 1, "vs2": 4, "vs1": 4, "vd": 8})
    out = rvsim("explain", hex(two_eews)).out
    assert "read one register with two EEWs (V 5.2); --reserved allow" in " ".join(out.split())
    allowed = rvsim("explain", hex(two_eews), "--reserved", "allow").out
    assert "legal         reserved, allowed by --reserved allow: sources " in allowed


def test_extension_that_the_cpu_lacks(rvsim: Cli) -> None:
    pack = isa().by_name["pack"].encoding.encode({"rs2": 1, "rs1": 2, "rd": 3})
    assert "  legal         no: pack needs zbkb, " in rvsim("explain", hex(pack)).out
    assert "  legal         yes\n" in rvsim("explain", hex(pack), "--cpu", "generic-rv64gcv").out


def test_mnemonic(rvsim: Cli) -> None:
    assert rvsim("explain", "vadd.vv").out == (
        "vadd.vv vd, vs2, vs1[, v0.t]\n"
        "  extension     V\n"
        "  spec          V 11.1\n"
        "  class         valu\n"
        "  encoding      000000 vm vs2 vs1 000 vd 1010111\n"
        "  does          v[vd] = v[vs2] + v[vs1]\n"
    )


def test_word_of_no_instruction(rvsim: Cli) -> None:
    result = rvsim("explain", "0x0000000b")
    assert result.code == 0
    assert result.out == ("0x0000000b  is no instruction that rvsim knows, under any CPU profile\n")


BAD = {
    ("vadd",): "'vadd' is neither a word nor a mnemonic: its forms are vadd.vv, vadd.vx, vadd.vi",
    ("vaddd.vv",): "'vaddd.vv' is neither a word nor a mnemonic: did you mean 'vadd.vv' or",
    ("?",): "'?' is neither a word nor a mnemonic: words are hex, as 0x32440257",
    ("0x32440257", "--vtype", "e8,m3"): "vtype 'e8,m3' is not understood: write e32,m2",
    ("0x32440257", "--vtype", "e64,mf2"): "vtype e64,mf2,tu,mu is not supported: vset* would set",
    ("0x32440257", "--vlen", "99"): "VLEN 99 is not a power of two from 128 to 4096",
}


@pytest.mark.parametrize("args", BAD)
def test_bad_request(rvsim: Cli, args: tuple[str, ...]) -> None:
    result = rvsim("explain", *args)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"rvsim: {BAD[args]}")
    assert result.err.count("\n") == 1


def test_every_instruction_is_explained() -> None:
    config = make_config()
    rng = random.Random(1)
    for insn in isa().insns:
        anything = rng.getrandbits(8 * insn.length) & ~insn.encoding.mask
        word = list(explain_word(decode(insn.encoding.match | anything, insn.length), config, None))
        assert len(word) > 5, insn.name
        mnemonic = list(explain_insn(insn.name, config, None))
        assert mnemonic[0].split()[0] == insn.name
        assert all(len(line) <= 100 for line in (*word, *mnemonic))
