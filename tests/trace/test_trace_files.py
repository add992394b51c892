"""Trace files end at the border of a record, whatever stops them."""

from __future__ import annotations

import gzip
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rvsim.errors import RvsimError
from rvsim.machine import Machine
from rvsim.trace import files
from rvsim.trace.files import TraceFile
from rvsim.trace.selection import Selection
from rvsim.trace.session import Traces, Wanted
from tests.cli.programs import FOREVER, elf

RECORD = b"0123456789abcdef\n"


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """No file can grow beyond `size`, as if the disk were full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PIECE", 10 * len(RECORD))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_full_disk_leaves_whole_records(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    file = TraceFile(str(path))
    with full_at(100 if suffix else 1000):
        for _ in range(200):
            file.write(RECORD)
        with pytest.raises(RvsimError, match=r"cannot write .*log.*: File too large"):
            file.close()
    data = path.read_bytes()
    if suffix == ".gz":
        data = gzip.decompress(data)
    if suffix != ".zst":
        assert data
        assert data == RECORD * (len(data) // len(RECORD))


def test_the_tail_ends_an_incomplete_file(tmp_path: Path) -> None:
    file = TraceFile(str(tmp_path / "log"))
    with full_at(1000):
        for _ in range(200):
            file.write(RECORD)
        with pytest.raises(RvsimError, match="File too large"):
            file.close(b"end\n")
    assert (tmp_path / "log").read_bytes() == RECORD * 50 + b"end\n"


@pytest.mark.parametrize("size", [400, 2_000_000, 3_000_000])
@pytest.mark.parametrize("kind", ["chrome", "kanata"])
def test_what_fits_on_the_disk_can_be_read(tmp_path: Path, kind: str, size: int) -> None:
    """A file that has a beginning and an end has them, however full the disk is."""
    path = tmp_path / "trace"
    traces = Traces([Wanted(kind, str(path))])
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(elf([FOREVER]))

    def run() -> None:
        with traces:
            traces.open(machine, Selection())
            machine.run(max_insns=30_000)

    with full_at(size), pytest.raises(RvsimError, match="File too large"):
        run()
    assert path.stat().st_size > (0 if size < 1000 else 500_000)
    if kind == "chrome":
        assert json.loads(path.read_text())["traceEvents"]
    else:
        begin, *commands = path.read_text().splitlines(keepends=True)
        assert begin == "Kanata\t0004\n"
        assert not commands or commands[-1].endswith("\n")


def test_the_end_of_a_file_that_has_no_beginning_is_left_out(tmp_path: Path) -> None:
    file = TraceFile(str(tmp_path / "log"))
    with full_at(8):
        file.begin(b"beginning\n")
        with pytest.raises(RvsimError, match="File too large"):
            file.close(b"end\n")
    assert (tmp_path / "log").read_bytes() == b""


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file = TraceFile(str(pipe))
    os.close(reader)
    file.write(RECORD * 20)
    with pytest.raises(RvsimError, match=r"cannot write .*pipe: Broken pipe"):
        file.close()


def test_a_header_written_last_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(RvsimError, match="its beginning is written last"):
        TraceFile("/dev/null").reserve(b"header")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_rows_until_the_disk_is_full(tmp_path: Path, suffix: str) -> None:
    """The run goes on; other traces are complete."""
    paths = [tmp_path / f"rows.npy{suffix}", tmp_path / "log"]
    traces = Traces([Wanted("npy", str(paths[0])), Wanted("spike", str(paths[1]))])
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(elf([FOREVER]))
    limit = 30_000 if suffix else 1_000_000

    def run() -> None:
        with traces:
            traces.open(machine, Selection())
            machine.run(max_insns=9000)

    with full_at(limit), pytest.raises(RvsimError, match=r"rows.npy.*File too large"):
        run()
    assert machine.state["instret"] == 9000
    data = paths[0].read_bytes()
    (tmp_path / "whole.npy").write_bytes(gzip.decompress(data) if suffix else data)
    rows = np.load(tmp_path / "whole.npy")
    assert len(rows) in (2048, 4096, 6144)
    assert suffix or len(paths[1].read_text().splitlines()) == 9000


def test_a_parquet_file_that_is_not_complete_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    traces = Traces([Wanted("parquet", str(path))])
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(elf([FOREVER]))

    def run() -> None:
        with traces:
            traces.open(machine, Selection())
            machine.run(max_insns=500)

    with full_at(1000), pytest.raises(RvsimError, match=r"cannot write .*: File too large"):
        run()
    assert machine.state["instret"] == 500
    assert not path.exists()


def test_only_files_are_removed(tmp_path: Path) -> None:
    """A pipe is not, nor a device; each of several failures is told."""
    pipes = [tmp_path / "parquet", tmp_path / "kanata"]
    traces = Traces([Wanted(pipe.name, str(pipe)) for pipe in pipes])
    machine = Machine(cost="x60", observers=traces.observers())
    machine.load(elf([FOREVER]))
    for pipe in pipes:
        os.mkfifo(pipe)

    def run() -> None:
        readers = [os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) for pipe in pipes]
        with traces:
            traces.open(machine, Selection())
            for reader in readers:
                os.close(reader)
            machine.run(max_insns=500)

    with pytest.raises(RvsimError) as caught:
        run()
    told = [f"cannot write {pipe}: Broken pipe" for pipe in pipes]
    assert str(caught.value) == "; ".join(told)
    assert all(pipe.is_fifo() for pipe in pipes)


@pytest.mark.parametrize("name", ["rows.parquet", "log.zst"])
def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    kind = "parquet" if name.endswith("parquet") else "spike"
    traces = Traces([Wanted(kind, str(tmp_path / name))])
    machine = Machine(cost="x60", observers=traces.observers())
    with pytest.raises(RvsimError, match="needs pyarrow") as caught:
        traces.open(machine, Selection())
    assert caught.value.hint == "it comes with: pip install 'rvsim-x60[trace]'"
    assert not (tmp_path / name).exists()
