"""Events in their order, and Spike's commit log made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rvsim.errors import RvsimError
from rvsim.insn.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.events import EVENT_DTYPE, Event, EventKind, Recorder
from rvsim.trace.spike import SpikeLog
from tests.cli.programs import A0, A1, A2, E8_M1, E8_M2, elf, exit_with, li, vset
from tests.program.bare import DATA, Step, load_upper, step

CONTENT = bytes(range(64))


def record(*steps: Step, **options: object) -> list[tuple[str, list[Event]]]:
    """The instructions that ran and their events."""
    found: list[tuple[str, list[Event]]] = []

    def consume(d: Decoded | None, events: Sequence[Event]) -> None:
        name = d.insn.name if d is not None and d.insn is not None else "?"
        found.append((name, list(events)))

    recorder = Recorder([consume])
    machine = Machine(observers=[recorder], **options)  # type: ignore[arg-type]
    machine.load(elf(steps, CONTENT))
    machine.run(max_insns=100)
    return found


def events_of(name: str, *steps: Step, **options: object) -> list[Event]:
    """The events of the one instruction of that name, without fetch and end."""
    (found,) = (events[1:-1] for insn, events in record(*steps, **options) if insn == name)
    return found


def log_of(tmp_path: Path, *steps: Step, skip: int = 0, **options: object) -> list[str]:
    """Lines of the log without ``core   0: 0``, pc and word."""
    log = SpikeLog()
    machine = Machine(observers=[log.recorder], **options)  # type: ignore[arg-type]
    machine.load(elf([*steps, *exit_with(0)], CONTENT))
    log.open(machine, str(tmp_path / "log"))
    machine.run(max_insns=100)
    log.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(line.startswith("core   0: 0 0x00000000000100") for line in lines)
    return [line.partition(") ")[2] for line in lines[skip:-2]]


# -- events


def test_order_of_the_events_of_one_instruction() -> None:
    swap = step("amoswap.d", aq=0, rl=0, rs2=A2, rs1=A1, rd=A0)
    found = record(load_upper(A1, DATA), li(A2, 5), swap, *exit_with(0))
    name, events = found[2]
    old = int.from_bytes(CONTENT[:8], "little")
    assert name == "amoswap.d"
    assert events == [
        Event(EventKind.FETCH, size=4, addr=0x10008, value=swap.word),
        Event(EventKind.READ, size=8, addr=DATA, value=old),
        Event(EventKind.WRITE, size=8, addr=DATA, value=5),
        Event(EventKind.X, A0, size=8, value=old),
        Event(EventKind.RETIRE, addr=0x1000C, value=3),
    ]


def test_lanes_are_in_element_order_and_only_active_ones() -> None:
    load = step("vle8.v", vm=0, rs1=A1, vd=8)
    events = events_of(
        "vle8.v",
        vset(E8_M1, avl=8),
        step("vmv.v.i", vd=0, imm=0b1010),
        load_upper(A1, DATA),
        load,
    )
    reads = [(e.number, e.addr, e.value) for e in events if e.kind == EventKind.READ]
    assert reads == [(1, DATA + 1, 1), (3, DATA + 3, 3)]
    assert [(e.kind, e.number, e.size) for e in events[2:]] == [(EventKind.V, 8, 32)]


def test_strided_store_in_element_order() -> None:
    events = events_of(
        "vsse8.v",
        vset(E8_M1, avl=3),
        step("vid.v", vm=1, vd=8),
        load_upper(A1, DATA),
        step("addi", rd=A1, rs1=A1, imm=16),
        li(A2, -4),
        step("vsse8.v", vm=1, rs1=A1, rs2=A2, vs3=8),
    )
    assert [(e.number, e.addr - DATA, e.value) for e in events] == [
        (0, 16, 0),
        (1, 12, 1),
        (2, 8, 2),
    ]


def test_group_write_is_an_event_for_each_register() -> None:
    events = events_of("vmv.v.i", vset(E8_M2), step("vmv.v.i", vd=8, imm=1))
    assert [(e.kind, e.number, e.addr, e.size) for e in events] == [
        (EventKind.V, 8, 0, 32),
        (EventKind.V, 9, 0, 32),
    ]


def test_vtype_change_comes_behind_the_register_write() -> None:
    events = events_of("vsetvli", li(A1, 5), step("vsetvli", rd=A0, rs1=A1, vtypei=E8_M1))
    kinds = [e.kind for e in events]
    assert kinds[-2:] == [EventKind.VTYPE, EventKind.VTYPE]
    assert {e.number: e.value for e in events if e.kind == EventKind.VTYPE} == {
        0xC20: 5,
        0xC21: E8_M1,
    }
    assert Event(EventKind.X, A0, 8, 0, 5) in events


def test_trap_ends_the_events() -> None:
    name, events = record(step("lb", rd=A0, rs1=0, imm=4))[-1]
    assert name == "lb"
    assert events[1:] == [Event(EventKind.TRAP, 13, addr=0x10000, value=4)]


def test_instruction_that_cannot_be_fetched() -> None:
    name, events = record(step("jalr", rd=0, rs1=0, imm=0))[-1]
    assert (name, events) == ("?", [Event(EventKind.TRAP, 12, addr=0, value=0)])


def test_faulting_lanes_and_those_behind_them_are_no_events() -> None:
    found = record(
        vset(E8_M1, avl=8),
        load_upper(A1, DATA + 4096),
        step("addi", rd=A1, rs1=A1, imm=-3),
        step("vle8.v", vm=1, rs1=A1, vd=8),
    )
    _, events = found[-1]
    assert [e.number for e in events if e.kind == EventKind.READ] == [0, 1, 2]
    assert events[-1] == Event(EventKind.TRAP, 13, addr=0x1000C, value=DATA + 4096)


def test_events_fit_fixed_size_records() -> None:
    events = [e for _, found in record(vset(E8_M1), *exit_with(0)) for e in found]
    table = np.array(events, EVENT_DTYPE)
    assert table.dtype.itemsize == 24
    assert [Event(EventKind(k), *rest) for k, *rest in table.tolist()] == events


# -- Spike's log


def test_scalar_lines(tmp_path: Path) -> None:
    steps = [
        load_upper(A1, DATA),
        step("lw", rd=A0, rs1=A1, imm=4),
        step("sh", rs1=A1, rs2=A0, imm=2),
        step("addi", rd=0, rs1=A0, imm=1),
        step("csrrwi", rd=5, csr=0x00A, uimm=2),
    ]
    assert log_of(tmp_path, *steps) == [
        "x11 0x0000000000020000",
        "x10 0x0000000007060504 mem 0x0000000000020004",
        "mem 0x0000000000020002 0x0504",
        "",
        "x5  0x0000000000000000 c10_vxrm 0x0000000000000002",
    ]


def test_whole_line_and_compressed_word(tmp_path: Path) -> None:
    log_of(tmp_path, step("c.li", rd=A0, imm=1), step("c.nop", imm=0))
    assert (tmp_path / "log").read_text().splitlines()[:2] == [
        "core   0: 0 0x0000000000010000 (0x4505) x10 0x0000000000000001",
        "core   0: 0 0x0000000000010002 (0x0001)",
    ]


def test_vset_lines(tmp_path: Path) -> None:
    steps = [
        step("vsetivli", rd=5, uimm=4, vtypei=E8_M1),
        step("vsetivli", rd=A0, uimm=5, vtypei=E8_M1),
        step("vsetvli", rd=0, rs1=0, vtypei=E8_M1),
    ]
    assert log_of(tmp_path, *steps) == [
        "x5  0x0000000000000004 c8_vstart 0x0000000000000000"
        " c3104_vl 0x0000000000000004 c3105_vtype 0x00000000000000c0",
        "c8_vstart 0x0000000000000000 x10 0x0000000000000005 c3104_vl 0x0000000000000005",
        "c8_vstart 0x0000000000000000",
    ]


def test_vector_lines(tmp_path: Path) -> None:
    steps = [
        vset(E8_M2, avl=3),
        load_upper(A1, DATA),
        step("vle8.v", vm=1, rs1=A1, vd=8),
        step("vse8.v", vm=1, rs1=A1, vs3=8),
        step("vmv.x.s", vs2=8, rd=A0),
    ]
    vstart = "c8_vstart 0x0000000000000000"
    mem = [f"mem 0x000000000002000{i}" for i in range(3)]
    assert log_of(tmp_path, *steps, skip=2, vlen=128) == [
        f"e8 m2 l3 v8  0x{'00' * 13}020100 {vstart} {' '.join(mem)}",
        f"e8 m2 l3 {vstart} {mem[0]} 0x00 {mem[1]} 0x01 {mem[2]} 0x02",
        f"e8 m2 l3 {vstart} x10 0x0000000000000000",
    ]


def test_group_lists_the_registers_with_body_elements(tmp_path: Path) -> None:
    steps = [vset(E8_M2, avl=17), step("vmv.v.i", vd=2, imm=1)]
    (line,) = log_of(tmp_path, *steps, skip=1, vlen=128)
    assert line == f"e8 m2 l17 v2  0x{'01' * 16} v3  0x{'00' * 15}01 c8_vstart 0x{0:016x}"
    (line,) = log_of(tmp_path, vset(E8_M2, avl=16), steps[1], skip=1, vlen=128)
    assert " v3 " not in line
    (line,) = log_of(tmp_path, vset(E8_M2, avl=16), steps[1], skip=1, vlen=128, agnostic="ones")
    assert f" v3  0x{'ff' * 16} " in line


def test_traps_and_ecalls_have_no_line(tmp_path: Path) -> None:
    log_of(tmp_path, li(A0, 1))
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 3  # li, and of the exit li, li but no ecall


def test_path_that_cannot_be_written(tmp_path: Path) -> None:
    log = SpikeLog()
    machine = Machine(observers=[log.recorder])
    with pytest.raises(RvsimError, match=r"cannot write .*: Is a directory"):
        log.open(machine, str(tmp_path))
