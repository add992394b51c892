"""Vector SHA-2: two rounds of compression, four words of message schedule (Zvknh, FIPS 180-4).

SEW 32 is SHA-256, SEW 64 SHA-512.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rvsim import ir
from rvsim.insn.crypto.zvk_forms import Body, elements, group_insn, grouped, rotated_right, runs
from rvsim.insn.units import Unit
from rvsim.ir import Value
from rvsim.vec.rules import EncodedUse, Violation

EXT, SPEC = "zvknhb zvknha", "Zvknh"

# FIPS 180-4 4.1.2, 4.1.3: rotations, and for the lower-case sigmas a shift.
_SUM_0: Final = {32: (2, 13, 22), 64: (28, 34, 39)}
_SUM_1: Final = {32: (6, 11, 25), 64: (14, 18, 41)}
_SIGMA_0: Final = {32: (7, 18, 3), 64: (1, 8, 7)}
_SIGMA_1: Final = {32: (17, 19, 10), 64: (19, 61, 6)}


def _sum(x: Value, amounts: dict[int, tuple[int, int, int]]) -> Value:
    first, second, third = amounts[x.type.width]
    return rotated_right(x, first) ^ rotated_right(x, second) ^ rotated_right(x, third)


def _sigma(x: Value, amounts: dict[int, tuple[int, int, int]]) -> Value:
    first, second, shift = amounts[x.type.width]
    return rotated_right(x, first) ^ rotated_right(x, second) ^ ir.shr_u(x, shift)


def vsha2ms(vd: Value, vs2: Value, vs1: Value) -> Value:
    """Message words 16 to 19 from words 0 to 3 (vd), 4, 9 to 11 (vs2) and 12 to 15 (vs1)."""
    w0, w1, w2, w3 = elements(vd)
    w4, w9, w10, w11 = elements(vs2)
    w12, _, w14, w15 = elements(vs1)
    # Two words at a time: words 18 and 19 need words 16 and 17.
    older, newer = ir.concat(w0, w1, w2, w3), ir.concat(w1, w2, w3, w4)
    partial = older + _sigma(newer, _SIGMA_0) + ir.concat(w9, w10, w11, w12)
    lower, upper = runs(partial, 2)
    first = lower + _sigma(ir.concat(w14, w15), _SIGMA_1)
    second = upper + _sigma(first, _SIGMA_1)
    return grouped(first, second)


def _two_rounds(vd: Value, vs2: Value, words: tuple[Value, Value]) -> Value:
    f, e, b, a = elements(vs2)
    h, g, d, c = elements(vd)
    for word in words:
        chosen = g ^ (e & (f ^ g))
        majority = (a & b) | (c & (a | b))
        added = h + _sum(e, _SUM_1) + chosen + word
        a, b, c, d, e, f, g, h = (
            added + _sum(a, _SUM_0) + majority, a, b, c, d + added, e, f, g,
        )  # fmt: skip
    return grouped(f, e, b, a)


def vsha2cl(vd: Value, vs2: Value, vs1: Value) -> Value:
    """Two rounds with the lower words of vs1; state a, b, e, f in vs2 and vd, c, d, g, h in vd."""
    w0, w1, _, _ = elements(vs1)
    return _two_rounds(vd, vs2, (w0, w1))


def vsha2ch(vd: Value, vs2: Value, vs1: Value) -> Value:
    """Two rounds with the upper words of vs1; state a, b, e, f in vs2 and vd, c, d, g, h in vd."""
    _, _, w2, w3 = elements(vs1)
    return _two_rounds(vd, vs2, (w2, w3))


def _width(s: EncodedUse) -> Iterator[Violation]:
    """SEW is 32, or with Zvknhb 64"""
    if s.vtype.sew not in (32, 64):
        yield Violation(f"SEW is {s.vtype.sew}, and the instruction needs 32 or 64", SPEC)
    elif s.vtype.sew == 64 and "zvknhb" not in s.config.extensions:
        yield Violation("SEW 64, SHA-512, needs zvknhb, which this profile does not have", SPEC)


def _define(body: Body, funct6: int) -> None:
    group_insn(f"{body.__name__}.vv vd, vs2, vs1", f"{funct6:06b} 1 vs2 vs1 010 vd 1110111", body,
               ext=EXT, unit=Unit.VSHA2, spec=SPEC, rules=(_width,), apart="vs2 vs1")  # fmt: skip


_define(vsha2ms, 0b101101)
_define(vsha2ch, 0b101110)
_define(vsha2cl, 0b101111)
