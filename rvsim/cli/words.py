"""Instruction words on the command line: ``0x32440257``, ``32440257`` or ``4501``."""

from __future__ import annotations

import re

from rvsim.errors import RvsimError
from rvsim.insn.decode import Decoded, decode


def is_word(text: str) -> bool:
    """Whether the text is an instruction word in hex."""
    return bool(re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9a-fA-F]{4}|[0-9a-fA-F]{8}", text))


def parse_word(text: str) -> Decoded:
    """The instruction in a word of 16 or 32 bits, at address 0; `RvsimError` if it is no word.

    >>> parse_word("4501").insn.name
    'c.li'
    """
    if not is_word(text):
        raise RvsimError(f"{text!r} is neither a file nor an instruction word in hex")
    word = int(text, 16)
    if word >> 32:
        raise RvsimError(f"{text} has more than 32 bits")
    if word & 3 == 3 and word & 0b11100 != 0b11100:
        return decode(word, 4)
    if word >> 16:
        raise RvsimError(
            f"{text} is not one instruction: its low bits {word & 31:05b} do not begin"
            " an encoding of 32 bits",
            hint="write its two halves apart, the low one first",
        )
    return decode(word, 2)
