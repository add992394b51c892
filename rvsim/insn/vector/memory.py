"""Vector loads and stores (V 7): unit-stride, strided, indexed, segments, masks, whole registers.

Every access is the same program: element addresses in memory order (element by element, and field
by field within a segment), one lane access, and the fields sorted back into their groups.
"""

from __future__ import annotations

import contextlib
import itertools
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
from rvsim.vec.rules import Rule, no_source_overlap
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


@dataclass(frozen=True, slots=True)
class _Direction:
    """Loads or stores: what names and encodings say of them."""

    store: bool

    @property
    def letter(self) -> str:
        return "s" if self.store else "l"

    @property
    def data(self) -> str:
        """The field of the registers that are loaded or stored."""
        return "vs3" if self.store else "vd"

    @property
    def opcode(self) -> str:
        return "0100111" if self.store else "0000111"

    def group(self, eew: Eew, nf: int = 1) -> VReg:
        return VReg(self.data, eew, dest=not self.store, source=self.store, nf=nf)

    def unit(self, kind: str) -> Unit:
        return Unit[f"V{'STORE' if self.store else 'LOAD'}_{kind}"]


LOADS: Final = _Direction(store=False)
STORES: Final = _Direction(store=True)


@dataclass(frozen=True, slots=True)
class _Fields:
    """Elements of `nf` fields each: segments where that is more than one (V 7.8)."""

    to: _Direction
    nf: int

    def define(
        self,
        name: str,
        mop: str,
        operand: str,
        eew: int,
        kind: str,
        spec: str,
        form: MemoryForm,
        vregs: tuple[VReg, ...],
        doc: str,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        """Define an access; `operand` is the field above rs1, or its bits."""
        named = f"{operand}, " if not operand.isdigit() else ""
        define_vector(
            name.format(seg=f"seg{self.nf}" if self.nf > 1 else ""),
            f"{self.nf - 1:03b} 0 {mop} vm {operand} rs1 {_WIDTH_CODE[eew]} {self.to.data}"
            f" {self.to.opcode}",
            f"{self.to.data}, (rs1), {named}vm",
            self.to.unit("SEGMENT" if self.nf > 1 else kind),
            "V 7.8" if self.nf > 1 else spec,
            access(form),
            vregs,
            doc=doc,
            rules=rules,
        )

    def define_all(self, eew: int) -> None:
        self._define_unit(eew)
        self._define_strided(eew)
        self._define_indexed(eew)

    def _group(self, eew: int) -> tuple[VReg]:
        return (self.to.group(_exactly(eew), self.nf),)

    def _define_unit(self, eew: int) -> None:
        store, nf = self.to.store, self.nf
        self.define(
            f"v{self.to.letter}{{seg}}e{eew}.v", "00", "00000", eew, "UNIT", "V 7.4",
            MemoryForm(store, eew, nf), self._group(eew),
            "Consecutive elements." if nf == 1 else "Consecutive segments.",
        )  # fmt: skip
        if not store:
            self.define(
                f"vl{{seg}}e{eew}ff.v", "00", "10000", eew, "FF", "V 7.7",
                MemoryForm(store, eew, nf, fault_only_first=True), self._group(eew),
                "Consecutive elements; a fault past element 0 shortens vl.",
            )  # fmt: skip

    def _define_strided(self, eew: int) -> None:
        self.define(
            f"v{self.to.letter}s{{seg}}e{eew}.v", "10", "rs2", eew, "STRIDED", "V 7.5",
            MemoryForm(self.to.store, eew, self.nf, "strided"), self._group(eew),
            "Elements rs2 bytes apart.",
        )  # fmt: skip

    def _define_indexed(self, eew: int) -> None:
        """`eew` is that of the indices."""
        store, nf = self.to.store, self.nf
        rules = (no_source_overlap("vs2", spec="V 7.8"),) if nf > 1 and not store else ()
        for order, mop, ordered in (("u", "01", ""), ("o", "11", ", in element order")):
            self.define(
                f"v{self.to.letter}{order}x{{seg}}ei{eew}.v", mop, "vs2", eew, "INDEXED", "V 7.6",
                MemoryForm(store, 0, nf, "indexed", index_eew=eew),
                (self.to.group(SEW, nf), VReg("vs2", _exactly(eew))),
                f"Elements at byte offsets from vs2{ordered}.", rules,
            )  # fmt: skip


def _exactly(eew: int) -> Eew:
    return Eew("eew", eew.bit_length() - 1)


def _define_mask(to: _Direction) -> None:
    define_vector(
        f"v{to.letter}m.v",
        f"000 0 00 1 01011 rs1 000 {to.data} {to.opcode}",
        f"{to.data}, (rs1)",
        to.unit("MASK"),
        "V 7.4",
        mask_access(to.store),
        (to.group(MASK),),
        doc="The bytes of a mask of vl bits.",
    )


def _define_whole(to: _Direction, nregs: int, eew: int) -> None:
    define_vector(
        f"vs{nregs}r.v" if to.store else f"vl{nregs}re{eew}.v",
        f"{nregs - 1:03b} 0 00 1 01000 rs1 {_WIDTH_CODE[eew]} {to.data} {to.opcode}",
        f"{to.data}, (rs1)",
        to.unit("WHOLE"),
        "V 7.9",
        whole_access(to.store, nregs, eew),
        (to.group(Eew("whole", nregs)),),
        doc="Whole registers, whatever vl and vtype say.",
        vector=False,
    )


def _define_all() -> None:
    for to in (LOADS, STORES):
        for nf, eew in itertools.product(range(1, 9), _WIDTH_CODE):
            _Fields(to, nf).define_all(eew)
        _define_mask(to)
        for nregs, eew in itertools.product((1, 2, 4, 8), (8,) if to.store else _WIDTH_CODE):
            _define_whole(to, nregs, eew)


_define_all()
