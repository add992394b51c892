"""Loops with a body of a given length, of many instructions of one kind: regions to compile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mix:
    """Lines of assembly with places for registers: {d} is written, {a} and {b} are read."""

    setup: str
    registers: tuple[str, ...]
    lines: tuple[str, ...]

    def body(self, insns: int) -> str:
        """So many instructions, each line in turn, and registers in another rhythm."""
        count = len(self.registers)
        return "\n".join(
            self.lines[i % len(self.lines)].format(
                d=self.registers[i % count],
                a=self.registers[(5 * i + 3) % count],
                b=self.registers[(7 * i + 1) % count],
            )
            for i in range(insns)
        )


GROUPS: Final = tuple(f"v{number}" for number in range(8, 32, 2))

MIXES: Final = {
    "scalar": Mix(
        "",
        ("a1", "a2", "a3", "a4", "a5", "a6", "a7", "t1", "t2", "t3", "s4", "s5", "s6"),
        (
            "add {d}, {a}, {b}",
            "ld {d}, 8(s0)",
            "xor {d}, {a}, {b}",
            "sd {a}, 16(s1)",
            "slli {d}, {a}, 3",
            "beq {a}, {b}, . + 8",
            "addiw {d}, {a}, 7",
            "lbu {d}, 5(s0)",
            "mul {d}, {a}, {b}",
            "sltu {d}, {a}, {b}",
            "sh2add {d}, {a}, {b}",
            "sw {a}, 40(s1)",
            "bne {a}, {b}, . + 8",
            "srai {d}, {a}, 9",
            "min {d}, {a}, {b}",
            "lw {d}, 24(s0)",
            "andi {d}, {a}, 255",
            "sub {d}, {a}, {b}",
            "zext.h {d}, {a}",
        ),
    ),
    "vector, integer e16,m2": Mix(
        "vsetvli t0, zero, e16, m2, ta, ma",
        GROUPS,
        (
            "vle16.v {d}, (s0)",
            "vadd.vv {d}, {a}, {b}",
            "vmacc.vx {d}, a1, {a}",
            "vsll.vi {d}, {a}, 3",
            "vmslt.vx v0, {a}, a2",
            "vmerge.vvm {d}, {a}, {b}, v0",
            "vmul.vv {d}, {a}, {b}",
            "vsub.vx {d}, {a}, a1, v0.t",
            "vse16.v {a}, (s1)",
            "vmax.vv {d}, {a}, {b}",
            "vsadd.vv {d}, {a}, {b}",
            "vslide1down.vx {d}, {a}, a3",
            "vmulh.vv {d}, {a}, {b}",
            "vxor.vv {d}, {a}, {b}, v0.t",
            "vredsum.vs {d}, {a}, {b}",
            "addi a1, a1, 1",
            "vrsub.vx {d}, {a}, a2",
        ),
    ),
    "vector, float e32,m2": Mix(
        "vsetvli t0, zero, e32, m2, ta, ma",
        GROUPS,
        (
            "vle32.v {d}, (s0)",
            "vfmacc.vf {d}, fa0, {a}",
            "vfadd.vv {d}, {a}, {b}",
            "vfmul.vf {d}, {a}, fa1",
            "vfmax.vf {d}, {a}, fa0",
            "vmflt.vf v0, {a}, fa1",
            "vmerge.vvm {d}, {a}, {b}, v0",
            "vfnmsac.vf {d}, fa1, {a}",
            "vfcvt.x.f.v {d}, {a}",
            "vfcvt.f.x.v {d}, {a}",
            "vfmadd.vv {d}, {a}, {b}",
            "vsll.vi {d}, {a}, 23",
            "vfsub.vv {d}, {a}, {b}",
            "vse32.v {a}, (s1)",
            "vfdiv.vv {d}, {a}, {b}",
        ),
    ),
}

_SOURCE: Final = """
    .globl _start, loop
_start:
    .option norvc
    lla s0, data
    addi s1, s0, 1024
    {setup}
loop:
    {body}
    j loop
    j loop  // where a branch in the last place goes
    .bss
    .balign 64
data: .space 4096
"""


def source(mix: Mix, insns: int) -> str:
    """An endless loop of so many instructions at the label ``loop``."""
    return _SOURCE.format(setup=mix.setup, body=mix.body(insns - 1))
