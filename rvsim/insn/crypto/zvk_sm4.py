"""Vector SM4: four rounds, four words of key schedule (Zvksed, GB/T 32907)."""

from __future__ import annotations

from typing import Final

from rvsim.insn.crypto.zvk_field import inverses, turn_left
from rvsim.insn.crypto.zvk_forms import diffuse, elements, group_insn, grouped, octets_of
from rvsim.insn.units import Unit
from rvsim.ir import Value

EXT, SPEC = "zvksed", "Zvksed"
_INVERSE: Final = inverses(0x1F5)


def _affine(octet: int) -> int:
    """The affine map on both sides of the inversion in the S-box."""
    total = 0xD3
    for amount in (0, 1, 3, 6, 7):
        total ^= turn_left(octet, amount)
    return total


def _substituted(octet: int) -> int:
    """The S-box.

    >>> [hex(_substituted(octet)) for octet in (0x00, 0x01, 0xEF)]
    ['0xd6', '0x90', '0x84']
    """
    return _affine(_INVERSE[_affine(octet)])


def _turned(octet: int, amounts: tuple[int, ...]) -> int:
    """A word with the byte lowest, added to itself turned left by each amount."""
    total = octet
    for amount in amounts:
        total ^= (octet << amount | octet >> 32 - amount) & 0xFFFF_FFFF
    return total


_S_BOX: Final = [_substituted(octet) for octet in range(256)]
_ROUND: Final = [_turned(octet, (2, 10, 18, 24)) for octet in _S_BOX]
_KEY_ROUND: Final = [_turned(octet, (13, 23)) for octet in _S_BOX]


def _constant(number: int) -> int:
    """CK: the bytes of constant i are 7 * (4 * i + j), j = 0 being the highest."""
    return int.from_bytes(bytes(7 * (4 * number + j) & 0xFF for j in range(4)), "big")


def _four_rounds(table: list[int], block: Value, keys: list[Value] | list[int]) -> Value:
    x = list(elements(block))
    for key in keys:
        x.append(x[-4] ^ diffuse(table, octets_of(x[-3] ^ x[-2] ^ x[-1] ^ key)))
    return grouped(*x[4:])


def vsm4r(vd: Value, vs2: Value) -> Value:
    """Four rounds of encryption or decryption of the blocks vd with the round keys vs2."""
    return _four_rounds(_ROUND, vd, list(elements(vs2)))


def vsm4k(vs2: Value, uimm: int) -> Value:
    """Round keys 4*uimm to 4*uimm + 3 from the four before them; uimm counts modulo 8."""
    constants = [_constant(4 * (uimm & 7) + k) for k in range(4)]
    return _four_rounds(_KEY_ROUND, vs2, constants)


group_insn("vsm4k.vi vd, vs2, uimm", "100001 1 vs2 uimm[4:0] 010 vd 1110111", vsm4k,
           ext=EXT, unit=Unit.VSM4, spec=SPEC)  # fmt: skip
for _form, _funct6 in (("vv", "101000"), ("vs", "101001")):
    group_insn(f"vsm4r.{_form} vd, vs2", f"{_funct6} 1 vs2 10000 010 vd 1110111", vsm4r,
               ext=EXT, unit=Unit.VSM4, spec=SPEC)  # fmt: skip
