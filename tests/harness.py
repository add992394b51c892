"""One instruction in one state, run by rvsim and by the element oracle, and compared.

A `Case` describes everything; `run_numpy` and `run_oracle` give an `Outcome` each, `differences`
says in words where two of them part.  Other back ends use `prepare` and `observe` around a run of
their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from rvsim.config import Agnostic, Config, ReductionOrder, Reserved, VlPolicy
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.hart.memory import PAGE, GuestFault, Memory, R, W
from rvsim.hart.state import State
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.ir.numpy.runtime import GuestTrap
from rvsim.profiles import expand
from rvsim.vec.vtype import VType, vtype_text
from tests.oracle.element import OracleState, OracleTrap, execute

M64 = (1 << 64) - 1
VILL = 1 << 63
ILLEGAL = 2
LOAD_PAGE_FAULT, STORE_PAGE_FAULT = 13, 15

EXTENSIONS = (
    frozenset(e for i in isa().insns for e in (*i.extensions, *i.requires))
    | {e for csr in CSRS.values() for e in csr.extensions}
    | expand("*")
)
"""All that anything is in, so that no case fails for its profile."""

MEMORY_SIZE = 1 << 20
# Nothing, two pages to write, one to read, nothing, one to write, nothing; and the last page.
WRITABLE, READABLE, ISLAND, LAST = 0x20000, 0x22000, 0x24000, MEMORY_SIZE - PAGE
PAGES: dict[int, int] = {
    WRITABLE: R | W,
    WRITABLE + PAGE: R | W,
    READABLE: R,
    ISLAND: R | W,
    LAST: R | W,
}
BOUNDARIES = (
    WRITABLE,
    WRITABLE + PAGE,
    READABLE,
    READABLE + PAGE,
    ISLAND,
    ISLAND + PAGE,
    LAST,
    MEMORY_SIZE,
)
"""Where accesses begin or cease to be allowed, or cross from one page to the next."""

CONTENT = {page: random.Random(page).randbytes(PAGE) for page in PAGES}


@dataclass(frozen=True, slots=True)
class Case:
    """One instruction and the state it meets; `x`, `f` and `v` are all registers."""

    insn: Insn
    fields: dict[str, int]
    x: tuple[int, ...] = (0,) * 32
    v: bytes = b""
    vtype: int = VILL
    vl: int = 0
    vstart: int = 0
    vxrm: int = 0
    vxsat: int = 0
    f: tuple[int, ...] = (0,) * 32
    frm: int = 0
    fflags: int = 0
    pc: int = 0x10000
    instret: int = 0
    vlen: int = 256
    agnostic: Agnostic = "undisturbed"
    seed: int = 0
    misaligned: bool = True
    vl_policy: VlPolicy = "max"
    reserved: Reserved = "trap"
    reduction_order: ReductionOrder = "sequential"
    reduction_seed: int = 0

    @property
    def config(self) -> Config:
        return Config(
            EXTENSIONS,
            vlen=self.vlen,
            agnostic=self.agnostic,
            seed=self.seed,
            vl_policy=self.vl_policy,
            reserved=self.reserved,
            misaligned_vector=self.misaligned,
            reduction_order=self.reduction_order,
            reduction_seed=self.reduction_seed,
        )

    def __str__(self) -> str:
        fields = ", ".join(f"{name} {value}" for name, value in self.fields.items())
        choices = f"agnostic {self.agnostic}" + ("" if self.misaligned else ", aligned only")
        return (
            f"{self.insn.name} {fields}\n  VLEN {self.vlen}  vtype {vtype_text(self.vtype)}"
            f"  vl {self.vl}  vstart {self.vstart}  vxrm {self.vxrm}  vxsat {self.vxsat}"
            f"  frm {self.frm}  {choices}"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Architectural state after a run.  `trap` is (cause, tval), or None."""

    trap: tuple[int, int] | None
    x: tuple[int, ...]
    f: tuple[int, ...]
    v: bytes
    csrs: Mapping[str, int]
    memory: bytes = field(repr=False)


