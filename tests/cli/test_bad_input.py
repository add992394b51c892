"""Bad usage and bad files: one clear line, exit code 2, nothing half-written."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.programs import elf, exit_with

Program = Callable[..., str]
GOOD = elf(exit_with(0))
_PHDR = 64


def patched(offset: int, layout: str, value: int) -> bytes:
    content = bytearray(GOOD)
    struct.pack_into(layout, content, offset, value)
    return bytes(content)


FILES = {
    "not an ELF file": b"hello\n",
    "32-bit": patched(4, "B", 1),
    "big-endian": patched(5, "B", 2),
    "not for RISC-V": patched(18, "<H", 62),
    "truncated": GOOD[:100],
    "outside the guest's memory": patched(_PHDR + 16, "<Q", 1 << 40),
    "entry point": patched(24, "<Q", 0x20000),
}


@pytest.mark.parametrize("what", FILES)
def test_bad_file(rvsim: Cli, tmp_path: Path, what: str) -> None:
    path = tmp_path / "bad.elf"
    path.write_bytes(FILES[what])
    for command in ("run", "dis"):
        result = rvsim(command, path)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"rvsim: {path}: ")
        assert what in result.err
        assert result.err.count("\n") == 1


OPTIONS = {
    "--vlen=100": "VLEN 100 is not a power of two from 128 to 4096: spacemit-x60 has 256",
    "--vlen=64": "VLEN 64 is not a power of two from 128 to 4096: spacemit-x60 has 256",
    "--vlen=x": "invalid value for '--vlen': 'x' is not a valid integer",
    "--cpu=spacemit-x61": "unknown CPU 'spacemit-x61': did you mean 'spacemit-x60'?",
    "--isa=rv64gcv_zbbb": "unknown extension 'zbbb': did you mean 'zbb'?",
    "--isa=rv32gc": "ISA string 'rv32gc' is not understood: write rv64gcv_zvl256b_zba",
    "--agnostic=zeros": "unknown agnostic policy 'zeros': choose one of undisturbed, ones, random",
    "--vl-policy=min": "invalid value for '--vl-policy': 'min' is not one of 'max', 'half'",
    "--reserved=no": "invalid value for '--reserved': 'no' is not one of 'trap', 'allow'",
    "--initial=zeros": "unknown initial contents 'zeros': choose one of zero, ones, random",
    "--initial=random:x": "initial contents 'random:x' is not understood: write random:1",
    "--syscall-vector=kept": "invalid value for '--syscall-vector':"
    " 'kept' is not one of 'discard', 'keep'",
    "--user-counters=no": "invalid value for '--user-counters': 'no' is not one of 'trap', 'allow'",
    "--memory=lots": "invalid value for '--memory': 'lots' is no size: write 64M or 4G",
    "--memory=5K": "invalid value for '--memory': 5K is not a multiple of 4K up to 256G",
    "--memory=0": "invalid value for '--memory': 0 is not a multiple of 4K up to 256G",
    "--max-insns=-1": "invalid value for '--max-insns': -1 is not in the range x>=0",
    "--trace=vcd:x": "invalid value for '--trace': 'vcd:x' is not understood:"
    " write KIND:FILE, where KIND is spike, npy, parquet, kanata, chrome, callgrind",
    "--trace=npz:x": "invalid value for '--trace': 'npz:x' is not understood: write npy:FILE",
    "--trace-window=5": "invalid value for '--trace-window': '5' is not understood:"
    " write FROM:TO, as in 1000:2000",
    "--trace-window=5:5": "invalid value for '--trace-window': 5:5 is empty:"
    " TO must be greater than FROM",
    "--trace-window=5:": "--trace-window needs --trace",
    "--trace=spike:": "invalid value for '--trace': 'spike:' is not understood: write spike:FILE",
    "--vlenn=128": "no such option '--vlenn': did you mean '--vlen'?",
    "--stat": "no such option '--stat': did you mean '--stats'?",
    "--qqq": "no such option '--qqq'",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_bad_option(rvsim: Cli, program: Program, option: str) -> None:
    result = rvsim("run", program(), option)
    assert (result.code, result.out, result.err) == (2, "", f"rvsim: {OPTIONS[option]}\n")


COMMANDS = {
    "rum": "no such command 'rum': did you mean 'run'?",
    "kernel.elf": "no such command 'kernel.elf': to run a file, write: rvsim run kernel.elf",
    "?": "no such command '?': commands are run, profile, annotate, timeline, compare,"
    " report, diff-trace, build, dis, explain, list, doctor",
    "run": "missing argument 'FILE'",
    "--verison": "no such option '--verison': did you mean '--version'?",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_command(rvsim: Cli, command: str) -> None:
    result = rvsim(command)
    assert (result.code, result.out, result.err) == (2, "", f"rvsim: {COMMANDS[command]}\n")


def test_missing_file(rvsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "none.elf"
    result = rvsim("run", path)
    assert result.code == 2
    assert result.err == f"rvsim: cannot read {path}: No such file or directory\n"


@pytest.mark.parametrize("option", ["--json={}", "--trace=spike:{}"])
def test_output_that_cannot_be_written(
    rvsim: Cli, program: Program, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "no" / "folder"
    result = rvsim("run", program(*exit_with(7)), option.format(path))
    assert (result.code, result.out) == (2, "")
    assert result.err == f"rvsim: cannot write {path}: No such file or directory\n"


def test_unwritable_trace_leaves_no_json(rvsim: Cli, program: Program, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("old")
    options = ("--json", old, "--trace", f"spike:{tmp_path}/no/log")
    assert rvsim("run", program(), *options).code == 2
    assert old.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.json", "prog.elf"]


def test_bad_file_leaves_an_old_trace_alone(rvsim: Cli, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old")
    assert rvsim("run", os.devnull, "--trace", f"spike:{log}").code == 2
    assert log.read_text() == "old"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("to", "why"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_stdout_that_cannot_be_written(to: str, why: str, unbuffered: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m rvsim explain 0x13 {to}"],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == f"rvsim: cannot write to standard output: {why}\n"


def test_json_into_a_device_keeps_the_device(rvsim: Cli, program: Program) -> None:
    assert rvsim("run", program(), "--json", os.devnull).code == 0
    assert not os.path.isfile(os.devnull)
