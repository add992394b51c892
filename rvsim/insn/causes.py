"""Exception codes that instructions raise (Privileged, table of mcause codes)."""

from __future__ import annotations

from typing import Final

FETCH_MISALIGNED: Final = 0
FETCH_ACCESS_FAULT: Final = 1
ILLEGAL_INSTRUCTION: Final = 2
BREAKPOINT: Final = 3
LOAD_MISALIGNED: Final = 4
LOAD_ACCESS_FAULT: Final = 5
STORE_MISALIGNED: Final = 6
STORE_ACCESS_FAULT: Final = 7
ECALL_FROM_USER: Final = 8
ECALL_FROM_MACHINE: Final = 11
FETCH_PAGE_FAULT: Final = 12
LOAD_PAGE_FAULT: Final = 13
STORE_PAGE_FAULT: Final = 15
