"""Tests in tests/unit are quick: they start no process, and neither compile nor run compiled code.

tests/unit/conftest.py refuses processes while they run; here is what they may not import.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.test_layers import ROOT, imported_modules, python_files

SLOW_MODULES = (
    "llvmlite",
    "multiprocessing",
    "rvsim.engine.jit",
    "rvsim.ir.llvm",
    "rvsim.toolchain",
    "subprocess",
    "ziglang",
)
"""What compiles or starts processes."""

HELPERS = ("tests.engine", "tests.trace", "tests.repo", "tests.program.bare_images")
"""They compile too."""


@pytest.mark.parametrize("path", python_files("tests/unit"), ids=lambda path: path.stem)
def test_a_unit_test_imports_nothing_that_is_slow(path: Path) -> None:
    prefixes = tuple(f"{name}." for name in (*SLOW_MODULES, *HELPERS))
    assert [m for m in imported_modules(path) if f"{m}.".startswith(prefixes)] == []


def test_a_process_in_a_unit_test_fails_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests/unit/conftest.py").read_bytes())
    (tmp_path / "test_it.py").write_text(
        "import os, subprocess, sys\n"
        "def test_popen(): subprocess.run([sys.executable, '--version'])\n"
        "def test_system():\n"
        "    try: os.system('true')\n"
        "    except Exception: pass\n"
        "def test_nothing(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("tests of processes stand in other folders") >= 2
