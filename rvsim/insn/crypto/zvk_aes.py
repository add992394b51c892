"""Vector AES: rounds and key schedules (Zvkned, FIPS 197).

An element group is a block or a round key, each 32-bit element one column with row 0 in its low
byte.
"""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.insn.crypto.zvk_field import inverses, multiply, turn_left
from rvsim.insn.crypto.zvk_forms import (
    Body,
    diffuse,
    elements,
    group_insn,
    grouped,
    look_up,
    octets_of,
    rotated_right,
    substitute,
)
from rvsim.insn.units import Unit
from rvsim.ir import Value

EXT, SPEC = "zvkned", "Zvkned"
_MODULUS: Final = 0x11B
_INVERSE: Final = inverses(_MODULUS)


def _substituted(octet: int) -> int:
    """The S-box (FIPS 197 5.1.1).

    >>> [hex(_substituted(octet)) for octet in (0x00, 0x53)]
    ['0x63', '0xed']
    """
    x = _INVERSE[octet]
    return x ^ turn_left(x, 1) ^ turn_left(x, 2) ^ turn_left(x, 3) ^ turn_left(x, 4) ^ 0x63


def _column(octet: int, *coefficients: int) -> int:
    """Products of a byte of row 0 with the coefficients of rows 0 to 3."""
    return int.from_bytes(bytes(multiply(octet, c, _MODULUS) for c in coefficients), "little")


_S_BOX: Final = bytes(map(_substituted, range(256)))
_INVERSE_S_BOX: Final = bytes(map(_S_BOX.index, range(256)))
_SUBSTITUTE_AND_MIX: Final = [_column(octet, 2, 1, 1, 3) for octet in _S_BOX]
_INVERSE_MIX: Final = [_column(octet, 14, 9, 13, 11) for octet in range(256)]
_ROUND_CONSTANTS: Final = (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36)


def _shifted_rows(block: Value, step: int) -> Value:
    """The bytes of blocks, row r turned left by step * r columns."""
    octets = octets_of(block)
    return ir.shuffle(octets, [i // 16 * 16 + (i % 16 + 4 * step * (i % 4)) % 16
                               for i in range(octets.type.lanes or 0)])  # fmt: skip


def _rounds(sign: int, table: bytes, block: Value) -> Value:
    return ir.bitcast(look_up(table, _shifted_rows(block, sign)), block.type)


def vaesem(vd: Value, vs2: Value) -> Value:
    """A middle round of encryption: SubBytes, ShiftRows, MixColumns, and the round key vs2."""
    return diffuse(_SUBSTITUTE_AND_MIX, _shifted_rows(vd, 1)) ^ vs2


def vaesef(vd: Value, vs2: Value) -> Value:
    """The final round of encryption: SubBytes, ShiftRows, and the round key vs2."""
    return _rounds(1, _S_BOX, vd) ^ vs2


def vaesdm(vd: Value, vs2: Value) -> Value:
    """A middle round of decryption: InvShiftRows, InvSubBytes, the round key vs2, InvMixColumns."""
    return diffuse(_INVERSE_MIX, octets_of(_rounds(-1, _INVERSE_S_BOX, vd) ^ vs2))


def vaesdf(vd: Value, vs2: Value) -> Value:
    """The final round of decryption: InvShiftRows, InvSubBytes, and the round key vs2."""
    return _rounds(-1, _INVERSE_S_BOX, vd) ^ vs2


def vaesz(vd: Value, vs2: Value) -> Value:
    """Round zero: the round key vs2 is added."""
    return vd ^ vs2


def _next_key(previous: Value, changed: Value) -> Value:
    """Four words, each the sum of its predecessor and a word four before."""
    words = []
    for word in elements(previous):
        changed = changed ^ word
        words.append(changed)
    return grouped(*words)


def _last_word(key: Value) -> Value:
    *_, word = elements(key)
    return substitute(_S_BOX, word)


def vaeskf1(vs2: Value, uimm: int) -> Value:
    """The next round key of AES-128 from the current one, for round uimm (1 to 10)."""
    number = uimm & 15
    if not 1 <= number <= 10:
        number ^= 8
    word = rotated_right(_last_word(vs2), 8) ^ _ROUND_CONSTANTS[number - 1]
    return _next_key(vs2, word)


def vaeskf2(vd: Value, vs2: Value, uimm: int) -> Value:
    """The next round key of AES-256, for round uimm (2 to 14), from the current one in vs2 and the
    one before it in vd.
    """
    number = uimm & 15
    if not 2 <= number <= 14:
        number ^= 8
    word = _last_word(vs2)
    if number % 2 == 0:
        word = rotated_right(word, 8) ^ _ROUND_CONSTANTS[number // 2 - 1]
    return _next_key(vd, word)


def _round(body: Body, code: int, forms: str) -> None:
    for form in forms.split():
        name, funct6 = f"{body.__name__}.{form}", {"vv": "101000", "vs": "101001"}[form]
        group_insn(f"{name} vd, vs2", f"{funct6} 1 vs2 {code:05b} 010 vd 1110111", body,
                   ext=EXT, unit=Unit.VAES, spec=SPEC)  # fmt: skip


_round(vaesdm, 0b00000, "vv vs")
_round(vaesdf, 0b00001, "vv vs")
_round(vaesem, 0b00010, "vv vs")
_round(vaesef, 0b00011, "vv vs")
_round(vaesz, 0b00111, "vs")
group_insn("vaeskf1.vi vd, vs2, uimm", "100010 1 vs2 uimm[4:0] 010 vd 1110111", vaeskf1,
           ext=EXT, unit=Unit.VAES_KEY, spec=SPEC)  # fmt: skip
group_insn("vaeskf2.vi vd, vs2, uimm", "101010 1 vs2 uimm[4:0] 010 vd 1110111", vaeskf2,
           ext=EXT, unit=Unit.VAES_KEY, spec=SPEC)  # fmt: skip
