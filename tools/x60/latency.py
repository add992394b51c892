"""Predict latencies: chains of pointers through the memory hierarchy, and chains of instructions.

The chase walks an area as ramlat of wtarreau/ramspeed does, which sbc-bench runs: each word points
to the next one in the order of bit-reversed numbers, so that all lines are visited before one is
visited again, and no two in a row.  Several chains begin 512 bytes apart and take turns.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from x60.loops import MEMORY, Loops

from rvsim.cost import Core
from rvsim.machine import Machine
from rvsim.toolchain import build

AREA: Final = 0x1000_0000
ACCESSES: Final = 1 << 16
"""Of each chain, after which it begins anew."""

_UNROLL: Final = 16
_APART: Final = 512
_CHAINS: Final = (1, 2, 4, 8)

MEASURED: Final[dict[int, tuple[float, ...]]] = {
    4: (2.0, 2.0, 4.1, 8.2), 8: (2.0, 2.0, 4.1, 8.2), 16: (2.0, 2.0, 4.1, 8.2),
    32: (2.0, 2.0, 4.1, 8.2), 64: (29.1, 39.0, 59.8, 94.0), 128: (39.1, 39.8, 64.6, 118.1),
    256: (39.4, 40.5, 53.6, 124.5), 512: (234.8, 252.0, 266.4, 450.7),
    1024: (338.6, 349.1, 363.2, 699.2), 2048: (342.7, 352.9, 366.4, 785.1),
    4096: (347.0, 360.6, 367.5, 800.1), 8192: (381.2, 393.8, 405.8, 853.6),
    16384: (392.2, 406.4, 420.7, 856.3), 32768: (415.7, 430.1, 456.9, 854.4),
}  # fmt: skip
"""Cycles of one step of 1, 2, 4 and 8 chains by KB: sbc-bench on a BPI-F3 at 1.597 GHz.

Three boards of this clock differ by less than 4 % up to 4 MB, but at 512 KB (171 to 235, one
chain), and by up to 20 % beyond.
"""


@dataclass(frozen=True)
class Step:
    """One step of all chains of the chase."""

    kbytes: int
    chains: int
    measured: float
    predicted: float

    @property
    def name(self) -> str:
        return f"{self.kbytes} KB, {_chains_text(self.chains)}"

    @property
    def level(self) -> str:
        if self.kbytes <= 32:
            return "pointers in L1"
        if self.kbytes <= 256:
            return "pointers in L2"
        if self.kbytes <= 512:
            return "pointers, as large as L2"
        return "pointers in DRAM" if self.kbytes <= 4096 else "pointers in DRAM, beyond the TLB"


def order(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """For each word of an area, the offset of the next: its number plus one, bits reversed."""
    words = size // 8
    bits = words.bit_length() - 1
    numbers = np.arange(words, dtype=np.uint64)
    reversed_ = np.zeros(words, np.uint64)
    for bit in range(bits):
        place = np.uint64(bits - 1 - bit)
        reversed_ |= (numbers >> np.uint64(bit) & np.uint64(1)) << place
    offsets = np.zeros(words, np.uint64)
    offsets[reversed_] = np.roll(reversed_, -1) * np.uint64(8)
    return offsets


def _source() -> str:
    text = [".text", ".globl main", "main: ebreak"]
    for chains in _CHAINS:
        registers = [f"a{i}" for i in range(2, 2 + chains)] if chains < 8 else [
            *(f"a{i}" for i in range(2, 8)), "t3", "t4"
        ]  # fmt: skip
        text += [".balign 64", f".globl chase{chains}", f"chase{chains}:"]
        text += [f"addi {r}, a0, {_APART} * {i % 4}" for i, r in enumerate(registers)]
        text += [f"addi {r}, {r}, {_APART} * 3; addi {r}, {r}, {_APART}" for r in registers[4:]]
        text += ["csrr s2, cycle", "1:"]
        text += [f"ld {r}, 0({r})" for _ in range(_UNROLL) for r in registers]
        text += ["addi a1, a1, -1", "bnez a1, 1b", "csrr s3, cycle", "ebreak"]
    return "\n".join([*text, ""])


class Chase:
    """The walk of some chains, on a machine of its own that compiles it once."""

    def __init__(self, core: Core, elf: Path, chains: int, largest: int) -> None:
        self._machine = Machine(cost=core, memory_size=1 << 30, engine="jit")
        self._machine.load(elf)
        self._machine.memory.map(AREA, largest, 3)
        assert self._machine.image is not None
        self._entry = self._machine.image.symbols.address(f"chase{chains}")

    def step(self, size: int) -> float:
        """Cycles of a step in the second of two walks through an area."""
        machine, cost = self._machine, self._machine.cost
        assert cost is not None
        assert self._entry is not None
        machine.memory.write(AREA, (order(size) + np.uint64(AREA)).tobytes())
        cost.reset()
        for _ in range(2):
            machine.state["pc"] = self._entry
            machine.state.x[10], machine.state.x[11] = AREA, ACCESSES // _UNROLL
            machine.run()
        return (machine.state.x[19] - machine.state.x[18]) / ACCESSES


def chase(core: Core) -> Iterator[Step]:
    """The steps that are measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chase.S"
        path.write_text(_source())
        elf = build([path], path.with_suffix(".elf"))
        for column, chains in enumerate(_CHAINS):
            walk = Chase(core, elf, chains, max(MEASURED) << 10)
            for kbytes, cycles in MEASURED.items():
                yield Step(kbytes, chains, cycles[column], walk.step(kbytes << 10))


