"""Machine-mode CSRs (Privileged 3): those of a hart with the modes M and U, and no protection.

Nothing interrupts, nothing translates or protects memory, there are no triggers, and no events are
counted: the registers that would control these read 0, as their WARL fields allow.  There is no
supervisor mode, so that satp and the delegation registers need not be there; they read 0 for
software that clears them.
"""

from __future__ import annotations

from typing import Final

from rvsim import ir
from rvsim.config import MACHINE, Config
from rvsim.hart.words import WORD_MASK
from rvsim.insn.base.csr_forms import CSRS, constant, define, word, zero
from rvsim.ir import Value

U_MODE: Final = 0
M_MODE: Final = 3

MIE: Final = 1 << 3
MPIE: Final = 1 << 7
MPP: Final = 3 << 11
MPRV: Final = 1 << 17
TW: Final = 1 << 21
FS: Final = 3 << 13
VS: Final = 3 << 9
UXL: Final = 2 << 32  # user mode is RV64, too
SD: Final = 1 << 63

FS_OFF: Final = 1
VS_OFF: Final = 2
"""Bits of the state word ``units_off``, which follows from mstatus."""

_INTERRUPTS: Final = 1 << 3 | 1 << 7 | 1 << 11  # software, timer, external
_MISA_LETTERS: Final = frozenset("acdfimv")


def legal_mstatus(config: Config, value: Value) -> Value:
    """What mstatus keeps of a value (Privileged 3.1.6).

    MPP is M or U.  FS and VS are Off or Dirty, always Off for a unit that does not exist.
    """
    off = ir.const(0, 64)
    machine = ir.where(value & MPP == MPP, MPP, off)
    fs = ir.where(value & FS == 0, off, FS) if config.has(("f",)) else off
    vs = ir.where(value & VS == 0, off, VS) if config.has(("v", "zve32x")) else off
    dirty = ir.where(fs | vs == 0, off, SD)
    return value & (MIE | MPIE | MPRV | TW) | machine | fs | vs | dirty | UXL


def write_mstatus(config: Config, value: Value) -> None:
    """Keep what is legal; blocks are made for which units are off, so that is a word as well."""
    status = legal_mstatus(config, value)
    ir.write("mstatus", status)
    off = ir.const(0, 64)
    fs_off, vs_off = status & FS == 0, status & VS == 0
    ir.write("units_off", ir.where(fs_off, FS_OFF, off) | ir.where(vs_off, VS_OFF, off))


def _write_mepc(config: Config, value: Value) -> None:
    """Always the address of an instruction (Privileged 3.1.14)."""
    ir.write("mepc", value & -config.ialign_bytes)


define(0x300, "mstatus", MACHINE, lambda config: ir.read("mstatus"), write_mstatus)
word(0x304, "mie", MACHINE, _INTERRUPTS)
word(0x305, "mtvec", MACHINE, WORD_MASK - 2)  # direct or vectored, which is the same for exceptions
word(0x306, "mcounteren", MACHINE, 0xFFFFFFFF)
word(0x340, "mscratch", MACHINE, WORD_MASK)
define(0x341, "mepc", MACHINE, lambda config: ir.read("mepc"), _write_mepc)
word(0x342, "mcause", MACHINE, WORD_MASK)
word(0x343, "mtval", MACHINE, WORD_MASK)


def _misa(config: Config) -> int:
    """RV64, a bit for each letter, U, and X if there is anything beyond the standard."""
    letters = {name for name in config.extensions if name in _MISA_LETTERS} | {"u"}
    if config.extensions.issuperset({"zba", "zbb", "zbs"}):
        letters.add("b")
    if any(name.startswith("x") for name in config.extensions):
        letters.add("x")
    return 2 << 62 | sum(1 << ord(letter) - ord("a") for letter in letters)


def _menvcfg(config: Config) -> int:
    """User mode may use the cache instructions: CBIE, CBCFE and CBZE are set for good."""
    return 0x70 * config.has(("zicbom",)) | 0x80 * config.has(("zicboz",))


constant(0x301, "misa", MACHINE, _misa)
constant(0x30A, "menvcfg", MACHINE, _menvcfg)

for _number, _name in (
    (0x180, "satp"),
    (0x302, "medeleg"),
    (0x303, "mideleg"),
    (0x320, "mcountinhibit"),
    (0x344, "mip"),
    (0x7A0, "tselect"),
    (0x7A1, "tdata1"),
    (0x7A2, "tdata2"),
    (0x7A3, "tdata3"),
    (0xF11, "mvendorid"),
    (0xF12, "marchid"),
    (0xF13, "mimpid"),
    (0xF14, "mhartid"),
    (0xF15, "mconfigptr"),
):
    zero(_number, _name, MACHINE)
for _index in range(0, 16, 2):
    zero(0x3A0 + _index, f"pmpcfg{_index}", MACHINE)
for _index in range(64):
    zero(0x3B0 + _index, f"pmpaddr{_index}", MACHINE)
for _index in range(3, 32):
    zero(0x320 + _index, f"mhpmevent{_index}", MACHINE)
    zero(0xB00 + _index, f"mhpmcounter{_index}", MACHINE)


# Privileged 3.1.10  Counters: what the hart has counted, and how far software has moved that


def counter(config: Config, name: str) -> Value:
    """``cycle`` or ``instret`` as software sees it; only machine mode can have moved it."""
    counted = ir.read(name)
    return counted + ir.read(f"{name}_moved") if config.has((MACHINE,)) else counted


def _counter(number: int, name: str, counts: str) -> None:
    def write(config: Config, value: Value) -> None:
        # The next instruction reads what was written, and by then this one has been counted.
        ir.write(f"{counts}_moved", value - ir.read(counts) - 1)

    define(number, name, MACHINE, lambda config: counter(config, counts), write)


_counter(0xB00, "mcycle", "cycle")
_counter(0xB02, "minstret", "instret")


def privilege_problem(config: Config, number: int) -> tuple[Value, str] | None:
    """When an access traps for want of privilege, as a one-bit value, and why.

    None where that can't be: for CSRs of user mode, and where there is no other mode.
    """
    csr = CSRS[number]
    if not config.has((MACHINE,)):
        return None
    in_user_mode = ir.read("privilege") == U_MODE
    if csr.privileged:
        return in_user_mode, f"CSR {csr.name} is for machine mode"
    if 0xC00 <= number < 0xC20:
        enabled = ir.shr_u(ir.read("mcounteren"), number & 31)
        return in_user_mode & (enabled & 1 == 0), f"mcounteren hides {csr.name} from user mode"
    return None
