"""When the JIT compiles: not before interpreting took as long, and nothing that hardly ran."""

from __future__ import annotations

from pathlib import Path

from rvsim.engine.jit.engine import Jit
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.program.bare import TEXT, Bare, Step, assemble, step

THRESHOLD = 20
"""Small, so that the rule is seen in short runs: LLVM's start counts as 2,000 instructions then."""


def run(rounds: int, *body: Step, rarely: int = 0) -> Jit:
    """A loop of `body` that goes a long way round when x8 is `rarely`, on its way down."""
    size = sum(s.length for s in body)
    code = assemble(
        [
            step("lui", rd=8, uimm=rounds >> 12),
            step("addi", rd=8, rs1=8, imm=rounds & 0xFFF),
            step("addi", rd=5, rs1=0, imm=rarely),
            *body,
            step("beq", rs1=8, rs2=5, imm=16),
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-(size + 8)),
            step("ebreak"),
            step("addi", rd=7, rs1=7, imm=1),
            step("jal", rd=0, imm=-16),
        ]
    )
    bare = Bare(code)
    jit = bare.interp.jit = Jit(bare.interp, THRESHOLD)
    trap = bare.run(1_000_000)
    assert trap is not None
    assert trap.why == "breakpoint"
    assert bare.state["instret"] > rounds * (len(body) + 3) - 10
    return jit


def test_a_loop_that_is_over_before_llvm_had_begun_is_not_compiled() -> None:
    assert run(300, step("addi", rd=6, rs1=6, imm=1)).compiled == 0
    assert run(2000, step("addi", rd=6, rs1=6, imm=1)).compiled > 0


def test_a_vector_loop_is_compiled_sooner() -> None:
    vadd = step("vadd.vv", vm=1, vs2=8, vs1=8, vd=8)
    vset = step("vsetivli", rd=0, uimm=31, vtypei=0b11_000_000)
    assert run(200, vset, *[vadd] * 4).compiled > 0
    assert run(200, *[step("add", rd=6, rs1=6, rs2=7)] * 4).compiled == 0


def test_what_hardly_ran_is_left_out_of_a_region() -> None:
    jit = run(2000, step("addi", rd=6, rs1=6, imm=1), rarely=1900)
    rare = TEXT + 4 * 8
    covered = {block.pc for native in jit.regions for block in native.region.blocks}
    assert TEXT + 4 * 3 in covered
    assert rare not in covered


def test_a_kernel_that_runs_again_compiles_nothing(tmp_path: Path) -> None:
    """Code comes from the cache sooner than it was compiled, so what was compiled is all there."""
    compiled = []
    for _ in range(2):
        machine = Machine(engine="jit")
        jit = machine.interp.jit = Jit(machine.interp, cache=tmp_path / "jit")
        machine.load(build_kernel("gemm_tile_s8"), argv=["gemm_tile_s8", "500"])
        assert machine.run().exit_code == 0
        compiled.append(jit.compiled)
    assert compiled[0] > 0 == compiled[1]
