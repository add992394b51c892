"""Vector mask instructions (V 15)."""

from __future__ import annotations

from collections.abc import Callable

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.ir import Value
from rvsim.vec.groups import MASK, SEW, VReg
from rvsim.vec.rules import no_source_overlap


def require_vstart_0(ctx: Context) -> None:
    """Trap when vstart is not 0; the instruction can't be resumed (V 14, 15)."""
    if ctx.elements == "vstart":
        with ir.when(ir.read("vstart") != 0):
            ir.trap(Cause.ILLEGAL_INSTRUCTION, f"vstart is not 0 ({ctx.insn.spec})")


_MASK_DEST = VReg("vd", MASK, dest=True, source=False)


# V 15.1  Mask logic works on vl bits, at most VLEN, whatever SEW and LMUL are
def _logic(body: Callable[[Value, Value], Value]) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        shape = shape_of(ctx, masked=False)
        shape.write_mask("vd", body(ir.read_mask("vs2", shape.n), ir.read_mask("vs1", shape.n)))
        shape.done()

    return run


for _name, _funct6, _body in (
    ("vmandn", 0b011000, lambda vs2, vs1: vs2 & ~vs1),
    ("vmand", 0b011001, lambda vs2, vs1: vs2 & vs1),
    ("vmor", 0b011010, lambda vs2, vs1: vs2 | vs1),
    ("vmxor", 0b011011, lambda vs2, vs1: vs2 ^ vs1),
    ("vmorn", 0b011100, lambda vs2, vs1: vs2 | ~vs1),
    ("vmnand", 0b011101, lambda vs2, vs1: ~(vs2 & vs1)),
    ("vmnor", 0b011110, lambda vs2, vs1: ~(vs2 | vs1)),
    ("vmxnor", 0b011111, lambda vs2, vs1: ~(vs2 ^ vs1)),
):
    define_vector(
        f"{_name}.mm",
        f"{_funct6:06b} 1 vs2 vs1 010 vd 1010111",
        "vd, vs2, vs1",
        Unit.VMASK_LOGIC,
        "V 15.1",
        _logic(_body),
        (_MASK_DEST, VReg("vs2", MASK), VReg("vs1", MASK)),
    )


def _selected(ctx: Context) -> Value:
    """Mask bits of active elements."""
    shape = shape_of(ctx)
    return ir.read_mask("vs2", shape.n) & shape.active()


# V 15.2, 15.3  Into an x register; executed also with vl = 0
def vcpop(ctx: Context) -> None:
    """The number of active mask bits set."""
    require_vstart_0(ctx)
    ir.write_x("rd", ir.count(_selected(ctx)))


def vfirst(ctx: Context) -> None:
    """The index of the first active mask bit set, or -1."""
    require_vstart_0(ctx)
    selected = _selected(ctx)
    ir.write_x("rd", ir.where(ir.count(selected) == 0, -1, ir.first(selected)))


for _name, _semantics, _code, _spec in (
    ("vcpop.m", vcpop, "10000", "V 15.2"),
    ("vfirst.m", vfirst, "10001", "V 15.3"),
):
    define_vector(
        _name,
        f"010000 vm vs2 {_code} 010 rd 1010111",
        "rd, vs2, vm",
        Unit.VMASK_COUNT,
        _spec,
        _semantics,
        (VReg("vs2", MASK),),
    )


# V 15.4-15.6  Before, including, only the first active bit set
def _set_first(body: Callable[[Value, Value], Value]) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        require_vstart_0(ctx)
        shape = shape_of(ctx)
        lane = ir.iota(shape.n, 64)
        shape.write_mask("vd", body(lane, ir.splat(ir.first(_selected(ctx)), shape.n)))

    return run


for _name, _code, _spec, _body in (
    ("vmsbf", "00001", "V 15.4", lambda lane, first: ir.lt_u(lane, first)),
    ("vmsif", "00011", "V 15.5", lambda lane, first: ~ir.lt_u(first, lane)),
    ("vmsof", "00010", "V 15.6", lambda lane, first: lane == first),
):
    define_vector(
        f"{_name}.m",
        f"010100 vm vs2 {_code} 010 vd 1010111",
        "vd, vs2, vm",
        Unit.VMASK_SET,
        _spec,
        _set_first(_body),
        (_MASK_DEST, VReg("vs2", MASK)),
        (no_source_overlap("vs2", spec=_spec),),
    )


# V 15.8, 15.9  Counting elements
def viota(ctx: Context) -> None:
    """For each element, the active mask bits set before it."""
    require_vstart_0(ctx)
    shape = shape_of(ctx)
    shape.write("vd", ir.prefix_count(_selected(ctx), ctx.v.sew))


def vid(ctx: Context) -> None:
    """Each element's index."""
    shape = shape_of(ctx)
    shape.write("vd", ir.iota(shape.n, ctx.v.sew))
    shape.done()


define_vector(
    "viota.m", "010100 vm vs2 10000 010 vd 1010111", "vd, vs2, vm", Unit.VIOTA, "V 15.8",
    viota, (VReg("vd", SEW, dest=True, source=False), VReg("vs2", MASK)),
    (no_source_overlap("vs2", spec="V 15.8"),),
)  # fmt: skip
define_vector(
    "vid.v", "010100 vm 00000 10001 010 vd 1010111", "vd, vm", Unit.VID, "V 15.9",
    vid, (VReg("vd", SEW, dest=True, source=False),),
)  # fmt: skip
