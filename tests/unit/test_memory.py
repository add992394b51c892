"""Guest memory: permissions, faults, scalar and lane access."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.errors import RvsimError
from rvsim.hart.memory import LOWEST_FREE, MAPPED, PAGE, GuestFault, Memory, R, W, X

SIZE = 1 << 20
BASE = 0x20000
U64 = st.integers(0, (1 << 64) - 1)
EDGES = st.sampled_from(
    [0, BASE - 8, BASE, BASE + PAGE, BASE + 2 * PAGE, BASE + 3 * PAGE, SIZE, 1 << 32, (1 << 64) - 1]
)
ADDRESSES = st.one_of(U64, st.builds(lambda e, d: (e + d) % (1 << 64), EDGES, st.integers(-9, 9)))


def fresh() -> Memory:
    """Three pages R|W, R, X from BASE on, and the last page of the space."""
    memory = Memory(SIZE)
    memory.map(BASE, PAGE, R | W)
    memory.map(BASE + PAGE, PAGE, R)
    memory.map(BASE + 2 * PAGE, PAGE, X)
    memory.map(SIZE - PAGE, PAGE, R | W)
    return memory


def permitted(memory: Memory, addr: int, n: int, need: int) -> bool:
    """The rule, byte by byte."""
    return all(
        a < memory.size and int(memory.perm[a // PAGE]) & need == need
        for a in range(addr, addr + n)
    )


@given(addr=ADDRESSES, n=st.sampled_from([1, 2, 4, 8]), value=U64)
def test_scalar_access_is_allowed_exactly_where_every_byte_is(addr: int, n: int, value: int):
    memory = fresh()
    value &= (1 << 8 * n) - 1
    load, store = getattr(memory, f"load{n}"), getattr(memory, f"store{n}")
    if permitted(memory, addr, n, W):
        store(addr, value)
        assert memory.read(addr, n) == value.to_bytes(n, "little")
    else:
        with pytest.raises(GuestFault) as fault:
            store(addr, value)
        assert (fault.value.addr, fault.value.access) == (addr, "store")
    if permitted(memory, addr, n, R):
        assert load(addr) == int.from_bytes(memory.read(addr, n), "little")
    else:
        with pytest.raises(GuestFault) as fault:
            load(addr)
        assert (fault.value.addr, fault.value.access) == (addr, "load")


def test_fetch_needs_execute_permission_only():
    memory = fresh()
    memory.write(BASE + 2 * PAGE, b"\x73\x00")
    assert memory.fetch2(BASE + 2 * PAGE) == 0x73
    for addr in (BASE, BASE + PAGE, SIZE, SIZE - 2, (1 << 64) - 2, BASE + 2 * PAGE + 1):
        with pytest.raises(GuestFault, match=f"fetch access fault at {addr:#x}"):
            memory.fetch2(addr)


def test_misaligned_access_may_cross_pages():
    memory = Memory(SIZE)
    memory.map(BASE, 2 * PAGE, R | W)
    memory.store8(BASE + PAGE - 3, 0x0102030405060708)
    assert memory.load8(BASE + PAGE - 3) == 0x0102030405060708
    assert memory.load4(BASE + PAGE - 1) == 0x03040506
    assert memory.load1(BASE + PAGE + 4) == 1


def test_new_pages_read_zero_also_after_unmapping_or_mapping_over():
    memory = Memory(SIZE)
    for _ in range(2):
        memory.map(BASE, PAGE, R | W)
        assert memory.load8(BASE) == 0
        memory.store8(BASE, 1)
    memory.unmap(BASE, PAGE)
    assert not memory.data[BASE : BASE + PAGE].any()
    memory.map(BASE, PAGE, R)
    assert memory.load8(BASE) == 0


def test_a_page_without_permissions_is_still_mapped():
    memory = Memory(SIZE)
    memory.map(BASE, PAGE, 0)
    assert memory.mapped(BASE, PAGE)
    assert not memory.mapped(BASE, PAGE + 1)
    assert not memory.mapped(SIZE, 1)
    assert memory.read(BASE, 4) == bytes(4)
    with pytest.raises(GuestFault):
        memory.load1(BASE)
    memory.protect(BASE, PAGE, R)
    assert memory.load1(BASE) == 0


def test_the_host_faults_only_where_nothing_is_mapped():
    memory = fresh()
    memory.write(BASE + PAGE, b"read-only")
    assert memory.read(BASE + PAGE, 9) == b"read-only"
    assert memory.read(0, 0) == b""
    for addr in (BASE - 1, BASE + 3 * PAGE - 1, SIZE - 1, 1 << 63):
        with pytest.raises(GuestFault, match="load access fault"):
            memory.read(addr, 2)
        with pytest.raises(GuestFault, match="store access fault"):
            memory.write(addr, b"12")


def test_a_c_string_ends_at_nul_or_limit_or_faults():
    memory = fresh()
    memory.write(BASE + PAGE - 2, b"across\0more")
    assert memory.read_cstring(BASE + PAGE - 2) == b"across"
    assert memory.read_cstring(BASE + PAGE - 2, limit=3) == b"acr"
    memory.write(SIZE - 2, b"no")
    with pytest.raises(GuestFault):
        memory.read_cstring(SIZE - 2)


@pytest.mark.parametrize(
    ("addr", "length", "message"),
    [
        (BASE + 1, PAGE, "not the start of a page"),
        (-PAGE, PAGE, "not the start of a page"),
        (BASE, 0, "not inside"),
        (BASE, -1, "not inside"),
        (BASE, SIZE, "not inside"),
        (SIZE, PAGE, "not inside"),
    ],
)
def test_misuse_by_the_host_is_named(addr: int, length: int, message: str):
    memory = Memory(SIZE)
    for call in (
        lambda: memory.map(addr, length, R),
        lambda: memory.protect(addr, length, R),
        lambda: memory.unmap(addr, length),
    ):
        with pytest.raises(RvsimError, match=message):
            call()


def test_misuse_of_permissions_and_sizes_is_named():
    memory = Memory(SIZE)
    with pytest.raises(RvsimError, match="bits other than R, W and X"):
        memory.map(BASE, PAGE, 8)
    with pytest.raises(RvsimError, match="bits other than R, W and X"):
        memory.protect(BASE, PAGE, 0x80)
    with pytest.raises(RvsimError, match="are mapped"):
        memory.protect(BASE, PAGE, R)
    with pytest.raises(RvsimError, match="cannot be free"):
        memory.find_free(0)
    for size in (0, -PAGE, PAGE + 1):
        with pytest.raises(RvsimError, match="not a positive multiple of 4096"):
            Memory(size)
    with pytest.raises(RvsimError, match="smaller memory"):
        Memory(1 << 62)


def test_free_space_is_found_downwards_from_near():
    memory = Memory(SIZE)
    assert memory.find_free(1) == SIZE - PAGE
    assert memory.find_free(PAGE, near=SIZE // 2) == SIZE // 2 - PAGE
    memory.map(SIZE // 2 - PAGE, PAGE, 0)
    assert memory.find_free(2 * PAGE, near=SIZE // 2) == SIZE // 2 - 3 * PAGE
    memory.map(LOWEST_FREE, SIZE // 2 - LOWEST_FREE, R)
    assert memory.find_free(PAGE, near=SIZE // 2) == SIZE - PAGE
    assert memory.find_free(PAGE, near=-1) == SIZE - PAGE
    assert memory.find_free(SIZE // 2) == SIZE // 2
    assert memory.find_free(SIZE // 2 + 1) is None


def test_compiled_code_sees_the_same_bytes():
    memory = fresh()
    memory.store8(BASE, 0x1122334455667788)
    data = (ctypes.c_uint8 * 8).from_address(memory.data_address + BASE)
    perm = ctypes.c_uint8.from_address(memory.perm_address + BASE // PAGE)
    assert bytes(data)[::-1].hex() == "1122334455667788"
    assert perm.value & (R | W | X) == R | W
    assert memory.view[BASE] == memory.data[BASE] == 0x88


@given(
    addr=ADDRESSES,
    nbytes=st.one_of(st.integers(0, 9), st.integers(0, 4 * PAGE)),
    need=st.sampled_from([R, W, X, R | W]),
)
def test_a_span_is_allowed_exactly_where_every_byte_is(addr: int, nbytes: int, need: int):
    memory = fresh()
    assert memory.span_ok(addr, nbytes, need) == permitted(memory, addr, nbytes, need)


def test_a_hole_inside_a_span_is_seen():
    memory = Memory(SIZE)
    memory.map(BASE, 3 * PAGE, R)
    assert memory.span_ok(BASE, 3 * PAGE, R)
    memory.protect(BASE + PAGE, PAGE, W)
    assert not memory.span_ok(BASE, 3 * PAGE, R)


LANES = st.lists(st.tuples(ADDRESSES, st.booleans()), max_size=20)


@given(lanes=LANES, nbytes=st.sampled_from([1, 2, 4, 8, 24, 64]), need=st.sampled_from([R, W]))
def test_the_first_bad_lane_is_the_first_active_one_not_allowed(lanes, nbytes: int, need: int):
    memory = fresh()
    addrs = np.array([a for a, _ in lanes], np.uint64)
    active = np.array([a for _, a in lanes], np.bool_)
    expected = next(
        (
            i
            for i, (addr, is_active) in enumerate(lanes)
            if is_active and not permitted(memory, addr, nbytes, need)
        ),
        len(lanes),
    )
    assert memory.first_bad(addrs, nbytes, need, active) == expected


@given(
    offsets=st.lists(st.tuples(st.integers(0, 40), st.booleans(), U64), max_size=24),
    unit=st.sampled_from([1, 2, 4, 8]),
    nbytes=st.sampled_from([1, 2, 4, 8]),
    stop=st.integers(0, 24),
)
def test_lane_stores_equal_a_loop_over_bytes(offsets, unit: int, nbytes: int, stop: int):
    memory = Memory(SIZE)
    memory.map(BASE, PAGE, R | W)
    nowhere = (1 << 64) - 1
    addrs = np.array([BASE + unit * o if a else nowhere for o, a, _ in offsets], np.uint64)
    active = np.array([a for _, a, _ in offsets], np.bool_)
    values = np.array([v for *_, v in offsets], np.uint64).astype(f"u{nbytes}")
    expected = bytearray(PAGE)
    for offset, is_active, value in offsets[:stop]:
        if is_active:
            low = value & ((1 << 8 * nbytes) - 1)
            expected[unit * offset : unit * offset + nbytes] = low.to_bytes(nbytes, "little")
    memory.store_lanes(addrs, values, active, stop)
    assert memory.read(BASE, PAGE) == bytes(expected)

    old = np.arange(100, 100 + len(offsets)).astype(f"u{nbytes}")
    loaded = memory.load_lanes(addrs, nbytes, active, old)
    assert loaded.dtype == old.dtype
    for i, (offset, is_active, _) in enumerate(offsets):
        cell = expected[unit * offset : unit * offset + nbytes]
        assert loaded[i] == (int.from_bytes(cell, "little") if is_active else old[i])


# Pages that hold decoded code


def direct(memory: Memory, addr: int) -> int:
    """What compiled code sees of a page."""
    return ctypes.c_uint8.from_address(memory.perm_address + addr // PAGE).value


def with_code() -> tuple[Memory, list[int]]:
    """A page from BASE that may be written and executed, decoded at 0x100 and at its end."""
    memory = Memory(SIZE)
    memory.map(BASE, 2 * PAGE, R | W | X)
    dropped: list[int] = []
    memory.code.listeners.append(dropped.append)
    memory.mark_code(BASE + 0x100, 4)
    memory.mark_code(BASE + PAGE - 2, 2)
    return memory, dropped


def test_a_page_with_code_may_be_written_but_not_directly():
    memory, _ = with_code()
    assert memory.span_ok(BASE, 2 * PAGE, R | W | X)
    assert not memory.stores_directly(BASE, 2 * PAGE)
    assert memory.stores_directly(BASE + PAGE, PAGE)
    assert direct(memory, BASE) == MAPPED | R | X
    assert direct(memory, BASE + PAGE) == MAPPED | R | W | X


def test_bytes_beside_code_can_be_stored():
    memory, dropped = with_code()
    memory.store8(BASE + 0xF8, 1)
    memory.store8(BASE + 0xF8 - 1, 2)
    memory.store1(BASE + 0x104, 3)
    memory.store4(BASE + PAGE, 4)
    memory.write(BASE + 0x104, bytes(PAGE - 2 - 0x104))
    assert (dropped, memory.code.changes) == ([], 0)


@pytest.mark.parametrize(
    ("addr", "nbytes", "pages"),
    [(0x103, 1, 1), (0xFE, 4, 1), (0xFA, 8, 1), (PAGE - 2, 4, 1), (PAGE - 8, 8, 1), (0x104, 4, 0)],
)
def test_a_store_that_changes_code_drops_its_page(addr: int, nbytes: int, pages: int):
    scalar, lanes, host = (with_code() for _ in range(3))
    getattr(scalar[0], f"store{nbytes}")(BASE + addr, 1)
    values = np.ones(3, f"u{nbytes}")
    at = np.array([BASE, BASE + addr, BASE], np.uint64)
    lanes[0].store_lanes(at, values, np.array([True, True, True]), 3)
    host[0].write(BASE + addr, bytes(nbytes))
    for memory, dropped in (scalar, lanes, host):
        assert dropped == [BASE // PAGE] * pages
        assert bool(direct(memory, BASE) & W) == bool(pages)


def test_lanes_that_are_not_stored_drop_no_code():
    memory, dropped = with_code()
    at = np.array([BASE, BASE + 0x100, BASE + 0x100], np.uint64)
    memory.store_lanes(at, np.ones(3, "u4"), np.array([True, False, True]), 2)
    assert dropped == []


@pytest.mark.parametrize("perm", [0, R, R | W, X, R | X, R | W | X])
def test_code_is_dropped_with_the_permission_to_execute_it(perm: int):
    memory, dropped = with_code()
    memory.protect(BASE, PAGE, perm)
    assert dropped == ([] if perm & X else [BASE // PAGE])
    assert memory.perm[BASE // PAGE] == MAPPED | perm
    assert direct(memory, BASE) == MAPPED | (perm & ~W if perm & X else perm)
