"""The control and status registers that user code sees: what a read gives and a write keeps."""

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


CSRS: Final[dict[int, Csr]] = {}
"""By number; filled below."""


def _define(number: int, name: str, ext: str, read: Read, write: Write | None = None) -> None:
    CSRS[number] = Csr(number, name, tuple(ext.split()), read, write)


def _field(number: int, name: str, ext: str, width: int) -> None:
    """A state word of which software sees `width` bits."""

    def write(config: Config, value: Value) -> None:
        ir.write(name, value & (1 << width) - 1)

    _define(number, name, ext, lambda config: ir.read(name), write)


def _pair(
    number: int, name: str, ext: str, high: str, low: str, low_width: int, width: int
) -> None:
    """Two fields, which have CSRs of their own, in one register."""

    def read(config: Config) -> Value:
        return ir.read(high) << low_width | ir.read(low)

    def write(config: Config, value: Value) -> None:
        ir.write(low, value & (1 << low_width) - 1)
        ir.write(high, ir.shr_u(value, low_width) & (1 << width - low_width) - 1)

    _define(number, name, ext, read, write)


# F 2
_field(0x001, "fflags", "f", 5)
_field(0x002, "frm", "f", 3)
_pair(0x003, "fcsr", "f", "frm", "fflags", 5, 8)

# V 3.5 to 3.9


def _write_vstart(config: Config, value: Value) -> None:
    """vstart has the bits that an element index can have (V 3.7)."""
    ir.write("vstart", value & config.vlen - 1)


_define(0x008, "vstart", "v", lambda config: ir.read("vstart"), _write_vstart)
_field(0x009, "vxsat", "v", 1)
_field(0x00A, "vxrm", "v", 2)
_pair(0x00F, "vcsr", "v", "vxrm", "vxsat", 1, 3)
_define(0xC20, "vl", "v", lambda config: ir.read("vl"))
_define(0xC21, "vtype", "v", lambda config: ir.read("vtype"))
_define(0xC22, "vlenb", "v", lambda config: ir.const(config.vlenb, 64))

# Zicntr: time is a 24 MHz clock, derived from cycles at 1.6 GHz


def _read_time(config: Config) -> Value:
    return ir.quot_u(ir.read("cycle") * 3, ir.const(200, 64))


_define(0xC00, "cycle", "zicntr", lambda config: ir.read("cycle"))
_define(0xC01, "time", "zicntr", _read_time)
_define(0xC02, "instret", "zicntr", lambda config: ir.read("instret"))

# Zihpm: events are the platform's choice, and none is counted
for _index in range(3, 32):
    _define(0xC00 + _index, f"hpmcounter{_index}", "zihpm", lambda config: ir.const(0, 64))


def refusal(config: Config, number: int, *, writes: bool) -> str | None:
    """Why an access to a CSR is an illegal instruction, or None if it is legal (Zicsr 1)."""
    csr = CSRS.get(number)
    if csr is None:
        return f"there is no CSR {number:#05x}"
    if not config.has(csr.extensions):
        return f"CSR {csr.name} needs the extension {' or '.join(csr.extensions)}"
    if writes and csr.write is None:
        return f"CSR {csr.name} is read-only"
    return None
