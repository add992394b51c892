"""Random straight-line vector programs of legal forms, as Linux executables.

A program loads all v and x registers from its data, executes blocks of one vset* and some vector
and scalar instructions, and writes its work area, x registers, CSRs and v registers to stdout.  An
instruction with an address is preceded by those that make one inside the work area.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from rvsim.config import Config
from rvsim.hart.memory import PAGE
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.decode import problems
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.vec.vtype import VType
from tests.oracle.legality import ELEMENT_GROUPS
from tests.program.bare import Step, assemble, load_upper, random_fields, step, vector_fields
from tests.program.elf_writer import write_elf

TEXT, DATA = 0x100000, 0x400000
X_INIT, V_INIT, INDICES, WORK, DUMP = (DATA + n for n in (0, 0x1000, 0x3000, 0x6000, 0x9000))
WORK_SIZE = DUMP - WORK
REACH = 0x1000
"""Bytes around a base address that an access may use; bases are in the middle third."""

F_INIT = X_INIT + 256
F_DUMP, V_DUMP = 0x140, 0x240
"""Where f and v registers are in the dump, behind x registers and CSRs."""

INDEX_TABLE = 0x1000
"""Bytes of the table of offsets for each width of 16, 32 and 64 bits."""

CSR_NAMES = ("vl", "vtype", "vstart", "vcsr", "vlenb", "fcsr")
CSR_NUMBERS = {csr.name: csr.number for csr in CSRS.values()}

SCRATCH, BASE, STRIDE = 31, 30, 29
FREE_X = range(0, 29)
"""x registers that a program computes with; the three above make addresses."""

SYS_WRITE, SYS_EXIT = 64, 93
_VSTART_0 = frozenset(
    {Unit.VREDUCE, Unit.VREDUCE_LOGIC, Unit.VREDUCE_WIDEN, Unit.VFREDUCE, Unit.VFREDUCE_ORDERED,
     Unit.VFREDUCE_WIDEN, Unit.VMASK_COUNT, Unit.VMASK_SET, Unit.VIOTA, Unit.VCOMPRESS}
)  # fmt: skip
"""V 14, 15.2 to 15.6, 15.8 and 16.5: these raise illegal instruction unless vstart is 0."""

_VECTOR_EXTENSIONS = frozenset({"v", "zvbb", "zvbc", "zvfbfmin", "zvfbfwma"})

_BF16_SCALAR = {"fcvt.s.bf16": "fs1", "vfwmaccbf16.vf": "fs1"}
"""QEMU reads an f register that is no boxed 16-bit number as NaN of binary16, 0x7e00, which is a
number in bfloat16; F 2.1 has the NaN of the format, 0x7fc0.  These get a boxed one."""

_ROUNDING = (0, 1, 2, 3, 4, 7)
"""Legal rm fields (F 2.2); 7 takes the mode of frm."""

_ATTEMPTS = 20

Block = tuple[Step, ...]
"""A step and what makes its operands: never cut when a program is shortened."""

Allowed = Callable[[Insn, VType], bool]


def anything(insn: Insn, vtype: VType) -> bool:
    return True


@dataclass(frozen=True)
class Program:
    """What to execute between loading and writing out, and the data it starts from."""

    config: Config
    seed: int
    blocks: tuple[Block, ...]
    data: bytes

    def elf(self, count: int | None = None) -> bytes:
        """The executable of the first `count` blocks, or all."""
        steps = [s for block in self.blocks[:count] for s in block]
        text = assemble([*prologue(self.config), *steps, *_epilogue(self.config)])
        return write_elf(text, self.data, text_addr=TEXT, data_addr=DATA)


def output_size(config: Config) -> int:
    return WORK_SIZE + V_DUMP + 32 * config.vlenb


def output_differences(config: Config, one: bytes, other: bytes) -> list[str]:
    """Names of the places at which two outputs differ, with both contents."""
    ends = [o.decode(errors="replace") for o in (one, other) if len(o) != output_size(config)]
    if ends:
        return ends
    spans = [(f"memory+{at:#x}", at, 16) for at in range(0, WORK_SIZE, 16)]
    spans += [(f"x{n}", WORK_SIZE + 8 * n, 8) for n in range(32)]
    spans += [(name, WORK_SIZE + 256 + 8 * n, 8) for n, name in enumerate(CSR_NAMES)]
    spans += [(f"f{n}", WORK_SIZE + F_DUMP + 8 * n, 8) for n in range(32)]
    first_v = WORK_SIZE + V_DUMP
    spans += [(f"v{n}", first_v + config.vlenb * n, config.vlenb) for n in range(32)]
    return [
        f"{name}: {one[at : at + n][::-1].hex()} | {other[at : at + n][::-1].hex()}"
        for name, at, n in spans
        if one[at : at + n] != other[at : at + n]
    ]


def prologue(config: Config) -> Iterable[Step]:
    """Loads all registers from the program's data."""
    yield load_upper(SCRATCH, V_INIT)
    yield step("addi", rd=BASE, rs1=0, imm=min(8 * config.vlenb, 1024))
    for first in range(0, 32, 8):
        yield step("vl8re8.v", vd=first, rs1=SCRATCH)
        yield step("add", rd=SCRATCH, rs1=SCRATCH, rs2=BASE)
    yield step("csrrwi", rd=0, csr=CSR_NUMBERS["vcsr"], uimm=0)
    yield load_upper(SCRATCH, X_INIT)
    for register in range(32):
        yield step("fld", fd=register, rs1=SCRATCH, imm=F_INIT - X_INIT + 8 * register)
    for register in range(1, SCRATCH):
        yield step("ld", rd=register, rs1=SCRATCH, imm=8 * register)


