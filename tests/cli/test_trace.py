"""``rvsim run --trace``: several files, parts of the run, and what goes wrong."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.cli.programs import A0, A1, li, write
from tests.program.bare import DATA, TEXT, load_upper, step
from tests.trace.kanata_reader import read_kanata

Program = Callable[..., str]

LOOP = [
    load_upper(A1, DATA),
    li(A0, 50),
    step("lb", rd=5, rs1=A1, imm=0),
    step("addi", rd=A0, rs1=A0, imm=-1),
    step("bne", rs1=A0, rs2=0, imm=-8),
]
HEAD = TEXT + 8


def test_several_traces_of_one_run(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    options = [f"--trace={kind}:{tmp_path / kind}" for kind in ("npy", "kanata", "spike")]
    assert rvsim("run", program(*LOOP), "--cycles", "--json", tmp_path / "json", *options).code == 0
    rows = np.load(tmp_path / "npy")
    assert len(rows) == (tmp_path / "kanata").read_text().count("\nI\t") == 2 + 50 * 3 + 3
    assert len((tmp_path / "spike").read_text().splitlines()) == len(rows) - 1
    counted = json.loads((tmp_path / "json").read_text())["cycles"]["cycles"]
    assert sum(rows[name].sum() for name in ("fetch", "slot", "wait", "lost")) == counted


def test_only_a_region(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    region = ("--roi", f"{HEAD:#x}-{HEAD + 4:#x}")
    traces = (f"--trace=npy:{tmp_path / 'rows'}", f"--trace=spike:{tmp_path / 'log'}")
    assert rvsim("run", program(*LOOP), *region, *traces).code == 0
    assert set(np.load(tmp_path / "rows")["pc"]) == {HEAD}
    assert len((tmp_path / "log").read_text().splitlines()) == 50


@pytest.mark.parametrize(
    ("window", "numbers"), [("5:8", [5, 6, 7]), (":2", [0, 1]), ("152:", [152, 153, 154])]
)
def test_only_a_window(
    rvsim: Cli, program: Program, tmp_path: Path, window: str, numbers: list[int]
) -> None:
    option = f"--trace=npy:{tmp_path / 'rows'}"
    assert rvsim("run", program(*LOOP), "--trace-window", window, option).code == 0
    assert np.load(tmp_path / "rows")["instret"].tolist() == numbers


def test_an_empty_region_says_so(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    option = f"--trace=npy:{tmp_path / 'rows'}"
    result = rvsim("run", program(*LOOP), "--roi", "0x10-0x20", option)
    message = "rvsim: nothing to trace: no instruction of 0x10-0x20 executed\n"
    assert (result.code, result.err) == (1, message)
    assert len(np.load(tmp_path / "rows")) == 0


def test_the_result_is_shown_though_the_disk_is_full(
    rvsim: Cli, program: Program, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    file = program(*LOOP, *write(1, 3), data=b"hi\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        result = rvsim("run", file, "--max-insns", "158", "--trace", f"spike:{log}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    limit, full = result.err.splitlines()
    assert (result.code, result.out) == (2, "hi\n")
    assert limit.startswith("rvsim: limit --max-insns 158 reached")
    assert full == f"rvsim: cannot write {log}: File too large"
    assert log.read_text() == ""


@pytest.mark.parametrize("engine", ["numpy", "jit"])
@pytest.mark.parametrize(
    ("number", "what"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "stopped by SIGTERM")]
)
def test_signals_come_between_instructions(
    program: Program, tmp_path: Path, number: signal.Signals, what: str, engine: str
) -> None:
    kanata, npy = tmp_path / "kanata", tmp_path / "npy"
    body = [step("addi", rd=5, rs1=5, imm=1)] * 40
    command = [sys.executable, "-m", "rvsim", "run", "--engine", engine]
    command += [program(*body, step("jal", rd=0, imm=-160))]
    command += [f"--trace=kanata:{kanata}", f"--trace=npy:{npy}"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    while not (npy.exists() and npy.stat().st_size > 1_000_000):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number
    assert err.startswith(f"rvsim: {what} after ")
    executed = int(err.partition("after ")[2].split()[0])
    assert len(read_kanata(kanata.read_text())) == len(np.load(npy)) == executed


def test_rows_can_be_read_though_the_run_was_killed(program: Program, tmp_path: Path) -> None:
    npy = tmp_path / "npy"
    command = [sys.executable, "-m", "rvsim", "run", program(step("jal", rd=0, imm=0))]
    with subprocess.Popen([*command, f"--trace=npy:{npy}"]) as process:
        while not (npy.exists() and npy.stat().st_size > 3_000_000):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    rows = np.load(npy)
    assert len(rows) >= 8192
    assert rows["instret"].tolist() == list(range(len(rows)))


def test_a_program_that_traps_at_once_has_an_empty_log(
    rvsim: Cli, program: Program, tmp_path: Path
) -> None:
    """Nothing was left out, so that is no error."""
    result = rvsim("run", program(step("ebreak")), f"--trace=spike:{tmp_path / 'log'}")
    assert result.code == 128 + 5
    assert "nothing" not in result.err
    assert (tmp_path / "log").read_bytes() == b""


def test_no_file_is_written_twice_or_over_the_program(
    rvsim: Cli, program: Program, tmp_path: Path
) -> None:
    file, other, link = program(*LOOP), tmp_path / "other", tmp_path / "link"
    content = Path(file).read_bytes()
    link.symlink_to(file)
    twice = rvsim("run", file, f"--trace=npy:{other}", f"--trace=kanata:{tmp_path}/./other")
    assert (twice.code, twice.err) == (
        2,
        f"rvsim: cannot write {tmp_path}/./other: it is written already by another option:"
        " name another file\n",
    )
    assert rvsim("run", file, f"--trace=npy:{other}", "--json", other).code == 2
    over = rvsim("run", file, f"--trace=npy:{link}")
    assert (over.code, over.err) == (
        2,
        f"rvsim: cannot write {link}: it is the program: name another file\n",
    )
    assert Path(file).read_bytes() == content
    assert not other.exists()
    null = [f"--trace={kind}:/dev/null" for kind in ("kanata", "spike")]
    assert rvsim("run", file, *null, "--json", "/dev/null").code == 0


def test_both_engines_write_the_same(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    contents = []
    for engine in ("numpy", "jit"):
        log = tmp_path / engine
        assert rvsim("run", program(*LOOP), "--engine", engine, f"--trace=chrome:{log}").code == 0
        contents.append(log.read_bytes())
    assert contents[0] == contents[1]
