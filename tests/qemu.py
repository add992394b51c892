"""Find QEMU user mode and run guest programs with it: an oracle that shares no code with rvsim."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

# 10.0.2 asserts on some fault-only-first segment loads; 7.2 lacks Zvfh, Zvbb and Zicond.
OLDEST = (10, 0, 3)


@functools.cache
def find_qemu() -> str | None:
    """The path of a `qemu-riscv64` that is new enough, or None."""
    path = shutil.which("qemu-riscv64")
    if path is None:
        return None
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", done.stdout)
    return path if found and tuple(map(int, found.groups())) >= OLDEST else None


def require_qemu() -> str:
    """The path of QEMU; without it skips the test, or fails it where RVSIM_REQUIRE_QEMU=1."""
    path = find_qemu()
    if path is None:
        missing = "qemu-riscv64 10.0.3 or newer not found (tools/install_qemu.sh installs it)"
        if os.environ.get("RVSIM_REQUIRE_QEMU") == "1":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return path


def run_qemu(
    elf: Path, vlen: int, *, ones: bool = False, args: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run `elf` at `vlen` bits; with `ones`, agnostic elements become all ones."""
    agnostic = ",rvv_ta_all_1s=true,rvv_ma_all_1s=true" if ones else ""
    return subprocess.run(
        [require_qemu(), "-cpu", f"max,vlen={vlen}{agnostic}", str(elf), *args],
        capture_output=True,
        text=True,
        check=False,
    )
