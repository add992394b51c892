"""``tools/bench.py``: what the figures of its tables are made of."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from tools import bench
from tools.benchmarks import compile_time, peers, process, reference, whole
from tools.benchmarks.peers import Comparison, Rate, Simulator
from tools.benchmarks.programs import PerSecond
from tools.benchmarks.reference import Measurement
from tools.benchmarks.regions import MIXES
from tools.benchmarks.report import Options, markdown
from tools.benchmarks.whole import Whole

OPTIONS = Options(only=(), runs=1, seconds=1.0, vlen=256)


def rate(millions: float) -> Rate:
    return Rate(rounds=(10, 20), instructions=round(millions * 2e6), start=0.5, seconds=2.0)


def comparison(bar: float | PerSecond, qemu: Rate | None, counted: int = 0) -> Comparison:
    return Comparison("a title", "a_name", 256, bar, rate(300), qemu, counted)


def test_a_ratio_is_one_of_rates() -> None:
    compared = comparison(40, rate(10))
    assert compared.ratio == 30
    assert compared.missed() == "a title: 30.00x < 40x QEMU"
    assert comparison(30, rate(10)).missed() is None
    assert compared.cells() == ["a title", "10.0", "300.0", "30.00x", "40x"]


def test_a_bar_without_a_peer_counts_one_kind_of_instruction() -> None:
    compared = comparison(PerSecond("smt.vmadot", 250e6), None, counted=40_000_000)
    assert compared.counted_per_second == 200e6  # ten rounds of them in two seconds
    assert compared.missed() == "a title: 200 M smt.vmadot/s < 250 M/s"
    assert compared.cells() == ["a title", "-", "300.0", "200 M smt.vmadot/s", "250 M/s"]
    assert comparison(PerSecond("smt.vmadot", 250e6), None, 50_000_000).missed() is None


def test_the_times_that_kernels_print_are_no_results() -> None:
    assert peers.results("PASS a\nbench b: 2 runs, 17 ticks\nPASS c\n") == "PASS a\nPASS c\n"


class Steady(Simulator):
    """Takes 2 s to start, 1 ms for each round, and 9 s more in the first run of so many."""

    kept: ClassVar[set[int]] = set()

    def user(self, elf: Path, rounds: int) -> float:
        compiling = 0 if rounds <= 64 or rounds in self.kept else 9
        self.kept.add(rounds)
        return 2 + rounds / 1000 + compiling


def test_rounds_are_chosen_by_instructions_and_time() -> None:
    simulator = Steady("steady", lambda elf, rounds: [], warm=1_000_000)
    few, many = peers.choose_rounds(simulator, Path(), per_round=20_000, seconds=3)
    assert few == 64  # 8 rounds are 160,000 instructions
    assert many - few == pytest.approx(3000, abs=1)


def test_a_process_costs_what_it_takes_itself() -> None:
    ballast = bytearray(100 << 20)
    cost = process.run([sys.executable, "-c", "print(sum(range(3_000_000)))"])
    assert cost.output == "4499998500000\n"
    assert 0 < cost.user < cost.wall + 0.1
    assert 1 << 20 < cost.peak_bytes < len(ballast)
    with pytest.raises(RuntimeError, match="failed:\nexit code 3"):
        process.run([sys.executable, "-c", "raise SystemExit(3)"])


def test_loops_are_held_to_the_bar_of_their_engine() -> None:
    slow = Measurement("loop", "float", "numpy", 256, 1, 1.0, 80_000, 20_000)
    assert slow.missed() == "loop on numpy: 20,000 < 30,000 a second"
    at_other_vlen = Measurement("loop", "float", "numpy", 512, 1, 1.0, 80_000, 20_000)
    assert at_other_vlen.missed() is None
    softfloat = Measurement("loop", "float", "softfloat", 256, 1, 1.0, 80_000, 20_000)
    assert reference.table([slow, softfloat]).splitlines()[-1] == (
        "| loop | vector | 20,000 | 20,000 | 30,000, 5,000 |"
    )


def test_only_and_markdown() -> None:
    assert OPTIONS.wants("anything")
    assert Options(["sie", "gemm"], 1, 1, 256).wants("title", "gemm_tile")
    assert not Options(["gemm"], 1, 1, 256).wants("sieve")
    assert markdown(["a", "b"], [["x", "1"]]) == "| a | b |\n|---|---:|\n| x | 1 |"


def test_a_missed_bar_is_named_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "measure", lambda options: [comparison(40, rate(10))])
    monkeypatch.setattr(peers, "qemu_version", lambda: "10.0.13")
    out = tmp_path / "out.json"
    assert bench.main(["jit", "--json", str(out)]) == 0
    assert bench.main(["jit", "--check"]) == 1
    printed = capsys.readouterr()
    assert "| a title | 10.0 | 300.0 | 30.00x | 40x |" in printed.out
    assert "missed: a title: 30.00x < 40x QEMU" in printed.err
    (result,) = json.loads(out.read_text())["tables"]["jit"]
    assert (result["ratio"], result["missed"]) == (30, "a title: 30.00x < 40x QEMU")


@pytest.mark.parametrize("kind", MIXES)
def test_regions_to_compile_have_the_length_that_was_asked_for(kind: str, tmp_path: Path) -> None:
    machine = compile_time.in_loop(MIXES[kind], 50, 256, tmp_path)
    jump = machine.interp.decode_at(compile_time.loop_address(machine) + 49 * 4)
    assert (jump.insn and jump.insn.name, jump.fields["imm"]) == ("jal", -49 * 4)
    timed = compile_time.compile_once(machine, kind, 50)
    assert 45 <= timed.compiled <= 50
    assert timed.object_bytes > 0
    assert timed.per_insn == (timed.lower + timed.llvm) / timed.compiled


def test_whole_processes_are_held_to_their_bars() -> None:
    assert Whole(whole.FIRST, 2.0, 1.5, 250_000_000).missed() is None
    assert Whole(whole.SECOND, 2.0, 1.5, 1).missed() == "gemm_tile_s8, second run: 2.00 s > 0.6 s"
    assert Whole(whole.FIRST, 1, 1, 251_000_000).missed() == (
        "gemm_tile_s8, first run: 251 MB > 250 MB"
    )
