"""Random programs with branches, loops and calls, as Linux executables that end by themselves.

Leaves are the blocks of `vector_programs`: a vset* and vector and scalar instructions.  Around them
stand forward branches on any registers, loops that count down, and functions called twice.  What
controls the flow is in memory, out of reach of the leaves' stores, since they may write any of the
registers that they compute with.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rvsim.config import Config
from tests.program import vector_programs as vp
from tests.program.bare import Step, load_upper, step

MOST_ROUNDS = 5
MOST_DEPTH = 3
_BRANCHES = ("beq", "bne", "blt", "bge", "bltu", "bgeu")
_SCRATCH, _VALUE = vp.SCRATCH, vp.BASE
_BRANCH_REACH = 1 << 12

Steps = tuple[Step, ...]


def size(steps: Sequence[Step]) -> int:
    """Bytes of code."""
    return sum(s.length for s in steps)


@dataclass
class Generator:
    """Makes code for one configuration; `slots` counts the words of memory that control uses."""

    rng: random.Random
    config: Config
    slots: int = 0

    def slot(self) -> int:
        """The offset of a new word of the page that starts at `vp.DUMP`."""
        self.slots += 1
        return 8 * self.slots

    def leaf(self) -> Steps:
        """A vset* and some legal instructions."""
        vtype, setting = vp.configure(self.rng, self.config)
        blocks = [setting]
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.random()
            if kind < 0.6:
                blocks.append(vp.vector_block(self.rng, self.config, vtype))
            elif kind < 0.9:
                blocks.append(vp.scalar_block(self.rng))
            else:
                blocks.append(vp.csr_block(self.rng))
        return tuple(s for block in blocks for s in block)

    def sequence(self, depth: int) -> Steps:
        """Some pieces, one after the other."""
        pieces = [self.piece(depth) for _ in range(self.rng.randint(1, 3))]
        return tuple(s for piece in pieces for s in piece)

    def piece(self, depth: int) -> Steps:
        if depth == MOST_DEPTH:
            return self.leaf()
        match self.rng.randrange(5):
            case 0:
                return self.skipped(self.sequence(depth + 1))
            case 1 | 2:
                return self.countdown(self.sequence(depth + 1))
            case 3:
                return self.function(self.sequence(depth + 1))
            case _:
                return self.leaf()

    def skipped(self, body: Steps) -> Steps:
        """The body behind a branch over it."""
        if size(body) + 4 >= _BRANCH_REACH:
            return body
        rs1, rs2 = self.rng.choices(vp.FREE_X, k=2)
        return (step(self.rng.choice(_BRANCHES), rs1=rs1, rs2=rs2, imm=size(body) + 4), *body)

    def countdown(self, body: Steps) -> Steps:
        """The body a few times."""
        at = self.slot()
        address = load_upper(_SCRATCH, vp.DUMP)
        store = step("sd", rs1=_SCRATCH, rs2=_VALUE, imm=at)
        start = (address, step("addi", rd=_VALUE, rs1=0, imm=self.rng.randint(1, MOST_ROUNDS)))
        count = (
            address,
            step("ld", rd=_VALUE, rs1=_SCRATCH, imm=at),
            step("addi", rd=_VALUE, rs1=_VALUE, imm=-1),
            store,
        )
        back = -size(body) - size(count)
        if back > -_BRANCH_REACH:
            again: Steps = (step("bne", rs1=_VALUE, rs2=0, imm=back),)
        else:
            out = step("beq", rs1=_VALUE, rs2=0, imm=8)
            again = (out, step("jal", rd=0, imm=back - 4))
        return (*start, store, *body, *count, *again)

    def function(self, body: Steps) -> Steps:
        """A function, jumped over, and two calls of it."""
        at = self.slot()
        address = load_upper(_SCRATCH, vp.DUMP)
        enter = (address, step("sd", rs1=_SCRATCH, rs2=_VALUE, imm=at))
        leave = (
            address,
            step("ld", rd=_VALUE, rs1=_SCRATCH, imm=at),
            step("jalr", rd=0, rs1=_VALUE, imm=0),
        )
        code = (*enter, *body, *leave)
        between = self.leaf()
        first = step("jal", rd=_VALUE, imm=-size(code))
        second = step("jal", rd=_VALUE, imm=-size(code) - 4 - size(between))
        return (step("jal", rd=0, imm=4 + size(code)), *code, first, *between, second)


def make_program(config: Config, seed: int) -> vp.Program:
    """The same program for the same arguments."""
    rng = random.Random(f"structured {seed}")
    generator = Generator(rng, config)
    body = generator.countdown(generator.sequence(1))
    return vp.Program(config, seed, (body,), vp.initial_data(rng, config))
