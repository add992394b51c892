"""The architectural state of one hart: one byte layout that every engine uses in place.

All scalar state is 64-bit words at the front of one buffer, the vector registers follow.  The
interpreter reaches a word as ``words[SLOT["vl"]]``, compiled code as the byte offset
``8 * SLOT["vl"]`` from the buffer's address; there is no second copy to keep in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

SCALARS: Final = (
    "pc",
    "instret",
    "cycle",
    # ticks of the time CSR that passed while the program slept
    "time_asleep",
    "fuel",
    # vector configuration and control (V 3)
    "vl",
    "vtype",
    "vstart",
    "vxrm",
    "vxsat",
    # floating point control
    "frm",
    "fflags",
    # LR/SC reservation (A 3.2): address, and whether it is held
    "reservation_addr",
    "reservation_valid",
    # the trap an instruction raised: cause + 1 (0: none), tval, and an index into Program.whys
    "trap_cause_plus_1",
    "trap_tval",
    "trap_why",
    # machine mode (Privileged 3); a bare-metal image begins in mode 3, all else runs in 0, user
    "privilege",
    "mstatus",
    "units_off",  # what FS and VS of mstatus turn off, see `rvsim.insn.base.machine_csrs`
    "mtvec",
    "mscratch",
    "mepc",
    "mcause",
    "mtval",
    "mie",
    "mcounteren",
    "cycle_moved",  # what writes to mcycle and minstret add to the count
    "instret_moved",
    # a reserved use that was carried on with, for the machine to report: a `Note`, 0 for none
    "note",
    # bytes of memory that instructions moved, in a run with statistics
    "scalar_read",
    "scalar_written",
    "vector_read",
    "vector_written",
    # the lowest address and the bytes that the last instruction accessed, where that is recorded
    "access_addr",
    "access_bytes",
    # after the last record that compiled code may make, see `rvsim.cost.ring`
    "records_end",
)
"""Names of the scalar state after the x and f registers, in layout order."""

X_BASE: Final = 0
F_BASE: Final = 32
SLOT: Final[dict[str, int]] = {name: 64 + i for i, name in enumerate(SCALARS)}
"""Word index of each named scalar."""

RECORD: Final = "record"
"""The array that a cost model leaves what it knows of one instruction in (`rvsim.cost.record`)."""

RING: Final = "ring"
"""The array that records of instructions are gathered in, if they are (`rvsim.cost.ring`)."""

V_OFFSET: Final = (8 * (64 + len(SCALARS)) + 63) & ~63
"""Byte offset of v0; 64-byte aligned, so that host vector accesses are aligned."""


class State:
    """Registers and CSRs of one hart at a given VLEN (bits), and the arrays of a cost model.

    `arrays` maps names to lengths, in words; they follow the vector registers.

    >>> s = State(vlen=256)
    >>> s.x[10] = 42
    >>> s["vl"] = 8
    >>> s.x[10], s["vl"], s.v.shape
    (42, 8, (32, 32))
    """

    def __init__(self, vlen: int, arrays: Mapping[str, int] | None = None) -> None:
        self.vlen = vlen
        self.vlenb = vlen // 8
        lengths = arrays or {}
        end = V_OFFSET + 32 * self.vlenb
        size = end + 8 * sum(lengths.values())
        raw = np.zeros(size + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.buffer: npt.NDArray[np.uint8] = raw[start : start + size]
        self._architectural = self.buffer[:end]
        self.array_offsets: dict[str, int] = {}
        self.arrays: dict[str, memoryview] = {}
        for name, length in lengths.items():
            after = end + 8 * length
            self.array_offsets[name] = end
            self.arrays[name] = self.buffer[end:after].data.cast("Q")
            end = after
        self.words: memoryview = self.buffer[:V_OFFSET].data.cast("Q")
        self.x: memoryview = self.words[X_BASE : X_BASE + 32]
        self.f: memoryview = self.words[F_BASE : F_BASE + 32]
        self.vfile: npt.NDArray[np.uint8] = self._architectural[V_OFFSET:]
        self.v: npt.NDArray[np.uint8] = self.vfile.reshape(32, self.vlenb)

    def __getitem__(self, name: str) -> int:
        return int(self.words[SLOT[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self.words[SLOT[name]] = value

    def snapshot(self) -> bytes:
        """Registers and CSRs as bytes: equal snapshots mean equal architectural state."""
        return self._architectural.tobytes()
