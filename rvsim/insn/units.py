"""Unit classes: what an instruction occupies, as far as the definition can say it.

The cost tables of a core (`isa/cores/*.toml`) give each class its latency and occupancy; the
definitions name the class and no number.
"""

from __future__ import annotations

from enum import Flag, StrEnum, auto


class Kind(Flag):
    """What units have in common; a unit may be of several kinds."""

    NONE = 0
    VECTOR = auto()
    FLOAT = auto()
    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    JUMP = auto()
    REDUCTION = auto()


class Unit(StrEnum):
    """Class of an instruction for counters and cost tables, and what kind of unit that is."""

    is_vector: bool
    is_float: bool
    """Computes with floating-point numbers, or moves scalar ones."""
    is_store: bool
    """Writes memory, and gives no result."""
    is_memory: bool
    """Reads or writes memory as data."""
    is_jump: bool
    """Decides where the program goes on."""
    is_reduction: bool

    def __new__(cls, value: str, kinds: Kind = Kind.NONE) -> Unit:
        unit = str.__new__(cls, value)
        unit._value_ = value
        unit.is_vector = Kind.VECTOR in kinds
        unit.is_float = Kind.FLOAT in kinds
        unit.is_store = Kind.STORE in kinds
        unit.is_memory = bool(kinds & (Kind.LOAD | Kind.STORE | Kind.ATOMIC))
        unit.is_jump = Kind.JUMP in kinds
        unit.is_reduction = Kind.REDUCTION in kinds
        return unit

    # scalar
    ALU = "alu"
    BRANCH = "branch", Kind.JUMP
    JUMP = "jump", Kind.JUMP
    MUL = "mul"
    DIV = "div"
    LOAD = "load", Kind.LOAD
    STORE = "store", Kind.STORE
    AMO = "amo", Kind.ATOMIC
    CSR = "csr"
    FENCE = "fence"
    CACHE = "cache"
    SYSTEM = "system"
    # scalar floating point
    FLOAD = "fload", Kind.FLOAT | Kind.LOAD
    FSTORE = "fstore", Kind.FLOAT | Kind.STORE
    FADD = "fadd", Kind.FLOAT
    FMUL = "fmul", Kind.FLOAT
    FMA = "fma", Kind.FLOAT
    FDIV = "fdiv", Kind.FLOAT
    FSQRT = "fsqrt", Kind.FLOAT
    FSIGN = "fsign", Kind.FLOAT  # fsgnj
    FMINMAX = "fminmax", Kind.FLOAT
    FCOMPARE = "fcompare", Kind.FLOAT
    FCLASS = "fclass", Kind.FLOAT
    FCVT = "fcvt", Kind.FLOAT  # between formats; fround
    FCVT_TO_X = "fcvt_to_x", Kind.FLOAT
    FCVT_FROM_X = "fcvt_from_x", Kind.FLOAT
    FMOVE_TO_X = "fmove_to_x", Kind.FLOAT
    FMOVE_FROM_X = "fmove_from_x", Kind.FLOAT
    # vector configuration and memory
    VSET = "vset", Kind.VECTOR
    VLOAD_UNIT = "vload_unit", Kind.VECTOR | Kind.LOAD
    VLOAD_MASK = "vload_mask", Kind.VECTOR | Kind.LOAD
    VLOAD_WHOLE = "vload_whole", Kind.VECTOR | Kind.LOAD
    VLOAD_FF = "vload_ff", Kind.VECTOR | Kind.LOAD
    VLOAD_STRIDED = "vload_strided", Kind.VECTOR | Kind.LOAD
    VLOAD_INDEXED = "vload_indexed", Kind.VECTOR | Kind.LOAD
    VLOAD_SEGMENT = "vload_segment", Kind.VECTOR | Kind.LOAD
    VSTORE_UNIT = "vstore_unit", Kind.VECTOR | Kind.STORE
    VSTORE_MASK = "vstore_mask", Kind.VECTOR | Kind.STORE
    VSTORE_WHOLE = "vstore_whole", Kind.VECTOR | Kind.STORE
    VSTORE_STRIDED = "vstore_strided", Kind.VECTOR | Kind.STORE
    VSTORE_INDEXED = "vstore_indexed", Kind.VECTOR | Kind.STORE
    VSTORE_SEGMENT = "vstore_segment", Kind.VECTOR | Kind.STORE
    # vector integer
    VALU = "valu", Kind.VECTOR  # add, subtract, min, max, averaging and saturating adds
    VLOGIC = "vlogic", Kind.VECTOR  # and, or, xor
    VSHIFT = "vshift", Kind.VECTOR
    VCARRY = "vcarry", Kind.VECTOR  # vadc, vsbc
    VCARRY_OUT = "vcarry_out", Kind.VECTOR  # vmadc, vmsbc
    VCOMPARE = "vcompare", Kind.VECTOR
    VMERGE = "vmerge", Kind.VECTOR
    VMOVE = "vmove", Kind.VECTOR
    VEXTEND = "vextend", Kind.VECTOR
    VMUL = "vmul", Kind.VECTOR
    VMAC = "vmac", Kind.VECTOR
    VDIV = "vdiv", Kind.VECTOR
    VWIDEN_ALU = "vwiden_alu", Kind.VECTOR
    VWIDEN_MUL = "vwiden_mul", Kind.VECTOR
    VWIDEN_MAC = "vwiden_mac", Kind.VECTOR
    VNARROW = "vnarrow", Kind.VECTOR
    VREDUCE = "vreduce", Kind.VECTOR | Kind.REDUCTION
    VREDUCE_LOGIC = "vreduce_logic", Kind.VECTOR | Kind.REDUCTION
    VREDUCE_WIDEN = "vreduce_widen", Kind.VECTOR | Kind.REDUCTION
    # vector floating point
    VFADD = "vfadd", Kind.VECTOR | Kind.FLOAT  # add, subtract
    VFMINMAX = "vfminmax", Kind.VECTOR | Kind.FLOAT
    VFMUL = "vfmul", Kind.VECTOR | Kind.FLOAT
    VFMA = "vfma", Kind.VECTOR | Kind.FLOAT
    VFDIV = "vfdiv", Kind.VECTOR | Kind.FLOAT
    VFSQRT = "vfsqrt", Kind.VECTOR | Kind.FLOAT
    VFESTIMATE = "vfestimate", Kind.VECTOR | Kind.FLOAT  # vfrec7, vfrsqrt7
    VFSIGN = "vfsign", Kind.VECTOR | Kind.FLOAT
    VFCLASS = "vfclass", Kind.VECTOR | Kind.FLOAT
    VFCOMPARE = "vfcompare", Kind.VECTOR | Kind.FLOAT
    VFCVT = "vfcvt", Kind.VECTOR | Kind.FLOAT
    VFWIDEN_ADD = "vfwiden_add", Kind.VECTOR | Kind.FLOAT
    VFWIDEN_ADD_W = "vfwiden_add_w", Kind.VECTOR | Kind.FLOAT
    VFWIDEN_MUL = "vfwiden_mul", Kind.VECTOR | Kind.FLOAT
    VFWIDEN_MA = "vfwiden_ma", Kind.VECTOR | Kind.FLOAT
    VFWIDEN_CVT = "vfwiden_cvt", Kind.VECTOR | Kind.FLOAT
    VFNARROW_CVT = "vfnarrow_cvt", Kind.VECTOR | Kind.FLOAT
    VFREDUCE = "vfreduce", Kind.VECTOR | Kind.FLOAT | Kind.REDUCTION  # unordered sum, min, max
    VFREDUCE_ORDERED = "vfreduce_ordered", Kind.VECTOR | Kind.FLOAT | Kind.REDUCTION
    VFREDUCE_WIDEN = "vfreduce_widen", Kind.VECTOR | Kind.FLOAT | Kind.REDUCTION
    # vector mask and permutation
    VMASK_LOGIC = "vmask_logic", Kind.VECTOR
    VMASK_COUNT = "vmask_count", Kind.VECTOR  # vcpop, vfirst
    VMASK_SET = "vmask_set", Kind.VECTOR  # vmsbf, vmsif, vmsof
    VIOTA = "viota", Kind.VECTOR
    VID = "vid", Kind.VECTOR
    VMOVE_TO_X = "vmove_to_x", Kind.VECTOR
    VMOVE_FROM_X = "vmove_from_x", Kind.VECTOR
    VSLIDE_UP = "vslide_up", Kind.VECTOR
    VSLIDE_DOWN = "vslide_down", Kind.VECTOR
    VSLIDE1_UP = "vslide1_up", Kind.VECTOR
    VSLIDE1_DOWN = "vslide1_down", Kind.VECTOR
    VGATHER = "vgather", Kind.VECTOR
    VGATHER_SCALAR = "vgather_scalar", Kind.VECTOR
    VGATHER16 = "vgather16", Kind.VECTOR
    VCOMPRESS = "vcompress", Kind.VECTOR
    VMOVE_WHOLE = "vmove_whole", Kind.VECTOR
    # vector bit manipulation and cryptography
    VROTATE = "vrotate", Kind.VECTOR
    VREVERSE = "vreverse", Kind.VECTOR  # vbrev, vbrev8, vrev8
    VCOUNT = "vcount", Kind.VECTOR  # vclz, vctz, vcpop.v
    VWIDEN_SHIFT = "vwiden_shift", Kind.VECTOR
    VCLMUL = "vclmul", Kind.VECTOR
    VGHASH = "vghash", Kind.VECTOR
    VAES = "vaes", Kind.VECTOR
    VAES_KEY = "vaes_key", Kind.VECTOR
    VSHA2 = "vsha2", Kind.VECTOR
    VSM3 = "vsm3", Kind.VECTOR
    VSM4 = "vsm4", Kind.VECTOR
    # matrix
    VMADOT = "vmadot", Kind.VECTOR
