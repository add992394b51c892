"""Programs of memory instructions at hostile addresses, on both engines, in memory with a guard.

A program is a loop of a few memory instructions of any form.  Its pages have rights of every kind
side by side; addresses, strides and indices aim at the borders between them, at page 0, the end of
the guest's memory, and the ends of the address space.  It runs from many states, in the reference
engine and compiled.  On the host nothing may be touched beside the guest's memory (`Guarded`): a
process that does is killed.
"""

from __future__ import annotations

import mmap
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

import numpy as np

import rvsim.hart.address_space
from rvsim.config import Config
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.engine import Jit
from rvsim.hart.memory import PAGE, Memory, R, W, X
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.insn.decode import problems
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.vec.vtype import VType
from tests.harness import EXTENSIONS
from tests.program.bare import Step, assemble, random_fields, step, vector_fields

SIZE = 1 << 20
TEXT, DATA, PAGES = 0x10000, 0x20000, 12
"""Code, and the first of so many pages with rights of their own; the last four have them too."""

STATES, STOPS, LIMIT = 10, 3, 300
COUNTER, BASES, STEPS = 8, (9, 10, 2), (12, 13)
"""x registers: rounds to go, addresses, strides and what the bases move by."""

M64 = (1 << 64) - 1
GUARD = 64 << 20
RIGHTS = (0, R, R | W, R | W, R | W, X, R | X, R | W | X, W)
KINDS = ("load", "store", "reserve", "amo", "fload", "fstore", "cache", "vload", "vstore")


class Guarded(Memory):
    """Guest memory between two spans of the host's address space that nobody may touch."""

    def __init__(self, size: int) -> None:
        reserve, guards = rvsim.hart.address_space.reserve, []

        def guarded(length: int) -> mmap.mmap:
            if length != size:  # tables of permissions, which may be anywhere
                return reserve(length)
            found, *others = _side_by_side(reserve, size)
            guards.extend(others)
            return found

        with patch("rvsim.hart.address_space.reserve", guarded):
            super().__init__(size)
        self._guards = guards


def _side_by_side(reserve: Callable[[int], mmap.mmap], size: int) -> list[mmap.mmap]:
    """Memory, and a guard above it and one below."""
    tried = []  # is kept until the end, or it would be given again
    for _ in range(1000):
        above, found, below = _guard(), reserve(size), _guard()
        start = _address(found)
        if (_address(above), _address(below) + GUARD) == (start + size, start):
            return [found, above, below]
        tried.append((above, found, below))
    raise AssertionError("the host puts no two mappings side by side")


def _guard() -> mmap.mmap:
    """Address space that may be neither read nor written."""
    return mmap.mmap(-1, GUARD, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, prot=0)


def _address(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8).ctypes.data)


