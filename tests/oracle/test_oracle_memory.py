"""Vector loads and stores: layout, traps, fault-only-first."""

import pytest

from tests.oracle.element import execute
from tests.oracle.samples import E16, E32, M1, M2, M64, PAGE, TA, get, new_state, put
from tests.oracle.state import OracleTrap


def test_strided_and_indexed_memory():
    state = new_state(vtype=E16 | M1, vl=3)
    state.mem.data[:16] = bytes(range(16))
    state.x[1], state.x[2] = 0x1008, -4 & M64
    execute("vlse16.v", state, {"vd": 1, "rs1": 1, "rs2": 2, "vm": 1})
    assert get(state, 1, 16, 3) == [0x0908, 0x0504, 0x0100]
    put(state, 2, 8, 0, 6, 3)
    execute("vluxseg2ei8.v", state, {"vd": 4, "rs1": 1, "vs2": 2, "vm": 1})
    assert get(state, 4, 16, 3) == [0x0908, 0x0F0E, 0x0C0B]
    assert get(state, 5, 16, 3) == [0x0B0A, 0, 0x0E0D]
    execute("vsoxei8.v", state, {"vs3": 1, "rs1": 1, "vs2": 2, "vm": 1})
    assert state.mem.data[8:16] == bytes([8, 9, 10, 0, 1, 13, 4, 5])


def test_segment_fields_are_emul_registers_apart():
    state = new_state(vtype=E16 | M2, vl=20)
    state.mem.data[:120] = bytes(range(120))
    state.x[1] = 0x1000
    execute("vlseg3e16.v", state, {"vd": 4, "rs1": 1, "vm": 1})
    assert get(state, 8, 16, 20) == [(6 * i + 5) << 8 | 6 * i + 4 for i in range(20)]
    state.x[1] = 0x1800
    execute("vsseg3e16.v", state, {"vs3": 4, "rs1": 1, "vm": 1})
    assert state.mem.data[0x800 : 0x800 + 120] == bytes(range(120))


def test_a_memory_trap_keeps_what_was_done():
    state = new_state(vtype=E32 | TA, vl=4, agnostic="ones")
    end = 0x1000 + PAGE
    state.x[1] = end - 12
    put(state, 2, 32, 1, 2, 3, 4)
    put(state, 3, 32, 5, 6, 7, 8)
    with pytest.raises(OracleTrap) as caught:
        execute("vsseg2e32.v", state, {"vs3": 2, "rs1": 1, "vm": 1})
    assert (caught.value.cause, caught.value.tval, state.vstart) == (15, end, 1)
    assert state.mem.data[-12:] == bytes([1, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0])
    state.vstart = 0
    put(state, 4, 32, 9, 9, 9, 9, 9)
    put(state, 5, 32, 9, 9, 9, 9, 9)
    with pytest.raises(OracleTrap) as caught:
        execute("vlseg2e32.v", state, {"vd": 4, "rs1": 1, "vm": 1})
    assert (caught.value.cause, caught.value.tval, state.vstart) == (13, end, 1)
    assert get(state, 4, 32, 5) == [1, 9, 9, 9, 9]
    assert get(state, 5, 32, 5) == [5, 9, 9, 9, 9]
    assert state.pc == 0x8000


def test_fault_only_first_shortens_vl():
    state = new_state(vtype=E32 | TA, vl=5, agnostic="ones")
    state.mem.write(0x1000 + PAGE - 8, bytes(range(8)))
    state.x[1] = 0x1000 + PAGE - 8
    execute("vle32ff.v", state, {"vd": 1, "rs1": 1, "vm": 1})
    assert state.vl == 2
    assert get(state, 1, 32, 8) == [0x03020100, 0x07060504] + [0xFFFFFFFF] * 6


def test_fault_only_first_traps_on_element_0_only():
    state = new_state(vtype=E32, vl=5)
    state.x[1] = 0x1000 + PAGE - 4
    with pytest.raises(OracleTrap) as caught:
        execute("vlseg2e32ff.v", state, {"vd": 1, "rs1": 1, "vm": 1})
    assert (caught.value.cause, caught.value.tval) == (13, 0x1000 + PAGE)
    assert (state.vl, state.vstart) == (5, 0)
    put(state, 0, 8, 0b01000)
    execute("vlseg2e32ff.v", state, {"vd": 1, "rs1": 1, "vm": 0})
    assert state.vl == 3


def test_misaligned_vector_elements_fault_where_the_core_says_so():
    state = new_state(vtype=E32, vl=2, misaligned_vector_ok=False)
    state.x[1] = 0x1002
    for name, fields, cause in (("vle32.v", {"vd": 1}, 4), ("vse32.v", {"vs3": 1}, 6)):
        with pytest.raises(OracleTrap) as caught:
            execute(name, state, {"rs1": 1, "vm": 1, **fields})
        assert (caught.value.cause, caught.value.tval) == (cause, 0x1002)
    execute("vle8.v", state, {"vd": 1, "rs1": 1, "vm": 1})


def test_whole_registers_ignore_vl_and_honour_vstart():
    state = new_state(vl=0)
    state.mem.data[:128] = bytes(range(128))
    state.x[1], state.vstart = 0x1000, 3
    execute("vl2re32.v", state, {"vd": 2, "rs1": 1})
    assert get(state, 2, 8, 64) == [0] * 12 + list(range(12, 64))
    execute("vmv2r.v", state, {"vd": 6, "vs2": 2})
    state.x[1] = 0x1800
    execute("vs2r.v", state, {"vs3": 6, "rs1": 1})
    assert state.mem.data[0x800:0x840] == bytes(12) + bytes(range(12, 64))
