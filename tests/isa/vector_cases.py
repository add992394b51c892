"""Strategies for vector and IME cases: Hypothesis draws the structure, a seed expands the data.

Structure is what a reader of a failing example wants to see small: VLEN, vtype, vl, vstart,
policies, registers and how they relate.  Element values, scalars and addresses come from a seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rvsim.config import Agnostic, Config
from rvsim.hart.memory import PAGE
from rvsim.insn.decode import problems
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.vec.groups import V0, resolve
from rvsim.vec.vtype import VType
from tests.harness import (
    BOUNDARIES,
    EXTENSIONS,
    ISLAND,
    LAST,
    M64,
    MEMORY_SIZE,
    READABLE,
    VILL,
    WRITABLE,
    Case,
)
from tests.oracle.float_exact import FORMATS
from tests.oracle.float_operands import corners
from tests.oracle.legality import ELEMENT_GROUPS

VECTOR = tuple(
    i for i in isa().insns if i.unit.is_vector and i.unit != Unit.VSET and i.unsupported is None
)
CONFIGURATION = tuple(i for i in isa().insns if i.unit == Unit.VSET)

VTYPES = tuple(
    v for sew in range(3, 7) for lmul in range(-3, 4) if (v := VType(sew, lmul)).supported(64)
)
VLENS = (128, 256, 128, 256, 512, 1024)
RELATIONS = ("free", "free", "same", "vs2=vd", "vs1=vd", "vs1=vs2", "top", "v0")


@dataclass(frozen=True, slots=True)
class Access:
    """A memory instruction as its name tells it; `eew` 0 is SEW."""

    mode: str
    nf: int
    eew: int
    index_eew: int

    @staticmethod
    @cache
    def of(name: str) -> Access | None:
        found = re.fullmatch(r"v[ls](s|ux|ox)?(?:seg(\d))?e(i?)(\d+)(?:ff)?\.v", name)
        if found:
            kind, nf, index, eew = found.groups()
            mode = {"s": "strided", "ux": "indexed", "ox": "indexed", None: "unit"}[kind]
            widths = (0, int(eew)) if index else (int(eew), 0)
            return Access(mode, int(nf or 1), *widths)
        whole = re.fullmatch(r"v[ls]\dr(?:e(\d+))?\.v", name)
        if whole:
            return Access("unit", 1, int(whole[1] or 8), 0)
        return Access("unit", 1, 8, 0) if name in ("vlm.v", "vsm.v") else None


# -- legal registers


def _registers(insn: Insn) -> tuple[str, ...]:
    return tuple(v.field for v in insn.vregs if v is not V0)


@cache
def config_of(vlen: int) -> Config:
    """A configuration that has everything."""
    return Config(EXTENSIONS, vlen=vlen)


def _aligned(insn: Insn, fields: dict[str, int], vtype: VType) -> dict[str, int]:
    """Register numbers rounded down to multiples of their groups' sizes."""
    result = dict(fields)
    for operand in insn.vregs:
        if operand is not V0:
            group = resolve(operand, fields, vtype)
            whole = operand.eew.kind == "whole"
            size = group.nregs if whole else 1 << max(0, group.emul_log2)
            result[operand.field] -= result[operand.field] % size
    return result


def place_registers(
    insn: Insn,
    fields: dict[str, int],
    vtype: VType,
    vlen: int,
    rng: random.Random,
    tries: int = 1000,
) -> dict[str, int] | None:
    """`fields` with the registers wanted there, or with others that are legal; None if none is."""
    config, names = config_of(vlen), _registers(insn)
    for _ in range(tries):
        candidate = _aligned(insn, fields, vtype)
        if not problems(insn, candidate, vtype, config):
            return candidate
        fields = dict(candidate)
        for name in names:
            if rng.random() < 0.6:
                fields[name] = rng.randrange(32)
    return None


@cache
def legal_vtypes(insn: Insn, vlen: int) -> tuple[VType, ...]:
    """Types under which some choice of registers is legal."""
    fields = {f.name: f.step for f in insn.encoding.fields} | {"vm": 1}
    rng = random.Random(0)
    return tuple(v for v in VTYPES if place_registers(insn, fields, v, vlen, rng, tries=100))


def related(insn: Insn, fields: dict[str, int], relation: str, vtype: VType) -> dict[str, int]:
    """Registers that are the same, or overlap as widening forms may, or are v0."""
    names = _registers(insn)
    dest = "vd" if "vd" in fields else "vs3"
    result = dict(fields)
    match relation:
        case "same":
            result |= {name: fields.get(dest, 0) for name in names}
        case "v0":
            result |= {name: 0 for name in names if name != "vd"}
        case "vs1=vs2" if {"vs1", "vs2"} <= set(names):
            result["vs1"] = fields["vs2"]
        case "vs2=vd" | "vs1=vd" if dest in fields and relation[:3] in names:
            result[relation[:3]] = fields[dest]
        case "top" if "vd" in fields:
            aligned = _aligned(insn, fields, vtype)
            groups = {v.field: resolve(v, aligned, vtype) for v in insn.vregs}
            end = groups["vd"].reg + groups["vd"].nregs
            result |= {n: max(0, end - groups[n].nregs) for n in names if n != "vd"}
    return result


