"""Reserved vector encodings: each rule traps and is named, with its section of the specification.

`tests/oracle/legality.py` decides legality on its own; here the two are compared on random
encodings, and each rule is met once as a program on a machine.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.insn.decode import problems
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.machine import Machine
from rvsim.vec.vtype import VILL, VType
from tests.isa.vector_cases import VECTOR, VTYPES, config_of
from tests.oracle.legality import reserved

ILLEGAL, LOAD_MISALIGNED = 2, 4
CODE, DATA = 0x10000, 0x20000


# -- legality, against an independent reading


def any_fields(insn: Insn, rng: random.Random) -> dict[str, int]:
    """Fields whose registers often meet, and often are aligned."""
    near, step = rng.randrange(32), rng.choice((1, 1, 2, 4, 8))
    fields = {}
    for f in insn.encoding.fields:
        low = -(1 << f.width - 1) if f.signed else 0
        value = rng.randrange(low, low + (1 << f.width))
        if f.name in ("vd", "vs1", "vs2", "vs3"):
            if rng.random() < 0.5:
                value = (near + rng.choice((0, 0, 1, 2, 4, -1))) % 32
            if rng.random() < 0.2:
                value = 0
            value -= value % step
        fields[f.name] = value - value % f.step
    return fields


def compare_legality(insn: Insn, rng: random.Random, count: int) -> None:
    for _ in range(count):
        fields, vlen = any_fields(insn, rng), rng.choice((128, 256))
        vtype = rng.choice(VTYPES) if rng.random() < 0.97 else None
        found = problems(insn, fields, vtype, config_of(vlen))
        expected = reserved(insn.name, fields, VILL if vtype is None else vtype.encode(), vlen)
        assert bool(found) == (expected is not None), (
            f"{insn.name} {fields} under {vtype}, VLEN {vlen}:"
            f" rvsim says {[str(v) for v in found]}, the oracle {expected}"
        )


@pytest.mark.parametrize("insn", VECTOR, ids=lambda insn: insn.name)
def test_legality_agrees_with_an_independent_reading(insn: Insn) -> None:
    compare_legality(insn, random.Random(insn.name), 60)


@pytest.mark.slow
@pytest.mark.parametrize("insn", VECTOR, ids=lambda insn: insn.name)
def test_legality_agrees_at_length(insn: Insn) -> None:
    compare_legality(insn, random.Random(), 3000)


# -- one case for each rule


@dataclass(frozen=True, slots=True)
class Use:
    """An instruction that breaks one rule, and words that its message has."""

    what: str
    name: str
    fields: dict[str, int]
    vtype: str
    words: tuple[str, ...]
    allowed: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def machine(self, **more: Any) -> Machine:
        options = {"cpu": "generic-rv64gcv", "vlen": 256} | self.options | more
        return machine_with([(self.name, self.fields)], self.vtype, **options)


def machine_with(
    program: list[tuple[str, Mapping[str, int]]], vtype: str = "vill", vl: int = 1, **options: Any
) -> Machine:
    """A machine about to execute these instructions; x10 points at accessible memory."""
    machine = Machine(memory_size=1 << 20, **options)
    machine.memory.map(CODE, PAGE, R | X)
    machine.memory.map(DATA, 2 * PAGE, R | W)
    for i, (name, fields) in enumerate(program):
        word = isa().by_name[name].encoding.encode(fields)
        machine.memory.write(CODE + 4 * i, word.to_bytes(4, "little"))
    state = machine.state
    state["pc"], state.x[10] = CODE, DATA
    state["vtype"] = VILL if vtype == "vill" else VType.parse(vtype).encode()
    state["vl"] = 0 if vtype == "vill" else vl
    return machine


def stop_of(machine: Machine, count: int = 1) -> Trap | None:
    return machine.interp.run(count)[0]


def vv(vd: int, vs2: int, vs1: int, vm: int | None = 1) -> dict[str, int]:
    fields = {"vd": vd, "vs2": vs2, "vs1": vs1}
    return fields if vm is None else fields | {"vm": vm}


def unary(vd: int, vs2: int, vm: int = 1) -> dict[str, int]:
    return {"vd": vd, "vs2": vs2, "vm": vm}


def unit(vd: int, vm: int = 1, data: str = "vd") -> dict[str, int]:
    return {data: vd, "rs1": 10, "vm": vm}


def indexed(vd: int, vs2: int, vm: int = 1, data: str = "vd") -> dict[str, int]:
    return {data: vd, "rs1": 10, "vs2": vs2, "vm": vm}


USES = [
    Use("vill", "vadd.vv", vv(1, 2, 3), "vill", ("vtype is vill", "V 3.4.4")),
    Use("vill, mask load", "vlm.v", {"vd": 1, "rs1": 10}, "vill", ("vtype is vill", "V 3.4.4")),
    Use("vill, whole move", "vmv1r.v", {"vd": 1, "vs2": 2}, "vill", ("vtype is vill", "V 3.4.4")),
    Use("EMUL of loaded data", "vle64.v", unit(8), "e8,m2",
        ("vd would have EMUL = EEW 64 / SEW 8 * LMUL m2 = m16", "V 5.2")),
    Use("EMUL of indices", "vluxei64.v", indexed(8, 16), "e8,m2",
        ("vs2 would have EMUL = EEW 64 / SEW 8 * LMUL m2 = m16", "V 5.2")),
    Use("EMUL of a widened result", "vwadd.vv", vv(8, 16, 24), "e8,m8",
        ("vd would have EMUL", "m16", "V 5.2")),
    Use("EMUL of gather indices", "vrgatherei16.vv", vv(8, 16, 24), "e8,m8",
        ("vs1 would have EMUL = EEW 16 / SEW 8 * LMUL m8 = m16", "V 5.2")),
    Use("EEW of a widened result", "vwmul.vv", vv(2, 4, 6), "e64,m1",
        ("vd would have EEW 128, more than ELEN 64", "V 5.2")),
    Use("EEW of a wide source", "vnsrl.wv", vv(2, 4, 6), "e64,m1",
        ("vs2 would have EEW 128, more than ELEN 64", "V 5.2")),
    Use("EEW of a widened sum", "vwredsum.vs", vv(2, 4, 6), "e64,m1",
        ("vd would have EEW 128, more than ELEN 64", "V 5.2")),
    Use("EEW of an extension's source", "vzext.vf4", unary(2, 4), "e16,m1",
        ("vs2 would have EEW 4, less than 8", "V 11.3")),
    Use("fields times EMUL", "vlseg5e16.v", unit(8), "e16,m2",
        ("5 fields of EMUL m2 need more than 8 registers", "V 7.8")),
    Use("past v31", "vlseg8e8.v", unit(28), "e8,m1", ("runs past v31", "V 7.8")),
    Use("misaligned group", "vadd.vv", vv(2, 5, 6), "e8,m2",
        ("vs2 v5 is not a multiple of 2, the size of its group (EMUL m2)", "V 5.2")),
    Use("misaligned stored group", "vse32.v", unit(2, data="vs3"), "e8,m1",
        ("vs3 v2 is not a multiple of 4, the size of its group (EMUL m4)", "V 5.2")),
    Use("misaligned whole registers", "vl4re8.v", {"vd": 2, "rs1": 10}, "e8,m1",
        ("vd v2 is not a multiple of 4", "V 7.9")),
    Use("misaligned whole move", "vmv2r.v", {"vd": 2, "vs2": 3}, "e8,m1",
        ("vs2 v3 is not a multiple of 2", "V 16.6")),
    Use("masked with vd = v0", "vadd.vv", vv(0, 2, 4, 0), "e8,m2",
        ("vd overlaps the mask register v0", "V 5.3")),
    Use("masked load into v0", "vle8.v", unit(0, 0), "e8,m1",
        ("vd overlaps the mask register v0", "V 5.3")),
    Use("carry with vd = v0", "vadc.vvm", vv(0, 2, 4, None), "e8,m1",
        ("vd is v0, which holds the carries", "V 11.4")),
    Use("merge with vd = v0", "vmerge.vvm", vv(0, 2, 4, None), "e8,m1",
        ("vd is v0", "the selection", "V 11.15")),
    Use("wider result over the low end", "vwadd.vv", vv(8, 8, 4), "e8,m1",
        ("destination vd = v8-v9 (EEW 16, EMUL m2) overlaps source vs2 = v8 (EEW 8, EMUL m1)",
         "highest registers", "V 5.2")),
    Use("wider result over a fraction", "vzext.vf2", unary(8, 8), "e16,mf2",
        ("overlaps source vs2 = v8 (EEW 8, EMUL mf4)", "EMUL >= 1", "V 5.2")),
    Use("narrower result over the high end", "vnsrl.wv", vv(9, 8, 4), "e8,m1",
        ("destination vd = v9 (EEW 8, EMUL m1) overlaps source vs2 = v8-v9", "lowest", "V 5.2")),
    Use("mask result over the high end", "vmseq.vv", vv(9, 8, 4), "e8,m2",
        ("destination vd = v9 (mask) overlaps source vs2 = v8-v9", "lowest", "V 5.2")),
    Use("loaded data over wider indices", "vluxei32.v", indexed(9, 8), "e8,m1",
        ("destination vd = v9 (EEW 8, EMUL m1) overlaps source vs2 = v8-v11", "V 5.2")),
    Use("segments over indices", "vluxseg2ei8.v", indexed(8, 9), "e8,m1",
        ("destination vd = v8-v9", "overlaps source vs2 = v9", "V 7.8")),
    Use("slide up in place", "vslideup.vi", {"vd": 4, "vs2": 4, "uimm": 1, "vm": 1}, "e8,m1",
        ("destination vd = v4", "overlaps source vs2 = v4", "V 16.3.1")),
    Use("slide up by one in place", "vslide1up.vx", {"vd": 4, "vs2": 4, "rs1": 1, "vm": 1},
        "e8,m1", ("overlaps source vs2 = v4", "V 16.3.3")),
    Use("gather over its source", "vrgather.vv", vv(8, 8, 12), "e8,m1",
        ("overlaps source vs2 = v8", "V 16.4")),
    Use("gather over its indices", "vrgatherei16.vv", vv(8, 4, 8), "e16,m1",
        ("overlaps source vs1 = v8", "V 16.4")),
    Use("gather of one over its source", "vrgather.vi",
        {"vd": 8, "vs2": 8, "uimm": 0, "vm": 1}, "e8,m1", ("overlaps source vs2", "V 16.4")),
    Use("compress over its source", "vcompress.vm", vv(8, 8, 4, None), "e8,m1",
        ("overlaps source vs2", "V 16.5")),
    Use("compress over its mask", "vcompress.vm", vv(8, 4, 9, None), "e8,m2",
        ("overlaps source vs1 = v9 (mask)", "V 16.5")),
    Use("iota over its source", "viota.m", unary(8, 9), "e8,m2",
        ("overlaps source vs2 = v9 (mask)", "V 15.8")),
    Use("set before first in place", "vmsbf.m", unary(8, 8), "e8,m1",
        ("overlaps source vs2", "V 15.4")),
    Use("masked set-including-first of v0", "vmsif.m", unary(0, 8, 0), "e8,m1",
        ("vd overlaps the mask register v0", "V 15.5")),
    Use("masked set-only-first of v0", "vmsof.m", unary(0, 8, 0), "e8,m1",
        ("vd overlaps the mask register v0", "V 15.6")),
    Use("mask read as data", "vadd.vv", vv(4, 0, 8, 0), "e8,m1",
        ("sources vs2 = v0 (EEW 8, EMUL m1) and v0 = v0 (mask) read one register with two EEWs",
         "V 5.2"), allowed=True),
    Use("masked store of v0", "vse8.v", unit(0, 0, "vs3"), "e8,m1",
        ("sources vs3 = v0", "two EEWs", "V 5.2"), allowed=True),
    Use("stored data among the indices", "vsuxei16.v", indexed(8, 8, data="vs3"), "e8,m1",
        ("sources vs3 = v8 (EEW 8, EMUL m1) and vs2 = v8-v9 (EEW 16, EMUL m2)", "V 5.2"),
        allowed=True),
    Use("accumulator among the factors", "vwmacc.vv", vv(8, 9, 4), "e8,m1",
        ("sources vd = v8-v9 (EEW 16, EMUL m2) and vs2 = v9 (EEW 8, EMUL m1)", "V 5.2"),
        allowed=True),
    Use("wide and narrow source", "vwadd.wv", vv(8, 4, 4), "e8,m1",
        ("sources vs2 = v4-v5 (EEW 16, EMUL m2) and vs1 = v4 (EEW 8, EMUL m1)", "V 5.2"),
        allowed=True),
    Use("carry read as data", "vmadc.vvm", vv(8, 0, 4, None), "e8,m1",
        ("sources vs2 = v0", "v0 = v0 (mask)", "two EEWs", "V 5.2"), allowed=True),
    Use("SEW of a carry-less product", "vclmul.vv", vv(8, 4, 6), "e32,m1",
        ("SEW is 32, and the instruction needs 64", "Zvbc")),
    Use("SEW of a cipher", "vaesem.vv", {"vd": 8, "vs2": 4}, "e64,m1",
        ("SEW is 64, and the instruction needs 32", "Zvkned")),
    Use("SEW of a hash", "vsha2ms.vv", vv(8, 4, 6, None), "e16,m1",
        ("SEW is 16, and the instruction needs 32 or 64", "Zvknh")),
    Use("SHA-512 with Zvknha", "vsha2ms.vv", vv(8, 4, 6, None), "e64,m1",
        ("SEW 64, SHA-512, needs zvknhb", "Zvknh"), options={"isa": "rv64gcv_zvknha"}),
    Use("no room for an element group", "vsm3c.vi", {"vd": 8, "vs2": 4, "uimm": 0}, "e32,mf2",
        ("an element group is 8 elements, and LMUL * VLEN holds 4", "Zvksh")),
    Use("round key inside the blocks", "vaesz.vs", {"vd": 8, "vs2": 9}, "e32,m4",
        ("destination vd = v8-v11 (EEW 32, EMUL m4) overlaps source vs2 = v9 (EEW 32, element"
         " group 0)", "Zvkned")),
    Use("Zvkb is a part of Zvbb", "vbrev.v", unary(8, 4), "e32,m1", ("vbrev.v needs zvbb",),
        options={"isa": "rv64gcv_zvkb"}),
    Use("IME not in the profile", "smt.vmadot", vv(2, 4, 6, None), "e8,m1",
        ("smt.vmadot needs xsmtvdot",), options={"isa": "rv64gcv"}),
    Use("V not in the profile", "vadd.vv", vv(1, 2, 3), "e8,m1", ("vadd.vv needs v",),
        options={"isa": "rv64gc"}),
]  # fmt: skip


@pytest.mark.parametrize("use", USES, ids=lambda use: use.what)
def test_a_reserved_use_traps_and_names_the_rule(use: Use) -> None:
    machine = use.machine()
    before = machine.state.snapshot()
    trap = stop_of(machine)
    assert trap is not None
    assert (trap.cause, trap.pc) == (ILLEGAL, CODE)
    for words in use.words:
        assert words in trap.why
    assert machine.state.snapshot() == before


@pytest.mark.parametrize("use", USES, ids=lambda use: use.what)
def test_reserved_allow_carries_on_where_others_do(use: Use) -> None:
    notes: list[str] = []
    machine = use.machine(reserved="allow", note=notes.append)
    trap = stop_of(machine)
    if not use.allowed:
        assert trap is not None and trap.cause == ILLEGAL  # noqa: PT018
        assert notes == []
        return
    assert trap is None
    assert len(notes) == 1
    assert notes[0].startswith(f"{CODE:#x}")
    for words in use.words:
        assert words in notes[0]


def test_a_place_is_noted_once_however_often_and_in_whatever_state_it_runs() -> None:
    notes: list[str] = []
    reads_mask = ("vadd.vv", vv(4, 0, 8, 0))
    program = [reads_mask, reads_mask]
    machine = machine_with(
        program, "e8,m1", cpu="generic-rv64gcv", vlen=256, reserved="allow", note=notes.append
    )
    for vl, vstart in ((1, 0), (32, 0), (9, 3), (1, 0)):
        machine.state["pc"], machine.state["vl"], machine.state["vstart"] = CODE, vl, vstart
        assert stop_of(machine, 2) is None
    assert [note.partition(":")[0] for note in notes] == ["0x10000", "0x10004"]


def test_every_rule_of_the_text_is_met() -> None:
    """What the oracle can name, `USES` has."""
    texts = [reserved(u.name, u.fields, _bits(u.vtype)) for u in USES if "isa" not in u.options]
    assert None not in texts


def _bits(vtype: str) -> int:
    return VILL if vtype == "vill" else VType.parse(vtype).encode()


@pytest.mark.parametrize("name", ["vle64.v", "vadd.vv"])
def test_no_eew_past_elen(name: str) -> None:
    """A hart with ELEN 32 has no 64-bit elements, loaded or computed with."""
    config = replace(config_of(256), elen=32)
    insn = isa().by_name[name]
    fields = unit(8) if name == "vle64.v" else vv(8, 16, 24)
    vtype = VType.parse("e32,m1" if name == "vle64.v" else "e64,m1")
    found = problems(insn, fields, vtype, config)
    assert found
    assert all("would have EEW 64, more than ELEN 32" in v.why for v in found)


@pytest.mark.parametrize(
    ("name", "vl", "vstart", "what"),
    [
        ("vsm4r.vv", 6, 0, "vl is not a multiple of 4"),
        ("vsm4r.vv", 8, 2, "vstart is not a multiple of 4"),
        ("vsm3me.vv", 4, 0, "vl is not a multiple of 8"),
        ("vsm3me.vv", 8, 0, None),
        ("vsm4r.vv", 0, 0, None),
    ],
)
def test_vl_and_vstart_count_whole_element_groups(
    name: str, vl: int, vstart: int, what: str | None
) -> None:
    fields = vv(8, 4, 6, None) if name == "vsm3me.vv" else {"vd": 8, "vs2": 4}
    machine = machine_with([(name, fields)], "e32,m1", vl, cpu="generic-rv64gcv", vlen=256)
    machine.state["vstart"] = vstart
    trap = stop_of(machine)
    if what is None:
        assert trap is None
    else:
        assert trap is not None
        assert trap.cause == ILLEGAL
        assert f"{what}, the size of an element group" in trap.why


# V 3.7: VLEN 256, e32, m1 has the elements 0 to 7, whatever vl and the width in memory are.
@pytest.mark.parametrize("name", ["vadd.vv", "vle8.v", "vse64.v", "vlm.v", "vmv.s.x", "vfirst.m"])
@pytest.mark.parametrize("vl", [0, 3, 8])
def test_a_vstart_past_the_last_element_of_vtype_is_reserved(name: str, vl: int) -> None:
    numbers = {"vd": 4, "vs3": 4, "vs2": 8, "vs1": 12, "rd": 5, "rs1": 10, "vm": 1}
    fields = {f.name: numbers[f.name] for f in isa().by_name[name].encoding.fields}
    text = "vstart is VLMAX or more: no element has that number, which is reserved (V 3.7)"
    for vstart, traps in ((7, False), (8, True), (255, True)):
        notes: list[str] = []
        options = {"cpu": "generic-rv64gcv", "vlen": 256, "note": notes.append}
        machine = machine_with([(name, fields)], "e32,m1", vl, **options)
        machine.state["vstart"] = vstart
        before = machine.state.snapshot()
        trap = stop_of(machine)
        if not traps:
            assert trap is None or "V 3.7" not in trap.why
            continue
        assert trap is not None
        assert (trap.cause, trap.why) == (ILLEGAL, text)
        assert machine.state.snapshot() == before
        machine = machine_with([(name, fields)], "e32,m1", vl, reserved="allow", **options)
        machine.state["vstart"] = vstart
        if name != "vfirst.m":  # which never starts in the middle
            assert stop_of(machine) is None
            assert machine.state["vstart"] == 0
            assert notes == [f"{CODE:#x}: {text}"]


@pytest.mark.parametrize("name", ["vmv2r.v", "vl2re8.v", "vs2r.v"])
def test_whole_registers_have_elements_beyond_those_of_vtype(name: str) -> None:
    """Two registers of VLEN 256 are 64 bytes: vstart may be 9 where vtype has 4 elements."""
    numbers = {"vd": 4, "vs3": 4, "vs2": 8, "rs1": 10}
    fields = {f.name: numbers[f.name] for f in isa().by_name[name].encoding.fields}
    machine = machine_with([(name, fields)], "e8,mf8", cpu="generic-rv64gcv", vlen=256)
    machine.state["vstart"] = 9
    machine.state.v[8:10] = 7
    machine.memory.write(DATA, bytes([7]) * 64)
    assert stop_of(machine) is None
    if name != "vs2r.v":
        assert machine.state.v[4].tolist() == [0] * 9 + [7] * 23


def test_whole_register_accesses_need_no_vtype() -> None:
    program = [("vl2re8.v", {"vd": 2, "rs1": 10}), ("vs2r.v", {"vs3": 2, "rs1": 10})]
    assert stop_of(machine_with(program, "vill", cpu="generic-rv64gcv"), 2) is None


NOT_RESTARTABLE = [i for i in VECTOR if i.spec in ("V 14.1", "V 14.2", "V 15.2", "V 15.3",
                   "V 15.4", "V 15.5", "V 15.6", "V 15.8", "V 16.5")]  # fmt: skip


@pytest.mark.parametrize("insn", NOT_RESTARTABLE, ids=lambda insn: insn.name)
@pytest.mark.parametrize("vl", [0, 8])
def test_some_cannot_start_in_the_middle(insn: Insn, vl: int) -> None:
    numbers = {"vd": 4, "vs2": 8, "vs1": 12, "rd": 5, "vm": 1}
    fields = {f.name: numbers[f.name] for f in insn.encoding.fields}
    machine = machine_with([(insn.name, fields)], "e8,m1", vl=vl, cpu="generic-rv64gcv")
    machine.state["vstart"] = 1
    before = machine.state.snapshot()
    trap = stop_of(machine)
    assert trap is not None
    assert trap.cause == ILLEGAL
    assert f"vstart is not 0 ({insn.spec})" in trap.why
    assert machine.state.snapshot() == before


@pytest.mark.parametrize(
    "insn", [i for i in isa().insns if i.unsupported and i.unit.is_vector], ids=lambda i: i.name
)
def test_what_the_core_lacks_is_told_apart(insn: Insn) -> None:
    fields = {f.name: 2 * i for i, f in enumerate(insn.encoding.fields)}
    for policy in ("trap", "allow"):
        trap = stop_of(machine_with([(insn.name, fields)], "e8,m1", vl=32, reserved=policy))
        assert trap is not None
        assert (trap.cause, trap.why) == (ILLEGAL, f"{insn.unsupported} ({insn.spec})")


# -- the field's cases (C7, C9, C10)

OVERLAPS = [
    ("vwredsum.vs", vv(2, 30, 30), "e8,m1",
     "sources vs2 = v30 (EEW 8, EMUL m1) and vs1 = v30 (EEW 16, element 0) read one register"
     " with two EEWs (V 5.2)"),
    ("vrgather.vv", vv(8, 8, 12), "e8,m1",
     "destination vd = v8 (EEW 8, EMUL m1) overlaps source vs2 = v8 (EEW 8, EMUL m1) (V 16.4)"),
    ("vsoxei64.v", indexed(6, 0, data="vs3"), "e8,m1",
     "sources vs3 = v6 (EEW 8, EMUL m1) and vs2 = v0-v7 (EEW 64, EMUL m8) read one register"
     " with two EEWs (V 5.2)"),
    ("vadd.vv", vv(1, 2, 4), "e8,m2",
     "vd v1 is not a multiple of 2, the size of its group (EMUL m2) (V 5.2)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "vtype", "why"), OVERLAPS, ids=lambda v: str(v)[:12])
def test_case_c10_has_four_messages(
    name: str, fields: dict[str, int], vtype: str, why: str
) -> None:
    trap = stop_of(machine_with([(name, fields)], vtype, cpu="spacemit-x60"))
    assert trap is not None
    assert (trap.cause, trap.why) == (ILLEGAL, why)


def vsetvli(rd: int, rs1: int, vtype: str | int) -> tuple[str, dict[str, int]]:
    bits = vtype if isinstance(vtype, int) else VType.parse(vtype).encode()
    return "vsetvli", {"rd": rd, "rs1": rs1, "vtypei": bits}


C7 = [
    vsetvli(10, 0, "e8,m2"),
    vsetvli(0, 0, "e8,m2"),  # keeps VLMAX: legal
    vsetvli(0, 0, "e8,m1"),  # changes VLMAX
    vsetvli(10, 0, 0xFF),  # no such vtype
    vsetvli(0, 0, "e8,m1"),  # from vill
]


@pytest.mark.parametrize("policy", ["trap", "allow"])
def test_case_c7_diagnoses_twice(policy: str) -> None:
    notes: list[str] = []
    machine = machine_with(C7, cpu="spacemit-x60", reserved=policy, note=notes.append)
    after = []
    for _ in C7:
        assert stop_of(machine) is None
        after.append((machine.state["vtype"], machine.state["vl"]))
    m1, m2 = VType.parse("e8,m1").encode(), VType.parse("e8,m2").encode()
    # Allow mode keeps vl as far as the new VLMAX has room for it.
    reduced = (VILL, 0) if policy == "trap" else (m1, 32)
    from_vill = (VILL, 0) if policy == "trap" else (m1, 0)
    assert after == [(m2, 64), (m2, 64), reduced, (VILL, 0), from_vill]
    assert [note.partition(":")[0] for note in notes] == ["0x10008", "0x10010"]
    assert all("vsetvli x0, x0" in note and "V 6.2" in note for note in notes)


@pytest.mark.parametrize(("cpu", "name", "cause"), [
    ("generic-rv64gcv", "vle32.v", None),
    ("spacemit-x60", "vle32.v", LOAD_MISALIGNED),
    ("spacemit-x60", "vle8.v", None),
])  # fmt: skip
def test_case_c9_misaligned_elements(cpu: str, name: str, cause: int | None) -> None:
    machine = machine_with([(name, unit(8))], "e32,m1", vl=4, cpu=cpu)
    machine.state.x[10] = DATA + 2
    trap = stop_of(machine)
    assert (trap.cause if trap else None) == cause
    if trap:
        assert trap.tval == DATA + 2
        assert "not a multiple of 4 bytes" in trap.why
