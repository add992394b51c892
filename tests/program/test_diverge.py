"""``tools/diverge.py``: names the instruction that native code executes wrongly, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rvsim.engine.jit.engine import Jit
from rvsim.ir.llvm import backend as llvm_backend
from rvsim.ir.llvm.build import I32
from tests.program.bare import TEXT, Bare, assemble, load_upper, step
from tests.program.elf_writer import write_elf
from tests.program.test_jit import CONFIG, VECTOR, loop, start
from tools import diverge
from tools.divergence import Diverged, Divergence, Watched, locate

DATA = 0x20000
ROUNDS = 300
BODY = [
    step("ld", rd=6, rs1=9, imm=8),
    step("xor", rd=7, rs1=7, rs2=6),
    step("add", rd=7, rs1=7, rs2=8),
    step("sd", rs1=9, rs2=7, imm=16),
    step("add", rd=11, rs1=11, rs2=7),
]
EXIT = [step("addi", rd=10, rs1=0, imm=0), step("addi", rd=17, rs1=0, imm=93), step("ecall")]


def scalar_loop(rounds: int = ROUNDS) -> bytes:
    back = -sum(s.length for s in BODY) - 4
    count = [step("addi", rd=8, rs1=8, imm=-1), step("bne", rs1=8, rs2=0, imm=back)]
    head = [load_upper(9, DATA), step("addi", rd=8, rs1=0, imm=rounds)]
    return assemble([*head, *BODY, *count, *EXIT])


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RVSIM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "program.elf"
    path.write_bytes(write_elf(scalar_loop(), bytes(range(64)), text_addr=TEXT, data_addr=DATA))
    return str(path)


@pytest.fixture
def broken_xor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code that takes or for xor."""
    monkeypatch.setitem(llvm_backend.RULES, "xor", llvm_backend.RULES["or"])


def test_equal_runs_end_with_exit_code_0(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diverge.main([program, "--threshold", "1"]) == 0
    instructions = 2 + (len(BODY) + 2) * ROUNDS + 2
    assert capsys.readouterr().out == f"equal: exit after {instructions} instructions\n"


@pytest.mark.usefixtures("broken_xor")
@pytest.mark.parametrize("window", [100, 1 << 16])
def test_it_names_the_instruction_that_goes_wrong(
    program: str, window: int, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [program, "--threshold", "1", "--window", str(window), "--vlen", "128"]
    assert diverge.main(arguments) == 1
    first, state, difference, how = capsys.readouterr().out.splitlines()
    assert first.endswith(f"goes wrong in native code: xor t2, t2, t1 at {TEXT + 12:#x}")
    assert "vtype vill" in state
    assert difference.startswith("  t2: numpy 0x")
    number = int(first.split()[1])
    # Two before the loop, and the second of each round.
    assert (number - 4) % (len(BODY) + 2) == 0
    assert f"--engine numpy --max-insns {number - 1} " in how


@pytest.mark.usefixtures("broken_xor")
def test_the_limit_that_is_given_to_reproduce_it_does(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diverge.main([program, "--threshold", "1"]) == 1
    shown = int(capsys.readouterr().out.split("reproduce: --max-insns ")[1].split()[0])
    states = []
    for threshold in (None, 1):
        bare = Bare(scalar_loop())
        bare.memory.write(DATA, bytes(range(64)))
        if threshold is not None:
            bare.interp.jit = Jit(bare.interp, threshold)
        bare.run(shown)
        states.append(bare.snapshot())
    assert states[0] != states[1]


def test_what_never_runs_in_native_code_cannot_go_wrong_there(
    program: str, broken_xor: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diverge.main([program, "--threshold", "100000"]) == 0


@pytest.mark.parametrize(
    "arguments", [["no_such_file.elf"], ["FILE", "--vlen", "100"], ["FILE", "--cpu", "z80"]]
)
def test_bad_input_is_exit_code_2(
    program: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert diverge.main([program if a == "FILE" else a for a in arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def watched(code: bytes) -> Divergence | None:
    """What goes wrong first when all of the code is compiled."""
    bare = start(code, CONFIG, seed=0)
    jit = Watched(bare.interp, threshold=1)
    bare.interp.jit = jit
    try:
        bare.run(10_000)
    except Diverged as diverged:
        return locate(jit, diverged.stretch)
    assert jit.regions
    return None


def test_a_correct_vector_loop_passes_watching() -> None:
    assert watched(loop(60, VECTOR)) is None


def test_a_wrong_lane_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes picked by index, of which the first picks itself: of `VECTOR`, the slide."""
    right = llvm_backend.RULES["take"]

    def wrong(g: Any, v: Any, a: Any, index: Any) -> Any:
        first = g.b.extract_element(a, I32(0))
        return g.b.insert_element(right(g, v, a, index), first, I32(0))

    monkeypatch.setitem(llvm_backend.RULES, "take", wrong)
    found = watched(loop(60, VECTOR))
    assert found is not None
    assert found.insn.insn is not None
    assert found.insn.insn.name == "vslidedown.vi"
    assert found.alone
    assert found.first == found.last
    assert all(line.startswith("v11[0]: ") for line in found.differences)
