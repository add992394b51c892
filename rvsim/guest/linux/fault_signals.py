"""Signals that Linux raises for traps (its ``arch/riscv/kernel/traps.c`` and ``mm/fault.c``)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from rvsim.guest.linux.signals import SIGBUS, SIGILL, SIGSEGV, SIGTRAP, Signal
from rvsim.hart.memory import Memory
from rvsim.hart.traps import PAGE_FAULT, Cause

_ILL_ILLOPC, _ILL_ILLTRP = 1, 4
_TRAP_BRKPT: Final = 1
_BUS_ADRALN: Final = 1
_SEGV_MAPERR, _SEGV_ACCERR = 1, 2

_SIGNALS: Final[Mapping[Cause, tuple[int, int]]] = {
    Cause.INSTRUCTION_ADDRESS_MISALIGNED: (SIGBUS, _BUS_ADRALN),
    Cause.INSTRUCTION_ACCESS_FAULT: (SIGSEGV, _SEGV_ACCERR),
    Cause.ILLEGAL_INSTRUCTION: (SIGILL, _ILL_ILLOPC),
    Cause.BREAKPOINT: (SIGTRAP, _TRAP_BRKPT),
    Cause.LOAD_ADDRESS_MISALIGNED: (SIGBUS, _BUS_ADRALN),
    Cause.LOAD_ACCESS_FAULT: (SIGSEGV, _SEGV_ACCERR),
    Cause.STORE_ADDRESS_MISALIGNED: (SIGBUS, _BUS_ADRALN),
    Cause.STORE_ACCESS_FAULT: (SIGSEGV, _SEGV_ACCERR),
    Cause.INSTRUCTION_PAGE_FAULT: (SIGSEGV, _SEGV_ACCERR),
    Cause.LOAD_PAGE_FAULT: (SIGSEGV, _SEGV_ACCERR),
    Cause.STORE_PAGE_FAULT: (SIGSEGV, _SEGV_ACCERR),
}
"""The signal for a cause, and its ``si_code``; a page fault where nothing is mapped has another."""

_UNKNOWN: Final = SIGILL, _ILL_ILLTRP
_PAGE_FAULTS: Final = frozenset(PAGE_FAULT.values())


def signal_number(cause: Cause) -> int:
    """The signal that ends a program which handles none."""
    return _SIGNALS.get(cause, _UNKNOWN)[0]


def fault_signal(cause: Cause, tval: int, pc: int, memory: Memory) -> Signal:
    """The signal for a trap at `pc`: ``si_addr`` is what a page fault is about, else the pc."""
    number, code = _SIGNALS.get(cause, _UNKNOWN)
    addr = pc
    if cause in _PAGE_FAULTS:
        addr, code = tval, code if memory.mapped(tval, 1) else _SEGV_MAPERR
    return Signal(number, code, struct.pack("<Q", addr))
