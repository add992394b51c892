"""``rvsim diff-trace``: logs of rvsim and lines as Spike writes them."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rvsim import cli
from tests.cli.conftest import Cli
from tools.golden_traces import GOLDENS, TRACES

LOG = TRACES / GOLDENS["spike"]
LINES = LOG.read_text().splitlines(keepends=True)

ROW_FILES = ("npy.npy", "npy.npy.gz", "npy.npy.zst", "parquet.rows")
"""Named after the kind of the trace."""

BOOT = """core   0: 3 0x0000000000001000 (0x00000297) x5  0x0000000000001000
core   0: 3 0x0000000000001004 (0x02028593) x11 0x0000000000001020
core   0: >>>>  _start
"""


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tmp_path / "other.log"


def test_a_log_agrees_with_itself(rvsim: Cli, tmp_path: Path) -> None:
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    result = rvsim("diff-trace", LOG, packed)
    assert (result.code, result.out) == (0, f"the traces agree: {len(LINES)} instructions\n")


@pytest.mark.parametrize("turned", [False, True])
def test_spikes_boot_rom_is_skipped(rvsim: Cli, other: Path, turned: bool) -> None:
    other.write_text(BOOT + "".join(LINES))
    files = (other, LOG) if turned else (LOG, other)
    assert rvsim("diff-trace", *files).code == 0


def test_the_first_difference(rvsim: Cli, other: Path) -> None:
    lines = list(LINES)
    li = next(i for i, line in enumerate(lines) if " x10 0x0000000000000014" in line)
    lines[li] = lines[li].replace("0014", "0015")
    other.write_text("".join(lines))
    result = rvsim("diff-trace", LOG, other)
    first, *before, a, b, insn = result.out.splitlines()
    assert result.code == 1
    assert first == f"the traces differ after {li} instructions: x10 is 0x14 in A and 0x15 in B"
    assert [line.strip() for line in before] == [line.strip() for line in lines[li - 3 : li]]
    assert (a.strip(), b.strip()) == (f"A {LINES[li].strip()}", f"B {lines[li].strip()}")
    assert insn.endswith(": c.li a0, 0x14")


def test_another_way_through_the_program(rvsim: Cli, other: Path) -> None:
    other.write_text("".join(LINES[:20] + LINES[21:]))
    assert "after 20 instructions: pc is 0x" in rvsim("diff-trace", LOG, other).out


def test_a_log_that_ends_earlier(rvsim: Cli, other: Path) -> None:
    other.write_text("".join(LINES[:-1]))
    result = rvsim("diff-trace", LOG, other)
    assert result.code == 1
    assert f"after {len(LINES) - 1} instructions: B has ended\n" in result.out
    assert "  B (end)\n" in result.out


def test_registers_that_one_log_does_not_list(rvsim: Cli, other: Path) -> None:
    """Spike lists a vector register if it wrote an element; old versions list no vstart."""
    other.write_text("".join(LINES).replace(" c8_vstart 0x0000000000000000", ""))
    assert rvsim("diff-trace", LOG, other).code == 0
    other.write_text("".join(LINES).replace(" mem 0x", " nem 0x", 1))
    result = rvsim("diff-trace", LOG, other)
    assert result.code == 1
    assert "written or read in A only" in result.out


def test_what_is_no_log(rvsim: Cli, other: Path, tmp_path: Path) -> None:
    other.write_text("hello\n")
    result = rvsim("diff-trace", LOG, other)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"rvsim: {other}, line 1: no line of a commit log")
    result = rvsim("diff-trace", LOG, tmp_path / "none")
    assert result.err == f"rvsim: cannot read {tmp_path / 'none'}: No such file or directory\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of the golden program, in all forms, and with another latency."""
    folder = tmp_path_factory.mktemp("rows")
    kinds = [f"--trace={n.partition('.')[0]}:{folder / n}" for n in ROW_FILES]
    kinds += [f"--trace=spike:{folder / name}" for name in ("log.gz", "log.zst")]
    slower = f"--trace=npy:{folder / 'slower.npy'}"
    assert cli.run(["run", str(TRACES / "saxpy.elf"), *kinds]) == 0
    changed = ["--core-set", "vector.vload_unit.latency=12", slower]
    assert cli.run(["run", str(TRACES / "saxpy.elf"), *changed]) == 0
    return folder


