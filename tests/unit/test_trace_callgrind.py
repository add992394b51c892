"""Calls and returns in profiles, of rows made by hand: a cycle for each instruction."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.cost.formula import CYCLE
from rvsim.decode import decode
from rvsim.lines import Lines
from rvsim.symbols import Symbol, Symbols
from rvsim.trace.callgrind import CallgrindTrace
from tests.program.bare import Step, step

MAIN, F, G = 0x100, 0x200, 0x300
NOP = step("addi", rd=0, rs1=0, imm=0)
RETURN = step("jalr", rd=0, rs1=1, imm=0)
ANYWHERE = step("jalr", rd=0, rs1=10, imm=0)


def call(offset: int) -> Step:
    return step("jal", rd=1, imm=offset)


def profile_of(tmp_path: Path, *executed: tuple[int, Step]) -> dict[str, list[str]]:
    """The lines of each function."""
    symbols = [Symbol(n, a, a + 0x100) for n, a in (("main", MAIN), ("f", F), ("g", G))]
    image = SimpleNamespace(name="prog", symbols=Symbols(symbols), lines=Lines())
    trace = CallgrindTrace(str(tmp_path / "out"), cast(Any, SimpleNamespace(image=image)))
    rows = np.zeros(len(executed), BATCH_DTYPE)
    rows["instret"] = rows["code"] = range(len(executed))
    rows["slot"] = CYCLE
    rows["charged"] = [pc for pc, _ in executed]
    trace.batch(Batch(rows, [decode(insn.word, 4, pc) for pc, insn in executed]))
    trace.close()
    header, *functions = (tmp_path / "out").read_text().strip().split("\n\n")
    assert header.endswith(f"summary: {len(executed)} {len(executed)} {len(executed)}")
    found = {}
    for part in functions:
        lines = [
            line for line in part.splitlines() if not line.startswith(("ob", "cob", "fl", "cf"))
        ]
        found[lines[0].removeprefix("fn=")] = lines[1:]
    return found


def test_a_call_costs_what_passes_until_its_return(tmp_path: Path) -> None:
    executed = [(MAIN, call(F - MAIN)), (F, NOP), (F + 4, RETURN), (MAIN + 4, NOP)]
    assert profile_of(tmp_path, *executed) == {
        "main": ["0x100 0 1 1 1", "calls=1 0x200 0", "0x100 0 2 2 2", "0x104 0 1 1 1"],
        "f": ["0x200 0 1 1 1", "0x204 0 1 1 1"],
    }


def test_a_tail_call_belongs_to_the_call_before_it(tmp_path: Path) -> None:
    executed = [(MAIN, call(F - MAIN)), (F, ANYWHERE), (G, RETURN), (MAIN + 4, NOP)]
    found = profile_of(tmp_path, *executed)
    assert found["main"][1:3] == ["calls=1 0x200 0", "0x100 0 2 2 2"]
    assert found["f"] == ["0x200 0 1 1 1"]


def test_a_return_past_several_calls_ends_them_all(tmp_path: Path) -> None:
    """As longjmp does."""
    executed = [(MAIN, call(F - MAIN)), (F, call(G - F)), (G, ANYWHERE), (MAIN + 4, NOP)]
    found = profile_of(tmp_path, *executed)
    assert found["main"][1:3] == ["calls=1 0x200 0", "0x100 0 2 2 2"]
    assert found["f"][1:3] == ["calls=1 0x300 0", "0x200 0 1 1 1"]


def test_recursion_counts_each_call(tmp_path: Path) -> None:
    """The outer call costs 4, the inner one 1 of them."""
    again = call(-4)
    executed = [(MAIN, call(F - MAIN)), (F, NOP), (F + 4, again), (F, NOP), (F + 4, again)]
    found = profile_of(tmp_path, *executed, (F, RETURN), (F + 8, RETURN), (F + 8, RETURN))
    assert found["main"][1:] == ["calls=1 0x200 0", "0x100 0 7 7 7"]
    assert found["f"][1:4] == ["0x204 0 2 2 2", "calls=2 0x200 0", "0x204 0 5 5 5"]


def test_calls_that_have_not_returned_are_counted_at_the_end(tmp_path: Path) -> None:
    found = profile_of(tmp_path, (MAIN, call(F - MAIN)), (F, NOP))
    assert found["main"][1:] == ["calls=1 0x200 0", "0x100 0 1 1 1"]
