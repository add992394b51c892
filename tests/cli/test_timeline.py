"""``rvsim timeline``: the golden picture, colours, and what can't be shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.programs import li, vset
from tests.program.bare import step
from tools.golden_traces import TRACES

SAXPY = TRACES / "saxpy.elf"


def test_the_program_is_run_to_its_end_if_it_is_short(rvsim: Cli) -> None:
    result = rvsim("timeline", SAXPY, "--roi", "saxpy", "--iterations", 1, "--width", 100)
    assert (result.code, result.err) == (0, "")
    first, *rest = result.out.splitlines()
    assert first.startswith("loop at 0x10011c8 in saxpy+0x6: iteration 2 of 2 in a row, 9 instr")
    assert max(map(len, rest)) <= 100


def test_the_window_traces_what_is_shown(rvsim: Cli, tmp_path: Path) -> None:
    out = rvsim("timeline", SAXPY, "--roi", "saxpy", "--iterations", 1).out
    window = out.splitlines()[-1].rpartition(" ")[2]
    log = tmp_path / "saxpy.log"
    assert rvsim("run", SAXPY, "--trace", f"spike:{log}", "--trace-window", window).code == 0
    pcs = [int(line.split()[1], 16) for line in rows(out)]
    assert pcs == [int(line.split()[3], 16) for line in log.read_text().splitlines()]


def rows(out: str) -> list[str]:
    """The rows of a picture that has one page."""
    return out.split("\n\n")[1].splitlines()[1:]


def test_a_long_program_is_stopped(rvsim: Cli) -> None:
    result = rvsim("timeline", "gemm_tile_s8")
    assert result.code == 0
    assert "2 of " not in result.out.splitlines()[0]
    assert "issues" in result.out


def test_limits_hold(rvsim: Cli) -> None:
    result = rvsim("timeline", SAXPY, "--max-insns", 40)
    assert result.code == 124
    assert result.err.startswith("rvsim: limit --max-insns 40 reached after 40 instructions")
    assert result.out.startswith("loop at ")


def test_a_region_that_is_not_reached(rvsim: Cli) -> None:
    result = rvsim("timeline", SAXPY, "--roi", "saxpy", "--max-insns", 3)
    assert result.code == 1
    message = "rvsim: nothing to show: no instruction of saxpy executed"
    assert result.err.splitlines()[-1] == message
    assert result.out == ""


def test_a_name_that_there_is_not(rvsim: Cli) -> None:
    result = rvsim("timeline", SAXPY, "--roi", "saxpi")
    assert (result.code, result.out) == (2, "")
    assert "did you mean 'saxpy'?" in result.err


def test_iterations_of_different_lengths(rvsim: Cli, program: Callable[..., str]) -> None:
    """Each second one has an instruction more."""
    body = [
        step("addi", rd=5, rs1=5, imm=1),
        step("andi", rd=6, rs1=5, imm=1),
        step("beq", rs1=6, rs2=0, imm=8),
        step("addi", rd=7, rs1=7, imm=1),
        step("jal", rd=0, imm=-16),
    ]
    result = rvsim("timeline", program(*body), "--max-insns", "99", "--iterations", 2)
    assert " in a row, 4 to 5 instructions and " in result.out
    result = rvsim("timeline", program(step("jal", rd=0, imm=0)), "--max-insns", "9")
    assert " in a row, 1 instruction and " in result.out


def test_characters_that_the_terminal_has_not(program: Callable[..., str]) -> None:
    file = program(li(10, 9), vset(0b11_010_111, 8), step("jal", rd=0, imm=-4))
    command = [sys.executable, "-m", "rvsim", "timeline", file, "--max-insns", "99"]
    env = os.environ | {"PYTHONIOENCODING": "latin1"}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.returncode == 124
    assert b"vsetivli zero, 0x8, e32, mf2, ta,? I" in done.stdout


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_on_a_terminal_only(no_color: str, coloured: bool) -> None:
    ours, theirs = os.openpty()
    env = os.environ | {"NO_COLOR": no_color, "LINES": "500", "COLUMNS": "120", "TERM": "xterm"}
    command = [sys.executable, "-m", "rvsim", "timeline", SAXPY, "--roi", "saxpy"]
    process = subprocess.Popen(command, stdout=theirs, env=env)
    os.close(theirs)
    output = b""
    while chunk := _read(ours):
        output += chunk
    os.close(ours)
    assert process.wait() == 0
    assert (b"\x1b[" in output) is coloured


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # what Linux says at the end
        return b""
