"""Runs command lines in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rvsim import cli
from tests.cli.programs import elf, exit_with
from tests.program.bare import Step


@dataclass(frozen=True)
class Result:
    """What a command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture
def rvsim(capfd: pytest.CaptureFixture[str]) -> Cli:
    """``rvsim("run", file)``: exit code, stdout, stderr."""

    def run(*args: str | Path) -> Result:
        code = cli.run([str(a) for a in args])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """Writes an ELF file of these instructions, which ends with exit code 0."""

    def write(*steps: Step, data: bytes = b"", name: str = "prog.elf") -> str:
        path = tmp_path / name
        path.write_bytes(elf([*steps, *exit_with(0)], data))
        return str(path)

    return write
