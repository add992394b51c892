"""Disassembly from the definitions: mnemonic, operand template, fields; nothing per instruction.

The text is what ``llvm-objdump -d -M no-aliases`` prints: ABI register names, numbers in hex,
branch targets as addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rvsim.hart.words import WORD_MASK
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.base.fp_constants import CONSTANTS
from rvsim.insn.decode import Decoded
from rvsim.insn.registry import Insn, names
from rvsim.vec.vtype import VType

X_NAMES: Final = names(
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7"
    " s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6"
)
"""ABI names of the integer registers, by number."""

F_NAMES: Final = names(
    "ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7"
    " fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11"
)
"""ABI names of the floating-point registers, by number."""

_FIELD_OF: Final = {"target": "imm", "exact_rm": "rm"}
"""Fields whose operand has a name of its own in templates."""

_MODES: Final = names("rne rtz rdn rup rmm 5 6 dyn")
_LUI_BITS: Final = 20


def disassemble(d: Decoded) -> str:
    """The instruction as objdump writes it, with branch targets as addresses.

    >>> from rvsim.insn.decode import decode
    >>> disassemble(decode(0xFE051EE3, 4, pc=0x10010))
    'bne a0, zero, 0x1000c'
    >>> disassemble(decode(0x00000000, 2))
    'unknown 0x0000'
    """
    return _text(d, d.pc)


def assemble_text(d: Decoded) -> str:
    """Text that an assembler turns back into the same word, wherever it stands.

    Branch targets are offsets.  A word that assembly text cannot express, because nothing is
    known of it or because it sets a field without an operand, is given as data.

    >>> from rvsim.insn.decode import decode
    >>> assemble_text(decode(0xFE051EE3, 4, pc=0x10010))
    'bne a0, zero, -0x4'
    >>> assemble_text(decode(0x0000, 2))
    '.2byte 0x0000'
    """
    if d.insn is None or any(d.fields[f] for f in unwritten_fields(d.insn)):
        return f".{d.length}byte {_word(d)}"
    return _text(d, None)


def unwritten_fields(insn: Insn) -> frozenset[str]:
    """Fields that the text does not show, which assemblers set to 0.

    >>> from rvsim.insn.isa import isa
    >>> sorted(unwritten_fields(isa().by_name["fence"]))
    ['fm', 'rd', 'rs1']
    """
    operands = (_FIELD_OF.get(name, name) for name in re.findall(_NAME, insn.syntax))
    shown = {insn.source(name) for name in operands}
    return insn.encoding.field_names - shown - {"aq", "rl"}


def _text(d: Decoded, pc: int | None) -> str:
    if d.insn is None:
        return f"unknown {_word(d)}"
    template = re.sub(", vm$", "" if d.fields.get("vm", 1) else ", v0.t", d.insn.syntax)
    template = re.sub(", exact_rm$", ", rm" if d.fields.get("rm") else "", template)
    operands = re.sub(_NAME, lambda m: _operand(d, m[0], pc), template)
    return f"{d.insn.mnemonic(d.fields)} {operands}".rstrip()


def _operand(d: Decoded, name: str, pc: int | None) -> str:
    """The text of one name in a template; what is no operand (sp, v0.t) stands for itself.

    A target is an address, or without a `pc` an offset.
    """
    assert d.insn is not None
    if name == "target":
        return _number(d.fields["imm"] if pc is None else (pc + d.fields["imm"]) & WORD_MASK)
    source = d.insn.source(name)
    if source not in d.fields:
        return name
    return _FORMATS[name](d.fields[str(source)])


def _word(d: Decoded) -> str:
    return f"{d.word:#0{2 + 2 * d.length}x}"


def _number(value: int) -> str:
    return f"{value:#x}"


def _unsigned(value: int) -> str:
    """An unsigned immediate; c.lui's is the upper 20 bits of what its few bits extend to."""
    return _number(value % (1 << _LUI_BITS))


def _x(number: int) -> str:
    return X_NAMES[number]


def _f(number: int) -> str:
    return F_NAMES[number]


def _mode(rm: int) -> str:
    return _MODES[rm]


def _constant(index: int) -> str:
    """A constant of fli as assemblers write it (Zfa 1)."""
    value = CONSTANTS[index]
    return "min" if value is None else f"{value:.17g}" if value % 1 else f"{value:.1f}"


def _v(number: int) -> str:
    return f"v{number}"


def _csr(number: int) -> str:
    return CSRS[number].name if number in CSRS else _number(number)


def _fence(bits: int) -> str:
    return "".join(letter for i, letter in enumerate("iorw") if bits >> (3 - i) & 1) or "0"


def _vtype(bits: int) -> str:
    """``e8, m2, ta, ma``; a number where LMUL, SEW or a bit beyond them is reserved (V 3.4)."""
    vtype = VType.fields(bits)
    return _number(bits) if vtype is None else str(vtype).replace(",", ", ")


_NAME: Final = re.compile(r"[a-z]\w*")
_FORMATS: Final[dict[str, Callable[[int], str]]] = {
    **dict.fromkeys(("rd", "rs1", "rs2"), _x),
    **dict.fromkeys(("fd", "fs1", "fs2", "fs3"), _f),
    **dict.fromkeys(("vd", "vs1", "vs2", "vs3"), _v),
    "rm": _mode,
    "fpimm": _constant,
    **dict.fromkeys(("imm", "shamt"), _number),
    "uimm": _unsigned,
    "csr": _csr,
    **dict.fromkeys(("pred", "succ"), _fence),
    "vtypei": _vtype,
}
"""How an operand is written, by its name in the template."""
