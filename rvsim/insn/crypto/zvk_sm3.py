"""Vector SM3: two rounds of compression, eight words of message expansion (Zvksh, GB/T 32905).

An element group is eight words, whose bytes stand in big-endian order in registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from rvsim import ir
from rvsim.insn.crypto.zvk_forms import elements, group_insn, grouped, rotated_right, runs
from rvsim.insn.units import Unit
from rvsim.ir import Value

EXT, SPEC, SIZE = "zvksh", "Zvksh", 8


def _rol(x: Value, amount: int) -> Value:
    return rotated_right(x, 32 - amount)


def _expanded(columns: list[Value], new: int, count: int) -> Iterator[Value]:
    """Message words `new` and those that follow it, `count` of them."""

    def back(distance: int) -> Value:
        return ir.concat(*columns[new - distance : new - distance + count])

    x = back(16) ^ back(9) ^ _rol(back(3), 15)
    x = x ^ _rol(x, 15) ^ _rol(x, 23) ^ _rol(back(13), 7) ^ back(6)
    return runs(x, count)


def vsm3me(vs2: Value, vs1: Value) -> Value:
    """Message words 16 to 23 from words 0 to 7 (vs1) and 8 to 15 (vs2)."""
    columns = [*elements(ir.bswap(vs1), SIZE), *elements(ir.bswap(vs2), SIZE)]
    # Up to three words at a time, because a word needs the one three before it.
    for new in (16, 19, 22):
        columns += _expanded(columns, new, min(3, 24 - new))
    return ir.bswap(grouped(*columns[16:], size=SIZE))


def vsm3c(vd: Value, vs2: Value, uimm: int) -> Value:
    """Rounds 2*uimm and 2*uimm + 1 on the state A to H in vd; message words 0, 1, 4, 5 in vs2."""
    a, b, c, d, e, f, g, h = elements(ir.bswap(vd), SIZE)
    w0, w1, _, _, w4, w5, _, _ = elements(ir.bswap(vs2), SIZE)
    late = uimm >= 8
    for number, word, later in ((2 * uimm, w0, w4), (2 * uimm + 1, w1, w5)):
        turned = number % 32
        constant = 0x7A87_9D8A if late else 0x79CC_4519
        constant = (constant << turned | constant >> 32 - turned) & 0xFFFF_FFFF
        a12 = _rol(a, 12)
        ss1 = _rol(a12 + e + constant, 7)
        ff = (a & b) | (c & (a | b)) if late else a ^ b ^ c
        gg = g ^ (e & (f ^ g)) if late else e ^ f ^ g
        tt1 = ff + d + (ss1 ^ a12) + (word ^ later)
        tt2 = gg + h + ss1 + word
        a, b, c, d, e, f, g, h = (
            tt1, a, _rol(b, 9), c, tt2 ^ _rol(tt2, 9) ^ _rol(tt2, 17), e, _rol(f, 19), g,
        )  # fmt: skip
    return ir.bswap(grouped(a, b, c, d, e, f, g, h, size=SIZE))


group_insn("vsm3me.vv vd, vs2, vs1", "100000 1 vs2 vs1 010 vd 1110111", vsm3me,
           ext=EXT, unit=Unit.VSM3, spec=SPEC, size=SIZE, apart="vs2")  # fmt: skip
group_insn("vsm3c.vi vd, vs2, uimm", "101011 1 vs2 uimm[4:0] 010 vd 1110111", vsm3c,
           ext=EXT, unit=Unit.VSM3, spec=SPEC, size=SIZE, apart="vs2")  # fmt: skip
