"""Kernels called from Python, as users of ctypes expect it."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rvsim
from rvsim.verifier import CallLimit, CallTrapped, GuestProgram
from rvsim.verifier.errors import Busy

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def compiled() -> GuestProgram:
    return rvsim.compile(KERNELS / "calls.c")


@pytest.fixture
def program(compiled: GuestProgram) -> GuestProgram:
    return GuestProgram(compiled.path, compiled.options)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def test_arrays_go_by_pointer_and_numbers_in_registers(program: GuestProgram) -> None:
    call = program["sum"](ints(1, -2, 1 << 30, 1 << 30), 4)
    assert call.value == (1 << 31) - 1
    assert int(call) == call.value
    assert call.instructions > 4


def test_parameters_have_names(program: GuestProgram) -> None:
    assert int(program["sum"](n=2, a=ints(3, 4))) == 7


def test_structures_go_by_value(program: GuestProgram) -> None:
    requant = program.types["requant"]
    assert program["scaled"](requant(0.5, -3), 8.0).value == 1.0
    made = program["made"](0.25, -7).value
    assert (made.scale, made.zero_point) == (0.25, -7)


def test_a_pointer_that_comes_back_is_an_offset_into_an_argument(program: GuestProgram) -> None:
    to = np.zeros(5, np.uint8)
    call = program["copy"](to, np.arange(1, 4, dtype=np.uint8), 3)
    assert (call.value.argument, call.value.offset) == ("to", 3)
    assert to.tolist() == [1, 2, 3, 0, 0]


def test_arrays_that_share_memory_share_it_in_the_guest(program: GuestProgram) -> None:
    whole = np.arange(6, dtype=np.uint8)
    program["copy"](whole[1:], whole[:5], 5)  # forwards: the first element runs through
    assert whole.tolist() == [0] * 6


def test_a_callback_is_a_function_of_python(program: GuestProgram) -> None:
    seen = []

    def f(n: int, x: float) -> int:
        seen.append((n, x))
        return -n

    assert int(program["apply"](f, 41)) == -40
    assert seen == [(41, 0.5)]


def test_an_exception_of_a_callback_passes_and_the_program_lives_on(program: GuestProgram) -> None:
    def f(n: int, x: float) -> int:
        raise KeyError(n)

    with pytest.raises(KeyError, match="41"):
        program["apply"](f, 41)
    assert int(program["sum"](ints(1), 1)) == 1


def test_one_call_at_a_time(program: GuestProgram) -> None:
    def again(n: int, x: float) -> int:
        return int(program["count"]())

    with pytest.raises(Busy, match="callback"):
        program["apply"](again, 1)

    def other(n: int, x: float) -> int:
        found: list[BaseException] = []

        def call() -> None:
            try:
                program["count"]()
            except Busy as error:
                found.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        raise found[0]

    with pytest.raises(Busy, match="threads"):
        program["apply"](other, 1)


def test_memory_lives_on_until_a_fresh_call(program: GuestProgram) -> None:
    count = program["count"]
    assert [int(count()) for _ in range(3)] == [1, 2, 3]
    assert int(count(fresh=True)) == 1


def test_globals_are_views(program: GuestProgram) -> None:
    table = program["table"]
    assert table.tolist() == [1, 2, 3, 4]
    program["write_at"](table.copy(), 0)
    table[1] = 9
    assert program["table"].tolist() == [1, 9, 3, 4]


def test_a_store_around_an_array_is_seen(program: GuestProgram) -> None:
    a = ints(0, 0)
    (stray,) = program["write_at"](a, 3).strays
    assert (stray.argument, stray.offset) == (0, 12)
    assert program["write_at"](a, 1).strays == []


def test_rows_may_have_a_stride(program: GuestProgram) -> None:
    a = np.arange(6, dtype=np.int16).reshape(2, 3)
    call = program["increment"](rvsim.arg(a, row_stride=5), 2, 3, 5)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert call.strays == []
    (stray,) = program["increment"](rvsim.arg(a, row_stride=5), 1, 4, 5).strays
    assert stray.offset == 6


def test_the_end_of_a_page_and_slack(program: GuestProgram) -> None:
    read_at = program["read_at"]
    a = rvsim.arg(ints(1, 2), at="end")
    assert int(read_at(a, 1)) == 2
    with pytest.raises(CallTrapped, match="cannot be read"):
        read_at(a, 2)
    loose = rvsim.arg(ints(1, 2), at="end", slack=4)
    read_at(loose, 2)
    with pytest.raises(CallTrapped):
        read_at(loose, 3)


@pytest.mark.parametrize(("align", "offset"), [(4096, 0), (64, 4), (8192, 12)])
def test_an_array_lies_where_it_is_asked(program: GuestProgram, align: int, offset: int) -> None:
    a = rvsim.arg(np.zeros(8, np.uint8), align=align, offset=offset)
    assert program["copy"](a, np.zeros(8, np.uint8), 0).value.value % align == offset


def test_what_is_behind_const_is_not_written(program: GuestProgram) -> None:
    a = ints(1)
    with pytest.raises(CallTrapped, match="cannot be written"):
        program["write_const"](a)
    assert a.tolist() == [1]
    read_only = ints(1)
    read_only.flags.writeable = False
    with pytest.raises(CallTrapped):
        program["write_at"](read_only, 0)
    with pytest.raises(CallTrapped):
        program["write_at"](ints(1), 0, inputs=["a"])


def test_an_output_begins_with_noise(program: GuestProgram) -> None:
    given = rvsim.out(np.int32, 16)
    program["write_at"](given, 0)
    assert given.array[0] == 7
    assert np.count_nonzero(given.array) > 8


def test_a_function_that_never_returns_ends_at_a_limit(program: GuestProgram) -> None:
    with pytest.raises(CallLimit, match="forever"):
        program["forever"](max_insns=10_000)


def test_argtypes_and_restype_are_those_of_ctypes(program: GuestProgram) -> None:
    total = program["sum"]
    total.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    total.restype = ctypes.c_int32
    assert int(total(np.array([1.0], np.float32), 1)) == 0x3F800000


@pytest.mark.parametrize(
    ("name", "arguments", "error", "words"),
    [
        ("sum", (ints(1),), TypeError, "takes 2 arguments, but 1"),
        ("sum", (ints(1), -1), ValueError, "n"),
        ("sum", (ints(1).astype(np.int64), 1), TypeError, r"pass array.astype\(np.int32\)"),
        ("sum", (ints(1).view(np.float32), 1), TypeError, r"pass array.view\(np.int32\)"),
        ("sum", (np.zeros((4, 4), np.int32).T[:2], 1), ValueError, "not contiguous"),
        ("sum", ([1, 2], 2), TypeError, "np.array"),
        ("write_at", (ints(1), 1 << 63), ValueError, "i"),
        ("apply", (3, 1), TypeError, "pass one of Python"),
        ("scaled", (1.0, 1.0), TypeError, "requant"),
    ],
)
def test_wrong_arguments_are_told_before_anything_runs(
    program: GuestProgram, name: str, arguments: Any, error: type[Exception], words: str
) -> None:
    before = program.guest.machine.state["instret"]
    with pytest.raises(error, match=words):
        program[name](*arguments)
    assert program.guest.machine.state["instret"] == before


def test_names_that_are_not_there(program: GuestProgram, tmp_path: Path) -> None:
    with pytest.raises(rvsim.RvsimError, match="did you mean 'sum'"):
        program["sums"]
    with pytest.raises(rvsim.RvsimError, match="requant"):
        program.types["requan"]
    with pytest.raises(rvsim.RvsimError, match="cannot read"):
        rvsim.open(tmp_path / "nothing.elf")["f"]


def test_the_same_arguments_get_the_same_addresses(compiled: GuestProgram) -> None:
    def addresses(first: int) -> list[int]:
        program = GuestProgram(compiled.path, compiled.options)
        for n in (first, 3, 5000):
            call = program["copy"](np.zeros(n, np.uint8), np.zeros(n, np.uint8), n)
        return [call.value.value]

    assert addresses(1) == addresses(100_000)


def test_cycles_are_those_of_a_second_run_from_the_same_memory(program: GuestProgram) -> None:
    count = program["count"]
    calls = [count() for _ in range(2)]
    assert [int(call) for call in calls] == [1, 2]
    assert calls[1].cycles == calls[0].cycles > 0
    assert sum(calls[0].stalls.values()) == calls[0].cycles
    assert int(count()) == 3


def test_cycles_depend_on_what_the_arrays_held_before_the_call(program: GuestProgram) -> None:
    a = np.arange(64, dtype=np.int16).reshape(8, 8)
    call = program["increment"](a, 8, 8, 8)
    cycles = call.cycles
    assert cycles > call.instructions / 2
    assert program["increment"](a, 8, 8, 8).cycles == cycles
    assert a[0, 0] == 2


def test_a_cpu_without_a_core_has_no_cycles(compiled: GuestProgram) -> None:
    program = compiled.at(cpu="generic-rv64gcv")
    call = program["count"]()
    with pytest.raises(rvsim.RvsimError, match="no cycles"):
        assert call.cycles