VECTOR_CSRS = ("vl", "vtype", "vstart", "vxrm", "vxsat", "frm", "fflags")


# -- rvsim


@cache
def new_memory() -> Memory:
    """The pages of `PAGES`, shared by all engines of this module."""
    memory = Memory(MEMORY_SIZE)
    for page, perm in PAGES.items():
        memory.map(page, PAGE, perm)
    return memory


@cache
def engine(config: Config) -> Interpreter:
    return Interpreter(config, State(config.vlen), new_memory())


def prepare(case: Case, state: State, memory: Memory) -> None:
    """Put the case into a state and a memory that has the pages of `PAGES`."""
    state.buffer[:] = 0
    for i, value in enumerate(case.x):
        state.x[i] = value
    for i, value in enumerate(case.f):
        state.f[i] = value
    if case.v:
        state.vfile[:] = memoryview(case.v)
    for name in (*VECTOR_CSRS, "instret"):
        state[name] = getattr(case, name)
    state["pc"] = (case.pc + case.insn.length) & M64
    for page, content in CONTENT.items():
        memory.write(page, content)


def observe(state: State, memory: Memory, trap: tuple[int, int] | None) -> Outcome:
    """What the run left.  The tval of an illegal instruction is not the instruction's to say."""
    if trap is not None and trap[0] == ILLEGAL:
        trap = ILLEGAL, 0
    return Outcome(
        trap,
        tuple(state.x),
        tuple(state.f),
        state.vfile.tobytes(),
        {name: state[name] for name in VECTOR_CSRS},
        b"".join(memory.read(page, PAGE) for page in PAGES),
    )


def arguments(case: Case, params: tuple[str, ...]) -> list[int]:
    """Values of a program's parameters."""
    return [(case.pc if p == "pc" else case.fields[p]) & M64 for p in params]


def run_numpy(case: Case, elements: str | None = None) -> Outcome:
    """Run on the numpy back end; `elements` overrides what the trace knows of vl and vstart."""
    interpreter = engine(case.config)
    state, memory = interpreter.state, interpreter.memory
    prepare(case, state, memory)
    mode = Mode.of(state)
    if elements is not None:
        mode = replace(mode, elements=elements)
    compiled = interpreter.binder.compiled(case.insn, case.fields, mode)
    trap: tuple[int, int] | None = None
    try:
        with np.errstate(all="ignore"):  # as `Interpreter.run` does
            compiled.function(*arguments(case, compiled.params))
    except GuestTrap as stop:
        trap = stop.cause, stop.tval
    except GuestFault as stop:
        trap = {"load": LOAD_PAGE_FAULT, "store": STORE_PAGE_FAULT}[stop.access], stop.addr
    return observe(state, memory, trap)


def applicable_modes(case: Case) -> tuple[str, ...]:
    """What a trace may know of the case, the most first; a fuller one is only an optimisation."""
    if case.vstart:
        return ("vstart",)
    vtype = VType.decode(case.vtype)
    if vtype is not None and case.vl == vtype.vlmax(case.vlen):
        return ("full", "vl", "vstart")
    return ("vl", "vstart")


# -- the oracle


class OracleMemory:
    """The same pages; a fault reports the address of the access."""

    def __init__(self) -> None:
        self.content = {page: bytearray(content) for page, content in CONTENT.items()}

    def _check(self, addr: int, n: int, need: int, cause: int) -> None:
        for a in (addr, addr + n - 1):
            if not PAGES.get(a - a % PAGE, 0) & need:
                raise OracleTrap(cause, addr)

    def read(self, addr: int, n: int) -> bytes:
        self._check(addr, n, R, LOAD_PAGE_FAULT)
        at = addr % PAGE
        if at + n <= PAGE:
            return bytes(self.content[addr - at][at : at + n])
        return bytes(self.content[a - a % PAGE][a % PAGE] for a in range(addr, addr + n))

    def write(self, addr: int, data: bytes) -> None:
        self._check(addr, len(data), W, STORE_PAGE_FAULT)
        for a, octet in enumerate(data, addr):
            self.content[a - a % PAGE][a % PAGE] = octet


