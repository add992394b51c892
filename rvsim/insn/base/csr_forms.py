"""The table of control and status registers, and the forms that its entries have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rvsim import ir
from rvsim.config import Config
from rvsim.ir import Value

Read = Callable[[Config], Value]
Write = Callable[[Config, Value], None]


@dataclass(frozen=True, slots=True)
class Csr:
    """One CSR.  A read-only one (number[11:10] = 3) has no `write`."""

    number: int
    name: str
    extensions: tuple[str, ...]
    read: Read
    write: Write | None = None

    @property
    def privileged(self) -> bool:
        """Whether user mode may not even read it (Zicsr 1: number[9:8])."""
        return self.number >> 8 & 3 != 0


CSRS: Final[dict[int, Csr]] = {}
"""By number; `rvsim.insn.base.csrs` and `rvsim.insn.base.machine_csrs` fill it at import."""


def define(number: int, name: str, ext: str, read: Read, write: Write | None = None) -> None:
    """Add a CSR; `ext` names the extensions of which any one brings it."""
    CSRS[number] = Csr(number, name, tuple(ext.split()), read, write)


def word(number: int, name: str, ext: str, mask: int) -> None:
    """A state word of which software sees the bits in `mask`."""

    def write(config: Config, value: Value) -> None:
        ir.write(name, value & mask)

    define(number, name, ext, lambda config: ir.read(name), write)


def pair(number: int, name: str, ext: str, high: str, low: str, low_width: int, width: int) -> None:
    """Two fields, which have CSRs of their own, in one register."""

    def read(config: Config) -> Value:
        return ir.read(high) << low_width | ir.read(low)

    def write(config: Config, value: Value) -> None:
        ir.write(low, value & (1 << low_width) - 1)
        ir.write(high, ir.shr_u(value, low_width) & (1 << width - low_width) - 1)

    define(number, name, ext, read, write)


def constant(number: int, name: str, ext: str, value: Callable[[Config], int]) -> None:
    """Always the same, which a write to a register that could be written does not change."""
    write = None if number >> 10 == 3 else lambda config, value: None
    define(number, name, ext, lambda config: ir.const(value(config), 64), write)


def zero(number: int, name: str, ext: str) -> None:
    """Reads 0 whatever is written: what it would control does not exist."""
    constant(number, name, ext, lambda config: 0)
