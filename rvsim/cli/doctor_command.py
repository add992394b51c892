"""``rvsim doctor``: one line for each thing that rvsim needs or can use."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from typing import NamedTuple

import click

from rvsim.errors import RvsimError
from rvsim.host.processor import VARIABLE, find_host, usable_hosts


class Finding(NamedTuple):
    """The state of one thing; rvsim does not work without a `needed` one."""

    what: str
    found: bool
    text: str
    needed: bool = True


@click.command(short_help="Check the cross compiler, QEMU and the host.")
def command() -> int:
    """Check the cross compiler, QEMU and the host; the exit code is 1 if something is missing."""
    checks: tuple[Callable[[], Finding], ...] = (
        _host,
        _numpy,
        _llvmlite,
        _compiled_for,
        _compiled_code,
        _compiler,
        _qemu,
    )
    fine = True
    for check in checks:
        finding = check()
        state = "ok" if finding.found else "missing" if finding.needed else "not there"
        click.echo(f"{finding.what:<15} {state:<10} {finding.text}")
        fine &= finding.found or not finding.needed
    return 0 if fine else 1


def _host() -> Finding:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    cpus = os.cpu_count() or 1
    return Finding("host", True, f"{platform.system()} {platform.machine()}, {cpus} CPUs, {python}")


def _numpy() -> Finding:
    try:
        import numpy
    except ImportError as error:
        return Finding("numpy", False, str(error))
    return Finding("numpy", True, numpy.__version__)


def _llvmlite() -> Finding:
    try:
        import llvmlite
        from llvmlite import binding
    except (ImportError, OSError) as error:
        return Finding("llvmlite", False, str(error))
    llvm = ".".join(map(str, binding.llvm_version_info))
    return Finding("llvmlite", True, f"{llvmlite.__version__}, LLVM {llvm}")


def _compiled_for() -> Finding:
    try:
        host = find_host()
    except (RvsimError, ImportError, OSError) as error:
        return Finding("compiled for", False, " ".join(str(error).split()))
    others = ", ".join(name for name in usable_hosts() if name != host.name)
    return Finding("compiled for", True, f"{host.name} ({host.cpu}); {VARIABLE} may name {others}")


def _compiled_code() -> Finding:
    """The folder for compiled code; without it, each run compiles again."""
    from rvsim.engine.jit.cache import region_folder, why_unusable

    folder = region_folder()
    why = why_unusable(folder)
    return Finding("compiled code", why is None, why or f"kept in {folder}", needed=False)


def _compiler() -> Finding:
    from rvsim.toolchain import compiler_version

    try:
        return Finding("cross compiler", True, compiler_version())
    except RvsimError as error:
        return Finding("cross compiler", False, " ".join(str(error).split()))


def _qemu() -> Finding:
    """QEMU, which only tests use; versions below 10 lack some of the vector extensions."""
    for name in ("qemu-riscv64", "qemu-riscv64-static"):
        path = shutil.which(name)
        if path is not None:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return Finding("QEMU", True, done.stdout.splitlines()[0], needed=False)
    return Finding("QEMU", False, "tests compare with qemu-riscv64 10 or newer", needed=False)
