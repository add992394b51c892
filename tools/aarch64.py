"""Run Python on an AArch64 processor that QEMU emulates, to test what rvsim compiles for one.

    python tools/aarch64.py -m pytest tests/isa/test_jit_equals_numpy.py --shard 0/40
    QEMU_CPU=cortex-a72 python tools/aarch64.py -m rvsim doctor

The first run makes a folder in rvsim's cache: Debian 13's Python for arm64 with its libraries
(`tools/debian_tree.sh`), and this project's packages as wheels for it, both from where this machine
takes packages.  It wants `qemu-aarch64` (`tools/install_qemu.sh`), and no root.

The cross compiler runs as it does here, not emulated: what it makes is the same.  Everything else
is 10 to 50 times slower than at home.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from rvsim.errors import RvsimError
from rvsim.toolchain import cache_dir

ROOT: Final = Path(__file__).resolve().parents[1]
EMULATOR: Final = "qemu-aarch64"
DEBIAN: Final = ("python3", "libstdc++6")
PYTHON: Final = "3.13"
"""Debian 13's."""

PLATFORMS: Final = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")
NATIVE: Final = "ziglang"
"""The package that is started as a program, and does not care where."""

UNUSED: Final = frozenset({"mypy", "playwright", "ruff", "unicorn", "pandas", "rvsim-x60"})
"""Requirements of tests that no emulated test has."""

WRAPPER: Final = """\
#!/bin/sh
# The compiler is this machine's own; all else is emulated.
if [ "$1" = -m ] && [ "$2" = {native} ]; then
    exec env -u PYTHONPATH {python} "$@"
fi
export PYTHONPATH={path} PYTHONNOUSERSITE=1
exec {emulator} -L {tree} -0 "$0" {tree}/usr/bin/python3 "$@"
"""
"""What `sys.executable` is in the emulated process, so that its children are emulated as well."""


class Absent(RvsimError):
    """Something that the emulation needs isn't here and can't be had."""


def make(folder: Path | None = None) -> Path:
    """The Python of AArch64 as an executable of this machine, which is made if need be.

    Raises `Absent` if there is no emulator, or packages can't be had.
    """
    emulator = shutil.which(EMULATOR)
    if emulator is None:
        raise Absent(f"{EMULATOR} not found", hint="tools/install_qemu.sh installs it")
    folder = folder or cache_dir() / "aarch64"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests in several processes come here at once
        tree, site = folder / "tree", folder / f"site-{_digest(*requirements())}"
        _run(["bash", str(ROOT / "tools" / "debian_tree.sh"), "arm64", str(tree), *DEBIAN])
        if not site.exists():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                _install(Path(work) / "site").rename(site)
        return _wrapper(emulator, tree, site)


def _wrapper(emulator: str, tree: Path, site: Path) -> Path:
    """Python finds its library from the folder that it is started from, so it is beside it."""
    text = WRAPPER.format(
        native=NATIVE,
        python=shlex.quote(sys.executable),
        path=shlex.quote(os.pathsep.join(map(str, (site, ROOT)))),
        emulator=shlex.quote(emulator),
        tree=shlex.quote(str(tree)),
    )
    # Other checkouts and other virtual environments have their own.
    wrapper = tree / "usr" / "bin" / f"emulated-python-{_digest(text)}"
    if not wrapper.exists():
        wrapper.write_text(text)
        wrapper.chmod(0o755)
    return wrapper


def requirements() -> list[str]:
    """This project's, and its tests', as far as they have to be those of AArch64."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return [r for r in wanted if re.split(r"[^\w-]", r)[0] not in {NATIVE, *UNUSED}]


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


def _install(site: Path) -> Path:
    """Wheels for AArch64 in a new folder."""
    _run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--target", str(site), "--only-binary=:all:", "--implementation=cp"),
            *("--python-version", PYTHON, "--no-compile"),
            *(f"--platform={platform}" for platform in PLATFORMS),
            *requirements(),
        ]
    )
    # The version of the compiler is part of the names under which its programs are kept.
    for file in importlib.metadata.files(NATIVE) or ():
        if file.name == "METADATA":
            (site / file.parent).mkdir()
            shutil.copyfile(file.locate(), site / file)
    return site


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr]
        raise Absent(" ".join(errors[-1].split()))


def main(arguments: Sequence[str]) -> int:
    try:
        python = make()
    except RvsimError as error:
        print(f"aarch64.py: {error}", file=sys.stderr)
        return 1
    return subprocess.run([str(python), *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
