"""``rvsim run``: output, exit codes, limits, options."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rvsim.machine import Machine
from tests.cli.conftest import Cli
from tests.cli.programs import (
    A0,
    A1,
    E8_M1,
    E8_M2,
    FOREVER,
    elf,
    exit_with,
    li,
    syscall,
    vset,
    write,
)
from tests.program.bare import DATA, load_upper, step

Program = Callable[..., str]
RVSIM = [sys.executable, "-m", "rvsim"]
OVERLAP = step("vrgather.vv", vm=1, vs2=4, vs1=8, vd=4)
TWO_EEWS = step("vwadd.wv", vm=1, vs2=4, vs1=4, vd=8)


def test_exit_code_is_the_guests(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(*exit_with(42)))
    assert (result.code, result.out, result.err) == (42, "", "")


def test_output_passes_through(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(*write(1, 3), *write(2, 6), data=b"out\nrr"))
    assert (result.code, result.out, result.err) == (0, "out", "out\nrr")


def test_output_is_binary_safe(program: Program) -> None:
    every = bytes(range(256))
    file = program(*write(1, 256), data=every)
    done = subprocess.run([*RVSIM, "run", file], capture_output=True, check=True)
    assert done.stdout == every


def test_options_stand_before_or_after_the_file(rvsim: Cli, program: Program) -> None:
    file = program(step("csrrs", rd=A0, csr=0xC22, rs1=0), *syscall(93))
    for args in (("--vlen", "512", file), (file, "--vlen", "512"), (file, "--vlen=512")):
        assert rvsim("run", *args).code == 512 // 8


def test_guest_arguments_follow_two_dashes(rvsim: Cli, program: Program) -> None:
    file = program(step("ld", rd=A0, rs1=2, imm=0), *syscall(93))  # argc
    assert rvsim("run", file).code == 1
    assert rvsim("run", file, "--", "--vlen", "x", "--").code == 4


def test_argument_without_two_dashes_is_refused(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(), "x")
    assert result.code == 2
    assert result.err == (
        "rvsim: got unexpected extra argument (x):"
        " guest arguments follow --, as in: rvsim run FILE -- ARGS\n"
    )


def test_trap_has_its_four_parts_and_the_last_instructions(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(vset(E8_M1), OVERLAP))
    assert result.code == 128 + signal.SIGILL
    assert result.err == (
        "rvsim: illegal instruction at 0x10004: vrgather.vv v4, v4, v8\n"
        "  destination vd = v4 (EEW 8, EMUL m1) overlaps source vs2 = v4 (EEW 8, EMUL m1)"
        " (V 16.4)\n"
        "  vtype e8,m1,ta,ma  vl 31  vstart 0\n"
        "  try: rvsim explain 0x32440257 --vtype e8,m1,ta,ma\n"
        "  last instructions executed:\n"
        "    0x10000  vsetivli zero, 0x1f, e8, m1, ta, ma\n"
    )


@pytest.mark.parametrize(
    ("fault", "number"),
    [
        (step("lb", rd=A0, rs1=0, imm=0), signal.SIGSEGV),
        (step("ebreak"), signal.SIGTRAP),
        (step("jalr", rd=0, rs1=0, imm=0), signal.SIGSEGV),
    ],
)
def test_exit_code_names_the_signal(
    rvsim: Cli, program: Program, fault: object, number: int
) -> None:
    assert rvsim("run", program(fault)).code == 128 + number


def test_max_insns_is_exact(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(FOREVER), "--max-insns", "1000")
    assert result.code == 124
    first = result.err.splitlines()[0]
    assert first == "rvsim: limit --max-insns 1000 reached after 1000 instructions, at 0x10000"


def test_timeout(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", "--timeout", "0.05", program(FOREVER))
    assert result.code == 124
    first = result.err.splitlines()[0]
    assert first.startswith("rvsim: limit --timeout 0.05 reached after ")
    assert first.endswith(" instructions, at 0x10000")


def test_reserved_use_is_allowed_with_one_note_for_each_place(rvsim: Cli, program: Program) -> None:
    loop = step("bne", rs1=5, rs2=0, imm=-8)
    file = program(li(5, 3), vset(E8_M1), TWO_EEWS, step("addi", rd=5, rs1=5, imm=-1), loop)
    assert rvsim("run", file).code == 128 + signal.SIGILL
    result = rvsim("run", file, "--reserved", "allow")
    assert result.code == 0
    assert result.err.count("rvsim: note: 0x10008: sources ") == 1
    assert "(V 5.2)" in result.err


def test_unknown_system_call_is_noted(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(*syscall(999), *syscall(999)))
    assert result.err == "rvsim: note: unknown system call 999: ENOSYS\n"


def test_cycle_counter_is_noted_once(rvsim: Cli, program: Program) -> None:
    rdcycle = step("csrrs", rd=A0, csr=0xC00, rs1=0)
    rdtime = step("csrrs", rd=A1, csr=0xC01, rs1=0)
    result = rvsim("run", program(rdcycle, rdtime, rdcycle))
    assert result.err == (
        "rvsim: note: 0x10000: cycle and time count instructions:"
        " there is no cost model, cycle = instret\n"
        "rvsim: note: 0x10000: Linux hides cycle from user mode since 6.6,"
        " as --user-counters trap does: use rdtime or perf_event_open\n"
    )


def test_counters_are_hidden_on_demand_and_time_never(rvsim: Cli, program: Program) -> None:
    read = {n: step("csrrs", rd=A0, csr=n, rs1=0) for n in (0xC00, 0xC01, 0xC02)}
    for number, code in ((0xC00, 132), (0xC01, 0), (0xC02, 132)):
        assert rvsim("run", program(read[number]), "--user-counters", "trap").code == code
        assert rvsim("run", program(read[number])).code == 0
    err = rvsim("run", program(read[0xC02])).err
    assert "Linux hides instret from user mode since 6.6" in err
    assert rvsim("run", program(read[0xC01]), "--cycles").err.count("note") == 0


def test_strace(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", "--strace", program(*write(1, 2), data=b"hi"))
    assert result.out == "hi"
    assert result.err == f"write(1, {DATA:#x}, 2) = 2\nexit(0) = ?\n"


@pytest.mark.parametrize("name", ["memops", "memops.elf"])
def test_bundled_kernel_by_its_name(
    rvsim: Cli, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = rvsim("run", name)
    assert result.code == 0
    assert result.out.splitlines()[-1].startswith("PASS checksum ")
    assert (
        result.err == f"rvsim: note: there is no file {name}: building the bundled kernel memops\n"
    )


def test_misspelt_kernel(rvsim: Cli) -> None:
    result = rvsim("run", "memop.elf")
    assert result.code == 2
    assert result.err == "rvsim: there is no file memop.elf, nor a kernel: did you mean 'memops'?\n"


# -- statistics

VECTOR = (
    vset(E8_M2, avl=16),
    load_upper(A1, DATA),
    step("vle8.v", vm=1, rs1=A1, vd=8),
    step("vadd.vv", vm=1, vs2=8, vs1=8, vd=16),
    step("vs1r.v", rs1=A1, vs3=8),
    step("sd", rs1=A1, rs2=0, imm=0),
)


def test_stats(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", "--stats", program(*VECTOR))
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        "class         executed   share\n"
        "alu                  3  37.5 %\n"
        "vset                 1  12.5 %\n"
        "vload_unit           1  12.5 %\n"
        "valu                 1  12.5 %\n"
        "vstore_whole         1  12.5 %\n"
        "store                1  12.5 %\n"
        "all                  8\n"
        "\n"
        "vector instruction  executed    vl  vl/VLMAX\n"
        "vadd.vv                    1  16.0    25.0 %\n"
        "vle8.v                     1  16.0    25.0 %\n"
        "vs1r.v                     1     -         -\n"
        "vsetivli                   1     -         -\n"
        "\n"
        "memory bytes  read  written\n"
        "scalar           0        8\n"
        "vector          16       32\n"
    )


READS_COUNTER = (
    li(A0, 2000),
    step("csrrs", rd=A1, csr=0xC02, rs1=0),  # loop: instret is exact in the reference engine
    step("vadd.vv", vm=1, vs2=8, vs1=8, vd=16),
    step("addi", rd=A0, rs1=A0, imm=-1),
    step("bne", rs1=A0, rs2=0, imm=-12),
)


def test_stats_name_what_is_hot_but_not_compiled(rvsim: Cli, program: Program) -> None:
    file = program(vset(E8_M2, avl=16), *READS_COUNTER)
    numpy, jit = (rvsim("run", "--stats", file, "--engine", e).err for e in ("numpy", "jit"))
    assert jit == f"{numpy}\nhot but not compiled  executed\ncsrrs                    2,000\n"


def test_json(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    file = program(*VECTOR)
    assert rvsim("run", file, "--json", tmp_path / "out.json", "--", "a").err == ""
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["schema"], found["file"], found["args"]) == (1, file, ["a"])
    assert (found["reason"], found["exit_code"], found["trap"]) == ("exit", 0, None)
    assert found["config"]["vlen"] == 256
    assert found["counts"]["instret"] == sum(found["counts"]["classes"].values()) == 8
    assert found["counts"]["vector"]["vadd.vv"] == {
        "executions": 1,
        "average_vl": 16.0,
        "average_use": 0.25,
    }
    assert found["counts"]["memory_bytes"] == {
        "scalar_read": 0,
        "scalar_written": 8,
        "vector_read": 16,
        "vector_written": 32,
    }
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "prog.elf"]


@pytest.mark.parametrize(("options", "used"), [([], True), (["--no-host-float"], False)])
def test_no_host_float(rvsim: Cli, program: Program, options: list[str], used: bool) -> None:
    result = rvsim("run", program(*VECTOR), *options, "--json", "-")
    assert json.loads(result.out.splitlines()[-1])["config"]["host_float"] is used


def test_no_cache(
    rvsim: Cli, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop runs for long enough to be compiled: a quarter of a million instructions."""
    monkeypatch.setenv("RVSIM_JIT_CACHE_DIR", str(tmp_path / "jit"))
    file = program(
        step("lui", rd=8, uimm=32),
        step("addi", rd=8, rs1=8, imm=-1),
        step("bne", rs1=8, rs2=0, imm=-4),
    )
    assert rvsim("run", "--engine", "jit", "--no-cache", file).code == 0
    assert not (tmp_path / "jit").exists()
    assert rvsim("run", "--engine", "jit", file).code == 0
    assert any(path.is_file() for path in (tmp_path / "jit").rglob("*"))


