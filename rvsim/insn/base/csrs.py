"""The control and status registers that user code sees: what a read gives and a write keeps."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from rvsim import ir
from rvsim.config import (
    MACHINE,
    ONLY_BARE_METAL,
    Config,
)
from rvsim.insn.base import machine_csrs as _machine_csrs  # noqa: F401  (fills the table)
from rvsim.insn.base.csr_forms import CSRS, Csr, constant, define, pair, word, zero
from rvsim.insn.base.machine_csrs import counter
from rvsim.ir import Value

__all__ = ["CSRS", "Csr", "hidden_by_linux", "note", "refusal"]

# F 2
word(0x001, "fflags", "f", 0x1F)
word(0x002, "frm", "f", 7)
pair(0x003, "fcsr", "f", "frm", "fflags", 5, 8)

# V 3.5 to 3.9


def _write_vstart(config: Config, value: Value) -> None:
    """vstart has the bits that an element index can have (V 3.7)."""
    ir.write("vstart", value & config.vlen - 1)


define(0x008, "vstart", "v", lambda config: ir.read("vstart"), _write_vstart)
word(0x009, "vxsat", "v", 1)
word(0x00A, "vxrm", "v", 3)
pair(0x00F, "vcsr", "v", "vxrm", "vxsat", 1, 3)
define(0xC20, "vl", "v", lambda config: ir.read("vl"))
define(0xC21, "vtype", "v", lambda config: ir.read("vtype"))
constant(0xC22, "vlenb", "v", lambda config: config.vlenb)

# Zicntr: time is derived from cycles, and also runs while the program sleeps


def _read_time(config: Config) -> Value:
    per_cycle = Fraction(config.rates.timer, config.rates.frequency)
    ticks = ir.quot_u(ir.read("cycle") * per_cycle.numerator, ir.const(per_cycle.denominator, 64))
    return ticks + ir.read("time_asleep")


define(0xC00, "cycle", "zicntr", lambda config: counter(config, "cycle"))
define(0xC01, "time", "zicntr", _read_time)
define(0xC02, "instret", "zicntr", lambda config: counter(config, "instret"))

# Zihpm: events are the platform's choice, and none is counted.  Linux hides these, see `refusal`
for _index in range(3, 32):
    zero(0xC00 + _index, f"hpmcounter{_index}", "zihpm")


def refusal(config: Config, number: int, *, writes: bool) -> str | None:
    """Why an access to a CSR is an illegal instruction, or None if it is legal (Zicsr 1)."""
    csr = CSRS.get(number)
    if csr is None:
        return f"there is no CSR {number:#05x}"
    if csr.extensions == (MACHINE,) and not config.has(csr.extensions):
        return f"CSR {csr.name} {ONLY_BARE_METAL}"
    if not config.has(csr.extensions):
        return f"CSR {csr.name} needs the extension {' or '.join(csr.extensions)}"
    if writes and csr.write is None:
        return f"CSR {csr.name} is read-only"
    return hidden_by_linux(config, number)


# Linux, since 6.6, opens a counter only to a program that has mapped its perf event: of scounteren
# (Privileged) all bits but that of time are 0.  On bare metal, mcounteren decides.

_CYCLE_AND_INSTRET: Final = frozenset({0xC00, 0xC02})
_TIME: Final = 0xC01


def _is_hidden_on_boards(config: Config, number: int) -> bool:
    return 0xC00 <= number < 0xC20 and number != _TIME and not config.has((MACHINE,))


def hidden_by_linux(config: Config, number: int) -> str | None:
    """Why user mode may not read a counter; `Config.user_counters` opens those that count."""
    opened = number in _CYCLE_AND_INSTRET and config.user_counters == "allow"
    if opened or not _is_hidden_on_boards(config, number):
        return None
    return f"Linux hides {CSRS[number].name} from user mode (Privileged, scounteren)"


def note(config: Config, number: int) -> str | None:
    """What is to be said of an access that works here, and not on a board."""
    if not _is_hidden_on_boards(config, number) or hidden_by_linux(config, number):
        return None  # the trap tells it
    return (
        f"Linux hides {CSRS[number].name} from user mode since 6.6, as --user-counters trap does:"
        " use rdtime or perf_event_open"
    )
