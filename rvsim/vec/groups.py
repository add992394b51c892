"""Vector operands: which EEW and EMUL an operand has, and which registers that makes (V 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rvsim.vec.vtype import VType, lmul_text

Kind = Literal["sew", "eew", "mask", "scalar", "group", "whole"]


@dataclass(frozen=True, slots=True)
class Eew:
    """How an operand's element width follows from vtype and the instruction.

    * ``sew``: SEW * 2^value, EMUL = LMUL * 2^value
    * ``eew``: 2^value bits, EMUL = EEW / SEW * LMUL
    * ``mask``: one mask register
    * ``scalar``: element 0 of one register, of SEW * 2^value bits; no group
    * ``group``: the first element group of one register, whose elements have SEW bits (Zvk)
    * ``whole``: `value` registers whatever vtype says
    """

    kind: Kind
    value: int = 0


SEW: Final = Eew("sew")
WIDE: Final = Eew("sew", 1)
MASK: Final = Eew("mask")
SCALAR: Final = Eew("scalar")
WIDE_SCALAR: Final = Eew("scalar", 1)
ELEMENT_GROUP: Final = Eew("group")


@dataclass(frozen=True, slots=True)
class VReg:
    """A vector operand of an instruction: encoding field, element width, use."""

    field: str
    eew: Eew
    dest: bool = False
    source: bool = True
    nf: int = 1


V0: Final = VReg("v0", MASK)
"""The mask register as an operand that no field names."""


@dataclass(frozen=True, slots=True)
class Group:
    """An operand's registers under one vtype: v`reg` and `nregs` - 1 more."""

    operand: VReg
    reg: int
    eew_log2: int
    emul_log2: int
    nregs: int

    @property
    def registers(self) -> range:
        return range(self.reg, self.reg + self.nregs)

    def overlaps(self, other: Group) -> bool:
        return self.reg < other.reg + other.nregs and other.reg < self.reg + self.nregs

    def text(self) -> str:
        """``vs2 = v8-v11 (EEW 16, EMUL m4)``"""
        last = self.reg + self.nregs - 1
        span = f"v{self.reg}" if self.nregs == 1 else f"v{self.reg}-v{last}"
        if self.operand.eew.kind == "mask":
            return f"{self.operand.field} = {span} (mask)"
        if self.operand.eew.kind == "whole":
            return f"{self.operand.field} = {span} (whole registers)"
        emul = f"EMUL {lmul_text(self.emul_log2)}"
        if self.operand.eew.kind == "scalar":
            emul = "element 0"
        elif self.operand.eew.kind == "group":
            emul = "element group 0"
        fields = f", {self.operand.nf} fields" if self.operand.nf > 1 else ""
        return f"{self.operand.field} = {span} (EEW {1 << self.eew_log2}, {emul}{fields})"


def widths(eew: Eew, vtype: VType) -> tuple[int, int]:
    """(eew_log2, emul_log2) of an operand; mask and whole registers count as EMUL 1."""
    match eew.kind:
        case "sew":
            return vtype.sew_log2 + eew.value, vtype.lmul_log2 + eew.value
        case "eew":
            return eew.value, eew.value - vtype.sew_log2 + vtype.lmul_log2
        case "scalar" | "group":  # 128 bits at most, which any vector register has
            return vtype.sew_log2 + eew.value, 0
        case _:
            return 0, 0


def resolve(operand: VReg, fields: Mapping[str, int], vtype: VType) -> Group:
    """The group of registers an operand occupies."""
    eew_log2, emul_log2 = widths(operand.eew, vtype)
    reg = 0 if operand is V0 else fields[operand.field]
    if operand.eew.kind == "whole":
        return Group(operand, reg, 3, 0, operand.eew.value)
    return Group(operand, reg, eew_log2, emul_log2, operand.nf << max(0, emul_log2))
