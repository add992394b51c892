"""Scalar floating point: F, D, Zfh, Zfhmin, Zfbfmin (unprivileged manual, F, D, Zfh, BF16)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from rvsim import fp, ir
from rvsim.fp import BF16, F16, F32, F64, Format, Result, Rounding
from rvsim.insn.base.fp_forms import SUFFIXES, fp_insn
from rvsim.insn.registry import compressed
from rvsim.insn.units import Unit
from rvsim.ir import Value

OP_FP: Final = "1010011"
_MOVES: Final = {"h": "zfh zfhmin", "s": "f", "d": "d"}
"""Loads, moves and conversions of halves are in Zfhmin as well."""

Body = Callable[..., object]

# F 5, D 3  Loads and stores; a store takes the bits as they are


def _define_loads_and_stores() -> None:
    """flh flw fld, fsh fsw fsd."""
    for letter, name, funct3 in (("h", "h", "001"), ("s", "w", "010"), ("d", "d", "011")):
        fmt = SUFFIXES[letter][0]
        ext = _MOVES[letter] + (" zfbfmin" if letter == "h" else "")
        fp_insn(f"fl{name} fd, imm(rs1)", f"imm[11:0] rs1 {funct3} fd 0000111",
                lambda rs1, imm, fmt: ir.load(rs1 + imm, fmt.width),
                fmt=fmt, result=fmt, unit=Unit.FLOAD, ext=ext, spec="F 5")  # fmt: skip
        fp_insn(f"fs{name} fs2, imm(rs1)", f"imm[11:5] fs2 rs1 {funct3} imm[4:0] 0100111",
                lambda rs1, imm, raw2, fmt: ir.store(rs1 + imm, ir.trunc(raw2, fmt.width)),
                fmt=fmt, result=None, unit=Unit.FSTORE, ext=ext, spec="F 5")  # fmt: skip


_define_loads_and_stores()


# F 6  Arithmetic; each in .h, .s and .d


def _binary(name: str, funct5: str, rm: str, body: Body, unit: Unit, *, to_x: bool = False) -> None:
    """``name.{h,s,d} fd, fs1, fs2`` with a rounding mode, or a funct3 in its place."""
    for letter, (fmt, code, ext) in SUFFIXES.items():
        dest = "rd" if to_x else "fd"
        mode = ", rm" if rm == "rm" else ""
        fp_insn(f"{name}.{letter} {dest}, fs1, fs2{mode}",
                f"{funct5} {code} fs2 fs1 {rm} {dest} {OP_FP}", body, fmt=fmt,
                result=None if to_x else fmt, unit=unit, ext=ext, spec="F 6")  # fmt: skip


_binary("fadd", "00000", "rm", lambda fmt, fs1, fs2, rm: fp.add(fmt, fs1, fs2, rm), Unit.FADD)
_binary("fsub", "00001", "rm", lambda fmt, fs1, fs2, rm: fp.sub(fmt, fs1, fs2, rm), Unit.FADD)
_binary("fmul", "00010", "rm", lambda fmt, fs1, fs2, rm: fp.mul(fmt, fs1, fs2, rm), Unit.FMUL)
_binary("fdiv", "00011", "rm", lambda fmt, fs1, fs2, rm: fp.div(fmt, fs1, fs2, rm), Unit.FDIV)
_binary("fmin", "00101", "000", lambda fmt, fs1, fs2: fp.minimum(fmt, fs1, fs2), Unit.FMINMAX)
_binary("fmax", "00101", "001", lambda fmt, fs1, fs2: fp.maximum(fmt, fs1, fs2), Unit.FMINMAX)

# F 7  Sign injection
_binary("fsgnj", "00100", "000", lambda fmt, fs1, fs2: fp.inject_sign(fmt, fs1, fs2), Unit.FSIGN)
_binary("fsgnjn", "00100", "001",
        lambda fmt, fs1, fs2: fp.inject_negated_sign(fmt, fs1, fs2), Unit.FSIGN)  # fmt: skip
_binary("fsgnjx", "00100", "010",
        lambda fmt, fs1, fs2: fp.inject_xored_sign(fmt, fs1, fs2), Unit.FSIGN)  # fmt: skip

# F 8  Comparisons
_compare = partial(_binary, unit=Unit.FCOMPARE, to_x=True)
_compare("feq", "10100", "010", lambda fmt, fs1, fs2: fp.eq(fmt, fs1, fs2))
_compare("flt", "10100", "001", lambda fmt, fs1, fs2: fp.lt(fmt, fs1, fs2))
_compare("fle", "10100", "000", lambda fmt, fs1, fs2: fp.le(fmt, fs1, fs2))


# F 6  Fused multiply-add: the signs of product and addend


def _fused(name: str, opcode: str, *, negate_product: bool, negate_addend: bool) -> None:
    for letter, (fmt, code, ext) in SUFFIXES.items():

        def body(fmt: Format, fs1: Value, fs2: Value, fs3: Value, rm: Rounding) -> Result:
            a = fs1 ^ fmt.sign if negate_product else fs1
            c = fs3 ^ fmt.sign if negate_addend else fs3
            return fp.fma(fmt, a, fs2, c, rm)

        fp_insn(f"{name}.{letter} fd, fs1, fs2, fs3, rm", f"fs3 {code} fs2 fs1 rm fd {opcode}",
                body, fmt=fmt, result=fmt, unit=Unit.FMA, ext=ext, spec="F 6")  # fmt: skip


_fused("fmadd", "1000011", negate_product=False, negate_addend=False)
_fused("fmsub", "1000111", negate_product=False, negate_addend=True)
_fused("fnmsub", "1001011", negate_product=True, negate_addend=False)
_fused("fnmadd", "1001111", negate_product=True, negate_addend=True)

# One operand


def _define_unary() -> None:
    """fsqrt fclass, in .h, .s and .d; fmv.x.h fmv.h.x fmv.x.w fmv.w.x fmv.x.d fmv.d.x."""
    for letter, (fmt, code, ext) in SUFFIXES.items():
        fp_insn(f"fsqrt.{letter} fd, fs1, rm", f"01011 {code} 00000 fs1 rm fd {OP_FP}",
                lambda fmt, fs1, rm: fp.sqrt(fmt, fs1, rm), fmt=fmt, result=fmt,
                unit=Unit.FSQRT, ext=ext, spec="F 6")  # fmt: skip
        fp_insn(f"fclass.{letter} rd, fs1", f"11100 {code} 00000 fs1 001 rd {OP_FP}",
                lambda fmt, fs1: fp.classify(fmt, fs1), fmt=fmt, result=None,
                unit=Unit.FCLASS, ext=ext, spec="F 9")  # fmt: skip
        name = "w" if letter == "s" else letter
        moves = _MOVES[letter] + (" zfbfmin" if letter == "h" else "")
        fp_insn(f"fmv.x.{name} rd, fs1", f"11100 {code} 00000 fs1 000 rd {OP_FP}",
                lambda fmt, raw1: ir.sext(ir.trunc(raw1, fmt.width), 64), fmt=fmt, result=None,
                unit=Unit.FMOVE_TO_X, ext=moves, spec="F 7")  # fmt: skip
        fp_insn(f"fmv.{name}.x fd, rs1", f"11110 {code} 00000 rs1 000 fd {OP_FP}",
                lambda fmt, rs1: ir.trunc(rs1, fmt.width), fmt=fmt, result=fmt,
                unit=Unit.FMOVE_FROM_X, ext=moves, spec="F 7")  # fmt: skip


_define_unary()

# F 7  Conversions from and to integers: fcvt.w.s fcvt.s.w …, each of w wu l lu with h s d


def _to_int(width: int, signed: bool) -> Body:
    def body(fmt: Format, fs1: Value, rm: Rounding) -> Result:
        value, flags = fp.to_int(fmt, fs1, width, rm, signed=signed)
        return ir.sext(value, 64), flags

    return body


def _from_int(width: int, signed: bool) -> Body:
    def body(fmt: Format, rs1: Value, rm: Rounding) -> Result:
        return fp.from_int(fmt, ir.trunc(rs1, width), rm, signed=signed)

    return body


def _define_integer_conversions() -> None:
    for selector, name, width, signed in (
        ("00000", "w", 32, True),
        ("00001", "wu", 32, False),
        ("00010", "l", 64, True),
        ("00011", "lu", 64, False),
    ):
        for letter, (fmt, code, ext) in SUFFIXES.items():
            fp_insn(
                f"fcvt.{name}.{letter} rd, fs1, rm", f"11000 {code} {selector} fs1 rm rd {OP_FP}",
                _to_int(width, signed), fmt=fmt, result=None, unit=Unit.FCVT_TO_X, ext=ext,
                spec="F 7",
            )  # fmt: skip
            rm = "exact_rm" if letter == "d" and width == 32 else "rm"
            fp_insn(
                f"fcvt.{letter}.{name} fd, rs1, {rm}", f"11010 {code} {selector} rs1 rm fd {OP_FP}",
                _from_int(width, signed), fmt=fmt, result=fmt, unit=Unit.FCVT_FROM_X, ext=ext,
                spec="F 7",
            )  # fmt: skip


_define_integer_conversions()


# D 5, Zfh 2, Zfbfmin  Conversions between formats


def _between(
    text: str,
    target: Format,
    source: Format,
    code: str,
    selector: str,
    ext: str,
    requires: str = "",
) -> None:
    def body(fs1: Value, rm: Rounding) -> Result:
        return fp.convert(source, target, fs1, rm)

    rm = "exact_rm" if target.width > source.width else "rm"
    fp_insn(f"{text} fd, fs1, {rm}", f"01000 {code} {selector} fs1 rm fd {OP_FP}", body, fmt=source,
            result=target, unit=Unit.FCVT, ext=ext, spec="D 5", requires=requires)  # fmt: skip


_between("fcvt.s.d", F32, F64, "00", "00001", "d")
_between("fcvt.d.s", F64, F32, "01", "00000", "d")
_between("fcvt.s.h", F32, F16, "00", "00010", _MOVES["h"])
_between("fcvt.h.s", F16, F32, "10", "00000", _MOVES["h"])
_between("fcvt.d.h", F64, F16, "01", "00010", _MOVES["h"], requires="d")
_between("fcvt.h.d", F16, F64, "10", "00001", _MOVES["h"], requires="d")
_between("fcvt.s.bf16", F32, BF16, "00", "00110", "zfbfmin")
_between("fcvt.bf16.s", BF16, F32, "10", "01000", "zfbfmin")

# C 3, Zcd  Compressed loads and stores of doubles
c = partial(compressed, ext="zcd", spec="C 3")
c("c.fldsp fd, uimm(sp)", "001 uimm[5] fd uimm[4:3|8:6] 10", "fld", rs1=2, imm="uimm")
c("c.fsdsp fs2, uimm(sp)", "101 uimm[5:3|8:6] fs2 10", "fsd", rs1=2, imm="uimm")
c("c.fld fd, uimm(rs1)", "001 uimm[5:3] rs1' uimm[7:6] fd' 00", "fld", imm="uimm")
c("c.fsd fs2, uimm(rs1)", "101 uimm[5:3] rs1' uimm[7:6] fs2' 00", "fsd", imm="uimm")
