"""Vector integer reductions: element 0 of vs1 and all active elements of vs2 (V 14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim import ir
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.insn.vector.mask import require_vstart_0
from rvsim.vec.groups import SCALAR, SEW, WIDE_SCALAR, VReg

_IDENTITY: Final[dict[str, Callable[[int], int]]] = {
    "add": lambda width: 0,
    "or": lambda width: 0,
    "xor": lambda width: 0,
    "max_u": lambda width: 0,
    "and": lambda width: -1,
    "min_u": lambda width: -1,
    "max_s": lambda width: 1 << (width - 1),
    "min_s": lambda width: (1 << (width - 1)) - 1,
}
"""What an inactive element counts as."""


def reduction(operation: str, sign: str = "") -> Callable[[Context], None]:
    """vd[0] = vs1[0] op vs2[active]…; widening to 2*SEW by `sign` "s" or "u"."""

    def run(ctx: Context) -> None:
        require_vstart_0(ctx)
        shape = shape_of(ctx)
        width = ctx.v.sew * 2 if sign else ctx.v.sew
        elements = ir.read_v("vs2", shape.n, ctx.v.sew)
        if sign:
            elements = (ir.sext if sign == "s" else ir.zext)(elements, width)
        active = ir.where(shape.active(), elements, _IDENTITY[operation](width))
        start = ir.extract(ir.read_v("vs1", ctx.config.vlen // width, width), 0)
        folded = ir.reduce(operation, ir.concat(ir.splat(start, 1), active))
        shape.write_scalar("vd", folded)

    return run


def _row(name: str, funct6: int, operation: str, unit: Unit, sign: str = "") -> None:
    funct3 = "000" if sign else "010"
    scalar = WIDE_SCALAR if sign else SCALAR
    define_vector(
        f"{name}.vs",
        f"{funct6:06b} vm vs2 vs1 {funct3} vd 1010111",
        "vd, vs2, vs1, vm",
        unit,
        "V 14.2" if sign else "V 14.1",
        reduction(operation, sign),
        (VReg("vd", scalar, dest=True, source=False), VReg("vs2", SEW), VReg("vs1", scalar)),
    )


_row("vredsum", 0b000000, "add", Unit.VREDUCE)
_row("vredand", 0b000001, "and", Unit.VREDUCE_LOGIC)
_row("vredor", 0b000010, "or", Unit.VREDUCE_LOGIC)
_row("vredxor", 0b000011, "xor", Unit.VREDUCE_LOGIC)
_row("vredminu", 0b000100, "min_u", Unit.VREDUCE)
_row("vredmin", 0b000101, "min_s", Unit.VREDUCE)
_row("vredmaxu", 0b000110, "max_u", Unit.VREDUCE)
_row("vredmax", 0b000111, "max_s", Unit.VREDUCE)
_row("vwredsumu", 0b110000, "add", Unit.VREDUCE_WIDEN, "u")
_row("vwredsum", 0b110001, "add", Unit.VREDUCE_WIDEN, "s")
