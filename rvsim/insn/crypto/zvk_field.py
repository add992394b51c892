"""Arithmetic in GF(2^8) on Python ints, from which the S-boxes of AES and SM4 are made."""

from __future__ import annotations


def multiply(a: int, b: int, modulus: int) -> int:
    """The product of polynomials over GF(2) modulo one of degree 8.

    >>> hex(multiply(0x57, 0x83, 0x11B))  # FIPS 197 4.2
    '0xc1'
    """
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (modulus if a & 0x80 else 0)
        b >>= 1
    return product


def inverses(modulus: int) -> bytes:
    """The inverse of each element, and 0 for 0; x + 1 generates the others.

    >>> hex(inverses(0x11B)[0x53])  # FIPS 197 4.2
    '0xca'
    """
    powers = [1]
    while len(powers) < 255:
        powers.append(multiply(powers[-1], 3, modulus))
    assert len(set(powers)) == 255
    inverse = dict(zip(powers, [1, *reversed(powers[1:])], strict=True))
    return bytes(inverse.get(octet, 0) for octet in range(256))


def turn_left(octet: int, amount: int) -> int:
    """A byte rotated left."""
    return (octet << amount | octet >> 8 - amount) & 0xFF
