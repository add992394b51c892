"""Runs callgrind_annotate, which comes with Valgrind, and reads what it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def printed(profile: Path, *options: str) -> str:
    """What it says, of all functions, about cycles and instructions."""
    tool = shutil.which("callgrind_annotate")
    if tool is None:
        if os.environ.get("RVSIM_REQUIRE_CALLGRIND") == "1":
            pytest.fail("callgrind_annotate is not installed; Debian's valgrind has it")
        pytest.skip("callgrind_annotate is not installed; Debian's valgrind has it")
    command = [tool, "--auto=no", "--threshold=100", "--show=Cycles,Instructions", *options]
    done = subprocess.run([*command, profile], capture_output=True, text=True, check=True, cwd="/")
    assert done.stderr == ""
    return done.stdout


def annotate(profile: Path, *options: str) -> dict[str, list[int]]:
    """Cycles and instructions of functions and of ``PROGRAM TOTALS``."""
    found = {}
    for line in printed(profile, *options).splitlines():
        numbers = re.findall(r"([\d,]+) \( *[\d.]+%\)", line)
        if len(numbers) == 2:
            name = line.rpartition("%)")[2].strip().rpartition(":")[2].partition(" [")[0]
            found[name] = [int(n.replace(",", "")) for n in numbers]
    return found
