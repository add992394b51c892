"""Profiles of rows that never ran: functions of a few instructions, one of them without a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.cost.formula import CYCLE
from rvsim.cost.reasons import reason
from rvsim.guest.lines import Lines
from rvsim.guest.symbols import Symbol, Symbols
from rvsim.insn.decode import Decoded, decode
from rvsim.trace.callgrind import CallgrindTrace
from tests.program.bare import step
from tests.trace.callgrind_model import Code, Kind, Row

SIZE = 0x40
STARTS = {"main": 0x100, "f": 0x140, "g": 0x180, "h": 0x1C0}
UNNAMED = 0x200
"""From here on there are no symbols."""

_STEPS = {
    "other": step("addi", rd=0, rs1=0, imm=0),
    "call": step("jalr", rd=1, rs1=10, imm=0),
    "return": step("jalr", rd=0, rs1=1, imm=0),
    "indirect": step("jalr", rd=0, rs1=10, imm=0),
}


def function_at(pc: int) -> str:
    """The function of an address."""
    names = [name for name, start in STARTS.items() if start <= pc < start + SIZE]
    return names[0] if names else "???"


def code_at(pc: int, kind: Kind = "other") -> Code:
    """An instruction."""
    name = function_at(pc)
    return Code(pc, name, pc - STARTS.get(name, 0), kind)


def image(**changed: object) -> Any:
    """A program with these functions."""
    symbols = [Symbol(name, start, start + SIZE) for name, start in STARTS.items()]
    fields = {"name": "prog", "symbols": Symbols(symbols), "lines": Lines(), "bias": 0}
    segments = [SimpleNamespace(addr=0, end=1 << 20)]
    return SimpleNamespace(**fields | {"segments": segments} | changed)


def profile_text(path: Path, rows: Sequence[Row], cuts: Iterable[int] = (), of: Any = None) -> str:
    """The profile of rows that come in batches, which end before the rows in `cuts`."""
    trace = CallgrindTrace(str(path), cast(Any, SimpleNamespace(image=of or image())))
    array, code = _records(rows)
    borders = [0, *sorted(cuts), len(rows)]
    for start, end in pairwise(borders):
        known = max(array["code"][:end].tolist(), default=-1) + 1
        trace.batch(Batch(array[start:end], code[:known]))
    trace.close()
    return path.read_text()


def _records(rows: Sequence[Row]) -> tuple[Any, list[Decoded]]:
    array = np.zeros(len(rows), BATCH_DTYPE)
    numbers: dict[tuple[int, int], int] = {}
    code: list[Decoded] = []
    retired = 0
    for record, row in zip(array, rows, strict=True):
        word = _STEPS[row.code.kind].word
        number = numbers.setdefault((row.code.pc, word), len(code))
        if number == len(code):
            code.append(decode(word, 4, row.code.pc))
        retired += 10 * row.gap
        record["instret"], record["code"], record["trapped"] = retired, number, row.trapped
        for name in ("slot", "fetch", "wait", "lost"):
            record[name] = getattr(row, name) * CYCLE
        record["reason"], record["lost_reason"] = reason(row.reason), reason("branch")
        record["charged"] = row.code.pc if row.charged is None else row.charged
        retired += not row.trapped
    return array, code
