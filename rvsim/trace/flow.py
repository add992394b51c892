"""Where instructions lead: calls and returns, by RISC-V's hints."""

from __future__ import annotations

from enum import Enum
from typing import Final

from rvsim.insn.decode import Decoded
from rvsim.insn.units import Unit

_LINK_REGISTERS: Final = (1, 5)


class Flow(Enum):
    """Where control goes after an instruction."""

    NEXT = "next"
    """To the next instruction, or to a target in the instruction."""
    INDIRECT = "indirect"
    """Through a register."""
    RETURN = "return"
    """Through a register that holds return addresses."""
    CALL = "call"
    TRAP = "trap"
    """It did not retire; what comes next may be a handler."""


def flow_of(d: Decoded) -> Flow:
    """The flow of an instruction that retires (RISC-V's unprivileged ISA, 2.5.1: hints of jalr).

    >>> from rvsim.insn.decode import decode
    >>> flow_of(decode(0x8082, 2)), flow_of(decode(0xA001, 2))  # ret, and a jump to itself
    (<Flow.RETURN: 'return'>, <Flow.NEXT: 'next'>)
    """
    if d.insn is None or d.insn.unit is not Unit.JUMP:
        return Flow.NEXT
    if _register(d, "rd") in _LINK_REGISTERS:
        return Flow.CALL
    if "target" in d.insn.syntax:
        return Flow.NEXT
    return Flow.RETURN if _register(d, "rs1") in _LINK_REGISTERS else Flow.INDIRECT


def _register(d: Decoded, operand: str) -> int:
    assert d.insn is not None
    source = d.insn.source(operand)
    return source if isinstance(source, int) else d.fields.get(source, 0)