def oracle_fields(insn: Insn, fields: Mapping[str, int]) -> dict[str, int]:
    """The oracle calls every immediate `imm`."""
    immediate = next((fields[n] for n in ("imm", "uimm", "shamt") if n in fields), 0)
    return {"imm": immediate, **fields}


def run_oracle(case: Case) -> Outcome:
    """Run on the element oracle, which knows agnostic elements as undisturbed or ones."""
    memory = OracleMemory()
    state = OracleState(
        case.vlen, memory, x=list(case.x), f=list(case.f), v=bytearray(case.v), pc=case.pc
    )
    for name in VECTOR_CSRS:
        setattr(state, name, getattr(case, name))
    state.agnostic = "ones" if case.agnostic == "ones" else "undisturbed"
    state.vl_policy = case.vl_policy
    state.reserved = case.reserved
    state.misaligned_vector_ok = case.misaligned
    trap: tuple[int, int] | None = None
    try:
        execute(case.insn.name, state, oracle_fields(case.insn, case.fields), case.insn.length)
    except OracleTrap as stop:
        trap = stop.cause, 0 if stop.cause == ILLEGAL else stop.tval
    return Outcome(
        trap,
        tuple(state.x),
        tuple(state.f),
        bytes(state.v),
        {name: getattr(state, name) for name in VECTOR_CSRS},
        b"".join(memory.content.values()),
    )


# -- comparison


def differences(case: Case, expected: Outcome, got: Outcome) -> list[str]:
    """Every place where two outcomes differ, in words; empty when they agree."""
    return list(_differences(case, expected, got))


def _differences(case: Case, expected: Outcome, got: Outcome) -> Iterator[str]:
    if expected.trap != got.trap:
        yield f"trap (cause, tval): expected {expected.trap}, got {got.trap}"
    for letter, wanted, found in (("x", expected.x, got.x), ("f", expected.f, got.f)):
        for i, (want, have) in enumerate(zip(wanted, found, strict=True)):
            if want != have:
                yield f"{letter}{i}: expected {want:#x}, got {have:#x}"
    for name in VECTOR_CSRS:
        if expected.csrs[name] != got.csrs[name]:
            yield f"{name}: expected {expected.csrs[name]:#x}, got {got.csrs[name]:#x}"
    if expected.v != got.v:
        yield from _lanes(case, expected.v, got.v)
    if expected.memory != got.memory:
        yield from _bytes(expected.memory, got.memory)


def _lanes(case: Case, expected: bytes, got: bytes) -> Iterator[str]:
    """Differing SEW-wide lanes: register and lane, expected, got and the value before."""
    vtype = VType.decode(case.vtype)
    size, vlenb = (vtype.sew // 8 if vtype else 1), case.vlen // 8
    for at in range(0, len(expected), size):
        want, have = expected[at : at + size], got[at : at + size]
        if want != have:
            before = case.v[at : at + size]
            texts = (f"{int.from_bytes(octets, 'little'):#x}" for octets in (want, have, before))
            want_text, have_text, before_text = texts
            yield (
                f"v{at // vlenb}[{at % vlenb // size}]: expected {want_text}, got {have_text}"
                f" (was {before_text})"
            )


def _bytes(expected: bytes, got: bytes) -> Iterator[str]:
    pages = list(PAGES)
    for at, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want != have:
            addr = pages[at // PAGE] + at % PAGE
            yield f"memory {addr:#x}: expected {want:#04x}, got {have:#04x}"


def assert_same(case: Case, expected: Outcome, got: Outcome, what: str = "") -> None:
    """Fail with the case and its differences, the first dozen of them."""
    found = differences(case, expected, got)
    if found:
        more = [f"… and {len(found) - 12} more"] if len(found) > 12 else []
        raise AssertionError("\n  ".join([f"{what} {case}".strip(), *found[:12], *more]))
