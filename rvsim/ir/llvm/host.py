"""What a host does with lanes in one instruction, and what LLVM makes wrong of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from rvsim.host.processor import Host


@dataclass(frozen=True, slots=True)
class Permute:
    """An instruction that picks units of `unit` bits from a table, by a number in each unit.

    It picks for `index_bytes` at once from a table of `table_bytes`; a number outside the table
    gives some value, or with `wraps` counts modulo the table's size.  The LLVM intrinsic `function`
    takes the numbers after the table, which it wants repeated if it has more numbers than that.
    """

    function: str
    unit: int
    table_bytes: int
    index_bytes: int
    wraps: bool = False


_AVX512: Final = {8: ("avx512vbmi", "qi"), 16: ("avx512bw", "hi"), 32: ("avx512f", "si"),
                  64: ("avx512f", "di")}  # fmt: skip


@cache
def permute(host: Host, width: int, nbytes: int) -> Permute | None:
    """How to look elements of `width` bits up in a table of `nbytes`, or in parts of one."""
    if width in _AVX512 and host.has(_AVX512[width][0], "avx512vl"):
        least = 16 if width < 32 else 32
        size = min(64, max(least, 1 << (nbytes - 1).bit_length()))
        if (width, size) != (32, 32):  # which AVX2 has
            name = f"llvm.x86.avx512.permvar.{_AVX512[width][1]}.{8 * size}"
            return Permute(name, width, size, size, wraps=True)
    if host.has("avx2"):
        if width >= 32:
            return Permute("llvm.x86.avx2.permd", 32, 32, 32, wraps=True)
        return Permute("llvm.x86.avx2.pshuf.b", 8, 16, 32)
    if host.has("ssse3"):
        return Permute("llvm.x86.ssse3.pshuf.b.128", 8, 16, 16)
    if host.has("neon"):
        return Permute("llvm.aarch64.neon.tbl1.v16i8", 8, 16, 16)
    return None


def compress_bytes(host: Host, width: int) -> int:
    """Size of the largest vector whose lanes of `width` bits one instruction packs; 0 for none."""
    return 64 if host.has("avx512vbmi2" if width < 32 else "avx512f", "avx512vl") else 0


def confuses_masked_logic(host: Host, width: int) -> bool:
    """Whether LLVM may merge logic on lanes of so many bits, and a choice by a mask, wrongly.

    LLVM 22 makes one masked ``vpternlog`` of both, and where the lanes chosen otherwise are an
    operand of the logic too, it may exchange operands without changing the table of the operation.
    """
    return width >= 32 and host.has("avx512f")


def shifts_by_floating_point(host: Host, width: int) -> bool:
    """Whether LLVM shifts lanes left by amounts that it converts to floating point and back.

    It multiplies by powers of two where SSE has no shift; ``cvttps2dq`` of 2³¹ raises the flag NV.
    """
    return 8 < width <= 32 and host.is_x86 and not host.has("avx2")
