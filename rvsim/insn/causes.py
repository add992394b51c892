"""Exception codes that instructions raise (Privileged, table of mcause codes)."""

from __future__ import annotations

from typing import Final

FETCH_MISALIGNED: Final = 0
ILLEGAL_INSTRUCTION: Final = 2
BREAKPOINT: Final = 3
LOAD_MISALIGNED: Final = 4
STORE_MISALIGNED: Final = 6
ECALL_FROM_USER: Final = 8
LOAD_PAGE_FAULT: Final = 13
STORE_PAGE_FAULT: Final = 15
