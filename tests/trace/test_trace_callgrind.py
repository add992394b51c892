"""What is a call in a profile, of rows made by hand: a cycle for each instruction."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.guest.symbols import Symbol, Symbols
from rvsim.insn.decode import decode
from rvsim.trace.callgrind import CallgrindTrace
from tests.program.bare import step
from tests.trace.callgrind_model import Kind, Row
from tests.trace.callgrind_reader import Place, Profile, read_callgrind
from tests.trace.callgrind_rows import SIZE, STARTS, UNNAMED, code_at, image, profile_text

MAIN, F, G, H = STARTS.values()


def ran(pc: int, kind: Kind = "other", **row: Any) -> Row:
    return Row(code_at(pc, kind), **row)


HANDLER = [ran(F), ran(F + 4, "return"), ran(UNNAMED), ran(UNNAMED + 4, trapped=True)]
INTERRUPTED = [ran(MAIN, trapped=True), *HANDLER, ran(MAIN + 4)]


def profile(path: Path, *rows: Row, of: Any = None) -> Profile:
    found = read_callgrind(profile_text(path / "out", rows, of=of))
    assert found.summary["Instructions"] == sum(not row.trapped for row in rows)
    return found


def steps(path: Path, *rows: Row) -> dict[tuple[str, str], tuple[int, int]]:
    """How often one function called another, and the cycles of that."""
    return profile(path, *rows).steps()


# -- calls and returns


def test_a_call_costs_what_passes_until_its_return(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F), ran(F + 4, "return"), ran(MAIN + 4)]
    found = profile(tmp_path, *rows)
    assert found.steps() == {("main", "f"): (1, 2)}
    assert found.own_of("main")["Cycles"] == 2
    assert [(call.site, call.target) for call in found.calls] == [(MAIN, F)]


def test_a_call_of_the_next_instruction_is_none(tmp_path: Path) -> None:
    """It is how position-independent code finds out where it is."""
    assert steps(tmp_path, ran(MAIN, "call"), ran(MAIN + 4)) == {}


def test_a_return_past_several_calls_ends_them_all(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(G, "indirect"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2), ("f", "g"): (1, 1)}


def test_calls_that_have_not_returned_end_with_the_run(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(G)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2), ("f", "g"): (1, 1)}


def test_a_return_to_no_call_goes_on_in_its_function(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "return"), ran(F + 8, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2)}


def test_recursion_is_a_function_of_its_own_as_in_valgrind(tmp_path: Path) -> None:
    """So nothing that bears a function's plain name costs more than has passed."""
    down = [ran(F), ran(F + 4, "call")]
    up = [ran(F + 8, "return")]
    found = profile(
        tmp_path, ran(MAIN, "call"), *down, *down, *down, ran(F, "return"), *up, *up, *up
    )
    assert found.steps() == {
        ("main", "f"): (1, 10),
        ("f", "f'2"): (1, 7),
        ("f'2", "f'2"): (2, 4 + 1),
    }
    assert found.own_of("f")["Cycles"] == 3
    assert found.own_of("f'2")["Cycles"] == 7


def test_what_recursion_calls_by_way_of_others(tmp_path: Path) -> None:
    calls = [ran(MAIN, "call"), ran(F, "call"), ran(G, "call"), ran(F, "call"), ran(G)]
    assert steps(tmp_path, *calls) == {
        ("main", "f"): (1, 4),
        ("f", "g"): (1, 3),
        ("g", "f'2"): (1, 2),
        ("f'2", "g'2"): (1, 1),
    }


@pytest.mark.parametrize("kind", ["other", "indirect"])
def test_a_jump_in_recursion_to_where_a_call_returns_is_no_return(
    tmp_path: Path, kind: Kind
) -> None:
    """A jump past a call, or by a table, in a function that waits there further out."""
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(F), ran(F + 8, kind), ran(F + 4)]
    assert steps(tmp_path, *rows)["f", "f'2"] == (1, 3)


# -- moves


