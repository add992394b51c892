"""Vector floating-point reductions (V 14.3, 14.4).

Ordered sums go element by element.  For unordered sums the configuration chooses an order that an
implementation may have: element by element, a tree, or a random permutation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

from rvsim import fp, ir
from rvsim.fp import Flags, Format
from rvsim.insn.base.fp_forms import accrue, dynamic_mode, require_legal_frm
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.float_forms import float_widths, format_of, harmless
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.insn.vector.mask import require_vstart_0
from rvsim.ir import Value
from rvsim.vec.groups import SCALAR, SEW, WIDE, WIDE_SCALAR, Eew, VReg
from rvsim.vec.shapes import LANE_BITS

Kind = Literal["ordered", "unordered"]


def _operands(ctx: Context, scalar: Eew) -> tuple[Format, Value, Value, Value, Flags | None]:
    """(format, vs1[0], vs2 in that format, active elements, flags of widening)."""
    shape = shape_of(ctx)
    source, fmt = format_of(ctx, SEW), format_of(ctx, scalar)
    elements = ir.read_v("vs2", shape.n, source.width)
    raised = None
    if fmt is not source:
        elements, raised = fp.convert(source, fmt, harmless(shape, elements, 0), fp.RNE)
    start = ir.extract(ir.read_v("vs1", ctx.config.vlen // fmt.width, fmt.width), 0)
    return fmt, start, elements, shape.active(), raised


def _lane(lanes: Value, index: Value) -> Value:
    """One lane by a running index."""
    one = ir.splat(ir.trunc(index, LANE_BITS), 1)
    return ir.extract(ir.take(lanes, one), 0)


def _sum(kind: Kind, scalar: Eew) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        require_vstart_0(ctx)
        fmt, start, elements, active, raised = _operands(ctx, scalar)
        order = ctx.config.reduction_order
        widened = () if raised is None else (raised,)
        if kind == "unordered" and order == "tree":
            total, flags = _tree(fmt, start, elements, active)
        else:
            if kind == "unordered" and order == "random":
                elements, active = _permuted(ctx.config.reduction_seed, elements, active)
            total, flags = _sequence(fmt, start, elements, active)
        accrue(*widened, flags)
        shape_of(ctx).write_scalar("vd", total)

    return run


def _sequence(fmt: Format, start: Value, elements: Value, active: Value) -> tuple[Value, Value]:
    """(the sum from the first element to the last, what to or into fflags)."""
    rm = dynamic_mode()
    enabled = ir.zext(active, 8)

    def add(i: Value, total: Value, flags: Value) -> tuple[Value, Value]:
        counts = _lane(enabled, i) != 0
        a, b = (ir.where(counts, v, 0) for v in (total, _lane(elements, i)))
        result, raised = fp.add(fmt, a, b, rm)  # 0 + 0 raises nothing, on a host's flags either
        return ir.where(counts, result, total), flags | raised.accrued()

    total, flags = ir.for_(elements.type.lanes or 0, [start, ir.const(0, 64)], add)
    return total, flags


def _tree(fmt: Format, start: Value, elements: Value, active: Value) -> tuple[Value, Value]:
    """(the sum of halves of halves, then of the scalar; what to or into fflags)."""
    rm = dynamic_mode()
    zero = ir.where(rm == fp.RDN, ir.const(0, fmt.width), fmt.sign)  # adding it changes nothing
    part = ir.where(active, elements, ir.splat(zero, elements.type.lanes or 0))
    flags = ir.const(0, 64)
    while (n := part.type.lanes or 0) > 1:
        low, high = ir.head(part, n // 2), ir.shuffle(part, range(n // 2, n))
        part, raised = fp.add(fmt, low, high, rm)
        flags = flags | raised.accrued()
    none = ir.count(active) == 0
    total, raised = fp.add(fmt, ir.where(none, 0, start), ir.extract(part, 0), rm)
    return ir.where(none, start, total), flags | raised.accrued()


def _permuted(seed: int, elements: Value, active: Value) -> tuple[Value, Value]:
    n = elements.type.lanes or 0
    order = random.Random(f"{seed} {n}").sample(range(n), n)
    return ir.shuffle(elements, order), ir.shuffle(active, order)


_Pick = Callable[[Format, Value, Value], tuple[Value, Flags]]


def _extreme(pick: _Pick) -> Callable[[Context], None]:
    """vfredmin, vfredmax: a quiet NaN counts as nothing, so it stands for inactive elements."""

    def run(ctx: Context) -> None:
        require_vstart_0(ctx)
        require_legal_frm()
        fmt, start, elements, active, _ = _operands(ctx, SCALAR)
        part = ir.where(active, elements, fmt.nan)
        raised = []
        while (n := part.type.lanes or 0) > 1:
            low, high = ir.head(part, n // 2), ir.shuffle(part, range(n // 2, n))
            part, flags = pick(fmt, low, high)
            raised.append(flags.accrued())
        extreme, flags = pick(fmt, start, ir.extract(part, 0))
        raised.append(flags.accrued())
        none = ir.count(active) == 0
        accrue(*(ir.where(none, 0, word) for word in raised))
        shape_of(ctx).write_scalar("vd", ir.where(none, start, extreme))

    return run


def _define(name: str, funct6: int, unit: Unit, run: Callable[[Context], None]) -> None:
    widens = name.startswith("vfw")
    scalar = WIDE_SCALAR if widens else SCALAR
    define_vector(
        f"{name}.vs",
        f"{funct6:06b} vm vs2 vs1 001 vd 1010111",
        "vd, vs2, vs1, vm",
        unit,
        "V 14.4" if widens else "V 14.3",
        run,
        (VReg("vd", scalar, dest=True, source=False), VReg("vs2", SEW), VReg("vs1", scalar)),
        (float_widths(SEW, WIDE) if widens else float_widths(SEW),),
    )


_define("vfredusum", 0b000001, Unit.VFREDUCE, _sum("unordered", SCALAR))
_define("vfredosum", 0b000011, Unit.VFREDUCE_ORDERED, _sum("ordered", SCALAR))
_define("vfredmin", 0b000101, Unit.VFREDUCE, _extreme(fp.minimum))
_define("vfredmax", 0b000111, Unit.VFREDUCE, _extreme(fp.maximum))
_define("vfwredusum", 0b110001, Unit.VFREDUCE_WIDEN, _sum("unordered", WIDE_SCALAR))
_define("vfwredosum", 0b110011, Unit.VFREDUCE_WIDEN, _sum("ordered", WIDE_SCALAR))
