"""Makers of vector floating-point rows (V 13): formats by SEW, scalar operands, flags, frm.

A body's parameters name what it works on: ``fmt``, ``vs2``, ``op1`` (vs1 or fs1, by form), ``vd``
(the old destination), ``carry`` (bits of v0), ``rm``.  It returns lanes, or (lanes, flags).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rvsim import fp, ir
from rvsim.fp import F16, F32, F64, Flags, Format
from rvsim.insn.base.fp_forms import accrue, dynamic_mode, require_legal_frm, unboxed
from rvsim.insn.registry import Context, names
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.ir import Value
from rvsim.vec.groups import SEW, V0, Eew, VReg, widths
from rvsim.vec.rules import EncodedUse, Rule, Violation, not_v0
from rvsim.vec.shapes import Shape

FORMATS: Final[dict[int, Format]] = {16: F16, 32: F32, 64: F64}
"""Format of an element by its width in bits."""

Body = Callable[..., object]


def format_of(ctx: Context, eew: Eew) -> Format:
    """The format of an operand's elements."""
    return FORMATS[1 << widths(eew, ctx.v)[0]]


def float_widths(*operands: Eew, half: str = "zvfh") -> Rule:
    """These operands hold floating-point numbers, which have 16 (with Zvfh), 32 or 64 bits."""

    def rule(s: EncodedUse) -> Iterator[Violation]:
        """Floating-point elements have 16 bits (with Zvfh), 32 or 64."""
        for width in sorted({1 << widths(eew, s.vtype)[0] for eew in operands}):
            if width not in FORMATS:
                yield Violation(f"{width}-bit elements are no floating-point numbers", "V 13")
            elif width == 16 and not s.config.has(names(half)):
                yield Violation(f"16-bit floating point needs {half.replace(' ', ' or ')}", "V 13")

    return rule


@dataclass(frozen=True, slots=True)
class FloatWidths:
    """Element widths of a row; sources narrower than the destination are widened, exactly."""

    vd: Eew = SEW
    vs2: Eew = SEW
    op1: Eew = SEW


PLAIN: Final = FloatWidths()


def semantics(body: Body, eews: FloatWidths) -> Callable[[Context], None]:
    """An elementwise row: the body works in the format of the widest operand."""
    parameters = tuple(inspect.signature(body).parameters)

    def run(ctx: Context) -> None:
        shape = shape_of(ctx, masked=ctx.masked and "carry" not in parameters)
        if "rm" not in parameters:
            require_legal_frm()
        widest = eews.vs2 if eews.vd.kind == "mask" else eews.vd
        operands = _Operands(ctx, shape, eews, format_of(ctx, widest), "rm" in parameters)
        outcome = body(*(operands.argument(name) for name in parameters))
        result, flags = outcome if isinstance(outcome, tuple) else (outcome, None)
        raised = [*operands.flags, *((flags,) if flags else ())]
        accrue(*(f if operands.harmless else f.masked(shape.active()) for f in raised))
        if eews.vd.kind == "mask":
            shape.write_mask("vd", result)
        else:
            shape.write("vd", result)
        shape.done()

    return run


def harmless(shape: Shape, lanes: Value, number: int) -> Value:
    """The lanes with `number`, which the operation is exact on, in all inactive elements.

    So they raise no flags, nor do infinities and NaNs there keep the host from computing.
    """
    return ir.where(shape.active(), lanes, number)


class _Operands:
    """Reads what a body asks for, and keeps the flags that widening raises.

    Bodies that round get `harmless` operands; for others it is cheaper to mask their flags.
    """

    def __init__(
        self, ctx: Context, shape: Shape, eews: FloatWidths, fmt: Format, harmless: bool
    ) -> None:
        self.ctx, self.shape, self.eews, self.fmt = ctx, shape, eews, fmt
        self.harmless = harmless
        self.flags: list[Flags] = []

    def argument(self, name: str) -> object:
        match name:
            case "fmt":
                return self.fmt
            case "rm":
                return dynamic_mode()
            case "carry":
                return ir.read_mask(0, self.shape.n)
            case "vd":
                fmt = format_of(self.ctx, self.eews.vd)
                return self._settled(ir.read_v("vd", self.shape.n, fmt.width), fmt)
            case "vs2":
                source = format_of(self.ctx, self.eews.vs2)
                return self._widened(ir.read_v("vs2", self.shape.n, source.width), source)
            case "op1":
                source = format_of(self.ctx, self.eews.op1)
                return self._widened(first_operand(self.ctx, self.shape.n, source), source)
        raise TypeError(f"{self.ctx.insn.name}: unknown body parameter {name!r}")

    def _settled(self, lanes: Value, fmt: Format) -> Value:
        return harmless(self.shape, lanes, fmt.one) if self.harmless else lanes

    def _widened(self, lanes: Value, source: Format) -> Value:
        lanes = self._settled(lanes, source)
        if source is self.fmt:
            return lanes
        wide, flags = fp.convert(source, self.fmt, lanes, fp.RNE)  # exact: no mode matters
        self.flags.append(flags)
        return wide


def first_operand(ctx: Context, n: int, fmt: Format) -> Value:
    """vs1 lanes, or the scalar fs1 in every lane."""
    if "vs1" in ctx.insn.encoding.field_names:
        return ir.read_v("vs1", n, fmt.width)
    return ir.splat(unboxed(ir.read_f("fs1"), fmt), n)


def float_row(
    name: str,
    funct6: int,
    forms: str,
    body: Body,
    *,
    unit: Unit,
    spec: str,
    eews: FloatWidths = PLAIN,
    half: str = "zvfh",
) -> None:
    """Define ``name.form`` for each form: vv vf, wv wf, vfm."""
    reads = inspect.signature(body).parameters
    for form in forms.split():
        operand = "vs1" if form[1] == "v" else "fs1"
        carry = form.endswith("m")
        vm = "0" if carry else "vm"
        order = f"vd, {operand}, vs2" if "vd" in reads else f"vd, vs2, {operand}"
        vregs = [
            VReg("vd", eews.vd, dest=True, source="vd" in reads),
            VReg("vs2", eews.vs2),
        ]
        if operand == "vs1":
            vregs.append(VReg("vs1", eews.op1))
        if carry:
            vregs.append(V0)
        floats = [e for e in (eews.vd, eews.vs2, eews.op1) if e.kind != "mask"]
        funct3 = "001" if operand == "vs1" else "101"
        define_vector(
            f"{name}.{form}",
            f"{funct6:06b} {vm} vs2 {operand} {funct3} vd 1010111",
            order + (", v0" if carry else ", vm"),
            unit,
            spec,
            semantics(body, eews),
            tuple(vregs),
            (float_widths(*floats, half=half), *((not_v0(spec),) if carry else ())),
        )
