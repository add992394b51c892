"""Predict the kernel curves: memset, memcpy and utf8_count as rvv-bench measures them.

Loop shapes (`FACTS` section 7): rvv sets vl each round, vlmax sets VLMAX each round, tail leaves
the remainder to the end, 128 keeps vl at 16 bytes, 4x handles four groups a round, align_dest and
align_src begin with a short round.
"""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rvsim.cost import Core
from rvsim.machine import Machine
from rvsim.toolchain import build

BASE = 0x1000_0000
REPEATS = 6
_SOURCE_DISTANCE = 16 << 20
_MANY_RUNS = 16
_WORTH_COMPILING = 100_000


@dataclass(frozen=True)
class Point:
    """One measurement: cycles of a kernel on so many bytes."""

    kernel: str
    title: str
    variant: str
    n: int
    bytes_per_cycle: float

    @property
    def aligned(self) -> bool:
        return self.title.endswith("aligned")

    @property
    def measured(self) -> float:
        return self.n / self.bytes_per_cycle


def read(path: Path) -> list[Point]:
    with path.open(newline="") as file:
        return [
            Point(
                r["kernel"],
                r["title"],
                r["variant"],
                int(r["n_bytes"]),
                float(r["bytes_per_cycle"]),
            )
            for r in csv.DictReader(file)
        ]


# -- code.  Arguments in a0, a1, a2 as in C; %M is the LMUL.

_STORE = "vse8.v v8, (a3)"
_COPY = "vle8.v v8, (a1); add a1, a1, t0; sub a2, a2, t0; vse8.v v8, (a3); add a3, a3, t0"
_COUNT = "vle8.v v8, (a2); vmsgt.vx v16, v8, a3; vcpop.m a5, v16"

