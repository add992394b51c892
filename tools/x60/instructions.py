"""Predict the instruction table: loops of 8 bodies of 8 copies, as rvv-bench measures them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from x60.loops import MEMORY, Loops

from rvsim.cost import Core
from rvsim.vec.vtype import VType

BODIES = 8
_SHIFTED = re.compile(r"^(t0|ft0|v8|v16|v24)$")
# The seventh and eighth temporary are saved registers, since there are only t0 to t6.
_NAMES = {"t7": "s4"}
_STRIDED_BASE = MEMORY + 0x3000


@dataclass(frozen=True)
class Row:
    """One cell of the table: an instruction under a vtype, measured at two values of vl."""

    mnemonic: str
    operands: str
    masked: bool
    sew: int
    lmul: str
    vlmax_cycles: float
    vl1_cycles: float
    registers: int

    @property
    def label(self) -> str:
        text = f"{self.mnemonic}_{self.operands}_{self.registers}"
        return "row_" + re.sub(r"\W+", "_", text)

    @property
    def vtype(self) -> str:
        return f"e{self.sew},{self.lmul},ta,ma"

    def code(self) -> Iterator[str]:
        """The eight copies, whose registers move on by the group size that is measured."""
        group = 8 // self.registers
        for i in range(8):
            offset = i % self.registers * group
            shifted = [_shift(o, offset) for o in self.operands.split(",")]
            yield f"{self.mnemonic} {', '.join(shifted)}"

    @property
    def kind(self) -> str:
        if not self.mnemonic.startswith("v"):
            return "scalar"
        memory = re.match(r"v[ls](m|s?(seg\d)?e\d+(ff)?|[uo]x\w*|\dr\w*)\.v$", self.mnemonic)
        return "memory" if memory else "arithmetic"

    @property
    def eew(self) -> int:
        found = re.search(r"e(\d+)(ff)?\.v$", self.mnemonic)
        return int(found[1]) if found else 8


def _shift(operand: str, offset: int) -> str:
    if not _SHIFTED.match(operand):
        return operand
    letters, number = re.match(r"([a-z]+)(\d+)", operand).groups()  # type: ignore[union-attr]
    name = f"{letters}{int(number) + offset}"
    return _NAMES.get(name, name)


def read(path: Path, every: int = 1) -> list[Row]:
    with path.open(newline="") as file:
        rows = [
            Row(
                r["mnemonic"],
                r["operands"],
                r["masked"] == "1",
                int(r["sew"]),
                r["lmul"],
                float(r["cycles_vlmax"] or "nan"),
                float(r["cycles_vl1"] or "nan"),
                int(r["distinct_dest_regs"]),
            )
            for r in csv.DictReader(file)
        ]
    return rows[::every]


@dataclass(frozen=True)
class Prediction:
    row: Row
    vl: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def predict(core: Core, rows: list[Row]) -> Iterator[Prediction]:
    """Both cells of each row."""
    pieces = {row.label: list(row.code()) for row in rows}
    loops = Loops(core, {**pieces, "close": ["addi a0, a0, -1", "bnez a0, main"]})
    for row in rows:
        body = loops.calls(row.label, row.vtype)
        iteration = [*body * BODIES, *loops.calls("close", row.vtype)]
        vtype = VType.parse(row.vtype)
        vlmax = vtype.vlmax(loops.config.vlen)
        state = loops.state
        state["vtype"] = vtype.encode()
        for vl, measured in ((vlmax, row.vlmax_cycles), (1, row.vl1_cycles)):
            if measured != measured:
                continue
            state["vl"] = vl
            runs = []
            for weight, offset in _alignments(row, loops.config.vlenb):
                loops.cost.reset()
                if row.kind == "memory":
                    loops.warm(range(MEMORY, MEMORY + 0x1000))
                    loops.warm(range(_STRIDED_BASE - 0x800, _STRIDED_BASE + 0x1000))
                _set_registers(loops, row.eew // 8, offset)
                runs.append((loops.steady(iteration), weight))
            predicted = _middle(runs) / 8 / BODIES
            yield Prediction(row, "vlmax" if vl == vlmax else "1", measured, predicted)


def _middle(runs: list[tuple[float, float]]) -> float:
    """The mean of (value, weight) without the lowest and the highest fifth, as measured."""
    total, below = 0.0, 0.0
    for value, weight in sorted(runs):
        total += value * max(0.0, min(below + weight, 0.8) - max(below, 0.2))
        below += weight
    return total / 0.6


def _alignments(row: Row, vlenb: int) -> list[tuple[float, int]]:
    """Offsets of the base that time differently, and how likely they are."""
    size = row.eew // 8
    if row.kind != "memory":
        return [(1.0, 0)]
    if row.operands.count(",") > 1 and "seg" in row.mnemonic and "(t2)" in row.operands:
        few = range(0, 16, max(size, 4))  # what strided segments touch differs with each
        return [(1 / len(few), offset) for offset in few]
    if "(t2)" in row.operands:
        return [(1.0, 0)]
    lmul_log2, sew_log2 = VType.parse(row.vtype).lmul_log2, VType.parse(row.vtype).sew_log2
    emul_bytes = max(1, int(vlenb * 2.0 ** (lmul_log2 - sew_log2) * row.eew))
    offsets = range(0, 16, size)
    crossing = [o for o in offsets if (o + emul_bytes - 1) // 16 > (emul_bytes - 1) // 16]
    share = len(crossing) / len(offsets)
    return [(1 - share, 0), *([(share, crossing[0])] if crossing else [])]


def _set_registers(loops: Loops, size: int, offset: int) -> None:
    x = loops.state.x
    x[10] = 1000  # the loop's counter: it goes on
    x[5] = MEMORY + offset
    x[6] = -size & (1 << 64) - 1
    x[7] = _STRIDED_BASE + offset
    x[28] = 3 * size
