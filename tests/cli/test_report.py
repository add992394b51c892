"""``rvsim report``: the page stands for itself, and has the numbers of ``run --cycles``."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.page_reader import Page
from tests.cli.programs import A0, A1, A2, E8_M1, exit_with, li, syscall, vset, write
from tests.program.bare import DATA, Step, load_upper, step
from tools.golden_traces import TRACES

Program = Callable[..., str]
SAXPY = TRACES / "saxpy.elf"
RVSIM = (sys.executable, "-m", "rvsim")
V8 = 8
VMADOT = step("smt.vmadot", vd=V8, vs1=1, vs2=2)
TILE: Sequence[Step] = (
    li(A0, 32),
    step("vsetvli", rd=0, rs1=A0, vtypei=E8_M1),
    load_upper(A1, DATA),
    step("vle8.v", vd=1, rs1=A1, vm=1),
    VMADOT,
    VMADOT,
)


FLAT = str(Path(__file__).with_name("flat_core.toml"))
PRODUCTS: Sequence[Step] = (
    li(A0, 10),
    step("mul", rd=A1, rs1=A1, rs2=A1),
    step("addi", rd=A0, rs1=A0, imm=-1),
    step("bne", rs1=A0, rs2=0, imm=-8),
)
"""Ten rounds of 5 cycles, which a product waits for the one before it."""
COUNT_DOWN: Sequence[Step] = (
    step("beq", rs1=A0, rs2=0, imm=12),
    step("addi", rd=A0, rs1=A0, imm=-1),
    step("bne", rs1=A0, rs2=0, imm=-4),
)


def page_of(rvsim: Cli, tmp_path: Path, *args: str | Path) -> Page:
    path = tmp_path / "report.html"
    result = rvsim("report", *args, "-o", path)
    assert (result.code, result.err) == (0, "")
    return Page(path.read_text("utf-8"))


def run_cycles(rvsim: Cli, *args: str | Path) -> dict[str, Any]:
    found = json.loads(rvsim("run", "--cycles", *args, "--json", "-").out.splitlines()[-1])
    cycles = found["cycles"]
    assert isinstance(cycles, dict)
    return cycles


def shown(cycles: float) -> str:
    return f"{cycles:,.0f}" if cycles == int(cycles) else f"{cycles:,.1f}"


@pytest.mark.parametrize("region", [(), ("--roi", "saxpy")])
def test_totals_are_those_of_run_cycles(
    rvsim: Cli, tmp_path: Path, region: tuple[str, ...]
) -> None:
    page = page_of(rvsim, tmp_path, SAXPY, *region)
    found = run_cycles(rvsim, SAXPY, *region)
    assert page.row("cycles") == [shown(found["cycles"])]
    assert page.row("instructions") == [f"{found['instructions']:,}"]
    assert page.row("multiply-adds") == [f"{found['macs']['count']:,}"]
    for reason, cycles in (found["stalls"] | found["groups"]).items():
        assert page.row(reason)[0] == shown(cycles)
    totals = [row[1] for table in page.tables for row in table if row[0] == "all"]
    assert totals == [shown(found["cycles"])] * 2  # of reasons, and of functions


def test_page_stands_for_itself(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY)
    assert (page.loads, page.unclosed) == ([], [])
    assert {tag for tag, _ in page.tags} & {"link", "iframe", "img", "object"} == set()
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "url(" not in text
    assert "@import" not in text
    assert len(text) < 6 << 20
    metas = [attrs for tag, attrs in page.tags if tag == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert "prefers-color-scheme: dark" in text
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    )


def test_every_picture_says_what_it_is(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY)
    pictures = [attrs for _, attrs in page.tags if attrs.get("role") in ("img", "group")]
    assert [p["class"] for p in pictures] == ["bar", "roofline", "view"]
    assert all(p["aria-label"] for p in pictures)


def test_pieces_of_a_bar_fill_it(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY, "--timeline", "0")
    end = 0.0
    for tag, attrs in page.tags:
        if tag == "rect":
            assert float((attrs["x"] or "").rstrip("%")) == pytest.approx(end, abs=0.002)
            end += float((attrs["width"] or "").rstrip("%"))
    assert end == pytest.approx(100, abs=0.02)


def test_hot_loops_have_their_instructions(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY, "--roi", "saxpy")
    instructions = run_annotate(rvsim)
    (code,) = [table for table in page.tables if table[0][0] == "instruction"]
    rows = {row[0].split()[0]: row for row in code[1:] if len(row) == 5}
    assert rows
    for address, (text, an_iteration, waits, cycles, executed) in rows.items():
        site = instructions[int(address, 16)]
        assert text == f"{address} {site['text']}"
        assert (cycles, executed) == (shown(site["cycles"]), f"{site['executions']:,}")
        reasons = {word for word in waits.replace(",", "").split() if not word[0].isdigit()}
        assert reasons == set(site["stalls"]) - {"issue"}
        assert float(an_iteration) <= site["cycles"]


def run_annotate(rvsim: Cli) -> dict[int, dict[str, Any]]:
    found = json.loads(rvsim("annotate", SAXPY, "saxpy", "--json", "-").out)
    return {site["pc"]: site for site in found["instructions_by_address"]}


def test_roofline_by_hand(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    """Two products of 4x8 by 8x4 are 256 multiply-adds, of the 32 bytes that were loaded."""
    page = page_of(rvsim, tmp_path, program(*TILE))
    macs, moved, intensity, _, *allowed = page.row("prog")
    assert (macs, moved, intensity) == ("256", "32", "8")
    # 16 bytes a cycle from L1, of a line of 64 one in 12.7 cycles from L2 and one in 15 from DRAM
    assert [float(a) for a in allowed] == pytest.approx([128, 8 * 64 / 12.7, 8 * 64 / 15], 1e-3)
    assert page.row("IME")[0] == "128"
    assert page.row("L1")[0] == "16"
    assert len([tag for tag, _ in page.tags if tag == "circle"]) == 1


def test_roofs_follow_the_numbers_of_the_core(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    page = page_of(rvsim, tmp_path, program(*TILE), "--core-set", "dram.read=64")
    assert page.row("DRAM")[0] == "1"


def test_no_point_without_multiply_adds(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    page = page_of(rvsim, tmp_path, program(li(A0, 1)))
    assert [tag for tag, _ in page.tags if tag == "circle"] == []
    assert page.row("prog") == ["0", "0", "-", "-", "-", "-", "-"]


def test_several_programs_stand_side_by_side(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    twice = program(*TILE, VMADOT, VMADOT, name="twice.elf")
    files = (program(*TILE), twice)
    page = page_of(rvsim, tmp_path, *files)
    cycles = [run_cycles(rvsim, file)["cycles"] for file in files]
    assert page.row("cycles") == [shown(n) for n in cycles]
    assert page.row("all")[::2] == [shown(n) for n in cycles]
    assert page.row("times the best") == ["1.00", f"{cycles[1] / cycles[0]:.2f}"]
    assert page.row("2  twice")[0] == "512"
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "<li>prog wins</li>" in text


def test_pipeline_is_that_of_timeline(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY, "--roi", "saxpy", "--timeline", "1")
    text = rvsim("timeline", SAXPY, "--roi", "saxpy", "--iterations", 1, "--width", 400).out
    cells = "".join(line[47:] for line in text.splitlines()[3:] if line.startswith(" 0 "))
    (cycles,) = [attrs["data-cycles"] for _, attrs in page.tags if "data-cycles" in attrs]
    drawn: Counter[str] = Counter()
    for tag, attrs in page.tags:
        colour = attrs.get("class") or ""
        if tag == "rect" and attrs["height"] == "100%":
            drawn[colour] += round(
                float((attrs["width"] or "").rstrip("%")) * int(cycles or 0) / 100
            )
    waits = drawn.total() - drawn["f-0"] - drawn["f-execute"] - drawn["f-queued"]
    assert waits == sum(cell not in "I=- " for cell in cells)
    assert (drawn["f-execute"], drawn["f-queued"]) == (cells.count("="), cells.count("-"))
    assert drawn["f-0"] == cells.count("I") == 9
    assert page.row("I") == ["issues", ""]


def test_numbers_of_the_pipeline_add_up(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    """A product of 5 cycles that waits for the one before, and what goes with it: by hand."""
    page = page_of(rvsim, tmp_path, program(*PRODUCTS), "--core-set", FLAT)
    assert page.row("0 10004 mul a1, a1, a1") == ["4", "4", "9", "raw:mul 4"]
    assert page.row("0 10008 addi a0, a0, -0x1") == ["4", "4", "5", ""]
    assert page.row("0 1000c bne a0, zero, 0x10004") == ["5", "5", "6", ""]
    assert page.row("1 10004 mul a1, a1, a1") == ["9", "9", "14", "raw:mul 4"]
    assert page.row("r") == ["waits for a result", "raw:mul 8"]


def test_loops_of_one_function_stand_side_by_side(
    rvsim: Cli, tmp_path: Path, program: Program
) -> None:
    """The second program has no loop: its place is empty."""
    page = page_of(rvsim, tmp_path, program(*PRODUCTS), program(*TILE, name="tile.elf"))
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "tile: not among its hot loops." in text
    assert [attrs for _, attrs in page.tags if attrs.get("class") == "program"] != []


@pytest.mark.parametrize(
    ("steps", "options", "why"),
    [
        (TILE, ["--timeline", "2"], "no innermost loop was executed"),
        (PRODUCTS, ["--timeline", "0"], "--timeline 2 draws two iterations"),
    ],
)
def test_no_pipeline(
    rvsim: Cli,
    tmp_path: Path,
    program: Program,
    steps: Sequence[Step],
    options: list[str],
    why: str,
) -> None:
    page = page_of(rvsim, tmp_path, program(*steps), *options)
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 2
    assert "script" not in {tag for tag, _ in page.tags}
    assert why in (tmp_path / "report.html").read_text("utf-8")


def test_input_that_is_there_once(
    rvsim: Cli, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program counts down from the byte that it reads; the second run reads nothing."""
    steps = (
        li(A0, 0),
        load_upper(A1, DATA),
        li(A2, 1),
        *syscall(63),
        step("lbu", rd=A0, rs1=A1, imm=0),
        *COUNT_DOWN,
    )
    stdin = SimpleNamespace(buffer=io.BytesIO(b"\x09"))
    monkeypatch.setattr("sys.stdin", stdin)
    path = tmp_path / "report.html"
    result = rvsim("report", program(*steps), "-o", path)
    assert result.code == 0
    assert (
        result.err == "rvsim: note: prog did not come to its hottest loop again: no picture of it\n"
    )
    assert "pipeline" in path.read_text("utf-8")


