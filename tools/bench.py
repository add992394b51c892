"""Measure how many guest instructions a second each engine executes.

python tools/bench.py                      a Markdown table, as in docs/performance.md
python tools/bench.py --json FILE          the figures for machines as well
python tools/bench.py --only vadd gemm     workloads whose name contains one of the words
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.toolchain import build, build_kernel, kernel_names

ENGINES: Final[dict[str, Callable[..., Machine]]] = {
    "numpy": Machine,
    "softfloat": partial(Machine, host_float=False),
}
"""How to make the machine of each engine; each is a column of the table."""

BARS: Final = {
    "numpy": {"scalar": 300_000, "vector": 50_000, "float": 30_000},
    "softfloat": {"float": 5_000},
}
"""Instructions a second that an engine has to reach at VLEN 256, by kind of workload."""

VECTOR_KINDS: Final = ("vector", "float")

WARM_UP: Final = 2_000
"""Instructions before the clock starts: those of a loop are decoded and generated then."""

FOREVER: Final = 1 << 40


@dataclass(frozen=True)
class Workload:
    """A guest program, and how much of it is measured; a kernel runs to its end."""

    name: str
    kind: str
    elf: Path
    args: tuple[str, ...] = ()
    endless: bool = False


@dataclass(frozen=True)
class Loop:
    """An endless loop in assembly: `body` again and again, after `setup`."""

    kind: str
    body: str
    setup: str = ""


VSET_E8M1: Final = "vsetvli t0, zero, e8, m1, ta, ma"
VSET_E32M2: Final = "vsetvli t0, zero, e32, m2, ta, ma"

VSET_E32M1: Final = "vsetvli t0, zero, e32, m1, ta, ma"
VSET_E32M4: Final = "vsetvli t0, zero, e32, m4, ta, ma"

FLOATS: Final = """
    li t1, 0x3f8ccccd
    fmv.w.x fa0, t1
    li t1, 0x3e99999a
    fmv.w.x fa1, t1
    vid.v v8
    vfcvt.f.x.v v8, v8
    vfmul.vf v8, v8, fa0
    vfmul.vf v12, v8, fa1
    vmv.v.v v16, v12
    vmv.v.v v20, v12
    vmv.v.v v24, v12
    vmv.v.i v0, 5"""
"""Numbers that most sums and products round: 1.1 and 0.3 times the lane."""

VFADD: Final = """vfadd.vv v16, v8, v12
        vfadd.vv v20, v16, v8
        vfadd.vv v24, v20, v12
        vfadd.vv v16, v24, v8"""
VFMACC: Final = """vfmacc.vf v16, fa0, v8
        vfmacc.vf v20, fa1, v12
        vfmacc.vf v24, fa0, v12
        vfmacc.vf v28, fa1, v8"""
VFMACC_MASKED: Final = VFMACC.replace(", v8", ", v8, v0.t").replace(", v12", ", v12, v0.t")

LOOPS: Final[dict[str, Loop]] = {
    "scalar: arithmetic": Loop(
        "scalar",
        """add a0, a0, a1
        slli a2, a0, 3
        xor a3, a3, a2
        sltu a4, a3, a0
        addiw a5, a5, 1
        and a6, a5, a3
        sub a7, a6, a4""",
    ),
    "scalar: loads, stores and branches": Loop(
        "scalar",
        """ld a0, 0(s0)
        lbu a1, 9(s0)
        add a0, a0, a1
        sd a0, 0(s0)
        sw a1, 16(s0)
        beqz a1, 2f
        mul a2, a0, a1
        2: addi a3, a3, 1""",
    ),
    "vector: vadd.vv e8,m1": Loop(
        "vector",
        """vadd.vv v2, v1, v0
        vadd.vv v3, v2, v1
        vadd.vv v4, v3, v2
        vadd.vv v5, v4, v3
        vadd.vv v6, v5, v4
        vadd.vv v7, v6, v5""",
        VSET_E8M1,
    ),
    "vector: vwmacc.vx e16,m1": Loop(
        "vector",
        """vwmacc.vx v8, a0, v1
        vwmacc.vx v10, a1, v1
        vwmacc.vx v12, a2, v2
        vwmacc.vx v14, a3, v2
        addi a0, a0, 1""",
        "vsetvli t0, zero, e16, m1, ta, ma",
    ),
    "vector: unit-stride loads and stores e32,m2": Loop(
        "vector",
        """vle32.v v8, (s0)
        vadd.vi v8, v8, 1
        vse32.v v8, (s0)
        vle32.v v10, (s1)
        vse32.v v10, (s1)""",
        VSET_E32M2,
    ),
    "vector: strided, indexed and segment accesses e8,m1": Loop(
        "vector",
        """vlse8.v v8, (s0), s2
        vluxei8.v v9, (s0), v1
        vlseg4e8.v v12, (s0)
        vsseg4e8.v v12, (s1)
        vsse8.v v8, (s1), s2""",
        VSET_E8M1,
    ),
    "vector: masked arithmetic e32,m2, vl < VLMAX": Loop(
        "vector",
        """vmslt.vx v0, v4, a0
        vadd.vv v4, v6, v8, v0.t
        vmul.vv v6, v4, v8, v0.t
        vmerge.vvm v10, v4, v6, v0
        addi a0, a0, 77""",
        VSET_E32M2 + "\n addi t0, t0, -3\n vsetvli t0, t0, e32, m2, ta, ma",
    ),
    "float: vfadd.vv e32,m1": Loop("float", VFADD, VSET_E32M1 + FLOATS),
    "float: vfadd.vv e32,m4": Loop("float", VFADD, VSET_E32M4 + FLOATS),
    "float: vfmacc.vf e32,m1": Loop("float", VFMACC, VSET_E32M1 + FLOATS),
    "float: vfmacc.vf e32,m4": Loop("float", VFMACC, VSET_E32M4 + FLOATS),
    "float: vfmacc.vf e32,m1, masked": Loop("float", VFMACC_MASKED, VSET_E32M1 + FLOATS),
    "vector: strip-mined copy with vsetvli e8,m8": Loop(
        "vector",
        """vsetvli t0, s3, e8, m8, ta, ma
        vle8.v v8, (s0)
        vse8.v v8, (s1)
        sub a0, a0, t0""",
    ),
}

PROGRAM: Final = """
    .globl _start
