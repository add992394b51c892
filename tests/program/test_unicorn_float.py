"""Random F and D programs in lockstep with Unicorn: f and x registers, fflags, pc and memory.

Unicorn 2.1 is QEMU 5: `FAULTS` has each thing that it does against the specification, with what
the programs here do about it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
import unicorn
from unicorn import riscv_const

from rvsim.insn.base.fp_forms import DYNAMIC
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from tests.program import lockstep
from tests.program.bare import DATA_SIZE, TEXT, Bare, Step, assemble, random_fields, step
from tests.program.lockstep import POINTERS, S0, random_x, state_differences, written

COMPARED = frozenset({"f", "d", "zcd"})
MODES = (0, 1, 2, 3, 4)
RESERVED_MODES = (5, 6, 7)
"""Of frm; the first two of the rm field as well."""

SINGLES, DOUBLES = range(0, 32, 2), range(1, 32, 2)
"""Registers that hold boxed singles from the start to the end, and those that hold doubles."""

F_OPERANDS = ("fs1", "fs2", "fs3")
RAW = frozenset({"fsw", "fmv.x.w"})
"""Take the low half of any register, boxed or not (F 13.2)."""

F_REGISTERS = tuple(getattr(riscv_const, f"UC_RISCV_REG_F{n}") for n in range(32))
FFLAGS, FRM = riscv_const.UC_RISCV_REG_FFLAGS, riscv_const.UC_RISCV_REG_FRM
MSTATUS, FS_DIRTY = riscv_const.UC_RISCV_REG_MSTATUS, 3 << 13
LOW = (1 << 32) - 1
BOX = LOW << 32
NV = 0x10

ONE, INFINITY, SIGNALLING, NAN = 0x3F80_0000, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000
INFINITY_D = 0x7FF0 << 48
ONE_D, SIGNALLING_D, NAN_D = 0x3FF0 << 48, INFINITY_D + 1, 0x7FF8 << 48


@dataclass(frozen=True)
class Fault:
    """A case in which Unicorn 2.1 leaves the specification: f1, f2 … to fd and fflags."""

    name: str
    operands: tuple[int, ...]
    specified: tuple[int, int]
    unicorn: tuple[int, int]
    why: str


UNBOXED_RESULT = """\
F 13.2: a single result is NaN-boxed.  Unicorn leaves the upper half 0; only the lower half of such
a result is compared, and Unicorn gets the boxed one before it goes on."""

UNBOXED_OPERAND = """\
F 13.2: a single operand that is not boxed is the canonical NaN.  Unicorn takes the lower half; here
singles and doubles have registers of their own, so that all singles are boxed."""

SIGNALLING_MINIMUM = """\
F 6: of a signalling NaN and a number it is the number, as in minimumNumber of IEEE 754-2019.
Unicorn gives the canonical NaN, as in minNum of 2008 (F 2.0 and 2.1); with a signalling operand fd
is not compared, but the flags are."""

INFINITY_TIMES_ZERO = """\
F 6: the product of infinity and zero is invalid even if the addend is a quiet NaN.  Unicorn raises
nothing; with such operands NV is not compared."""

FAULTS = (
    Fault("fadd.s", (BOX | ONE, BOX | 0), (BOX | ONE, 0), (ONE, 0), UNBOXED_RESULT),
    Fault("fadd.s", (ONE, BOX | 0), (BOX | NAN, 0), (ONE, 0), UNBOXED_OPERAND),
    Fault("fsgnj.s", (ONE, BOX | 0), (BOX | NAN, 0), (BOX | ONE, 0), UNBOXED_OPERAND),
    *(
        case
        for name in ("fmin", "fmax")
        for case in (
            Fault(
                f"{name}.s",
                (BOX | ONE, BOX | SIGNALLING),
                (BOX | ONE, NV),
                (NAN, NV),
                SIGNALLING_MINIMUM,
            ),
            Fault(f"{name}.d", (ONE_D, SIGNALLING_D), (ONE_D, NV), (NAN_D, NV), SIGNALLING_MINIMUM),
        )
    ),
    *(
        case
        for name in ("fmadd", "fmsub", "fnmadd", "fnmsub")
        for case in (
            Fault(
                f"{name}.s",
                (BOX | INFINITY, BOX | 0, BOX | NAN),
                (BOX | NAN, NV),
                (NAN, 0),
                INFINITY_TIMES_ZERO,
            ),
            Fault(
                f"{name}.d", (0, INFINITY_D, NAN_D), (NAN_D, NV), (NAN_D, 0), INFINITY_TIMES_ZERO
            ),
        )
    ),
)
"""All of them: each other instruction gives the same results and the same flags."""


@dataclass(frozen=True)
class Program:
    """Straight-line code, and the state that it starts in."""

    steps: Sequence[Step]
    x: Sequence[int]
    f: Sequence[int]
    frm: int
    data: bytes

    @property
    def code(self) -> bytes:
        return assemble(self.steps)


def float_insns() -> list[Insn]:
    return [i for i in isa().insns if not COMPARED.isdisjoint(i.extensions)]


def is_single(insn: Insn, operand: str) -> bool:
    """Whether an f register operand is a single; all others are doubles."""
    name, *formats = insn.name.split(".")
    if not formats:
        return name.endswith("w")
    return formats[0 if operand == "fd" else -1] in ("s", "w")


def random_float(rng: random.Random, *, single: bool, extreme: bool) -> int:
    """A pattern, often at the ends of a range or near those of the integers.

    `extreme`: zero, subnormal, barely normal, infinite or a NaN.
    """
    exponent_bits, width = (8, 23) if single else (11, 52)
    top = (1 << exponent_bits) - 1
    near = (top >> 1) + rng.choice((rng.randrange(-3, 4), rng.randrange(-60, 70)))
    end = (top >> 1) + rng.choice((30, 31, 32, 62, 63, 64))
    choices = (0, 1, top - 1, top, rng.randrange(top), near, near, near, end)
    exponent = rng.choice((0, 1, top, top) if extreme else choices)
    fraction = rng.choice(
        (
            0,
            0,
            1,
            1 << width - 1,
            (1 << width) - 1,
            rng.getrandbits(6),
            rng.getrandbits(8) << width - 8,
            *(rng.getrandbits(width) for _ in range(3)),
        )
    )
    return (rng.getrandbits(1) << exponent_bits | exponent) << width | fraction


def random_f(rng: random.Random, number: int, *, extreme: bool) -> int:
    single = number in SINGLES
    return (BOX if single else 0) | random_float(rng, single=single, extreme=extreme)


def random_data(rng: random.Random, *, extreme: bool) -> bytes:
    """Doubles and pairs of singles."""
    data = bytearray()
    while len(data) < DATA_SIZE:
        for size in rng.choice(((8,), (4, 4))):
            pattern = random_float(rng, single=size == 4, extreme=extreme)
            data += pattern.to_bytes(size, "little")
    return bytes(data)


def random_step(rng: random.Random, insn: Insn, *, mixed: bool) -> Step:
    """`mixed`: doubles are read from any register; a boxed single is a NaN."""
    fixed: dict[str, int] = {}
    for code in insn.encoding.fields:
        if code.name in ("fd", *F_OPERANDS):
            registers = SINGLES if is_single(insn, code.name) else DOUBLES
            if mixed and code.name != "fd" and (registers is DOUBLES or insn.name in RAW):
                registers = range(32)
            fixed[code.name] = rng.choice([r for r in registers if not code.compact or r >> 3 == 1])
        elif code.name == "rm":
            fixed["rm"] = rng.choice((*MODES, DYNAMIC, DYNAMIC))
        elif code.name == "imm" and rng.random() < 0.9:
            fixed["imm"] = 8 * rng.randrange(-256, 256)
        elif code.name == "rs1" and insn.unit in (Unit.FLOAD, Unit.FSTORE):
            fixed["rs1"] = S0
    while True:
        fields = random_fields(rng, insn, **fixed)
        if written(insn, fields) not in POINTERS:
            return Step(insn.name, fields)


def make_program(seed: int, count: int, insns: Sequence[Insn], *, mixed: bool = True) -> Program:
    rng = random.Random(seed)
    loads = [i for i in insns if i.unit is Unit.FLOAD]
    steps = [
        random_step(rng, rng.choice(loads if rng.random() < 0.2 else insns), mixed=mixed)
        for _ in range(count)
    ]
    x = [random_x(rng, n) for n in range(32)]
    extreme = rng.random() < 0.3
    f = [random_f(rng, n, extreme=extreme) for n in range(32)]
    return Program(steps, x, f, rng.choice(MODES), random_data(rng, extreme=extreme))


def make_both(program: Program) -> tuple[Bare, unicorn.Uc]:
    bare, uc = lockstep.make_bare(program), lockstep.make_unicorn(program)
    uc.reg_write(MSTATUS, FS_DIRTY)
    for number, value in enumerate(program.f):
        bare.state.f[number] = value
        uc.reg_write(F_REGISTERS[number], value)
    bare.state["frm"] = program.frm
    uc.reg_write(FRM, program.frm)
    return bare, uc


def set_fflags(bare: Bare, uc: unicorn.Uc, value: int) -> None:
    bare.state["fflags"] = value
    uc.reg_write(FFLAGS, value)


@dataclass(frozen=True)
class Operand:
    """An f register as a single or double."""

    register: int
    single: bool

    @property
    def magnitude(self) -> int:
        return self.register & (LOW >> 1 if self.single else (1 << 63) - 1)

    @property
    def infinity(self) -> int:
        return INFINITY if self.single else INFINITY_D

    @property
    def is_nan(self) -> bool:
        return self.magnitude > self.infinity

    @property
    def is_signalling(self) -> bool:
        return self.is_nan and self.magnitude < (NAN if self.single else NAN_D)


def operands(s: Step, f: Sequence[int]) -> list[Operand]:
    names = (name for name in F_OPERANDS if name in s.fields)
    return [Operand(f[s.fields[name]], is_single(s.insn, name)) for name in names]


def is_infinity_times_zero(a: Operand, b: Operand) -> bool:
    return {a.magnitude, b.magnitude} == {0, a.infinity}


def float_differences(
    bare: Bare, uc: unicorn.Uc, masks: Mapping[int, int], flags_mask: int = 0x1F
) -> list[str]:
    """In fflags and the f registers, of which `masks` has the bits to compare, if not all."""
    found = []
    for number, theirs in enumerate(uc.reg_read_batch(F_REGISTERS)):
        ours = bare.state.f[number]
        if (ours ^ theirs) & masks.get(number, -1):
            found.append(f"f{number}: rvsim {ours:#x}, Unicorn {theirs:#x}")
    ours, theirs = bare.state["fflags"], uc.reg_read(FFLAGS)
    if (ours ^ theirs) & flags_mask:
        found.append(f"fflags: rvsim {ours:#x}, Unicorn {theirs:#x}")
    return found


def assert_lockstep(program: Program, seed: int) -> None:
    bare, uc = make_both(program)
    end = TEXT + len(program.code)
    for count, s in enumerate(program.steps):
        if count % 4:  # Flags of its own; now and then those of several.
            set_fflags(bare, uc, 0)
        pc, before = bare.state["pc"], list(bare.state.f)
        sources = operands(s, before)
        patterns = ", ".join(f"{source.register:#x}" for source in sources)
        what = f"seed {seed}, {pc:#x}: {s}; frm {program.frm}; of {patterns}"
        trap = bare.run(1)
        assert trap is None, f"{what}: {trap}"
        uc.emu_start(pc, end, count=1)
        masks: dict[int, int] = {}
        flags_mask = 0x1F
        fd = s.fields.get("fd")
        if fd is not None and is_single(s.insn, "fd"):
            assert bare.state.f[fd] >= BOX, f"{what}: not boxed"
            masks[fd] = LOW
        if s.insn.unit is Unit.FMINMAX and any(source.is_signalling for source in sources):
            masks[s.fields["fd"]] = 0
        if s.insn.unit is Unit.FMA and is_infinity_times_zero(*sources[:2]) and sources[2].is_nan:
            flags_mask ^= NV
        found = state_differences(bare, uc) + float_differences(bare, uc, masks, flags_mask)
        assert not found, "\n".join((what, *found))
        if fd in masks:
            uc.reg_write(F_REGISTERS[fd], bare.state.f[fd])
        if not flags_mask & NV:
            uc.reg_write(FFLAGS, bare.state["fflags"])


PARTS, SEEDS, STEPS = 4, 15, 100


@pytest.mark.parametrize("part", range(PARTS))
def test_float_programs_in_lockstep(part: int) -> None:
    for seed in range(SEEDS * part, SEEDS * (part + 1)):
        assert_lockstep(make_program(seed, STEPS, float_insns()), seed)


def test_lockstep_has_every_instruction_and_mode() -> None:
    programs = [make_program(seed, STEPS, float_insns()) for seed in range(PARTS * SEEDS)]
    steps = [s for program in programs for s in program.steps]
    assert {s.name for s in steps} == {i.name for i in float_insns()}
    assert {program.frm for program in programs} == set(MODES)
    modes = {(s.name, s.fields["rm"]) for s in steps if "rm" in s.fields}
    rounding = [i.name for i in float_insns() if "rm" in {f.name for f in i.encoding.fields}]
    assert modes == {(name, mode) for name in rounding for mode in (*MODES, DYNAMIC)}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_float_programs_in_lockstep(part: int) -> None:
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        assert_lockstep(make_program(seed, 200, float_insns()), seed)


@pytest.mark.parametrize("seed", range(5))
def test_whole_float_programs_end_as_in_unicorn(seed: int) -> None:
    """Blocks of many instructions; nothing here depends on the upper half of a single."""
    insns = [i for i in float_insns() if i.unit is not Unit.FMINMAX]
    program = make_program(5000 + seed, 500, insns, mixed=False)
    bare, uc = make_both(program)
    assert bare.run(len(program.steps)) is None
    uc.emu_start(TEXT, TEXT + len(program.code))
    masks = dict.fromkeys(SINGLES, LOW)
    assert not state_differences(bare, uc) + float_differences(bare, uc, masks, 0x1F ^ NV)
    assert all(bare.state.f[number] >= BOX for number in SINGLES)


def make_one(s: Step, *operands: int, frm: int = 0) -> tuple[Bare, unicorn.Uc]:
    """Both before one instruction, with operands in f1, f2 …"""
    f = [0, *operands, *[0] * (31 - len(operands))]
    return make_both(Program([s], [0] * 32, f, frm, b""))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.name}-{f.operands[0]:x}")
def test_unicorn_still_has_its_faults(fault: Fault) -> None:
    """Otherwise the programs need not leave them out; rvsim does as specified."""
    fields = {"fd": 4, "fs1": 1, "fs2": 2, "fs3": 3, "rm": 0}
    encoded = {f.name for f in isa().by_name[fault.name].encoding.fields}
    s = Step(fault.name, {name: value for name, value in fields.items() if name in encoded})
    bare, uc = make_one(s, *fault.operands)
    assert bare.run(1) is None
    uc.emu_start(TEXT, TEXT + 4, count=1)
    assert (bare.state.f[4], bare.state["fflags"]) == fault.specified, fault.why
    assert (uc.reg_read(F_REGISTERS[4]), uc.reg_read(FFLAGS)) == fault.unicorn, fault.why


@pytest.mark.parametrize("name", ["fadd.s", "fmadd.d", "fsqrt.d", "fcvt.w.s", "fcvt.s.d"])
def test_reserved_rounding_modes_are_illegal_in_both(name: str) -> None:
    rng = random.Random(name)
    for rm, frm in (*((mode, 0) for mode in (5, 6)), *((DYNAMIC, m) for m in RESERVED_MODES)):
        insn = isa().by_name[name]
        s = Step(name, {f.name: rng.randrange(32) for f in insn.encoding.fields} | {"rm": rm})
        bare, uc = make_one(s, frm=frm)
        trap = bare.run(1)
        assert trap is not None
        assert trap.cause == 2, f"{s}, frm {frm}"
        with pytest.raises(unicorn.UcError):
            uc.emu_start(TEXT, TEXT + 4, count=1)


def test_float_instructions_need_mstatus_fs_in_unicorn() -> None:
    """Otherwise `make_both` need not set it."""
    _, uc = make_one(step("fadd.d", fd=3, fs1=1, fs2=2, rm=0))
    uc.reg_write(MSTATUS, 0)
    with pytest.raises(unicorn.UcError):
        uc.emu_start(TEXT, TEXT + 4, count=1)
