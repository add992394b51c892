"""Builds the programs of ``tests/program/libc`` against each C library, and runs them.

musl comes with ziglang, which compiles it the first time (a minute or two); glibc is Debian's cross
package.  What is built is kept in rvsim's cache.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rvsim.guest.linux import Grant
from rvsim.machine import Machine, RunResult
from rvsim.toolchain import cache_dir

SOURCES = Path(__file__).parent / "libc"
GCC = "riscv64-linux-gnu-gcc"
SYSROOT = Path("/usr/riscv64-linux-gnu")
_COMMON = ("-O1", "-w", "-UNDEBUG", "-fno-sanitize=all")
_ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-linux-musl", *_COMMON)

COMPILERS: dict[str, tuple[str, ...]] = {
    "musl-static": (*_ZIG, "-static", "-fPIC", "-no-pie"),  # shares the other's build of musl
    "musl-static-pie": (*_ZIG, "-static-pie", "-fPIE"),
    "glibc-static": (GCC, *_COMMON, "-static"),
    "glibc-pie": (GCC, *_COMMON, "-fPIE", "-pie"),
    "glibc-no-pie": (GCC, *_COMMON, "-no-pie"),
}
"""How each kind of program is compiled."""

DYNAMIC = frozenset({"glibc-pie", "glibc-no-pie"})


def require_cross() -> None:
    """Without Debian's cross compiler skips the test, or fails it where RVSIM_REQUIRE_QEMU=1."""
    if shutil.which(GCC) is None or not SYSROOT.is_dir():
        missing = f"{GCC} and {SYSROOT} not found (tools/install_cross.sh installs them)"
        if os.environ.get("RVSIM_REQUIRE_QEMU") == "1":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)


@functools.cache
def build(name: str, kind: str) -> Path:
    """The executable of ``libc/NAME.c``."""
    if not kind.startswith("musl"):
        require_cross()
    source = SOURCES / f"{name}.c"
    command = COMPILERS[kind]
    digest = hashlib.sha256(repr(command).encode() + source.read_bytes()).hexdigest()[:16]
    folder = cache_dir() / "tests"
    out = folder / f"{name}-{kind}-{digest}"
    if not out.exists():
        folder.mkdir(exist_ok=True)
        cache = str(cache_dir() / "zig")
        caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        with tempfile.TemporaryDirectory(dir=folder) as work:
            partial = Path(work) / "program"
            done = subprocess.run(
                [*command, str(source), "-o", str(partial), "-lm"],
                env=caches | os.environ,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            partial.replace(out)
    return out


@dataclass(frozen=True)
class Ended:
    """What a shell sees of a program's run."""

    code: int
    out: str
    err: str


def run_under_qemu(
    qemu: str, program: Path, *args: str, env: Sequence[str] = (), stdin: bytes = b""
) -> Ended:
    options = [word for variable in env for word in ("-E", variable)]
    done = subprocess.run(
        [qemu, "-L", str(SYSROOT), *options, str(program), *args],
        input=stdin,
        env={},
        capture_output=True,
        timeout=60,
        check=False,
    )
    # a program that a signal ends takes QEMU with it
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(code, done.stdout.decode(), done.stderr.decode())


def run_here(
    program: Path,
    kind: str,
    *args: str,
    env: Sequence[str] = (),
    stdin: bytes = b"",
    dirs: Sequence[Grant] = (),
    notes: list[str] | None = None,
) -> tuple[Ended, RunResult]:
    machine = Machine(note=(notes if notes is not None else []).append)
    machine.load(
        program,
        argv=[str(program), *args],
        env=dict(variable.split("=", 1) for variable in env),
        stdin=io.BytesIO(stdin),
        dirs=dirs,
        sysroot=str(SYSROOT) if kind in DYNAMIC else None,
    )
    result = machine.run(max_insns=50_000_000)
    assert machine.process is not None
    machine.process.close()
    return Ended(result.exit_code, result.stdout.decode(), result.stderr.decode()), result
