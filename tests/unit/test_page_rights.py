"""Rights of pages with many owners at once, against a model that is a set of reasons for each."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.hart.lanes import LaneAccess
from rvsim.hart.memory import MAPPED, PAGE, GuestFault, Memory, R, W, X
from rvsim.hart.page_rights import PageOwner

BASE = 0x10000
PAGES = 4
FIRST = BASE // PAGE
SIZE = 1 << 20


class Owner(PageOwner):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int]] = []

    def before_load(self, addr: int, nbytes: int) -> None:
        self.asked.append(("load", addr, nbytes))

    def before_store(self, addr: int, nbytes: int) -> None:
        self.asked.append(("store", addr, nbytes))

    def before_change(self, addr: int, nbytes: int) -> None:
        self.asked.append(("change", addr, nbytes))


def tables(memory: Memory, page: int) -> tuple[int, int]:
    """What the guest may do with a page, and what compiled code may without asking."""
    direct = ctypes.c_uint8.from_address(memory.perm_address + page).value
    return int(memory.perm[page]), direct


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["map", "protect", "unmap", "code", "withhold", "deny", "give back"]),
        st.integers(0, PAGES - 1),
        st.integers(0, 2),
        st.sampled_from([0, R, W, X, R | W, R | X, R | W | X]),
    ),
    max_size=30,
)


@given(steps=STEPS)
def test_rights_are_derived_from_the_reasons_that_there_are(
    steps: list[tuple[str, int, int, int]],
) -> None:
    memory, owners = Memory(SIZE), [Owner() for _ in range(3)]
    mapped: dict[int, int] = {}
    denied: dict[tuple[int, int], int] = {}
    withheld: dict[tuple[int, int], int] = {}
    code: set[int] = set()
    for what, i, number, rights in steps:
        addr, page, owner = BASE + i * PAGE, FIRST + i, owners[number]
        if what == "map":
            memory.map(addr, PAGE, rights)
            mapped[page] = rights
            code.discard(page)
        elif what == "protect" and page in mapped:
            memory.protect(addr, PAGE, rights)
            mapped[page] = rights
            code -= set() if rights & X else {page}
        elif what == "unmap":
            memory.unmap(addr, PAGE)
            mapped.pop(page, None)
            code.discard(page)
        elif what == "code" and mapped.get(page, 0) & X:
            memory.mark_code(addr, 4)
            code.add(page)
        elif what == "withhold":
            memory.rights.withhold(owner, page, rights)
            withheld[page, number] = rights
        elif what == "deny":
            memory.rights.deny(owner, page, rights)
            denied[page, number] = rights
        elif what == "give back":
            memory.rights.give_back(owner, page)
            withheld.pop((page, number), None)
            denied.pop((page, number), None)
        for at in range(FIRST, FIRST + PAGES):
            lost = sum_of(denied, at)
            held = sum_of(withheld, at) | (W if at in code else 0)
            granted = mapped.get(at, 0) & ~lost
            perm, direct = tables(memory, at)
            assert (perm & 7, direct & 7) == (granted, granted & ~held), (what, at)
    assert sorted(memory.code.pages(FIRST, FIRST + PAGES)) == sorted(code)


def sum_of(reasons: dict[tuple[int, int], int], page: int) -> int:
    found = 0
    for (at, _), rights in reasons.items():
        found |= rights if at == page else 0
    return found


def watched() -> tuple[Memory, Owner, Owner]:
    """Two pages; all accesses to the second come to `all_of_it`, stores to `stores` as well."""
    memory, all_of_it, stores = Memory(SIZE), Owner(), Owner()
    memory.map(BASE, 2 * PAGE, R | W | X)
    memory.rights.withhold(all_of_it, FIRST + 1, R | W)
    memory.rights.withhold(stores, FIRST + 1, W)
    return memory, all_of_it, stores


SECOND = BASE + PAGE


@pytest.mark.parametrize("n", [1, 2, 4, 8])
@pytest.mark.parametrize("addr", [SECOND, SECOND + 16, SECOND - 1])
def test_scalar_accesses_ask_the_owners_of_their_pages(n: int, addr: int) -> None:
    memory, all_of_it, stores = watched()
    touches = addr + n > SECOND
    getattr(memory, f"load{n}")(addr)
    assert all_of_it.asked == ([("load", addr, n)] if touches else [])
    all_of_it.asked.clear()
    getattr(memory, f"store{n}")(addr, 1)
    told = [("store", addr, n), ("change", addr, n)] if touches else []
    assert (all_of_it.asked, stores.asked) == (told, told)
    assert getattr(memory, f"load{n}")(addr) == 1


def test_lanes_ask_for_each_element() -> None:
    memory, all_of_it, stores = watched()
    lanes = LaneAccess(memory)
    lanes.load_run(BASE, None, 4, np.uint32)
    assert all_of_it.asked == []
    lanes.load_run(SECOND - 4, None, 2, np.uint32)
    assert ("load", SECOND, 4) in all_of_it.asked
    all_of_it.asked.clear()
    at = np.array([SECOND + 8, BASE, SECOND], np.uint64)
    lanes.store_at(at, np.arange(3, dtype=np.uint32), np.array([True, True, False]))
    assert ("change", SECOND + 8, 4) in stores.asked
    assert not [asked for asked in stores.asked if asked[1] == SECOND]
    assert memory.load4(SECOND + 8) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.write(SECOND, b"x"),
        lambda m: m.zero(SECOND, PAGE),
        lambda m: m.unmap(SECOND, PAGE),
    ],
)
def test_what_the_host_changes_is_told_and_not_asked(change: Callable[[Memory], None]) -> None:
    memory, all_of_it, _ = watched()
    change(memory)
    assert {what for what, *_ in all_of_it.asked} == {"change"}


def test_a_dirty_page_is_noted_once() -> None:
    memory = Memory(SIZE)
    memory.map(BASE, PAGE, R | W)

    class Dirty(PageOwner):
        pages: list[int] = []  # noqa: RUF012  (of this test alone)

        def before_change(self, addr: int, nbytes: int) -> None:
            self.pages.append(addr // PAGE)
            memory.rights.give_back(self, addr // PAGE)

    dirty = Dirty()
    memory.rights.withhold(dirty, FIRST, W)
    memory.mark_code(BASE, 4)  # another owner of the same right
    memory.store4(BASE + 8, 1)
    memory.store4(BASE + 12, 1)
    assert dirty.pages == [FIRST]
    assert not memory.stores_directly(BASE, 4)


def test_a_guard_denies_whatever_the_mapping_grants() -> None:
    memory, guard = Memory(SIZE), Owner()
    memory.map(BASE, PAGE, R | W)
    memory.rights.deny(guard, FIRST, W)
    memory.protect(BASE, PAGE, R | W | X)
    with pytest.raises(GuestFault):
        memory.store1(BASE, 1)
    assert memory.perm[FIRST] == MAPPED | R | X
    assert not memory.span_ok(BASE, 1, W)
    memory.rights.give_back(guard, FIRST)
    memory.store1(BASE, 1)
    assert guard.asked == []
