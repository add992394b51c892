"""Vector loads and stores (V 7): unit-stride, strided, indexed, segments, masks, whole registers.

Every access is the same program: element addresses in memory order (element by element, and field
by field within a segment), one lane access, and the fields sorted back into their groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.registry import Context
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import define_vector, shape_of
from rvsim.ir import Value
from rvsim.vec.groups import MASK, SEW, Eew, VReg
from rvsim.vec.rules import no_source_overlap
from rvsim.vec.shapes import LANE_BITS, Known, Shape

_WIDTH_CODE: Final = {8: "000", 16: "101", 32: "110", 64: "111"}

AddressingMode = Literal["unit", "strided", "indexed"]


@dataclass(frozen=True, slots=True)
class MemoryForm:
    """What one memory instruction does: element width in bits (0: SEW), fields, addressing."""

    store: bool
    eew: int
    nf: int = 1
    mode: AddressingMode = "unit"
    index_eew: int = 0
    fault_only_first: bool = False


def _spread(mask: Value, nf: int) -> Value:
    """One mask bit for each field of a segment."""
    n = mask.type.lanes or 0
    return ir.shuffle(mask, [i // nf for i in range(n * nf)])


def _addresses(ctx: Context, a: MemoryForm, n: int, width: int) -> Value:
    """Base of consecutive elements, or an address for each lane in memory order."""
    base = ir.read_x("rs1")
    size = width // 8
    if a.mode == "unit":
        return base
    if a.mode == "strided":
        offsets = ir.iota(n, 64) * ir.read_x("rs2")
    else:
        offsets = ir.zext(ir.read_v("vs2", n, a.index_eew), 64)
    if a.nf == 1:
        return offsets + base
    segment = ir.shuffle(offsets, [i // a.nf for i in range(n * a.nf)])
    field = ir.shuffle(ir.iota(a.nf, 64) * size, [i % a.nf for i in range(n * a.nf)])
    return segment + field + base


def _misaligned(addr: Value, width: int) -> Value:
    """Whether an address, or each lane of addresses, is no multiple of the element size."""
    return (addr & (width // 8 - 1)) != 0


def _lane_address(addr: Value, lane: Value, width: int) -> Value:
    """The address of a lane, for mtval."""
    if addr.type.lanes is None:
        return addr + lane * (width // 8)
    return ir.reduce("or", ir.where(ir.iota(addr.type.lanes, 64) == lane, addr, 0))


def access(a: MemoryForm) -> Callable[[Context], None]:
    """Semantics of a load or store under a mask, precise to the element."""

    def run(ctx: Context) -> None:
        width = a.eew or ctx.v.sew
        # EMUL follows EEW, so that the data group has VLMAX elements too (V 7.3).
        _run(ctx, a, shape_of(ctx), width)

    return run


def _run(ctx: Context, a: MemoryForm, shape: Shape, width: int) -> None:
    n, nf = shape.n, a.nf
    total, emul_registers = n * nf, max(1, n * width // ctx.config.vlen)
    active = shape.active()
    lane_active = active if nf == 1 else _spread(active, nf)
    addr = _addresses(ctx, a, n, width)
    allowed, stop = lane_active, None
    if width > 8 and not ctx.config.misaligned_vector:
        if addr.type.lanes is None and not a.fault_only_first:
            _trap_on_misaligned_base(a, shape, addr, lane_active, width, emul_registers)
        else:
            stop = ir.first(lane_active & _misaligned(addr, width))
            limit = ir.splat(ir.trunc(stop, LANE_BITS), total)
            allowed = lane_active & ir.lt_u(ir.iota(total, LANE_BITS), limit)
    if a.store:
        groups = [ir.read_v("vs3", n, width, f * emul_registers) for f in range(nf)]
        interleaved = groups[0] if nf == 1 else _interleave(groups)
        fault = ir.store_lanes(addr, interleaved, allowed)
        parts = []
    else:
        data, fault = ir.load_lanes(addr, allowed, width)
        parts = [ir.shuffle(data, range(f, total, nf)) for f in range(nf)]
    reached = fault if stop is None else ir.min_u(fault, stop)
    element = reached if nf == 1 else ir.quot_u(reached, nf)
    faulted = reached != total
    with ir.when(faulted):
        if a.fault_only_first:
            with ir.when(element == 0):
                _trap_at(a, addr, fault, stop, width)
            ir.write("vl", element)
            _write_before(shape, element, parts, emul_registers, tail=True)
            shape.done()
        else:
            _write_before(shape, element, parts, emul_registers, tail=False)
            ir.write("vstart", element)
            _trap_at(a, addr, fault, stop, width)
    with ir.when(~faulted) if a.fault_only_first else contextlib.nullcontext():
        for f, part in enumerate(parts):
            shape.write("vd", part, reg_offset=f * emul_registers)
        shape.done()


def _write_before(
    shape: Shape, element: Value, parts: list[Value], emul_registers: int, *, tail: bool
) -> None:
    """Write what was loaded before the element that stopped the access.

    That element is active, so there is a body; what follows it is left alone, or is `tail`.
    """
    loaded = replace(shape, evl=element, updates=ir.const(1, 1))
    for f, part in enumerate(parts):
        loaded.write("vd", part, reg_offset=f * emul_registers, tail=tail)


def _trap_on_misaligned_base(
    a: MemoryForm, shape: Shape, base: Value, lane_active: Value, width: int, emul_registers: int
) -> None:
    """Consecutive elements are all aligned or all misaligned: the first active one traps."""
    n, nf = shape.n, a.nf
    with ir.when(_misaligned(base, width)):
        lane = ir.first(lane_active)
        with ir.when(lane != n * nf):
            element = lane if nf == 1 else ir.quot_u(lane, nf)
            nothing = [] if a.store else [ir.const(0, ir.lanes(n, width))] * nf
            _write_before(shape, element, nothing, emul_registers, tail=False)
            ir.write("vstart", element)
            _misaligned_trap(a, base + lane * (width // 8), width)


def _trap_at(a: MemoryForm, addr: Value, fault: Value, stop: Value | None, width: int) -> None:
    """The trap of the first element that may not be accessed, or is misaligned before that."""
    if stop is not None:
        with ir.when(~ir.lt_u(fault, stop)):
            _misaligned_trap(a, _lane_address(addr, stop, width), width)
    _access_trap(a, _lane_address(addr, fault, width))


def _misaligned_trap(a: MemoryForm, where: Value, width: int) -> None:
    ir.trap(
        Cause.STORE_ADDRESS_MISALIGNED if a.store else Cause.LOAD_ADDRESS_MISALIGNED,
        f"vector element address is not a multiple of {width // 8} bytes",
        where,
    )


def _access_trap(a: MemoryForm, where: Value) -> None:
    ir.trap(
        Cause.STORE_PAGE_FAULT if a.store else Cause.LOAD_PAGE_FAULT,
        "vector store to memory that is not writable"
        if a.store
        else "vector load from memory that is not readable",
        where,
    )


def _interleave(groups: list[Value]) -> Value:
    """Fields of each element side by side."""
    n, nf = groups[0].type.lanes or 0, len(groups)
    return ir.shuffle(ir.concat(*groups), [f * n + i for i in range(n) for f in range(nf)])


# -- mask and whole-register accesses: bytes (or EEW) by another length than vl


def mask_access(store: bool) -> Callable[[Context], None]:
    """vlm.v, vsm.v: ceil(vl / 8) bytes, EEW 8, tail agnostic (V 7.4)."""

    def run(ctx: Context) -> None:
        evl = ir.shr_u(ir.read("vl") + 7, 3)
        vtype = replace(ctx.v, vta=True)
        shape = replace(shape_of(ctx, n=ctx.config.vlenb, masked=False), evl=evl, vtype=vtype)
        _run(ctx, MemoryForm(store, 8), shape, 8)

    return run


def whole_access(store: bool, nregs: int, eew: int) -> Callable[[Context], None]:
    """vl<nf>r, vs<nf>r: whole registers, whatever vtype and vl say (V 7.9)."""

    def run(ctx: Context) -> None:
        n = nregs * ctx.config.vlen // eew
        known: Known = "vstart" if ctx.elements == "vstart" else "vl"
        shape = Shape(ctx.config, None, known, n, masked=False, evl=ir.const(n, 64))
        _run(ctx, MemoryForm(store, eew), shape, eew)

    return run


# -- definitions


def _data(store: bool, eew: Eew, nf: int = 1) -> VReg:
    return VReg("vs3" if store else "vd", eew, dest=not store, source=store, nf=nf)


def _units(store: bool, nf: int, mode: AddressingMode) -> Unit:
    kind = (
        "SEGMENT" if nf > 1 else {"unit": "UNIT", "strided": "STRIDED", "indexed": "INDEXED"}[mode]
    )
    return Unit[f"V{'STORE' if store else 'LOAD'}_{kind}"]


def _define_all() -> None:
    for store in (False, True):
        letter, data, opcode = ("s", "vs3", "0100111") if store else ("l", "vd", "0000111")
        for nf in range(1, 9):
            seg = f"seg{nf}" if nf > 1 else ""
            nf_code = f"{nf - 1:03b}"
            section = "V 7.8" if nf > 1 else None
            for eew in (8, 16, 32, 64):
                exact = Eew("eew", eew.bit_length() - 1)
                width = _WIDTH_CODE[eew]
                define_vector(
                    f"v{letter}{seg}e{eew}.v",
                    f"{nf_code} 0 00 vm 00000 rs1 {width} {data} {opcode}",
                    f"{data}, (rs1), vm",
                    _units(store, nf, "unit"),
                    section or "V 7.4",
                    access(MemoryForm(store, eew, nf)),
                    (_data(store, exact, nf),),
                    doc="Consecutive elements." if nf == 1 else "Consecutive segments.",
                )
                if not store:
                    define_vector(
                        f"vl{seg}e{eew}ff.v",
                        f"{nf_code} 0 00 vm 10000 rs1 {width} {data} {opcode}",
                        f"{data}, (rs1), vm",
                        Unit.VLOAD_FF if nf == 1 else Unit.VLOAD_SEGMENT,
                        section or "V 7.7",
                        access(MemoryForm(store, eew, nf, fault_only_first=True)),
                        (_data(store, exact, nf),),
                        doc="Consecutive elements; a fault past element 0 shortens vl.",
                    )
                define_vector(
                    f"v{letter}s{seg}e{eew}.v",
                    f"{nf_code} 0 10 vm rs2 rs1 {width} {data} {opcode}",
                    f"{data}, (rs1), rs2, vm",
                    _units(store, nf, "strided"),
                    section or "V 7.5",
                    access(MemoryForm(store, eew, nf, "strided")),
                    (_data(store, exact, nf),),
                    doc="Elements rs2 bytes apart.",
                )
                for order, mop in (("u", "01"), ("o", "11")):
                    rules = (
                        (no_source_overlap("vs2", spec="V 7.8"),) if nf > 1 and not store else ()
                    )
                    define_vector(
                        f"v{letter}{order}x{seg}ei{eew}.v",
                        f"{nf_code} 0 {mop} vm vs2 rs1 {width} {data} {opcode}",
                        f"{data}, (rs1), vs2, vm",
                        _units(store, nf, "indexed"),
                        section or "V 7.6",
                        access(MemoryForm(store, 0, nf, "indexed", index_eew=eew)),
                        (_data(store, SEW, nf), VReg("vs2", exact)),
                        doc="Elements at byte offsets from vs2"
                        + (", in element order." if order == "o" else "."),
                        rules=rules,
                    )
        define_vector(
            f"v{letter}m.v",
            f"000 0 00 1 01011 rs1 000 {data} {opcode}",
            f"{data}, (rs1)",
            Unit.VSTORE_MASK if store else Unit.VLOAD_MASK,
            "V 7.4",
            mask_access(store),
            (_data(store, MASK),),
            doc="The bytes of a mask of vl bits.",
        )
        for nregs in (1, 2, 4, 8):
            for eew in (8,) if store else (8, 16, 32, 64):
                define_vector(
                    f"vs{nregs}r.v" if store else f"vl{nregs}re{eew}.v",
                    f"{nregs - 1:03b} 0 00 1 01000 rs1 {_WIDTH_CODE[eew]} {data} {opcode}",
                    f"{data}, (rs1)",
                    Unit.VSTORE_WHOLE if store else Unit.VLOAD_WHOLE,
                    "V 7.9",
                    whole_access(store, nregs, eew),
                    (_data(store, Eew("whole", nregs)),),
                    doc="Whole registers, whatever vl and vtype say.",
                    vector=False,
                )


_define_all()
