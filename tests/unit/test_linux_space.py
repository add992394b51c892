"""Address space is not memory: what may be mapped, what counts, and what is promised."""

from __future__ import annotations

import numpy as np
import pytest

from rvsim.errors import RvsimError
from rvsim.guest.linux.errno import EFAULT, ENOMEM
from rvsim.hart.memory import ADDRESS_SPACE, PAGE, Memory, R, W
from rvsim.hart.state import State
from tests.unit.linux_guest import ANONYMOUS, DATA, FIXED, PRIVATE, Guest

LIMIT = 64 << 20
NORESERVE = 0x4000
MREMAP, MREMAP_MAYMOVE = 216, 1
RESERVED = PRIVATE | ANONYMOUS | NORESERVE
LOAD, STORE = 13, 15


@pytest.fixture
def guest() -> Guest:
    return Guest(size=LIMIT, space=ADDRESS_SPACE)


def fault(guest: Guest, cause: int, addr: int) -> bool:
    return guest.kernel.fault(cause, addr, guest.state)


@pytest.mark.parametrize("shift", range(32, 38))
def test_space_that_nobody_may_access_costs_nothing(guest: Guest, shift: int):
    before = guest.memory.left
    for flags in (RESERVED, PRIVATE | ANONYMOUS):
        start = guest.mmap(length=1 << shift, prot=0, flags=flags)
        assert start > LIMIT
        assert guest.memory.left == before
        middle = start + (1 << shift - 1)
        assert guest.mprotect(middle, 2 * PAGE, 3) == 0
        guest.memory.store8(middle + PAGE, 77)
        assert guest.memory.left == before - 2 * PAGE
        assert guest.mmap(middle - PAGE, PAGE, flags=PRIVATE | ANONYMOUS | FIXED) == middle - PAGE
        assert guest.munmap(start, 1 << shift) == 0
        assert guest.memory.left == before
        assert guest.memory.is_free(start, 1 << shift)


def test_no_more_space_than_linux_has(guest: Guest):
    assert guest.mmap(length=ADDRESS_SPACE, prot=0, flags=RESERVED) == ENOMEM
    assert guest.mmap(length=1 << 37, prot=0, flags=RESERVED) > 0
    assert guest.mmap(length=1 << 37, prot=0, flags=RESERVED) == ENOMEM
    assert guest.mmap(ADDRESS_SPACE, PAGE, flags=RESERVED | FIXED) == ENOMEM


def test_what_may_be_accessed_is_memory_and_has_a_limit(guest: Guest):
    left = guest.memory.left
    assert guest.mmap(length=left + PAGE) == ENOMEM
    addr = guest.mmap(length=left)
    assert addr > 0
    assert guest.mmap() == ENOMEM
    assert guest.brk(guest.process.brk + PAGE) == guest.process.brk
    assert guest.mprotect(addr, PAGE, 0) == 0  # it may hold data still
    assert guest.mmap() == ENOMEM
    assert guest.call(MREMAP, addr, PAGE, PAGE, MREMAP_MAYMOVE | 2, addr + (1 << 32)) == ENOMEM
    assert guest.munmap(addr, PAGE) == 0
    assert guest.mmap() > 0
    reserved = guest.mmap(length=1 << 33, prot=0, flags=RESERVED)
    assert guest.mprotect(reserved, PAGE, 1) == ENOMEM


def test_writable_space_without_memory_is_a_promise(guest: Guest):
    start = guest.mmap(length=1 << 36, flags=RESERVED)
    left = guest.memory.left
    assert not guest.memory.span_ok(start, 8, R)
    assert fault(guest, STORE, start + (1 << 35))
    assert guest.memory.left == left - (2 << 20)
    guest.memory.store8(start + (1 << 35), 5)
    assert guest.put(1, b"x") == 1
    assert guest.write(1, start + 1000, 3 * PAGE) == 3 * PAGE  # the kernel's accesses count too
    assert guest.out[-1] == bytes(3 * PAGE)
    assert guest.mprotect(start + PAGE, PAGE, 0) == 0
    assert not fault(guest, LOAD, start + PAGE)
    assert guest.write(1, start + PAGE, 1) == EFAULT
    assert guest.munmap(start, 1 << 36) == 0
    assert guest.memory.left == left
    assert not fault(guest, LOAD, start)
    assert guest.notes == []


