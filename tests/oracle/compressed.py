"""C and Zcb: each compressed instruction as the full instruction that it stands for.

`fields` hold register numbers after the three-bit mapping, and the immediates of the assembly text.
"""

from collections.abc import Callable

from tests.oracle import scalar, scalar_bits, scalar_memory
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import OracleState

FULL: dict[str, Row] = {**scalar.ROWS, **scalar_bits.ROWS, **scalar_memory.ROWS}
RA, SP = 1, 2

Expansion = tuple[str, Callable[[Fields], dict[str, int]]]


def two_registers(fields: Fields) -> dict[str, int]:
    """`rd = rd op rs2`."""
    return {"rd": fields["rd"], "rs1": fields["rd"], "rs2": fields["rs2"]}


def register_immediate(fields: Fields) -> dict[str, int]:
    """`rd = rd op imm`."""
    return {"rd": fields["rd"], "rs1": fields["rd"], "imm": fields["imm"]}


def shift(fields: Fields) -> dict[str, int]:
    """`rd = rd shifted by imm`."""
    return {"rd": fields["rd"], "rs1": fields["rd"], "shamt": fields["imm"]}


def unary(fields: Fields) -> dict[str, int]:
    """`rd = op rd`."""
    return {"rd": fields["rd"], "rs1": fields["rd"]}


def same(fields: Fields) -> dict[str, int]:
    return dict(fields)


def from_stack(fields: Fields) -> dict[str, int]:
    return {**fields, "rs1": SP}


def jump_through(link: int) -> Callable[[Fields], dict[str, int]]:
    return lambda fields: {"rd": link, "rs1": fields["rs1"], "imm": 0}


EXPANSIONS: dict[str, Expansion] = {
    # C 28.3: loads and stores
    "c.lwsp": ("lw", from_stack),
    "c.ldsp": ("ld", from_stack),
    "c.swsp": ("sw", from_stack),
    "c.sdsp": ("sd", from_stack),
    "c.lw": ("lw", same),
    "c.ld": ("ld", same),
    "c.sw": ("sw", same),
    "c.sd": ("sd", same),
    # C 28.4: control transfer
    "c.j": ("jal", lambda fields: {"rd": 0, "imm": fields["imm"]}),
    "c.jr": ("jalr", jump_through(0)),
    "c.jalr": ("jalr", jump_through(RA)),
    "c.beqz": ("beq", lambda fields: {**fields, "rs2": 0}),
    "c.bnez": ("bne", lambda fields: {**fields, "rs2": 0}),
    # C 28.5: integer computation
    "c.li": ("addi", lambda fields: {"rd": fields["rd"], "rs1": 0, "imm": fields["imm"]}),
    "c.lui": ("lui", same),
    "c.addi": ("addi", register_immediate),
    "c.addiw": ("addiw", register_immediate),
    "c.addi16sp": ("addi", lambda fields: {"rd": SP, "rs1": SP, "imm": fields["imm"]}),
    "c.addi4spn": ("addi", from_stack),
    "c.slli": ("slli", shift),
    "c.srli": ("srli", shift),
    "c.srai": ("srai", shift),
    "c.andi": ("andi", register_immediate),
    "c.mv": ("add", lambda fields: {"rd": fields["rd"], "rs1": 0, "rs2": fields["rs2"]}),
    "c.add": ("add", two_registers),
    "c.and": ("and", two_registers),
    "c.or": ("or", two_registers),
    "c.xor": ("xor", two_registers),
    "c.sub": ("sub", two_registers),
    "c.addw": ("addw", two_registers),
    "c.subw": ("subw", two_registers),
    "c.nop": ("addi", lambda fields: {"rd": 0, "rs1": 0, "imm": 0}),
    "c.ebreak": ("ebreak", same),
    # Zcb
    "c.lbu": ("lbu", same),
    "c.lhu": ("lhu", same),
    "c.lh": ("lh", same),
    "c.sb": ("sb", same),
    "c.sh": ("sh", same),
    "c.zext.b": ("andi", lambda fields: {**unary(fields), "imm": 0xFF}),
    "c.sext.b": ("sext.b", unary),
    "c.zext.h": ("zext.h", unary),
    "c.sext.h": ("sext.h", unary),
    "c.zext.w": ("add.uw", lambda fields: {**unary(fields), "rs2": 0}),
    "c.not": ("xori", lambda fields: {**unary(fields), "imm": -1}),
    "c.mul": ("mul", two_registers),
}


def expansion_row(full_name: str, expand: Callable[[Fields], dict[str, int]]) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        FULL[full_name](state, expand(fields))

    return row


ROWS: dict[str, Row] = {name: expansion_row(*expansion) for name, expansion in EXPANSIONS.items()}