def test_json_on_stdout_is_the_last_line(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", program(*write(1, 3), OVERLAP, data=b"hi\n"), "--json", "-")
    first, last = result.out.splitlines()
    trap = json.loads(last)["trap"]
    assert first == "hi"
    assert (trap["cause"], trap["pc"], trap["place"]) == (2, 0x10014, "0x10014")


def test_no_escape_sequences_in_a_pipe(program: Program) -> None:
    done = subprocess.run([*RVSIM, "run", "--stats", program(*VECTOR)], capture_output=True)
    assert b"\x1b" not in done.stderr


# -- traces


def test_trace(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert rvsim("run", program(), "--trace", f"spike:{log}").err == ""
    assert log.read_text() == (
        "core   0: 0 0x0000000000010000 (0x00000513) x10 0x0000000000000000\n"
        "core   0: 0 0x0000000000010004 (0x05d00893) x17 0x000000000000005d\n"
    )


def test_the_jit_traces_as_the_reference_engine_does(
    rvsim: Cli, program: Program, tmp_path: Path
) -> None:
    file = program(*READS_COUNTER[:-1], *VECTOR)
    outputs = []
    for engine in ("numpy", "jit"):
        log = tmp_path / engine
        result = rvsim("run", file, "--engine", engine, "--stats", "--trace", f"spike:{log}")
        outputs.append((result, log.read_text()))
    assert outputs[0] == outputs[1]


def test_trace_and_stats_together(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = rvsim("run", program(*VECTOR), "--stats", "--trace", f"spike:{log}")
    assert "vector          16       32\n" in result.err
    assert log.read_text().count(" mem ") == 16 + 32 + 1


# -- the process


def test_interrupt(tmp_path: Path) -> None:
    file = tmp_path / "loop.elf"
    file.write_bytes(elf([*write(1, 1), step("jal", rd=0, imm=0)], b"x"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    try:
        run = subprocess.Popen(
            [*RVSIM, "run", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with run:
        assert run.stdout is not None
        run.stdout.read(1)  # the program runs
        time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, rest = run.communicate()
        error = rest.decode()
    assert run.returncode == 130
    assert re.fullmatch(r"rvsim: interrupted after \d+ instructions, near 0x1001[48]\n", error)


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "yes.elf"
    file.write_bytes(elf([*write(1, 64), step("jal", rd=0, imm=-20)], b"y\n" * 32))
    with subprocess.Popen(
        [*RVSIM, "run", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.read(2)
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("options", [["--stats"], ["--max-insns", "1"], ["--no-such-option"]])
def test_where_stderr_is_full_the_exit_code_tells(program: Program, options: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*RVSIM, "run", program(*write(1, 2)), *options], stdout=subprocess.PIPE, stderr=full
        )
    assert done.returncode == 2


def test_full_disk_is_an_error(program: Program) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*RVSIM, "run", program(*write(1, 2))], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert done.stderr == b"rvsim: cannot write the guest's output: No space left on device\n"


def test_fault_of_rvsim_itself(
    rvsim: Cli, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **options: object) -> None:
        raise ValueError("no such\nthing")

    monkeypatch.setattr(Machine, "run", broken)
    result = rvsim("run", program())
    assert result.code == 125
    assert result.err == (
        "rvsim: internal error: ValueError: no such thing (RVSIM_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("RVSIM_DEBUG", "1")
    assert "Traceback" in rvsim("run", program()).err