@pytest.mark.parametrize("name", ROW_FILES[1:])
def test_rows_agree_in_every_form(rvsim: Cli, folder: Path, name: str) -> None:
    result = rvsim("diff-trace", folder / ROW_FILES[0], folder / name)
    rows = len(np.load(folder / ROW_FILES[0]))
    assert (result.code, result.out) == (0, f"the traces agree: {rows} instructions\n")


def test_the_first_row_that_differs(rvsim: Cli, folder: Path) -> None:
    ours, theirs = (np.load(folder / name) for name in ("npy.npy", "slower.npy"))
    first = int(np.flatnonzero(ours != theirs)[0])
    result = rvsim("diff-trace", folder / "npy.npy", folder / "slower.npy")
    head, *before, a, b, _ = result.out.splitlines()[:7]
    assert result.code == 1
    assert head == f"the traces differ after {first} instructions: done"
    assert len(before) == 3
    assert f"{ours[first]['pc']:#x}: vle32.v" in a
    assert f"issue {ours[first]['issue']:g}" in b
    done = f"  done: {ours[first]['done']:g} in A, {theirs[first]['done']:g} in B"
    assert result.out.splitlines()[6] == done


def test_only_some_columns(rvsim: Cli, folder: Path) -> None:
    files = folder / "npy.npy", folder / "slower.npy"
    assert rvsim("diff-trace", *files, "--only", "pc", "--only", "vl").code == 0
    assert rvsim("diff-trace", *files, "--only", "wait").code == 1
    wrong = rvsim("diff-trace", *files, "--only", "latency")
    assert wrong.code == 2
    assert "there is no column latency" in wrong.err


def test_rows_that_end_earlier(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    rows = np.load(folder / "npy.npy")
    np.save(tmp_path / "short.npy", rows[:7])
    result = rvsim("diff-trace", folder / "npy.npy", tmp_path / "short.npy")
    assert result.code == 1
    assert result.out.startswith("the traces differ after 7 instructions: B has ended\n")
    assert result.out.splitlines()[-1] == "  B (end)"


def test_a_trace_that_is_cut_off(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.npy"
    cut.write_bytes((folder / "npy.npy").read_bytes()[:-1000])
    result = rvsim("diff-trace", folder / "npy.npy", cut)
    assert result.code == 2
    assert f"cannot read {cut}: it ends after row" in result.err


def test_kinds_that_do_not_go_together(rvsim: Cli, folder: Path) -> None:
    rows = folder / "npy.npy"
    for files in ((LOG, rows), (rows, LOG)):
        result = rvsim("diff-trace", *files)
        message = f"rvsim: {rows} has rows, and {LOG} has none: compare two of a kind\n"
        assert (result.code, result.err) == (2, message)


# -- what cannot be read


@pytest.mark.parametrize("name", ["npy.npy.gz", "npy.npy.zst", "log.gz", "log.zst"])
@pytest.mark.parametrize("part", [0.001, 0.01, 0.5])
def test_a_compressed_trace_that_is_cut_off(
    rvsim: Cli, folder: Path, tmp_path: Path, name: str, part: float
) -> None:
    cut = tmp_path / name
    data = (folder / name).read_bytes()
    cut.write_bytes(data[: max(1, int(part * len(data)))])
    result = rvsim("diff-trace", cut, cut)
    assert result.code == 2
    assert result.err.startswith(f"rvsim: cannot read {cut}: ")


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_what_is_not_compressed(rvsim: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"hello\n")
    result = rvsim("diff-trace", LOG, tmp_path / name)
    assert result.code == 2
    assert result.err.startswith(f"rvsim: cannot read {tmp_path / name}: ")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_can_be_read(
    rvsim: Cli, folder: Path, tmp_path: Path, version: tuple[int, int]
) -> None:
    copy = tmp_path / "copy.npy"
    with open(copy, "wb") as file:
        np.lib.format.write_array(file, np.load(folder / "npy.npy"), version)
    assert rvsim("diff-trace", folder / "npy.npy", copy).code == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.arange(5), "it has no columns"),
        (np.zeros(3, np.dtype([])), "it has no columns"),
        (np.zeros((2, 3), [("pc", "u8")]), "it has no rows, but the shape (2, 3)"),
        (np.zeros(3, [("pc", "u8", (2,))]), "column pc is neither numbers nor text"),
        (np.zeros(3, [("pc", [("low", "u4")])]), "column pc is neither numbers nor text"),
        (np.zeros(3, [("pc", "V4")]), "column pc is neither numbers nor text"),
    ],
)
def test_what_is_no_trace_of_rows(
    rvsim: Cli, tmp_path: Path, rows: np.ndarray, message: str
) -> None:
    np.save(tmp_path / "a.npy", rows)
    result = rvsim("diff-trace", tmp_path / "a.npy", tmp_path / "a.npy")
    assert (result.code, result.err) == (2, f"rvsim: cannot read {tmp_path / 'a.npy'}: {message}\n")


