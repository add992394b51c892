"""Unit classes: what an instruction occupies, as far as the definition can say it.

The cost tables of a core (`isa/cores/*.toml`) give each class its latency and occupancy; the
definitions name the class and no number.
"""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """Class of an instruction for counters and cost tables."""

    # scalar
    ALU = "alu"
    BRANCH = "branch"
    JUMP = "jump"
    MUL = "mul"
    DIV = "div"
    LOAD = "load"
    STORE = "store"
    AMO = "amo"
    CSR = "csr"
    FENCE = "fence"
    CACHE = "cache"
    SYSTEM = "system"
    # scalar floating point
    FLOAD = "fload"
    FSTORE = "fstore"
    FADD = "fadd"
    FMUL = "fmul"
    FMA = "fma"
    FDIV = "fdiv"
    FSQRT = "fsqrt"
    FSIGN = "fsign"  # fsgnj
    FMINMAX = "fminmax"
    FCOMPARE = "fcompare"
    FCLASS = "fclass"
    FCVT = "fcvt"  # between formats; fround
    FCVT_TO_X = "fcvt_to_x"
    FCVT_FROM_X = "fcvt_from_x"
    FMOVE_TO_X = "fmove_to_x"
    FMOVE_FROM_X = "fmove_from_x"
    # vector configuration and memory
    VSET = "vset"
    VLOAD_UNIT = "vload_unit"
    VLOAD_MASK = "vload_mask"
    VLOAD_WHOLE = "vload_whole"
    VLOAD_FF = "vload_ff"
    VLOAD_STRIDED = "vload_strided"
    VLOAD_INDEXED = "vload_indexed"
    VLOAD_SEGMENT = "vload_segment"
    VSTORE_UNIT = "vstore_unit"
    VSTORE_MASK = "vstore_mask"
    VSTORE_WHOLE = "vstore_whole"
    VSTORE_STRIDED = "vstore_strided"
    VSTORE_INDEXED = "vstore_indexed"
    VSTORE_SEGMENT = "vstore_segment"
    # vector integer
    VALU = "valu"  # add, subtract, min, max, averaging and saturating adds
    VLOGIC = "vlogic"  # and, or, xor
    VSHIFT = "vshift"
    VCARRY = "vcarry"  # vadc, vsbc
    VCARRY_OUT = "vcarry_out"  # vmadc, vmsbc
    VCOMPARE = "vcompare"
    VMERGE = "vmerge"
    VMOVE = "vmove"
    VEXTEND = "vextend"
    VMUL = "vmul"
    VMAC = "vmac"
    VDIV = "vdiv"
    VWIDEN_ALU = "vwiden_alu"
    VWIDEN_MUL = "vwiden_mul"
    VWIDEN_MAC = "vwiden_mac"
    VNARROW = "vnarrow"
    VREDUCE = "vreduce"
    VREDUCE_LOGIC = "vreduce_logic"
    VREDUCE_WIDEN = "vreduce_widen"
    # vector floating point
    VFADD = "vfadd"  # add, subtract
    VFMINMAX = "vfminmax"
    VFMUL = "vfmul"
    VFMA = "vfma"
    VFDIV = "vfdiv"
    VFSQRT = "vfsqrt"
    VFESTIMATE = "vfestimate"  # vfrec7, vfrsqrt7
    VFSIGN = "vfsign"
    VFCLASS = "vfclass"
    VFCOMPARE = "vfcompare"
    VFCVT = "vfcvt"
    VFWIDEN_ADD = "vfwiden_add"
    VFWIDEN_ADD_W = "vfwiden_add_w"
    VFWIDEN_MUL = "vfwiden_mul"
    VFWIDEN_MA = "vfwiden_ma"
    VFWIDEN_CVT = "vfwiden_cvt"
    VFNARROW_CVT = "vfnarrow_cvt"
    VFREDUCE = "vfreduce"  # unordered sum, min, max
    VFREDUCE_ORDERED = "vfreduce_ordered"
    VFREDUCE_WIDEN = "vfreduce_widen"
    # vector mask and permutation
    VMASK_LOGIC = "vmask_logic"
    VMASK_COUNT = "vmask_count"  # vcpop, vfirst
    VMASK_SET = "vmask_set"  # vmsbf, vmsif, vmsof
    VIOTA = "viota"
    VID = "vid"
    VMOVE_TO_X = "vmove_to_x"
    VMOVE_FROM_X = "vmove_from_x"
    VSLIDE_UP = "vslide_up"
    VSLIDE_DOWN = "vslide_down"
    VSLIDE1_UP = "vslide1_up"
    VSLIDE1_DOWN = "vslide1_down"
    VGATHER = "vgather"
    VGATHER_SCALAR = "vgather_scalar"
    VGATHER16 = "vgather16"
    VCOMPRESS = "vcompress"
    VMOVE_WHOLE = "vmove_whole"
    # vector bit manipulation and cryptography
    VROTATE = "vrotate"
    VREVERSE = "vreverse"  # vbrev, vbrev8, vrev8
    VCOUNT = "vcount"  # vclz, vctz, vcpop.v
    VWIDEN_SHIFT = "vwiden_shift"
    VCLMUL = "vclmul"
    VGHASH = "vghash"
    VAES = "vaes"
    VAES_KEY = "vaes_key"
    VSHA2 = "vsha2"
    VSM3 = "vsm3"
    VSM4 = "vsm4"
    # matrix
    VMADOT = "vmadot"

    @property
    def is_vector(self) -> bool:
        return self.value.startswith("v")
