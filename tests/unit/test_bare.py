"""The surroundings of a bare-metal image, without a program in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rvsim.errors import RvsimError
from rvsim.guest.bare import RAM_SIZE, BareMetal, HostExit
from rvsim.guest.elf import Image, Segment
from rvsim.guest.symbols import Symbol, Symbols
from rvsim.hart.memory import PAGE, Memory, R, W, X
from rvsim.hart.state import State
from rvsim.hart.traps import Trap

BASE, TOHOST, FROMHOST, CALL = 0x80000000, 0x80001000, 0x80001040, 0x80002000
MIE, MPIE, MPP, DIRTY = 1 << 3, 1 << 7, 3 << 11, 3 << 13
USER, MACHINE = 0, 3


def image(symbols: dict[str, int], *segments: Segment) -> Image:
    return Image(
        name="image",
        entry=BASE,
        bias=0,
        is_pie=False,
        phdr_addr=0,
        phdr_num=0,
        phdr_entsize=0,
        segments=segments,
        data_end=segments[-1].end,
        flags=0,
        arch=None,
        symbols=Symbols([Symbol(name, addr, addr + 8) for name, addr in symbols.items()]),
    )


@dataclass
class Surroundings:
    """A hart around which nothing runs: tests write messages themselves."""

    memory: Memory = field(default_factory=lambda: Memory(4 << 30))
    state: State = field(default_factory=lambda: State(256))
    notes: list[str] = field(default_factory=list)
    out: list[bytes] = field(default_factory=list)
    err: list[bytes] = field(default_factory=list)
    symbols: dict[str, int] = field(
        default_factory=lambda: {"tohost": TOHOST, "fromhost": FROMHOST}
    )

    def __post_init__(self) -> None:
        segment = Segment(BASE, 3 * PAGE, 0, 0, R)
        self.memory.map(BASE, segment.size, R)
        self.bare = BareMetal(
            self.memory,
            image(self.symbols, segment),
            stdout=self.out.append,
            stderr=self.err.append,
            note=self.notes.append,
        )
        self.bare.start(self.state)

    def word(self, addr: int) -> int:
        return int.from_bytes(self.memory.read(addr, 8), "little")

    def put(self, addr: int, *words: int) -> None:
        self.memory.write(addr, b"".join(w.to_bytes(8, "little") for w in words))

    def send(self, message: int) -> None:
        self.put(TOHOST, message)
        self.bare.serve()

    def call(self, number: int, *arguments: int) -> int:
        self.put(CALL, number, *arguments)
        self.send(CALL)
        return self.word(CALL)


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


# -- memory


def test_ram_is_around_the_segments_and_knows_no_permissions(around: Surroundings) -> None:
    perm = around.memory.perm
    pages = slice(BASE // PAGE, (BASE + RAM_SIZE) // PAGE)
    writable = [bool(p & W) for p in perm[pages]]
    assert writable == [page != 1 for page in range(RAM_SIZE // PAGE)]  # tohost's
    assert all(p & (R | X) == R | X for p in perm[pages])
    assert not perm[pages.stop]
    assert not perm[pages.start - 1]


def test_ram_of_a_low_segment_ends_where_a_high_one_begins() -> None:
    memory = Memory(1 << 30)
    low, high = Segment(0x1000, 8, 0, 0, X), Segment(0x40000, PAGE, 0, 0, R)
    for segment in (low, high):
        memory.map(segment.addr, PAGE, segment.perm)
    memory.write(high.addr, b"content")
    BareMetal(memory, image({"tohost": 0x2000}, low, high))
    assert memory.read(high.addr, 7) == b"content"
    assert memory.mapped(0x1000, 0x40000 + RAM_SIZE - 0x1000)
    assert not memory.mapped(0x40000 + RAM_SIZE, 1)


def test_ram_ends_with_the_guests_memory() -> None:
    memory = Memory(BASE + 4 * PAGE)
    memory.map(BASE, PAGE, R)
    BareMetal(memory, image({"tohost": TOHOST}, Segment(BASE, PAGE, 0, 0, R)))
    assert memory.mapped(BASE, 4 * PAGE)


@pytest.mark.parametrize(
    ("addr", "text"),
    [(TOHOST + 4, "tohost at 0x80001004"), (4 << 30, "tohost at 0x100000000")],
)
def test_a_tohost_that_cannot_be_written_is_refused(addr: int, text: str) -> None:
    with pytest.raises(RvsimError, match=text):
        Surroundings(symbols={"tohost": addr})


def test_a_tohost_outside_the_segments_has_memory() -> None:
    memory = Memory(4 << 30)
    memory.map(BASE, PAGE, R)
    BareMetal(memory, image({"tohost": 0x1000}, Segment(BASE, PAGE, 0, 0, R)))
    assert memory.mapped(0x1000, 8)


# -- traps


@pytest.mark.parametrize(
    ("before", "mode", "after"),
    [
        (MIE, MACHINE, MPIE | MPP),
        (MPIE | MPP, MACHINE, MPP),
        (MIE | DIRTY, USER, MPIE | DIRTY),
        (0, USER, 0),
    ],
)
def test_a_trap_saves_mode_and_interrupt_enable(
    around: Surroundings, before: int, mode: int, after: int
) -> None:
    state = around.state
    state["mtvec"], state["mstatus"], state["privilege"] = BASE + 0x101, before, mode
    assert around.bare.enter_handler(Trap(5, BASE + 8, 0x77, ""), state)
    assert (state["mstatus"], state["privilege"], state["pc"]) == (after, MACHINE, BASE + 0x100)
    assert (state["mepc"], state["mcause"], state["mtval"]) == (BASE + 8, 5, 0x77)


def test_a_trap_at_the_handlers_first_instruction_is_a_loop_only_in_machine_mode(
    around: Surroundings,
) -> None:
    state = around.state
    state["mtvec"] = BASE
    trap = Trap(2, BASE, 0, "")
    assert not around.bare.enter_handler(trap, state)
    state["privilege"] = USER
    assert around.bare.enter_handler(trap, state)


def test_only_stores_to_the_page_of_tohost_are_messages(around: Surroundings) -> None:
    is_message = around.bare.is_message
    assert is_message(Trap(7, BASE, TOHOST, ""))
    assert is_message(Trap(7, BASE, TOHOST + PAGE - 1, ""))
    assert not is_message(Trap(7, BASE, TOHOST + PAGE, ""))
    assert not is_message(Trap(5, BASE, TOHOST, ""))
    with around.bare.page_open():
        around.memory.store8(TOHOST, 1)
    assert not around.memory.span_ok(TOHOST, 8, W)


# -- messages


def test_a_message_of_zero_asks_for_nothing(around: Surroundings) -> None:
    around.send(0)
    assert around.word(FROMHOST) == 0


@pytest.mark.parametrize(("message", "code"), [(1, 0), (3, 1), (511, 255), (0x2001, 255)])
def test_an_odd_message_ends_the_run(around: Surroundings, message: int, code: int) -> None:
    with pytest.raises(HostExit) as ended:
        around.send(message)
    assert ended.value.code == code
    assert bool(around.notes) == bool(code)


def test_write_goes_to_stdout_or_stderr_and_is_acknowledged(around: Surroundings) -> None:
    around.memory.write(CALL + 64, b"text")
    assert around.call(64, 1, CALL + 64, 4) == 4
    assert around.call(64, 2, CALL + 64, 2) == 2
    assert (around.out, around.err) == ([b"text"], [b"te"])
    assert (around.word(TOHOST), around.word(FROMHOST)) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((64, 7, CALL, 1), -9), ((64, 1, 0x1000, 1), -14), ((64, 1, CALL, 1 << 40), -14),
     ((63, 0, CALL, 1), -38)],
)  # fmt: skip
def test_a_call_that_cannot_be_done_answers_an_error(
    around: Surroundings, arguments: tuple[int, ...], error: int
) -> None:
    assert around.call(*arguments) == error & (1 << 64) - 1
    assert around.out == []


def test_what_the_host_does_not_know_is_named_once(around: Surroundings) -> None:
    for send in (
        lambda: around.call(1000),
        lambda: around.send(0x0500 << 48),
        lambda: around.send(0x10),
    ) * 2:
        send()
    assert around.notes == [
        "unknown system call 1000 by tohost: ENOSYS",
        "tohost = 0x500000000000000 asks for a device that is not there",
        "tohost = 0x10 is neither a system call nor an exit code",
    ]
    assert around.word(FROMHOST) == 1


def test_without_fromhost_nothing_is_acknowledged() -> None:
    around = Surroundings(symbols={"tohost": TOHOST})
    around.call(64, 1, CALL, 0)
    assert around.word(FROMHOST) == 0


def test_characters_of_the_console_device_are_not_acknowledged(around: Surroundings) -> None:
    for character in b"ab":
        around.send(0x0101 << 48 | character)
    assert (around.out, around.word(FROMHOST), around.notes) == ([b"a", b"b"], 0, [])
