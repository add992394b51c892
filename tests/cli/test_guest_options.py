"""Options of ``rvsim run`` that say what the program meets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize("text", ["NOVALUE", "=value", ""])
def test_a_variable_has_a_name_and_a_value(rvsim: Cli, program: Callable[..., str], text: str):
    result = rvsim("run", "-E", text, program())
    assert result.code == 2
    assert f"{text!r} is not understood: write VAR=VALUE" in result.err


@pytest.mark.parametrize("text", ["", "a:b:c", ":rw"])
def test_a_bad_grant_is_named(rvsim: Cli, program: Callable[..., str], text: str):
    result = rvsim("run", "--dir", text, program())
    assert result.code == 2
    assert f"folder grant {text!r} is not understood: write HOST[:GUEST][:rw]" in result.err


@pytest.mark.parametrize("option", ["--dir", "-L"])
def test_a_folder_that_is_not_there_is_named(
    rvsim: Cli, program: Callable[..., str], tmp_path: Path, option: str
):
    result = rvsim("run", option, tmp_path / "absent", program())
    assert result.code == 2
    assert f"{option}: cannot use the folder {tmp_path}/absent: No such file" in result.err


def test_all_of_them_together(rvsim: Cli, program: Callable[..., str], tmp_path: Path):
    options = ["-E", "A=b=c", "-E", "A=d", "--dir", f"{tmp_path}:/d:rw", "--host-time"]
    assert rvsim("run", *options, "-L", tmp_path, program()).code == 0
