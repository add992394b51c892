"""The vtype CSR (V 3.4): SEW and LMUL as log2 integers, and the two policies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from rvsim.errors import RvsimError
from rvsim.hart.words import signed

VILL: Final = 1 << 63
"""vtype when the last vset* asked for something that isn't supported: only vill is set."""


@dataclass(frozen=True, slots=True)
class VType:
    """A legal vtype.  `lmul_log2` = -3 … 3 (mf8 … m8), `sew_log2` = 3 … 6 (bits).

    >>> VType.parse("e16,mf2,ta,ma")
    VType(sew_log2=4, lmul_log2=-1, vta=True, vma=True)
    >>> str(VType(3, 1, True, False)), VType(3, 1, True, False).vlmax(256)
    ('e8,m2,ta,mu', 64)
    """

    sew_log2: int
    lmul_log2: int
    vta: bool = False
    vma: bool = False

    @property
    def sew(self) -> int:
        """SEW in bits."""
        return 1 << self.sew_log2

    def vlmax(self, vlen: int) -> int:
        """LMUL * VLEN / SEW, in elements."""
        shift = self.lmul_log2 - self.sew_log2
        return vlen << shift if shift >= 0 else vlen >> -shift

    def supported(self, elen: int) -> bool:
        """Whether an implementation has to have it: SEW <= ELEN * min(LMUL, 1) (V 3.4.2)."""
        return self.sew <= elen >> max(0, -self.lmul_log2)

    def encode(self) -> int:
        return (
            self.lmul_log2 & 7
            | (self.sew_log2 - 3) << 3
            | self.vta << 6
            | self.vma << 7
        )  # fmt: skip

    def __str__(self) -> str:
        tail, inactive = "ta" if self.vta else "tu", "ma" if self.vma else "mu"
        return f"e{self.sew},{lmul_text(self.lmul_log2)},{tail},{inactive}"

    @staticmethod
    def fields(bits: int) -> VType | None:
        """What the fields of vtype say, or None where one of them is reserved (V 3.4)."""
        vlmul, vsew = bits & 7, bits >> 3 & 7
        if bits >> 8 or vlmul == 4 or vsew > 3:
            return None
        return VType(vsew + 3, signed(vlmul, 3), bool(bits >> 6 & 1), bool(bits >> 7 & 1))

    @staticmethod
    @cache
    def decode(bits: int, elen: int = 64) -> VType | None:
        """The vtype of these bits, or None where vset* has to set vill."""
        vtype = VType.fields(bits)
        return vtype if vtype is not None and vtype.supported(elen) else None

    @staticmethod
    def parse(text: str) -> VType:
        """From assembly text such as ``e8,m2`` or ``e32,mf2,ta,ma``; policies default to tu, mu."""
        match = re.fullmatch(
            r"e(8|16|32|64)\s*,\s*m(f?)([1248])(?:\s*,\s*t([au]))?(?:\s*,\s*m([au]))?", text.strip()
        )
        if match is None or (match[2] and match[3] == "1"):
            raise RvsimError(
                f"vtype {text!r} is not understood", hint="write e32,m2 or e8,mf2,ta,ma"
            )
        lmul = int(match[3]).bit_length() - 1
        sew_log2 = int(match[1]).bit_length() - 1
        return VType(sew_log2, -lmul if match[2] else lmul, match[4] == "a", match[5] == "a")


def lmul_text(lmul_log2: int) -> str:
    """``m2`` for 1, ``mf8`` for -3; past the legal range as a fraction, for messages."""
    return f"m{1 << lmul_log2}" if lmul_log2 >= 0 else f"mf{1 << -lmul_log2}"


def vtype_text(bits: int) -> str:
    """The vtype CSR as assembly writes it, or ``vill``."""
    vtype = VType.decode(bits)
    return "vill" if vtype is None else str(vtype)