def test_a_tail_call_is_a_call_that_ends_with_the_one_before_it(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "indirect"), ran(G), ran(G + 4, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 3), ("f", "g"): (1, 2)}


def test_falling_into_a_function_is_a_tail_call(tmp_path: Path) -> None:
    """Assembly with labels that have no size; its loops go back to labels."""
    loop = [ran(G), ran(H), ran(H + 4)]
    rows = [ran(MAIN, "call"), ran(F), *loop, *loop, ran(H, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {
        ("main", "f"): (1, 8),
        ("f", "g"): (1, 7),
        ("g", "h"): (2, 2 + 3),
    }


def test_a_chain_of_tail_calls_does_not_grow(tmp_path: Path) -> None:
    """Functions that jump to each other: going back to one that is under way is a loop."""
    rows = [ran(MAIN, "call")] + 1000 * [ran(F, "indirect"), ran(G, "indirect")]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2000), ("f", "g"): (1000, 1000)}


def test_a_jump_to_the_beginning_of_its_own_function_is_a_loop(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F), ran(F + 4, "indirect"), ran(F), ran(F + 4, "return")]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 4)}


def test_longjmp_ends_what_is_under_way_above_its_function(tmp_path: Path) -> None:
    """setjmp has returned long ago, so no call waits where longjmp goes to."""
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(G, "return"), ran(MAIN + 12), ran(MAIN + 16)]
    found = profile(tmp_path, *rows)
    assert found.steps() == {("main", "f"): (1, 2), ("f", "g"): (1, 1)}
    assert found.own_of("main")["Cycles"] == 3


def test_cold_code_elsewhere_is_called_and_comes_back(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F), ran(G), ran(F + 8), ran(F + 12, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 4), ("f", "g"): (1, 1)}


def test_a_jump_into_a_function_that_is_not_under_way_is_a_tail_call(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "indirect"), ran(G + 8, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2), ("f", "g"): (1, 1)}


def test_a_call_by_way_of_a_stub_without_symbols(tmp_path: Path) -> None:
    """The procedure linkage table jumps through a register that is none of the link registers."""
    rows = [
        ran(MAIN, "call"),
        ran(UNNAMED, "indirect"),
        ran(F),
        ran(F + 4, "return"),
        ran(MAIN + 4),
    ]
    assert steps(tmp_path, *rows) == {("main", "???"): (1, 3), ("???", "f"): (1, 2)}


def test_code_without_symbols_is_not_one_function(tmp_path: Path) -> None:
    """A library calls main, main the library: that does not end the library's call."""
    rows = [
        ran(UNNAMED, "call"),
        ran(MAIN, "call"),
        ran(F, "indirect"),
        ran(UNNAMED + 32, "return"),
    ]
    assert steps(tmp_path, *rows, ran(MAIN + 4)) == {
        ("???", "main"): (1, 4),
        ("main", "f"): (1, 2),
        ("f", "???'2"): (1, 1),
    }


# -- traps


def test_a_signal_handler_is_called_where_the_signal_arrived(tmp_path: Path) -> None:
    """It returns to a trampoline, whose system call comes back to what was interrupted."""
    rows = [ran(G, "call"), ran(H, trapped=True), *HANDLER, ran(H + 4, "return"), ran(G + 4)]
    assert steps(tmp_path, *rows) == {("g", "h"): (1, 6), ("h", "f"): (1, 4), ("f", "???"): (1, 2)}


@pytest.mark.parametrize("cut", range(len(INTERRUPTED)))
def test_a_handler_does_not_return_to_a_caller(tmp_path: Path, cut: int) -> None:
    """Of the first function; wherever a batch ends."""
    found = read_callgrind(profile_text(tmp_path / "out", INTERRUPTED, [cut]))
    assert found.steps() == {("main", "f"): (1, 4), ("f", "???"): (1, 2)}


def test_a_handler_that_jumps_out_ends_there(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, trapped=True), ran(G, "return"), ran(MAIN + 12)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2), ("f", "g"): (1, 1)}


