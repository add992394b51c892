"""Vector GCM: multiplication in the field of GHASH (Zvkg).

An element group of 128 bits is a polynomial over GF(2) whose coefficients stand in memory with the
bits of each byte reversed; products are modulo x^128 + x^7 + x^2 + x + 1.
"""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.crypto.zvbb import reversed_bits
from rvsim.insn.crypto.zvbc import clmul
from rvsim.insn.crypto.zvk_forms import elements, group_insn, grouped, runs
from rvsim.insn.units import Unit
from rvsim.ir import Value

SPEC = "Zvkg"


def _factors(groups: Value) -> Value:
    """Both halves of each group and their sum, as polynomials, and then the same with all bits
    reversed.
    """
    low, high = elements(ir.bitcast(groups, ir.lanes((groups.type.lanes or 0) // 2, 64)), 2)
    halves = ir.concat(low, high, low ^ high)
    return ir.concat(ir.bitrev8(halves), ir.bswap(halves))


def _reduce(z0: Value, z1: Value, z2: Value, z3: Value) -> tuple[Value, Value]:
    """256 bits modulo the polynomial: x^128 = x^7 + x^2 + x + 1."""

    def out_of(half: Value) -> Value:
        return ir.shr_u(half, 63) ^ ir.shr_u(half, 62) ^ ir.shr_u(half, 57)

    def within(half: Value) -> Value:
        return half ^ (half << 1) ^ (half << 2) ^ (half << 7)

    z2 = z2 ^ out_of(z3)
    return z0 ^ within(z2), z1 ^ within(z3) ^ out_of(z2)


def multiply(a: Value, b: Value) -> Value:
    """Products in the field, by Karatsuba's three products of halves."""
    product = clmul(_factors(a), _factors(b))
    plain, of_reversed = runs(product, 2)
    low, high, both = runs(plain, 3)
    # Reversed factors have the reversed product, which gives its upper half.
    low_upper, high_upper, both_upper = runs(ir.shr_u(reversed_bits(of_reversed), 1), 3)
    z1 = low_upper ^ both ^ low ^ high
    z2 = high ^ both_upper ^ low_upper ^ high_upper
    reduced = grouped(*_reduce(low, z1, z2, high_upper), size=2)
    return ir.bitcast(ir.bitrev8(reduced), a.type)


def vghsh(vd: Value, vs2: Value, vs1: Value) -> Value:
    """GHASH: the partial hash vd, with the block vs1 added, times the hash subkey vs2."""
    return multiply(vd ^ vs1, vs2)


def vgmul(vd: Value, vs2: Value) -> Value:
    """Multiplication in the field of GHASH."""
    return multiply(vd, vs2)


group_insn("vghsh.vv vd, vs2, vs1", "101100 1 vs2 vs1 010 vd 1110111", vghsh,
           ext="zvkg", unit=Unit.VGHASH, spec=SPEC)  # fmt: skip
group_insn("vgmul.vv vd, vs2", "101000 1 vs2 10001 010 vd 1110111", vgmul,
           ext="zvkg", unit=Unit.VGHASH, spec=SPEC)  # fmt: skip