def test_names_are_text(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    page = page_of(rvsim, tmp_path, program(name="<script>x&y.elf"))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.tables[0][0] == ["", "<script>x&y"]


def test_a_program_that_fails(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    bad = program(*write(1, 3), *exit_with(7), data=b"no\n")
    path = tmp_path / "report.html"
    result = rvsim("report", bad, "-o", path)
    assert result.code == 1
    note = f"rvsim: note: {bad} ended with exit code 7: its cycles may mean little\n"
    assert result.err == f"no\n{note}"
    assert "A program that fails or is stopped has no picture" in path.read_text("utf-8")


def test_the_result_is_printed(rvsim: Cli, tmp_path: Path) -> None:
    result = rvsim("report", SAXPY, "-o", tmp_path / "report.html")
    assert (result.code, result.err) == (0, "")
    assert result.out == rvsim("compare", SAXPY).out


def test_page_on_stdout(rvsim: Cli) -> None:
    result = rvsim("report", SAXPY, "-o", "-")
    assert result.code == 0
    assert result.out.lstrip().startswith("<!DOCTYPE html>")
    assert result.err == rvsim("compare", SAXPY).out


def test_unknown_instructions_are_named_on_the_page(
    rvsim: Cli, tmp_path: Path, program: Program
) -> None:
    aes = program(vset(E8_M1 | 0b010_000, 4), step("vaesz.vs", vd=8, vs2=4))
    path = tmp_path / "report.html"
    options = ("--cpu", "generic-rv64gcv", "--core", "x60", "-o", path)
    refused = rvsim("report", aes, *options)
    assert refused.code == 1
    told = "rvsim: no total: SpacemiT X60 has no numbers for vaesz.vs"
    assert refused.err.splitlines()[-1].startswith(told)
    assert not path.exists()
    assert rvsim("report", aes, *options, "--allow-unknown").code == 0
    assert "SpacemiT X60 has no numbers for vaesz.vs" in path.read_text("utf-8")


# -- what is refused


def test_a_region_that_was_not_executed(rvsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    result = rvsim("report", SAXPY, "--roi", "0x100-0x200", "-o", path)
    assert (result.code, result.out) == (1, "")
    message = f"rvsim: nothing to report: no instruction of 0x100-0x200 executed in {SAXPY}"
    assert result.err.splitlines()[-1] == message
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_there_is_not(rvsim: Cli, tmp_path: Path) -> None:
    result = rvsim("report", SAXPY, "--roi", "saxpi", "-o", tmp_path / "report.html")
    assert (result.code, result.out) == (2, "")
    assert result.err == "rvsim: there is no symbol 'saxpi': did you mean 'saxpy'?\n"


# -- a page that cannot be written: the result is printed all the same


def test_a_path_that_cannot_be_written(rvsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "none" / "report.html"
    result = rvsim("report", SAXPY, "-o", path)
    assert result.code == 2
    assert result.err == f"rvsim: cannot write {path}: No such file or directory\n"
    assert result.out == rvsim("compare", SAXPY).out


def test_a_full_disk(rvsim: Cli) -> None:
    result = rvsim("report", SAXPY, "-o", "/dev/full")
    assert result.code == 2
    assert result.err == "rvsim: cannot write /dev/full: No space left on device\n"
    assert result.out == rvsim("compare", SAXPY).out


def test_a_disk_that_fills_up_leaves_an_old_page_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    done = subprocess.run(
        [*RVSIM, "report", SAXPY, "-o", path, "--no-cache"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, 1 << 10)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == f"rvsim: cannot write {path}: File too large\n"
    assert "cycles                  1,557" in done.stdout
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_stdout_that_is_full(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*RVSIM, "report", SAXPY, "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    *printed, error = done.stderr.splitlines()
    assert error == "rvsim: cannot write to standard output: No space left on device"
    assert "cycles                  1,557" in printed


@pytest.mark.parametrize("output", ["-", "report.html"])
def test_a_reader_that_goes_away(tmp_path: Path, output: str) -> None:
    path = "-" if output == "-" else tmp_path / output
    ours, theirs = os.pipe()
    os.close(ours)
    command = [*RVSIM, "report", SAXPY, "-o", path]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert done.returncode == 128 + signal.SIGPIPE
    assert ("cycles                  1,557" in done.stderr) is (output == "-")
    assert (tmp_path / "report.html").exists() is (output != "-")


def test_a_named_pipe_whose_reader_goes_away(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*RVSIM, "report", SAXPY, "-o", pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        os.close(os.open(pipe, os.O_RDONLY))
        out, err = run.communicate()
    assert run.returncode == 2
    assert err == f"rvsim: cannot write {pipe}: Broken pipe\n"
    assert "cycles                  1,557" in out


def test_stdout_that_is_closed(tmp_path: Path) -> None:
    command = f"exec {sys.executable} -m rvsim report {SAXPY} -o - >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    *printed, error = done.stderr.splitlines()
    assert error == "rvsim: cannot write to standard output: Bad file descriptor"
    assert "cycles                  1,557" in printed