def test_a_handler_is_no_loop_of_what_it_interrupts(tmp_path: Path) -> None:
    """The first function, without a call, is interrupted by a handler, and that by the same one."""
    rows = [ran(MAIN, trapped=True), ran(F), ran(F + 4, trapped=True), ran(MAIN)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 3), ("f", "main'2"): (1, 1)}


def test_a_handler_that_was_jumped_from_is_called_again(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F), ran(G, trapped=True), ran(F)]
    assert steps(tmp_path, *rows) == {
        ("main", "f"): (1, 3),
        ("f", "g"): (1, 2),
        ("g", "f'2"): (1, 1),
    }


def test_a_call_that_traps_is_none(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call", trapped=True), ran(F), ran(F + 4), ran(MAIN + 4), ran(MAIN + 8)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 2)}


# -- what is left out


def test_a_trace_that_begins_within_a_function_learns_of_its_callers(tmp_path: Path) -> None:
    rows = [ran(G + 8), ran(G + 12, "return"), ran(F + 4), ran(F + 8, "return"), ran(MAIN + 4)]
    found = profile(tmp_path, *rows)
    assert found.steps() == {("f", "g"): (1, 2), ("main", "f"): (1, 4)}
    assert {call.site for call in found.calls} == {F + 4, MAIN + 4}


def test_a_tail_call_before_the_first_return(tmp_path: Path) -> None:
    rows = [ran(F + 8, "indirect"), ran(G, "return"), ran(MAIN + 4)]
    assert steps(tmp_path, *rows) == {("f", "g"): (1, 1), ("main", "f"): (1, 2)}


def test_a_region_of_interest_shows_calls_by_way_of_others(tmp_path: Path) -> None:
    """Of f, which calls g by way of something that is left out."""
    rows = [ran(F, "call"), ran(G, gap=True), ran(G + 4, "return"), ran(F + 4, gap=True)]
    assert steps(tmp_path, *rows) == {("f", "g"): (1, 2)}


def test_what_is_left_out_may_call_one_thing_after_the_other(tmp_path: Path) -> None:
    called = [ran(G, "return", gap=True), ran(H, "return", gap=True), ran(H, "return", gap=True)]
    rows = [ran(F, "call"), *called, ran(F + 4, gap=True)]
    assert steps(tmp_path, *rows) == {("f", "g"): (1, 1), ("f", "h"): (2, 2)}


def test_functions_of_a_region_do_not_call_each_other_for_that(tmp_path: Path) -> None:
    """Somebody else calls one, and then the other."""
    rows = [ran(F), ran(F + 4, "return"), ran(G, gap=True), ran(G + 4, "return"), ran(F, gap=True)]
    assert steps(tmp_path, *rows) == {}


def test_a_call_whose_return_is_left_out_has_ended_by_then(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F), ran(MAIN + 4, gap=True), ran(MAIN + 8)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 1)}


def test_a_return_that_is_left_out_ends_recursion(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(F), ran(F + 4, gap=True), ran(F + 8)]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 4), ("f", "f'2"): (1, 1)}


def test_recursion_by_way_of_what_is_left_out(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(F, gap=True), ran(F + 8, "return")]
    assert steps(tmp_path, *rows) == {("main", "f"): (1, 3), ("f", "f'2"): (1, 2)}


def test_a_call_that_is_left_out_and_jumps_back_is_none(tmp_path: Path) -> None:
    rows = [ran(MAIN, "call"), ran(MAIN + 12, gap=True), ran(MAIN + 16)]
    assert steps(tmp_path, *rows) == {}


# -- charges to other instructions