# -- rows that something else has written


def test_text_is_text_in_whatever_form(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    rows = np.load(folder / "npy.npy")
    forms = {name: "U20" if t.kind == "S" else t for name, (t, _) in rows.dtype.fields.items()}
    np.save(tmp_path / "unicode.npy", rows.astype(list(forms.items())))
    frame = pd.read_parquet(folder / "parquet.rows").astype({"reason": str, "lost_reason": str})
    frame.to_parquet(tmp_path / "strings.parquet")
    for name in ("unicode.npy", "strings.parquet"):
        assert rvsim("diff-trace", folder / "npy.npy", tmp_path / name).code == 0


def test_what_is_missing_in_both_is_the_same(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    frame = pd.read_parquet(folder / "parquet.rows").astype({"vl": "Int64"})
    frame.loc[3, "vl"] = pd.NA
    frame.to_parquet(tmp_path / "a.parquet")
    assert rvsim("diff-trace", tmp_path / "a.parquet", tmp_path / "a.parquet").code == 0
    result = rvsim("diff-trace", tmp_path / "a.parquet", folder / "npy.npy")
    assert result.code == 1
    assert "vl: nan in A, 0 in B" in result.out


def test_columns_that_one_trace_has_alone_are_named(
    rvsim: Cli, folder: Path, tmp_path: Path
) -> None:
    rows = np.load(folder / "npy.npy")
    np.save(tmp_path / "two.npy", rows[["pc", "vl"]])
    np.save(tmp_path / "other.npy", np.zeros(3, [("a", "u8")]))
    result = rvsim("diff-trace", tmp_path / "two.npy", folder / "npy.npy")
    assert result.code == 0
    assert result.err.startswith("rvsim: note: only one of the traces has instret, word, vtype,")
    result = rvsim("diff-trace", tmp_path / "two.npy", tmp_path / "other.npy")
    message = "rvsim: the traces have no column in common: A has pc, vl, B has a\n"
    assert (result.code, result.err) == (2, message)


def test_a_column_of_text_beside_one_of_numbers(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    rows = np.load(folder / "npy.npy")
    np.save(tmp_path / "a.npy", np.zeros(len(rows), [("pc", "S4"), ("reason", "f8")]))
    result = rvsim("diff-trace", tmp_path / "a.npy", folder / "npy.npy")
    assert result.code == 1
    assert "after 0 instructions: pc, reason\n" in result.out


def test_large_times_are_shown_to_the_last_digit(rvsim: Cli, tmp_path: Path) -> None:
    for name, time in (("a.npy", 123456789.25), ("b.npy", 123456789.5)):
        np.save(tmp_path / name, np.array([(time,)], [("issue", "f8")]))
    out = rvsim("diff-trace", tmp_path / "a.npy", tmp_path / "b.npy").out
    assert "issue: 123,456,789.25 in A, 123,456,789.5 in B" in out


def test_a_pipe_is_read_once(rvsim: Cli, folder: Path, tmp_path: Path) -> None:
    for file in (LOG, folder / "npy.npy"):
        pipe = tmp_path / file.name
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(file.read_bytes(),))
        writer.start()
        assert rvsim("diff-trace", pipe, file).code == 0
        writer.join()
