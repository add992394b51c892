"""Named arrays, repeated statements and subprograms: the same in every back end."""

from __future__ import annotations

import pytest

from rvsim import ir
from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.ir.llvm.backend import ModuleBuilder
from rvsim.ir.llvm.engine import compile_module
from rvsim.ir.numpy.backend import compile_python, compile_subprogram
from rvsim.ir.program import Program
from rvsim.ir.text import formula
from rvsim.ir.trace import Trace

pytestmark = pytest.mark.compiled

VLEN = 256
FIELDS = {"rd": 5, "rs1": 6}
ARRAYS = {"counts": 8, "log": 4}
MEMORY = Memory(1 << 16)


def run(program: Program, engine: str, **arrays: list[int]) -> tuple[int, list[int], list[int]]:
    """x5, counts and log after the program, from x6 = 5 and these contents of the arrays."""
    state = State(VLEN, ARRAYS)
    state.x[6] = 5
    for name, values in arrays.items():
        for i, value in enumerate(values):
            state.arrays[name][i] = value
    if engine == "llvm":
        builder = ModuleBuilder(VLEN, state.array_offsets)
        builder.add(program, "f", fields=FIELDS)
        compile_module(builder.module).function("f")(state, MEMORY)
    else:
        scope = {"s": state.words} | {f"a_{name}": a for name, a in state.arrays.items()}
        for sub in program.subprograms():
            exec(compile_subprogram(sub), scope)
        exec(compile_python(program), scope)
        scope["insn"](**{name: FIELDS[name] for name in program.params()})
    return state.x[5], list(state.arrays["counts"]), list(state.arrays["log"])


def traced(body: object) -> Program:
    with Trace() as trace:
        body()  # type: ignore[operator]
    return trace.finish()


@pytest.fixture(params=["numpy", "llvm"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_reads_and_writes_keep_their_order(engine: str) -> None:
    """Unlike registers, which are read as they were before the program."""

    def body() -> None:
        before = ir.read_array("counts", 1)
        ir.write_array("counts", 1, before + 1)
        after = ir.read_array("counts", 1)
        ir.write_array("counts", 1, after * 10)
        ir.write_x("rd", before * 100 + after)

    x5, counts, _ = run(traced(body), engine, counts=[0, 7])
    assert (x5, counts[:2]) == (708, [0, 80])


def test_an_index_may_be_computed(engine: str) -> None:
    program = traced(lambda: ir.write_array("counts", ir.read_x("rs1") + 2, ir.param("rs1")))
    assert run(program, engine)[1] == [0, 0, 0, 0, 0, 0, 0, 6]


def test_statements_repeat_for_each_index(engine: str) -> None:
    def body() -> None:
        with ir.repeat(ir.read_x("rs1")) as i:
            ir.write_array("counts", i, i * i)
            with ir.when((i & 1) == 1):
                ir.write_array("log", 0, ir.read_array("log", 0) + ir.read_array("counts", i))

    _, counts, log = run(traced(body), engine)
    assert (counts, log[0]) == ([0, 1, 4, 9, 16, 0, 0, 0], 1 + 9)


def test_nothing_is_repeated_no_times(engine: str) -> None:
    def body() -> None:
        with ir.repeat(ir.read_array("log", 3)) as i:
            ir.write_array("counts", i, 1)

    assert run(traced(body), engine)[1] == [0] * 8


def add_to_log(place: ir.Value, amount: ir.Value) -> ir.Value:
    total = ir.read_array("log", place) + amount
    ir.write_array("log", place, total)
    return total


ADD = ir.subprogram("add_to_log", "place amount", add_to_log)


def test_a_subprogram_runs_where_it_is_invoked(engine: str) -> None:
    def body() -> None:
        first = ir.invoke(ADD, 2, ir.read_x("rs1"))
        second = ir.invoke(ADD, 2, first)
        ir.write_x("rd", second)

    x5, _, log = run(traced(body), engine, log=[0, 0, 1])
    assert (x5, log) == (12, [0, 0, 12, 0])


@pytest.mark.parametrize(("wanted", "result"), [(5, 9), (6, 0)])
def test_a_subprogram_may_depend_on_a_condition(engine: str, wanted: int, result: int) -> None:
    """Where the condition isn't set it does nothing, and its result is 0."""

    def body() -> None:
        ir.write_x("rd", ir.invoke(ADD, 1, 9, when=ir.read_x("rs1") == wanted))

    x5, _, log = run(traced(body), engine)
    assert (x5, log[1]) == (result, result)


def test_subprograms_invoke_subprograms(engine: str) -> None:
    def twice(amount: ir.Value) -> None:
        with ir.repeat(2) as i:
            ir.invoke(ADD, i, amount)

    both = ir.subprogram("twice", "amount", twice)
    program = traced(lambda: ir.write_x("rd", ir.invoke(both, 4)))
    assert [s.name for s in program.subprograms()] == ["add_to_log", "twice"]
    x5, _, log = run(program, engine)
    assert (x5, log) == (0, [4, 4, 0, 0])


def test_text_shows_arrays_in_their_order() -> None:
    def body() -> None:
        old = ir.read_array("counts", ir.param("rs1"))
        with ir.when(old != 0):
            ir.write_array("counts", 0, old + 1)
        with ir.repeat(3) as i:
            ir.invoke(ADD, i, old, when=old == 1)

    assert formula(traced(body)) == (
        "t1 = counts[rs1]; if (t1 != 0) { counts[0] = t1 + 1 }; "
        "for (j < 3) { add_to_log(j, t1) if t1 == 1 }"
    )


def test_a_subprogram_takes_words() -> None:
    with pytest.raises(TypeError, match="add_to_log takes"), Trace():
        ir.invoke(ADD, 1)
