"""Traces of one program in all formats: read by other readers, they tell the same cycles."""

from __future__ import annotations

import gzip
import io
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
import pytest

from rvsim.guest.symbols import Symbols
from rvsim.machine import Machine
from rvsim.perf import find_region
from rvsim.toolchain import build_kernel
from rvsim.trace.kinds import KINDS
from rvsim.trace.selection import Selection, Window
from rvsim.trace.session import Traces, Wanted
from tests.trace.callgrind_annotate import annotate
from tests.trace.kanata_reader import read_kanata
from tools.golden_traces import GOLDENS, TIMELINE, TRACES, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of a kernel that leaves ``rows.<kind>`` of all kinds, and compressed ones."""
    folder = tmp_path_factory.mktemp("traces")
    wanted = [Wanted(kind, str(folder / f"rows.{kind}")) for kind in KINDS]
    for suffix in (".gz", ".zst"):
        wanted += [Wanted(kind, str(folder / f"rows.{kind}{suffix}")) for kind in ("npy", "kanata")]
    traces = Traces(wanted)
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(build_kernel("softmax_f16"))
    with traces:
        traces.open(machine, Selection(Window(3000, 4000)))
        machine.run(max_insns=4500)
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = np.load(folder / "rows.npy")
    return found


def test_npy_has_the_rows_of_the_window(rows: npt.NDArray[Any]) -> None:
    retired = rows[~rows["trapped"]]
    assert retired["instret"].tolist() == list(range(3000, 4000))
    assert set(rows["reason"].tolist()) > {b"", b"raw:alu"}


def test_compressed_files_have_the_same_content(folder: Path, rows: npt.NDArray[Any]) -> None:
    for kind in ("npy", "kanata"):
        plain = (folder / f"rows.{kind}").read_bytes()
        assert gzip.decompress((folder / f"rows.{kind}.gz").read_bytes()) == plain
        assert pyarrow.input_stream(folder / f"rows.{kind}.zst").read() == plain
    assert len(np.load(io.BytesIO(gzip.decompress((folder / "rows.npy.gz").read_bytes())))) == len(
        rows
    )


def test_kanata_shows_the_same_cycles(folder: Path, rows: npt.NDArray[Any]) -> None:
    log = read_kanata((folder / "rows.kanata").read_text())
    assert len(log) == len(rows)
    for insn, row in zip(log, rows, strict=True):
        assert insn.label.startswith(f"{row['pc']:x}: ")
        issue, end = insn.stage("Is")
        assert issue == row["issue"]
        assert end == issue + 1
        assert insn.retired >= row["done"]  # type: ignore[operator]
        if row["wait"]:
            start, end = insn.stage(row["reason"].decode())
            assert (end - start, end) == (row["wait"], issue)


def test_chrome_tracks_go_forward_without_overlap(folder: Path, rows: npt.NDArray[Any]) -> None:
    events = json.loads((folder / "rows.chrome").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[names[event["tid"]]].append(event)
    assert set(tracks) >= {"issue slot 0", "issue slot 1", "vector unit", "load/store unit"}
    for track in tracks.values():
        for before, after in pairwise(track):
            assert before["dur"] >= 0
            assert before["ts"] + before["dur"] <= after["ts"]
    issued = sorted(e["ts"] for name in tracks if "slot" in name for e in tracks[name])
    assert issued == rows["issue"].tolist()
    waited = sum(e["dur"] for e in tracks["waits"])
    assert waited == sum(rows["wait"] + rows["fetch"] + rows["lost"])
    for counter in ("vl", "IPC"):
        times = [e["ts"] for e in events if e["ph"] == "C" and e["name"] == counter]
        assert times
        assert times == sorted(times)


def test_goldens(tmp_path: Path) -> None:
    """``python tools/golden_traces.py`` writes them again where a change is meant."""
    write(tmp_path)
    for name in (*GOLDENS.values(), TIMELINE):
        assert (tmp_path / name).read_text() == (TRACES / name).read_text(), name


def test_golden_kanata_keeps_to_the_grammar() -> None:
    log = read_kanata((TRACES / GOLDENS["kanata"]).read_text())
    labels = [insn.label.partition(": ")[2] for insn in log]
    first = labels.index("vsetvli t0, a3, e32, m1, ta, ma")
    assert labels[first : first + 3] == [
        "vsetvli t0, a3, e32, m1, ta, ma",
        "vle32.v v8, (a4)",
        "vle32.v v9, (a5)",
    ]


def test_a_selection_says_what_it_missed() -> None:
    regions = [find_region("0x10-0x20", Symbols()), find_region("0x30-0x40", Symbols())]
    missed = Selection(Window(5), regions).missed()
    assert missed == "no instruction of 0x10-0x20 or 0x30-0x40 within the instructions 5: executed"
    assert Selection(Window(0, 7)).missed() == "none of the instructions 0:7 executed"


def test_parquet_has_the_same_rows(folder: Path, rows: npt.NDArray[Any]) -> None:
    table = pyarrow.parquet.read_table(folder / "rows.parquet")
    assert table.column_names == list(rows.dtype.names or ())
    for name in table.column_names:
        expected = rows[name].astype(str) if rows[name].dtype.kind == "S" else rows[name]
        assert table[name].to_pylist() == expected.tolist(), name


def test_callgrind_annotate_shows_the_same_totals(folder: Path, rows: npt.NDArray[Any]) -> None:
    cycles = sum(rows[name].sum() for name in ("fetch", "slot", "wait", "lost"))
    totals = annotate(folder / "rows.callgrind")["PROGRAM TOTALS"]
    assert totals == [cycles, 1000]
