"""Facts about an instruction for the cost model, read from its definition and its program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from rvsim import ir
from rvsim.cost.classes import Situation
from rvsim.cost.core import Core
from rvsim.cost.formula import Size
from rvsim.insn.registry import Context, Insn
from rvsim.insn.units import Unit
from rvsim.ir import Program, Value
from rvsim.ir.program import postorder
from rvsim.ir.statements import Field, Let, Store, WriteF, WriteX
from rvsim.ir.trace import current
from rvsim.vec.groups import V0, VReg, widths
from rvsim.vec.vtype import lmul_text

Style = Literal["unit", "fault_only_first", "strided", "indexed", "mask", "whole"]

Place = tuple[Field, int]
"""A scalar register in arrays of x, then f registers: its field, and 0 for x or 32 for f."""

_MASK_UNITS: Final = frozenset({Unit.VLOAD_MASK, Unit.VSTORE_MASK})


@dataclass(frozen=True, slots=True)
class Operand:
    """A vector operand: `nregs` registers from the one in field `reg` on, with its EEW and EMUL."""

    reg: Field
    nregs: int
    emul_log2: int
    eew_log2: int
    dest: bool
    source: bool
    nf: int = 1

    def register(self, offset: int) -> Value:
        """The number of its register `offset`."""
        return index(self.reg, offset)

    def parts(self, core: Core) -> int:
        """The number of parts of its registers; each part becomes ready by itself."""
        return core.vector_unit.parts * self.nregs

    def part(self, core: Core, j: int) -> Value:
        """The index of its part `j` in arrays of register parts."""
        return index(self.reg, 0) * core.vector_unit.parts + j


def index(field: Field, offset: int) -> Value:
    """A register number plus an offset; `field` names a field or is the number itself."""
    number = ir.const(field, 64) if isinstance(field, int) else ir.param(field)
    return number + offset


@dataclass(frozen=True)
class Facts:
    """One instruction with its static fields and vtype; `program` is its semantics."""

    context: Context
    program: Program

    @property
    def insn(self) -> Insn:
        return self.context.insn

    @property
    def unit(self) -> Unit:
        return self.insn.unit

    @property
    def masked(self) -> bool:
        return self.context.masked

    @property
    def is_memory(self) -> bool:
        return self.unit.is_memory

    @property
    def is_store(self) -> bool:
        return self.unit.is_store

    # -- scalar registers, as places in arrays of x and then f registers

    @cached_property
    def scalar_sources(self) -> tuple[Value, ...]:
        """Registers that it reads, as values of the current trace."""
        return _places(self.program.values())

    @property
    def scalar_source_fields(self) -> tuple[Place, ...]:
        """The same as fields."""
        return _read_fields(self.program.values())

    @property
    def scalar_dest(self) -> Value | None:
        """The register that it writes, unless that is x0."""
        field = self.scalar_dest_field
        return None if field is None else index(*field)

    @property
    def scalar_dest_field(self) -> Place | None:
        """The same as a field."""
        for stmt in self.program.statements():
            if isinstance(stmt, WriteF):
                return stmt.field, 32
            if isinstance(stmt, WriteX) and not self._is_x0(stmt.field):
                return stmt.field, 0
        return None

    def _is_x0(self, field: Field) -> bool:
        return field == 0 or self.context.is_zero("rd")

    # -- vector registers

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """Vector operands, including the mask v0."""
        vregs = list(self.insn.vregs)
        if self.masked and V0 not in vregs:
            vregs.append(V0)
        return tuple(map(self._operand, vregs))

    def _operand(self, vreg: VReg) -> Operand:
        reg: Field = 0 if vreg is V0 else vreg.field
        if vreg.eew.kind == "whole":
            count = vreg.eew.value
            return Operand(reg, count, count.bit_length() - 1, 3, vreg.dest, vreg.source)
        eew, emul = (0, 0) if vreg.eew.kind == "mask" else widths(vreg.eew, self.context.v)
        nregs = vreg.nf << max(0, emul)
        return Operand(reg, nregs, emul, eew, vreg.dest, vreg.source, vreg.nf)

    @property
    def mask_operand(self) -> Operand | None:
        """v0, if the instruction is masked or takes a carry or selection from it."""
        return next((o for o in self.operands if o.reg == 0), None)

    @property
    def vector_dest(self) -> Operand | None:
        return next((o for o in self.operands if o.dest), None)

    @property
    def vector_sources(self) -> tuple[Operand, ...]:
        """Sources other than v0 and an old destination."""
        return tuple(o for o in self.operands if o.reg != 0 and not o.dest)

    # -- timing

    @cached_property
    def situation(self) -> Situation:
        """What the conditions of its class's cases test."""
        stem, _, form = self.insn.name.partition(".")
        sew_log2, lmul_log2 = self._widths
        return Situation(
            name=stem if self.unit.is_vector else self.insn.expands or self.insn.name,
            form=form,
            sew=1 << sew_log2,
            lmul=lmul_text(lmul_log2),
            masked=self.masked,
            nf=self._data.nf if self.is_memory and self.unit.is_vector else 1,
            style=self.style if self.is_memory and self.unit.is_vector else "",
        )

    @property
    def _widths(self) -> tuple[int, int]:
        """(SEW, LMUL) as log2; for memory the EEW and EMUL of the data."""
        if self.is_memory and self.unit.is_vector:
            return self._data.eew_log2, self._data.emul_log2
        if self.context.vtype is None:
            return 3, 0
        if self.unit is Unit.VMOVE_WHOLE:
            return self.context.v.sew_log2, self.operands[0].emul_log2
        return self.context.v.sew_log2, self.context.v.lmul_log2

    def size(self, core: Core) -> Size:
        """The size of the data, for the formulas of a core."""
        sew_log2, lmul_log2 = self._widths
        lmul = 2.0**lmul_log2
        vlmax = max(1, int(self.context.config.vlen * lmul) >> sew_log2)
        if self.unit in _MASK_UNITS:  # their data are bits in one register, whatever EMUL says
            vlmax = self.context.vlmax
        return core.size(self.context.config.vlen, lmul, vlmax, self.situation.nf)

    # -- memory

    @property
    def _data(self) -> Operand:
        return self.operands[0]

    @property
    def scalar_access(self) -> tuple[Value, int]:
        """The address of a scalar load or store, a node of its own trace, and its width in bits."""
        for stmt in self.program.statements():
            if isinstance(stmt, Store):
                return stmt.addr, stmt.value.type.width
            if isinstance(stmt, Let) and stmt.value.prim == "load":
                return stmt.value.args[0], stmt.value.attrs[0]
        raise LookupError(f"{self.insn.name} accesses no memory")

    @cached_property
    def access(self) -> Value:
        """The node of its first memory access."""
        for value in self.program.values():
            if value.prim in ("load", "load_lanes", "store_lanes"):
                return value
        raise LookupError(f"{self.insn.name} accesses no memory")

    @cached_property
    def style(self) -> Style:
        if self._is_whole:
            return "whole"
        if self.unit in _MASK_UNITS:
            return "mask"
        if self.access.args[0].type.lanes is None:
            return "fault_only_first" if "vl" in self.program.writes() else "unit"
        return "indexed" if len(self.vector_sources) > (1 if self.is_store else 0) else "strided"

    @property
    def _is_whole(self) -> bool:
        return self.unit in (Unit.VLOAD_WHOLE, Unit.VSTORE_WHOLE)


def registers_of(value: Value) -> tuple[Value, ...]:
    """The scalar registers that a node of another trace depends on, as indices into arrays."""
    return _places(postorder((value,)))


def _places(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(index(*place) for place in _read_fields(values))


def _read_fields(values: Iterable[Value]) -> tuple[Place, ...]:
    reads = (v for v in values if v.prim in ("read_x", "read_f"))
    return tuple(dict.fromkeys((v.attrs[0], 32 if v.prim == "read_f" else 0) for v in reads))


def transplant(value: Value) -> Value:
    """A pure node of another trace, rebuilt in the current one."""
    made: dict[int, Value] = {}
    for node in postorder((value,)):
        args = tuple(made[id(a)] for a in node.args)
        made[id(node)] = current().node(node.prim, args, node.attrs)
    return made[id(value)]
