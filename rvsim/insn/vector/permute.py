"""Vector permutation: scalar moves, slides, gathers, compress, whole-register moves (V 16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rvsim import ir
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, first_operand, shape_of
from rvsim.insn.vector.mask import require_vstart_0
from rvsim.ir import Value
from rvsim.vec.groups import MASK, SCALAR, SEW, Eew, VReg
from rvsim.vec.rules import no_source_overlap
from rvsim.vec.shapes import LANE_BITS, Known, Shape

_DEST = VReg("vd", SEW, dest=True, source=False)


# V 16.1  Integer scalar moves; element 0 alone, whatever LMUL is
def vmv_x_s(ctx: Context) -> None:
    """Element 0, sign-extended; also with vl = 0."""
    element = ir.extract(ir.read_v("vs2", ctx.config.vlen // ctx.v.sew, ctx.v.sew), 0)
    ir.write_x("rd", ir.sext(element, 64))
    shape_of(ctx).done()


def vmv_s_x(ctx: Context) -> None:
    """Element 0 from an x register, unless vstart >= vl."""
    shape = shape_of(ctx)
    shape.write_scalar("vd", ir.trunc(ir.read_x("rs1"), ctx.v.sew))
    shape.done()


define_vector(
    "vmv.x.s", "010000 1 vs2 00000 010 rd 1010111", "rd, vs2", Unit.VMOVE_TO_X, "V 16.1",
    vmv_x_s, (VReg("vs2", SCALAR),),
)  # fmt: skip
define_vector(
    "vmv.s.x", "010000 1 00000 rs1 110 vd 1010111", "vd, rs1", Unit.VMOVE_FROM_X, "V 16.1",
    vmv_s_x, (VReg("vd", SCALAR, dest=True, source=False),),
)  # fmt: skip


# V 16.3  Slides
def _offset(ctx: Context) -> Value:
    """The slide or gather index: rs1 whole, or the immediate."""
    by_register = "rs1" in ctx.insn.encoding.field_names
    return ir.read_x("rs1") if by_register else ir.param("uimm")


def vslideup(ctx: Context) -> None:
    """vd[i + offset] = vs2[i]; elements below the offset keep their value."""
    shape = shape_of(ctx)
    n = shape.n
    lane = ir.iota(n, LANE_BITS)
    offset = ir.splat(ir.trunc(ir.min_u(_offset(ctx), n), LANE_BITS), n)
    below = ir.lt_u(lane, offset)
    moved = ir.take(ir.read_v("vs2", n, ctx.v.sew), lane - offset)
    shape.write("vd", moved, shape.active() & ~below, keep=below)
    shape.done()


def vslidedown(ctx: Context) -> None:
    """vd[i] = vs2[i + offset], 0 from past VLMAX."""
    shape = shape_of(ctx)
    n = shape.n
    offset = ir.splat(ir.trunc(ir.min_u(_offset(ctx), n), LANE_BITS), n)
    shape.write("vd", ir.take(ir.read_v("vs2", n, ctx.v.sew), ir.iota(n, LANE_BITS) + offset))
    shape.done()


def slide1up(ctx: Context, scalar: Value) -> None:
    """vd[0] = scalar, vd[i + 1] = vs2[i]."""
    shape = shape_of(ctx)
    vs2 = ir.read_v("vs2", shape.n, ctx.v.sew)
    shape.write("vd", ir.head(ir.concat(ir.splat(scalar, 1), vs2), shape.n))
    shape.done()


def slide1down(ctx: Context, scalar: Value) -> None:
    """vd[i] = vs2[i + 1], vd[vl - 1] = scalar."""
    shape = shape_of(ctx)
    n = shape.n
    lane = ir.iota(n, 64)
    shifted = ir.concat(ir.read_v("vs2", n, ctx.v.sew), ir.const(0, ir.lanes(1, ctx.v.sew)))
    is_last = lane + 1 == ir.splat(shape.vl(), n)
    shape.write("vd", ir.where(is_last, scalar, ir.shuffle(shifted, range(1, n + 1))))
    shape.done()


def vslide1up(ctx: Context) -> None:
    """vd[0] = x[rs1], vd[i + 1] = vs2[i]."""
    slide1up(ctx, ir.trunc(ir.read_x("rs1"), ctx.v.sew))


def vslide1down(ctx: Context) -> None:
    """vd[i] = vs2[i + 1], vd[vl - 1] = x[rs1]."""
    slide1down(ctx, ir.trunc(ir.read_x("rs1"), ctx.v.sew))


for _form, _code, _funct3 in (("vx", "rs1", "100"), ("vi", "uimm[4:0]", "011")):
    _operand = _code.partition("[")[0]
    define_vector(
        f"vslideup.{_form}", f"001110 vm vs2 {_code} {_funct3} vd 1010111",
        f"vd, vs2, {_operand}, vm", Unit.VSLIDE_UP, "V 16.3.1", vslideup,
        (_DEST, VReg("vs2", SEW)), (no_source_overlap("vs2", spec="V 16.3.1"),),
    )  # fmt: skip
    define_vector(
        f"vslidedown.{_form}", f"001111 vm vs2 {_code} {_funct3} vd 1010111",
        f"vd, vs2, {_operand}, vm", Unit.VSLIDE_DOWN, "V 16.3.2", vslidedown,
        (_DEST, VReg("vs2", SEW)),
    )  # fmt: skip
define_vector(
    "vslide1up.vx", "001110 vm vs2 rs1 110 vd 1010111", "vd, vs2, rs1, vm",
    Unit.VSLIDE1_UP, "V 16.3.3", vslide1up, (_DEST, VReg("vs2", SEW)),
    (no_source_overlap("vs2", spec="V 16.3.3"),),
)  # fmt: skip
define_vector(
    "vslide1down.vx", "001111 vm vs2 rs1 110 vd 1010111", "vd, vs2, rs1, vm",
    Unit.VSLIDE1_DOWN, "V 16.3.4", vslide1down, (_DEST, VReg("vs2", SEW)),
)  # fmt: skip


# V 16.4  Register gather: 0 for an index past VLMAX
def vrgather_vv(ctx: Context) -> None:
    """vd[i] = vs2[vs1[i]], 0 from past VLMAX."""
    shape = shape_of(ctx)
    source = ir.read_v("vs2", shape.n, ctx.v.sew)
    shape.write("vd", ir.take(source, first_operand(ctx, shape.n, ctx.v.sew)))
    shape.done()


def vrgatherei16(ctx: Context) -> None:
    """vd[i] = vs2[vs1[i]] with 16-bit indices, 0 from past VLMAX."""
    shape = shape_of(ctx)
    source = ir.read_v("vs2", shape.n, ctx.v.sew)
    shape.write("vd", ir.take(source, ir.read_v("vs1", shape.n, 16)))
    shape.done()


def vrgather_scalar(ctx: Context) -> None:
    """vd[i] = vs2[index] for one index, 0 from past VLMAX."""
    shape = shape_of(ctx)
    n = shape.n
    source = ir.read_v("vs2", n, ctx.v.sew)
    index = ir.splat(ir.trunc(ir.min_u(_offset(ctx), n), LANE_BITS), n)
    shape.write("vd", ir.take(source, index))
    shape.done()


define_vector(
    "vrgather.vv", "001100 vm vs2 vs1 000 vd 1010111", "vd, vs2, vs1, vm",
    Unit.VGATHER, "V 16.4", vrgather_vv, (_DEST, VReg("vs2", SEW), VReg("vs1", SEW)),
    (no_source_overlap("vs2", "vs1", spec="V 16.4"),),
)  # fmt: skip
define_vector(
    "vrgatherei16.vv", "001110 vm vs2 vs1 000 vd 1010111", "vd, vs2, vs1, vm",
    Unit.VGATHER16, "V 16.4", vrgatherei16,
    (_DEST, VReg("vs2", SEW), VReg("vs1", Eew("eew", 4))),
    (no_source_overlap("vs2", "vs1", spec="V 16.4"),),
)  # fmt: skip
for _form, _code, _funct3 in (("vx", "rs1", "100"), ("vi", "uimm[4:0]", "011")):
    _operand = _code.partition("[")[0]
    define_vector(
        f"vrgather.{_form}", f"001100 vm vs2 {_code} {_funct3} vd 1010111",
        f"vd, vs2, {_operand}, vm", Unit.VGATHER_SCALAR, "V 16.4", vrgather_scalar,
        (_DEST, VReg("vs2", SEW)), (no_source_overlap("vs2", spec="V 16.4"),),
    )  # fmt: skip


# V 16.5  Compress
def vcompress(ctx: Context) -> None:
    """Elements of vs2 selected by the mask vs1, packed; what follows them is tail."""
    require_vstart_0(ctx)
    shape = shape_of(ctx, masked=False)
    selected = ir.read_mask("vs1", shape.n) & shape.body()
    packed = ir.compress(ir.read_v("vs2", shape.n, ctx.v.sew), selected)
    # With vl > 0 and nothing selected, all is tail.
    result = replace(shape, known="vl", evl=ir.count(selected), updates=shape.has_body())
    result.write("vd", packed)


define_vector(
    "vcompress.vm", "010111 1 vs2 vs1 010 vd 1010111", "vd, vs2, vs1", Unit.VCOMPRESS,
    "V 16.5", vcompress, (_DEST, VReg("vs2", SEW), VReg("vs1", MASK)),
    (no_source_overlap("vs2", "vs1", spec="V 16.5"),),
)  # fmt: skip


# V 16.6  Whole-register moves: vmv1r.v vmv2r.v vmv4r.v vmv8r.v
def _whole_move(nregs: int) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        sew = ctx.v.sew
        n = nregs * ctx.config.vlen // sew
        known: Known = "vstart" if ctx.elements == "vstart" else "vl"
        shape = Shape(ctx.config, None, known, n, masked=False, evl=ir.const(n, 64))
        shape.write("vd", ir.read_v("vs2", n, sew))
        shape.done()

    return run


for _nregs in (1, 2, 4, 8):
    _whole = Eew("whole", _nregs)
    define_vector(
        f"vmv{_nregs}r.v", f"100111 1 vs2 {_nregs - 1:05b} 011 vd 1010111", "vd, vs2",
        Unit.VMOVE_WHOLE, "V 16.6", _whole_move(_nregs),
        (VReg("vd", _whole, dest=True, source=False), VReg("vs2", _whole)),
    )  # fmt: skip