def _epilogue(config: Config) -> Iterable[Step]:
    yield load_upper(SCRATCH, DUMP)
    for register in FREE_X:
        yield step("sd", rs1=SCRATCH, rs2=register, imm=8 * register)
    for position, name in enumerate(CSR_NAMES):
        yield step("csrrs", rd=5, csr=CSR_NUMBERS[name], rs1=0)
        yield step("sd", rs1=SCRATCH, rs2=5, imm=256 + 8 * position)
    for register in range(32):
        yield step("fsd", rs1=SCRATCH, fs2=register, imm=F_DUMP + 8 * register)
    yield step("addi", rd=SCRATCH, rs1=SCRATCH, imm=V_DUMP)
    yield step("addi", rd=BASE, rs1=0, imm=8 * config.vlenb)
    for first in range(0, 32, 8):
        yield step("vs8r.v", vs3=first, rs1=SCRATCH)
        yield step("add", rd=SCRATCH, rs1=SCRATCH, rs2=BASE)
    yield step("addi", rd=10, rs1=0, imm=1)
    yield load_upper(11, WORK)
    size = output_size(config)
    yield step("lui", rd=12, uimm=(size + 0x800) >> 12)
    yield step("addi", rd=12, rs1=12, imm=(size + 0x800 & 0xFFF) - 0x800)
    yield step("addi", rd=17, rs1=0, imm=SYS_WRITE)
    yield step("ecall")
    yield step("addi", rd=10, rs1=0, imm=0)
    yield step("addi", rd=17, rs1=0, imm=SYS_EXIT)
    yield step("ecall")


