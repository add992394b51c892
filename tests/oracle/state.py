"""What an instruction reads and writes, as the oracle holds it."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from tests.oracle.bits import M64

ILLEGAL_INSTRUCTION = 2
BREAKPOINT = 3
LOAD_MISALIGNED = 4
LOAD_ACCESS_FAULT = 5
STORE_MISALIGNED = 6
STORE_ACCESS_FAULT = 7
ECALL_FROM_USER = 8
ECALL_FROM_MACHINE = 11
LOAD_PAGE_FAULT = 13
STORE_PAGE_FAULT = 15

FFLAGS, FRM = 0x001, 0x002


class OracleTrap(Exception):
    """The instruction traps; `cause` is the mcause code (Privileged, table of causes)."""

    def __init__(self, cause: int, tval: int = 0) -> None:
        super().__init__(f"cause {cause}, tval {tval:#x}")
        self.cause = cause
        self.tval = tval


class Memory(Protocol):
    """Byte memory; a call that meets an inaccessible byte raises and changes nothing."""

    def read(self, addr: int, n: int) -> bytes: ...

    def write(self, addr: int, data: bytes) -> None: ...


@dataclass(slots=True)
class OracleState:
    """Architectural state of one hart, and the choices that the specification leaves open."""

    vlen: int
    mem: Memory
    x: list[int] = field(default_factory=lambda: [0] * 32)
    f: list[int] = field(default_factory=lambda: [0] * 32)
    v: bytearray = field(default_factory=bytearray)
    pc: int = 0
    vl: int = 0
    vtype: int = 1 << 63
    vstart: int = 0
    vxrm: int = 0
    vxsat: int = 0
    reservation: int | None = None
    agnostic: Literal["undisturbed", "ones"] = "undisturbed"
    vl_policy: Literal["max", "half"] = "max"
    reserved: Literal["trap", "allow"] = "trap"
    misaligned_vector_ok: bool = True
    csr: dict[int, int] = field(default_factory=dict)
    privilege: int = 0
    next_pc: int = 0

    def __post_init__(self) -> None:
        if not self.v:
            self.v = bytearray(32 * self.vlenb)

    @property
    def vlenb(self) -> int:
        """Bytes in one vector register."""
        return self.vlen // 8

    @property
    def fflags(self) -> int:
        """The accrued exceptions; `csr` holds them (F 2)."""
        return self.csr.get(FFLAGS, 0)

    @fflags.setter
    def fflags(self, value: int) -> None:
        self.csr[FFLAGS] = value

    @property
    def frm(self) -> int:
        """The dynamic rounding mode, reserved ones included; `csr` holds it (F 2)."""
        return self.csr.get(FRM, 0)

    @frm.setter
    def frm(self, value: int) -> None:
        self.csr[FRM] = value

    def set_x(self, rd: int, value: int) -> None:
        """Write an integer register; x0 stays zero."""
        if rd != 0:
            self.x[rd] = value & M64