# -- data


def _corners(width: int) -> tuple[int, ...]:
    least = 1 << (width - 1)
    return 0, 1, 2, least - 1, least, least + 1, 2 * least - 2, 2 * least - 1


_CORNERS = {width: np.array(_corners(width), f"u{width // 8}") for width in (8, 16, 32, 64)}


def register_file(gen: np.random.Generator, vlen: int, vtype: VType | None) -> np.ndarray:
    """Bytes of all registers: random, or full of corner values, or of small numbers."""
    vlenb = vlen // 8
    data = gen.integers(0, 256, 32 * vlenb, np.uint8)
    style = ("random", "corners", "other width", "small", "few corners")[int(gen.integers(5))]
    width = 8 << int(gen.integers(4)) if vtype is None or style == "other width" else vtype.sew
    lanes = data.view(f"u{width // 8}")
    if style in ("small", "few corners"):
        limit = 2 * vtype.vlmax(vlen) if vtype and style == "small" else 4
        lanes[:] = gen.integers(0, min(limit, 1 << min(width, 62)), len(lanes))
    rate = {"corners": 0.6, "other width": 0.6, "few corners": 0.05}.get(style, 0)
    chosen = gen.random(len(lanes)) < rate
    lanes[chosen] = gen.choice(_CORNERS[width], int(chosen.sum()))
    rows = data.reshape(32, vlenb)
    for reg in np.flatnonzero(gen.random(32) < 0.1):
        rows[reg] = int(gen.integers(2)) * 255
    match int(gen.integers(5)):
        case 0:
            rows[0] = 0
        case 1:
            rows[0] = 255
        case 2:
            rows[0] &= gen.integers(0, 256, vlenb, np.uint8) & gen.integers(0, 256, vlenb, np.uint8)
    return data


def is_float(insn: Insn) -> bool:
    return insn.name.startswith(("vf", "vmf"))


_PATTERNS = {
    16: ("f16", "bf16"),
    32: ("f32",),
    64: ("f64",),
}


@cache
def float_patterns(name: str) -> np.ndarray:
    return np.array(corners(name), f"u{FORMATS[name].width // 8}")


