"""Predict the single-instruction loops of bp3-microarch, whose loop overhead is about 1 %."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from x60.loops import MEMORY, Loops

from rvsim.cost import Core
from rvsim.vec.vtype import VType

_COPIES = 100


@dataclass(frozen=True)
class Case:
    """One loop: the instruction, its vtype, and measured cycles of each copy."""

    campaign: str
    name: str
    measured: float
    vtype: str
    vl: int | None
    code: tuple[str, ...]

    @property
    def label(self) -> str:
        return "case_" + re.sub(r"\W", "_", f"{self.campaign}_{self.name}")


def read(path: Path) -> list[Case]:
    """The cases whose code follows from their name."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    cases = {}
    for row in rows:
        case = _case(
            row["campaign"], row["case"], float(row["cycles_per_instruction_incl_overhead"])
        )
        if case is not None:
            cases[case.label] = case
    return list(cases.values())


_ON_DESTINATION = {
    "breaddep_zero_vmv_v_i": "vmv.v.i v8, 0", "breakdep_allones_vmv_v_i": "vmv.v.i v8, -1",
    "breakdep_allones_vor_vi": "vor.vi v8, v8, -1", "breakdep_zero_vand_vi": "vand.vi v8, v8, 0",
    "breakdep_zero_vmv_v_x": "vmv.v.x v8, zero", "breakdep_zero_vxor_vv": "vxor.vv v8, v8, v8",
    "dep_vadd_vv": "vadd.vv v8, v8, v8",
}  # fmt: skip


def _case(campaign: str, name: str, measured: float) -> Case | None:
    if campaign == "dependence-on-dest":
        code = _ON_DESTINATION.get(name)
        return code and Case(campaign, name, measured, "e64,m1", None, (code,))  # type: ignore[return-value]
    match = re.fullmatch(r"([a-z]+\d?)(?:-vv|64)?(?:e64)?-e(\d+)_(m\w+?)_vl(max|\d+)", name)
    if match is None:
        return None
    insn, sew, lmul, vl = match.groups()
    group = max(1, int(lmul[1:])) if lmul[1] != "f" else 1
    vtype, count = f"e{sew},{lmul}", None if vl == "max" else int(vl)
    if count == 0:
        return None
    code = _code(insn, int(sew), group, campaign)
    return Case(campaign, name, measured, vtype, count, code) if code else None


def _code(insn: str, sew: int, group: int, campaign: str) -> tuple[str, ...]:
    places = range(8, 32, group) if group < 8 else (8, 16, 24)
    if insn == "vadd" and "latency" in campaign:
        return ("vadd.vv v8, v8, v8",)
    if insn == "vadd":
        return tuple(f"vadd.vv v{v}, v0, v0" for v in places)
    if insn == "vle":
        return tuple(f"vle{sew}.v v{v}, (t0)" for v in places)
    if insn == "vlse" and "160" not in campaign:
        return tuple(f"vlse{sew}.v v{v}, (t0), t3" for v in places)
    fields = re.fullmatch(r"vlseg(\d)", insn)
    if fields and int(fields[1]) * group <= 8:
        return (f"vlseg{fields[1]}e{sew}.v v8, (t0)", f"vlseg{fields[1]}e{sew}.v v16, (t0)")
    return ()


@dataclass(frozen=True)
class Prediction:
    case: Case
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.case.measured - 1


def predict(core: Core, cases: list[Case]) -> Iterator[Prediction]:
    pieces = {case.label: list(case.code) for case in cases}
    loops = Loops(core, {**pieces, "close": ["addi a0, a0, -1", "bnez a0, main"]})
    for case in cases:
        vtype = VType.parse(case.vtype)
        loops.cost.reset()
        loops.warm(range(MEMORY, MEMORY + 0x4000))
        state = loops.state
        state["vtype"], state["vl"] = vtype.encode(), case.vl or vtype.vlmax(loops.config.vlen)
        state.x[5], state.x[28], state.x[10] = MEMORY, vtype.sew // 8, 1000
        body = loops.calls(case.label, case.vtype)
        rounds = _COPIES // len(body)
        iteration = [*body * rounds, *loops.calls("close", case.vtype)]
        yield Prediction(case, loops.steady(iteration) / (rounds * len(body)))
