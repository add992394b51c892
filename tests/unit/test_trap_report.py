"""Reports of guest traps: the rule, the state that matters, and a way on."""

from __future__ import annotations

import pytest

from rvsim.hart.memory import PAGE
from rvsim.machine import Machine
from rvsim.machine.trap_report import recent_report, trap_report
from tests.cli.programs import A0, A1, A2, E8_M1, elf, li, syscall, vset
from tests.program.bare import DATA, TEXT, Step, load_upper, step

TWO_EEWS = step("vwadd.wv", vm=1, vs2=4, vs1=4, vd=8)


def trapped(*steps: Step, **options: object) -> Machine:
    """A machine whose program has trapped; the report is of the `last_trap`."""
    machine = Machine(**options)  # type: ignore[arg-type]
    machine.load(elf(steps))
    return machine


def report(*steps: Step, **options: object) -> list[str]:
    """The lines of the report of the trap that ends the program."""
    machine = trapped(*steps, **options)
    trap = machine.run(max_insns=100).trap
    assert trap is not None
    return trap_report(machine, trap).splitlines()


def test_four_parts() -> None:
    assert report(vset(E8_M1), step("vrgather.vv", vm=1, vs2=4, vs1=8, vd=4)) == [
        "illegal instruction at 0x10004: vrgather.vv v4, v4, v8",
        "  destination vd = v4 (EEW 8, EMUL m1) overlaps source vs2 = v4 (EEW 8, EMUL m1) (V 16.4)",
        "  vtype e8,m1,ta,ma  vl 31  vstart 0",
        "  try: rvsim explain 0x32440257 --vtype e8,m1,ta,ma",
    ]


def test_reserved_use_that_can_be_allowed() -> None:
    lines = report(vset(E8_M1), TWO_EEWS, vlen=512)
    assert lines[1].endswith("read one register with two EEWs (V 5.2)")
    assert lines[-2] == (
        "  try: rvsim run --reserved allow, which executes it; QEMU 10 refuses most such uses"
    )
    assert lines[-1] == f"  try: rvsim explain {TWO_EEWS.word:#x} --vtype e8,m1,ta,ma --vlen 512"


def test_missing_extension_names_the_cpu_that_has_it() -> None:
    lines = report(step("pack", rd=A0, rs1=A1, rs2=A2))
    assert lines[-2] == "  try: rvsim run --cpu generic-rv64gcv, which has it"


def test_vill_names_the_instruction_that_set_it() -> None:
    lines = report(vset(0b000_100), step("vadd.vv", vm=1, vs2=8, vs1=8, vd=8))
    assert lines[2] == "  vtype vill  vl 0  vstart 0"
    assert lines[3].startswith("  try: look at vsetivli zero, 0x1f, ")
    assert lines[3].endswith(" at 0x10000, which set vtype")


AFTER_CALL = [vset(E8_M1), step("vmv.v.i", vd=8, imm=5), *syscall(172)]


def test_vill_after_a_system_call_names_the_call() -> None:
    lines = report(*AFTER_CALL, step("vmv1r.v", vd=9, vs2=8))
    assert lines[1:3] == [
        "  vtype is vill: no vset* has set a supported vtype (V 3.4.4)",
        "  Linux discards vector state at each system call (since 6.5): the call at 0x1000c has"
        " left vtype vill and all ones in the registers",
    ]
    assert "  try: rvsim run --syscall-vector keep, as Linux did before 6.5" in lines


def test_vill_by_a_vset_after_a_system_call_is_the_vsets() -> None:
    lines = report(*AFTER_CALL, vset(0b000_100), step("vmv1r.v", vd=9, vs2=8))
    assert not any("discards" in line for line in lines)
    assert any(line.endswith(" at 0x10010, which set vtype") for line in lines)


def test_old_kernels_kept_vector_state() -> None:
    machine = trapped(*AFTER_CALL, step("vmv1r.v", vd=9, vs2=8), syscall_vector="keep")
    assert machine.run(max_insns=4).reason == "max_insns"
    assert machine.state.v[9].tolist() == [5] * 31 + [0]


def test_a_hidden_counter_says_what_counts_instead() -> None:
    rdcycle = step("csrrs", rd=A0, csr=0xC00, rs1=0)
    assert report(rdcycle, user_counters="trap") == [
        "illegal instruction at 0x10000: csrrs a0, cycle, zero",
        "  Linux hides cycle from user mode (Privileged, scounteren)",
        "  try: rdtime, which user mode may always read, or perf_event_open",
        "  try: rvsim run --user-counters allow",
        f"  try: rvsim explain {rdcycle.word:#x}",
    ]


def test_event_counters_are_always_hidden() -> None:
    lines = report(step("csrrs", rd=A0, csr=0xC1F, rs1=0))
    assert lines[:3] == [
        "illegal instruction at 0x10000: csrrs a0, hpmcounter31, zero",
        "  Linux hides hpmcounter31 from user mode (Privileged, scounteren)",
        "  try: rdtime, which user mode may always read, or perf_event_open",
    ]
    assert not any("--user-counters" in line for line in lines)


