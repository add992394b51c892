"""Vector bit manipulation: Zvbb, and Zvkb, its part for cryptography."""

from __future__ import annotations

from collections.abc import Callable

from rvsim import ir
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import PLAIN, define_vector, elementwise, row, widening
from rvsim.ir import Value
from rvsim.vec.groups import SEW, VReg

SPEC, BOTH = "Zvbb", "zvbb zvkb"
_VREGS = (VReg("vd", SEW, dest=True, source=False), VReg("vs2", SEW))

row("I", "vandn", 0b000001, "vv vx", unit=Unit.VLOGIC, ext=BOTH, spec=SPEC,
    body=lambda vs2, op1: vs2 & ~op1)  # fmt: skip


# Reversals and counts in each element
def reversed_bits(vs2: Value) -> Value:
    """All bits of each element in reverse order."""
    return ir.bswap(ir.bitrev8(vs2))


def _unary(
    name: str, code: int, body: Callable[[Value], Value], *, unit: Unit, ext: str = "zvbb"
) -> None:
    pattern = f"010010 vm vs2 {code:05b} 010 vd 1010111"
    semantics = elementwise(body, PLAIN)
    define_vector(name, pattern, "vd, vs2, vm", unit, SPEC, semantics, _VREGS, ext=ext, doc="")


_unary("vbrev.v", 0b01010, reversed_bits, unit=Unit.VREVERSE)
_unary("vbrev8.v", 0b01000, lambda vs2: ir.bitrev8(vs2), unit=Unit.VREVERSE, ext=BOTH)
_unary("vrev8.v", 0b01001, lambda vs2: ir.bswap(vs2), unit=Unit.VREVERSE, ext=BOTH)
_unary("vclz.v", 0b01100, lambda vs2: ir.clz(vs2), unit=Unit.VCOUNT)
_unary("vctz.v", 0b01101, lambda vs2: ir.ctz(vs2), unit=Unit.VCOUNT)
_unary("vcpop.v", 0b01110, lambda vs2: ir.popcount(vs2), unit=Unit.VCOUNT)

# Rotations, by the low log2(SEW) bits
row("I", "vrol", 0b010101, "vv vx", unit=Unit.VROTATE, ext=BOTH, spec=SPEC,
    body=lambda vs2, op1: ir.rotl(vs2, op1))  # fmt: skip
row("I", "vror", 0b010100, "vv vx", unit=Unit.VROTATE, ext=BOTH, spec=SPEC,
    body=lambda vs2, op1: ir.rotr(vs2, op1))  # fmt: skip
define_vector(  # its immediate has six bits, as SEW 64 needs
    "vror.vi", "01010 uimm[5] vm vs2 uimm[4:0] 011 vd 1010111", "vd, vs2, uimm, vm", Unit.VROTATE,
    SPEC, elementwise(lambda vs2, op1: ir.rotr(vs2, op1), PLAIN), _VREGS, ext=BOTH, doc="",
)  # fmt: skip

# Widening shift, by the low log2(2*SEW) bits
row("I", "vwsll", 0b110101, "vv vx vi", unit=Unit.VWIDEN_SHIFT, ext="zvbb", spec=SPEC,
    widths=widening("uu"), unsigned_imm=True, body=lambda vs2, op1: vs2 << op1)  # fmt: skip
