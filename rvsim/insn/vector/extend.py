"""Vector rows with one source: integer extension (V 11.3) and moves (V 11.16)."""

from __future__ import annotations

from collections.abc import Callable

from rvsim import ir
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, first_operand, shape_of
from rvsim.ir import Value
from rvsim.vec.groups import SEW, Eew, VReg

_DEST = VReg("vd", SEW, dest=True, source=False)


def _extension(
    factor_log2: int, extend: Callable[[Value, int], Value]
) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        shape = shape_of(ctx)
        narrow = ir.read_v("vs2", shape.n, ctx.v.sew >> factor_log2)
        shape.write("vd", extend(narrow, ctx.v.sew))
        shape.done()

    return run


def define_extensions() -> None:
    """vzext.vf2, vzext.vf4, vzext.vf8 and their vsext twins: from SEW/2, SEW/4, SEW/8."""
    for factor_log2, code in ((3, 0b00010), (2, 0b00100), (1, 0b00110)):
        for name, extend in (("vzext", ir.zext), ("vsext", ir.sext)):
            selector = code | (name == "vsext")
            define_vector(
                f"{name}.vf{1 << factor_log2}",
                f"010010 vm vs2 {selector:05b} 010 vd 1010111",
                "vd, vs2, vm",
                Unit.VEXTEND,
                "V 11.3",
                _extension(factor_log2, extend),
                (_DEST, VReg("vs2", Eew("sew", -factor_log2))),
            )


def _move(ctx: Context) -> None:
    shape = shape_of(ctx)
    shape.write("vd", first_operand(ctx, shape.n, ctx.v.sew))
    shape.done()


def define_moves() -> None:
    """vmv.v.v, vmv.v.x, vmv.v.i: the unmasked half of vmerge, with vs2 = v0."""
    for form, operand, funct3 in (("v", "vs1", "000"), ("x", "rs1", "100"), ("i", "imm", "011")):
        code = "imm[4:0]" if form == "i" else operand
        sources = (VReg("vs1", SEW),) if form == "v" else ()
        define_vector(
            f"vmv.v.{form}",
            f"010111 1 00000 {code} {funct3} vd 1010111",
            f"vd, {operand}",
            Unit.VMOVE,
            "V 11.16",
            _move,
            (_DEST, *sources),
            doc="Copy to every element.",
        )