@dataclass(frozen=True)
class Setting:
    """What both engines begin a run with."""

    x: dict[int, int]
    vfile: bytes
    vtype: int
    vl: int
    f: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A loop, the rights of pages by address, and the states to run it from."""

    config: Config
    code: bytes
    body: tuple[Step, ...]
    rights: dict[int, int]
    settings: tuple[Setting, ...]

    def __str__(self) -> str:
        return "\n".join(str(s) for s in self.body)


def make_program(seed: int) -> Program:
    rng = random.Random(seed)
    config = Config(
        EXTENSIONS,
        vlen=rng.choice((128, 256, 256, 512)),
        agnostic=rng.choice(("undisturbed", "ones")),
        misaligned_vector=rng.random() < 0.7,
    )
    vtype = _vtype(rng, config)
    bases = rng.choice((BASES, BASES[:1]))
    body = tuple(_insn(rng, config, vtype, bases) for _ in range(rng.choice((1, 1, 2, 3, 6))))
    moves = [
        step("add", rd=base, rs1=base, rs2=rng.choice(STEPS))
        for base in BASES
        if rng.random() < 0.5
    ]
    loop = [*body, *moves, step("addi", rd=COUNTER, rs1=COUNTER, imm=-1)]
    back = -sum(s.length for s in loop)
    code = assemble([*loop, step("bne", rs1=COUNTER, rs2=0, imm=back), step("ebreak")])
    rights = _rights(rng)
    borders = _borders(rights)
    settings = [_setting(rng, config, vtype, borders, calm=i == 0) for i in range(STATES)]
    return Program(config, code, body, rights, tuple(settings))


def _vtype(rng: random.Random, config: Config) -> VType:
    while True:
        vtype = VType(rng.randint(3, 6), rng.randint(-3, 3), rng.random() < 0.5, rng.random() < 0.5)
        if vtype.supported(config.elen):
            return vtype


@cache
def _insns() -> dict[str, tuple[Insn, ...]]:
    """Those that access memory, by kind."""
    kinds: dict[str, list[Insn]] = {kind: [] for kind in KINDS}
    for insn in isa().insns:
        kind = insn.unit.value.split("_")[0]
        if insn.name.startswith(("lr.", "sc.")):
            kind = "reserve"
        if kind in kinds:
            kinds[kind].append(insn)
    return {kind: tuple(insns) for kind, insns in kinds.items()}


def _insn(rng: random.Random, config: Config, vtype: VType, bases: tuple[int, ...]) -> Step:
    """One that accesses memory, of a kind that each comes up as often."""
    while True:
        insn = rng.choice(_insns()[rng.choice(KINDS)])
        fields = _fields(rng, insn, vtype, bases)
        if fields is not None and not problems(insn, fields, vtype, config):
            return Step(insn.name, fields)


def _fields(
    rng: random.Random, insn: Insn, vtype: VType, bases: tuple[int, ...]
) -> dict[str, int] | None:
    """Operands, with the registers of addresses where there are such."""
    fixed = {
        "rs1": rng.choice([b for b in bases if not _compact(insn, "rs1") or b >= 8]),
        "rd": rng.choice((14, 15)),
    }
    if insn.unit.is_vector:
        return vector_fields(rng, insn, vtype, **fixed, rs2=rng.choice(STEPS))
    fields = random_fields(rng, insn, **fixed)
    return None if fields.get("rs2") == COUNTER else fields


def _compact(insn: Insn, name: str) -> bool:
    return any(f.name == name and f.compact for f in insn.encoding.fields)


def _rights(rng: random.Random) -> dict[int, int]:
    pages = [DATA + PAGE * i for i in range(PAGES)]
    pages += [SIZE - PAGE * i for i in range(1, 5)]
    rights = {page: rng.choice(RIGHTS) for page in pages}
    if rng.random() < 0.5:
        rights[0] = rng.choice(RIGHTS)
    rights[TEXT] = R | X | (W if rng.random() < 0.2 else 0)
    return rights


def _borders(rights: dict[int, int]) -> list[int]:
    """Addresses at which something ends."""
    mapped = sorted(rights)
    ends = [edge for page in mapped for edge in (page, page + PAGE)]
    return [*ends, *ends, 0, SIZE, SIZE, 1 << 32, 1 << 38, 1 << 48, 1 << 63, M64 + 1, M64 + 1]


def _address_near(rng: random.Random, borders: list[int]) -> int:
    distance = rng.choice((1, 2, 4, 8, 16, 64, 256, PAGE))
    near = rng.choice(borders) + rng.randint(-distance, distance)
    return near & (M64 if rng.random() < 0.5 else -8 & M64)


def _setting(
    rng: random.Random, config: Config, vtype: VType, borders: list[int], *, calm: bool
) -> Setting:
    x = {n: rng.getrandbits(64) for n in range(1, 32)}
    x[COUNTER] = rng.randint(2, 8)
    for base in BASES:
        x[base] = DATA + PAGE + 8 * rng.randrange(64) if calm else _address_near(rng, borders)
    for stride in STEPS:
        x[stride] = rng.choice((8, 8, 16, -8, 1, 0, PAGE)) & M64 if calm else _stride(rng, borders)
    vlmax = vtype.vlmax(config.vlen)
    return Setting(
        x,
        _vfile(rng, config, x, borders),
        vtype.encode(),
        rng.choice((vlmax, vlmax, vlmax, rng.randint(0, vlmax), 1)),
        tuple(rng.getrandbits(64) for _ in range(32)),
    )


def _stride(rng: random.Random, borders: list[int]) -> int:
    return rng.choice((0, 1, 2, 4, 8, -8, -1, PAGE, -PAGE, 1 << 62, 1 << 63, rng.choice(borders),
                       rng.getrandbits(64), -rng.choice(borders))) & M64  # fmt: skip


def _vfile(rng: random.Random, config: Config, x: dict[int, int], borders: list[int]) -> bytes:
    """Masks, and offsets that lead from one of the bases to where something ends."""
    base = x[rng.choice(BASES)]
    wild = rng.choice((0.02, 0.2, 1.0))

    def lane() -> int:
        near = (
            _address_near(rng, borders) if rng.random() < wild else DATA + rng.randrange(2 * PAGE)
        )
        return near - base & M64 if rng.random() < 0.9 else rng.getrandbits(64)

    vfile = bytearray(b"".join(lane().to_bytes(8, "little") for _ in range(4 * config.vlenb)))
    if rng.random() < 0.6:
        half = range(16 * config.vlenb)
        for at in half:  # small offsets in the first registers
            vfile[at] = rng.choice((0, 0, 0, 8, 16, 255, rng.randrange(256)))
    vfile[: config.vlenb] = rng.randbytes(config.vlenb)
    return bytes(vfile)


class Engine:
    """One of the two, with memory of its own."""

    def __init__(self, program: Program, memory: Memory, *, compiled: bool) -> None:
        self.memory, self.program = memory, program
        self.state = State(program.config.vlen)
        self.interp = Interpreter(program.config, self.state, memory)
        for page, right in program.rights.items():
            memory.map(page, PAGE, right)
        if compiled:
            self.interp.jit = Jit(self.interp, threshold=1)

    def fill(self, content: bytes) -> None:
        """What the pages hold at the beginning; code that is there already is left alone."""
        code = self.program.code
        for page in self.program.rights:
            if page != TEXT:
                self.memory.write(page, content)
            elif self.memory.read(TEXT, PAGE) != code.ljust(PAGE, b"\0"):
                self.memory.write(TEXT, code.ljust(PAGE, b"\0"))

    def stops(self, setting: Setting) -> Iterator[tuple[Trap | None, bytes]]:
        """Traps, and the state at each; it goes on after the instruction."""
        state = self.state
        state.buffer[:] = 0
        for number, value in setting.x.items():
            state.x[number] = value
        for number, value in enumerate(setting.f):
            state.f[number] = value
        state.vfile[:] = memoryview(setting.vfile)
        state["vtype"], state["vl"], state["pc"] = setting.vtype, setting.vl, TEXT
        for _ in range(STOPS):
            trap = self.interp.run(LIMIT - state["instret"])[0]
            yield trap, state.snapshot()
            if trap is None or not TEXT <= trap.pc < TEXT + len(self.program.code) - 4:
                return
            state["pc"] = trap.pc + 4
            state["vstart"] = 0


_memories: dict[bool, Memory] = {}


def compare(seed: int) -> None:
    """A program of this seed ends alike on both engines, from each of its states."""
    program = make_program(seed)
    content = random.Random(seed).randbytes(PAGE)
    engines = []
    for compiled in (False, True):
        memory = _memories.get(compiled) or _memories.setdefault(compiled, Guarded(SIZE))
        memory.unmap(0, SIZE)
        memory.code.listeners.clear()
        engines.append(Engine(program, memory, compiled=compiled))
    for number, setting in enumerate(program.settings):
        for engine in engines:
            engine.fill(content)
        pairs = zip(*(engine.stops(setting) for engine in engines), strict=True)
        for stop, (expected, got) in enumerate(pairs):
            where = f"{program}\nstate {number}, stop {stop}"
            assert got[0] == expected[0], where
            assert got[1] == expected[1], f"{where}: registers"
        assert engines[0].memory.view == engines[1].memory.view, f"{program}\nmemory {number}"
