"""vsetvli, vsetivli, vsetvl: the vector configuration (V 6)."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rvsim import ir
from rvsim.insn.encoding import Encoding
from rvsim.insn.notes import VLMAX_CHANGED
from rvsim.insn.registry import Context, Insn, define
from rvsim.insn.units import Unit
from rvsim.ir import Value
from rvsim.vec.vset import Avl, avl_by_registers, new_vl
from rvsim.vec.vtype import VILL


def _vlmax(ctx: Context, vtype: Value) -> Value:
    """VLMAX of the low bits of a vtype: VLEN * LMUL / SEW, for legal ones."""
    vlmul, vsew = vtype & 7, ir.shr_u(vtype, 3) & 7
    vlenb = ir.const(ctx.config.vlenb, 64)  # VLMAX at e8, m1
    lmul_up = ir.where(ir.lt_u(vlmul, 4), vlmul, 0)
    lmul_down = ir.where(ir.lt_u(vlmul, 4), 0, 8 - vlmul)
    return ir.shr_u(vlenb << lmul_up, vsew + lmul_down)


def _legal(ctx: Context, vtype: Value) -> Value:
    """Whether a vtype is supported: no reserved bit, SEW <= ELEN * min(LMUL, 1) (V 3.4)."""
    vlmul, vsew = vtype & 7, ir.shr_u(vtype, 3) & 7
    elen_log2 = ctx.config.elen.bit_length() - 1
    lmul_down = ir.where(ir.lt_u(vlmul, 4), 0, 8 - vlmul)
    fits = ir.lt_u(vsew + 3 + lmul_down, elen_log2 + 1)
    return (ir.shr_u(vtype, 8) == 0) & (vlmul != 4) & fits


def _configure(ctx: Context, vtype: Value, avl: Value | None) -> None:
    """Set vtype and vl; `avl` None keeps vl (rd = rs1 = x0)."""
    legal = _legal(ctx, vtype)
    vlmax = _vlmax(ctx, vtype)
    if avl is None:
        old = ir.read("vtype")
        unchanged = _legal(ctx, old) & (_vlmax(ctx, old) == vlmax)
        if ctx.config.reserved == "trap":
            legal &= unchanged
        vl = ir.min_u(ir.read("vl"), vlmax)
        with ir.when(~unchanged):
            ir.write("note", VLMAX_CHANGED)
    else:
        vl = new_vl(avl, vlmax, ctx.config.vl_policy)
    ir.write("vtype", ir.where(legal, vtype, VILL))
    vl = ir.where(legal, vl, 0)
    ir.write("vl", vl)
    ir.write("vstart", 0)
    ir.write_x("rd", vl)


def _avl(ctx: Context) -> Value | None:
    """The AVL by rs1 and rd: rs1's contents, more than any VLMAX, or None for "keep vl"."""
    x0 = {name: ctx.is_zero(name) for name in ("rs1", "rd")}
    match avl_by_registers(rs1_is_x0=x0["rs1"], rd_is_x0=x0["rd"]):
        case Avl.KEEP:
            return None
        case Avl.ALL:
            return ir.const(-1, 64)
        case _:
            return ir.read_x("rs1")


def vsetvli(ctx: Context) -> None:
    """Configure by an immediate vtype, AVL from rs1."""
    _configure(ctx, ir.param("vtypei"), _avl(ctx))


def vsetivli(ctx: Context) -> None:
    """Configure by an immediate vtype and an immediate AVL of 0 to 31."""
    _configure(ctx, ir.param("vtypei"), ir.param("uimm"))


def vsetvl(ctx: Context) -> None:
    """Configure by a vtype in rs2, AVL from rs1."""
    _configure(ctx, ir.read_x("rs2"), _avl(ctx))


def _define(text: str, pattern: str, semantics: Callable[[Context], None], zeros: str) -> None:
    name, _, syntax = text.partition(" ")
    define(
        Insn(
            name=name,
            encoding=Encoding.parse(pattern),
            syntax=syntax,
            extensions=("v",),
            unit=Unit.VSET,
            spec="V 6",
            semantics=semantics,
            doc=inspect.getdoc(semantics) or "",
            zeros=tuple(zeros.split()),
        )
    )


_define("vsetvli rd, rs1, vtypei", "0 vtypei[10:0] rs1 111 rd 1010111", vsetvli, "rd rs1")
_define("vsetivli rd, uimm, vtypei", "11 vtypei[9:0] uimm[4:0] 111 rd 1010111", vsetivli, "rd")
_define("vsetvl rd, rs1, rs2", "1000000 rs2 rs1 111 rd 1010111", vsetvl, "rd rs1")
