"""Makers of vector instruction rows: operand forms, widths, and the elementwise shape (V 10-16).

A row is a name, funct6, the forms it has, and an element body.  The body's parameters name what
it works on: ``vs2``, ``op1`` (vs1, rs1 or the immediate, by form), ``vd`` (the old destination),
``carry`` (bits of v0), ``vxrm``; ``vxsat`` is a flag to `set`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from rvsim import ir
from rvsim.insn.encoding import Encoding
from rvsim.insn.registry import Context, Insn, define, names
from rvsim.insn.units import Unit
from rvsim.ir import Value
from rvsim.vec.groups import MASK, SEW, V0, WIDE, Eew, VReg
from rvsim.vec.rules import Rule, not_v0
from rvsim.vec.shapes import Shape

Category = Literal["I", "M"]
Body = Callable[..., Value]

# funct3 by category and kind of first operand (V 10.1)
_FUNCT3: Final = {
    ("I", "v"): "000", ("I", "x"): "100", ("I", "i"): "011", ("M", "v"): "010", ("M", "x"): "110",
}  # fmt: skip


@dataclass(slots=True)
class Flag:
    """A sticky flag that a body raises for elements; only active ones count."""

    raised: list[Value] = field(default_factory=list)

    def set(self, where: Value) -> None:
        self.raised.append(where)


def shape_of(ctx: Context, *, n: int | None = None, masked: bool | None = None) -> Shape:
    """The shape of an instruction over VLMAX elements, or `n`."""
    return Shape(
        ctx.config,
        ctx.v,
        ctx.elements,
        ctx.vlmax if n is None else n,
        ctx.masked if masked is None else masked,
    )


def first_operand(ctx: Context, n: int, width: int, eew_bits: int | None = None) -> Value:
    """vs1 lanes, or rs1 or the immediate in every lane, `width` bits wide."""
    fields = ctx.insn.encoding.field_names
    if "vs1" in fields:
        return ir.read_v("vs1", n, eew_bits or width)
    scalar = ir.read_x("rs1") if "rs1" in fields else _immediate(fields)
    return ir.splat(ir.trunc(scalar, width), n)


def _immediate(fields: frozenset[str]) -> Value:
    return ir.param("uimm" if "uimm" in fields else "imm")


@dataclass(frozen=True, slots=True)
class Widths:
    """Element widths of a row relative to SEW, and how sources reach the width of the body.

    `signs`: for vs2 and op1, "s" or "u" when they are widened to the body's width.
    """

    vd: Eew = SEW
    vs2: Eew = SEW
    vs1: Eew = SEW
    body: int = 0
    signs: str = "ss"


PLAIN: Final = Widths()
COMPARE: Final = Widths(vd=MASK)


def widening(signs: str) -> Widths:
    """2*SEW = SEW op SEW."""
    return Widths(vd=WIDE, body=1, signs=signs)


def widening_w(signs: str) -> Widths:
    """2*SEW = 2*SEW op SEW."""
    return Widths(vd=WIDE, vs2=WIDE, body=1, signs=signs)


NARROWING: Final = Widths(vs2=WIDE, body=1, signs="uu")
"""SEW = 2*SEW op SEW; the body returns 2*SEW bits, of which the low half is kept."""


def elementwise(body: Body, widths: Widths) -> Callable[[Context], None]:
    """Semantics of a row: read groups, run the body on lanes, merge by mask and policy."""
    parameters = tuple(inspect.signature(body).parameters)

    def run(ctx: Context) -> None:
        shape = shape_of(ctx, masked=ctx.masked and "carry" not in parameters)
        n, sew = shape.n, ctx.v.sew
        flag = Flag()
        result = body(*(_argument(ctx, name, n, widths, flag) for name in parameters))
        raise_vxsat(shape, flag)
        if widths.vd.kind == "mask":
            shape.write_mask("vd", result)
        else:
            shape.write("vd", ir.trunc(result, sew << widths.vd.value))
        shape.done()

    return run


def _argument(ctx: Context, name: str, n: int, widths: Widths, flag: Flag) -> object:
    """What a body of `n` lanes gets under the name of a parameter."""
    sew = ctx.v.sew

    def reach(value: Value, sign: str) -> Value:
        extend = ir.sext if sign == "s" else ir.zext
        return extend(value, sew << widths.body)

    match name:
        case "vs2":
            return reach(ir.read_v("vs2", n, sew << widths.vs2.value), widths.signs[0])
        case "op1":
            return reach(first_operand(ctx, n, sew), widths.signs[1])
        case "vd":
            return ir.read_v("vd", n, sew << widths.vd.value)
        case "carry":
            return ir.read_mask(0, n)
        case "vxrm":
            return ir.read("vxrm", 2)
        case "vxsat":
            return flag
    raise TypeError(f"{ctx.insn.name}: unknown body parameter {name!r}")


def raise_vxsat(shape: Shape, flag: Flag) -> None:
    """Set vxsat if an active element saturated (V 3.9)."""
    for raised in flag.raised:
        saturated = ir.count(raised & shape.active())
        with ir.when(saturated != 0):
            ir.write("vxsat", 1)


def define_vector(
    name: str,
    pattern: str,
    syntax: str,
    unit: Unit,
    spec: str,
    semantics: Callable[[Context], None],
    vregs: tuple[VReg, ...],
    rules: tuple[Rule, ...] = (),
    *,
    ext: str = "v",
    doc: str | None = None,
    vector: bool = True,
) -> None:
    """Define one vector instruction; `doc` is that of `semantics` if not given."""
    define(
        Insn(
            name=name,
            encoding=Encoding.parse(pattern),
            syntax=syntax,
            extensions=names(ext),
            unit=unit,
            spec=spec,
            semantics=semantics,
            doc=(inspect.getdoc(semantics) or "") if doc is None else doc,
            statics=("vm",) if "vm" in pattern.split() else (),
            vregs=vregs,
            rules=rules,
            vector=vector,
        )
    )


def row(
    category: Category,
    name: str,
    funct6: int,
    forms: str,
    *,
    unit: Unit,
    spec: str,
    body: Body,
    ext: str = "v",
    widths: Widths = PLAIN,
    unsigned_imm: bool = False,
    rules: tuple[Rule, ...] = (),
    unmasked: bool = False,
) -> None:
    """Define ``name.form`` for each form: vv vx vi, wv wx wi, vvm vxm vim."""
    reads = inspect.signature(body).parameters
    multiply_add = "vd" in reads
    for form in forms.split():
        kind = form[1]
        operand = {"v": "vs1", "x": "rs1", "i": "uimm" if unsigned_imm else "imm"}[kind]
        carry = form.endswith("m")
        vm = "0" if carry else "1" if unmasked else "vm"
        order = f"vd, {operand}, vs2" if multiply_add and kind != "i" else f"vd, vs2, {operand}"
        vregs = [
            VReg("vd", widths.vd, dest=True, source=multiply_add),
            VReg("vs2", widths.vs2),
        ]
        if kind == "v":
            vregs.append(VReg("vs1", widths.vs1))
        if carry:
            vregs.append(V0)
        field_code = f"{operand}[4:0]" if kind == "i" else operand
        doc = inspect.getdoc(body) or "" if body.__name__ != "<lambda>" else ""
        define_vector(
            f"{name}.{form}",
            f"{funct6:06b} {vm} vs2 {field_code} {_FUNCT3[category, kind]} vd 1010111",
            f"{order}, v0" if carry else order + (", vm" if vm == "vm" else ""),
            unit,
            spec,
            elementwise(body, widths),
            tuple(vregs),
            (*rules, *((not_v0(spec),) if carry and widths.vd != MASK else ())),
            ext=ext,
            doc=doc,
        )


def decorated(
    category: Category, name: str, funct6: int, forms: str, **options: Any
) -> Callable[[Body], Body]:
    """`row` as a decorator, for bodies that deserve a name."""

    def decorate(body: Body) -> Body:
        row(category, name, funct6, forms, body=body, **options)
        return body

    return decorate
