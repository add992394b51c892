"""Programs of Debian, as they are packaged, do under rvsim what they do under QEMU."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.machine import Machine
from rvsim.toolchain import cache_dir
from tests.program.debian_programs import PACKAGES, STDIN, commands, contents, fill
from tests.qemu import require_qemu

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

TOOL = Path(__file__).parents[2] / "tools/debian_tree.sh"
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C", "TZ": "UTC"}
MAY_BE_SAID = ("unknown system call 198 (socket)",)
"""What a single process without a network can't do."""


@pytest.fixture(scope="session")
def tree() -> Path:
    """The root of a Debian system for riscv64, in rvsim's cache."""
    require_qemu()
    folder = cache_dir() / "tests" / "debian-riscv64"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / "debian-riscv64.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process makes it, and others find it made
        done = subprocess.run(
            [TOOL, "riscv64", str(folder), *PACKAGES], capture_output=True, text=True, check=False
        )
    if done.returncode:
        if os.environ.get("RVSIM_REQUIRE_QEMU") == "1":
            pytest.fail(done.stderr, pytrace=False)
        pytest.skip(f"no Debian packages for riscv64: {done.stderr.strip()}")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same path for both runs, since programs print it."""
    return tmp_path / "w"


def refill(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder)


def run_under_qemu(tree: Path, name: str, args: list[str]) -> tuple[int, bytes, bytes]:
    options = [word for variable in ENV.items() for word in ("-E", "=".join(variable))]
    qemu = [require_qemu(), "-L", tree, "-0", f"/usr/bin/{name}", *options]
    done = subprocess.run(
        [*qemu, tree / "usr/bin" / name, *args],
        input=STDIN,
        env={},
        cwd="/",
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_here(
    tree: Path, folder: Path, name: str, args: list[str]
) -> tuple[tuple[int, bytes, bytes], list[str]]:
    notes: list[str] = []
    machine = Machine(note=notes.append)
    machine.load(
        tree / "usr/bin" / name,
        argv=[f"/usr/bin/{name}", *args],
        env=ENV,
        stdin=io.BytesIO(STDIN),
        dirs=[
            Grant(str(folder), str(folder), writable=True),
            Grant(str(tree / "usr"), "/usr"),
            Grant(str(tree / "etc"), "/etc"),
        ],
        sysroot=str(tree),
    )
    result = machine.run(max_insns=500_000_000)
    assert machine.process is not None
    machine.process.close()
    return (result.exit_code, result.stdout, result.stderr), notes


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_a_program_of_debian(tree: Path, folder: Path, command: tuple[str, ...]) -> None:
    name, *args = (word.format(w=folder) for word in command)
    refill(folder)
    theirs = run_under_qemu(tree, name, args), contents(folder)
    refill(folder)
    ended, notes = run_here(tree, folder, name, args)
    assert (ended, contents(folder)) == theirs
    unknown = [n for n in notes if "unknown system call" in n]
    assert [n for n in unknown if not n.startswith(MAY_BE_SAID)] == []
