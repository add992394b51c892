"""Programs without a file: words from the registry, and a hart on bare memory to run them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rvsim.config import Config
from rvsim.engine.interp import Interpreter
from rvsim.hart.memory import PAGE, Memory, R, W, X
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.insn.encoding import FieldCode
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.profiles import make_config
from rvsim.vec.groups import resolve
from rvsim.vec.vtype import VType

TEXT = 0x10000
DATA = 0x20000
DATA_SIZE = 4 * PAGE


@dataclass(frozen=True)
class Step:
    """One instruction of a program, by name and fields."""

    name: str
    fields: Mapping[str, int] = field(default_factory=dict)

    @property
    def insn(self) -> Insn:
        return isa().by_name[self.name]

    @property
    def word(self) -> int:
        return self.insn.encoding.encode(self.fields)

    @property
    def length(self) -> int:
        return self.insn.length

    @property
    def code(self) -> bytes:
        return self.word.to_bytes(self.length, "little")

    def __str__(self) -> str:
        operands = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.word:0{2 * self.length}x}  {self.name} {operands}"


def step(name: str, **fields: int) -> Step:
    """``step("addi", rd=5, rs1=0, imm=7)``"""
    return Step(name, fields)


def assemble(program: Iterable[Step]) -> bytes:
    return b"".join(s.code for s in program)


def load_upper(rd: int, addr: int) -> Step:
    """``lui`` of the start of a page below 2 GiB."""
    return step("lui", rd=rd, uimm=addr >> 12)


def random_field(rng: random.Random, code: FieldCode) -> int:
    """A value that fits, often an extreme one."""
    if code.compact:
        return rng.randrange(8, 16)
    half = 1 << code.width - 1
    low, high = (-half, half - 1) if code.signed else (0, 2 * half - 1)
    value = rng.choice((low, -1, 0, 1, high)) if rng.random() < 0.2 else rng.randint(low, high)
    return max(low, value) // code.step * code.step


def random_fields(rng: random.Random, insn: Insn, **fixed: int) -> dict[str, int]:
    """Fields of a word that is this instruction and no other, those in `fixed` as given."""
    while True:
        fields = {
            code.name: fixed[code.name] if code.name in fixed else random_field(rng, code)
            for code in insn.encoding.fields
        }
        if any(fields[name] == value for name, value in insn.encoding.excluded):
            continue
        if isa().find(insn.encoding.encode(fields)) is insn:
            return fields


def vector_fields(rng: random.Random, insn: Insn, vtype: VType, **fixed: int) -> dict[str, int]:
    """Fields with vector registers at the start of a group, and now and then the same ones."""
    fields = random_fields(rng, insn, **fixed)
    for operand in insn.vregs:
        if operand.field in fields:
            group = resolve(operand, fields, vtype)
            # Segments of several registers need no more than one field's alignment.
            size = max(1, group.nregs // operand.nf)
            fields[operand.field] = fields[operand.field] // size * size
    if rng.random() < 0.1 and {"vd", "vs2"} <= fields.keys():
        fields["vs2"] = fields["vd"]
    return fields


class Bare:
    """One hart, a page of code at `TEXT` and data at `DATA`; nothing handles its traps."""

    def __init__(
        self,
        code: bytes,
        config: Config | None = None,
        *,
        text_perm: int = R | X,
        memory_size: int = 1 << 20,
    ) -> None:
        self.config = config or make_config("generic-rv64gcv")
        self.memory = Memory(memory_size)
        self.memory.map(TEXT, max(len(code), 1), text_perm)
        self.memory.write(TEXT, code)
        self.memory.map(DATA, DATA_SIZE, R | W)
        self.state = State(self.config.vlen)
        self.state["vtype"] = 1 << 63
        self.state["pc"] = TEXT
        self.notes: list[tuple[int, str]] = []
        self.interp = Interpreter(
            self.config,
            self.state,
            self.memory,
            note=lambda pc, text: self.notes.append((pc, text)),
        )

    def run(self, max_insns: int, deadline: float | None = None) -> Trap | None:
        """The trap that ended the run; None after `max_insns` or at the deadline."""
        return self.interp.run(max_insns, deadline)[0]

    def snapshot(self) -> tuple[bytes, bytes]:
        """All state and all of the data area."""
        return self.state.snapshot(), self.memory.read(DATA, DATA_SIZE)
