"""The frozen registry: every instruction, found by name or by word."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rvsim.insn.registry import Insn, definitions

DEFINITION_FILES: Final = (
    "base.rv_i",
    "base.rv_m",
    "base.rv_a",
    "base.zicsr",
    "base.priv",
    "base.zb",
    "base.zicond",
    "base.caches",
    "base.rv_f",
    "base.zfa",
    "base.rv_c",
    "vector.config",
    "vector.memory",
    "vector.integer",
    "vector.fixed",
    "vector.reduce",
    "vector.mask",
    "vector.permute",
    "crypto.zvbb",
    "crypto.zvbc",
    "crypto.zvk_gcm",
    "crypto.zvk_aes",
    "crypto.zvk_sha2",
    "crypto.zvk_sm3",
    "crypto.zvk_sm4",
    "vector.float",
    "vector.float_convert",
    "vector.float_reduce",
    "custom.ime",
)
"""Modules of `rvsim.insn` that define instructions, in the order of the manifest."""

for _name in DEFINITION_FILES:
    importlib.import_module(f"rvsim.insn.{_name}")


class Isa:
    """All instructions; `find` decodes a word, `by_name` is the catalogue."""

    def __init__(self, insns: tuple[Insn, ...]) -> None:
        self.insns: Final = insns
        self.by_name: Final[Mapping[str, Insn]] = {i.name: i for i in insns}
        # Words are looked up mask by mask, the most specific first, so that an encoding with
        # more fixed bits (c.ebreak) wins over one that would contain it.
        by_mask: dict[tuple[int, int], dict[int, list[Insn]]] = {}
        for insn in insns:
            key = (insn.length, insn.encoding.mask)
            by_mask.setdefault(key, {}).setdefault(insn.encoding.match, []).append(insn)
        self._tables: Final = {
            length: sorted(
                ((mask, table) for (n, mask), table in by_mask.items() if n == length),
                key=lambda item: -item[0].bit_count(),
            )
            for length in (2, 4)
        }

    def find(self, word: int) -> Insn | None:
        """The instruction of a 16- or 32-bit word, whatever the profile; None if there is none."""
        length = 4 if word & 3 == 3 else 2
        for mask, table in self._tables[length]:
            for insn in table.get(word & mask, ()):
                if insn.encoding.matches(word):
                    return insn
        return None


@lru_cache(maxsize=1)
def isa() -> Isa:
    """The instruction set, read once."""
    return Isa(definitions())
