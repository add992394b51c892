"""Zvkg, Zvkned, Zvknh, Zvksed and Zvksh: instructions on element groups.

A step is a function of the groups of vd, vs2 and vs1 as lists of words, element 0 first, and of the
immediate; it gives the new group of vd.
"""

from collections.abc import Callable
from functools import cache

from tests.oracle import ciphers, hashes
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleTrap
from tests.oracle.vector_shape import VectorInsn, vector_row

Words = list[int]


class Groups:
    """The groups that one step works on, and the element width and immediate."""

    def __init__(self, vd: Words, vs2: Words, vs1: Words, imm: int, sew: int) -> None:
        self.vd, self.vs2, self.vs1, self.imm, self.sew = vd, vs2, vs1, imm, sew


Step = Callable[[Groups], Words]


def group_row(step: Step, size: int = 4, one_key: bool = False) -> Row:
    """vl and vstart count whole groups of `size`; with `one_key` all take group 0 of vs2."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        if insn.vl % size or insn.vstart % size:
            raise OracleTrap(ILLEGAL_INSTRUCTION)
        sew = insn.sew

        def words(field: str, group: int) -> Words:
            if field not in fields:
                return []
            return [insn.read(fields[field], group * size + k, sew) for k in range(size)]

        @cache
        def result(group: int) -> Words:
            vs2 = words("vs2", 0 if one_key else group)
            vd, vs1 = words("vd", group), words("vs1", group)
            return step(Groups(vd, vs2, vs1, fields.get("imm", 0), sew))

        insn.write_body(fields["vd"], sew, lambda i: result(i // size)[i % size])

    return vector_row(body)


def octets(words: Words, order: str = "little") -> list[int]:
    return [octet for word in words for octet in word.to_bytes(4, order)]  # type: ignore[arg-type]


def words_of(block: list[int] | bytes) -> Words:
    return [int.from_bytes(bytes(block[k : k + 4]), "little") for k in range(0, len(block), 4)]


# -- Zvkned


def aes_step(function: Callable[[list[int], list[int]], list[int]]) -> Step:
    """On the bytes of the state in vd and the round key in vs2."""
    return lambda g: words_of(function(octets(g.vd), octets(g.vs2)))


def encrypt_middle(state: list[int], key: list[int]) -> list[int]:
    mixed = ciphers.mix_columns(ciphers.shift_rows(ciphers.sub_bytes(state)))
    return ciphers.add(mixed, key)


def encrypt_final(state: list[int], key: list[int]) -> list[int]:
    return ciphers.add(ciphers.shift_rows(ciphers.sub_bytes(state)), key)


def decrypt_final(state: list[int], key: list[int]) -> list[int]:
    return ciphers.add(ciphers.inverse_sub_bytes(ciphers.shift_rows(state, -1)), key)


def decrypt_middle(state: list[int], key: list[int]) -> list[int]:
    return ciphers.inverse_mix_columns(decrypt_final(state, key))


def core(word: list[int], number: int) -> list[int]:
    """RotWord, SubWord and the round constant (FIPS 197 5.2)."""
    turned = ciphers.sub_bytes([*word[1:], word[0]])
    return [turned[0] ^ ciphers.round_constant(number), *turned[1:]]


def key_128(g: Groups) -> Words:
    number = g.imm % 16
    if number == 0 or number > 10:
        number ^= 8
    key = octets(g.vs2)
    return words_of(ciphers.expand_key(key, core(key[12:], number)))


def key_256(g: Groups) -> Words:
    number = g.imm % 16
    if number < 2 or number > 14:
        number ^= 8
    last = octets(g.vs2)[12:]
    temp = ciphers.sub_bytes(last) if number % 2 else core(last, number // 2)
    return words_of(ciphers.expand_key(octets(g.vd), temp))


# -- Zvknh: the state is in vs2 (f, e, b, a from element 0 on) and vd (h, g, d, c)


def sha2_schedule(g: Groups) -> Words:
    w = dict(zip((0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15), g.vd + g.vs2 + g.vs1, strict=True))
    for t in range(16, 20):
        w[t] = hashes.sha2_word(w[t - 16], w[t - 15], w[t - 7], w[t - 2], g.sew)
    return [w[t] for t in range(16, 20)]


def sha2_compression(first: int) -> Step:
    def step(g: Groups) -> Words:
        (f, e, b, a), (h, g_, d, c) = g.vs2, g.vd
        state = [a, b, c, d, e, f, g_, h]
        for word in g.vs1[first : first + 2]:
            state = hashes.sha2_round(state, word, g.sew)
        a, b, _, _, e, f, _, _ = state
        return [f, e, b, a]

    return step


# -- Zvksh: words stand byte by byte, the highest first


def swapped(words: Words) -> Words:
    return [int.from_bytes(word.to_bytes(4, "little"), "big") for word in words]


def sm3_expansion(g: Groups) -> Words:
    w = swapped(g.vs1 + g.vs2)
    for j in range(16, 24):
        w.append(hashes.sm3_word(w, j))
    return swapped(w[16:])


def sm3_compression(g: Groups) -> Words:
    w, state = swapped(g.vs2), swapped(g.vd)
    for k in range(2):
        state = hashes.sm3_round(state, 2 * g.imm + k, w[k], w[k + 4])
    return swapped(state)


# -- Zvksed


def sm4_rounds(g: Groups) -> Words:
    x = list(g.vd)
    for key in g.vs2:
        x.append(ciphers.sm4_round(x[-4:], key, ciphers.sm4_diffusion))
    return x[4:]


def sm4_keys(g: Groups) -> Words:
    keys = list(g.vs2)
    for i in range(4):
        constant = ciphers.sm4_key_constant(g.imm % 8 * 4 + i)
        keys.append(ciphers.sm4_round(keys[-4:], constant, ciphers.sm4_key_diffusion))
    return keys[4:]


# -- Zvkg


def ghash(g: Groups) -> Words:
    block = [y ^ x for y, x in zip(g.vd, g.vs1 or [0] * 4, strict=True)]
    return words_of(hashes.ghash_product(bytes(octets(block)), bytes(octets(g.vs2))))


ROWS: dict[str, Row] = {
    "vaeskf1.vi": group_row(key_128),
    "vaeskf2.vi": group_row(key_256),
    "vsha2ms.vv": group_row(sha2_schedule),
    "vsha2cl.vv": group_row(sha2_compression(0)),
    "vsha2ch.vv": group_row(sha2_compression(2)),
    "vsm3me.vv": group_row(sm3_expansion, 8),
    "vsm3c.vi": group_row(sm3_compression, 8),
    "vsm4k.vi": group_row(sm4_keys),
    "vghsh.vv": group_row(ghash),
    "vgmul.vv": group_row(ghash),
}
for _name, _step in {
    "vaesem": aes_step(encrypt_middle),
    "vaesef": aes_step(encrypt_final),
    "vaesdm": aes_step(decrypt_middle),
    "vaesdf": aes_step(decrypt_final),
    "vsm4r": sm4_rounds,
}.items():
    ROWS[f"{_name}.vv"] = group_row(_step)
    ROWS[f"{_name}.vs"] = group_row(_step, one_key=True)
ROWS["vaesz.vs"] = group_row(aes_step(ciphers.add), one_key=True)
