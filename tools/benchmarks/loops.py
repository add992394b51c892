"""Endless loops in assembly, each of one kind of instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
