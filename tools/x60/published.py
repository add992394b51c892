"""Predict loops that were published one by one: int8 matrix tiles, and overlap with a division."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rvsim.cost import Core
from rvsim.machine import Machine
from rvsim.toolchain import build

_BUFFER = 0x1000_0000
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class Loop:
    """A loop over `steps` rounds of `code`; `measured` cycles a round, from L1 or from L2."""

    name: str
    code: str
    measured: float
    steps: int = 200
    bytes_per_step: int = 0
    level: str = "registers"


def _load(register: int) -> str:
    return f"vle8.v v{register}, (a0); addi a0, a0, 32;"


def _tile(rows: int, columns: int) -> str:
    """One K-step of a tile of `rows` A and `columns` B registers: all loads, then all products.

    The first product waits for the last load: measured kernels overlap nothing.
    """
    a, b = range(rows), range(rows, rows + columns)
    code = "".join(map(_load, (*a, *b)))
    pairs = [(i, j) for i in a for j in b][::-1]
    first = 32 - 2 * len(pairs)
    return code + "".join(
        f"smt.vmadot v{first + 2 * n}, v{i}, v{j};" for n, (i, j) in enumerate(pairs)
    )


def _pipelined() -> str:
    """Two K-steps of 8x16: each product has a load of the other register set beside it."""
    code = ""
    for own, other in ((0, 6), (6, 0)):
        pairs = [(own + i, own + 2 + j) for i in range(2) for j in range(4)]
        for n, (i, j) in enumerate(pairs):
            code += f"smt.vmadot v{16 + 2 * n}, v{i}, v{j};"
            code += _load(other + n) if n < 6 else ""
    return code


def _chain(accumulators: int) -> str:
    return "".join(f"smt.vmadot v{2 + 2 * i}, v0, v1;" for i in range(accumulators))


def _overlap(register: int | None) -> str:
    """A division of m8 and 64 additions of m1, on one of its registers or on all in turn."""
    code = "vsetvli t0, zero, e64, m8, ta, ma; vadd.vv v8, v0, v24; vdiv.vv v0, v8, v16;"
    code += "vsetvli t0, zero, e64, m1, ta, ma;"
    for i in range(64):
        v, other = (i % 8, (i - 1) % 8) if register is None else (register, 24)
        code += f"vadd.vv v{v}, v{v}, v{other};"
    return code


def loops() -> list[Loop]:
    """Cycles of a round at 1.6 GHz: K1 boards, and rvv-bench's test of the microarchitecture."""
    overlap = {0: 424.89, 3: 422.90, 7: 436.94, 8: 425.82, None: 372.67}
    tiles = {"m4n16": (1, 4), "m4n24": (1, 6), "m8n16": (2, 4), "m12n16": (3, 4)}
    from_l1 = {"m4n16": 15.9, "m4n24": 21.7, "m8n16": 21.2, "m12n16": 28.3}
    from_l2 = {"m4n16": 32.9, "m4n24": 48.7, "m8n16": 37.5, "m12n16": 43.0}
    found = [
        Loop("1 accumulator", _chain(1), 6.0),
        Loop("4 accumulators", _chain(4), 6.0),
        Loop("6 accumulators", _chain(6), 6.0),
        Loop("2 loads and a vmadot",
             _load(0) + _load(1) + "smt.vmadot v2, v0, v1; addi a0, a0, -64", 8.08, level="L1"),
        Loop("8x16 sequential", _tile(2, 4), 22.2, 100, 192, "L1"),
        Loop("8x16 pipelined, two steps", _pipelined(), 29.7, 50, 384, "L1"),
    ]  # fmt: skip
    for name, (rows, columns) in tiles.items():
        size = 32 * (rows + columns)
        found.append(Loop(name, _tile(rows, columns), from_l1[name], 100, size, "L1"))
        found.append(Loop(name, _tile(rows, columns), from_l2[name], 1000, size, "L2"))
    for register, cycles in overlap.items():
        where = "all registers" if register is None else f"v{register}"
        found.append(Loop(f"vdiv, vadd on {where}", _overlap(register), cycles, 20, 0, "overlap"))
    return found


@dataclass(frozen=True)
class Prediction:
    loop: Loop
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.loop.measured - 1


def predict(core: Core) -> Iterator[Prediction]:
    """Cycles of a round from two lengths of the loop, so that what is around it cancels out."""
    cases = loops()
    source = [".text", ".globl main", "main: ebreak"]
    for n, loop in enumerate(cases):
        source += [
            f".balign 64; .globl f{n}; f{n}: vsetvli t0, zero, e8, m1, ta, ma; csrr s2, cycle",
            f"1: {loop.code}; addi a1, a1, -1; bnez a1, 1b; csrr s3, cycle; ebreak",
        ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loops.S"
        path.write_text("\n".join([*source, ""]))
        elf = build([path], path.with_suffix(".elf"))
        for n, loop in enumerate(cases):
            counts = (loop.steps // 2, loop.steps)
            short, long = (_cycles(core, elf, f"f{n}", loop, steps) for steps in counts)
            yield Prediction(loop, (long - short) / (loop.steps - loop.steps // 2))


def _cycles(core: Core, elf: Path, label: str, loop: Loop, steps: int) -> int:
    machine = Machine(cost=core, memory_size=1 << 30, engine="numpy")
    machine.load(elf)
    machine.memory.map(_BUFFER, _BUFFER_BYTES, 3)
    assert machine.cost is not None
    assert machine.image is not None
    if loop.level == "L2":
        machine.cost.touch(_BUFFER, 400 << 10, store=False)
    in_l1 = loop.bytes_per_step * loop.steps if loop.level == "L1" else 0
    machine.cost.touch(_BUFFER, max(in_l1, 64), store=False)
    target = machine.image.symbols.address(label)
    assert target is not None
    machine.state["pc"] = target
    machine.state.x[10], machine.state.x[11] = _BUFFER, steps
    machine.run()
    return machine.state.x[19] - machine.state.x[18]
