"""Commands that count cycles, on a program with functions, labels and source lines."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from rvsim.machine import Machine
from rvsim.perf import profile
from rvsim.toolchain import build, build_kernel
from tests.cli.conftest import Cli

SOURCE = """\
.globl main, kernel
.type main, @function
main:
    addi sp, sp, -16
    sd ra, 8(sp)
    call kernel
    ld ra, 8(sp)
    addi sp, sp, 16
    li a0, 0
    ret
.size main, . - main
.type kernel, @function
kernel:
    li a0, 500
again:
    mul a1, a1, a0        # the product
    addi a0, a0, -1
    bnez a0, again
    tail leaf
.size kernel, . - kernel
.type leaf, @function
leaf:
    ret
.size leaf, . - leaf
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("symbols")
    source = folder / "loop.S"
    source.write_text(SOURCE)
    return str(build([source], folder / "loop.elf"))


def test_region_of_a_function_does_not_count_what_it_calls(rvsim: Cli, file: str) -> None:
    def instructions(name: str) -> int:
        text = rvsim("run", "--cycles", file, "--roi", name, "--json", "-").out
        return int(json.loads(text)["cycles"]["instructions"])

    assert instructions("kernel") == 1 + 3 * 500 + 2
    assert instructions("leaf") == 1
    assert instructions("main") == 8


def test_hottest_function_comes_first(rvsim: Cli, file: str) -> None:
    text = rvsim("profile", file, "--limit", "1").out
    functions, _, lines = text.partition("\n\n")
    assert functions.splitlines()[1].endswith(" kernel")
    assert "more functions with" in functions
    assert lines.splitlines()[1].endswith(" loop.S:16")


def test_hottest_function_is_annotated(rvsim: Cli, file: str) -> None:
    result = rvsim("annotate", file)
    assert result.code == 0
    assert result.out.startswith("kernel: ")
    assert result.out == rvsim("annotate", file, "kernel").out


def test_source_lines_stand_before_their_instructions(rvsim: Cli, file: str) -> None:
    lines = rvsim("annotate", file).out.splitlines()
    at = next(i for i, line in enumerate(lines) if "loop.S:16" in line)
    assert lines[at].endswith("loop.S:16      mul a1, a1, a0        # the product")
    assert lines[at + 1].endswith("  mul a1, a1, a0")


def test_source_that_is_gone_leaves_its_name(rvsim: Cli, file: str, tmp_path: Path) -> None:
    source = tmp_path / "gone.S"
    source.write_text(SOURCE)
    moved = str(build([source], tmp_path / "gone.elf"))
    source.unlink()
    lines = rvsim("annotate", moved).out.splitlines()
    assert any(line.strip() == "gone.S:16" for line in lines)


def test_a_jump_to_another_function_is_no_loop(rvsim: Cli, file: str) -> None:
    found = json.loads(rvsim("annotate", file, "kernel", "--json", "-").out)
    (loop,) = found["loops"]
    assert loop["iterations"] == 500
    lines = [site["line"] for site in found["instructions_by_address"]]
    assert lines[:4] == [14, 16, 17, 18]


@pytest.mark.parametrize(
    "arguments", [("run", "--cycles", "--roi"), ("profile", "--roi"), ("compare", "--roi")]
)
def test_misspelt_symbol(rvsim: Cli, file: str, arguments: tuple[str, ...]) -> None:
    result = rvsim(*arguments, "kernl", file)
    assert (result.code, result.out) == (2, "")
    assert result.err == "rvsim: there is no symbol 'kernl': did you mean 'kernel'?\n"


def test_misspelt_function(rvsim: Cli, file: str) -> None:
    result = rvsim("annotate", file, "kernl")
    assert (result.code, result.out) == (2, "")
    assert result.err == "rvsim: there is no symbol 'kernl': did you mean 'kernel'?\n"


def on_a_terminal(arguments: list[str], columns: int, **environment: str) -> str:
    """What the command shows on a terminal of that width."""
    main, terminal = pty.openpty()
    environment = {"COLUMNS": str(columns), "TERM": "xterm-256color", **environment}
    subprocess.run(
        [sys.executable, "-m", "rvsim", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, **environment},
        check=True,
    )
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(main, 1 << 16):
            shown += piece
    except OSError:  # Linux: nobody holds the other side open any more
        pass
    os.close(main)
    return shown.decode()


@pytest.mark.parametrize("command", [("run", "--cycles"), ("profile",), ("compare",)])
def test_narrow_terminal(file: str, command: tuple[str, ...]) -> None:
    """Tables keep to its width; no escape sequence under NO_COLOR."""
    shown = on_a_terminal([*command, file], 44, NO_COLOR="1")
    lines = shown.replace("\r", "").splitlines()
    assert "\x1b" not in shown
    assert any("cycles" in line for line in lines)
    assert max(map(len, lines)) <= 44


def test_hot_instructions_are_bold_where_a_terminal_has_it(file: str) -> None:
    assert "\x1b[1m" in on_a_terminal(["annotate", file], 120, NO_COLOR="")
    assert "\x1b" not in on_a_terminal(["annotate", file], 120, NO_COLOR="1")


@pytest.mark.parametrize("kernel", ["gemm_tile_ime", "softmax_f16"])
def test_engines_have_the_same_profile(kernel: str) -> None:
    found = []
    for engine in ("jit", "numpy"):
        machine = Machine(cost="x60", statistics=True, engine=engine)
        machine.load(build_kernel(kernel))
        machine.run(max_insns=60_000)
        sites = profile(machine).sites
        found.append([(s.pc, s.executions, s.vl_sum, s.vlmax_sum, s.stalls) for s in sites])
    assert found[0] == found[1]