def test_a_wait_for_a_function_that_has_ended_belongs_to_its_call(tmp_path: Path) -> None:
    """What a function costs itself is part of what its calls cost."""
    back = ran(MAIN + 4, wait=90, reason="unit:vector", charged=G)
    rows = [ran(MAIN, "call"), ran(F, "call"), ran(G, "return"), ran(F + 4, "return"), back]
    found = profile(tmp_path, *rows)
    assert found.steps() == {("main", "f"): (1, 93), ("f", "g"): (1, 91)}
    assert found.own_of("g") == {"Cycles": 91, "Instructions": 1, "issue": 1, "unit_vector": 90}
    assert found.own_of("main")["Cycles"] == 2


def test_a_wait_for_a_caller_does_not_belong_to_the_call(tmp_path: Path) -> None:
    entry = ran(F, "call", wait=90, charged=MAIN)
    rows = [ran(MAIN, "call"), entry, ran(G, "return", wait=7, charged=F), ran(F + 4)]
    found = profile(tmp_path, *rows)
    assert found.steps() == {("main", "f"): (1, 3 + 7), ("f", "g"): (1, 1)}
    assert found.own_of("main")["Cycles"] == 91


# -- the file


def test_sums_are_exact_and_rounded_once(tmp_path: Path) -> None:
    """Of 1/256 cycle each: floats, or sums of rounded numbers, would say 0."""
    rows = np.zeros(512, BATCH_DTYPE)
    rows["instret"], rows["slot"], rows["charged"] = range(512), 1, MAIN
    trace = CallgrindTrace(str(tmp_path / "out"), SimpleNamespace(image=image()))  # type: ignore[arg-type]
    trace.batch(Batch(rows, [decode(step("addi", rd=0, rs1=0, imm=0).word, 4, MAIN)]))
    trace.close()
    assert read_callgrind((tmp_path / "out").read_text()).summary["Cycles"] == 2


def test_functions_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """Static ones."""
    symbols = [Symbol("same", MAIN, MAIN + SIZE), Symbol("same", F, F + SIZE)]
    lines = SimpleNamespace(line=lambda pc: ("a.c" if pc < F else "b.c", pc))
    program = image(symbols=Symbols(symbols), lines=lines)
    found = profile(tmp_path, ran(MAIN, "call"), ran(F), of=program)
    assert found.functions == {Place("same", "a.c", "prog"), Place("same", "b.c", "prog")}


def test_code_without_a_line_is_in_the_file_of_its_function(tmp_path: Path) -> None:
    """And inlined code in the file that it is from."""
    lines = {F: ("f.c", 3), F + 8: ("inline.h", 5), F + 12: ("f.c", 4)}
    rows = [ran(pc) for pc in (F, F + 4, F + 8, F + 12)]
    found = profile(tmp_path, *rows, of=image(lines=SimpleNamespace(line=lines.get)))
    assert found.functions == {Place("f", "f.c", "prog")}
    assert found.lines == lines | {F + 4: ("f.c", 0)}


def test_addresses_are_those_in_the_file(tmp_path: Path) -> None:
    """Not where it has been loaded; other code belongs to no object."""
    inside = [SimpleNamespace(addr=MAIN, end=UNNAMED)]
    rows = [ran(MAIN, "call"), ran(UNNAMED, "return"), ran(MAIN + 4)]
    found = profile(tmp_path, *rows, of=image(bias=0x40, segments=inside))
    places = {(place.object, pc) for place, pc in found.own}
    assert places == {("prog", MAIN - 0x40), ("prog", MAIN - 0x3C), ("???", UNNAMED)}
    ((call, count),) = found.counts.items()
    assert (call.site, call.callee.object, call.target, count) == (MAIN - 0x40, "???", UNNAMED, 1)


def test_names_stay_on_their_line(tmp_path: Path) -> None:
    symbols = [Symbol("a\nfn=b", MAIN, MAIN + SIZE)]
    program = image(symbols=Symbols(symbols), name="prog\udcff\n")
    found = profile(tmp_path, ran(MAIN), of=program)
    assert found.functions == {Place("a\\nfn=b", "???", "prog\\xff\\n")}


def test_a_profile_of_nothing(tmp_path: Path) -> None:
    assert profile(tmp_path).functions == set()
