"""Bare-metal images: machine mode, its traps, and messages to the host."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from rvsim.errors import RvsimError
from rvsim.machine import Machine, RunResult
from rvsim.machine.trap_report import trap_report
from rvsim.trace.spike import SpikeLog
from tests.program.bare_images import HANDLER, INSTALL, TEXT, build

X60, GENERIC = "spacemit-x60", "generic-rv64gcv"
ILLEGAL, BREAKPOINT, MISALIGNED, ECALL_U, ECALL_M = 2, 3, 4, 8, 11
FETCH, LOAD, STORE = 1, 5, 7
MPP, FS_ON, VS_ON = 3 << 11, 1 << 13, 1 << 9


class Logged(NamedTuple):
    """What the handler of `HANDLER` wrote for one trap."""

    cause: int
    pc: int
    tval: int
    status: int


def run(body: str, cpu: str = GENERIC, max_insns: int = 100_000, **options: str) -> RunResult:
    """A run; its notes are `result.machine.notes`."""
    notes: list[str] = []
    machine = Machine(cpu, note=notes.append, **options)  # type: ignore[arg-type]
    machine.load(build(body))
    result = machine.run(max_insns=max_insns)
    result.machine.notes = notes  # type: ignore[attr-defined]
    return result


def notes(result: RunResult) -> list[str]:
    return result.machine.notes  # type: ignore[attr-defined, no-any-return]


def address(result: RunResult, name: str) -> int:
    assert result.machine.image is not None
    found = result.machine.image.symbols.address(name)
    assert found is not None
    return found


def log(result: RunResult) -> list[Logged]:
    """What the handler saw, in order."""
    assert (result.reason, result.exit_code) == ("exit", 0), result
    data = result.machine.memory.read(address(result, "log"), 1024)
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, 1024, 8)]
    rows = (Logged(*words[i : i + 4]) for i in range(0, 128, 4))
    return [row for row in rows if row.pc]


# -- the end


def test_an_image_that_writes_1_passes() -> None:
    result = run("finish 0")
    assert (result.reason, result.exit_code, result.trap, notes(result)) == ("exit", 0, None, [])
    assert result.instret == result.machine.state["instret"] == 4  # li, la, sd


def test_a_failing_test_is_named() -> None:
    result = run("finish 7")
    assert (result.reason, result.exit_code) == ("exit", 7)
    assert notes(result) == ["test 7 failed (tohost = 0xf)"]


def test_a_number_that_no_shell_can_show_is_no_pass() -> None:
    result = run("finish 512")
    assert result.exit_code == 255
    assert notes(result) == ["test 512 failed (tohost = 0x401)"]


def test_the_store_that_ends_the_run_counts() -> None:
    machine = Machine(GENERIC)
    machine.load(build("finish 0"))
    assert machine.step(3) is None
    assert (machine.state["instret"], machine.state["pc"]) == (3, TEXT + 12)
    ended = machine.step()
    assert ended is not None
    assert (ended.exit_code, ended.instret) == (0, 4)


@pytest.mark.parametrize("store", ["sw t0, (t1)", "sb t0, (t1)", "amoor.d t2, t0, (t1)",
                                   "vsetivli zero, 1, e64, m1, ta, ma\n vmv.v.x v1, t0\n"
                                   "vse64.v v1, (t1)"])  # fmt: skip
def test_any_store_to_tohost_is_a_message(store: str) -> None:
    enable = f"li t0, {VS_ON}\n csrs mstatus, t0\n"
    assert run(f"{enable} la t1, tohost\n li t0, 7\n {store}\n finish 9").exit_code == 3


def test_other_data_in_the_page_of_tohost_is_just_data() -> None:
    result = run("la t1, tohost\n li t0, 5\n sd t0, 128(t1)\n ld a0, 128(t1)\n finish 0")
    assert (result.exit_code, result.x[10]) == (0, 5)


def test_a_limit_is_a_limit() -> None:
    result = run("1: j 1b", max_insns=100)
    assert (result.reason, result.exit_code, result.instret) == ("max_insns", 124, 100)


# -- console


def test_the_console_is_a_system_call_of_the_host() -> None:
    result = run("""
        la s0, call
        to_host s0
        ld a0, (s0)
        finish 0
    .data
    .balign 64
    call: .dword 64, 1, text, 6
    text: .ascii "hello\\n"
    """)
    assert (result.exit_code, result.stdout, result.x[10]) == (0, b"hello\n", 6)


def test_the_console_device_takes_one_character() -> None:
    result = run("""
        li s0, 0x0101000000000000 + 'o'
        la t1, tohost
        sd s0, (t1)
        li s0, 0x0101000000000000 + 'k'
        sd s0, (t1)
        ld a0, (t1)
        finish 0
    """)
    assert (result.exit_code, result.stdout, result.x[10]) == (0, b"ok", 0)


def test_the_exit_system_call_ends() -> None:
    result = run("la s0, call\n to_host s0\n .data\n call: .dword 93, 4, 0, 0")
    assert (result.reason, result.exit_code) == ("exit", 4)


# -- traps


def test_traps_go_to_mtvec_with_cause_place_and_value() -> None:
    result = run(
        f"""{INSTALL}
    .globl at
    at: .word 0xffffffff
        ecall
        ebreak
        csrr a0, 0x123
        li t1, 8
        ld a0, 0(t1)
        sd a0, 1(t1)
        li t1, 0x1000
        la ra, 1f
        jr t1
    1:  wfi
        finish 0
    {HANDLER}"""
    )
    at = address(result, "at")
    assert [row[:3] for row in log(result)] == [
        (ILLEGAL, at, 0xFFFF),  # an encoding of more than 32 bits: its first parcel
        (ECALL_M, at + 4, 0),
        (BREAKPOINT, at + 8, at + 8),
        (ILLEGAL, at + 12, 0x12302573),
        (LOAD, at + 20, 8),
        (STORE, at + 24, 9),
        (FETCH, 0x1000, 0x1000),
    ]


def test_a_misaligned_vector_access_traps_on_the_x60() -> None:
    body = f"""{INSTALL}
        li t0, {VS_ON}
        csrs mstatus, t0
        vsetivli zero, 4, e32, m1, ta, ma
        la t1, data
    .globl at
    at: vle32.v v1, (t1)
        csrr a0, vstart
        finish 0
    {HANDLER}
    .balign 8
    .byte 0
    data: .zero 64
    """
    result = run(body, X60)
    at = address(result, "at")
    [row] = log(result)
    assert row[:2] == (MISALIGNED, at)
    assert row.tval % 4 == 1
    assert log(run(body, GENERIC)) == []


def test_mret_leads_to_user_mode_and_ecall_back() -> None:
    result = run(
        f"""{INSTALL}
        la t0, user
        csrw mepc, t0
        csrw mstatus, zero      # MPP = U
        mret
    .globl user
    user:
        ecall
        csrr a0, mscratch
        mret
        wfi
        csrr a0, instret        # hidden by mcounteren
        finish 0
    {HANDLER}"""
    )
    user = address(result, "user")
    rows = log(result)
    assert [row[:3] for row in rows] == [
        (ECALL_U, user, 0),
        (ILLEGAL, user + 4, 0x34002573),
        (ILLEGAL, user + 8, 0x30200073),
        (ILLEGAL, user + 16, 0xC0202573),
    ]
    assert not any(row.status & MPP for row in rows)
    assert result.machine.state["privilege"] == 0


def test_ecall_of_machine_mode_has_a_cause_of_its_own_and_keeps_the_mode() -> None:
    result = run(f"{INSTALL} csrsi mstatus, 8\n ecall\n csrr a0, mstatus\n finish 0\n {HANDLER}")
    [row] = log(result)
    assert (row.cause, row.tval) == (ECALL_M, 0)
    assert row.status & (MPP | 0x88) == MPP | 0x80  # MIE has become MPIE
    assert result.x[10] & (MPP | 0x88) == 0x88
    assert result.machine.state["privilege"] == 3


# -- CSRs


def test_counters_can_be_set_and_shown_to_user_mode() -> None:
    result = run("""
        csrr s0, minstret
        csrr s1, instret
        li t0, 1000
        csrw minstret, t0
        csrr s2, minstret
        csrw mcycle, zero
        csrr s3, cycle
        li t0, 4
        csrw mcounteren, t0
        la t0, user
        csrw mepc, t0
        la t0, failed
        csrw mtvec, t0
        mret
    user:
        csrr s4, instret
        finish 0
    .balign 4
    failed: finish 1
    """)
    assert result.exit_code == 0
    s0, s1, s2, s3 = result.x[8], result.x[9], result.x[18], result.x[19]
    assert (s0, s1, s2, s3) == (0, 1, 1000, 0)
    assert result.x[20] == 1000 + 12
    assert result.instret == 4 + 12 + 1 + 4  # not moved


def test_identity_registers_read_as_a_hart_without_a_name() -> None:
    result = run("""
        csrr s0, mhartid
        csrr s1, misa
        li t0, -1
        csrw misa, t0
        csrw pmpaddr0, t0
        csrw satp, t0
        csrr s2, misa
        csrr s3, pmpaddr0
        csrr s4, satp
        finish 0
    """)
    misa = 2 << 62 | sum(1 << ord(c) - ord("a") for c in "abcdfimuvx")
    assert (result.x[8], result.x[9], *result.x[18:21]) == (0, misa, misa, 0, 0)


def test_units_are_off_until_mstatus_turns_them_on() -> None:
    result = run(
        f"""{INSTALL}
    .globl at
    at: fadd.s f1, f2, f3
        csrr a0, fcsr
        vsetivli zero, 4, e32, m1, ta, ma
        csrr a0, vlenb
        li t0, {FS_ON | VS_ON}
        csrs mstatus, t0
        csrr a1, mstatus
        fadd.s f1, f2, f3
        vsetivli zero, 4, e32, m1, ta, ma
        vfadd.vv v1, v2, v3
        li t0, {3 << 13}
        csrc mstatus, t0
        vadd.vv v1, v2, v3
    .globl last
    last: vfadd.vv v1, v2, v3
        finish 0
    {HANDLER}"""
    )
    at, last = address(result, "at"), address(result, "last")
    assert [row[:2] for row in log(result)] == [
        *((ILLEGAL, at + 4 * i) for i in range(4)),
        (ILLEGAL, last),
    ]
    assert result.x[11] & (1 << 63 | 3 << 13 | 3 << 9) == 1 << 63 | 3 << 13 | 3 << 9


@pytest.mark.parametrize("status", [0, FS_ON, FS_ON | VS_ON])
def test_compiled_code_knows_which_units_are_off(status: int) -> None:
    body = f"""{INSTALL}
        li t0, {status}
        csrs mstatus, t0
        li s2, 1000
    1:  addi s2, s2, -1
        addi s3, s3, 3
        bnez s2, 1b
        li s2, 1000
    2:  addi s2, s2, -1
        blez s2, 3f
        beqz zero, 2b
    3:  fcvt.s.l f1, s3         # within reach of the loop, not of its first iterations
        vsetivli zero, 4, e32, m1, ta, ma
        bgtz s2, 2b
        finish 0
    {HANDLER}"""
    results = []
    for engine in ("numpy", "jit"):
        machine = Machine(GENERIC, engine=engine)
        machine.load(build(body))
        if machine.interp.jit is not None:
            machine.interp.jit.threshold = 1  # type: ignore[attr-defined]
        results.append(machine.run(max_insns=100_000))
    reference, compiled = results
    assert len(log(reference)) == (not status & FS_ON) + (not status & VS_ON)
    assert log(compiled) == log(reference)
    assert (compiled.instret, compiled.x, compiled.v) == (
        reference.instret, reference.x, reference.v,
    )  # fmt: skip
    assert compiled.machine.interp.jit.regions  # type: ignore[union-attr]


def test_memory_can_be_read_written_and_executed() -> None:
    result = run("""
        la t0, place
        li t1, 0x00700513       # li a0, 7
        sw t1, (t0)
        li t1, 0x00008067       # ret
        sw t1, 4(t0)
        fence.i
        jalr t0
        la t1, _start
        sw a0, (t1)             # code
        lw a1, (t1)
        la t1, place
        li t0, 32 << 20
        add t1, t1, t0
        sd a0, (t1)             # memory behind the image
        ld a2, (t1)
        finish 0
    .bss
    place: .zero 8
    """)
    assert (result.exit_code, *result.x[10:13]) == (0, 7, 7, 7)


# -- what nothing handles


def test_a_trap_without_a_handler_ends_with_its_report() -> None:
    result = run("ld a0, 16(zero)")
    assert result.trap is not None
    assert (result.reason, result.exit_code, result.trap.cause) == ("trap", 139, LOAD)
    assert trap_report(result.machine, result.trap).splitlines()[:3] == [
        "load fault at 0x80000000 in _start+0x0: ld a0, 0x10(zero)",
        "  address 0x10 cannot be read: a null pointer, or an offset from one",
        "  mtvec is 0: the image has set no trap handler",
    ]


def test_a_handler_that_traps_at_once_ends_with_its_report() -> None:
    result = run("la t0, handler\n csrw mtvec, t0\n ecall\n .balign 4\n handler: .word 0")
    assert result.trap is not None
    assert (result.reason, result.exit_code, result.trap.cause) == ("trap", 132, ILLEGAL)
    report = trap_report(result.machine, result.trap)
    assert "the first instruction of the trap handler traps, and would for ever" in report


def test_an_exception_that_riscv_tests_does_not_expect_is_told() -> None:
    result = run("""
        la t0, handler
        csrw mtvec, t0
        li gp, 2
    .globl at
    at: .word 0
    .balign 4
    handler:
        ori gp, gp, 1337
        la t0, tohost
        sw gp, (t0)
    """)
    assert result.exit_code == 255
    assert notes(result) == [
        "test 669 failed (tohost = 0x53b), perhaps by an exception: mcause 2 at"
        f" {address(result, 'at'):#x} in at+0x0"
    ]


def test_an_image_below_which_there_is_no_memory_is_refused() -> None:
    machine = Machine(GENERIC, memory_size=1 << 30)
    with pytest.raises(RvsimError, match="is outside the guest's memory"):
        machine.load(build("finish 0"))


# -- listeners


def test_the_commit_log_shows_the_privilege_and_each_message_once(tmp_path) -> None:
    spike = SpikeLog()
    machine = Machine(GENERIC, observers=[spike.recorder])
    machine.load(
        build(f"{INSTALL} la t0, user\n csrw mepc, t0\n mret\n user: ecall\n finish 0\n{HANDLER}")
    )
    spike.open(machine, str(tmp_path / "log"))
    machine.run(max_insns=1000)
    spike.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == machine.state["instret"]
    mrets = [i for i, line in enumerate(lines) if "(0x30200073)" in line]
    levels = [line.split()[2] for line in lines]
    assert levels[: mrets[0] + 1] == ["3"] * (mrets[0] + 1)
    assert levels[mrets[0] + 1 : mrets[1] + 1] == ["3"] * (mrets[1] - mrets[0])  # the handler
    assert levels[mrets[1] + 1 :] == ["0"] * 4
    assert lines[-1].endswith("mem 0x0000000080001000 0x0000000000000001")


@pytest.mark.parametrize("store", ["sd t0, (t1)", "amoswap.d zero, t0, (t1)"])
def test_a_message_takes_the_time_of_one_store(store: str) -> None:
    """It has one record, that of a store to any other place."""
    runs = []
    for to in ("tohost", "other"):
        body = f"li t0, 1\n la t1, {to}\n {store}\n la t1, tohost\n sd t0, (t1)\n"
        other = ".data\n other: .dword 0\n"
        machine = Machine(GENERIC, cost="x60", trace=True)
        machine.load(build(body + other))
        runs.append(machine.run(max_insns=4))
    message, data = (run.trace() for run in runs)
    assert not message["trapped"].any()
    assert message["instret"].tolist() == [0, 1, 2, 3]
    times = ["issue", "done", "wait", "slot", "size"]
    assert message[times].tolist() == data[times].tolist()
    assert message["addr"][3] == 0x80001000


def test_a_reset_hands_over_hart_0_and_no_device_tree() -> None:
    machine = Machine(initial="ones")
    machine.load(build("j ."))
    x = machine.state.x
    assert (x[0], x[10], x[11], x[2]) == (0, 0, 0, (1 << 64) - 1)
