"""Cache-block operations: Zicbom, Zicboz, Zicbop; a block has 64 bytes.

Functionally there is one coherent memory, so that management does nothing but check the address.
"""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.base.rv_a import load_for_store
from rvsim.insn.registry import insn
from rvsim.insn.units import Unit
from rvsim.ir import Value

BLOCK_BYTES: Final = 64
DATA_HINTS: Final = frozenset({"prefetch.r", "prefetch.w"})
"""Instructions that ask for a block of data."""


def manage(name: str, number: str) -> None:
    """A management operation (CMO "Page-Fault, Guest-Page-Fault, and Access-Fault Exceptions").

    It may access what a load or a store may access, and its fault is a store fault.  A page that
    can be written can be read (Privileged, Sv39 translation), so that a load tells.
    """

    @insn(f"{name} (rs1)", f"{number} rs1 010 00000 0001111", unit=Unit.CACHE, ext="zicbom",
          spec="Zicbom")  # fmt: skip
    def body(rs1: Value) -> None:
        load_for_store(rs1, 8)


manage("cbo.inval", "000000000000")
manage("cbo.clean", "000000000001")
manage("cbo.flush", "000000000010")


@insn("cbo.zero (rs1)", "000000000100 rs1 010 00000 0001111", unit=Unit.CACHE, ext="zicboz",
      spec="Zicboz")  # fmt: skip
def cbo_zero(rs1: Value) -> None:
    """Zero the block around rs1; a fault reports rs1 itself."""
    words = BLOCK_BYTES // 8
    block = rs1 & -BLOCK_BYTES
    zeros = ir.const(0, ir.lanes(words, 64))
    stored = ir.store_lanes(block, zeros, ir.const(1, ir.mask(words)))
    with ir.when(stored != words):
        ir.trap(Cause.STORE_PAGE_FAULT, "store page fault", rs1)


def prefetch(name: str, number: str) -> None:
    """A hint, encoded as an ori with rd = x0, which it is without Zicbop; it never traps."""

    @insn(f"{name} imm(rs1)", f"imm[11:5] {number} rs1 110 00000 0010011", unit=Unit.CACHE,
          ext="zicbop i", spec="Zicbop")  # fmt: skip
    def body() -> None:
        pass


prefetch("prefetch.i", "00000")
prefetch("prefetch.r", "00001")
prefetch("prefetch.w", "00011")
