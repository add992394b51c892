"""Rows of vector cryptography run the examples that the standards publish."""

import hashlib
from math import isqrt

import pytest

from tests.oracle.ciphers import round_constant
from tests.oracle.element import execute
from tests.oracle.samples import E32, E64, M1, get, new_state, put
from tests.oracle.state import OracleState, OracleTrap

PLAIN = bytes.fromhex("00112233445566778899aabbccddeeff")


def put_bytes(state: OracleState, reg: int, data: bytes) -> None:
    put(state, reg, 8, *data)


def get_bytes(state: OracleState, reg: int, n: int = 16) -> bytes:
    return bytes(get(state, reg, 8, n))


def run(name: str, state: OracleState, vd: int, vs2: int, vs1: int = 0, imm: int = 0) -> None:
    fields = {"vd": vd, "vs2": vs2} | ({"vs1": vs1} if name in WITH_VS1 else {"imm": imm})
    execute(name, state, fields)


WITH_VS1 = {"vghsh.vv", "vsha2ms.vv", "vsha2cl.vv", "vsha2ch.vv", "vsm3me.vv"}

# -- AES (FIPS 197 appendix A, C); round keys are in v0 on, the block in v31


def expand_aes_key(state: OracleState, key: bytes) -> int:
    """Round keys from v0 on; how many rounds there are."""
    put_bytes(state, 0, key[:16])
    if len(key) == 16:
        for number in range(1, 11):
            run("vaeskf1.vi", state, number, number - 1, imm=number)
        return 10
    put_bytes(state, 1, key[16:])
    for number in range(2, 15):
        put_bytes(state, number, get_bytes(state, number - 2))
        run("vaeskf2.vi", state, number, number - 1, imm=number)
    return 14


