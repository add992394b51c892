"""Traps as data, and the causes that mcause has numbers for (Privileged, table of mcause)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from rvsim.hart.memory import Access, R, W, X


class Cause(IntEnum):
    """Exceptions by the specification's names; what it calls store/AMO is a store here."""

    INSTRUCTION_ADDRESS_MISALIGNED = 0
    INSTRUCTION_ACCESS_FAULT = 1
    ILLEGAL_INSTRUCTION = 2
    BREAKPOINT = 3
    LOAD_ADDRESS_MISALIGNED = 4
    LOAD_ACCESS_FAULT = 5
    STORE_ADDRESS_MISALIGNED = 6
    STORE_ACCESS_FAULT = 7
    ENVIRONMENT_CALL_FROM_U_MODE = 8
    ENVIRONMENT_CALL_FROM_S_MODE = 9
    ENVIRONMENT_CALL_FROM_M_MODE = 11
    INSTRUCTION_PAGE_FAULT = 12
    LOAD_PAGE_FAULT = 13
    STORE_PAGE_FAULT = 15


@dataclass(frozen=True, slots=True)
class Trap:
    """A guest trap: its cause, the address of the instruction, mtval, and the rule behind it."""

    cause: Cause
    pc: int
    tval: int
    why: str


PAGE_FAULT: Final[Mapping[Access, Cause]] = {
    "fetch": Cause.INSTRUCTION_PAGE_FAULT,
    "load": Cause.LOAD_PAGE_FAULT,
    "store": Cause.STORE_PAGE_FAULT,
}
"""The cause of an access that a page does not allow."""

_ACCESS_FAULT: Final = {
    Cause.INSTRUCTION_PAGE_FAULT: Cause.INSTRUCTION_ACCESS_FAULT,
    Cause.LOAD_PAGE_FAULT: Cause.LOAD_ACCESS_FAULT,
    Cause.STORE_PAGE_FAULT: Cause.STORE_ACCESS_FAULT,
}

_RIGHT: Final[Mapping[Access, int]] = {"fetch": X, "load": R, "store": W}

LACKED_RIGHT: Final[Mapping[Cause, int]] = {
    cause: _RIGHT[access]
    for access, page_fault in PAGE_FAULT.items()
    for cause in (page_fault, _ACCESS_FAULT[page_fault])
}
"""The right to a page that a fault says is missing: X, R or W."""

MISALIGNED_DATA: Final = frozenset({Cause.LOAD_ADDRESS_MISALIGNED, Cause.STORE_ADDRESS_MISALIGNED})


def without_pages(cause: Cause) -> Cause:
    """The cause where there are no pages, as in machine mode: a page fault is an access fault.

    >>> without_pages(Cause.LOAD_PAGE_FAULT).name
    'LOAD_ACCESS_FAULT'
    """
    return _ACCESS_FAULT.get(cause, cause)
