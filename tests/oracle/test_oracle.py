"""The whole table, vector configuration, and the rules that all vector rows share."""

import pytest

from tests.oracle.element import ROWS, execute
from tests.oracle.legality import ELEMENT_GROUPS
from tests.oracle.samples import (
    E8,
    E16,
    E32,
    E64,
    M1,
    M2,
    M4,
    M8,
    M64,
    MA,
    MF2,
    MF8,
    TA,
    VILL,
    get,
    new_state,
    put,
)

SCALAR_FIELDS = {"rd": 8, "rs1": 9, "rs2": 10, "shamt": 3, "uimm": 2, "csr": 0x008}
VECTOR_FIELDS = {"vd": 8, "vs1": 16, "vs2": 24, "vs3": 8, "vm": 1, "vtypei": E16 | M1}
FLOAT_FIELDS = {"fd": 8, "fs1": 9, "fs2": 10, "fs3": 11, "rm": 0}
FIELDS = {**SCALAR_FIELDS, **FLOAT_FIELDS, **VECTOR_FIELDS, "imm": 4, "aq": 0, "rl": 0}

TRAPS = {"ecall", "ebreak", "c.ebreak", "mret"}


@pytest.mark.parametrize(
    ("vtype", "avl", "policy", "vl"),
    [
        (E8 | M8, 1000, "max", 256),
        (E8 | M8, 258, "half", 129),
        (E8 | M8, 512, "half", 256),
        (E8 | M8, 256, "half", 256),
        (E32 | MF2, 100, "max", 4),
        (E8 | MF8, 100, "max", 4),
        (E64 | MF2, 100, "max", None),
        (E16 | MF8, 100, "max", None),
        (E8 | 4, 100, "max", None),
        (4 << 3, 100, "max", None),
        (1 << 8, 100, "max", None),
    ],
)
def test_vsetvli(vtype, avl, policy, vl):
    state = new_state(vl_policy=policy)
    state.x[1], state.vstart = avl, 3
    execute("vsetvli", state, {"rd": 2, "rs1": 1, "vtypei": vtype})
    expected = (VILL, 0) if vl is None else (vtype, vl)
    assert (state.vtype, state.vl) == expected
    assert (state.x[2], state.vstart) == (state.vl, 0)


def test_vsetvli_of_x0_keeps_vl_only_when_vlmax_stays():
    """CASES C7."""
    state = new_state()
    execute("vsetvli", state, {"rd": 10, "rs1": 0, "vtypei": E8 | M2})
    assert state.vl == 64
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E16 | M4})
    assert (state.vtype, state.vl) == (E16 | M4, 64)
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E8 | M1})
    assert (state.vtype, state.vl) == (VILL, 0)
    execute("vsetvli", state, {"rd": 0, "rs1": 0, "vtypei": E8 | M1})
    assert (state.vtype, state.vl) == (VILL, 0)


def test_tail_and_mask_policies():
    """V 3.4.3, 5.4: LMUL 1/2, four elements of eight live, element 1 masked off."""
    for agnostic, vta, vma, expected in (
        ("undisturbed", TA, MA, [1, 9, 3, 9, 9, 9, 9, 9]),
        ("ones", 0, 0, [1, 9, 3, 9, 9, 9, 9, 9]),
        ("ones", TA, 0, [1, 9, 3, -1, -1, -1, -1, -1]),
        ("ones", 0, MA, [1, -1, 3, 9, 9, 9, 9, 9]),
    ):
        state = new_state(vtype=E32 | MF2 | vta | vma, vl=3, agnostic=agnostic)
        put(state, 0, 8, 0b101)
        put(state, 1, 32, *[9] * 8)
        put(state, 2, 32, 0, 1, 2, 3)
        execute("vadd.vi", state, {"vd": 1, "vs2": 2, "imm": 1, "vm": 0})
        assert get(state, 1, 32, 8, signed=True) == expected


def test_no_body_elements_means_no_agnostic_writes():
    for vl, vstart in ((0, 0), (2, 2), (2, 5)):
        state = new_state(vtype=E32 | TA | MA, vl=vl, vstart=vstart, agnostic="ones")
        for name, fields in (
            ("vadd.vi", {"imm": 1}),
            ("vmseq.vi", {"imm": 0}),
            ("vslideup.vi", {"imm": 0}),
            ("vle32.v", {"rs1": 0}),
            ("vlm.v", {"rs1": 0}),
            ("vmv.s.x", {"rs1": 0}),
        ):
            state.vstart = vstart if name != "vlm.v" else 1
            execute(name, state, {"vd": 1, "vs2": 2, "vm": 1, **fields})
            assert state.vstart == 0
        assert not any(state.v)


def test_mask_destination_tail_is_always_agnostic():
    state = new_state(vtype=E8, vl=10, agnostic="ones")
    execute("vmsne.vi", state, {"vd": 1, "vs2": 2, "imm": 0, "vm": 1})
    assert get(state, 1, 8, 32) == [0, 0xFC] + [0xFF] * 30
    state.x[1] = 0x1000
    execute("vlm.v", state, {"vd": 1, "rs1": 1})
    assert get(state, 1, 8, 32) == [0, 0] + [0xFF] * 30


@pytest.mark.parametrize("name", sorted(ROWS.keys() - TRAPS))
def test_every_row_runs(name):
    width_in_name = ".vf" in name or name.startswith(("vl", "vs"))
    sew = E16 if name.startswith(("vf", "vmf")) else E64 if width_in_name else E8
    crypto = ELEMENT_GROUPS.match(name)
    state = new_state(vtype=E32 if crypto else sew, vl=8 if crypto else 3)
    state.x[9] = state.x[2] = 0x1000
    execute(name, state, FIELDS)
    assert state.x[0] == 0
    assert all(0 <= value <= M64 for value in state.x + state.f)
    assert len(state.v) == 32 * state.vlenb


def test_a_group_past_v31_is_the_callers_mistake():
    state = new_state(vtype=E32 | M8, vl=64)
    for fields in ({"vd": 28, "vs2": 0}, {"vd": 0, "vs2": 28}):
        with pytest.raises(IndexError):
            execute("vadd.vi", state, {**fields, "imm": 0, "vm": 1})
