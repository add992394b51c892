"""Random bytes as programs: every run ends by a trap or the limit and leaves the host unharmed."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np
import pytest

from rvsim.config import Config
from rvsim.guest.linux.table import CALLS
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.insn.decode import decode
from rvsim.insn.isa import isa
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, random_fields, step, vector_fields
from tests.program.elf_writer import write_elf

LIMIT = 500
CAUSES = frozenset({0, 2, 3, 4, 6, 8, 12, 13, 15})

CONFIGS = (
    make_config("spacemit-x60"),
    make_config("spacemit-x60", agnostic="random:1", reserved="allow"),
    make_config("generic-rv64gcv", vlen=128, reserved="allow"),
    make_config("generic-rv64gcv", vlen=512, agnostic="ones", vl_policy="half"),
)

MACHINES = (
    {"cpu": "spacemit-x60"},
    {"cpu": "generic-rv64gcv", "vlen": 1024, "reserved": "allow", "agnostic": "ones"},
)

VTYPES = tuple(VType.parse(text).encode() for text in ("e8,m1", "e8,mf4,ta", "e32,m2", "e64,m8,ma"))
"""Few, so that generated code is found again."""

MOST_TRAPS = 20
"""A run goes on behind so many traps, as a debugger might."""

_SEGMENTS = frozenset({Unit.VLOAD_SEGMENT, Unit.VSTORE_SEGMENT})

Parcels = Callable[[random.Random], bytes]


def any_word(rng: random.Random) -> bytes:
    """A word of 32 bits; one in four of its kind decodes."""
    return struct.pack("<I", rng.getrandbits(32) | 3)


def any_parcel(rng: random.Random) -> bytes:
    return struct.pack("<H", rng.getrandbits(16))


def any_insn(rng: random.Random) -> bytes:
    insn = rng.choice(isa().insns)
    fields = random_fields(rng, insn)
    for name in ("rs1", "rs2"):
        if name in fields and rng.random() < 0.5:
            fields[name] = rng.randrange(8, 16)
    return insn.encoding.encode(fields).to_bytes(insn.length, "little")


def vector_insn(rng: random.Random) -> bytes:
    """A vector instruction that is often legal under one of `VTYPES`."""
    vectors = [i for i in isa().insns if i.vregs and i.unit not in _SEGMENTS]
    insn = rng.choice(vectors)
    vtype = VType.decode(rng.choice(VTYPES))
    assert vtype is not None
    fields = vector_fields(rng, insn, vtype, vm=rng.choice((0, 1, 1)))
    return insn.encoding.encode(fields).to_bytes(insn.length, "little")


def mutated_insn(rng: random.Random) -> bytes:
    """An instruction with one or two bits of it flipped."""
    code = bytearray(any_insn(rng))
    for _ in range(rng.randint(1, 2)):
        code[rng.randrange(len(code))] ^= 1 << rng.randrange(8)
    return bytes(code)


def near_jump(rng: random.Random) -> bytes:
    """A jump or branch to anywhere around, the middle of instructions included."""
    name = rng.choice(("jal", "beq", "bne", "bge", "c.j", "c.beqz"))
    insn = isa().by_name[name]
    fields = random_fields(rng, insn, imm=2 * rng.randint(-20, 20), rd=rng.choice((0, 1)))
    return insn.encoding.encode(fields).to_bytes(insn.length, "little")


KINDS: tuple[Parcels, ...] = (
    any_word, any_parcel, any_insn, any_insn, vector_insn, vector_insn, mutated_insn, near_jump,
)  # fmt: skip


def random_code(rng: random.Random) -> bytes:
    kinds = KINDS if rng.random() < 0.5 else (rng.choice(KINDS),)
    return b"".join(rng.choice(kinds)(rng) for _ in range(rng.randint(1, 12)))


def random_address(rng: random.Random) -> int:
    """In the data, in the code, around the ends of both, at the ends of the space, or nowhere."""
    edge = rng.choice((DATA, DATA + DATA_SIZE, TEXT, TEXT + PAGE, 1 << 20, 0, 1 << 32, 1 << 63))
    inside = rng.choice((DATA, DATA, TEXT)) + rng.randrange(PAGE)
    value = rng.choice((inside, inside & -8, edge + rng.randint(-72, 72), rng.getrandbits(64)))
    return value & (1 << 64) - 1


def fill_state(rng: random.Random, bare: Bare) -> None:
    """Any state, most of it such as no program could bring about."""
    state = bare.state
    for number in range(1, 32):
        state.x[number] = random_address(rng) if rng.random() < 0.7 else rng.getrandbits(64)
    state.vfile[:] = np.frombuffer(rng.randbytes(state.vfile.size), np.uint8)
    state["vtype"] = rng.choice(
        (*VTYPES, *VTYPES, 1 << 63, rng.getrandbits(8), rng.getrandbits(64))
    )
    vlmax = 8 * state.vlenb
    state["vl"] = rng.choice((0, 1, vlmax, rng.randint(0, vlmax), rng.getrandbits(64)))
    state["vstart"] = rng.choice((0, 0, 0, 1, rng.randrange(vlmax), rng.getrandbits(64)))
    for name in ("vxrm", "vxsat", "frm", "fflags"):
        state[name] = rng.choice((0, 1, 3, rng.getrandbits(64)))


def random_machine(rng: random.Random, config: Config, code: bytes) -> tuple[Bare, int]:
    """The code at the start of its page, or up to its end, and random state; where it begins."""
    writable = rng.random() < 0.3
    bare = Bare(bytes(PAGE), config, text_perm=R | X | (W if writable else 0))
    start = TEXT if rng.random() < 0.7 else TEXT + PAGE - len(code)
    bare.memory.write(start, code)
    bare.memory.write(DATA, rng.randbytes(DATA_SIZE))
    fill_state(rng, bare)
    bare.state["pc"] = start if rng.random() < 0.97 else random_address(rng)
    return bare, start


def assert_unharmed(bare: Bare, text: bytes, trap: Trap | None) -> None:
    """The end is clean, and what is not mapped, or not writable, is as it was."""
    state, memory = bare.state, bare.memory
    assert state.x[0] == 0
    assert trap is not None or state["instret"] == LIMIT
    assert state["instret"] <= LIMIT
    if trap is not None:
        assert trap.cause in CAUSES
        assert trap.pc == state["pc"]
        assert 0 <= trap.tval < 1 << 64
        assert trap.why
    if not memory.perm[TEXT // PAGE] & W:
        assert memory.read(TEXT, PAGE) == text
    assert not memory.data[:TEXT].any()
    assert not memory.data[TEXT + PAGE : DATA].any()
    assert not memory.data[DATA + DATA_SIZE :].any()


def fuzz(seed: int) -> None:
    rng = random.Random(seed)
    code = random_code(rng)
    bare, start = random_machine(rng, rng.choice(CONFIGS), code)
    text = bare.memory.read(TEXT, PAGE)
    for _ in range(MOST_TRAPS):
        trap = bare.run(LIMIT - bare.state["instret"])
        assert_unharmed(bare, text, trap)
        if trap is None:
            break
        behind = trap.pc + 4
        if not start <= behind < start + len(code):
            behind = start + 2 * rng.randrange(len(code) // 2)
        bare.state["pc"] = behind


def fuzz_all(seeds: range, one: Callable[[int], None] = fuzz) -> None:
    """Run the seeds; a failure names the one that failed."""
    for seed in seeds:
        try:
            one(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("part", range(8))
def test_any_bytes_end_in_a_trap_or_at_the_limit(part: int) -> None:
    fuzz_all(range(400 * part, 400 * part + 400))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_many_more_bytes_end_in_a_trap_or_at_the_limit(part: int) -> None:
    first = 100_000 + 1000 * part
    fuzz_all(range(first, first + 1000))


def random_calls(seed: int) -> None:
    """System calls with any arguments, on the process's own mappings too."""
    rng = random.Random(seed)
    text = b""
    for _ in range(rng.randint(1, 8)):
        number = rng.choice((*CALLS, 64, 214, 215, 222, 226, rng.randrange(500)))
        data = struct.pack("<7Q", *(call_argument(rng) for _ in range(6)), number)
        # The arguments stand behind the code that loads them.
        loads = [step("auipc", rd=31, uimm=0)]
        registers = (10, 11, 12, 13, 14, 15, 17)
        loads += [step("ld", rd=r, rs1=31, imm=40 + 8 * n) for n, r in enumerate(registers)]
        loads += [step("ecall"), step("jal", rd=0, imm=4 + len(data))]
        text += b"".join(s.code for s in loads) + data
    text += any_insn(rng) + bytes(2)
    machine = Machine(**rng.choice(MACHINES), memory_size=1 << 22)
    machine.load(write_elf(text, bytes(64), text_addr=0x10000, data_addr=0x20000))
    result = machine.run(max_insns=LIMIT)
    assert result.reason in ("exit", "trap", "max_insns")
    assert 0 <= result.exit_code <= 255
    assert (result.trap is not None) == (result.reason == "trap")
    memory = machine.memory
    low = memory.perm[: memory.limit // PAGE]
    assert not memory.data[: memory.limit].reshape(-1, PAGE)[low == 0].any()


def call_argument(rng: random.Random) -> int:
    page = rng.choice((0x10000, 0x20000, 0x21000, 0x300000, (1 << 22) - PAGE, 1 << 22))
    small = rng.choice((0, 1, 2, 3, 7, 0x22, 0x32, 0x100022, PAGE, PAGE + 1, 8 * PAGE))
    value = rng.choice((page, page + 8, small, small, rng.getrandbits(64), -small, 1 << 21))
    return value & (1 << 64) - 1


def test_system_calls_with_any_arguments() -> None:
    fuzz_all(range(400), random_calls)


@pytest.mark.slow
def test_many_system_calls_with_any_arguments() -> None:
    fuzz_all(range(10_000, 15_000), random_calls)


def test_any_two_parcels_decode_or_not() -> None:
    """Every 16-bit parcel, and words around every instruction."""
    for parcel in range(1 << 16):
        if parcel & 3 != 3:
            decode(parcel, 2)
    rng = random.Random(1)
    for insn in isa().insns:
        word = insn.encoding.match
        for bit in range(8 * insn.length):
            decode(word ^ 1 << bit ^ rng.getrandbits(32) & ~insn.encoding.mask & 0xFFFFFFFF, 4)
