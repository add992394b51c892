"""From bytes to a bound instruction: fetch, look up, and the rules an encoding has to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rvsim.config import MACHINE, ONLY_BARE_METAL, Config
from rvsim.hart.memory import Memory
from rvsim.insn.isa import Isa, isa
from rvsim.insn.registry import Insn
from rvsim.vec.rules import Violation, violations
from rvsim.vec.vtype import VType

_RESERVED_MODES = (5, 6)
_ANY_VTYPE = VType(3, 0)  # whole-register operands depend on no vtype


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction at a place: its definition and operand fields, or None for no instruction."""

    pc: int
    word: int
    length: int
    insn: Insn | None
    fields: Mapping[str, int]


def fetch(memory: Memory, pc: int) -> tuple[int, int]:
    """(word, length in bytes) at `pc`; `GuestFault` where code may not be executed.

    Encodings longer than 32 bits do not exist here: their first 16 bits are the word.
    """
    low = memory.fetch2(pc)
    length = length_of(low)
    return (low, 2) if length == 2 else (low | memory.fetch2(pc + 2) << 16, length)


def length_of(word: int) -> int:
    """The length in bytes of the encoding that begins with these bits, see `fetch`."""
    return 2 if word & 3 != 3 or word & 0b11100 == 0b11100 else 4


def decode(word: int, length: int, pc: int = 0, table: Isa | None = None) -> Decoded:
    """The instruction of a word.

    >>> d = decode(0x00C58533, 4)
    >>> d.insn.name, dict(d.fields)
    ('add', {'rs2': 12, 'rs1': 11, 'rd': 10})
    """
    found = (table or isa()).find(word)
    if found is not None and found.length != length:
        found = None
    return Decoded(pc, word, length, found, found.encoding.decode(word) if found else {})


def decode_all(code: bytes, pc: int, table: Isa | None = None) -> list[Decoded]:
    """The instructions that follow each other in bytes of code, which begins at `pc`.

    >>> [(hex(d.pc), d.insn.name) for d in decode_all(bytes.fromhex("014513000000"), 0x1000)]
    [('0x1000', 'c.li'), ('0x1002', 'addi')]
    """
    found: list[Decoded] = []
    at = 0
    while at < len(code):
        length = length_of(code[at])
        word = int.from_bytes(code[at : at + length], "little")
        found.append(decode(word, length, pc + at, table))
        at += length
    return found


def problems(
    insn: Insn, fields: Mapping[str, int], vtype: VType | None, config: Config
) -> list[Violation]:
    """Every rule that keeps the instruction from executing under this vtype and profile.

    An empty list means legal.  Violations that are all `allowable` execute with
    ``reserved = "allow"``.
    """
    if insn.unsupported is not None:
        return [Violation(insn.unsupported, insn.spec)]
    if insn.extensions == (MACHINE,) and not insn.is_in(config):
        return [Violation(f"{insn.name} {ONLY_BARE_METAL}", insn.spec)]
    if not insn.is_in(config):
        names = " and ".join((" or ".join(insn.extensions), *insn.requires))
        return [
            Violation(f"{insn.name} needs {names}, which this profile does not have", insn.spec)
        ]
    if fields.get("rm", 0) in _RESERVED_MODES:
        return [Violation(f"rounding mode {fields['rm']} is reserved", "F 2.2")]
    if insn.vector and vtype is None:
        return [Violation("vtype is vill: no vset* has set a supported vtype", "V 3.4.4")]
    if not insn.vregs:
        return []
    return violations(insn.vregs, insn.rules, fields, vtype or _ANY_VTYPE, config)


def refusal(found: list[Violation], config: Config) -> Violation | None:
    """The violation that makes the instruction trap, if any does."""
    for violation in found:
        if config.reserved == "trap" or not violation.allowable:
            return violation
    return None
