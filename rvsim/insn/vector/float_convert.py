"""Vector conversions between floating point and integers, and between formats (V 13.17 to 13.19).

Zvfbfmin and Zvfbfwma convert and multiply bf16 elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rvsim import fp, ir
from rvsim.fp import BF16, F32, Result, Rounding
from rvsim.insn.base.fp_forms import accrue, dynamic_mode, require_legal_frm
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.float_forms import (
    first_operand,
    float_widths,
    format_of,
    harmless,
)
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.ir import Value
from rvsim.vec.groups import SEW, WIDE, Eew, VReg, widths
from rvsim.vec.rules import EncodedUse, Rule, Violation

Convert = Callable[[Context, Value], Result]


@dataclass(frozen=True, slots=True)
class _Ends:
    """Element widths of source and destination, and which of the two hold floats."""

    source: Eew
    dest: Eew
    unit: Unit
    spec: str
    letter: str
    form: str


_SAME: Final = _Ends(SEW, SEW, Unit.VFCVT, "V 13.17", "", "v")
_WIDENING: Final = _Ends(SEW, WIDE, Unit.VFWIDEN_CVT, "V 13.18", "w", "v")
_NARROWING: Final = _Ends(WIDE, SEW, Unit.VFNARROW_CVT, "V 13.19", "n", "w")


def _define(
    name: str, selector: int, ends: _Ends, convert: Convert, rules: tuple[Rule, ...], ext: str = "v"
) -> None:
    def run(ctx: Context) -> None:
        require_legal_frm()
        shape = shape_of(ctx)
        lanes = ir.read_v("vs2", shape.n, _bits(ctx, ends.source))
        result, flags = convert(ctx, harmless(shape, lanes, 0))
        accrue(flags)
        shape.write("vd", result)
        shape.done()

    define_vector(
        name,
        f"010010 vm vs2 {selector:05b} 001 vd 1010111",
        "vd, vs2, vm",
        ends.unit,
        ends.spec,
        run,
        (VReg("vd", ends.dest, dest=True, source=False), VReg("vs2", ends.source)),
        rules,
        ext=ext,
    )


def _bits(ctx: Context, eew: Eew) -> int:
    return 1 << widths(eew, ctx.v)[0]


def _to_int(ends: _Ends, *, signed: bool, truncate: bool) -> Convert:
    def convert(ctx: Context, value: Value) -> Result:
        rm: Rounding = fp.RTZ if truncate else dynamic_mode()
        return fp.to_int(format_of(ctx, ends.source), value, _bits(ctx, ends.dest), rm,
                         signed=signed)  # fmt: skip

    return convert


def _from_int(ends: _Ends, *, signed: bool) -> Convert:
    return lambda ctx, value: fp.from_int(
        format_of(ctx, ends.dest), value, dynamic_mode(), signed=signed
    )


def _between(ends: _Ends, *, to_odd: bool = False) -> Convert:
    def convert(ctx: Context, value: Value) -> Result:
        rm: Rounding = fp.ODD if to_odd else dynamic_mode()
        return fp.convert(format_of(ctx, ends.source), format_of(ctx, ends.dest), value, rm)

    return convert


def _define_integer_conversions() -> None:
    """vfcvt, vfwcvt and vfncvt .xu.f .x.f .f.xu .f.x .rtz.xu.f .rtz.x.f"""
    for base, ends in ((0b00000, _SAME), (0b01000, _WIDENING), (0b10000, _NARROWING)):
        stem = f"vf{ends.letter}cvt"
        from_float, to_float = (float_widths(ends.source),), (float_widths(ends.dest),)
        for code, kind, signed in ((0, "xu", False), (1, "x", True)):
            _define(f"{stem}.{kind}.f.{ends.form}", base | code, ends,
                    _to_int(ends, signed=signed, truncate=False), from_float)  # fmt: skip
            _define(f"{stem}.f.{kind}.{ends.form}", base | code | 0b010, ends,
                    _from_int(ends, signed=signed), to_float)  # fmt: skip
            _define(f"{stem}.rtz.{kind}.f.{ends.form}", base | code | 0b110, ends,
                    _to_int(ends, signed=signed, truncate=True), from_float)  # fmt: skip


_define_integer_conversions()

_define("vfwcvt.f.f.v", 0b01100, _WIDENING, _between(_WIDENING),
        (float_widths(SEW, WIDE, half="zvfh zvfhmin"),))  # fmt: skip
_define("vfncvt.f.f.w", 0b10100, _NARROWING, _between(_NARROWING),
        (float_widths(SEW, WIDE, half="zvfh zvfhmin"),))  # fmt: skip
_define("vfncvt.rod.f.f.w", 0b10101, _NARROWING, _between(_NARROWING, to_odd=True),
        (float_widths(SEW, WIDE),))  # fmt: skip


# Zvfbfmin, Zvfbfwma: bf16 at SEW 16, f32 at 2 * SEW


def _sew_16(s: EncodedUse) -> Iterator[Violation]:
    """bf16 elements have 16 bits."""
    if s.vtype.sew != 16:
        yield Violation(f"bf16 elements have SEW 16, not {s.vtype.sew}", "Zvfbfmin")


_define("vfwcvtbf16.f.f.v", 0b01101, _WIDENING,
        lambda ctx, value: fp.convert(BF16, F32, value, fp.RNE),
        (_sew_16,), "zvfbfmin")  # fmt: skip
_define("vfncvtbf16.f.f.w", 0b11101, _NARROWING,
        lambda ctx, value: fp.convert(F32, BF16, value, dynamic_mode()),
        (_sew_16,), "zvfbfmin")  # fmt: skip


def vfwmaccbf16(ctx: Context) -> None:
    """vd += op1 * vs2, in f32 from bf16."""
    shape = shape_of(ctx)
    factors = (first_operand(ctx, shape.n, BF16), ir.read_v("vs2", shape.n, 16))
    (a, raised_a), (b, raised_b) = (
        fp.convert(BF16, F32, harmless(shape, v, BF16.one), fp.RNE) for v in factors
    )
    addend = harmless(shape, ir.read_v("vd", shape.n, 32), F32.one)
    result, raised = fp.fma(F32, a, b, addend, dynamic_mode())
    accrue(raised_a, raised_b, raised)
    shape.write("vd", result)
    shape.done()


for _form, _operand, _funct3 in (("vv", "vs1", "001"), ("vf", "fs1", "101")):
    define_vector(
        f"vfwmaccbf16.{_form}",
        f"111011 vm vs2 {_operand} {_funct3} vd 1010111",
        f"vd, {_operand}, vs2, vm",
        Unit.VFWIDEN_MA,
        "Zvfbfwma",
        vfwmaccbf16,
        (
            VReg("vd", WIDE, dest=True),
            VReg("vs2", SEW),
            *((VReg("vs1", SEW),) if _form == "vv" else ()),
        ),
        (_sew_16,),
        ext="zvfbfwma",
    )
