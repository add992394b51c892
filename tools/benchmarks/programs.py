"""The programs that the JIT is measured with, and what it has to reach on each.

Each takes the number of rounds as its argument and prints a checksum.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rvsim.toolchain import KERNEL_FLAGS, build, build_kernel, find_kernel

WORKLOADS: Final = Path(__file__).resolve().parents[1] / "workloads"


@dataclass(frozen=True, slots=True)
class PerSecond:
    """So many executions of an instruction a second, for what no peer runs."""

    insn: str
    count: float


@dataclass(frozen=True, slots=True)
class Program:
    """A file of `workloads`, with a source file of a kernel where it uses one, or a kernel alone.

    `bar` is how many times as fast as QEMU, or a number of instructions a second.
    """

    title: str
    bar: float | PerSecond
    file: str = ""
    kernel: str = ""
    kernel_source: str = ""

    @property
    def name(self) -> str:
        return Path(self.file).stem or self.kernel

    def build(self, folder: Path) -> Path:
        """The ELF, in `folder` unless it is a kernel's own program."""
        if not self.file:
            return build_kernel(self.kernel)
        sources, includes = [WORKLOADS / self.file], []
        if self.kernel:
            kernel = find_kernel(self.kernel).folder
            sources.append(kernel / self.kernel_source)
            includes.append(f"-I{kernel}")
        return build(sources, folder / f"{self.name}.elf", extra_args=(*KERNEL_FLAGS, *includes))


PROGRAMS: Final = (
    Program("int8 GEMM, vwmacc.vx m2", 40, kernel="gemm_tile_s8"),
    Program("f32 GEMM, vfmacc.vf m4", 40, kernel="gemm_tile_f32"),
    Program("exp, sigmoid, SiLU f32, m2", 20, kernel="exp_silu_f32"),
    Program("table look-up, compare, merge e8,m1", 10, "lookup_masked.c"),
    Program("memcpy e8,m8", 1, "memcpy_m8.c", "memops", "memops.c"),
    Program("IME GEMM, vmadot", PerSecond("smt.vmadot", 250e6), kernel="gemm_tile_ime"),
    Program("sieve", 0.7, "sieve.c"),
    Program("CRC-32", 0.7, "crc32.c"),
    Program("integer matrix product", 0.7, "matmul_int.c"),
    Program("quicksort with calls", 0.7, "quicksort.c"),
    Program("bytecode interpreter, switch", 0.7, "bytecode.c"),
)
