"""Vector floating point, element by element (V 13), moves and slides (V 16.2, 16.3)."""

from __future__ import annotations

from functools import partial

from rvsim import fp, ir
from rvsim.fp import Format
from rvsim.insn.base.fp_forms import boxed, require_legal_frm, unboxed
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.float_forms import (
    FORMATS,
    Body,
    FloatWidths,
    float_row,
    float_widths,
    semantics,
)
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.insn.vector.permute import slide1down, slide1up
from rvsim.ir import Value
from rvsim.vec.groups import MASK, SCALAR, SEW, WIDE, VReg
from rvsim.vec.rules import no_source_overlap

_WIDENING = FloatWidths(vd=WIDE)
_WIDENING_W = FloatWidths(vd=WIDE, vs2=WIDE)
_COMPARE = FloatWidths(vd=MASK)

# V 13.2  Add and subtract
row = partial(float_row, unit=Unit.VFADD, spec="V 13.2")
row("vfadd", 0b000000, "vv vf", lambda fmt, vs2, op1, rm: fp.add(fmt, vs2, op1, rm))
row("vfsub", 0b000010, "vv vf", lambda fmt, vs2, op1, rm: fp.sub(fmt, vs2, op1, rm))
row("vfrsub", 0b100111, "vf", lambda fmt, vs2, op1, rm: fp.sub(fmt, op1, vs2, rm))

# V 13.3  Widening add and subtract
row = partial(float_row, unit=Unit.VFWIDEN_ADD, spec="V 13.3", eews=_WIDENING)
row("vfwadd", 0b110000, "vv vf", lambda fmt, vs2, op1, rm: fp.add(fmt, vs2, op1, rm))
row("vfwsub", 0b110010, "vv vf", lambda fmt, vs2, op1, rm: fp.sub(fmt, vs2, op1, rm))
row = partial(float_row, unit=Unit.VFWIDEN_ADD_W, spec="V 13.3", eews=_WIDENING_W)
row("vfwadd", 0b110100, "wv wf", lambda fmt, vs2, op1, rm: fp.add(fmt, vs2, op1, rm))
row("vfwsub", 0b110110, "wv wf", lambda fmt, vs2, op1, rm: fp.sub(fmt, vs2, op1, rm))

# V 13.4  Multiply and divide
row = partial(float_row, spec="V 13.4")
row("vfmul", 0b100100, "vv vf", lambda fmt, vs2, op1, rm: fp.mul(fmt, vs2, op1, rm),
    unit=Unit.VFMUL)  # fmt: skip
row("vfdiv", 0b100000, "vv vf", lambda fmt, vs2, op1, rm: fp.div(fmt, vs2, op1, rm),
    unit=Unit.VFDIV)  # fmt: skip
row("vfrdiv", 0b100001, "vf", lambda fmt, vs2, op1, rm: fp.div(fmt, op1, vs2, rm),
    unit=Unit.VFDIV)  # fmt: skip

# V 13.5  Widening multiply
float_row("vfwmul", 0b111000, "vv vf", lambda fmt, vs2, op1, rm: fp.mul(fmt, vs2, op1, rm),
          unit=Unit.VFWIDEN_MUL, spec="V 13.5", eews=_WIDENING)  # fmt: skip


# V 13.6, 13.7  Fused multiply-add: acc adds to vd, madd multiplies vd


def _signed(fmt: Format, value: Value, negative: bool) -> Value:
    return value ^ fmt.sign if negative else value


def _accumulate(product: bool, addend: bool) -> Body:
    """±(op1 * vs2) ± vd; True is minus."""
    return lambda fmt, vd, op1, vs2, rm: fp.fma(
        fmt, _signed(fmt, op1, product), vs2, _signed(fmt, vd, addend), rm
    )


def _multiply(product: bool, addend: bool) -> Body:
    """±(op1 * vd) ± vs2; True is minus."""
    return lambda fmt, vd, op1, vs2, rm: fp.fma(
        fmt, _signed(fmt, op1, product), vd, _signed(fmt, vs2, addend), rm
    )


row = partial(float_row, forms="vv vf", unit=Unit.VFMA, spec="V 13.6")
row("vfmacc", 0b101100, body=_accumulate(False, False))
row("vfnmacc", 0b101101, body=_accumulate(True, True))
row("vfmsac", 0b101110, body=_accumulate(False, True))
row("vfnmsac", 0b101111, body=_accumulate(True, False))
row("vfmadd", 0b101000, body=_multiply(False, False))
row("vfnmadd", 0b101001, body=_multiply(True, True))
row("vfmsub", 0b101010, body=_multiply(False, True))
row("vfnmsub", 0b101011, body=_multiply(True, False))

row = partial(float_row, forms="vv vf", unit=Unit.VFWIDEN_MA, spec="V 13.7", eews=_WIDENING)
row("vfwmacc", 0b111100, body=_accumulate(False, False))
row("vfwnmacc", 0b111101, body=_accumulate(True, True))
row("vfwmsac", 0b111110, body=_accumulate(False, True))
row("vfwnmsac", 0b111111, body=_accumulate(True, False))

# V 13.11, 13.12  Minimum, maximum, sign injection
row = partial(float_row, forms="vv vf", unit=Unit.VFMINMAX, spec="V 13.11")
row("vfmin", 0b000100, body=lambda fmt, vs2, op1: fp.minimum(fmt, vs2, op1))
row("vfmax", 0b000110, body=lambda fmt, vs2, op1: fp.maximum(fmt, vs2, op1))
row = partial(float_row, forms="vv vf", unit=Unit.VFSIGN, spec="V 13.12")
row("vfsgnj", 0b001000, body=lambda fmt, vs2, op1: fp.inject_sign(fmt, vs2, op1))
row("vfsgnjn", 0b001001, body=lambda fmt, vs2, op1: fp.inject_negated_sign(fmt, vs2, op1))
row("vfsgnjx", 0b001010, body=lambda fmt, vs2, op1: fp.inject_xored_sign(fmt, vs2, op1))

