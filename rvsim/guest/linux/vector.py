"""The vector unit as Linux has it for a process: off until it is used, and what calls do to it.

Since 6.5, Linux discards vector state at each system call (arch/riscv, do_trap_ecall_u): registers
become all ones, vl 0 and vtype vill, which a vset* does, so that vstart becomes 0 too; vxrm and
vxsat stay.  A unit that was never used is off, and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rvsim.config import SyscallVector
from rvsim.hart.state import State
from rvsim.vec.vtype import VILL

_ALL_ONES: Final = 0xFF


@dataclass(slots=True)
class VectorInCalls:
    """What a program has done with the vector unit, and what system calls do to it."""

    syscall_vector: SyscallVector = "discard"
    discarded_at: int | None = None
    """The pc of the last system call that discarded a vtype which a program had set."""
    _used: bool = False
    _initial: bytes = b""

    def start(self, state: State) -> None:
        """The program begins with these registers."""
        self._initial = state.vfile.tobytes()

    def is_used(self, state: State) -> bool:
        """Whether the program has used the unit: set vtype, or written a register."""
        if not self._used:
            self._used = state["vtype"] != VILL or state.vfile.tobytes() != self._initial
        return self._used

    def system_call(self, state: State, pc: int) -> None:
        """What the call at `pc` does to the state; after one that ends the program nobody asks."""
        if self.syscall_vector == "keep" or not self.is_used(state):
            return
        if state["vtype"] != VILL:
            self.discarded_at = pc
        state["vtype"], state["vl"], state["vstart"] = VILL, 0, 0
        state.vfile[:] = _ALL_ONES

    def missing_vtype(self, state: State) -> int | None:
        """The pc of the system call that took the vtype away, if one did and nothing came since."""
        discarded = state["vtype"] == VILL and bool((state.vfile == _ALL_ONES).all())
        return self.discarded_at if discarded else None
