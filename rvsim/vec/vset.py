"""What vset* makes of its operands (V 6.2, 6.3): where the AVL comes from, and vl for an AVL."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import Enum

from rvsim import ir
from rvsim.config import VlPolicy
from rvsim.ir import Value


class Avl(Enum):
    """Where a vset* takes the application vector length from."""

    REGISTER = "rs1"
    IMMEDIATE = "uimm"
    ALL = "as many elements as fit"
    KEEP = "vl as it is"


def avl_by_registers(*, rs1_is_x0: bool, rd_is_x0: bool) -> Avl:
    """The AVL of vsetvli and vsetvl (V 6.2)."""
    if not rs1_is_x0:
        return Avl.REGISTER
    return Avl.KEEP if rd_is_x0 else Avl.ALL


def avl_of(fields: Mapping[str, int]) -> Avl:
    """The AVL of any vset* by its operand fields.

    >>> avl_of({"rd": 0, "rs1": 0, "vtypei": 0}), avl_of({"rd": 0, "uimm": 4, "vtypei": 0})
    (<Avl.KEEP: 'vl as it is'>, <Avl.IMMEDIATE: 'uimm'>)
    """
    if "uimm" in fields:
        return Avl.IMMEDIATE
    return avl_by_registers(rs1_is_x0=fields["rs1"] == 0, rd_is_x0=fields["rd"] == 0)


def has_constant_vtype(fields: Container[str]) -> bool:
    """Whether the vtype is a field of the instruction, not the contents of rs2."""
    return "vtypei" in fields


def new_vl(avl: Value, vlmax: Value, policy: VlPolicy) -> Value:
    """vl for an AVL (V 6.3): all that fits, or by policy half of what takes two rounds."""
    at_most = ir.min_u(avl, vlmax)
    if policy == "max":
        return at_most
    two_rounds = ir.lt_u(vlmax, avl) & ir.lt_u(avl, vlmax << 1)
    return ir.where(two_rounds, ir.shr_u(avl + 1, 1), at_most)


def gives_vlmax(avl: int, vlmax: int, policy: VlPolicy) -> bool:
    """Whether `new_vl` is VLMAX for this AVL, which may be any number."""
    return avl == vlmax or avl >= (2 * vlmax if policy == "half" else vlmax)