MEMSET = {
    "rvv": f"""vsetvli t0, zero, e8, %M, ta, ma; vmv.v.x v8, a1; mv a3, a0
        1: vsetvli t0, a2, e8, %M, ta, ma; {_STORE}; sub a2, a2, t0; add a3, a3, t0
        bnez a2, 1b; ret""",
    "rvv_align": f"""vsetvli t0, zero, e8, %M, ta, ma; vmv.v.x v8, a1; mv a3, a0
        vsetvli t0, zero, e8, %M, ta, ma; bltu a2, t0, 2f
        neg t1, a0; addi t2, t0, -1; and t1, t1, t2; vsetvli t0, t1, e8, %M, ta, ma
        1: {_STORE}; sub a2, a2, t0; add a3, a3, t0
        2: vsetvli t0, a2, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_vlmax": f"""vsetvli t0, zero, e8, %M, ta, ma; vmv.v.x v8, a1; mv a3, a0
        addi t0, t0, -1; and t0, a2, t0; vsetvli t0, t0, e8, %M, ta, ma
        1: {_STORE}; sub a2, a2, t0; add a3, a3, t0
        vsetvli t0, zero, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_tail": f"""vsetvli t0, a2, e8, %M, ta, ma; vmv.v.x v8, a1; remu t1, a2, t0
        sub a2, a2, t1; add a4, a0, a2; mv a3, a0
        1: {_STORE}; add a3, a3, t0; bltu a3, a4, 1b
        vsetvli zero, t1, e8, %M, ta, ma; {_STORE}; ret""",
    "rvv_tail_4x": f"""vsetvli t0, a2, e8, %M, ta, ma; vmv.v.x v8, a1; slli t1, t0, 2
        mv a3, a0; mv t2, a2; bltu a2, t1, 2f
        remu t2, a2, t1; sub a2, a2, t2; add a4, a0, a2
        1: {f"{_STORE}; add a3, a3, t0;" * 4} bltu a3, a4, 1b
        2: vsetvli a4, t2, e8, %M, ta, ma; {_STORE}; sub t2, t2, a4; add a3, a3, a4
        bnez t2, 2b; ret""",
    "scalar": """add a4, a0, a2; mv a3, a0; beqz a2, 2f
        1: sb a1, 0(a3); addi a3, a3, 1; bne a3, a4, 1b
        2: ret""",
}

MEMCPY = {
    "rvv": f"""mv a3, a0
        1: vsetvli t0, a2, e8, %M, ta, ma; {_COPY}; bnez a2, 1b; ret""",
    "rvv_align_dest": f"""mv a3, a0; vsetvli t0, zero, e8, %M, ta, ma; bltu a2, t0, 2f
        neg t1, a0; addi t2, t0, -1; and t1, t1, t2; vsetvli t0, t1, e8, %M, ta, ma
        1: {_COPY}
        2: vsetvli t0, a2, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_align_src": f"""mv a3, a0; vsetvli t0, zero, e8, %M, ta, ma; bltu a2, t0, 2f
        neg t1, a1; addi t2, t0, -1; and t1, t1, t2; vsetvli t0, t1, e8, %M, ta, ma
        1: {_COPY}
        2: vsetvli t0, a2, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_align_dest_hybrid": f"""mv a3, a0; vsetvli t0, zero, e8, %M, ta, ma
        slli t1, t0, 8; bltu a2, t1, 2f
        neg t1, a0; addi t2, t0, -1; and t1, t1, t2; vsetvli t0, t1, e8, %M, ta, ma
        1: {_COPY}
        2: vsetvli t0, a2, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_vlmax": f"""mv a3, a0; vsetvli t0, zero, e8, %M, ta, ma; addi t0, t0, -1
        and t0, a2, t0; vsetvli t0, t0, e8, %M, ta, ma
        1: {_COPY}; vsetvli t0, zero, e8, %M, ta, ma; bnez a2, 1b; ret""",
    "rvv_tail": """vsetvli t0, a2, e8, %M, ta, ma; remu t1, a2, t0; sub a2, a2, t1
        add a4, a0, a2; mv a3, a0
        1: vle8.v v8, (a1); add a1, a1, t0; vse8.v v8, (a3); add a3, a3, t0; bltu a3, a4, 1b
        vsetvli zero, t1, e8, %M, ta, ma; vle8.v v8, (a1); vse8.v v8, (a3); ret""",
    "rvv_128": """li t0, 16; bgt a2, t0, 3f; mv t0, a2
        3: vsetvli t0, t0, e8, %M, ta, ma; remu t1, a2, t0; sub a2, a2, t1
        add a4, a0, a2; mv a3, a0
        1: vle8.v v8, (a1); add a1, a1, t0; vse8.v v8, (a3); add a3, a3, t0; bltu a3, a4, 1b
        vsetvli zero, t1, e8, %M, ta, ma; vle8.v v8, (a1); vse8.v v8, (a3); ret""",
    "scalar": """add a4, a1, a2; mv a3, a0; beqz a2, 2f
        1: lbu a5, 0(a1); addi a3, a3, 1; addi a1, a1, 1; sb a5, -1(a3); bne a1, a4, 1b
        2: ret""",
}

# Here a0 is the string and a1 its length.
UTF8_COUNT = {
    "rvv": f"""mv a2, a0; li a0, 0; li a3, -65
        1: vsetvli t0, a1, e8, %M, ta, ma; {_COUNT}; add a0, a0, a5; sub a1, a1, t0
        add a2, a2, t0; bnez a1, 1b; ret""",
    "rvv_align": f"""mv a2, a0; li a0, 0; li a3, -65; vsetvli t0, zero, e8, %M, ta, ma
        bltu a1, t0, 2f; neg t1, a2; remu t1, t1, t0; vsetvli t0, t1, e8, %M, ta, ma
        1: {_COUNT}; add a0, a0, a5; sub a1, a1, t0; add a2, a2, t0
        2: vsetvli t0, a1, e8, %M, ta, ma; bnez a1, 1b; ret""",
    "rvv_vlmax": f"""vsetvli t0, zero, e8, %M, ta, ma; addi t0, t0, -1; and t0, a1, t0
        vsetvli t0, t0, e8, %M, ta, ma; mv a2, a0; li a0, 0; li a3, -65
        1: {_COUNT}; sub a1, a1, t0; add a2, a2, t0; vsetvli t0, zero, e8, %M, ta, ma
        add a0, a0, a5; bnez a1, 1b; ret""",
    "rvv_tail": f"""vsetvli t0, a1, e8, %M, ta, ma; remu t1, a1, t0; sub a1, a1, t1
        add a4, a0, a1; mv a2, a0; li a0, 0; li a3, -65
        1: {_COUNT}; add a0, a0, a5; add a2, a2, t0; bltu a2, a4, 1b
        vsetvli zero, t1, e8, %M, ta, ma; {_COUNT}; add a0, a0, a5; ret""",
    "rvv_128": f"""li t0, 16; bgt a1, t0, 3f; mv t0, a1
        3: vsetvli t0, t0, e8, %M, ta, ma; remu t1, a1, t0; sub a1, a1, t1
        add a4, a0, a1; mv a2, a0; li a0, 0; li a3, -65
        1: {_COUNT}; add a0, a0, a5; add a2, a2, t0; bltu a2, a4, 1b
        vsetvli zero, t1, e8, %M, ta, ma; {_COUNT}; add a0, a0, a5; ret""",
    "rvv_4x": f"""mv a2, a0; li a0, 0; li a3, -65
        1: {
        "".join(
            f'''vsetvli t0, a1, e8, %M, ta, ma; vle8.v v8, (a2); vmsgt.vx v16, v8, a3
        vcpop.m {count}, v16; sub a1, a1, t0; add a2, a2, t0;'''
            for count in ("t1", "t2", "t3")
        )
    }
        vsetvli t0, a1, e8, %M, ta, ma; vle8.v v8, (a2); add a0, a0, t1; add a0, a0, t2
        add a0, a0, t3; vmsgt.vx v16, v8, a3; vcpop.m t2, v16; add a0, a0, t2
        sub a1, a1, t0; add a2, a2, t0; bnez a1, 1b; ret""",
    "rvv_4x_tail": """vsetvli t0, zero, e8, %M, ta, ma; slli t3, t0, 2; add a1, a0, a1
        add a2, a0, t3; mv a4, a0; bltu a1, a2, 5f; slli t4, t0, 1; add t5, t4, t0; li a0, 0
        li a6, -65
        1: add a3, t0, a4; vsetvli zero, zero, e8, %M, ta, ma; add a7, t4, a4
        vle8.v v8, (a4); vle8.v v16, (a3); vmsgt.vx v8, v8, a6; vmsgt.vx v16, v16, a6
        vcpop.m a3, v8; vcpop.m t1, v16; add a3, a3, t1; vle8.v v8, (a7); add a4, t5, a4
        vmsgt.vx v8, v8, a6; vcpop.m a7, v8; add a3, a3, a7; vle8.v v8, (a4); mv a4, a2
        vmsgt.vx v8, v8, a6; add a2, a2, t3; vcpop.m a7, v8; add a3, a3, a7; add a0, a0, a3
        bgeu a1, a2, 1b
        2: sub a3, a1, a4; beq a1, a4, 4f; li a2, 0; li a1, -65
        3: vsetvli t0, a3, e8, %M, ta, ma; sub a3, a3, t0; vle8.v v8, (a4); add a4, a4, t0
        vmsgt.vx v8, v8, a1; vcpop.m t0, v8; add a2, a2, t0; bnez a3, 3b; add a0, a0, a2
        4: ret
        5: li a0, 0; j 2b""",
    "scalar": """add a4, a0, a1; mv a2, a0; li a0, 0; beqz a1, 2f
        1: lb a5, 0(a2); addi a2, a2, 1; slti a5, a5, -64; xori a5, a5, 1; add a0, a0, a5
        bne a2, a4, 1b
        2: ret""",
}

KERNELS = {"memset": MEMSET, "memcpy": MEMCPY, "utf8_count": UTF8_COUNT}


def code(kernel: str, variant: str) -> str | None:
    """The assembly of a variant such as ``rvv_tail_m4``; None for those compiled from C."""
    shape, _, lmul = variant.rpartition("_m")
    if not shape:
        return KERNELS[kernel].get(variant)
    text = KERNELS[kernel].get(shape)
    return None if text is None else text.replace("%M", f"m{lmul}")


# -- running


class Bench:
    """All variants of the points in one program, timed one call after the other."""

    def __init__(self, core: Core, variants: Sequence[tuple[str, str]]) -> None:
        self.labels = {key: f"f_{key[0]}_{key[1]}" for key in variants}
        self.core = core
        source = [".text", ".globl main", "main: csrr s2, cycle", "jalr s4", "csrr s3, cycle"]
        source += ["ebreak"]
        for key, label in self.labels.items():
            source += [".balign 64", f".globl {label}", f"{label}: {code(*key)}"]
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "kernels.S"
        path.write_text("\n".join([*source, ""]))
        self._elf = build([path], path.with_suffix(".elf"))

    def predict(self, point: Point, offsets: Sequence[tuple[int, int]]) -> float:
        """Cycles of a call as measured: the mean over offsets of destination and source."""
        total = 0.0
        for dest_offset, source_offset in offsets:
            total += self._call(point, dest_offset, source_offset)
        return total / len(offsets)

    def _runs_before(self, n: int) -> int:
        """Many are measured: a source that fits L1 is there in the end, whatever was before."""
        size = self.core.l1d.size
        return _MANY_RUNS if n <= size < 2 * n else 0

    def _call(self, point: Point, dest_offset: int, source_offset: int) -> float:
        engine = "numpy" if point.n < _WORTH_COMPILING else "jit"
        machine = Machine(cost=self.core, memory_size=1 << 30, engine=engine)
        machine.load(self._elf)
        size = -(-(2 * _SOURCE_DISTANCE) // 4096) * 4096
        machine.memory.map(BASE, size, 3)
        dest = BASE + dest_offset
        source = dest + _SOURCE_DISTANCE + source_offset + 9
        arguments = {
            "memset": (dest, 0, point.n),
            "memcpy": (dest, source, point.n),
            "utf8_count": (dest, point.n, 0),
        }[point.kernel]
        assert machine.cost is not None
        assert machine.image is not None
        touch = machine.cost.touch
        target = machine.image.symbols.address(self.labels[point.kernel, point.variant])
        start = machine.image.symbols.address("main")
        assert target is not None
        assert start is not None
        # A first run is checked against another: the results are read.
        touch(dest, point.n, store=False)
        if point.kernel == "memcpy":
            for _ in range(self._runs_before(point.n)):
                touch(source, point.n, store=False)
        cycles = 0
        chance = random.Random(point.n)
        repeats = REPEATS if point.n < 2000 else 4
        for run in range(repeats):
            touch(dest, point.n + 9, store=True)
            # What sets the destination before has loops that depend on its offset.
            same = point.aligned or point.kernel == "utf8_count"
            machine.cost.forget_branches(0 if same else chance.getrandbits(64))
            machine.state["pc"] = start
            machine.state.x[20] = target
            for register, value in zip((10, 11, 12), arguments, strict=True):
                machine.state.x[register] = value
            result = machine.run()
            assert result.trap is not None, result
            assert result.trap.cause == 3, result
            cycles += (machine.state.x[19] - machine.state.x[18]) * (run >= repeats // 2)
        return cycles / (repeats - repeats // 2)


def offsets(point: Point) -> list[tuple[int, int]]:
    """Some of the random offsets that are measured, fewer for long runs."""
    if point.aligned:
        return [(0, 0)]
    pairs = [(37, 11), (150, 203), (83, 96), (201, 64)]
    return pairs[: 4 if point.n < 2000 else 2 if point.n < 20000 else 1]


@dataclass(frozen=True)
class Prediction:
    point: Point
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.point.measured - 1


def predict(core: Core, points: Sequence[Point]) -> Iterator[Prediction]:
    known = [p for p in points if code(p.kernel, p.variant) is not None]
    bench = Bench(core, sorted({(p.kernel, p.variant) for p in known}))
    for point in known:
        yield Prediction(point, bench.predict(point, offsets(point)))


SIZES: dict[str, Callable[[int], bool]] = {
    "up to 260 bytes": lambda n: n <= 260,
    "1 to 28 KB": lambda n: 1000 <= n <= 28_000,
    "33 to 400 KB": lambda n: 33_000 <= n <= 400_000,
    "400 KB to 1 MB": lambda n: 400_000 < n < 1_000_000,
    "1 MB and more": lambda n: n >= 1_000_000,
}
