"""RV64I, M, Zicond, Zicsr, Zifencei and the hints: one function per instruction or table row."""

from collections.abc import Callable, Mapping

from tests.oracle import machine
from tests.oracle.bits import M64, quotient, remainder, signed, unsigned
from tests.oracle.state import (
    BREAKPOINT,
    ECALL_FROM_MACHINE,
    ECALL_FROM_USER,
    FFLAGS,
    FRM,
    ILLEGAL_INSTRUCTION,
    OracleState,
    OracleTrap,
)

Fields = Mapping[str, int]
Row = Callable[[OracleState, Fields], None]
Binary = Callable[[int, int], int]


def register_row(function: Binary) -> Row:
    """`rd = function(rs1, rs2)` on unsigned 64-bit values."""

    def row(state: OracleState, fields: Fields) -> None:
        state.set_x(fields["rd"], function(state.x[fields["rs1"]], state.x[fields["rs2"]]))

    return row


def immediate_row(function: Binary, operand: str = "imm") -> Row:
    """`rd = function(rs1, immediate)`; the immediate is sign-extended to 64 bits."""

    def row(state: OracleState, fields: Fields) -> None:
        state.set_x(fields["rd"], function(state.x[fields["rs1"]], fields[operand] & M64))

    return row


def word(function: Binary) -> Binary:
    """The *W form: the low 32 bits of the result, sign-extended (RV64I 4.2)."""
    return lambda a, b: signed(function(a, b), 32)


def s64(value: int) -> int:
    return signed(value, 64)


def u32(value: int) -> int:
    return unsigned(value, 32)


def s32(value: int) -> int:
    return signed(value, 32)