def test_a_vstart_past_the_elements_can_be_allowed() -> None:
    e8_mf2 = 0b11_000_111
    past = step("csrrwi", rd=0, csr=8, uimm=16)
    lines = report(vset(e8_mf2), past, step("vmv.v.i", vd=8, imm=0))
    assert lines[1:4] == [
        "  vstart is VLMAX or more: no element has that number, which is reserved (V 3.7)",
        "  vtype e8,mf2,ta,ma  vl 16  vstart 16",
        "  try: rvsim run --reserved allow, which notes it and goes on",
    ]


def test_word_that_is_no_instruction() -> None:
    machine = trapped(step("jal", rd=0, imm=8))
    trap = machine.run(max_insns=10).trap
    assert trap is not None
    lines = trap_report(machine, trap).splitlines()
    assert lines[0] == f"illegal instruction at {TEXT + 8:#x}"
    assert lines[1] == "  no instruction has the encoding 0x0000"
    assert lines[-1] == "  try: rvsim dis '<bytes>', to see whether this is code at all"


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ([step("lb", rd=A0, rs1=0, imm=8)], "0x8 cannot be read: a null pointer, or"),
        ([step("sd", rs1=0, rs2=0, imm=0)], "0x0 cannot be written: a null pointer, or"),
        ([step("jalr", rd=0, rs1=0, imm=0)], "0x0 cannot be executed: a null pointer, or"),
        (
            [load_upper(A1, TEXT), step("sb", rs1=A1, rs2=0, imm=0)],
            "0x10000 cannot be written: the program's image is mapped r-x",
        ),
        (
            [load_upper(A1, DATA), step("jalr", rd=0, rs1=A1, imm=0)],
            "0x20000 cannot be executed: the program's image is mapped rw-",
        ),
        (
            [load_upper(A1, DATA + 2 * PAGE), step("lb", rd=A0, rs1=A1, imm=0)],
            "0x22000 cannot be read: nothing is mapped there,"
            " 0x1fc0 bytes past the end of the program's image",
        ),
        (
            [load_upper(A1, DATA + PAGE), step("ld", rd=A0, rs1=A1, imm=-4)],
            "0x20ffc cannot be read: it runs into 0x21000, nothing is mapped there,"
            " 0xfc0 bytes past the end of the program's image",
        ),
        (
            [li(A1, -1), step("lb", rd=A0, rs1=A1, imm=-8)],
            "0xfffffffffffffff7 cannot be read:"
            " outside the guest's address space of 0x4000000000 bytes",
        ),
    ],
)
def test_memory_fault_says_what_is_there(steps: list[Step], rule: str) -> None:
    lines = report(*steps)
    assert lines[1].startswith(f"  address {rule}")
    assert "--trace spike:" in lines[-1]


def test_stack_overflow_is_named() -> None:
    down = [step("lui", rd=A1, uimm=0x800), step("sub", rd=2, rs1=2, rs2=A1)]
    lines = report(*down, step("sd", rs1=2, rs2=0, imm=-2048), memory_size=64 << 20)
    assert "the stack's guard page (a stack overflow?)" in lines[1]


def test_vector_fault_shows_the_element_and_the_registers() -> None:
    steps = [
        vset(E8_M1),
        load_upper(A1, DATA + PAGE),
        step("addi", rd=A1, rs1=A1, imm=-5),
        step("vmv.v.i", vd=8, imm=7),
        step("vse8.v", vm=1, rs1=A1, vs3=8),
    ]
    assert report(*steps)[1:-1] == [
        "  vector store to memory that is not writable",
        "  address 0x21000 cannot be written: nothing is mapped there,"
        " 0xfc0 bytes past the end of the program's image",
        "  vtype e8,m1,ta,ma  vl 31  vstart 5",
        "  a1 0x20ffb",
        "  v8 07 07 07 07 07 07 07 07 07 07 07 07 07 07 07 07 ...",
    ]


def test_misaligned_vector_access() -> None:
    e16_m1 = E8_M1 | 1 << 3
    load = step("vle16.v", vm=1, rs1=A1, vd=8)
    lines = report(vset(e16_m1), load_upper(A1, DATA), step("addi", rd=A1, rs1=A1, imm=1), load)
    assert lines[0].startswith("misaligned load at 0x1000c: ")
    assert "  address 0x20001" in lines
    assert "generic-rv64gcv" in lines[-1]


def test_breakpoint() -> None:
    lines = report(step("ebreak"))
    assert lines[0] == "breakpoint at 0x10000: ebreak"
    assert len(lines) == 2


def test_recent_instructions_end_before_the_trap() -> None:
    machine = trapped(li(A0, 1), li(A0, 2), li(A0, 3), step("ebreak"))
    machine.run()
    assert recent_report(machine, 2).splitlines() == [
        "  last instructions executed:",
        "    0x10004  addi a0, zero, 0x2",
        "    0x10008  addi a0, zero, 0x3",
    ]


def test_nothing_was_executed_before_the_trap() -> None:
    machine = trapped(step("ebreak"))
    machine.run()
    assert recent_report(machine) == ""
