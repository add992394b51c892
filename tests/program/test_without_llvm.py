"""Where LLVM can't be used, the reference engine runs the program, and a note says why."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rvsim.cli import run
from rvsim.engine.jit import llvm_there
from rvsim.engine.jit.llvm_there import NoLlvm, need_llvm
from tests.cli.programs import elf, exit_with, li
from tests.program.bare import step

RUN = """
import resource, sys
from pathlib import Path
from rvsim.machine import Machine
mode, path = sys.argv[1:]
class Broken:
    def find_spec(self, name, *rest):
        if name.startswith("llvmlite"):
            raise OSError("Could not find/load\\nlibllvmlite.so")
if mode == "absent":
    sys.modules["llvmlite"] = None
if mode == "broken":
    sys.meta_path.insert(0, Broken())
machine = Machine(memory_size=1 << 26, cache=False, note=print)
machine.interp.jit.threshold = 1
machine.load(Path(path))
if mode == "limited":
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
result = machine.run()
print(result.exit_code, result.instret, machine.interp.jit.compiled)
"""
LOOP = [
    li(5, 2000),
    step("addi", rd=5, rs1=5, imm=-1),
    step("bne", rs1=5, rs2=0, imm=-4),
    *exit_with(7),
]
WHY = {
    "absent": "llvmlite cannot be loaded: .*",
    "broken": "llvmlite cannot be loaded: Could not find/load libllvmlite.so",
    "limited": r"ulimit -v leaves \d+ MiB of address space, and LLVM needs 256",
}


@pytest.mark.parametrize("mode", ["absent", "broken", "limited"])
def test_the_reference_engine_runs_the_program(mode: str, tmp_path: Path) -> None:
    if mode == "limited" and sys.platform != "linux":
        pytest.skip("only Linux limits address space like this")
    path = tmp_path / "prog.elf"
    path.write_bytes(elf(LOOP))
    done = subprocess.run(
        [sys.executable, "-c", RUN, mode, str(path)], capture_output=True, text=True, check=True
    )
    note, result = done.stdout.splitlines()
    assert re.fullmatch(f"no code is compiled: {WHY[mode]}: the reference engine runs on", note)
    assert result == "7 4003 0"


def test_each_region_needs_some_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    need_llvm()
    monkeypatch.setattr(llvm_there, "address_space_left", lambda: 95 << 20)
    with pytest.raises(NoLlvm, match="leaves 95 MiB of address space, and LLVM needs 96"):
        need_llvm()


def test_memory_that_cannot_be_reserved_is_one_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "prog.elf"
    path.write_bytes(elf(exit_with(0)))
    script = (
        "import resource, sys; from rvsim import cli; import rvsim.machine;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY));"
        "sys.exit(cli.run(['run', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "the host cannot reserve 0x100000000 bytes of guest memory" in done.stderr
    assert "ulimit -v leaves" in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_memory_is_no_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rvsim.guest.elf.load_elf", fail)
    assert run(["dis", __file__]) == 2
    assert capsys.readouterr().err.startswith("rvsim: the host has no memory left")
