"""Memory primitives and stores on both back ends, against a model of pages and bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rvsim import ir
from rvsim.hart.memory import PAGE, Memory, R, W
from rvsim.ir import Value
from rvsim.ir.program import Program

from .ir_harness import FIELDS, Bench, Trapped, pack, traced, unpack

pytestmark = pytest.mark.compiled

WIDTHS = (8, 16, 32, 64)
SIZE = 8 * PAGE
PERMISSIONS = {1: R | W, 2: R, 3: W, 5: R | W, 6: R | W, 7: R | W}
"""By page; pages 0 and 4 are not mapped, page 7 is the last of the guest's memory."""
BITS = {"load": R, "store": W}

INITIAL = bytes((i * 37 + i // 256) % 256 if i // PAGE in PERMISSIONS else 0 for i in range(SIZE))

EDGES = [
    page * PAGE + offset
    for page in (0, 1, 2, 3, 4, 5, 6, 8)
    for offset in (-16, -9, -8, -7, -4, -3, -2, -1, 0, 1, 3, 8)
    if page * PAGE + offset >= 0
] + [(1 << 64) - k for k in (1, 2, 4, 8, 9)]
addresses = st.one_of(st.sampled_from(EDGES), st.integers(0, SIZE), st.integers(0, (1 << 64) - 1))


class Model:
    """The guest's memory as a bytearray and a permission for each page."""

    def __init__(self) -> None:
        self.octets = bytearray(INITIAL)

    def may(self, kind: str, addr: int, n: int) -> bool:
        pages = {addr // PAGE, (addr + n - 1) // PAGE}
        return addr + n <= SIZE and all(PERMISSIONS.get(p, 0) & BITS[kind] for p in pages)

    def load(self, addr: int, n: int) -> int:
        return int.from_bytes(self.octets[addr : addr + n], "little")

    def store(self, addr: int, n: int, value: int) -> None:
        self.octets[addr : addr + n] = value.to_bytes(n, "little")

    def load_lanes(self, addrs: list[int], active: list[int], n: int) -> tuple[list[int], int]:
        values = [0] * len(addrs)
        for i, addr in enumerate(addrs):
            if active[i]:
                if not self.may("load", addr, n):
                    return values, i
                values[i] = self.load(addr, n)
        return values, len(addrs)

    def store_lanes(self, addrs: list[int], values: list[int], active: list[int], n: int) -> int:
        for i, addr in enumerate(addrs):
            if active[i]:
                if not self.may("store", addr, n):
                    return i
                self.store(addr, n, values[i])
        return len(addrs)


def lane_body(kind: str, width: int, n: int, *, run: bool, masked: bool) -> None:
    """Addresses in v8 (or a base in rs1), values in v16 (stores) or to v0, mask in v24."""
    addr: Value = ir.read_x("rs1") if run else ir.read_v("vs1", n, 64)
    active = ir.read_mask("vs3", n) if masked else ir.const(1, ir.mask(n))
    if kind == "load":
        values, fault = ir.load_lanes(addr, active, width)
        ir.write_v("vd", values)
        ir.write_x("rd", fault)
    else:
        ir.write_x("rd", ir.store_lanes(addr, ir.read_v("vs2", n, width), active))


LANES = {
    f"{kind}{width}x{n}{'run' if run else 'at'}{'masked' if masked else ''}": (
        kind, width, n, run, masked,
    )
    for kind in ("load", "store")
    for width in WIDTHS
    for n in (1, 8)
    for run in (True, False)
    for masked in (True, False)
}  # fmt: skip


def scalar_load(width: int) -> None:
    ir.write_x("rd", ir.sext(ir.load(ir.read_x("rs1"), width), 64))


def scalar_store(width: int) -> None:
    ir.store(ir.read_x("rs1"), ir.trunc(ir.read_x("rs2"), width))


def swap() -> None:
    """As amoswap: the old value is the one before the store, though it is written last."""
    addr = ir.read_x("rs1")
    old, _ = ir.load_lanes(addr, ir.const(1, ir.mask(1)), 32)
    ir.store(addr, ir.trunc(ir.read_x("rs2"), 32))
    ir.write_x("rd", ir.zext(ir.extract(old, 0), 64))


def partial_copy() -> None:
    """A load that faults after a store: what was stored stays."""
    ir.store(ir.read_x("rs2"), ir.const(0x5A, 8))
    ir.write_x("rd", ir.load(ir.read_x("rs1"), 64))


LONG = 514
"""Elements of 8 bytes that reach over a whole page and into both its neighbours."""


def long_run() -> None:
    values, fault = ir.load_lanes(ir.read_x("rs1"), ir.const(1, ir.mask(LONG)), 64)
    ir.write_x("rd", fault)
    ir.write("vl", ir.reduce("add", values))


@cache
def bench() -> Bench:
    memory = Memory(SIZE)
    for page, permission in PERMISSIONS.items():
        memory.map(page * PAGE, PAGE, permission)
    bodies: dict[str, Callable[[], None]] = {}
    for width in WIDTHS:
        bodies[f"load{width}"] = partial(scalar_load, width)
        bodies[f"store{width}"] = partial(scalar_store, width)
    for name, (kind, width, n, run, masked) in LANES.items():
        bodies[name] = partial(lane_body, kind, width, n, run=run, masked=masked)
    bodies |= {"swap": swap, "partial copy": partial_copy, "long run": long_run}
    programs: dict[str, Program] = {name: traced(body) for name, body in bodies.items()}
    return Bench(programs, memory)


def reset(model: Model) -> Bench:
    machine = bench()
    machine.state.buffer[:] = 0
    machine.memory.data[:] = memoryview(model.octets)
    return machine


def contents() -> bytes:
    return bench().memory.data.tobytes()


def each_engine(name: str, prepare: Callable[[Bench], None]) -> list[tuple[str, Trapped | None]]:
    """Runs in both; they must agree in memory, state and outcome, which is left in the bench."""
    outcomes, ends = [], []
    for engine, run in bench().engines.items():
        machine = reset(Model())
        prepare(machine)
        outcomes.append((engine, run(name)))
        ends.append((machine.state.snapshot(), contents()))
    assert ends[0] == ends[1]
    assert outcomes[0][1] == outcomes[1][1]
    return outcomes


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=30)
@given(addr=addresses)
def test_a_scalar_load_extends_what_is_there_or_traps_with_its_address(
    width: int, addr: int
) -> None:
    model, n = Model(), width // 8
    outcomes = each_engine(f"load{width}", lambda m: m.state.x.__setitem__(FIELDS["rs1"], addr))
    if model.may("load", addr, n):
        value = model.load(addr, n)
        expected = (value - (value >> (width - 1) << width)) % (1 << 64)
        assert bench().state.x[FIELDS["rd"]] == expected
        assert outcomes[0][1] is None
    else:
        assert outcomes[0][1] == Trapped(13, addr, "load page fault")


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=30)
@given(addr=addresses, value=st.integers(0, (1 << 64) - 1))
def test_a_scalar_store_stores_its_low_bits_or_nothing(width: int, addr: int, value: int) -> None:
    def prepare(m: Bench) -> None:
        m.state.x[FIELDS["rs1"]] = addr
        m.state.x[FIELDS["rs2"]] = value

    model, n = Model(), width // 8
    outcomes = each_engine(f"store{width}", prepare)
    if model.may("store", addr, n):
        model.store(addr, n, value % (1 << width))
        assert outcomes[0][1] is None
    else:
        assert outcomes[0][1] == Trapped(15, addr, "store page fault")
    assert contents() == model.octets


@pytest.mark.parametrize("name", LANES)
@settings(max_examples=10)
@given(data=st.data())
def test_lanes_stop_before_the_first_fault(name: str, data: st.DataObject) -> None:
    kind, width, n, run, masked = LANES[name]
    nbytes = width // 8
    near = st.one_of(st.integers(PAGE, PAGE + 8), st.sampled_from([3 * PAGE - 8, 5 * PAGE]))
    some = addresses if run else st.one_of(near, addresses)  # near ones overlap one another
    addrs = data.draw(st.lists(some, min_size=n, max_size=n), label="addrs")
    if run:
        addrs = [(addrs[0] + i * nbytes) % (1 << 64) for i in range(n)]
    active = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)) if masked else [1] * n
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), min_size=n, max_size=n))

    def prepare(m: Bench) -> None:
        m.state.x[FIELDS["rs1"]] = addrs[0]
        for field, content, w in (("vs1", addrs, 64), ("vs2", values, width), ("vs3", active, 1)):
            m.set_v(FIELDS[field], pack(content, w).to_bytes(-(-n * w // 8), "little"))

    each_engine(name, prepare)
    model, state = Model(), bench().state
    if kind == "load":
        expected, fault = model.load_lanes(addrs, active, nbytes)
        word = int.from_bytes(state.vfile[: n * nbytes].tobytes(), "little")
        assert unpack(word, n, width) == expected
    else:
        fault = model.store_lanes(addrs, values, active, nbytes)
    assert state.x[FIELDS["rd"]] == fault
    assert contents() == model.octets


def test_a_loaded_value_is_the_one_before_a_store_to_its_address() -> None:
    def prepare(m: Bench) -> None:
        m.state.x[FIELDS["rs1"]], m.state.x[FIELDS["rs2"]] = PAGE, 9

    each_engine("swap", prepare)
    assert bench().state.x[FIELDS["rd"]] == Model().load(PAGE, 4)
    assert bench().memory.load4(PAGE) == 9


def test_what_was_stored_before_a_fault_stays() -> None:
    def prepare(m: Bench) -> None:
        m.state.x[FIELDS["rs1"]], m.state.x[FIELDS["rs2"]] = 4 * PAGE, PAGE

    outcomes = each_engine("partial copy", prepare)
    assert outcomes[0][1] == Trapped(13, 4 * PAGE, "load page fault")
    assert bench().memory.load1(PAGE) == 0x5A


@pytest.mark.parametrize(
    ("start", "fault"),
    [(6 * PAGE - 8, LONG), (5 * PAGE - 8, 0), (2 * PAGE - 8, 1 + PAGE // 8), (7 * PAGE + 8, 511)],
    ids=["allowed", "first page", "last page", "outside"],
)
def test_a_long_run_is_checked_in_every_page(start: int, fault: int) -> None:
    each_engine("long run", lambda m: m.state.x.__setitem__(FIELDS["rs1"], start))
    model = Model()
    assert bench().state.x[FIELDS["rd"]] == fault
    total = sum(model.load(start + 8 * i, 8) for i in range(fault))
    assert bench().state["vl"] == total % (1 << 64)


def test_a_page_in_the_middle_of_a_run_is_checked() -> None:
    def prepare(m: Bench) -> None:
        m.memory.protect(6 * PAGE, PAGE, W)
        m.state.x[FIELDS["rs1"]] = 6 * PAGE - 8

    try:
        each_engine("long run", prepare)
        assert bench().state.x[FIELDS["rd"]] == 1
    finally:
        bench().memory.protect(6 * PAGE, PAGE, R | W)
