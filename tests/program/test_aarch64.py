"""Compiled code for AArch64 does what the reference engine does: tests of this folder, emulated.

`tools/aarch64.py` runs them.  A run is a part of them, chosen by name: RVSIM_AARCH64_PART says
which, from 0, and `PARTS` of them are all.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from rvsim.host.processor import GENERIC, NATIVE, VARIABLE
from tools import aarch64

ROOT = Path(__file__).resolve().parents[2]
PARTS = 32
FEWEST = 40
"""Tests that every part has."""

FILES = (
    "tests/isa/test_llvm_equals_numpy.py",
    "tests/isa/test_jit_equals_numpy.py",
    "tests/isa/test_jit_float.py",
    "tests/isa/test_host_float.py",
    "tests/isa/test_jit_strips.py",
    "tests/engine/test_llvm_host.py",
    "tests/engine/test_ir_primitives.py",
    "tests/engine/test_ir_memory.py",
    "tests/engine/test_processor.py",
    "tests/program/test_jit.py",
    "tests/program/test_jit_fuzz.py",
    "tests/program/test_jit_strips.py",
    "tests/program/test_jit_memory.py",
    "tests/program/test_jit_programs.py",
    "tests/program/test_self_modifying.py",
    "tests/program/test_addresses.py",
    "tests/cost/test_regions.py",
)
"""Tests of what is compiled."""

PROCESSORS = {"max": NATIVE, "cortex-a72": GENERIC}
"""With SVE, and without, as QEMU calls them; and what is compiled for each."""


@pytest.fixture(scope="module")
def python() -> Path:
    """Python for AArch64; without it skips, or fails where RVSIM_REQUIRE_AARCH64=1."""
    try:
        return aarch64.make()
    except aarch64.Absent as error:
        if os.environ.get("RVSIM_REQUIRE_AARCH64") == "1":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def test_the_files_are_there() -> None:
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PROCESSORS)), ids=list(PROCESSORS))
def test_compiled_code_does_what_the_reference_does(python: Path, number: int) -> None:
    processor, host = list(PROCESSORS.items())[number]
    part = (int(os.environ.get("RVSIM_AARCH64_PART", "0")) + number) % PARTS
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-n", "0", f"--shard={part}/{PARTS}", *FILES],
        cwd=ROOT,
        env=os.environ | {"QEMU_CPU": processor, VARIABLE: host},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= FEWEST


@pytest.mark.slow
def test_programs_are_started_emulated(python: Path) -> None:
    """And so are those that they start; but for the cross compiler."""
    child = "import os; print(os.uname().machine)"
    code = f"import subprocess, sys\n{child}\nsubprocess.run([sys.executable, '-c', {child!r}])"
    command = [str(python), "-uc", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["aarch64", "aarch64"]
