"""Programs with a whole C library print under rvsim what they print under QEMU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.machine import Machine
from tests.program.libc_programs import (
    COMPILERS,
    DYNAMIC,
    SYSROOT,
    build,
    run_here,
    run_under_qemu,
)
from tests.qemu import require_qemu

pytestmark = pytest.mark.qemu

KINDS = list(COMPILERS)
STATIC = [kind for kind in KINDS if kind not in DYNAMIC]


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_environment_and_text(kind: str) -> None:
    program = build("stdio", kind)
    args = ["plain", "with blank", "größer", ""]
    options = {"env": ["A=b c", "LANG=C"], "stdin": b"first\nsecond, without end"}
    expected = run_under_qemu(require_qemu(), program, *args, **options)
    ended, _ = run_here(program, kind, *args, **options)
    assert ended == expected
    assert (ended.code, ended.err) == (7, "to stderr\n")


@pytest.mark.parametrize("kind", KINDS)
def test_floating_point_text_and_functions(kind: str) -> None:
    program = build("floats", kind)
    assert run_here(program, kind)[0] == run_under_qemu(require_qemu(), program)


@pytest.mark.parametrize("kind", KINDS)
def test_allocation(kind: str) -> None:
    program = build("memory", kind)
    ended, _ = run_here(program, kind)
    assert ended == run_under_qemu(require_qemu(), program)
    assert ended.out.startswith("wrong 0,")


def filled(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "given").write_text("first line\nsecond line\n")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_files_in_a_granted_folder(kind: str, tmp_path: Path) -> None:
    program = build("files", kind)
    theirs, ours = filled(tmp_path / "qemu"), filled(tmp_path / "rvsim")
    expected = run_under_qemu(require_qemu(), program, str(theirs))
    notes: list[str] = []
    dirs = [Grant(str(ours), "/work", writable=True)]
    ended, _ = run_here(program, kind, "/work", dirs=dirs, notes=notes)
    assert ended == expected
    assert content(ours) == content(theirs)
    assert content(ours)["kept"] == b"this stays\n"
    assert notes == []


def test_a_folder_that_is_not_granted_is_refused(tmp_path: Path) -> None:
    ended, _ = run_here(build("files", "musl-static"), "musl-static", str(tmp_path))
    assert (ended.code, ended.out) == (1, "no folder: No such file or directory\n")


@pytest.mark.parametrize(
    ("end", "code"), [("", 0), ("abort", 134), ("assert", 134), ("segv", 139), ("term", 143)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_signals_to_oneself(kind: str, end: str, code: int) -> None:
    program = build("signals", kind)
    expected = run_under_qemu(require_qemu(), program, end)
    ended, _ = run_here(program, kind, end)
    assert (ended.code, ended.out) == (expected.code, expected.out)
    assert ended.code == code


@pytest.mark.parametrize("kind", ["musl-static", "glibc-pie"])
def test_pipes_polls_timers_and_other_events(kind: str) -> None:
    program = build("events", kind)
    notes: list[str] = []
    ended, _ = run_here(program, kind, notes=notes)
    assert ended == run_under_qemu(require_qemu(), program)
    assert notes == []


@pytest.mark.parametrize("cost", [None, pytest.param("x60", marks=pytest.mark.slow)])
def test_timers_interrupt_at_the_same_instruction_in_both_engines_and_in_parts(
    cost: str | None,
) -> None:
    program = build("events", "musl-static")
    ends = []
    for engine, part in (("jit", None), ("jit", 777_777), ("numpy", None)):
        machine = Machine(engine=engine, cost=cost)
        machine.load(program)
        result = machine.run(max_insns=part)
        while result.reason == "max_insns":
            result = machine.run(max_insns=part)
        ends.append((result.exit_code, result.stdout, result.instret, result.cycle))
    assert len(set(ends)) == 1
    assert ends[0][0] == 0


@pytest.mark.parametrize("kind", ["musl-static", "glibc-static", "glibc-pie"])
def test_the_same_run_twice_is_the_same(kind: str) -> None:
    program = build("clocks", kind)
    first, result = run_here(program, kind)
    second, again = run_here(program, kind)
    assert first == second
    assert result.instret == again.instret
    assert result.machine.state.snapshot() == again.machine.state.snapshot()
    assert first.code == 0, first.out


# Dynamic programs


def test_a_dynamic_program_needs_a_sysroot() -> None:
    program = build("stdio", "glibc-pie")
    done = rvsim("run", str(program))
    assert done.returncode == 2
    assert f"{program} needs the dynamic loader /lib/ld-linux-riscv64-lp64d.so.1" in done.stderr
    assert "-L SYSROOT" in done.stderr


def test_a_sysroot_without_the_loader_is_named(tmp_path: Path) -> None:
    program = build("stdio", "glibc-pie")
    done = rvsim("run", "-L", str(tmp_path), str(program))
    assert done.returncode == 2
    assert f"which is not below {tmp_path}" in done.stderr
    assert "-L SYSROOT names the folder that has it" in done.stderr


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    program = build("stdio", "glibc-pie")
    (tmp_path / "lib").mkdir()
    loader = "lib/ld-linux-riscv64-lp64d.so.1"
    shutil.copy(SYSROOT / loader, tmp_path / loader)
    done = rvsim("run", "-L", str(tmp_path), str(program))
    assert done.returncode == 127
    assert "did not find libc.so.6 in" in done.stderr or "did not find libm.so.6" in done.stderr
    assert f"below {tmp_path}: -L SYSROOT" in done.stderr


def test_options_reach_the_program() -> None:
    program = build("stdio", "glibc-pie")
    done = rvsim("run", "-L", str(SYSROOT), "-E", "A=set", str(program), "--", "x", input="in\n")
    assert done.returncode == 7
    assert 'argv[1] = "x"\nA=set missing=not set\n' in done.stdout
    assert "line of 3: in\n" in done.stdout


def test_a_folder_to_read_is_not_written(tmp_path: Path) -> None:
    folder = filled(tmp_path / "data")
    program = build("files", "musl-static")
    done = rvsim("run", "--strace", "--dir", f"{folder}:/d", str(program), "--", "/d")
    assert 'openat(-100, "numbers", 0x8242, 0x1b6) = -EROFS' in done.stderr
    assert content(folder) == content(filled(tmp_path / "same"))


def rvsim(*args: str, input: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rvsim", *args],
        input=input,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_program_that_waits_for_ever_is_a_trap() -> None:
    machine = Machine()
    machine.load(build("clocks", "musl-static"), argv=["clocks", "wait"])
    result = machine.run(max_insns=10_000_000)
    assert (result.reason, result.exit_code) == ("trap", 137)
    assert result.trap is not None
    assert "has no second thread to wake the only one" in result.trap.why


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_the_kernel_makes(kind: str) -> None:
    program = build("kernel_files", kind)
    arguments = ("one", "last argument")
    expected = run_under_qemu(require_qemu(), program, *arguments)
    ended, _ = run_here(program, kind, *arguments)
    assert expected.code == 0
    assert mapped(ended.out) == mapped(expected.out)


def mapped(out: str) -> list[str]:
    """The lines, those of mappings by name: where they are differs.

    QEMU does not name the heap of each kind of program.
    """
    return sorted(line for line in out.splitlines() if not line.endswith("[heap]"))


@pytest.mark.parametrize("cost", [None, "x60"])
def test_a_program_counts_itself(cost: str | None) -> None:
    """4,000 instructions in 1,000 turns of two multiplications, the second waits for the first."""
    notes: list[str] = []
    machine = Machine(cost=cost, note=notes.append)
    machine.load(build("perf", "glibc-static"))
    result = machine.run(max_insns=10_000_000)
    lines = [[int(word) for word in line.split()] for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [line[0] for line in lines] == [0, 0]
    said = "perf_event_open: there is no cost model, cycles count instructions"
    assert notes.count(said) == (cost is None)
    (_, cycles, user_cycles), (_, instructions, user_instructions) = lines
    assert 4000 < user_instructions < instructions < 4300
    if cost is None:
        assert (cycles, user_cycles) == (instructions, pytest.approx(user_instructions, abs=20))
    else:
        assert 6000 < user_cycles < cycles
