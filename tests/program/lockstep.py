"""What the lockstep tests share: a Unicorn beside the bare hart, and what differs between them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

import unicorn
from unicorn import riscv_const

from rvsim.insn.registry import Insn
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare

SP, S0 = 2, 8
POINTERS = frozenset({SP, S0})
"""What loads and stores go by: nothing else may write them."""

MIDDLE = DATA + DATA_SIZE // 2

REGISTERS = tuple(getattr(riscv_const, f"UC_RISCV_REG_X{n}") for n in range(32))


class Program(Protocol):
    """Code that starts at `TEXT`, and what the x registers and the data area hold then."""

    @property
    def code(self) -> bytes: ...
    @property
    def x(self) -> Sequence[int]: ...
    @property
    def data(self) -> bytes: ...


def random_x(rng: random.Random, number: int) -> int:
    if number == 0:
        return 0
    if number in POINTERS:
        return MIDDLE
    value = rng.choice((rng.getrandbits(64), rng.getrandbits(6), 1 << rng.randrange(64), -1))
    return rng.choice((value, -value)) & (1 << 64) - 1


def written(insn: Insn, fields: Mapping[str, int]) -> int | None:
    """The x register that an instruction writes, if any."""
    source = insn.source("rd")
    return fields.get(source) if isinstance(source, str) else source


def make_unicorn(program: Program) -> unicorn.Uc:
    uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
    uc.mem_map(TEXT, 0x10000)
    uc.mem_write(TEXT, program.code)
    uc.mem_map(DATA, DATA_SIZE)
    uc.mem_write(DATA, program.data)
    for register, value in zip(REGISTERS, program.x, strict=True):
        uc.reg_write(register, value)
    return uc


def make_bare(program: Program) -> Bare:
    bare = Bare(program.code)
    bare.memory.write(DATA, program.data)
    for number, value in enumerate(program.x):
        bare.state.x[number] = value
    return bare


def state_differences(bare: Bare, uc: unicorn.Uc) -> list[str]:
    """In the x registers, pc and memory."""
    found = []
    theirs = uc.reg_read_batch(REGISTERS)
    for number, (ours, other) in enumerate(zip(bare.state.x, theirs, strict=True)):
        if ours != other:
            found.append(f"x{number}: rvsim {ours:#x}, Unicorn {other:#x}")
    pc = uc.reg_read(riscv_const.UC_RISCV_REG_PC)
    if bare.state["pc"] != pc:
        found.append(f"pc: rvsim {bare.state['pc']:#x}, Unicorn {pc:#x}")
    data, their_data = bare.memory.read(DATA, DATA_SIZE), bytes(uc.mem_read(DATA, DATA_SIZE))
    if data != their_data:
        at = next(i for i in range(DATA_SIZE) if data[i] != their_data[i])
        found.append(f"memory {DATA + at:#x}: rvsim {data[at]:#x}, Unicorn {their_data[at]:#x}")
    return found
