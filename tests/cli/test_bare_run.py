"""``rvsim run`` of bare-metal images, and of images that only look like one."""

from __future__ import annotations

from collections.abc import Callable

from tests.cli.conftest import Cli
from tests.cli.programs import FOREVER, elf, exit_with
from tests.program.bare import step
from tests.program.bare_images import build

Program = Callable[..., str]
HINT = "it has made no system call: a bare-metal image ends by a store to its symbol tohost"


def test_a_failing_test_is_named_on_stderr(rvsim: Cli) -> None:
    result = rvsim("run", build("finish 7"))
    assert (result.code, result.out) == (7, "")
    assert result.err == "rvsim: note: test 7 failed (tohost = 0xf)\n"


def test_an_image_without_a_way_to_end_is_told_at_the_limit(rvsim: Cli) -> None:
    result = rvsim("run", build("finish 0", tohost=False), "--max-insns", "100")
    assert result.code == 124
    assert HINT in result.err


def test_a_program_that_has_made_a_system_call_gets_no_such_hint(rvsim: Cli, tmp_path) -> None:
    path = tmp_path / "program"
    path.write_bytes(elf([*exit_with(0)[:1], step("addi", rd=17, rs1=0, imm=172), step("ecall"),
                          FOREVER]))  # fmt: skip
    result = rvsim("run", path, "--max-insns", "100")
    assert result.code == 124
    assert HINT not in result.err


def test_a_bare_metal_image_that_never_ends_gets_no_such_hint(rvsim: Cli) -> None:
    result = rvsim("run", build("1: j 1b"), "--max-insns", "100")
    assert (result.code, HINT in result.err) == (124, False)


def test_a_profile_has_no_machine_mode(rvsim: Cli) -> None:
    for body, text in (
        ("csrw mtvec, zero", "CSR mtvec is for machine mode, which only an image with a tohost"),
        ("mret", "mret is for machine mode, which only an image with a tohost symbol runs in"),
    ):
        result = rvsim("run", build(f"{body}\n finish 0", tohost=False))
        assert result.code == 132
        assert text in result.err


def test_machine_mode_is_no_extension_to_choose(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", "--isa", "rv64gc_machine", program())
    assert result.code == 2
    assert "an image with a tohost symbol runs in machine mode" in result.err
