"""Tracing: operators, hash consing, the order of reads and writes, and what `when` folds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from rvsim import ir
from rvsim.ir import Trace, bits, lanes, mask
from rvsim.ir.llvm.backend import ModuleBuilder
from rvsim.ir.prims import PRIMS, check_complete
from rvsim.ir.state import when
from rvsim.ir.statements import (
    KINDS,
    If,
    Let,
    Repeat,
    Store,
    Write,
    WriteArray,
    check_statement_rules,
)

from .ir_harness import FIELDS, Bench, Trapped, traced

# -- operators


@pytest.mark.parametrize(
    ("use", "calls"),
    [
        (lambda a: a < 1, "lt_u(a, b) or lt_s(a, b)"),
        (lambda a: a >= a, "lt_u(a, b) or lt_s(a, b)"),
        (lambda a: a >> 1, "shr_u(a, n) or shr_s(a, n)"),
        (lambda a: a // 2, "quot_u(a, b) or quot_s(a, b)"),
        (lambda a: a % 2, "rem_u(a, b) or rem_s(a, b)"),
        (bool, "where(condition, a, b) or when(condition)"),
    ],
)
def test_an_operator_that_would_guess_names_the_call(
    use: Callable[[ir.Value], object], calls: str
) -> None:
    with Trace():
        a = ir.read_x("rs1")
        with pytest.raises(TypeError) as error:
            use(a)
    assert calls in str(error.value)


def test_an_int_on_the_left_is_the_left_operand() -> None:
    with Trace():
        value = 5 - ir.read_x("rs1")
        assert [a.const for a in value.args] == [5, None]


def test_a_body_runs_only_inside_a_trace() -> None:
    with pytest.raises(RuntimeError, match="only while they are traced"):
        ir.read_x("rs1")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ir.read_x("rs1") + ir.read("vl", 8), "operands of one type"),
        (lambda: ir.const(1, mask(8)) + ir.read_mask(0, 8), "a mask is no number"),
        (lambda: ir.reduce("add", ir.read_mask(0, 8)), "use count or first"),
        (lambda: ir.trunc(ir.read("vl", 8), 16), "truncation of"),
        (lambda: ir.where(ir.read_x(1), ir.read_x(2), 0), "condition is"),
        (lambda: ir.where(ir.read("vl", 1), 1, 0), "one branch must be a value"),
        (lambda: ir.shuffle(ir.read_v(1, 4, 8), [4]), "outside"),
        (lambda: ir.write_x("rd", ir.read("vl", 8)), "x registers hold"),
        (lambda: ir.write_mask("vd", ir.read_mask(0, 4)), "a mask of whole bytes"),
        (lambda: when(ir.read_x(1)).__enter__(), "a one-bit condition"),
        (lambda: ir.for_(2, [ir.read_x(1)], lambda i, x: (ir.trunc(x, 8),)), "other types"),
    ],
)
def test_ill_typed_operands_are_refused(build: Callable[[], object], message: str) -> None:
    with Trace(), pytest.raises(TypeError, match=message):
        build()


# -- nodes


def test_equal_expressions_are_one_node() -> None:
    with Trace():
        a, b = ir.read_x("rs1"), ir.read_x("rs2")
        assert a + b is a + b
        assert a + b is not b + a
        assert ir.read_x("rs1") is a
        assert ir.const(-1, 64) is ir.const((1 << 64) - 1, 64)
        assert ir.const(1, 8) is not ir.const(1, 16)


def test_each_memory_access_is_a_node_of_its_own() -> None:
    with Trace():
        assert ir.load(ir.read_x("rs1"), 8) is not ir.load(ir.read_x("rs1"), 8)


@pytest.mark.parametrize("type_", [bits(16), lanes(4, 16)], ids=str)
def test_identities_leave_no_node(type_: ir.Type) -> None:
    with Trace():
        a = ir.read_v("vs1", 4, 16) if type_.lanes else ir.read("vl", 16)
        shifted = (a << 0, ir.shr_u(a, 0), ir.shr_s(a, 0))
        for same in (a + 0, 0 + a, a - 0, a | 0, a ^ 0, a & -1, -1 & a, a * 1, *shifted):
            assert same is a
        assert ir.where(a == 3, a, a) is a
        assert ir.zext(a, 16) is a
        for zero in (a & 0, 0 & a, a * 0):
            assert zero.const == 0
            assert zero.type == type_
        assert (0 - a) is not a
        assert ir.shr_u(0, a) is not a


def test_operations_on_splats_stay_scalar() -> None:
    with Trace():
        a, b = ir.splat(ir.read_x("rs1"), 8), ir.splat(ir.read_x("rs2"), 8)
        assert (a + b).prim == "splat"
        assert ir.extract(a + b, 3) is ir.read_x("rs1") + ir.read_x("rs2")
        assert ir.where(a == b, a, 0).prim == "splat"


def test_a_constant_condition_selects_while_tracing() -> None:
    with Trace():
        a, b = ir.read_x("rs1"), ir.read_x("rs2")
        assert ir.where(ir.const(1, 1), a, b) is a
        assert ir.where(ir.const(0, 1), a, b) is b


def test_when_keeps_or_drops_statements_under_a_constant() -> None:
    def body() -> None:
        with ir.when(ir.const(0, 1)):
            ir.write("vl", 1)
        with ir.when(ir.const(1, 1)):
            ir.write("vl", 2)
        with ir.when(ir.read_x("rs1") == 0):
            ir.write("vl", 3)
        with ir.when(ir.read_x("rs1") == 1):
            pass

    program = traced(body)
    writes = [s for s in program.statements() if isinstance(s, Write)]
    assert [w.value.const for w in writes] == [2, 3]
    assert sum(isinstance(s, If) for s in program.body) == 1


def test_a_program_names_its_fields_and_state() -> None:
    def body() -> None:
        ir.write_x("rd", ir.read_x("rs1") + ir.param("imm") + ir.read("vl"))
        with ir.when(ir.read_x(0) == 0):
            ir.write("pc", ir.read_x(1))

    program = traced(body)
    assert program.params() == ("imm", "rd", "rs1")
    assert (program.reads(), program.writes()) == ({"vl"}, {"pc"})


# -- state: what an instruction reads is what was there before it


def exchange() -> None:
    a, b = ir.read_x("rs1"), ir.read_x("rs2")
    ir.write_x("rs1", b)
    ir.write_x("rs2", a)


def nested_read() -> None:
    """The condition and the read inside the inner `when` come after a write in the text."""
    ir.write("vl", ir.read("vl") + 1)
    with ir.when(ir.read("vl") == 5):
        ir.write("vstart", 9)
        with ir.when(ir.read("vstart") == 0):
            ir.write_x("rd", ir.read("vl") + ir.read("vstart"))


def write_in_first_if() -> None:
    with ir.when(ir.read_x("rs1") != 0):
        ir.write_x("rs1", 0 * ir.read_x("rs1"))
    ir.write_x("rd", ir.read_x("rs1"))


def exchange_f_and_x() -> None:
    f, x = ir.read_f("rd"), ir.read_x("rs1")
    ir.write_f("rd", x)
    ir.write_x("rs1", f)


def exchange_registers() -> None:
    a, b = ir.read_v("vs1", 8, 32), ir.read_v("vs2", 8, 32)
    ir.write_v("vs1", b)
    ir.write_v("vs2", a)


def view_behind_write() -> None:
    """The register is looked into under a condition, after it was overwritten."""
    old = ir.read_v("vs1", 8, 32)
    ir.write_v("vs1", old + 1)
    with ir.when(ir.read_x("rs1") != 0):
        ir.write_x("rd", ir.zext(ir.extract(old, 3), 64))


def selected_view_behind_write() -> None:
    old = ir.where(ir.trunc(ir.read_x("rs1"), 1), ir.read_v("vs1", 8, 32), ir.read_v("vs2", 8, 32))
    ir.write_v("vs1", ir.read_v("vs3", 8, 32))
    ir.write_v("vs3", old)


def carried_view_behind_write() -> None:
    kept = ir.for_(1, [ir.read_v("vs1", 8, 32)], lambda i, x: (x,))[0]
    ir.write_v("vs1", ir.read_v("vs3", 8, 32))
    ir.write_v("vs3", kept)


def overlapping_move() -> None:
    ir.write_v("vs1", ir.read_v("vs1", 8, 32), reg_offset=1)
    ir.write_v("vs1", ir.read_v("vs1", 8, 32, reg_offset=1), reg_offset=2)


def partial_register() -> None:
    ir.write_v("vs1", ir.read_v("vs2", 4, 32), reg_offset=1, byte_offset=16)


def mask_register() -> None:
    ir.write_mask("vs1", ~ir.read_mask("vs2", 16))


def trap_after_write() -> None:
    ir.write_x("rd", ir.read_x("rs1") + 1)
    ir.trap(2, "always", ir.read_x("rd"))
    ir.write_x("rd", ir.const(0, 64))


def trap_if() -> None:
    with ir.when(ir.read_x("rs1") == 3):
        ir.trap(3, "it is three")
    ir.write_x("rd", ir.read_x("rs1"))


def x0_is_not_written() -> None:
    ir.write_x(0, ir.read_x("rs1"))


BODIES = {
    body.__name__: body
    for body in (
        exchange, exchange_f_and_x, nested_read, write_in_first_if, exchange_registers,
        view_behind_write,
        selected_view_behind_write, carried_view_behind_write, overlapping_move, partial_register,
        mask_register, trap_after_write, trap_if, x0_is_not_written,
    )
}  # fmt: skip

A, B, C = (bytes(range(k, k + 32)) for k in (1, 101, 201))


@cache
def bench() -> Bench:
    return Bench({name: traced(body) for name, body in BODIES.items()})


def run(name: str, engine: str, **state: int) -> Trapped | None:
    machine = bench()
    machine.state.buffer[:] = 0
    for field, content in (("vs1", A), ("vs2", B), ("vs3", C)):
        machine.set_v(FIELDS[field], content)
    for word, value in state.items():
        if word in FIELDS:
            machine.state.x[FIELDS[word]] = value
        else:
            machine.state[word] = value
    return machine.engines[engine](name)


def x(field: str) -> int:
    return bench().state.x[FIELDS[field]]


def v(field: str, offset: int = 0) -> bytes:
    return bench().state.v[FIELDS[field] + offset].tobytes()


both = pytest.mark.parametrize("engine", ["numpy", "llvm"])


@both
def test_registers_can_be_exchanged(engine: str) -> None:
    run("exchange", engine, rs1=1, rs2=2)
    assert (x("rs1"), x("rs2")) == (2, 1)
    run("exchange_f_and_x", engine, rs1=1)
    bench().state.f[FIELDS["rd"]] = 2
    bench().engines[engine]("exchange_f_and_x")
    assert (x("rs1"), bench().state.f[FIELDS["rd"]]) == (2, 0)
    run("exchange_registers", engine)
    assert (v("vs1"), v("vs2")) == (B, A)


@both
def test_conditions_and_nested_reads_see_the_state_before(engine: str) -> None:
    run("nested_read", engine, vl=5)
    assert (bench().state["vl"], bench().state["vstart"], x("rd")) == (6, 9, 5)
    run("nested_read", engine, vl=5, vstart=1)
    assert (bench().state["vstart"], x("rd")) == (9, 0)
    run("nested_read", engine, vl=4)
    assert (bench().state["vl"], bench().state["vstart"], x("rd")) == (5, 0, 0)


@both
def test_a_write_under_a_condition_hides_nothing_behind_it(engine: str) -> None:
    run("write_in_first_if", engine, rs1=7)
    assert (x("rs1"), x("rd")) == (0, 7)


@both
def test_lanes_read_before_a_write_do_not_change_with_it(engine: str) -> None:
    run("view_behind_write", engine, rs1=1)
    assert x("rd") == int.from_bytes(A[12:16], "little")
    run("selected_view_behind_write", engine, rs1=1)
    assert (v("vs1"), v("vs3")) == (C, A)
    run("carried_view_behind_write", engine)
    assert (v("vs1"), v("vs3")) == (C, A)
    run("overlapping_move", engine)
    assert (v("vs1"), v("vs1", 1), v("vs1", 2)) == (A, A, bytes(32))


@both
def test_parts_of_registers_and_masks_leave_the_rest(engine: str) -> None:
    run("partial_register", engine)
    assert v("vs1", 1) == bytes(16) + B[:16]
    run("mask_register", engine)
    assert v("vs1") == bytes(255 - b for b in B[:2]) + A[2:]


@both
def test_a_trap_ends_the_instruction_after_what_it_wrote(engine: str) -> None:
    assert run("trap_after_write", engine, rs1=4, rd=77) == Trapped(2, 77, "always")
    assert x("rd") == 5
    assert run("trap_if", engine, rs1=3, rd=1) == Trapped(3, 0, "it is three")
    assert x("rd") == 1
    assert run("trap_if", engine, rs1=4) is None
    assert x("rd") == 4


@both
def test_a_write_to_x0_is_dropped(engine: str) -> None:
    run("x0_is_not_written", engine, rs1=4)
    assert bench().state.x[0] == 0


def test_memory_accesses_are_evaluated_once() -> None:
    """Their `Let` is where the body made them: none is added ahead of a write."""

    def body() -> None:
        fault = ir.store_lanes(ir.read_x("rs1"), ir.read_v("vs3", 8, 8), ir.read_mask(0, 8))
        with ir.when(fault != 8):
            ir.write("vstart", fault)
            ir.trap(15, "store page fault", fault)

    lets = [s.value.prim for s in traced(body).statements() if isinstance(s, Let)]
    assert lets.count("store_lanes") == 1


# -- back ends


def test_a_back_end_without_a_rule_is_refused() -> None:
    rules: dict[str, object] = dict.fromkeys(PRIMS)
    del rules["clz"]
    rules["clx"] = None
    with pytest.raises(ImportError, match=r"no rule for \['clz'\], unknown rule \['clx'\]"):
        check_complete("demo", rules)


def test_a_back_end_without_a_rule_for_a_statement_is_refused() -> None:
    with pytest.raises(ImportError, match=r"back end demo: .* rvsim\.ir\.statements"):
        check_statement_rules("demo", dict.fromkeys(KINDS[1:]))


def test_all_kinds_of_statements_are_in_these_tests() -> None:
    seen = {type(s) for p in bench().programs.values() for s in p.statements()}
    elsewhere = {Store, WriteArray, Repeat}  # test_ir_memory.py, test_ir_arrays.py
    assert seen | elsewhere == set(KINDS)


def test_llvm_needs_a_value_for_each_field() -> None:
    builder = ModuleBuilder(vlen=256)
    with pytest.raises(KeyError, match="no value for the operand fields rs1, rs2"):
        builder.add(traced(exchange), "f", fields={})


def test_llvm_refuses_registers_past_the_file() -> None:
    """Instructions check their register groups; compiled code must not reach beyond the state."""
    program = traced(lambda: ir.write_v("vd", ir.const(0, lanes(64, 8))))
    with pytest.raises(ValueError, match="v31 reaches past v31"):
        ModuleBuilder(vlen=256).add(program, "f", fields={"vd": 31})
