"""Vector carry-less multiplication: Zvbc."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.crypto.zvbb import reversed_bits
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import row
from rvsim.ir import Value
from rvsim.vec.rules import sew_is

_EVERY_FOURTH = 0x1111_1111_1111_1111


def clmul(vs2: Value, op1: Value) -> Value:
    """The low half of the product of polynomials over GF(2)."""
    # Integer products of every fourth bit of each factor: the bits that meet in one place, up to
    # 15 but for the last, carry into no more than the three places above it, which are cleared.
    digits = [_EVERY_FOURTH << k for k in range(4)]
    a, b = ([factor & digit for digit in digits] for factor in (vs2, op1))
    product = ir.const(0, vs2.type)
    for k, digit in enumerate(digits):
        terms = [a[i] * b[(k - i) % 4] for i in range(4)]
        product |= (terms[0] ^ terms[1] ^ terms[2] ^ terms[3]) & digit
    return product


def clmulh(vs2: Value, op1: Value) -> Value:
    """The high half of the product, whose bit 127 is always 0."""
    # Reversed factors have the reversed product, of which this is bits 126 to 63.
    return ir.shr_u(reversed_bits(clmul(reversed_bits(vs2), reversed_bits(op1))), 1)


for _name, _funct6, _body in (("vclmul", 0b001100, clmul), ("vclmulh", 0b001101, clmulh)):
    row("M", _name, _funct6, "vv vx", unit=Unit.VCLMUL, ext="zvbc", spec="Zvbc", body=_body,
        rules=(sew_is(64, spec="Zvbc"),))  # fmt: skip
