"""The scripts that fetch what tests want: they name no host, and errors are one line."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted([*ROOT.glob("tools/*.sh"), ROOT / ".ci" / "run"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_leave_the_choice_of_mirrors_to_the_machine(script: Path) -> None:
    assert not re.findall(r"https?://\w\S*", script.read_text())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["riscv64", "tree"], "usage: debian_tree.sh ARCHITECTURE FOLDER PACKAGE..."),
        (["riscv64", "mine", "jq"], "isn't a tree of this script"),
        (["riscv64", "mine/file", "jq"], "isn't a tree of this script"),
        (["riscv64", "mine/file/below", "jq"], "choose a folder that you may write"),
    ],
)
def test_debian_tree_refuses_in_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    done = subprocess.run(
        ["bash", str(ROOT / "tools" / "debian_tree.sh"), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("debian_tree.sh: ")
    assert said in line
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "mine"]
