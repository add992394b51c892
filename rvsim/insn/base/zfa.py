"""Zfa, additional floating-point instructions (unprivileged manual, Zfa)."""

from __future__ import annotations

from functools import partial

from rvsim import fp, ir
from rvsim.fp import F64, Format, Result
from rvsim.insn.base.fp_constants import CONSTANTS, pattern
from rvsim.insn.base.fp_forms import SUFFIXES, fp_insn
from rvsim.insn.base.rv_f import OP_FP
from rvsim.insn.units import Unit
from rvsim.ir import Value


def _constant(fmt: Format, fpimm: Value) -> Value:
    """The constant with this index."""
    table = sum(pattern(c, fmt) << i * fmt.width for i, c in enumerate(CONSTANTS))
    size = len(CONSTANTS)
    entries = ir.bitcast(ir.const(table, size * fmt.width), ir.lanes(size, fmt.width))
    return ir.extract(ir.take(entries, ir.splat(ir.trunc(fpimm, 8), 1)), 0)


def _define_all() -> None:
    """fli fminm fmaxm fround froundnx fleq fltq, in .h, .s and .d."""
    for letter, (fmt, code, ext) in SUFFIXES.items():
        zfa = partial(fp_insn, fmt=fmt, ext="zfa", requires=ext)
        two, one = f"{code} fs2 fs1", f"{code} 00100 fs1 rm"
        zfa(f"fli.{letter} fd, fpimm", f"11110 {code} 00001 fpimm[4:0] 000 fd {OP_FP}", _constant,
            result=fmt, unit=Unit.FMOVE_FROM_X, spec="Zfa 1")  # fmt: skip
        zfa(f"fminm.{letter} fd, fs1, fs2", f"00101 {two} 010 fd {OP_FP}",
            lambda fmt, fs1, fs2: fp.minimum_nan(fmt, fs1, fs2),
            result=fmt, unit=Unit.FMINMAX, spec="Zfa 2")  # fmt: skip
        zfa(f"fmaxm.{letter} fd, fs1, fs2", f"00101 {two} 011 fd {OP_FP}",
            lambda fmt, fs1, fs2: fp.maximum_nan(fmt, fs1, fs2),
            result=fmt, unit=Unit.FMINMAX, spec="Zfa 2")  # fmt: skip
        zfa(f"fround.{letter} fd, fs1, rm", f"01000 {one} fd {OP_FP}",
            lambda fmt, fs1, rm: fp.round_to_integral(fmt, fs1, rm, exact=False),
            result=fmt, unit=Unit.FCVT, spec="Zfa 3")  # fmt: skip
        zfa(f"froundnx.{letter} fd, fs1, rm", f"01000 {code} 00101 fs1 rm fd {OP_FP}",
            lambda fmt, fs1, rm: fp.round_to_integral(fmt, fs1, rm, exact=True),
            result=fmt, unit=Unit.FCVT, spec="Zfa 3")  # fmt: skip
        zfa(f"fleq.{letter} rd, fs1, fs2", f"10100 {two} 100 rd {OP_FP}",
            lambda fmt, fs1, fs2: fp.le(fmt, fs1, fs2, quiet=True),
            result=None, unit=Unit.FCOMPARE, spec="Zfa 5")  # fmt: skip
        zfa(f"fltq.{letter} rd, fs1, fs2", f"10100 {two} 101 rd {OP_FP}",
            lambda fmt, fs1, fs2: fp.lt(fmt, fs1, fs2, quiet=True),
            result=None, unit=Unit.FCOMPARE, spec="Zfa 5")  # fmt: skip


def _modular(fs1: Value) -> Result:
    value, flags = fp.to_int_modular(F64, fs1)
    return ir.sext(value, 64), flags


_define_all()
fp_insn("fcvtmod.w.d rd, fs1, rtz", f"11000 01 01000 fs1 001 rd {OP_FP}", _modular, fmt=F64,
        result=None, unit=Unit.FCVT_TO_X, ext="zfa", requires="d", spec="Zfa 4")  # fmt: skip