def fill_with_floats(gen: np.random.Generator, data: np.ndarray, vlen: int, vtype: VType) -> None:
    """Make corner values of some format of the lanes of most registers."""
    rows = data.reshape(32, vlen // 8)
    widths = [w for w in (vtype.sew, vtype.sew, 2 * vtype.sew, vtype.sew // 2) if w in _PATTERNS]
    for register in np.flatnonzero(gen.random(32) < 0.8) if widths else ():
        names = _PATTERNS[widths[int(gen.integers(len(widths)))]]
        patterns = float_patterns(names[int(gen.integers(len(names)))])
        lanes = rows[register].view(patterns.dtype)
        lanes[:] = gen.choice(patterns, len(lanes))


def f_register(rng: random.Random) -> int:
    """A boxed value of some format, or one that is not boxed, or anything."""
    name = rng.choice(("f16", "bf16", "f32", "f32", "f64", "f64"))
    pattern, width = int(rng.choice(float_patterns(name))), FORMATS[name].width
    if rng.random() < 0.1:
        return rng.choice((pattern, rng.getrandbits(64)))
    return M64 >> width << width | pattern


def scalar(rng: random.Random, vlmax: int) -> int:
    """A corner of some width, a small number, or anything."""
    match rng.randrange(3):
        case 0:
            corner = rng.choice(_corners(rng.choice((8, 16, 32, 64))))
            return corner if rng.random() < 0.7 else M64 - corner
        case 1:
            return rng.randrange(2 * vlmax + 2)
    return rng.getrandbits(64)


ENDS = {1: (READABLE, READABLE + PAGE, ISLAND + PAGE, MEMORY_SIZE), -1: (WRITABLE, ISLAND, LAST)}
"""Where a walk upwards, or downwards, leaves the pages that it may access."""


def base_and_stride(rng: random.Random, a: Access, size: int, n: int) -> tuple[int, int]:
    """A base address and stride: all of it accessible, or an end of that at some element."""
    nf, span = a.nf, a.nf * size
    stride = span
    if a.mode == "strided":
        near = (0, span, -span, size, -size, 2 * span, span + size, 1, -1, rng.randrange(-99, 99))
        far = (4096, -4096, 4096 - span, 1 << 63, M64 >> 1, rng.getrandbits(64))
        stride = rng.choice(near if rng.random() < 0.8 else far)
        if rng.random() < 0.6:
            stride -= stride % size
    if rng.random() < 0.35:
        base = WRITABLE + PAGE - rng.randrange(2048) * (1 if stride > 0 else -1)
        base -= base % size
    else:
        way = 1 if stride >= 0 else -1
        edge = rng.choice(ENDS[way] if rng.random() < 0.8 else BOUNDARIES)
        element = rng.choice((0, 1, n // 2, n - 1, n, *(rng.randint(0, n) for _ in range(5))))
        base = edge - element * stride - rng.randrange(nf) * size
    if rng.random() < 0.25:
        base += rng.randrange(size)
    return base & M64, stride & M64


def index_lanes(rng: random.Random, base: int, width: int, n: int, size: int) -> np.ndarray:
    """Byte offsets from a base to addresses that may be accessed but for a few, some the same."""
    start = rng.choice((WRITABLE, WRITABLE + PAGE - 64, READABLE - 256, ISLAND, LAST))
    reach = rng.choice((4, 16, 64, 256)) // size
    step = size if rng.random() < 0.7 else 1
    targets = [start + step * rng.randrange(reach + 1) for _ in range(n)]
    if rng.random() < 0.6:
        for _ in range(rng.randint(1, 3)):
            targets[rng.randrange(n)] = rng.choice(BOUNDARIES) - rng.randrange(-size, 2 * size)
    offsets = [(target - base) & M64 for target in targets]
    low = [o if o >> width == 0 else rng.randrange(256) // step * step for o in offsets]
    return np.array(low, np.uint64).astype(f"u{width // 8}")


# -- cases


@cache
def fields_of(insn: Insn) -> st.SearchStrategy[dict[str, int]]:
    """Any fields; `place_registers` makes them legal."""
    strategies = {}
    for f in insn.encoding.fields:
        low = -(1 << f.width - 1) if f.signed else 0
        numbers = st.integers(low // f.step, (low + (1 << f.width) - 1) // f.step)
        strategies[f.name] = numbers if f.step == 1 else numbers.map(f.step.__mul__)
    return st.fixed_dictionaries(strategies)


STRUCTURE = st.fixed_dictionaries(
    {
        "vlen": st.integers(0, 11),
        "vtype": st.integers(0, len(VTYPES) - 1),
        "policies": st.sampled_from((0, 1, 2, 3, 3)),
        "vl": st.sampled_from(("max",) * 3 + ("some",) * 4 + ("one", "zero")),
        "vstart": st.sampled_from(("zero",) * 6 + ("inside", "inside", "end", "anywhere")),
        "relation": st.sampled_from(RELATIONS),
        "seed": st.integers(0, (1 << 32) - 1),
        "agnostic": st.integers(0, 11),
        "misaligned": st.booleans(),
        "vill": st.integers(0, 4),
    }
)
"""One strategy for the whole structure, numbers left to the seed: strategies that depend on what
was drawn before would cost more than running the instruction."""


def vl_of(kind: str, vlmax: int, rng: random.Random) -> int:
    return {"max": vlmax, "some": rng.randint(0, vlmax), "one": 1, "zero": 0}[kind]


def vstart_of(kind: str, vl: int, vlen: int, rng: random.Random) -> int:
    """0; within the body; around its end; or any value that the CSR can hold."""
    match kind:
        case "inside":
            return rng.randrange(max(1, vl))
        case "end":
            return min(max(0, vl + rng.randint(-1, 1)), vlen - 1)
        case "anywhere":
            return rng.randrange(vlen)
    return 0


def vector_cases(
    insn: Insn,
    *,
    agnostic: Sequence[Agnostic] = ("undisturbed", "ones", "ones"),
    vlens: Sequence[int] = VLENS,
) -> st.SearchStrategy[Case]:
    """A legal vector instruction in some state."""
    return st.tuples(fields_of(insn), STRUCTURE).map(
        lambda drawn: build_case(insn, *drawn, agnostic=agnostic, vlens=vlens)
    )


def build_case(
    insn: Insn,
    fields: dict[str, int],
    drawn: dict[str, Any],
    *,
    agnostic: Sequence[Agnostic],
    vlens: Sequence[int],
) -> Case:
    """The case of a drawn structure: legal registers near the drawn ones, data from the seed."""
    matrix = insn.unit == Unit.VMADOT
    vlen = 256 if matrix else vlens[drawn["vlen"] % len(vlens)]
    types = legal_vtypes(insn, vlen)
    policies = drawn["policies"]
    vtype = replace(
        types[drawn["vtype"] % len(types)], vta=bool(policies & 1), vma=bool(policies & 2)
    )
    vill = not insn.vector and drawn["vill"] == 1
    vlmax = vtype.vlmax(vlen)
    rng = random.Random(f"{drawn['seed']} {insn.name}")
    vl = vlmax if matrix else 0 if vill else vl_of(drawn["vl"], vlmax, rng)
    vstart = 0 if matrix else vstart_of(drawn["vstart"], vl, vlen, rng)
    if ELEMENT_GROUPS.match(insn.name) and rng.random() < 0.9:  # else it is likely to trap
        size = rng.choice((4, 8))
        vl, vstart = vl - vl % size, vstart - vstart % size
    if fields.get("rs1") == 0 and rng.random() < 0.8:
        fields = {**fields, "rs1": 10}
    wanted = related(insn, fields, drawn["relation"], vtype)
    legal = place_registers(insn, wanted, vtype, vlen, rng)
    assert legal is not None, f"{insn.name} has no legal registers under {vtype}"
    x, v = expand(insn, legal, None if vill else vtype, vl, vlen, rng)
    return Case(
        insn,
        legal,
        x,
        v,
        VILL if vill else vtype.encode(),
        vl,
        vstart,
        rng.randrange(4),
        int(rng.random() < 0.2),
        f=tuple(f_register(rng) for _ in range(32)) if is_float(insn) else (0,) * 32,
        frm=rng.randrange(5) if rng.random() < 0.95 else rng.randrange(5, 8),
        fflags=rng.getrandbits(5) if rng.random() < 0.3 else 0,
        instret=rng.getrandbits(40),
        vlen=vlen,
        agnostic=agnostic[drawn["agnostic"] % len(agnostic)],
        misaligned=drawn["misaligned"],
        reserved="allow" if vstart >= vlmax and rng.random() < 0.5 else "trap",
    )


def expand(
    insn: Insn,
    fields: dict[str, int],
    vtype: VType | None,
    vl: int,
    vlen: int,
    rng: random.Random,
) -> tuple[tuple[int, ...], bytes]:
    """All x registers and the register file's bytes, made to suit the instruction."""
    gen = np.random.default_rng(rng.getrandbits(64))
    data = register_file(gen, vlen, vtype)
    if is_float(insn) and vtype is not None:
        fill_with_floats(gen, data, vlen, vtype)
    vlmax = vtype.vlmax(vlen) if vtype else vlen // 8
    x = [0, *(scalar(rng, vlmax) for _ in range(31))]
    access = Access.of(insn.name)
    if access is not None:
        size = (access.eew or (vtype.sew if vtype else 8)) // 8
        count = vl if insn.vector else vlen // 8 // size
        base, stride = base_and_stride(rng, access, size, count)
        if access.index_eew == 8:
            base = (base - rng.randrange(256)) & M64
        elif access.index_eew == 16:
            base = (base - rng.randrange(1 << 16)) & M64
        x[fields["rs1"]] = base
        if "rs2" in fields:
            x[fields["rs2"]] = stride
        if access.index_eew:
            width = access.index_eew
            start = fields["vs2"] * vlen // 8
            octets = index_lanes(rng, base, width, vlmax, size).view(np.uint8)
            data[start : start + len(octets)] = octets
        x[0] = 0
    return tuple(x), data.tobytes()


@st.composite
def configuration_cases(draw: st.DrawFn, insn: Insn) -> Case:
    """vset* from any state to any vtype, legal or not."""
    fields = draw(fields_of(insn))
    vlen = draw(st.sampled_from(VLENS))
    legal = st.sampled_from(VTYPES).map(VType.encode)
    policies = draw(st.integers(0, 3)) << 6
    wanted = draw(legal | st.integers(0, 255) | st.integers(0, M64)) | policies
    if "vtypei" in fields:
        fields["vtypei"] = wanted & (1023 if "uimm" in fields else 2047)
    if draw(st.booleans()):
        fields |= {n: 0 for n in ("rd", "rs1") if n in fields and draw(st.booleans())}
    now = draw(st.just(VILL) | legal)
    vlmax = 0 if now == VILL else VType.decode(now).vlmax(vlen)  # type: ignore[union-attr]
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    x = [0, *(scalar(rng, vlen) for _ in range(31))]
    if fields.get("rs2"):
        x[fields["rs2"]] = wanted
    if fields.get("rs1"):
        near = st.integers(0, 2 * vlen) | st.sampled_from((M64, 1 << 63))
        x[fields["rs1"]] = draw(near)
    return Case(
        insn,
        fields,
        tuple(x),
        bytes(4 * vlen),
        now,
        draw(st.integers(0, vlmax)),
        draw(st.integers(0, 3)),
        vlen=vlen,
        vl_policy=draw(st.sampled_from(("max", "half"))),
    )