def initial_data(rng: random.Random, config: Config) -> bytes:
    """Initial x registers, v registers, tables of offsets and work area; zeros to write to."""
    data = bytearray(WORK - DATA + output_size(config))
    for register in range(32):
        value = rng.choice(
            (rng.getrandbits(64), rng.getrandbits(8), -rng.getrandbits(8), 1 << rng.randrange(64))
        )
        struct.pack_into("<Q", data, 8 * register, value & (1 << 64) - 1)
    at = F_INIT - DATA
    for _ in range(32):
        # A short format in its box, or a double: both are numbers to some instruction.
        box = rng.choice((2, 4, 8))
        data[at : at + 8] = _floats(rng, box, box).ljust(8, b"\xff")
        at += 8
    at = V_INIT - DATA
    for _ in range(32):
        data[at : at + config.vlenb] = _lanes(rng, config.vlenb)
        at += config.vlenb
    for table, (layout, width) in enumerate((("H", 2), ("I", 4), ("Q", 8))):
        offsets = rng.choices(range(REACH - 64), k=INDEX_TABLE // width)
        packed = struct.pack(f"<{len(offsets)}{layout}", *offsets)
        at = INDICES - DATA + table * INDEX_TABLE
        data[at : at + INDEX_TABLE] = packed
    data[WORK - DATA : DUMP - DATA] = rng.randbytes(WORK_SIZE)
    return bytes(data)


def _floats(rng: random.Random, width: int, size: int) -> bytes:
    """Numbers of one format: of similar size, special ones, and any bits."""
    layout = {2: "<e", 4: "<f", 8: "<d"}[width]
    special = (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan)

    def number() -> bytes:
        kind = rng.randrange(8)
        if kind == 0:
            return rng.randbytes(width)
        return struct.pack(layout, rng.choice(special) if kind == 1 else rng.gauss(0, 4))

    return b"".join(number() for _ in range(size // width))


def _lanes(rng: random.Random, size: int) -> bytes:
    """Random bytes, floats, or extreme bytes: sums saturate, and compares find equals."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return _floats(rng, rng.choice((2, 4, 8)), size)
    return bytes(rng.choices((0, 0, 1, 0x7F, 0x80, 0xFF, 0xFF), k=size))


@cache
def vector_insns() -> dict[Unit, tuple[Insn, ...]]:
    """The standard vector instructions but vset*, and those on element groups, by class."""
    classes: dict[Unit, list[Insn]] = {}
    for insn in isa().insns:
        named = not _VECTOR_EXTENSIONS.isdisjoint(insn.extensions)
        if insn.unit.is_vector and named and insn.unit is not Unit.VSET:
            classes.setdefault(insn.unit, []).append(insn)
    return {unit: tuple(insns) for unit, insns in classes.items()}


_UNITS = tuple(vector_insns())
_WEIGHTS = [len(vector_insns()[unit]) ** 0.5 for unit in _UNITS]


def make_program(config: Config, seed: int, blocks: int, allowed: Allowed = anything) -> Program:
    """A program of about `blocks` vector instructions, the same for the same arguments.

    `allowed` may refuse instructions under a vtype, beyond those that are not legal.
    """
    rng = random.Random(seed)
    made: list[Block] = []
    while len(made) < blocks:
        vtype, setting = configure(rng, config)
        made.append(setting)
        for _ in range(rng.randint(1, 8)):
            made.append(vector_block(rng, config, vtype, allowed))
            if rng.random() < 0.1:
                made.append(csr_block(rng))
            if rng.random() < 0.3:
                made.append(scalar_block(rng))
    return Program(config, seed, tuple(made), initial_data(rng, config))


def make_fault_only_first_program(config: Config, seed: int, blocks: int) -> Program:
    """Fault-only-first loads, segments too, that begin before the end of the mapped memory."""
    rng = random.Random(seed)
    end = -(-(WORK + output_size(config)) // PAGE) * PAGE
    loads = [i for i in isa().insns if i.name.endswith("ff.v")]
    made: list[Block] = []
    while len(made) < blocks:
        vtype, setting = configure(rng, config)
        insn = rng.choice(loads)
        fields = _operands(rng, insn, vtype) | {"rs1": BASE}
        if problems(insn, fields, vtype, config):
            continue
        # Element 0 must be there: a segment has up to 64 bytes.
        back = rng.randint(64, 64 + config.vlenb)
        base = (load_upper(BASE, end), step("addi", rd=BASE, rs1=BASE, imm=-back))
        all_elements = step("vsetvli", rd=1, rs1=0, vtypei=vtype.encode())
        unmasked = Step(insn.name, fields | {"vm": 1})
        made += [setting, (all_elements, *base, unmasked), _read_csr(rng, "vl")]
    return Program(config, seed, tuple(made), initial_data(rng, config))


def make_element_group_program(
    config: Config, seed: int, blocks: int, allowed: Allowed = anything
) -> Program:
    """Vector cryptography, where vl and vstart count whole element groups."""
    rng = random.Random(seed)
    insns = [i for i in isa().insns if ELEMENT_GROUPS.match(i.name)]
    made: list[Block] = []
    while len(made) < blocks:
        vtype, insn = random_vtype(rng, config), rng.choice(insns)
        fields = _operands(rng, insn, vtype)
        if problems(insn, fields, vtype, config) or not allowed(insn, vtype):
            continue
        size = 8 if insn.unit is Unit.VSM3 else 4
        groups = rng.randint(0, vtype.vlmax(config.vlen) // size)
        vl = step("addi", rd=STRIDE, rs1=0, imm=size * groups)
        vset = step("vsetvli", rd=rng.choice(FREE_X), rs1=STRIDE, vtypei=vtype.encode())
        vstart = size * rng.randrange(min(groups, 32 // size) or 1) if rng.random() < 0.1 else 0
        start = step("csrrwi", rd=0, csr=CSR_NUMBERS["vstart"], uimm=vstart)
        made.append((vl, vset, *((start,) if vstart else ()), Step(insn.name, fields)))
    return Program(config, seed, tuple(made), initial_data(rng, config))


def _read_csr(rng: random.Random, name: str) -> Block:
    return (step("csrrs", rd=rng.choice(FREE_X), csr=CSR_NUMBERS[name], rs1=0),)


def random_vtype(rng: random.Random, config: Config) -> VType:
    while True:
        vtype = VType(rng.randint(3, 6), rng.randint(-3, 3), rng.random() < 0.5, rng.random() < 0.5)
        if vtype.supported(config.elen):
            return vtype


def _avl(rng: random.Random, vlmax: int) -> int:
    if rng.random() < 0.4:
        return rng.randint(0, vlmax)
    avl = rng.choice((0, 1, vlmax, vlmax + 1, rng.randint(vlmax, 2 * vlmax), 2 * vlmax))
    return min(avl, 2047)


def configure(rng: random.Random, config: Config) -> tuple[VType, Block]:
    """A legal vtype, and the instructions that set it with some vl."""
    vtype = random_vtype(rng, config)
    bits, rd = vtype.encode(), rng.choice(FREE_X)
    avl = step("addi", rd=STRIDE, rs1=0, imm=_avl(rng, vtype.vlmax(config.vlen)))
    match rng.randrange(5):
        case 0:
            return vtype, (step("vsetivli", rd=rd, uimm=rng.randrange(32), vtypei=bits),)
        case 1:
            wanted = step("addi", rd=BASE, rs1=0, imm=bits)
            return vtype, (avl, wanted, step("vsetvl", rd=rd, rs1=STRIDE, rs2=BASE))
        case 2:  # AVL ~0; rd = x0 would keep vl
            return vtype, (step("vsetvli", rd=rd or 1, rs1=0, vtypei=bits),)
        case 3:  # an unsupported vtype clears vl; vsetvli x0, x0 of the same ratio keeps it
            vill = step("vsetvli", rd=rd, rs1=STRIDE, vtypei=rng.choice((0b100, 0b1000000000, 63)))
            same = step("vsetvli", rd=0, rs1=0, vtypei=bits ^ rng.choice((0, 64, 128, 192)))
            again = VType.decode(same.fields["vtypei"])
            assert again is not None
            return again, (avl, vill, step("vsetvli", rd=rd, rs1=STRIDE, vtypei=bits), same)
        case _:
            return vtype, (avl, step("vsetvli", rd=rd, rs1=STRIDE, vtypei=bits))


@cache
def scalar_insns() -> tuple[Insn, ...]:
    """Instructions from registers to registers, whatever their extension."""
    integer = (Unit.ALU, Unit.MUL, Unit.DIV)
    other = (Unit.FENCE, Unit.FLOAD, Unit.FSTORE)
    return tuple(
        i
        for i in isa().insns
        if i.unit in integer or (i.unit.value.startswith("f") and i.unit not in other)
    )


def scalar_block(rng: random.Random) -> Block:
    """Scalar code between: QEMU knows the extensions that other machines lack."""
    insn = rng.choice(scalar_insns())
    while True:
        fields = random_fields(rng, insn, rm=rng.choice(_ROUNDING))
        if fields.get(str(insn.source("rd"))) not in (SCRATCH, BASE, STRIDE):
            return (*_boxed(rng, insn, fields), Step(insn.name, fields))


def _boxed(rng: random.Random, insn: Insn, fields: Mapping[str, int]) -> Block:
    """What makes the operand of `_BF16_SCALAR` a boxed number."""
    if insn.name not in _BF16_SCALAR:
        return ()
    return (step("fmv.h.x", fd=fields[_BF16_SCALAR[insn.name]], rs1=rng.choice(FREE_X)),)


def csr_block(rng: random.Random) -> Block:
    """A write to the CSRs of fixed or floating point, or a read of one of `CSR_NAMES`."""
    kind = rng.random()
    if kind < 0.3:
        return _read_csr(rng, rng.choice(CSR_NAMES))
    if kind < 0.6:  # only five rounding modes are legal
        return (step("csrrwi", rd=0, csr=CSR_NUMBERS["frm"], uimm=rng.randrange(5)),)
    number = CSR_NUMBERS[rng.choice(("vxrm", "vxsat", "vcsr", "fflags"))]
    name = rng.choice(("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"))
    insn = isa().by_name[name]
    return (Step(name, random_fields(rng, insn, csr=number, rd=rng.choice(FREE_X))),)


def vector_block(
    rng: random.Random, config: Config, vtype: VType, allowed: Allowed = anything
) -> Block:
    """One legal vector instruction under this vtype, with what makes its addresses."""
    while True:
        (unit,) = rng.choices(_UNITS, _WEIGHTS)
        insn = rng.choice(vector_insns()[unit])
        block = legal_block(rng, config, vtype, insn) if allowed(insn, vtype) else None
        if block is not None:
            return block


def legal_block(rng: random.Random, config: Config, vtype: VType, insn: Insn) -> Block | None:
    """The instruction with legal operands and what makes its addresses; None if none is found."""
    for _ in range(_ATTEMPTS):
        fields = _operands(rng, insn, vtype)
        setup = _address(rng, config, vtype, insn, fields)
        steps = (
            *setup,
            *_boxed(rng, insn, fields),
            *_vstart(rng, config, vtype, insn),
            Step(insn.name, fields),
        )
        if all(not problems(s.insn, s.fields, vtype, config) for s in steps):
            return steps
    return None


def _vstart(rng: random.Random, config: Config, vtype: VType, insn: Insn) -> Block:
    """Now and then a vstart within the elements, for an instruction that can start there.

    More than the last index is reserved (V 3.7); QEMU asserts then in whole-register loads.
    """
    if insn.unit in _VSTART_0 or rng.random() < 0.95:
        return ()
    elements = vtype.vlmax(config.vlen)
    if insn.unit in (Unit.VLOAD_MASK, Unit.VSTORE_MASK):
        elements = -(-elements // 8)
    for operand in insn.vregs:
        if operand.eew.kind == "whole":
            elements = operand.eew.value * config.vlen // 64  # of the widest EEW
    vstart = rng.randrange(min(32, elements))
    return (step("csrrwi", rd=0, csr=CSR_NUMBERS["vstart"], uimm=vstart),)


def _operands(rng: random.Random, insn: Insn, vtype: VType) -> dict[str, int]:
    return vector_fields(rng, insn, vtype, rd=rng.choice(FREE_X))


def _address(
    rng: random.Random, config: Config, vtype: VType, insn: Insn, fields: dict[str, int]
) -> Block:
    """What points rs1, the stride or the indices of a memory instruction into the work area."""
    if not insn.unit.value.startswith(("vload", "vstore")):
        return ()
    fields["rs1"] = BASE
    base = (
        load_upper(BASE, WORK + REACH),
        step("addi", rd=BASE, rs1=BASE, imm=rng.randrange(0, 2048)),
    )
    if "rs2" in fields:
        limit = (REACH - 64) // vtype.vlmax(config.vlen)
        fields["rs2"] = rng.choice((0, STRIDE, STRIDE, STRIDE))
        width = max(1, limit // 8)
        stride = rng.choice((rng.randint(-limit, limit), rng.randint(-width, width) * 8))
        return (*base, step("addi", rd=STRIDE, rs1=0, imm=max(-2048, min(stride, 2047))))
    if "vs2" not in fields:
        return base
    width = int(insn.name.rpartition("ei")[2].removesuffix(".v"))
    if width == 8:
        return base
    table = INDICES + INDEX_TABLE * (width.bit_length() - 5)
    return (
        load_upper(STRIDE, table),
        step("addi", rd=STRIDE, rs1=STRIDE, imm=rng.randrange(0, 2048, 8)),
        step(f"vle{width}.v", vd=fields["vs2"], rs1=STRIDE, vm=1),
        *base,
    )