def table(steps: Iterable[Step]) -> Iterator[str]:
    """A row for each size: predicted and measured cycles of a step, by the number of chains."""
    yield f"| model / silicon | {' | '.join(map(_chains_text, _CHAINS))} |"
    yield "|---" * (1 + len(_CHAINS)) + "|"
    rows = defaultdict(list)
    for step in steps:
        rows[step.kbytes].append(f"{step.predicted:.1f} / {step.measured:.1f}")
    for kbytes, cells in rows.items():
        yield f"| {kbytes} KB | {' | '.join(cells)} |"


def _chains_text(count: int) -> str:
    return "1 chain" if count == 1 else f"{count} chains"


# -- instructions


@dataclass(frozen=True)
class Chain:
    """Instructions that wait for one another, and cycles from one round to the next."""

    kind: str
    code: str
    measured: float
    registers: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        return self.code.replace("; ", ";")


_ALU: Final = "scalar integer"
_FP: Final = "scalar floating point"
_ATOMIC: Final = "atomic operations"
_LARGE: Final = (1 << 63) - 1


def _chains() -> Iterator[Chain]:
    """From LLVM's X60 model, which says that they come from loops on a board, but divisions."""
    yield Chain(_ATOMIC, "amoadd.d a1, a1, (t0)", 12)
    yield Chain(_ATOMIC, "lr.d a1, (t0); sc.d a2, a1, (t0)", 16)
    for code, cycles in {
        "add a1, a1, a2": 1, "sh1add a1, a1, a2": 2, "add.uw a1, a1, a2": 2, "cpop a1, a1": 2,
        "mulw a1, a1, a2": 3, "mul a1, a1, a2": 5, "mulh a1, a1, a2": 6,
    }.items():  # fmt: skip
        yield Chain(_ALU, code, cycles)
    yield Chain(_ALU, "div a1, a1, a2", 20, ((11, _LARGE), (12, 1)))
    yield Chain(_ALU, "divw a1, a1, a2", 12, ((11, (1 << 31) - 1), (12, 1)))
    for code, cycles in {
        "fadd.s fa0, fa0, fa1": 4, "fadd.d fa0, fa0, fa1": 5, "fmul.d fa0, fa0, fa1": 5,
        "fmadd.s fa0, fa0, fa1, fa2": 5, "fmadd.d fa0, fa0, fa1, fa2": 6,
        "fsgnj.s fa0, fa0, fa1": 4, "fsgnj.d fa0, fa0, fa1": 5, "fmin.d fa0, fa0, fa1": 4,
        "fdiv.h fa0, fa0, fa1": 12, "fdiv.s fa0, fa0, fa1": 15, "fdiv.d fa0, fa0, fa1": 22,
        "feq.d a1, fa0, fa1; fcvt.d.l fa0, a1": 6 + 4,
        "fcvt.l.d a1, fa0; fcvt.d.l fa0, a1": 6 + 4,
        "fmv.x.d a1, fa0; fmv.d.x fa0, a1": 4 + 4,
    }.items():  # fmt: skip
        yield Chain(_FP, code, cycles)


@dataclass(frozen=True)
class Prediction:
    chain: Chain
    predicted: float


def predict(core: Core) -> Iterator[Prediction]:
    """Each chain, sixteen times in a round of a loop."""
    chains = list(_chains())
    pieces = {f"chain{n}": [chain.code] * 16 for n, chain in enumerate(chains)}
    loops = Loops(core, {**pieces, "close": ["addi a0, a0, -1", "bnez a0, main"]})
    for n, chain in enumerate(chains):
        loops.cost.reset()
        loops.warm(range(MEMORY, MEMORY + 64))
        loops.state.x[5] = MEMORY
        for register, value in chain.registers:
            loops.state.x[register] = value
        loops.state.x[10] = 1000
        iteration = [*loops.calls(f"chain{n}", None), *loops.calls("close", None)]
        yield Prediction(chain, loops.steady(iteration) / 16)