# V 13.13  Compares
row = partial(float_row, unit=Unit.VFCOMPARE, spec="V 13.13", eews=_COMPARE)
row("vmfeq", 0b011000, "vv vf", lambda fmt, vs2, op1: fp.eq(fmt, vs2, op1))
row("vmfle", 0b011001, "vv vf", lambda fmt, vs2, op1: fp.le(fmt, vs2, op1))
row("vmflt", 0b011011, "vv vf", lambda fmt, vs2, op1: fp.lt(fmt, vs2, op1))
row("vmfne", 0b011100, "vv vf", lambda fmt, vs2, op1: fp.ne(fmt, vs2, op1))
row("vmfgt", 0b011101, "vf", lambda fmt, vs2, op1: fp.lt(fmt, op1, vs2))
row("vmfge", 0b011111, "vf", lambda fmt, vs2, op1: fp.le(fmt, op1, vs2))

# V 13.15  Merge
float_row("vfmerge", 0b010111, "vfm", lambda fmt, vs2, op1, carry: ir.where(carry, op1, vs2),
          unit=Unit.VMERGE, spec="V 13.15")  # fmt: skip


# V 13.8 to 13.10, 13.14  One operand


def _unary(name: str, selector: str, unit: Unit, spec: str, body: Body) -> None:
    define_vector(
        name,
        f"010011 vm vs2 {selector} 001 vd 1010111",
        "vd, vs2, vm",
        unit,
        spec,
        semantics(body, FloatWidths()),
        (VReg("vd", SEW, dest=True, source=False), VReg("vs2", SEW)),
        (float_widths(SEW),),
    )


_unary("vfsqrt.v", "00000", Unit.VFSQRT, "V 13.8", lambda fmt, vs2, rm: fp.sqrt(fmt, vs2, rm))
_unary("vfrsqrt7.v", "00100", Unit.VFESTIMATE, "V 13.9",
       lambda fmt, vs2: fp.reciprocal_root(fmt, vs2))  # fmt: skip
_unary("vfrec7.v", "00101", Unit.VFESTIMATE, "V 13.10",
       lambda fmt, vs2, rm: fp.reciprocal(fmt, vs2, rm))  # fmt: skip
_unary("vfclass.v", "10000", Unit.VFCLASS, "V 13.14", lambda fmt, vs2: fp.classify(fmt, vs2))


# V 13.16, 16.2, 16.3  Moves and slides with a scalar from an f register


def _scalar(ctx: Context) -> Value:
    return unboxed(ir.read_f("fs1"), FORMATS[ctx.v.sew])


def vfmv_v_f(ctx: Context) -> None:
    require_legal_frm()
    shape = shape_of(ctx)
    shape.write("vd", ir.splat(_scalar(ctx), shape.n))
    shape.done()


def vfmv_f_s(ctx: Context) -> None:
    """Element 0 as an f register holds it; also with vl = 0."""
    require_legal_frm()
    fmt = FORMATS[ctx.v.sew]
    element = ir.extract(ir.read_v("vs2", ctx.config.vlen // fmt.width, fmt.width), 0)
    ir.write_f("fd", boxed(element) if fmt.width < 64 else element)
    shape_of(ctx).done()


def vfmv_s_f(ctx: Context) -> None:
    require_legal_frm()
    shape = shape_of(ctx)
    shape.write_scalar("vd", _scalar(ctx))
    shape.done()


def vfslide1up(ctx: Context) -> None:
    """vd[0] = f[fs1], vd[i + 1] = vs2[i]."""
    require_legal_frm()
    slide1up(ctx, _scalar(ctx))


def vfslide1down(ctx: Context) -> None:
    """vd[i] = vs2[i + 1], vd[vl - 1] = f[fs1]."""
    require_legal_frm()
    slide1down(ctx, _scalar(ctx))


_DEST = VReg("vd", SEW, dest=True, source=False)
_FLOAT = (float_widths(SEW),)
define_vector("vfmv.v.f", "010111 1 00000 fs1 101 vd 1010111", "vd, fs1", Unit.VMOVE,
              "V 13.16", vfmv_v_f, (_DEST,), _FLOAT)  # fmt: skip
define_vector("vfmv.f.s", "010000 1 vs2 00000 001 fd 1010111", "fd, vs2", Unit.VMOVE_TO_X,
              "V 16.2", vfmv_f_s, (VReg("vs2", SCALAR),), _FLOAT)  # fmt: skip
define_vector("vfmv.s.f", "010000 1 00000 fs1 101 vd 1010111", "vd, fs1", Unit.VMOVE_FROM_X,
              "V 16.2", vfmv_s_f, (VReg("vd", SCALAR, dest=True, source=False),),
              _FLOAT)  # fmt: skip
define_vector("vfslide1up.vf", "001110 vm vs2 fs1 101 vd 1010111", "vd, vs2, fs1, vm",
              Unit.VSLIDE1_UP, "V 16.3.3", vfslide1up, (_DEST, VReg("vs2", SEW)),
              (*_FLOAT, no_source_overlap("vs2", spec="V 16.3.3")))  # fmt: skip
define_vector("vfslide1down.vf", "001111 vm vs2 fs1 101 vd 1010111", "vd, vs2, fs1, vm",
              Unit.VSLIDE1_DOWN, "V 16.3.4", vfslide1down, (_DEST, VReg("vs2", SEW)),
              _FLOAT)  # fmt: skip
