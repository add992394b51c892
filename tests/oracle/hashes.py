"""SHA-2 (FIPS 180-4), SM3 (GB/T 32905) and GHASH (SP 800-38D), a step at a time."""

from collections.abc import Sequence

# -- SHA-2, on words of 32 or 64 bits


def rotr(x: int, n: int, w: int) -> int:
    return (x >> n | x << (w - n)) & (1 << w) - 1


# FIPS 180-4 4.1.2, 4.1.3
UPPER_SIGMA_0 = {32: (2, 13, 22), 64: (28, 34, 39)}
UPPER_SIGMA_1 = {32: (6, 11, 25), 64: (14, 18, 41)}
LOWER_SIGMA_0 = {32: (7, 18, 3), 64: (1, 8, 7)}
LOWER_SIGMA_1 = {32: (17, 19, 10), 64: (19, 61, 6)}


def upper(x: int, amounts: Sequence[int], w: int) -> int:
    a, b, c = amounts
    return rotr(x, a, w) ^ rotr(x, b, w) ^ rotr(x, c, w)


def lower(x: int, amounts: Sequence[int], w: int) -> int:
    a, b, c = amounts
    return rotr(x, a, w) ^ rotr(x, b, w) ^ x >> c


def sha2_word(w16: int, w15: int, w7: int, w2: int, w: int) -> int:
    """FIPS 180-4 6.2.2 step 1: the word from those 16, 15, 7 and 2 before it."""
    total = lower(w2, LOWER_SIGMA_1[w], w) + w7 + lower(w15, LOWER_SIGMA_0[w], w) + w16
    return total % (1 << w)


def sha2_round(state: Sequence[int], word: int, width: int) -> list[int]:
    """FIPS 180-4 6.2.2 step 3; `word` is the message word plus the round's constant."""
    a, b, c, d, e, f, g, h = state
    choice = e & f ^ ~e & g
    majority = a & b ^ a & c ^ b & c
    t1 = h + upper(e, UPPER_SIGMA_1[width], width) + choice + word
    t2 = upper(a, UPPER_SIGMA_0[width], width) + majority
    return [x % (1 << width) for x in (t1 + t2, a, b, c, d + t1, e, f, g)]


# -- SM3


def rotl(x: int, n: int) -> int:
    x %= 1 << 32
    return (x << n % 32 | x >> (32 - n % 32)) % (1 << 32)


def sm3_word(w: Sequence[int], j: int) -> int:
    """GB/T 32905 5.3.2: word j of the expanded message."""
    x = w[j - 16] ^ w[j - 9] ^ rotl(w[j - 3], 15)
    return x ^ rotl(x, 15) ^ rotl(x, 23) ^ rotl(w[j - 13], 7) ^ w[j - 6]


def sm3_round(state: Sequence[int], j: int, word: int, word_plus_4: int) -> list[int]:
    """GB/T 32905 5.3.3: round j, with W_j and W_(j+4), whose sum is W'_j."""
    a, b, c, d, e, f, g, h = state
    if j < 16:
        t, ff, gg = 0x79CC4519, a ^ b ^ c, e ^ f ^ g
    else:
        t, ff, gg = 0x7A879D8A, a & b | a & c | b & c, e & f | ~e & g
    ss1 = rotl(rotl(a, 12) + e + rotl(t, j), 7)
    ss2 = ss1 ^ rotl(a, 12)
    tt1 = ff + d + ss2 + (word ^ word_plus_4)
    tt2 = gg + h + ss1 + word
    p0 = rotl(tt2, 0) ^ rotl(tt2, 9) ^ rotl(tt2, 17)
    return [rotl(tt1, 0), a, rotl(b, 9), c, p0, e, rotl(f, 19), g]


# -- GHASH


def ghash_product(x: bytes, y: bytes) -> bytes:
    """SP 800-38D 6.3: the product of blocks, whose first bit is the coefficient of x^0."""
    z, v = 0, int.from_bytes(y, "big")
    for bit in f"{int.from_bytes(x, 'big'):0128b}":
        if bit == "1":
            z ^= v
        v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
    return z.to_bytes(16, "big")
