"""A small memory and short ways to fill and read an oracle state, for the oracle's own tests."""

from typing import Any

from tests.oracle.state import OracleState, OracleTrap

M64 = (1 << 64) - 1
E8, E16, E32, E64 = 0 << 3, 1 << 3, 2 << 3, 3 << 3
M1, M2, M4, M8, MF8, MF4, MF2 = 0, 1, 2, 3, 5, 6, 7
TA, MA = 1 << 6, 1 << 7
VILL = 1 << 63
PAGE = 4096


class PagedMemory:
    """Bytes at `base`; everything else is a page fault at the first bad byte."""

    def __init__(self, base: int = 0x1000, size: int = PAGE) -> None:
        self.base = base
        self.data = bytearray(size)

    def check(self, addr: int, n: int, cause: int) -> int:
        for a in range(addr, addr + n):
            if not self.base <= a < self.base + len(self.data):
                raise OracleTrap(cause, a)
        return addr - self.base

    def read(self, addr: int, n: int) -> bytes:
        start = self.check(addr, n, 13)
        return bytes(self.data[start : start + n])

    def write(self, addr: int, data: bytes) -> None:
        start = self.check(addr, len(data), 15)
        self.data[start : start + len(data)] = data


def new_state(vtype: int = E32 | M1, vl: int = 0, vlen: int = 256, **choices: Any) -> OracleState:
    return OracleState(vlen=vlen, mem=PagedMemory(), vtype=vtype, vl=vl, pc=0x8000, **choices)


def put(state: OracleState, reg: int, width: int, *values: int) -> None:
    for i, value in enumerate(values):
        start = reg * state.vlenb + i * width // 8
        data = (value & ((1 << width) - 1)).to_bytes(width // 8, "little")
        state.v[start : start + width // 8] = data


def get(state: OracleState, reg: int, width: int, n: int, signed: bool = False) -> list[int]:
    start = reg * state.vlenb
    return [
        int.from_bytes(state.v[start + a : start + a + width // 8], "little", signed=signed)
        for a in range(0, n * width // 8, width // 8)
    ]
