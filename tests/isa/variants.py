"""Variants of an instruction, each in several states, at random but always the same ones.

A variant is what a trace is made for: operand fields, vtype, profile, and what is known of vl and
vstart.  Its states differ in all else.  Nothing here knows of a back end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from rvsim.config import Agnostic, ReductionOrder
from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.decode import problems
from rvsim.insn.encoding import FieldCode
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.vec.vtype import VType
from tests.harness import BOUNDARIES, M64, VILL, WRITABLE, Case, applicable_modes, prepare
from tests.isa.fields import REGISTERS
from tests.isa.machine_state import machine_words
from tests.isa.vector_cases import (
    CONFIGURATION,
    RELATIONS,
    VECTOR,
    VTYPES,
    build_case,
    expand,
    scalar,
)
from tests.oracle.float_operands import corners, random_rows
from tests.oracle.machine import MACHINE, USER

AGNOSTIC: tuple[Agnostic, ...] = ("undisturbed", "ones", "random")
ORDERS: tuple[ReductionOrder, ...] = ("sequential", "tree", "random")
TOUCHES_MEMORY = (Unit.LOAD, Unit.STORE, Unit.AMO, Unit.CACHE, Unit.FLOAD, Unit.FSTORE)
PCS = (0, 0x10000, 0x7FFFFFFE, M64 - 3)
FIELD_TRIES = 1000


@dataclass(frozen=True, slots=True)
class Situation:
    """A case, and words of the state that it says nothing of."""

    case: Case
    words: dict[str, int]

    def establish(self, state: State, memory: Memory) -> None:
        prepare(self.case, state, memory)
        for name, value in self.words.items():
            state[name] = value


@dataclass(frozen=True, slots=True)
class Variant:
    """What one function is made for, and where to run it; the cases agree in all a trace sees."""

    elements: str
    situations: tuple[Situation, ...]

    @property
    def case(self) -> Case:
        return self.situations[0].case


def variants(insn: Insn, count: int, states: int, *, vlen: int, seed: int = 0) -> list[Variant]:
    """Some variants of an instruction at one VLEN; `seed` chooses them."""
    rng = random.Random(f"{insn.name}/{vlen}/{seed}")
    return [_variant(insn, states, vlen, rng) for _ in range(count)]


def _variant(insn: Insn, states: int, vlen: int, rng: random.Random) -> Variant:
    if insn in VECTOR:
        first = _vector_case(insn, vlen, rng)
        best, *less = applicable_modes(first)
        known = rng.choice((best, best, *less))
        others = (_another_vector_case(first, known, rng) for _ in range(states - 1))
    else:
        make = _configuration_case if insn in CONFIGURATION else _scalar_case
        first, known = make(insn, _fields(insn, rng), vlen, rng), "vl"
        others = (make(insn, first.fields, vlen, rng, first) for _ in range(states - 1))
    return Variant(known, tuple(_situation(case, rng) for case in (first, *others)))


# -- fields


def _field(field: FieldCode, rng: random.Random) -> int:
    """Any value that fits; registers that meet, and corners of immediates, often."""
    if field.name == "csr" and rng.random() < 0.9:
        return rng.choice(sorted(CSRS))
    half = 1 << field.width - 1
    low, high = (-half, half - 1) if field.signed else (0, 2 * half - 1)
    if field.compact:
        low, high = 8, 15
    corner = rng.choice((0, 1, 2, 10, 31) if field.name in REGISTERS else (low, -1, 0, 1, high))
    value = corner if low <= corner <= high and rng.random() < 0.4 else rng.randint(low, high)
    return value - value % field.step


def _fields(insn: Insn, rng: random.Random) -> dict[str, int]:
    """Fields that `insn` encodes, and that it may have."""
    config = Case(insn, {}).config
    for _ in range(FIELD_TRIES):
        fields = {f.name: _field(f, rng) for f in insn.encoding.fields}
        try:
            word = insn.encoding.encode(fields)
        except ValueError:  # another instruction's
            continue
        if isa().find(word) is insn and not problems(insn, fields, None, config):
            return fields
    raise AssertionError(f"{insn.name}: no legal fields in {FIELD_TRIES} tries")


# -- vector


def _vector_case(insn: Insn, vlen: int, rng: random.Random) -> Case:
    fields = {f.name: _field(f, rng) for f in insn.encoding.fields}
    numbers = ("vlen", "vtype", "vl_number", "vstart_number", "agnostic", "seed")
    drawn = {name: rng.getrandbits(16) for name in numbers} | {
        "policies": rng.randrange(4),
        "vl": rng.choice(("max", "max", "some", "some", "one", "zero")),
        "vstart": rng.choice(("zero", "zero", "zero", "inside", "end", "anywhere")),
        "relation": rng.choice(RELATIONS),
        "misaligned": rng.random() < 0.5,
        "vill": rng.randrange(5),
    }
    case = build_case(insn, fields, drawn, agnostic=AGNOSTIC, vlens=(vlen,))
    order = rng.choice(ORDERS) if "redusum" in insn.name else "sequential"
    return replace(_floats(case, rng), seed=1, reduction_order=order, reduction_seed=1)


def _another_vector_case(first: Case, known: str, rng: random.Random) -> Case:
    """Other data; vl and vstart as far as the trace allows."""
    vtype = VType.decode(first.vtype)
    vlmax = vtype.vlmax(first.vlen) if vtype else 0
    vl, vstart = first.vl, 0
    if known != "full":
        vl = rng.choice((vlmax, 1, 0, *(rng.randint(0, vlmax) for _ in range(3))))
    if known == "vstart":
        vstart = rng.choice((0, 1, max(0, vl - 1), vl, rng.randrange(first.vlen)))
    x, v = expand(first.insn, first.fields, vtype, vl, first.vlen, rng)
    case = replace(
        first,
        x=x,
        v=v,
        vl=vl,
        vstart=vstart,
        vxrm=rng.randrange(4),
        vxsat=rng.randrange(2),
        instret=rng.getrandbits(40),
    )
    return _floats(case, rng)


# -- vector configuration


def _configuration_case(
    insn: Insn,
    fields: Mapping[str, int],
    vlen: int,
    rng: random.Random,
    first: Case | None = None,
) -> Case:
    """vset* from any state to any vtype, legal or not."""
    wanted = rng.choice((rng.choice(VTYPES).encode(), rng.getrandbits(8), rng.getrandbits(64)))
    now = rng.choice((VILL, *(v.encode() for v in rng.choices(VTYPES, k=6))))
    if first is None:
        fields = dict(fields)
        if "vtypei" in fields:
            fields["vtypei"] = wanted & (1 << insn.encoding.field("vtypei").width) - 1
        fields |= {name: 0 for name in ("rd", "rs1") if name in fields and rng.random() < 0.4}
        first = Case(
            insn,
            fields,
            vlen=vlen,
            vl_policy=rng.choice(("max", "half")),
            reserved=rng.choice(("trap", "allow")),
        )
    x = [0, *(scalar(rng, vlen) for _ in range(31))]
    for name, value in (("rs2", wanted), ("rs1", rng.randrange(2 * vlen))):
        if first.fields.get(name) and rng.random() < 0.7:
            x[first.fields[name]] = value
    vtype = VType.decode(now)
    vl = rng.randrange(vtype.vlmax(vlen) + 1) if vtype else 0
    return replace(first, x=tuple(x), vtype=now, vl=vl, vstart=rng.randrange(4))


# -- scalar


def _scalar_case(
    insn: Insn,
    fields: Mapping[str, int],
    vlen: int,
    rng: random.Random,
    first: Case | None = None,
) -> Case:
    x = [0, *(scalar(rng, vlen) for _ in range(31))]
    base = _value(insn, fields, "rs1")
    if insn.unit in TOUCHES_MEMORY and base:
        x[base] = _address(rng) - _value(insn, fields, "imm") & M64
    vtype = rng.choice(VTYPES)
    return Case(
        insn,
        dict(fields),
        tuple(x),
        rng.randbytes(4 * vlen),
        rng.choice((VILL, vtype.encode())),
        rng.randrange(vtype.vlmax(vlen) + 1),
        rng.randrange(vlen),
        rng.randrange(4),
        rng.randrange(2),
        pc=first.pc if first else rng.choice(PCS),
        instret=rng.getrandbits(40),
        vlen=vlen,
    )


def _value(insn: Insn, fields: Mapping[str, int], operand: str) -> int:
    source = insn.source(operand)
    return source if isinstance(source, int) else fields.get(source, 0)


def _address(rng: random.Random) -> int:
    """Somewhere to write, aligned or not, or where that begins and ends."""
    inside = WRITABLE + rng.randrange(8192)
    near = rng.choice(BOUNDARIES) + rng.randrange(-9, 9)
    return rng.choice((inside, inside & ~7, inside & ~7, near, near & ~7, 0, M64, M64 - 6)) & M64


# -- floating point


@cache
def _patterns(name: str) -> np.ndarray:
    """Corners of a format, and operands that overlap, cancel and just miss each other."""
    rows = random_rows(name, 3, 400)
    width = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[name]
    flat = [*corners(name), *(pattern for row in rows for pattern in row)]
    return np.array(flat, f"u{width // 8}")


def _floats(case: Case, rng: random.Random) -> Case:
    """For floating point: the lanes of most registers become floats of some width."""
    vtype = VType.decode(case.vtype)
    if vtype is None or not case.insn.name.startswith(("vf", "vmf")):
        return case
    vlenb = case.vlen // 8
    data = np.frombuffer(case.v, np.uint8).copy()
    gen = np.random.default_rng(rng.getrandbits(64))
    widths = [w for w in (vtype.sew, vtype.sew, 2 * vtype.sew, vtype.sew // 2) if 16 <= w <= 64]
    if not widths:
        return case
    for register in range(32):
        if rng.random() < 0.8:
            width = rng.choice(widths)
            name = rng.choice({16: ("f16", "bf16"), 32: ("f32",), 64: ("f64",)}[width])
            row = data[register * vlenb :][:vlenb].view(f"u{width // 8}")
            row[:] = gen.choice(_patterns(name), len(row))
    return replace(case, v=data.tobytes())


def _f_register(rng: random.Random) -> int:
    """A float as an f register holds it, or one that is not boxed, or anything."""
    name = rng.choice(("f16", "bf16", "f32", "f32", "f64", "f64"))
    pattern = int(rng.choice(_patterns(name)))
    width = _patterns(name).itemsize * 8
    if rng.random() < 0.1:
        return rng.choice((pattern, rng.getrandbits(64)))
    return M64 >> width << width | pattern


def _situation(case: Case, rng: random.Random) -> Situation:
    case = replace(
        case,
        f=tuple(_f_register(rng) for _ in range(32)),
        frm=rng.choice((0, 1, 2, 3, 4, 0, 1, 2, 3, 4, rng.randrange(8))),
        fflags=rng.getrandbits(5),
    )
    words = {
        "cycle": rng.getrandbits(40),
        "reservation_addr": rng.choice(case.x),
        "reservation_valid": rng.randrange(2),
        **machine_words(rng, rng.choice((USER, MACHINE))),
    }
    base = _value(case.insn, case.fields, "rs1")
    if case.insn.unit == Unit.AMO and rng.random() < 0.7:
        words["reservation_addr"] = case.x[base]
    return Situation(case, words)


def supported() -> Iterator[Insn]:
    return (insn for insn in isa().insns if insn.unsupported is None)
