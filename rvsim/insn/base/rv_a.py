"""A, atomic instructions: Zalrsc and Zaamo; and Zawrs, which waits on a reservation.

The bits aq and rl order accesses as other harts see them.  One hart sees no difference; they are
fields, and `Insn.mnemonic` writes them as the suffix ``.aq``, ``.rl`` or ``.aqrl``.
"""

from __future__ import annotations

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.base.rv_forms import Body
from rvsim.insn.registry import insn
from rvsim.insn.units import Unit
from rvsim.ir import Value

_WIDTHS = {"w": ("010", 32), "d": ("011", 64)}


def check_aligned(addr: Value, width: int, cause: int) -> None:
    """Trap unless the address is a multiple of the access size (A 2)."""
    with ir.when((addr & (width // 8 - 1)) != 0):
        ir.trap(cause, f"atomic access of {width // 8} bytes to a misaligned address", addr)


def load_for_store(addr: Value, width: int) -> Value:
    """A load whose fault is a store fault: it is part of a store or AMO (Privileged, mcause)."""
    lanes, readable = ir.load_lanes(addr, ir.const(1, ir.mask(1)), width)
    with ir.when(readable == 0):
        ir.trap(Cause.STORE_PAGE_FAULT, "store page fault", addr)
    return ir.extract(lanes, 0)


# A 2  Zalrsc


def load_reserved(name: str) -> None:
    funct3, width = _WIDTHS[name[-1]]

    @insn(f"{name} rd, (rs1)", f"00010 aq rl 00000 rs1 {funct3} rd 0101111", unit=Unit.AMO,
          ext="a zalrsc", spec="A 2")  # fmt: skip
    def body(rs1: Value) -> Value:
        """Load a word and reserve its address."""
        check_aligned(rs1, width, Cause.LOAD_ADDRESS_MISALIGNED)
        value = ir.load(rs1, width)
        ir.write("reservation_addr", rs1)
        ir.write("reservation_valid", 1)
        return ir.sext(value, 64)


def store_conditional(name: str) -> None:
    funct3, width = _WIDTHS[name[-1]]

    @insn(f"{name} rd, rs2, (rs1)", f"00011 aq rl rs2 rs1 {funct3} rd 0101111", unit=Unit.AMO,
          ext="a zalrsc", spec="A 2")  # fmt: skip
    def body(rs1: Value, rs2: Value) -> Value:
        """Store if the address is reserved and give 0, else 1; the reservation ends."""
        check_aligned(rs1, width, Cause.STORE_ADDRESS_MISALIGNED)
        reserved = (ir.read("reservation_valid") != 0) & (ir.read("reservation_addr") == rs1)
        with ir.when(reserved):
            ir.store(rs1, ir.trunc(rs2, width))
        ir.write("reservation_valid", 0)
        return ~reserved


load_reserved("lr.w")
load_reserved("lr.d")
store_conditional("sc.w")
store_conditional("sc.d")


# A 4  Zaamo


def amo(name: str, funct5: str, function: Body) -> None:
    """``rd = memory; memory = function(memory, rs2)``, on values of the access width."""
    funct3, width = _WIDTHS[name[-1]]

    @insn(f"{name} rd, rs2, (rs1)", f"{funct5} aq rl rs2 rs1 {funct3} rd 0101111", unit=Unit.AMO,
          ext="a zaamo", spec="A 4")  # fmt: skip
    def body(rs1: Value, rs2: Value) -> Value:
        check_aligned(rs1, width, Cause.STORE_ADDRESS_MISALIGNED)
        old = load_for_store(rs1, width)
        ir.store(rs1, function(old, ir.trunc(rs2, width)))
        return ir.sext(old, 64)


for _names, _funct5, _function in (
    ("amoswap.w amoswap.d", "00001", lambda old, rs2: rs2),
    ("amoadd.w amoadd.d", "00000", lambda old, rs2: old + rs2),
    ("amoxor.w amoxor.d", "00100", lambda old, rs2: old ^ rs2),
    ("amoand.w amoand.d", "01100", lambda old, rs2: old & rs2),
    ("amoor.w amoor.d", "01000", lambda old, rs2: old | rs2),
    ("amomin.w amomin.d", "10000", lambda old, rs2: ir.min_s(old, rs2)),
    ("amomax.w amomax.d", "10100", lambda old, rs2: ir.max_s(old, rs2)),
    ("amominu.w amominu.d", "11000", lambda old, rs2: ir.min_u(old, rs2)),
    ("amomaxu.w amomaxu.d", "11100", lambda old, rs2: ir.max_u(old, rs2)),
):
    for _name in _names.split():
        amo(_name, _funct5, _function)


# Zawrs


@insn("wrs.nto", "000000001101 00000 000 00000 1110011", unit=Unit.SYSTEM, ext="zawrs",
      spec="Zawrs")  # fmt: skip
def wrs_nto() -> None:
    """Waits for a store to the reservation set; it may end at any time and for any reason."""


@insn("wrs.sto", "000000011101 00000 000 00000 1110011", unit=Unit.SYSTEM, ext="zawrs",
      spec="Zawrs")  # fmt: skip
def wrs_sto() -> None:
    """As wrs.nto, with a short time-out."""
