"""Random scalar programs in lockstep with Unicorn: registers, pc and memory after each instruction.

Unicorn 2.1 is QEMU 5, with the extensions of `COMPARED`; `test_qemu_vector` compares the others
with a newer QEMU.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest
import unicorn

from rvsim.config import MACHINE
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from tests.program.bare import DATA_SIZE, TEXT, Step, assemble, random_fields, step
from tests.program.lockstep import (
    POINTERS,
    REGISTERS,
    S0,
    SP,
    make_bare,
    make_unicorn,
    random_x,
    state_differences,
    written,
)

COMPARED = frozenset(
    {"i", "m", "a", "c", "zmmul", "zaamo", "zalrsc", "zca", "zifencei", "zihintpause", "zicbop"}
)
"""What Unicorn 2.1 has; of the last two only as the hints that their instructions are to others."""

FLOATING_POINT = frozenset({"f", "d", "zcd"})
"""In `test_unicorn_float`."""

EXCLUDED = {
    "ecall": "ends the program, as do the next two",
    "ebreak": "",
    "c.ebreak": "",
    **dict.fromkeys(
        ("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"),
        "Unicorn runs in machine mode and has other CSRs; test_limits reads the counters",
    ),
}
"""Instructions that stay out, and why."""

PRIVILEGED = frozenset({"zicsr", MACHINE})
"""Extensions whose meaning depends on the mode: Unicorn runs in machine mode."""

TARGET = 30
MEMORY_UNITS = frozenset({Unit.LOAD, Unit.STORE, Unit.AMO})
FORWARD = 5
"""Branches and jumps skip fewer blocks than this."""

Block = list[Step]


@dataclass(frozen=True)
class Program:
    """Blocks of steps; entry is the first, and the end is the address after the last."""

    blocks: Sequence[Block]
    x: Sequence[int]
    data: bytes

    @property
    def code(self) -> bytes:
        return assemble(s for block in self.blocks for s in block)


def scalar_insns() -> list[Insn]:
    return [
        i
        for i in isa().insns
        if not COMPARED.isdisjoint(i.extensions) and not i.unit.is_vector and i.name not in EXCLUDED
    ]


def size(blocks: Iterable[Block]) -> int:
    return sum(s.length for block in blocks for s in block)


def make_program(seed: int, count: int) -> Program:
    rng = random.Random(seed)
    classes: dict[Unit, list[Insn]] = {}
    for insn in scalar_insns():
        classes.setdefault(insn.unit, []).append(insn)
    # From the last to the first, so that the way to a later block is known.
    blocks: list[Block] = []
    for _ in range(count):
        unit = rng.choice([Unit.ALU, *classes])
        insn = rng.choice(classes[unit])
        blocks.insert(0, make_block(rng, insn, blocks))
    return Program(blocks, [random_x(rng, n) for n in range(32)], rng.randbytes(DATA_SIZE))


def make_block(rng: random.Random, insn: Insn, later: Sequence[Block]) -> Block:
    """An instruction with what it needs before, and after if it moves a pointer."""
    if insn.unit in MEMORY_UNITS:
        return memory_block(rng, insn)
    way = size(later[: rng.randrange(FORWARD)])
    if insn.unit in (Unit.BRANCH, Unit.JUMP):
        return jump_block(rng, insn, way)
    while True:
        fields = random_fields(rng, insn)
        if insn.name == "c.addi16sp":
            return [Step(insn.name, fields), step("addi", rd=SP, rs1=S0, imm=0)]
        if written(insn, fields) not in POINTERS:
            return [Step(insn.name, fields)]


def memory_block(rng: random.Random, insn: Insn) -> Block:
    """Loads, stores and atomics around the middle of the data; AMOs at aligned addresses."""
    while True:
        fields = random_fields(rng, insn, rs1=S0)
        if written(insn, fields) not in POINTERS:
            break
    this = Step(insn.name, fields)
    if insn.unit is not Unit.AMO:
        return [this]
    move = step("addi", rd=S0, rs1=S0, imm=8 * rng.randrange(-64, 64))
    back = step("addi", rd=S0, rs1=SP, imm=0)
    if not insn.name.startswith("sc.") or rng.random() < 0.3:
        return [move, this, back]
    reserve = isa().by_name["lr" + insn.name[2:]]
    reserved = random_fields(rng, reserve, rs1=S0, rd=9)
    return [move, Step(reserve.name, reserved), this, back]


def jump_block(rng: random.Random, insn: Insn, way: int) -> Block:
    """A branch or jump over `way` bytes; through a register for the forms that take one."""
    if "imm" in {f.name for f in insn.encoding.fields} and insn.name != "jalr":
        fields = random_fields(rng, insn, imm=insn.length + way)
        if written(insn, fields) in POINTERS:
            fields["rd"] = 1
        return [Step(insn.name, fields)]
    fields = random_fields(rng, insn, rs1=TARGET, rd=rng.choice((0, 1, TARGET)))
    here = step("auipc", rd=TARGET, uimm=0)
    distance = 4 + 4 + insn.length + way - fields.get("imm", 0)
    aim = step("addi", rd=TARGET, rs1=TARGET, imm=max(-2048, min(distance, 2047)))
    if aim.fields["imm"] != distance:
        fields["imm"] = 0
        aim = step("addi", rd=TARGET, rs1=TARGET, imm=4 + 4 + insn.length + way)
    return [here, aim, Step(insn.name, fields)]


def assert_lockstep(program: Program, seed: int) -> int:
    """Run both to the end of the program; the number of instructions."""
    bare, uc = make_bare(program), make_unicorn(program)
    end = TEXT + len(program.code)
    count = 0
    while (pc := bare.state["pc"]) != end:
        trap = bare.run(1)
        decoded = bare.interp.decode_at(pc)
        what = f"seed {seed}, {pc:#x}: {decoded.insn and decoded.insn.name} {dict(decoded.fields)}"
        assert trap is None, f"{what}: {trap}"
        uc.emu_start(pc, end, count=1)
        found = state_differences(bare, uc)
        assert not found, "\n".join((what, *found))
        count += 1
        assert bare.state["instret"] == count
    return count


@pytest.mark.parametrize("part", range(4))
def test_scalar_programs_in_lockstep(part: int) -> None:
    for seed in range(25 * part, 25 * part + 25):
        assert assert_lockstep(make_program(seed, 80), seed) > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_scalar_programs_in_lockstep(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        assert assert_lockstep(make_program(seed, 200), seed) > 50


@pytest.mark.parametrize("seed", range(3))
def test_whole_programs_end_as_their_single_steps(seed: int) -> None:
    """Blocks of many instructions, not of one, against Unicorn."""
    program = make_program(5000 + seed, 500)
    bare, uc = make_bare(program), make_unicorn(program)
    end = TEXT + len(program.code)
    trap = bare.run(100_000)
    assert trap is not None
    assert (trap.cause, trap.pc) == (2, end)  # zeros follow
    uc.emu_start(TEXT, end)
    assert not state_differences(bare, uc)


def test_unicorn_still_refuses_what_is_left_out() -> None:
    """Otherwise it could be compared, and should be.

    Parcels that were reserved in its time do nothing there, although Zca 1 makes reserved
    encodings illegal instructions.
    """
    rng = random.Random(1)
    for insn in isa().insns:
        known = not (COMPARED | FLOATING_POINT | PRIVILEGED).isdisjoint(insn.extensions)
        if known or insn.unit.is_vector or insn.unit.value.startswith("f"):
            continue
        program = Program([[Step(insn.name, random_fields(rng, insn, rs1=S0))]], [0] * 32, b"")
        uc = make_unicorn(program)
        if insn.length == 2:
            uc.emu_start(TEXT, TEXT + insn.length, count=1)
            assert not any(uc.reg_read(register) for register in REGISTERS), insn.name
        else:
            with pytest.raises(unicorn.UcError):
                uc.emu_start(TEXT, TEXT + insn.length, count=1)
