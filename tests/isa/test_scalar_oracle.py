"""Every scalar instruction, as the numpy back end runs it, against the element oracle."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.hart.memory import PAGE, GuestFault, Memory, R, W
from rvsim.hart.state import State
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.ir.numpy.runtime import GuestTrap
from tests.isa.fields import legal_fields
from tests.isa.machine_state import CSR_OF_WORD, machine_words, units_off
from tests.oracle.element import OracleState, OracleTrap, execute
from tests.oracle.machine import MACHINE, USER

M64 = (1 << 64) - 1
VLEN = 256
SCALAR = tuple(i for i in isa().insns if not i.unit.is_vector)
TOUCHES_MEMORY = (Unit.LOAD, Unit.STORE, Unit.AMO, Unit.CACHE, Unit.FLOAD, Unit.FSTORE)
CORNERS = (0, 1, 2, 31, 32, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63, M64)
FFLAGS, FRM, FCSR, CYCLE, TIME, INSTRET = 0x001, 0x002, 0x003, 0xC00, 0xC01, 0xC02
MISA, MENVCFG, MSTATUS = 0x301, 0x30A, 0x300
MISA_VALUE = 2 << 62 | sum(1 << ord(letter) - ord("a") for letter in "abcdfimuv")
HPMCOUNTERS = range(0xC03, 0xC20)
LOAD_PAGE_FAULT, STORE_PAGE_FAULT = 13, 15

# Nothing, a page to read and write, a page to read, nothing.
WRITABLE = 0x20000
READABLE = WRITABLE + PAGE
END = READABLE + PAGE
CONTENT = random.Random("memory").randbytes(END - WRITABLE)

EXTENSIONS = frozenset(e for i in SCALAR for e in (*i.extensions, *i.requires))
EXTENSIONS |= {e for csr in CSRS.values() for e in csr.extensions}
STATE = State(VLEN)
MEMORY = Memory(1 << 20)
MEMORY.map(WRITABLE, PAGE, R | W)
MEMORY.map(READABLE, PAGE, R)
ENGINE = Interpreter(Config(EXTENSIONS, vlen=VLEN), STATE, MEMORY)


class OracleMemory:
    """The same two pages; a fault reports the address of the access."""

    def __init__(self) -> None:
        self.content = bytearray(CONTENT)

    def read(self, addr: int, n: int) -> bytes:
        if not WRITABLE <= addr <= END - n:
            raise OracleTrap(LOAD_PAGE_FAULT, addr)
        return bytes(self.content[addr - WRITABLE : addr - WRITABLE + n])

    def write(self, addr: int, data: bytes) -> None:
        if not WRITABLE <= addr <= READABLE - len(data):
            raise OracleTrap(STORE_PAGE_FAULT, addr)
        self.content[addr - WRITABLE : addr - WRITABLE + len(data)] = data


@dataclass(slots=True)
class Case:
    """One instruction in one state."""

    fields: dict[str, int]
    x: list[int]
    f: list[int]
    pc: int
    words: dict[str, int]


registers = st.sampled_from(CORNERS) | st.integers(0, M64)


def patterns(width: int) -> st.SearchStrategy[int]:
    """Bit patterns of a format: zeros, ones, infinities, NaN, subnormal numbers, and any other."""
    exponent = {16: 5, 32: 8, 64: 11}[width]
    fraction = width - 1 - exponent
    infinity = ((1 << exponent) - 1) << fraction
    one = ((1 << exponent - 1) - 1) << fraction
    corners = (0, 1, (1 << fraction) - 1, 1 << fraction, one - 1, one, one + 1, infinity - 1,
               infinity, infinity + 1, infinity | 1 << fraction - 1)  # fmt: skip
    near = min(40, (1 << exponent - 1) - 1) << fraction
    near_one = st.integers(one - near, one + near)
    magnitudes = st.sampled_from(corners) | near_one | st.integers(0, (1 << width - 1) - 1)
    return st.tuples(st.booleans(), magnitudes).map(lambda p: p[0] << width - 1 | p[1])


def boxed(width: int) -> st.SearchStrategy[int]:
    return patterns(width).map(lambda p: p | M64 << width & M64)


float_registers = boxed(16) | boxed(32) | boxed(64) | registers
addresses = (
    st.integers(WRITABLE, READABLE - 1).map(lambda a: a & ~7)
    | st.integers(WRITABLE - 9, WRITABLE + 9)
    | st.integers(READABLE - 9, READABLE + 9)
    | st.integers(END - 9, END + 9)
    | st.sampled_from((0, M64, M64 - 6))
)


@st.composite
def cases(draw: st.DrawFn, insn: Insn) -> Case:
    fields = draw(legal_fields(insn))
    others = random.Random(draw(st.integers(0, 1 << 16)))
    x = [0, *(others.getrandbits(64) for _ in range(31))]
    f = [others.getrandbits(64) for _ in range(32)]
    for register in sorted({fields[r] for r in ("fs1", "fs2", "fs3") if r in fields}):
        f[register] = draw(float_registers)
    sources = {r: insn.source(r) for r in ("rd", "rs1", "rs2")}
    numbers = {
        r: s if isinstance(s, int) else fields[s]
        for r, s in sources.items()
        if isinstance(s, int) or s in fields
    }
    for number in sorted(set(numbers.values()) - {0}):
        x[number] = draw(registers)
    reserved = draw(addresses)
    base = numbers.get("rs1", 0)
    if insn.unit in TOUCHES_MEMORY and base:
        addr = draw(addresses | st.just(reserved))
        x[base] = (addr - operand_value(insn, "imm", fields)) & M64
    bits = draw(st.integers(0, M64))
    words = {
        "vl": bits & 31,
        "vtype": draw(st.sampled_from((0, 0xD1, 1 << 63))),
        "vstart": bits >> 8 & 255,
        "vxrm": bits >> 16 & 3,
        "vxsat": bits >> 18 & 1,
        "fflags": bits >> 19 & 31,
        "frm": bits >> 24 & 7,
        "cycle": bits >> 27 & 0xFFFFFF,
        "instret": bits >> 30 & 0xFFFFFF,
        "reservation_addr": reserved,
        "reservation_valid": draw(st.integers(0, 3)) and 1,
    }
    words |= machine_words(others, draw(st.sampled_from((USER, MACHINE))))
    pc = draw(st.sampled_from((0, 0x10000, 0x7FFFFFFE, M64 - 3)))
    return Case(fields, x, f, pc, words)


def operand_value(insn: Insn, operand: str, fields: Mapping[str, int]) -> int:
    source = insn.source(operand)
    return source if isinstance(source, int) else fields.get(source, 0)


def oracle_fields(insn: Insn, fields: Mapping[str, int]) -> dict[str, int]:
    """The oracle calls every immediate that is not a shift amount of a full instruction `imm`."""
    immediate = next((fields[n] for n in ("imm", "uimm", "shamt", "fpimm") if n in fields), 0)
    return {"imm": immediate, "uimm": immediate, **fields}


Outcome = dict[str, object]


def run_engine(insn: Insn, case: Case) -> Outcome:
    STATE.buffer[:] = 0
    MEMORY.write(WRITABLE, CONTENT)
    for i, value in enumerate(case.x):
        STATE.x[i] = value
    for i, value in enumerate(case.f):
        STATE.f[i] = value
    for name, value in case.words.items():
        STATE[name] = value
    STATE["pc"] = (case.pc + insn.length) & M64
    compiled = ENGINE.binder.compiled(insn, case.fields, Mode(None, "vl"))
    arguments = [(case.pc if p == "pc" else case.fields[p]) & M64 for p in compiled.params]
    trap: tuple[int, int] | None = None
    try:
        compiled.function(*arguments)
    except GuestTrap as stop:
        trap = stop.cause, stop.tval
    except GuestFault as stop:
        trap = {"load": LOAD_PAGE_FAULT, "store": STORE_PAGE_FAULT}[stop.access], stop.addr
    outcome: Outcome = {name: STATE[name] for name in case.words}
    for counter in ("cycle", "instret"):
        outcome[counter] = STATE[counter] + STATE[f"{counter}_moved"] & M64
        del outcome[f"{counter}_moved"]
    if not STATE["reservation_valid"]:
        outcome["reservation_addr"] = None
    return outcome | {
        "trap": trap,
        "pc": case.pc if trap else STATE["pc"],
        "x": list(STATE.x),
        "f": list(STATE.f),
        "memory": MEMORY.read(WRITABLE, END - WRITABLE),
        "v": STATE.vfile.tobytes(),
    }


def run_oracle(insn: Insn, case: Case) -> Outcome:
    words = case.words
    memory = OracleMemory()
    vector = ("vl", "vtype", "vstart", "vxrm", "vxsat")
    state = OracleState(VLEN, memory, x=list(case.x), pc=case.pc, **{n: words[n] for n in vector})
    state.f = list(case.f)
    state.reservation = words["reservation_addr"] if words["reservation_valid"] else None
    cycle, instret = (words[n] + words[f"{n}_moved"] & M64 for n in ("cycle", "instret"))
    state.csr = {FFLAGS: words["fflags"], FRM: words["frm"], FCSR: 0, CYCLE: cycle,
                 TIME: words["cycle"] * 3 // 200, INSTRET: instret, MISA: MISA_VALUE,
                 MENVCFG: 0xF0, **dict.fromkeys(HPMCOUNTERS, 0),
                 **{n: words[name] for name, n in CSR_OF_WORD.items()}}  # fmt: skip
    state.privilege = words["privilege"]
    trap: tuple[int, int] | None = None
    try:
        execute(insn.name, state, oracle_fields(insn, case.fields), insn.length)
    except OracleTrap as stop:
        trap = stop.cause, stop.tval
    outcome: Outcome = {name: getattr(state, name) for name in vector}
    return outcome | {
        "fflags": state.csr[FFLAGS],
        "frm": state.csr[FRM],
        "cycle": state.csr[CYCLE],
        "instret": state.csr[INSTRET],
        "privilege": state.privilege,
        "units_off": units_off(state.csr[MSTATUS]),
        **{name: state.csr[n] for name, n in CSR_OF_WORD.items()},
        "reservation_addr": state.reservation,
        "reservation_valid": int(state.reservation is not None),
        "trap": trap,
        "pc": state.pc,
        "x": state.x,
        "f": state.f,
        "memory": bytes(memory.content),
        "v": bytes(state.v),
    }


@pytest.mark.parametrize("insn", SCALAR, ids=lambda insn: insn.name)
def test_the_numpy_back_end_agrees_with_the_oracle(insn: Insn) -> None:
    @settings(max_examples=160 if insn.unit == Unit.CSR else 40)
    @given(cases(insn))
    def check(case: Case) -> None:
        ours, theirs = run_engine(insn, case), run_oracle(insn, case)
        assert {k: v for k, v in ours.items() if v != theirs[k]} == {
            k: v for k, v in theirs.items() if v != ours[k]
        }

    check()
