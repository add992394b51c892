"""``rvsim report``: the page stands for itself, and has the numbers of ``run --cycles``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rvsim.cli.page.pipeline import CELL
from tests.cli.conftest import Cli
from tests.cli.page_reader import Page
from tests.cli.programs import A0, A1, E8_M1, exit_with, li, vset, write
from tests.program.bare import DATA, Step, load_upper, step
from tools.golden_traces import TRACES

Program = Callable[..., str]
SAXPY = TRACES / "saxpy.elf"
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


def page_of(rvsim: Cli, tmp_path: Path, *args: str | Path) -> Page:
    path = tmp_path / "report.html"
    result = rvsim("report", *args, "-o", path)
    assert (result.code, result.out, result.err) == (0, "", "")
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
    assert {tag for tag, _ in page.tags} & {"script", "link", "iframe", "img", "object"} == set()
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "url(" not in text
    assert "@import" not in text
    assert len(text) < 6 << 20
    metas = [attrs for tag, attrs in page.tags if tag == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert "prefers-color-scheme: dark" in text


def test_every_picture_says_what_it_is(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY)
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(pictures) == 2
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)


def test_pieces_of_a_bar_fill_it(rvsim: Cli, tmp_path: Path) -> None:
    page = page_of(rvsim, tmp_path, SAXPY)
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
    drawn = dict.fromkeys(("issue", "execute", "queued", "wait"), 0.0)
    for tag, attrs in page.tags:
        if tag == "rect" and attrs["class"] in drawn:
            drawn[attrs["class"] or ""] += float(attrs["width"] or "") / CELL
    waits = sum(cell not in "I=- " for cell in cells)
    counts = [cells.count("I"), cells.count("="), cells.count("-"), waits]
    assert list(drawn.values()) == counts
    assert counts[0] == 9
    assert page.row("I") == ["issues"]
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 3


def test_no_pipeline_without_a_loop(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    page = page_of(rvsim, tmp_path, program(*TILE), "--timeline", "2")
    assert len([tag for tag, _ in page.tags if tag == "svg"]) == 2


def test_names_are_text(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    page = page_of(rvsim, tmp_path, program(name="<script>x&y.elf"))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.tables[0][0] == ["", "<script>x&y"]


def test_a_program_that_fails(rvsim: Cli, tmp_path: Path, program: Program) -> None:
    bad = program(*write(1, 3), *exit_with(7), data=b"no\n")
    path = tmp_path / "report.html"
    result = rvsim("report", bad, "-o", path)
    assert (result.code, result.out) == (1, "")
    note = f"rvsim: note: {bad} ended with exit code 7: its cycles may mean little\n"
    assert result.err == f"no\n{note}"
    assert path.exists()


def test_page_on_stdout(rvsim: Cli) -> None:
    result = rvsim("report", SAXPY, "-o", "-")
    assert (result.code, result.err) == (0, "")
    assert result.out.lstrip().startswith("<!DOCTYPE html>")


def test_unknown_instructions_are_named_on_the_page(
    rvsim: Cli, tmp_path: Path, program: Program
) -> None:
    aes = program(vset(E8_M1 | 0b010_000, 4), step("vaesz.vs", vd=8, vs2=4))
    path = tmp_path / "report.html"
    options = ("--cpu", "generic-rv64gcv", "-o", path)
    refused = rvsim("report", aes, *options)
    assert refused.code == 1
    assert refused.err.startswith("rvsim: no total: SpacemiT X60 has no numbers for vaesz.vs")
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


def test_a_path_that_cannot_be_written(rvsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "none" / "report.html"
    result = rvsim("report", SAXPY, "-o", path)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rvsim: cannot write {path}: No such file or directory\n"