def test_aes_key_expansion():
    state = new_state(vl=4)
    expand_aes_key(state, bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
    assert get_bytes(state, 10).hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"


def test_aes_rounds_out_of_range_are_those_with_bit_3_inverted():
    for name, pairs in (
        ("vaeskf1.vi", ((0, 8), (11, 3), (15, 7), (17, 1))),
        ("vaeskf2.vi", ((0, 8), (1, 9), (15, 7), (18, 2))),
    ):
        for outside, inside in pairs:
            state = new_state(vl=4)
            put_bytes(state, 1, PLAIN)
            run(name, state, 2, 1, imm=outside)
            run(name, state, 3, 1, imm=inside)
            assert get_bytes(state, 2) == get_bytes(state, 3)


@pytest.mark.parametrize("form", ["vv", "vs"])
@pytest.mark.parametrize(
    ("bits", "cipher"),
    [(128, "69c4e0d86a7b0430d8cdb78070b4c55a"), (256, "8ea2b7ca516745bfeafc49904b496089")],
)
def test_aes_example(bits, cipher, form):
    state = new_state(vl=4)
    rounds = expand_aes_key(state, bytes(range(bits // 8)))
    put_bytes(state, 31, PLAIN)
    run("vaesz.vs", state, 31, 0)
    for number in range(1, rounds):
        run(f"vaesem.{form}", state, 31, number)
    run(f"vaesef.{form}", state, 31, rounds)
    assert get_bytes(state, 31).hex() == cipher
    run("vaesz.vs", state, 31, rounds)
    for number in range(rounds - 1, 0, -1):
        run(f"vaesdm.{form}", state, 31, number)
    run(f"vaesdf.{form}", state, 31, 0)
    assert get_bytes(state, 31) == PLAIN


def test_round_constants_end_with_those_of_the_standard():
    assert [round_constant(i) for i in (1, 8, 9, 10)] == [0x01, 0x80, 0x1B, 0x36]


# -- SHA-2


def root_fractions(n: int, width: int, degree: int) -> list[int]:
    """The first bits of the fractions of square or cube roots of primes (FIPS 180-4 4.2, 5.3)."""
    primes = [p for p in range(2, 450) if all(p % q for q in range(2, isqrt(p) + 1))][:n]
    result = []
    for prime in primes:
        target, low, high = prime << degree * width, 0, 1 << 2 * width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**degree <= target else (low, middle)
        result.append(low % (1 << width))
    return result


@pytest.mark.parametrize(
    ("width", "rounds", "reference"), [(32, 64, hashlib.sha256), (64, 80, hashlib.sha512)]
)
def test_sha2_of_abc(width, rounds, reference):
    block = b"abc\x80".ljust(width * 2 - 1, b"\0") + b"\x18"
    words = [
        int.from_bytes(block[i : i + width // 8], "big") for i in range(0, 2 * width, width // 8)
    ]
    constants = root_fractions(rounds, width, 3)
    first = root_fractions(8, width, 2)
    state = new_state(vtype=(E32 if width == 32 else E64) | M1, vl=4)
    a, b, c, d, e, f, g, h = first
    put(state, 2, width, f, e, b, a)
    put(state, 3, width, h, g, d, c)
    for t in range(0, rounds, 4):
        if t >= 16:
            put(state, 5, width, *words[t - 16 : t - 12])
            put(state, 6, width, words[t - 12], *words[t - 7 : t - 4])
            put(state, 7, width, *words[t - 4 : t])
            run("vsha2ms.vv", state, 5, 6, 7)
            words += get(state, 5, width, 4)
        put(state, 4, width, *(words[t + k] + constants[t + k] for k in range(4)))
        run("vsha2cl.vv", state, 3, 2, 4)
        run("vsha2ch.vv", state, 2, 3, 4)
    f, e, b, a = get(state, 2, width, 4)
    h, g, d, c = get(state, 3, width, 4)
    total = [(x + y) % (1 << width) for x, y in zip(first, (a, b, c, d, e, f, g, h), strict=True)]
    digest = b"".join(x.to_bytes(width // 8, "big") for x in total)
    assert digest == reference(b"abc").digest()


# -- SM3 (GB/T 32905 A.1)


def test_sm3_of_abc():
    block = b"abc\x80".ljust(63, b"\0") + b"\x18"
    first = bytes.fromhex("7380166f4914b2b9172442d7da8a0600a96f30bc163138aae38dee4db0fb0e4e")
    state = new_state(vl=8)
    words = block
    while len(words) < 4 * 72:
        put_bytes(state, 2, words[-64:-32])
        put_bytes(state, 3, words[-32:])
        run("vsm3me.vv", state, 4, 3, 2)
        words += get_bytes(state, 4, 32)
    put_bytes(state, 5, first)
    for pair in range(32):
        put_bytes(state, 6, words[8 * pair : 8 * pair + 32])
        run("vsm3c.vi", state, 5, 6, imm=pair)
    digest = bytes(x ^ y for x, y in zip(first, get_bytes(state, 5, 32), strict=True))
    expected = "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"
    assert digest.hex() == expected


# -- SM4 (GB/T 32907 A.1)


@pytest.mark.parametrize("form", ["vv", "vs"])
def test_sm4_example(form):
    key = [0x01234567, 0x89ABCDEF, 0xFEDCBA98, 0x76543210]
    family = [0xA3B1BAC6, 0x56AA3350, 0x677D9197, 0xB27022DC]
    state = new_state(vl=4)
    put(state, 1, 32, *(k ^ fk for k, fk in zip(key, family, strict=True)))
    put(state, 31, 32, *key)
    for number in range(8):
        run("vsm4k.vi", state, 2 + number, 1 + number, imm=number)
        run(f"vsm4r.{form}", state, 31, 2 + number)
    x = get(state, 31, 32, 4)
    assert x[::-1] == [0x681EDF34, 0xD206965E, 0x86B3E94F, 0x536E4246]
    put(state, 31, 32, *x[::-1])
    for number in range(7, -1, -1):
        put(state, 20, 32, *get(state, 2 + number, 32, 4)[::-1])
        run(f"vsm4r.{form}", state, 31, 20)
    assert get(state, 31, 32, 4)[::-1] == key


# -- GHASH (the GCM specification, test case 2)


def test_ghash_example():
    state = new_state(vl=4)
    put_bytes(state, 2, bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e"))
    put_bytes(state, 3, bytes.fromhex("0388dace60b6a392f328c2b971b2fe78"))
    run("vghsh.vv", state, 4, 2, 3)
    assert get_bytes(state, 4).hex() == "5e2ec746917062882c85b0685353deb7"
    put_bytes(state, 5, (128).to_bytes(16, "big"))
    put_bytes(
        state,
        6,
        bytes(x ^ y for x, y in zip(get_bytes(state, 4), get_bytes(state, 5), strict=True)),
    )
    run("vghsh.vv", state, 4, 2, 5)
    run("vgmul.vv", state, 6, 2)
    assert get_bytes(state, 4).hex() == get_bytes(state, 6).hex()
    assert get_bytes(state, 4).hex() == "f38cbb1ad69223dcc3457ae5b6b0f885"


# -- element groups


def test_a_scalar_key_serves_all_groups():
    state = new_state(vl=8)
    put(state, 1, 32, *range(8))
    put(state, 2, 32, 1, 2, 4, 8, 99, 99, 99, 99)
    run("vaesz.vs", state, 1, 2)
    assert get(state, 1, 32, 8) == [0 ^ 1, 1 ^ 2, 2 ^ 4, 3 ^ 8, 4 ^ 1, 5 ^ 2, 6 ^ 4, 7 ^ 8]


@pytest.mark.parametrize(
    ("name", "vl", "vstart", "traps"),
    [
        ("vsm4r.vv", 4, 0, False),
        ("vsm4r.vv", 6, 0, True),
        ("vsm4r.vv", 8, 4, False),
        ("vsm4r.vv", 8, 2, True),
        ("vsm4r.vv", 0, 0, False),
        ("vsm3me.vv", 8, 0, False),
        ("vsm3me.vv", 4, 0, True),
    ],
)
def test_vl_and_vstart_count_whole_groups(name, vl, vstart, traps):
    state = new_state(vl=vl, vstart=vstart)
    if traps:
        with pytest.raises(OracleTrap):
            run(name, state, 1, 2, 3)
    else:
        run(name, state, 1, 2, 3)
        assert state.vstart == 0