REGISTER: dict[str, Binary] = {
    # RV32I 2.4, RV64I 4.2
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sll": lambda a, b: a << (b & 63),
    "slt": lambda a, b: int(s64(a) < s64(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "srl": lambda a, b: a >> (b & 63),
    "sra": lambda a, b: s64(a) >> (b & 63),
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "addw": word(lambda a, b: a + b),
    "subw": word(lambda a, b: a - b),
    "sllw": word(lambda a, b: a << (b & 31)),
    "srlw": word(lambda a, b: u32(a) >> (b & 31)),
    "sraw": word(lambda a, b: s32(a) >> (b & 31)),
    # M 13
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: (s64(a) * s64(b)) >> 64,
    "mulhsu": lambda a, b: (s64(a) * b) >> 64,
    "mulhu": lambda a, b: (a * b) >> 64,
    "mulw": word(lambda a, b: a * b),
    "div": lambda a, b: quotient(s64(a), s64(b)),
    "divu": quotient,
    "rem": lambda a, b: remainder(s64(a), s64(b)),
    "remu": remainder,
    "divw": word(lambda a, b: quotient(s32(a), s32(b))),
    "divuw": word(lambda a, b: quotient(u32(a), u32(b))),
    "remw": word(lambda a, b: remainder(s32(a), s32(b))),
    "remuw": word(lambda a, b: remainder(u32(a), u32(b))),
    # Zicond
    "czero.eqz": lambda a, b: 0 if b == 0 else a,
    "czero.nez": lambda a, b: 0 if b != 0 else a,
}

# Each immediate form computes what its register form does.
IMMEDIATE = {
    "addi": "add",
    "slti": "slt",
    "sltiu": "sltu",
    "xori": "xor",
    "ori": "or",
    "andi": "and",
    "addiw": "addw",
}
SHIFT_IMMEDIATE = {
    "slli": "sll",
    "srli": "srl",
    "srai": "sra",
    "slliw": "sllw",
    "srliw": "srlw",
    "sraiw": "sraw",
}

# RV32I 2.5.2
BRANCH: dict[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: s64(a) < s64(b),
    "bge": lambda a, b: s64(a) >= s64(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}


def branch_row(taken: Callable[[int, int], bool]) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        if taken(state.x[fields["rs1"]], state.x[fields["rs2"]]):
            state.next_pc = (state.pc + fields["imm"]) & M64

    return row


def lui(state: OracleState, fields: Fields) -> None:
    """`imm` is the 20-bit number that stands in the assembly text."""
    state.set_x(fields["rd"], signed(fields["imm"] << 12, 32))


def auipc(state: OracleState, fields: Fields) -> None:
    state.set_x(fields["rd"], state.pc + signed(fields["imm"] << 12, 32))


def jal(state: OracleState, fields: Fields) -> None:
    link = state.next_pc
    state.next_pc = (state.pc + fields["imm"]) & M64
    state.set_x(fields["rd"], link)


def jalr(state: OracleState, fields: Fields) -> None:
    """The target is computed before rd is written, and its lowest bit is cleared."""
    link = state.next_pc
    state.next_pc = (state.x[fields["rs1"]] + fields["imm"]) & M64 & ~1
    state.set_x(fields["rd"], link)


def nothing(state: OracleState, fields: Fields) -> None:
    """Fences, waits and prefetches: no effect that one hart can see."""


def ecall(state: OracleState, fields: Fields) -> None:
    raise OracleTrap(ECALL_FROM_MACHINE if state.privilege == machine.MACHINE else ECALL_FROM_USER)


def ebreak(state: OracleState, fields: Fields) -> None:
    raise OracleTrap(BREAKPOINT, state.pc)


FCSR = 0x003
VSTART, VXSAT, VXRM, VCSR, VL, VTYPE, VLENB = 0x008, 0x009, 0x00A, 0x00F, 0xC20, 0xC21, 0xC22


def read_csr(state: OracleState, csr: int) -> int:
    """V 3: the vector CSRs; every other one is the caller's, fcsr being made of its parts."""
    vector = {
        VSTART: state.vstart,
        VXSAT: state.vxsat,
        VXRM: state.vxrm,
        VCSR: state.vxrm << 1 | state.vxsat,
        VL: state.vl,
        VTYPE: state.vtype,
        VLENB: state.vlenb,
    }
    if csr in vector:
        return vector[csr]
    privileged = machine.read(state, csr)
    if privileged is not None:
        return privileged
    if csr not in state.csr:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    if csr == FCSR:
        return state.frm << 5 | state.fflags
    return state.csr[csr]


def write_csr(state: OracleState, csr: int, value: int) -> None:
    """V 3.5 to 3.8, F 2: each CSR keeps only the bits that it has."""
    if csr == VSTART:
        state.vstart = value % state.vlen
    elif csr == VXSAT:
        state.vxsat = value & 1
    elif csr == VXRM:
        state.vxrm = value & 3
    elif csr == VCSR:
        state.vxsat, state.vxrm = value & 1, value >> 1 & 3
    elif csr == FFLAGS:
        state.fflags = value & 31
    elif csr == FRM:
        state.frm = value & 7
    elif csr == FCSR:
        state.fflags, state.frm = value & 31, value >> 5 & 7
    elif not machine.write(state, csr, value):
        state.csr[csr] = value & M64


def csr_row(update: Binary, immediate: bool, always_writes: bool) -> Row:
    """Zicsr 6.1; set and clear with x0 or a zero immediate don't write at all."""

    def row(state: OracleState, fields: Fields) -> None:
        csr = fields["csr"]
        operand = fields["uimm"] if immediate else state.x[fields["rs1"]]
        writes = always_writes or fields["uimm" if immediate else "rs1"] != 0
        read_only = csr >> 10 == 3
        if writes and read_only:
            raise OracleTrap(ILLEGAL_INSTRUCTION)
        machine.check_privilege(state, csr)
        old = read_csr(state, csr)
        if writes:
            write_csr(state, csr, update(old, operand))
        state.set_x(fields["rd"], old)

    return row


CSR_UPDATE: dict[str, Binary] = {
    "csrrw": lambda old, operand: operand,
    "csrrs": lambda old, operand: old | operand,
    "csrrc": lambda old, operand: old & ~operand,
}

HINTS = "fence fence.tso fence.i pause wrs.nto wrs.sto prefetch.i prefetch.r prefetch.w"

ROWS: dict[str, Row] = {
    "lui": lui,
    "auipc": auipc,
    "jal": jal,
    "jalr": jalr,
    "ecall": ecall,
    "ebreak": ebreak,
}
ROWS |= {name: register_row(function) for name, function in REGISTER.items()}
ROWS |= {name: immediate_row(REGISTER[full]) for name, full in IMMEDIATE.items()}
ROWS |= {name: immediate_row(REGISTER[full], "shamt") for name, full in SHIFT_IMMEDIATE.items()}
ROWS |= {name: branch_row(taken) for name, taken in BRANCH.items()}
ROWS |= {name: nothing for name in HINTS.split()}
for _name, _update in CSR_UPDATE.items():
    ROWS[_name] = csr_row(_update, immediate=False, always_writes=_name == "csrrw")
    ROWS[_name + "i"] = csr_row(_update, immediate=True, always_writes=_name == "csrrw")