_start:
    lla s0, data
    addi s1, s0, 1024
    li s2, 2
    li s3, 200
    li a1, 3
    {setup}
1:  {body}
    j 1b
    .bss
    .balign 64
data: .space 4096
"""


def workloads(folder: Path, words: Sequence[str]) -> Iterator[Workload]:
    """The loops, assembled into `folder`, and the bundled kernels."""
    chosen = [n for n in (*LOOPS, *kernel_names()) if not words or any(w in n for w in words)]
    for number, name in enumerate(chosen):
        if name not in LOOPS:
            yield Workload(name, "kernel", build_kernel(name))
            continue
        loop = LOOPS[name]
        source = folder / f"loop{number}.S"
        source.write_text(PROGRAM.format(setup=loop.setup, body=loop.body))
        yield Workload(name, loop.kind, build([source], source.with_suffix(".elf")), endless=True)


@dataclass(frozen=True)
class Measurement:
    """The median run of a workload on an engine; `seconds` of processor time."""

    workload: str
    kind: str
    engine: str
    vlen: int
    runs: int
    seconds: float
    instructions: int
    vector_instructions: int

    @property
    def rate(self) -> float:
        """Instructions a second; for loops of vector code, vector instructions a second."""
        count = self.vector_instructions if self.kind in VECTOR_KINDS else self.instructions
        return count / self.seconds

    @property
    def bar(self) -> int | None:
        return BARS.get(self.engine, {}).get(self.kind) if self.vlen == 256 else None


def measure(workload: Workload, engine: str, vlen: int, runs: int, seconds: float) -> Measurement:
    """Run a workload `runs` times for about so many `seconds` each, or a kernel to its end."""
    results = sorted(run_once(workload, engine, vlen, seconds) for _ in range(runs))
    median = statistics.median_low(rate for rate, *_ in results)
    _, elapsed, instructions, vector = next(r for r in results if r[0] == median)
    return Measurement(
        workload.name, workload.kind, engine, vlen, runs, elapsed, instructions, vector
    )


def run_once(
    workload: Workload, engine: str, vlen: int, seconds: float
) -> tuple[float, float, int, int]:
    """(instructions a second, seconds, instructions, vector ones among them)."""
    machine = ENGINES[engine](vlen=vlen)
    machine.load(workload.elf, argv=[workload.name, *workload.args])
    warm_up = WARM_UP if workload.endless else 0
    machine.run(max_insns=warm_up)
    before, vector_before = machine.state["instret"], vector_count(machine)
    start = time.process_time()  # engines are one thread, and a busy host must not count
    result = machine.run(max_insns=FOREVER, timeout=seconds if workload.endless else None)
    elapsed = time.process_time() - start
    if not workload.endless and result.exit_code != 0:
        raise RvsimError(f"{workload.name} ended with {result.exit_code}: {result.stdout[-200:]!r}")
    count = result.instret - before
    return count / elapsed, elapsed, count, vector_count(machine) - vector_before


def vector_count(machine: Machine) -> int:
    return sum(
        count
        for decoded, _, count, _ in machine.interp.executions()
        if decoded.insn is not None and decoded.insn.unit.is_vector
    )


def host() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
    }


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        found = re.search("model name\\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def table(measured: Sequence[Measurement]) -> str:
    """One row for each workload, one column for each engine, and their bars."""
    engines = list(dict.fromkeys(m.engine for m in measured))
    by_name: dict[str, dict[str, Measurement]] = {}
    for m in measured:
        by_name.setdefault(m.workload, {})[m.engine] = m
    lines = [
        f"| workload | counted | {' | '.join(engines)} | bar |",
        f"|---|---|{'---:|' * len(engines)}---:|",
    ]
    for name, row in by_name.items():
        first = next(iter(row.values()))
        counted = "vector" if first.kind in VECTOR_KINDS else "all"
        rates = " | ".join(f"{row[e].rate:,.0f}" if e in row else "" for e in engines)
        bar = ", ".join(f"{m.bar:,}" for m in row.values() if m.bar is not None)
        lines.append(f"| {name} | {counted} | {rates} | {bar} |")
    return "\n".join(lines)


def report(measured: Sequence[Measurement], vlen: int) -> str:
    about = ", ".join(f"{key} {value}" for key, value in host().items())
    return f"Instructions a second at VLEN {vlen} ({about}).\n\n{table(measured)}\n"


def as_json(measured: Sequence[Measurement]) -> str:
    results = [asdict(m) | {"rate": m.rate, "bar": m.bar} for m in measured]
    return json.dumps({"host": host(), "results": results}, indent=1) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all")
    parser.add_argument("--vlen", type=int, default=256)
    parser.add_argument("--runs", type=int, default=5, help="the median counts (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="per run of a loop (1)")
    parser.add_argument("--only", nargs="+", default=(), metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    options = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads(Path(folder), options.only):
            for engine in options.engine or ENGINES:
                print(f"{workload.name} on {engine}", file=sys.stderr)
                measured.append(
                    measure(workload, engine, options.vlen, options.runs, options.seconds)
                )
    print(report(measured, options.vlen), end="")
    if options.json is not None:
        options.json.write_text(as_json(measured), "utf-8")
    missed = [m for m in measured if m.bar is not None and m.rate < m.bar]
    for m in missed:
        print(f"missed: {m.workload}: {m.rate:,.0f} < {m.bar:,}", file=sys.stderr)
    return int(options.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