def test_a_promise_that_cannot_be_kept_is_told(guest: Guest):
    start = guest.mmap(length=1 << 30, flags=RESERVED)
    pages = 0
    while fault(guest, STORE, start + pages * PAGE):
        while guest.memory.span_ok(start + pages * PAGE, 8, W):
            pages += 1
    assert guest.memory.left == 0
    assert pages * PAGE > LIMIT // 2
    (note,) = guest.notes
    assert "used up its memory of 0x4000000 bytes" in note
    assert "--memory" in note


def test_promises_move_with_their_mapping_and_grow_with_it(guest: Guest):
    start = guest.mmap(length=1 << 35, flags=RESERVED)
    assert fault(guest, STORE, start + (3 << 30))
    guest.memory.store8(start + (3 << 30), 99)
    left = guest.memory.left
    moved = guest.call(MREMAP, start, 1 << 35, 1 << 36, MREMAP_MAYMOVE, 0)
    assert moved > 0
    assert moved != start
    assert guest.memory.left == left
    assert guest.memory.load8(moved + (3 << 30)) == 99
    assert fault(guest, STORE, moved + (1 << 36) - 8)
    assert not fault(guest, STORE, start)


def test_an_access_that_runs_into_a_promised_page_goes_on(guest: Guest):
    start = guest.mmap(length=1 << 33, flags=RESERVED)
    assert [fault(guest, STORE, start - 4) for _ in range(2)] == [True, False]
    assert guest.munmap(start, 1 << 33) == 0
    assert guest.mmap(start, 1 << 33, flags=RESERVED) == start
    assert guest.mmap(start - PAGE, PAGE, flags=PRIVATE | ANONYMOUS | FIXED) == start - PAGE
    assert fault(guest, STORE, start - 4)
    assert guest.memory.span_ok(start - 4, 8, W)


def test_advice_zeroes_what_holds_data_only(guest: Guest):
    start = guest.mmap(length=1 << 37, flags=RESERVED)
    assert fault(guest, STORE, start)
    guest.memory.store8(start, 1)
    assert guest.call(233, start, 1 << 37, 4) == 0
    assert guest.memory.load8(start) == 0


def test_what_the_host_wrote_where_nobody_may_look_is_gone_with_the_page(guest: Guest):
    start = guest.mmap(length=PAGE, prot=0)
    guest.memory.write(start, b"data of a file")
    assert guest.munmap(start, PAGE) == 0
    assert guest.mmap(start, PAGE) == start
    assert guest.memory.read(start, PAGE) == bytes(PAGE)


def test_a_host_that_refuses_the_space_gives_the_memory(monkeypatch: pytest.MonkeyPatch):
    from rvsim.hart import address_space

    reserve = address_space.reserve

    def small(size: int) -> object:
        if size > 1 << 30:
            raise OSError("refused")
        return reserve(size)

    monkeypatch.setattr(address_space, "reserve", small)
    guest = Guest(size=LIMIT, space=ADDRESS_SPACE)
    assert guest.memory.size == LIMIT
    for _ in range(2):
        assert guest.mmap(length=1 << 33, prot=0, flags=RESERVED) == ENOMEM
    (note,) = guest.notes
    assert "ulimit -v" in note
    with pytest.raises(RvsimError, match="the host cannot reserve 0x80000000 bytes"):
        Memory(2 << 30, space=ADDRESS_SPACE)


def test_the_layout_is_the_same_in_any_space():
    small, large = Guest(size=LIMIT), Guest(size=LIMIT, space=ADDRESS_SPACE)
    for one in (small, large):
        one.state = State(vlen=256)
        one.process.start(one.state)
    assert small.state.snapshot() == large.state.snapshot()
    assert small.mmap() == large.mmap()
    assert np.array_equal(small.memory.held_pages(), large.memory.held_pages())
    assert small.memory.read(DATA, PAGE) == large.memory.read(DATA, PAGE)
